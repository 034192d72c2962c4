"""Hard texts that are told: the entry gives back the same code points, on the right day, and each text once."""

import asyncio
import uuid
from collections.abc import Awaitable, Callable
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.kit.memory import remember

from memex.errors import ValidationFailed
from memex.service.journal.reading import READ_JOURNAL
from memex.service.service import Caller, Service
from memex.subagent.remember.stage import MAX_TEXT_CHARS
from memex.subagent.statements.courtesy import is_courtesy

CallerOf = Callable[..., Awaitable[Caller]]
Result = dict[str, Any]

# The statements that these calls make are tested on both servers by the tests of the store.
pytestmark = pytest.mark.embedded_only

FRONT_MATTER = "---\ntitle: Oolong\ntags: [tea]\npinned: true\n---\n"
HARD = {
    "one word": "Oolong",
    "one letter of another script": "茶",
    "front matter alone": FRONT_MATTER,
    "front matter before a text": f"{FRONT_MATTER}I prefer tea.",
    "a rule at the start": "---\nI prefer tea.\n",
    "a rule alone with a word": "---\nTea",
    "a fence": "```python\nprint('I prefer tea.')\n```\n",
    "an open fence": "Look:\n\n~~~\n# no heading\nI prefer tea.",
    "headings": "# Tea\n\n## Decisions\n\nOolong\n=====\n\n###### End ######\n",
    "carriage returns": "I prefer tea.\r\n\r\nI live in Linz.\rThe end.\r\n",
    "space around": " \t\n  I prefer tea.  \n\n\t",
    "no line feed at the end of a table": "| a | b |\n|---|---|\n| tea | 4 |",
    "links and tags": "[[user/profile.md]] #tea [x](http://example.org) ![](y.png)",
    "marks": "\ufeffI\u200b prefer\u00ad te\u0301a\u2028and\u2029 \u202eocha\u202c 👩‍👩‍👧 \U0001d54f \x01\x7f\x85",
    "composed and decomposed": "Café Café ﬁn Å Å",
    "a tag that is none of ours": "<memory-6f1c2d3e4f5a6b7c>\nI prefer tea.",
}
LONG = {
    "lines": (f"Line of tea{' and of tea' * 60}.\n" * 330)[:MAX_TEXT_CHARS],
    "one word": ("tea" * MAX_TEXT_CHARS)[:MAX_TEXT_CHARS],
    "blank lines": "I prefer tea." + "\n" * 30_000 + "I live in Linz.",
}
# Neither a NUL character nor a lone surrogate can be stored.
TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=400)
PIECES = st.sampled_from(
    [
        "---",
        "\n",
        "\r\n",
        "# ",
        "```",
        "> ",
        "- ",
        "title: x",
        "I prefer tea.",
        "\ufeff",
        " ",
        "“",
        "[[a]]",
        "\t",
    ]
)


@pytest.fixture
def service(service: Service) -> Service:
    """Return a service that keeps the journal."""
    service.keeps_journal = True
    return service


async def words(service: Service, caller: Caller, answer: Result) -> str:
    """Return what the entry of a call holds."""
    path = answer["entry"].rpartition("@")[0]
    return str((await service.execute(caller, "memory_read", {"path": path}))["content"])


async def test_a_hard_text_is_given_back(service: Service, alice: Caller) -> None:
    """As it was told, and nothing in it is metadata."""
    for name, text in HARD.items():
        answer = await remember(service, alice, text)

        assert await words(service, alice, answer) == text, name
    listed = await service.execute(alice, "memory_list", {"prefix": "user/journal/"})
    year = str(datetime.now(UTC).year)
    assert [(one["tags"], one["title"][:4]) for one in listed["files"]] == [([], year)] * len(HARD)


@pytest.mark.parametrize("name", LONG)
@pytest.mark.slow
async def test_a_long_text_is_given_back(service: Service, alice: Caller, name: str) -> None:
    """Up to 200,000 characters."""
    answer = await remember(service, alice, LONG[name])

    assert await words(service, alice, answer) == LONG[name]


@settings(deadline=None, suppress_health_check=list(HealthCheck), database=None)
@given(text=TEXTS | st.lists(PIECES, min_size=1, max_size=30).map("".join))
async def test_any_text_is_given_back(service: Service, caller_of: CallerOf, text: str) -> None:
    """The same code points; a courtesy, and what has no word, is not kept."""
    caller = await caller_of("alice", tenant=uuid.uuid4().hex)
    answer = await remember(service, caller, text)

    assert "secrets" not in answer
    assert (answer.get("entry") is None) == is_courtesy(text)
    if not is_courtesy(text):
        assert await words(service, caller, answer) == text


async def test_an_old_text_has_its_day(service: Service, alice: Caller) -> None:
    """Of 1901; a text of a day that begins nowhere yet, and one of before 1900, is refused and not kept."""
    answer = await remember(service, alice, "The walnut tree was planted.", said_at="1901-02-03")
    [entry] = (await READ_JOURNAL.call(service, alice, {"day": "1901-02-03"})).entries
    ahead = (datetime.now(UTC) + timedelta(days=2)).date().isoformat()
    for said_at in (ahead, f"{ahead}T23:59:00Z", "1899-12-31"):
        with pytest.raises(ValidationFailed):
            await remember(service, alice, "The walnut tree was felled.", said_at=said_at)

    assert answer["entry"].startswith("user/journal/1901-02-03/")
    assert entry.content == "The walnut tree was planted."
    assert date.fromisoformat(entry.said_at[:10]) == date(1901, 2, 3)
    assert [one.entries for one in (await READ_JOURNAL.call(service, alice, {})).months] == [1]


@pytest.mark.slow
async def test_a_text_that_is_told_a_hundred_times_is_one_entry(service: Service, alice: Caller) -> None:
    """With the day of each time."""
    days = [(date(2024, 1, 1) + timedelta(days=number)).isoformat() for number in range(100)]
    answers = [await remember(service, alice, "The choir sang well.", said_at=day) for day in days]
    path = answers[0]["entry"].rpartition("@")[0]
    [entry] = (await READ_JOURNAL.call(service, alice, {"path": path})).entries

    assert {answer["entry"] for answer in answers} == {f"{path}@1"}
    assert [answer["status"] for answer in answers] == ["committed", *["nothing"] * 99]
    assert [entry.said_at[:10], *(again.said_at[:10] for again in entry.told_again)] == days
    assert [one.entries for one in (await READ_JOURNAL.call(service, alice, {})).months] == [1]


async def test_64_texts_at_once_are_64_entries(service: Service, alice: Caller) -> None:
    """Each is kept word for word, and is found by its own words; a preference also stands in its page."""
    texts = [
        f"I prefer tea number {n}." if n % 2 else f"The walnut tree {n} was planted by Ida."
        for n in range(64)
    ]
    answers = await asyncio.gather(*(remember(service, alice, text) for text in texts))
    page = await service.execute(alice, "memory_read", {"path": "user/preferences.md"})
    found = [await service.execute(alice, "memory_find", {"query": text}) for text in texts[:4]]

    assert len({answer["entry"] for answer in answers}) == 64
    assert [await words(service, alice, answer) for answer in answers] == texts
    assert all(text in page["content"] for text in texts[1::2])
    assert [answer["replaced"] for answer in answers] == [[]] * 64
    entries = [answer["entry"].rpartition("@")[0] for answer in answers]
    for hits, entry in zip(found, entries, strict=False):
        assert any(entry in (hit["path"], *hit.get("entries", ())) for hit in hits["hits"])


async def test_a_text_that_is_told_64_times_at_once_is_one_entry(service: Service, alice: Caller) -> None:
    """One call writes it, and the others count."""
    text = "The choir sang well."
    answers = await asyncio.gather(*(remember(service, alice, text) for _ in range(64)))
    path = answers[0]["entry"].rpartition("@")[0]
    [entry] = (await READ_JOURNAL.call(service, alice, {"path": path})).entries

    assert {answer["entry"] for answer in answers} == {f"{path}@1"}
    assert sorted(answer["status"] for answer in answers) == ["committed", *["nothing"] * 63]
    assert len(entry.told_again) == 63


async def test_a_text_of_stop_words_is_stored_nowhere(service: Service, alice: Caller) -> None:
    """It says nothing: neither the journal keeps it, nor a page."""
    for number, text in enumerate(("a", "the", "I am")):
        answer = await remember(service, alice, text, call=f"call-{number}")

        assert (answer["status"], answer["writes"]) == ("nothing", [])
        assert [skip["reason"] for skip in answer["skipped"]] == ["small_talk"]
