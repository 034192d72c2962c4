"""What a teller does not say himself stays in the journal and on no page; what Memex said is not kept at all."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from tests.kit.memory import remember, skipped
from tests.service.distil import kit

from memex.service.conversations import putting
from memex.service.conversations.reading import READ
from memex.service.service import Caller, Service

CallerOf = Callable[..., Awaitable[Caller]]
Result = dict[str, Any]

# The statements that these calls make are tested on both servers by the tests of the store.
pytestmark = pytest.mark.embedded_only

NUTS = "I am allergic to nuts."
TEA = "I prefer oolong tea."
MAIL = f"From: Ana Holm <ana@example.org>\nTo: Kim\nSubject: Lunch\n\n{NUTS} See you there."
LETTER = f"Dear Kim,\n\n{NUTS}\n\nKind regards,\nAna Holm"
# A text, with the part of it that makes no statement, and why.
FOREIGN = (
    (f'The sign said: "{TEA}"', f'The sign said: "{TEA}"', "quoted"),
    (f"> {TEA}\n\nThe choir sang.", TEA, "quoted"),
    (f"Notes of the day:\n\n- > {TEA}", TEA, "quoted"),
    (MAIL, NUTS, "pasted"),
    (f"Look at this.\n\n{LETTER}\n\nWhat a pity.", NUTS, "pasted"),
    (f"Ana wrote:\n{NUTS}\n\nThe choir sang.", NUTS, "quoted"),
    (f"My sister says: {TEA}", f"My sister says: {TEA}", "quoted"),
    ("Ana sagte: Ich wohne in Wien.", "Ana sagte: Ich wohne in Wien.", "quoted"),
    (f"Translate this into French: {TEA}", f"Translate this into French: {TEA}", "instruction"),
    (f"Please translate: {NUTS}", f"Please translate: {NUTS}", "instruction"),
    (f"Summarize the following text:\n\n{NUTS}\n\n{TEA}", NUTS, "instruction"),
)


@pytest.fixture
def service(service: Service) -> Service:
    """Return a service that keeps the journal."""
    service.keeps_journal = True
    return service


async def words(service: Service, caller: Caller, answer: Result) -> str:
    """Return what the entry of a call holds now."""
    path = answer["entry"].rpartition("@")[0]
    return str((await service.execute(caller, "memory_read", {"path": path}))["content"])


async def pages(service: Service, caller: Caller) -> list[str]:
    """Return the paths of all files outside the journal."""
    return [file["path"] for file in (await service.execute(caller, "memory_list", {}))["files"]]


async def context_of(service: Service, caller: Caller, query: str) -> str:
    """Return a context."""
    asked = {"query": query, "budget": 4_000}
    return str((await service.execute(caller, "memory_context", asked))["context"])


@pytest.mark.parametrize(("text", "part", "reason"), FOREIGN)
async def test_words_of_others_are_kept_and_state_nothing(
    service: Service, alice: Caller, text: str, part: str, reason: str
) -> None:
    """The entry has the whole text, the answer says what became of the part, and no page has it."""
    answer = await remember(service, alice, text)

    assert await words(service, alice, answer) == text
    assert await pages(service, alice) == []
    assert reason in [why for said, why in skipped(text, answer) if part in said]


OWN = (
    (f"Note: {TEA}", TEA),
    (f"Remember this: {TEA}", TEA),
    (f"I wrote: {TEA}", f"I wrote: {TEA}"),
    (f"Ana wrote:\nThe office moves.\n\n{NUTS}", NUTS),
    (f"To: Linz\nFrom: Graz\n\n{TEA}", TEA),
    ('My name is "Kim".', 'My name is "Kim".'),
    ('We decided to call the project "I live here".', 'We decided to call the project "I live here".'),
    ("Forget my old address, I live in Linz.", "I live in Linz."),
)


@pytest.mark.parametrize(("text", "stated"), OWN)
async def test_own_words_beside_them_are_stated(
    service: Service, alice: Caller, text: str, stated: str
) -> None:
    """A label, a request to remember, a name in quotation marks, what stands behind the words of others."""
    answer = await remember(service, alice, text)

    assert stated in "".join(write["diff"] for write in answer["writes"])


async def test_a_letter_of_ones_own_is_no_letter_of_others(service: Service, alice: Caller) -> None:
    """The name below it is the one that the profile has."""
    await remember(service, alice, "My name is Ana Holm.")
    answer = await remember(service, alice, LETTER)

    assert NUTS in "".join(write["diff"] for write in answer["writes"])


async def test_a_context_that_is_sent_back_is_not_kept(service: Service, alice: Caller) -> None:
    """What stands beside it is; alone it makes no entry; and it brings nothing back that was forgotten."""
    await remember(service, alice, f"{TEA} {NUTS}")
    context = await context_of(service, alice, "What do I prefer? Am I allergic?")
    await remember(service, alice, "Forget that I am allergic to nuts.")
    alone = await remember(service, alice, context)
    text = f"Here it is.\n\n{context}\n\nI live in Linz."
    beside = await remember(service, alice, text)
    kept = await words(service, alice, beside)
    after = await context_of(service, alice, "Am I allergic to nuts?")

    assert NUTS in context
    assert (alone["status"], alone.get("entry")) == ("nothing", None)
    assert skipped(context, alone) == [(context, "recalled")]
    assert alone["note"] is not None
    assert (context, "recalled") in skipped(text, beside)
    assert kept.split() == ["Here", "it", "is.", "I", "live", "in", "Linz."]
    assert len(kept) == len(text)
    assert "nuts" not in after


async def test_a_line_of_a_page_that_is_sent_back_is_not_kept(service: Service, alice: Caller) -> None:
    """A line with its stamp, standing or forgotten; the same words with another day, or none, are new words."""
    await remember(service, alice, f"{TEA} {NUTS}", said_at="2024-03-01")
    await remember(service, alice, "Forget that I am allergic to nuts.")
    lines = [f"- {TEA} (2024-03-01)", f"{NUTS} (2024-03-01)"]
    text = "\n".join(["I live in Linz.", *lines, ""])
    answer = await remember(service, alice, text)
    other = await remember(service, alice, f"- {NUTS} (2024-03-02)")

    assert [said for said, reason in skipped(text, answer) if reason == "recalled"] == lines
    assert (await words(service, alice, answer)).strip() == "I live in Linz."
    assert "nuts" not in "".join(write["diff"] for write in answer["writes"])
    assert "recalled" not in {reason for _, reason in skipped(f"- {NUTS} (2024-03-02)", other)}


async def test_a_request_in_a_context_forgets_nothing(service: Service, alice: Caller) -> None:
    """Stored words that come back are none of the teller's."""
    await remember(service, alice, NUTS)
    await service.execute(
        alice, "memory_write", {"path": "user/notes/a.md", "content": f"Forget that {NUTS.lower()}\n"}
    )
    context = await context_of(service, alice, "What to forget about nuts?")
    answer = await remember(service, alice, context)

    assert "Forget that" in context
    assert {reason for _, reason in skipped(context, answer)} == {"recalled"}
    assert "nuts" in await context_of(service, alice, "Am I allergic to nuts?")


async def test_conversations_are_captured_and_distilled_without_it(service: Service, alice: Caller) -> None:
    """A context in a message is cut when the message is stored, and so is a line of a page; nothing is restored."""
    await remember(service, alice, f"{TEA} {NUTS}", said_at="2024-03-01")
    context = await context_of(service, alice, "What do I prefer? Am I allergic?")
    await remember(service, alice, "Forget that I am allergic to nuts.")
    turns = [
        ("user", f"I live in Linz.\n\n{context}"),
        ("assistant", f"I see.\n{context}"),
        ("user", context),
        ("user", f"I work at Acme.\n- {NUTS} (2024-03-01)"),
    ]
    name, alice = await kit.put(service, alice, "chat", kit.said(*turns))
    read = await READ.call(service, alice, {"reference": name})
    await kit.distil(service, alice, conversation=name, apply=True)
    after = "\n".join((await kit.files(service, alice)).values())

    assert [one.text for one in read.messages] == [
        "I live in Linz.",
        "I see.",
        putting.NOTHING_ELSE,
        "I work at Acme.",
    ]
    assert "I live in Linz." in after
    assert "I work at Acme." in after
    assert "nuts" not in after
    assert "[[conversation" not in next(line for line in after.splitlines() if TEA in line)


async def test_older_conversations_are_distilled_without_it(
    service: Service, alice: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Messages that were stored with contexts and lines of pages state nothing by them either."""
    await remember(service, alice, f"{TEA} {NUTS}", said_at="2024-03-01")
    context = await context_of(service, alice, "What do I prefer? Am I allergic?")
    await remember(service, alice, "Forget that I am allergic to nuts.")
    with monkeypatch.context() as older:
        older.setattr(putting, "without_recalled", lambda text, lines=(): text)
        text = f"I live in Linz.\n\n{context}\n\n- {NUTS} (2024-03-01)\n"
        name, alice = await kit.put(service, alice, "chat", kit.said(("user", text)))
    result = await kit.distil(service, alice, conversation=name, apply=True)
    after = "\n".join((await kit.files(service, alice)).values())

    assert "I live in Linz." in after
    assert "nuts" not in after
    assert "recalled" in {one.reason for one in result.skipped}
