"""Texts that bring back what was forgotten: each way in says so, and each search of conversations marks it."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from tests.kit.memory import remember
from tests.kit.zips import zipped
from tests.service.distil.kit import put, said

from memex.service.conversations.finding import FIND
from memex.service.service import Caller, Service
from memex.service.vaults.vault_import import import_vault

pytestmark = pytest.mark.embedded_only

CallerOf = Callable[..., Awaitable[Caller]]

LINE = "My locker at the pool is number 4417."
PAGE = f"# Pool\n\nIt is warm.\n\n- {LINE} (2026-01-01)\n"


@pytest.fixture
async def alice(service: Service, alice: Caller) -> Caller:
    """Return a caller whose memory has forgotten `LINE`."""
    service.keeps_journal = True
    await remember(service, alice, LINE)
    await remember(service, alice, f"Please forget this: {LINE}")
    return alice


def words(text: str, answer: dict[str, Any]) -> list[str]:
    """Return the words that an answer names as forgotten."""
    return [text[span["start"] : span["end"]] for span in answer.get("forgotten", [])]


async def test_writing_says_where_the_text_says_it(service: Service, alice: Caller) -> None:
    """So does a patch, by the characters of the file, and each edit of a batch; a repeat answers the same."""
    page = {"path": "user/pool.md", "content": PAGE}
    written = await service.execute(alice, "memory_write", page, tool_call_id="write")
    again = await service.execute(alice, "memory_write", page, tool_call_id="write")
    patch = {"path": "user/pool.md", "operation": "append", "text": f"\nNews. {LINE}\n"}
    patched = await service.execute(alice, "memory_patch", patch)
    stands = (await service.execute(alice, "memory_read", {"path": "user/pool.md"}))["content"]
    edits = [
        {"kind": "write", "path": "user/other.md", "content": "The boat is red.\n"},
        {"kind": "write", "path": "user/third.md", "content": PAGE},
    ]
    many = (await service.execute(alice, "memory_write_many", {"edits": edits}))["results"]

    assert all(LINE in part for part in words(PAGE, written))
    assert written["forgotten"] == again["forgotten"]
    assert words(stands, patched) == [LINE]
    assert "forgotten" not in many[0]
    assert words(PAGE, many[1]) == words(PAGE, written)


async def test_writing_says_nothing_else(service: Service, alice: Caller, caller_of: CallerOf) -> None:
    """Neither of other texts, nor to somebody who forgot nothing, nor of another number."""
    other = {"path": "user/pool.md", "content": PAGE.replace("4417", "44170")}
    bob = await caller_of("bob")
    answers = [
        await service.execute(alice, "memory_write", other),
        await service.execute(bob, "memory_write", {"path": "user/pool.md", "content": PAGE}),
    ]

    assert ["forgotten" in answer for answer in answers] == [False, False]


@pytest.mark.slow
async def test_a_long_page_says_it_too(service: Service, alice: Caller) -> None:
    """A text that is planned without the locks, and writers at the same moment."""
    long = PAGE + "The sea was calm on that day. " * 8_000
    answers = await asyncio.gather(
        *(
            service.execute(alice, "memory_write", {"path": f"user/long-{number}.md", "content": long})
            for number in range(3)
        )
    )

    assert [len(answer["forgotten"]) for answer in answers] == [1, 1, 1]


async def test_an_import_names_the_lines(service: Service, alice: Caller) -> None:
    """The count and the lines; a second import of the same files brings nothing."""
    vault = zipped({"pool.md": PAGE.encode(), "boat.md": b"The boat is red.\n"})
    first, second = await import_vault(service, alice, vault), await import_vault(service, alice, vault)

    assert [(one.path, one.line) for one in first.forgotten] == [("user/pool.md", 5)]
    assert (first.counts.forgotten, second.counts.forgotten) == (1, 0)


async def test_a_conversation_names_the_lines_and_a_search_marks_them(
    service: Service, alice: Caller
) -> None:
    """By words; the message stays readable, and other passages are not marked."""
    talk = said(("user", f"Hello.\n\n{LINE}"), ("user", "The pool opens at nine."))
    _, alice = await put(service, alice, "talk", talk)
    found = (await FIND.call(service, alice, {"query": "pool"})).body()

    marked = {hit["message"]["text"]: words(hit["message"]["text"], hit) for hit in found["hits"]}
    assert marked[f"Hello.\n\n{LINE}"] == [LINE]
    assert marked["The pool opens at nine."] == []
