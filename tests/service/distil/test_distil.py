"""Distilling: what a person said becomes statements with citations, and nothing newer is touched."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from tests.conftest import CallerOf
from tests.kit.rows import select
from tests.service.distil.kit import NOW, distil, files, put, said

from memex.errors import ConversationNotFound, MessagesErased, PlanChanged, ValidationFailed
from memex.service.conversations import removing
from memex.service.distil import distil as distilling
from memex.service.log.replay.requests import replay_call
from memex.service.service import Service

TEA = said(
    ("user", "I prefer oolong tea over coffee. My brother is called Piet."),
    ("assistant", "You also like cake, and you live in Bonn."),
    ("user", "We decided to use Postgres for the queue.\n> I will resign in May.\nThanks!"),
    ("user", "Please forget that I prefer oolong tea."),
    ("user", "I need to send the offer to Bob."),
)


async def test_a_conversation_becomes_statements_with_citations(
    service: Service, caller_of: CallerOf
) -> None:
    """A dry run shows what is written; each statement cites its message; `revert` restores every byte."""
    anna = await caller_of("anna")
    await service.execute(anna, "memory_remember", {"text": "My sister is called Eva."})
    before = await files(service, anna)
    name, anna = await put(service, anna, "tea", TEA)

    shown = await distil(service, anna, conversation=name)
    unwritten = await files(service, anna)
    done = await distil(service, anna, conversation=name, dry_run_id=shown.tool_call_id)
    written = await files(service, anna)
    again = await distil(service, anna, conversation=name, apply=True)
    revisions = await select(
        service.database, "select distinct channel from revision where tool_call_id = %s", done.tool_call_id
    )
    await service.revert(anna, done.tool_call_id)

    assert (shown.status, done.status, again.status, unwritten) == ("dry_run", "committed", "nothing", before)
    assert [write.diff for write in done.writes] == [write.diff for write in shown.writes]
    lines = [line for text in written.values() for line in text.splitlines() if "[[conversations/" in line]
    day = TEA[0]["said_at"][:10]
    assert sorted(lines) == sorted(
        [
            f"- I prefer oolong tea over coffee. ({day}) [[conversations/{name}#1]]",
            f"- My brother is called Piet. ({day}) [[conversations/{name}#1]]",
            f"- We decided to use Postgres for the queue. ({day}) [[conversations/{name}#3]]",
            f"- [ ] I need to send the offer to Bob. ({day}) [[conversations/{name}#5]]",
        ]
    )
    assert {skip.reason for skip in done.skipped} == {"quoted", "small_talk", "forget"}
    assert [one.age_days for one in done.statements if one.kind == "pending"] == [30]
    assert revisions == [("import",)]
    assert await files(service, anna) == before


async def test_only_new_messages_are_read(service: Service, caller_of: CallerOf) -> None:
    """A conversation that grows is read on from where it was left; `again` begins anew, and adds nothing twice."""
    name, anna = await put(service, await caller_of("anna"), "tea", TEA)
    shown = await distil(service, anna, conversation=name)
    grown = [*TEA, *said(("user", "I live in Lisbon."), days_ago=20, first=6)]
    await put(service, anna, "tea", grown)

    first = await distil(service, anna, conversation=name, dry_run_id=shown.tool_call_id)
    second = await distil(service, anna, since=datetime(2020, 1, 1, tzinfo=UTC), apply=True)
    before = await files(service, anna)
    third = await distil(service, anna, conversation=name, apply=True, again=True)

    assert [(one.after, one.until) for one in first.read] == [(0, 5)]
    assert [(one.after, one.until) for one in second.read] == [(5, 6)]
    assert [one.text for one in second.statements] == ["I live in Lisbon."]
    assert {one.outcome for one in third.statements} == {"cited"}
    assert await files(service, anna) == before


async def test_old_words_do_not_overrule_newer_ones(service: Service, caller_of: CallerOf) -> None:
    """What is older than its rival in memory, of the same day or without a time is skipped and named."""
    days = {"older": 30.0, "same day": 0.0, "future": -30.0, "no time": None, "newer": 1.0}
    outcomes = {}
    for case, days_ago in days.items():
        anna = await caller_of(f"anna {case}")
        given = {"text": "I live in Lisbon.", "said_at": (NOW.date()).isoformat()}
        if case == "newer":
            given["said_at"] = "2020-01-01"
        await service.execute(anna, "memory_remember", given)
        name, anna = await put(
            service,
            anna,
            case,
            said(("user", "I live in Graz."), ("user", "I own a boat."), days_ago=days_ago),
        )
        done = await distil(service, anna, conversation=name, apply=True)
        text = "".join((await files(service, anna)).values())
        outcomes[case] = "Graz" in text, "Lisbon" in text, [one.newer_text for one in done.outdated]
        assert "I own a boat." in text, case
        assert ("I own a boat. [[" in text) is (days_ago is None or days_ago < 0), case

    outdated = (False, True, ["I live in Lisbon."])
    assert outcomes == dict.fromkeys(days, outdated) | {"newer": (True, False, [])}


async def test_what_memory_gave_up_stays_away(service: Service, caller_of: CallerOf) -> None:
    """A statement that was forgotten, replaced or deleted after it was said in a chat does not come back."""
    anna = await caller_of("anna")
    for text in ("I own a zeppelin.", "I live in Graz.", "I prefer a green desk."):
        await service.execute(anna, "memory_remember", {"text": text, "said_at": "2020-01-01"})
    for text in ("Please forget that I own a zeppelin.", "I live in Lisbon now."):
        await service.execute(anna, "memory_remember", {"text": text})
    for path, content in (await files(service, anna)).items():
        if "green" in content:
            kept = "".join(line for line in content.splitlines(keepends=True) if "green" not in line)
            await service.execute(anna, "memory_write", {"path": path, "content": kept, "overwrite": True})
    before = "".join((await files(service, anna)).values())
    turns = [("user", text) for text in ("I own a zeppelin.", "I live in Graz.", "I prefer a green desk.")]
    name, anna = await put(service, anna, "old", said(*turns))
    after, anna = await put(service, anna, "new", said(("user", "I prefer a green desk."), days_ago=-0.001))

    done = await distil(service, anna, conversation=name, apply=True)
    old = "".join((await files(service, anna)).values())
    await distil(service, anna, conversation=after, apply=True)

    assert ("zeppelin" in before, "Graz" in before, "green" in before) == (False, False, False)
    assert old == before
    assert [one.text for one in done.outdated] == [text for _, text in turns]
    assert "I prefer a green desk." in "".join((await files(service, anna)).values())


async def test_tasks_of_old_chats(service: Service, caller_of: CallerOf) -> None:
    """A task that is done since stays done; one without a day is not taken; a new one gets its age."""
    anna = await caller_of("anna")
    await service.execute(anna, "memory_remember", {"text": "Done: send the offer to Bob."})
    name, anna = await put(
        service,
        anna,
        "a",
        said(("user", "I need to send the offer to Bob. I need to buy stamps."), days_ago=9),
    )
    undated, anna = await put(service, anna, "b", said(("user", "I need to call Ida."), days_ago=None))

    done = await distil(service, anna, conversation=name, apply=True)
    unknown = await distil(service, anna, conversation=undated, apply=True)
    tasks = (await files(service, anna))["user/tasks.md"]

    assert [(one.text, one.age_days) for one in done.statements if one.outcome == "added"] == [
        ("I need to buy stamps.", 9)
    ]
    assert "- [ ] I need to send" not in tasks
    assert [(one.text, one.path) for one in unknown.outdated] == [("I need to call Ida.", None)]
    assert "Ida" not in tasks


async def test_a_duplicate_gets_the_first_and_the_newest_two_citations(
    service: Service, caller_of: CallerOf
) -> None:
    """A statement that is said again keeps its words and its day, and cites at most three messages."""
    anna = await caller_of("anna")
    turns = [("user", f"I prefer oolong tea{'!' * place}") for place in range(1, 6)]
    name, anna = await put(service, anna, "a", said(*turns))

    await distil(service, anna, conversation=name, apply=True)
    text = (await files(service, anna))["user/preferences.md"]
    told = await service.execute(anna, "memory_remember", {"text": "I prefer oolong tea"})

    cited = " ".join(f"[[conversations/{name}#{number}]]" for number in (1, 4, 5))
    assert cited in text
    assert text.count("oolong") == 1
    assert [one["reason"] for one in told["skipped"]] == ["duplicate"]


async def test_what_was_shown_is_written_or_nothing(service: Service, caller_of: CallerOf) -> None:
    """A dry run that memory has overtaken is not written, nor one of other arguments or another kind."""
    name, anna = await put(service, await caller_of("anna"), "tea", TEA)
    shown = await distil(service, anna, conversation=name)
    told = await service.execute(anna, "memory_remember", {"text": "My brother is called Piet."})
    before = await files(service, anna)

    for given, error in (
        ({"conversation": name, "dry_run_id": shown.tool_call_id}, PlanChanged),
        ({"conversation": name, "again": True, "dry_run_id": shown.tool_call_id}, ValidationFailed),
        ({"conversation": name, "dry_run_id": told["tool_call_id"]}, ValidationFailed),
        ({"conversation": name, "dry_run_id": shown.tool_call_id, "apply": True}, ValidationFailed),
        ({"conversation": name, "since": NOW}, ValidationFailed),
        ({}, ValidationFailed),
        ({"conversation": "000000000000"}, ConversationNotFound),
    ):
        with pytest.raises(error):
            await distil(service, anna, **given)
    assert await files(service, anna) == before


async def test_the_log_holds_no_text_of_a_conversation(service: Service, caller_of: CallerOf) -> None:
    """The log names messages; a replay reads them again, and says that they are erased once they are."""
    name, anna = await put(service, await caller_of("anna"), "tea", TEA)
    shown = await distil(service, anna, conversation=name)
    done = await distil(service, anna, conversation=name, apply=True)

    logged = await select(service.database, "select * from operation where kind <> 'conversation_put'")
    held = json.dumps(logged, default=str)
    replayed = [await replay_call(service, anna, one.tool_call_id) for one in (shown, done)]
    await removing.DELETE.call(service, anna, {"conversations": [name]})

    words = ("oolong", "Piet", "Postgres for", "offer to Bob", "resign", "Tea")
    assert [word for word in words if word in held] == []
    assert [(one.is_equal, one.difference) for one in replayed] == [(True, None)] * 2
    with pytest.raises(MessagesErased):
        await replay_call(service, anna, done.tool_call_id)


async def test_a_repeated_call_changes_nothing(service: Service, caller_of: CallerOf) -> None:
    """The same call under its id gets its first answer, without the texts of messages."""
    name, anna = await put(service, await caller_of("anna"), "tea", TEA)
    given: dict[str, Any] = {"conversation": name, "apply": True}
    first = await distilling.distil(service, anna, given, tool_call_id="once")
    second = await distilling.distil(service, anna, given, tool_call_id="once")

    assert [write.diff for write in second.writes] == [write.diff for write in first.writes]
    assert [one.text for one in second.statements] == [None] * len(first.statements)
