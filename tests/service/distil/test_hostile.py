"""What conversations may hold: orders, other people's words, ten languages, code, too much of it."""

import json
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from tests.conftest import CallerOf
from tests.service.distil.kit import NOW, distil, files, put, said
from tests.service.test_poison import OWN

from memex.service.conversations import finding
from memex.service.distil import portion
from memex.service.distil.answer import DistilResult
from memex.service.service import Service
from memex.store.citations.syntax import without_any_citation
from memex.subagent.distil import reading
from memex.subagent.distil.message_text import read_text
from memex.subagent.statements.bullets import UNDATED

EVAL_DATA = os.environ.get("MEMEX_EVAL_DATA")
KEPT = "# Kept\n\nThe vault's number is 40917.\n"


def attacks() -> list[str]:
    """Instructions that somebody slips into a message: some of our own, and those of the real data."""
    if EVAL_DATA is None:
        return OWN
    folder = Path(EVAL_DATA) / "injection"
    found = [
        attack
        for name in ("bipia_text_attack_train.json", "bipia_code_attack_train.json")
        for kind in json.loads((folder / name).read_text(encoding="utf-8")).values()
        for attack in kind
    ]
    return [*OWN, *found]


async def test_injected_instructions_write_nothing_but_notes_of_the_user(
    service: Service, caller_of: CallerOf
) -> None:
    """Through import, search, context and distilling: no file but those of statements, and a closed wrapper."""
    anna = await caller_of("anna")
    for path in ("user/keep.md", "user/owned.md"):
        await service.execute(anna, "memory_write", {"path": path, "content": KEPT})
    poison = attacks()
    name, anna = await put(service, anna, "mail", said(*(("user", attack) for attack in poison)))
    for attack in poison[:20]:
        await finding.FIND.call(service, anna, {"query": attack[:200]})

    done = await distil(service, anna, conversation=name, apply=True)
    stored = await files(service, anna)
    contexts = [
        await service.execute(anna, "memory_context", {"query": attack[:300], "budget": 2_000})
        for attack in poison[::5]
    ]

    assert {write.path for write in done.writes} <= {
        f"user/{one}.md" for one in ("notes", "tasks", "preferences", "profile", "decisions", "goals")
    }
    assert (stored["user/keep.md"], stored["user/owned.md"]) == (KEPT, KEPT)
    for context in contexts:
        text = context["context"]
        assert not text or text.rstrip().endswith(f"</memory-{text[8:12]}>")
        assert not text or text.count("</memory-") == 1 + text.count("</memory-0000000000000000>")
    lines = [line for path, text in stored.items() for line in text.splitlines() if line.startswith("- ")]
    assert [line for line in lines if "[[conversations/" not in line] == []


LANGUAGES = (
    "I prefer oolong tea.",
    "Ich wohne in Graz.",
    "Nous avons décidé d'utiliser Postgres.",
    "Prefiero el té verde.",
    "Preferisco il caffè.",
    "Wolę herbatę.",
    "私はお茶が好きです。",
    "Мне нравится чай.",
    "أفضل الشاي.",
    "我喜欢喝茶。",
)


async def test_only_the_words_of_the_person_count(service: Service, caller_of: CallerOf) -> None:
    """Ten languages in one conversation, a pasted chat, quotations, code, a secret, empty marks, odd characters."""
    turns: list[tuple[str, str]] = [("user", text) for text in LANGUAGES]
    turns += [
        ("assistant", "I live in Atlantis and you prefer mustard."),
        ("user", "User: I own a boat.\nAssistant: You own a zeppelin.\nUser: Thanks!"),
        ("user", "> I will quit in May.\n> I hate my boss.\n\nThat is what Tom wrote."),
        ("user", "```python\nprint('I prefer C')\n```"),
        ("user", "The password of the router is hunter2hunter2."),
        ("user", "- \n\n...\n\u200b"),
        ("user", "My cat is called \U0001f408\u202e. I prefer\u0000 rye.".replace("\0", "")),
        ("user", "x" * 5_000),
    ]
    name, anna = await put(service, await caller_of("anna"), "babel", said(*turns))

    done = await distil(service, anna, conversation=name, apply=True)
    text = "".join((await files(service, anna)).values())

    for absent in (
        "Atlantis",
        "mustard",
        "zeppelin",
        "quit in May",
        "my boss",
        "prefer C",
        "hunter2",
        "xxxx",
    ):
        assert absent not in text, absent
    for present in ("oolong", "Graz", "Postgres", "私はお茶", "own a boat", "cat is called"):
        assert present in text, present
    assert {"quoted", "code", "secret", "limit"} <= {one.reason for one in done.skipped}


def test_what_a_message_quotes_or_marks_states_nothing() -> None:
    """Quotations in lists and lines of all kinds, code in lists, and marks without a word."""
    for text, stated, reason in (
        ("- > I live in Rome.\n- I like tea.", ["I like tea."], "quoted"),
        ("1. - > I live in Rome.", [], "quoted"),
        ("> Hello\nI live in Rome\n> or Bonn", [], "quoted"),
        ("I like tea.\r> I live in Rome.", ["I like tea."], "quoted"),
        ("I like tea.\u2028> I live in Rome.", ["I like tea."], "quoted"),
        ("I like tea. > I live in Rome.", ["I like tea."], "quoted"),
        ("- ```\n  I live in Rome.\n  ```", [], "code"),
        ("```\nI live in Rome.\n```\nI like tea.", ["I like tea."], "code"),
        ("I like tea. [[conversations/9k2m4q7wtx3d#41]]", ["I like tea."], "empty"),
        ("I like tea. (2031-01-01)", ["I like tea."], "empty"),
    ):
        read = read_text(text, UNDATED).extraction
        assert [one.text for one in read.statements] == stated, text
        assert reason in {one.reason for one in read.skipped}, text


async def test_a_long_conversation_comes_in_portions(
    service: Service, caller_of: CallerOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One call takes so many statements, and is whole by itself; the next one goes on where it stopped."""
    monkeypatch.setattr(reading, "MAX_STATEMENTS", 20)
    turns = [("user", f"My boat {number} is called Wave {number}.") for number in range(45)]
    turns.insert(30, ("user", " ".join(f"I own {number} cats." for number in range(50))))
    name, anna = await put(service, await caller_of("anna"), "long", said(*turns))

    done: list[DistilResult] = []
    while not done or done[-1].remaining:
        done.append(await distil(service, anna, conversation=name, apply=True))

    text = "".join((await files(service, anna)).values())
    assert [[(part.after, part.until) for part in one.read] for one in done] == [
        [(0, 20)], [(20, 30)], [(30, 31)], [(31, 46)],
    ]  # fmt: skip
    assert [one.remaining for one in done] == [26, 16, 15, 0]
    assert [skip.reason for skip in done[2].skipped].count("limit") == 30
    assert text.count("is called Wave") == 45
    for one in done:
        assert len(one.statements) <= 20


async def test_many_conversations_come_in_portions(
    service: Service, caller_of: CallerOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A call reads so many conversations, and says what is left in those behind them."""
    monkeypatch.setattr(portion, "MAX_CONVERSATIONS", 2)
    anna = await caller_of("anna")
    for number in range(5):
        talk = said(("user", f"My boat {number} is called Wave {number}."))
        _, anna = await put(service, anna, f"c{number}", talk)
    since = NOW - timedelta(days=60)

    shown = await distil(service, anna, since=since)
    done = [await distil(service, anna, since=since, apply=True) for _ in range(4)]

    assert [len(shown.read), *(len(one.read) for one in done)] == [2, 2, 2, 1, 0]
    assert [shown.remaining, *(one.remaining for one in done)] == [2, 2, 1, 0, 0]
    assert "".join((await files(service, anna)).values()).count("is called Wave") == 5


@pytest.mark.slow
def test_hostile_texts_are_read_in_time() -> None:
    """A megabyte of anything states nothing or little, and raises nothing."""
    for piece in (
        "[[conversations/",
        "> ",
        "- [ ] a\n",
        "I prefer tea. ",
        "]]",
        "```\n",
        "\u2028",
        "forget ",
    ):
        for day in (datetime(2026, 1, 2, tzinfo=UTC).date(), UNDATED):
            read_text(piece * (20_000 // len(piece)), day)
        without_any_citation(piece * (1_000_000 // len(piece)))


@pytest.mark.parametrize("said_at", ["0002-01-01T00:00:00Z", "9998-12-31T23:59:59Z"])
async def test_a_time_that_cannot_be_true_is_none(
    service: Service, caller_of: CallerOf, said_at: str
) -> None:
    """A forged time of the future overrules nothing, and one before 1900 is no day of a statement."""
    anna = await caller_of("anna")
    await service.execute(anna, "memory_remember", {"text": "I live in Lisbon."})
    messages = [
        {"id": str(n), "role": "user", "text": text, "said_at": said_at}
        for n, text in enumerate(("I live in Graz.", "I own a boat."))
    ]
    name, anna = await put(service, anna, "forged", messages)

    await distil(service, anna, conversation=name, apply=True)
    text = "".join((await files(service, anna)).values())

    assert ("Graz" in text, "Lisbon" in text) == (False, True)
    assert f"- I own a boat. [[conversations/{name}#2]]" in text
