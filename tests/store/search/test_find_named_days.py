"""Notes that bear a day in their file name are found by that day, however a question writes it."""

import pytest
from tests.kit.memory import write_each

from memex.service.service import Caller, Service

# The statements that these calls make are tested on both servers by the tests of the store.
pytestmark = pytest.mark.embedded_only

WRITTEN = [
    "9 March 2021",
    "on March 9th, 2021",
    "2021-03-09",
    "9.3.2021",
    "09/03/2021",
    "am 9. März 2021",
    "le 9 mars 2021",
    "el 9 de marzo de 2021",
]


@pytest.mark.parametrize("path", ["user/2021-03-09.md", "user/journal/2021_03_09.md"])
async def test_a_note_is_found_by_the_day_in_its_name(service: Service, alice: Caller, path: str) -> None:
    """Before the notes of other days, and notes that hold the numbers of the day."""
    days = ["2021-03-10", "2021-04-09", "2020-03-09", "2021-09-03", "2021-03-19", "2022-03-09", "2021-09-09"]
    others = {f"user/journal/{day}.md": "# Walk\n\nI walked and met Ines.\n" for day in days}
    others |= {"user/facts.md": "# Facts\n\nThe boat made 9 knots, 3 times, in 2021.\n"}
    await write_each(service, alice, others | {path: "# Walk\n\nI walked and met Bob.\n"})

    for written in WRITTEN:
        found = await service.execute(alice, "memory_find", {"query": f"Whom did I meet {written}?"})
        assert found["hits"][0]["path"] == path, written
