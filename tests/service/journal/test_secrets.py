"""A secret in a told text stands in no table: not in the entry, not in the log, in no statement and no index."""

from collections.abc import Awaitable, Callable

import pytest
from tests.kit.memory import remember
from tests.kit.rows import places

from memex.service.service import Caller, Service

CallerOf = Callable[..., Awaitable[Caller]]

pytestmark = pytest.mark.embedded_only

# What only the rules of statements see, or one rule sees in part; with the values that must not be kept.
TOLD = (
    ("I prefer oolong tea.\n\nMy wifi password:\n\nhunter2x9", ("hunter2x9",)),
    ("# Wifi password\n\nblue7horse9\n\nI live in Linz.", ("blue7horse9",)),
    ("- Password of the NAS\n- Tr0ub4dor&3", ("Tr0ub4dor&3", "tr0ub4dor")),
    ("Here is my new pin.\n\n44719", ("44719",)),
    ("Hulu is under my mail with Blueberry*Pie3.", ("Blueberry*Pie3", "blueberry")),
    ("My debit card's PIN used to be 12934 and is 80557 now.", ("12934", "80557")),
    ("Our door code went from 11229 to 77431, and I prefer tea.", ("11229", "77431")),
)


@pytest.fixture
def service(service: Service) -> Service:
    """Return a service that keeps the journal."""
    service.keeps_journal = True
    return service


async def test_a_secret_that_statements_show_stands_nowhere(service: Service, alice: Caller) -> None:
    """The entry has the mark of a redaction in its place, and the answer says where it stood."""
    for text, values in TOLD:
        answer = await remember(service, alice, text)
        path = answer["entry"].rpartition("@")[0]
        kept = (await service.execute(alice, "memory_read", {"path": path}))["content"]

        assert kept.count("[secret: ") >= len([one for one in values if one in text]), text
        assert {one["action"] for one in answer["secrets"]} == {"redacted"}, text
    assert await places(service.database, *(value for _, values in TOLD for value in values)) == set()
    assert "public.revision.content" in await places(service.database, "[secret: ")
