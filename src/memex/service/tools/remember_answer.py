"""The answer of memory_remember: what was written, left out and taken out, and what the caller may settle."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Annotated, Any

from pydantic import Field

from memex.service.log import references
from memex.service.tools.planned_tool import degraded_code
from memex.service.tools.tool import LEFT_OUT, ResultPart, ToolResult
from memex.store.log.call import CallAnswer
from memex.store.records import FileChange
from memex.store.writes.results import ToldEntry
from memex.subagent.planner import FiledStatement, RememberPlan, Rivalry
from memex.subagent.remember import note
from memex.subagent.remember.filing.handles import handle_of
from memex.subagent.remember.settling import Settlement
from memex.subagent.remember.stage import FileOutcome
from memex.subagent.statements.comparison.remains import Echo
from memex.subagent.statements.extraction import Statement
from memex.subagent.statements.subjects import normal_form

# Outcomes of a statement that write nothing, with the reasons that the answer gives.
UNWRITTEN = {"duplicate": "duplicate", "overtaken": "superseded", "absent": "absent", "nested": "nested"}
# Outcomes that write, as the answer counts them.
WRITTEN = {"added": "added", "superseded": "replaced", "removed": "removed"}


class WriteMade(ResultPart):
    """A write to one file, done or planned: the version, the reason in words, and the difference."""

    path: str
    operation: str
    version: int
    reason: str
    diff: str


class SkippedResult(ResultPart):
    """A part of the text that was not written: its span, and the reason.

    | reason | meaning |
    | --- | --- |
    | duplicate | the statement is stored already; `known_in` says where, if it is a stored file |
    | superseded | another part of the text, or a newer stored statement, replaces the statement |
    | small_talk, question, heading, empty | the part holds no statement |
    | instruction | the part gives an order to its reader |
    | assistant | the part is the assistant's own words |
    | quoted | the part stands in a quotation, or somebody else says it of himself; the journal keeps it |
    | pasted | the part stands in a pasted letter, mail or log; the journal keeps it |
    | recalled | memory itself said the part; nothing keeps it |
    | unfiled | the part is of no sure kind; the journal keeps it |
    | secret | the part holds a secret, such as a password |
    | forget | the part asks to forget something; `note` says what became of that |
    | forgotten | the part says what was forgotten, and is older or in disguise; nothing keeps it |
    | absent | the statement to remove is not stored |
    | nested | the statement to remove has other items nested below it, and stays |
    | unsure, other | the model left the part out |
    | limit | the model made more edits than MEMEX_MODEL_WRITES |
    | invalid | the edit of the model was wrong, after one correction |
    """

    start: int
    end: int
    reason: str
    known_in: str | None


class CandidateResult(ResultPart):
    """A stored statement that a request to forget may mean. It still stands; `outdated: [handle]` takes it out."""

    handle: str = ""  # in answers of old versions
    path: str
    text: str


class RivalResult(ResultPart):
    """A new statement, and a stored one at `path` that it probably contradicts.

    Both stay; `outdated: [handle]` takes the older one out.
    """

    handle: str = ""  # in answers of old versions
    path: str
    older: str
    newer: str


class ReplacedResult(ResultPart):
    """A statement that was taken out of the file at `path`, and the one for which it went.

    `kept` is what else the older one said, which stays there; None if it said nothing else. An entry of the journal
    keeps its words, which no context and no search shows any more.
    """

    path: str
    older: str
    newer: str
    kept: str | None


class AgainResult(ResultPart):
    """A part of the text that says anew what was forgotten: when that was, and by which call. It holds again."""

    start: int
    end: int
    forgotten_at: str
    tool_call_id: str


class ForgottenResult(ResultPart):
    """Words that a request to forget took out of the page or the entry at `path`."""

    path: str
    text: str


class UnresolvedResult(ResultPart):
    """A handle that took nothing out, and the reason.

    | reason | meaning |
    | --- | --- |
    | unknown | it names no statement that stands in a file which this call may change |
    | limit | the call named more than 10 handles |
    | conflict | the call names it as outdated and as one that holds |
    | nested | other items are nested below the statement, and it stays |
    """

    handle: str
    reason: str


class StatementResult(ResultPart):
    """A statement of the text: its span, its kind, where it would go, and what would become of it there.

    | outcome | meaning |
    | --- | --- |
    | added | it is added under `heading` of the file at `path` |
    | superseded | it takes the place of `replaced` |
    | removed | it takes `replaced` out |
    | duplicate | it is stored already, at `path` |
    | overtaken | another part of the text, or a newer stored statement, has its place |
    | absent | what it takes out is not stored |
    | nested | what it takes out has other items nested below it, and stays |
    """

    start: int
    end: int
    text: str
    kind: str
    outcome: str
    path: str
    heading: str | None
    replaced: str | None


class RememberResult(ToolResult):
    """The result for a text. `status` is committed, nothing, dry_run, or queued (not processed yet).

    `entry` names the entry of the journal that holds the text, as `path@version`; absent if the text is not kept.
    `statements` is there for a dry run that asks for it. `note` says in words what `rivals`, `candidates`,
    `unresolved` or a request to forget mean for the caller.
    """

    status: str
    entry: Annotated[str | None, LEFT_OUT] = None
    writes: list[WriteMade]
    skipped: list[SkippedResult]
    replaced: list[ReplacedResult] = Field(default_factory=list)
    rivals: list[RivalResult] = Field(default_factory=list)
    candidates: list[CandidateResult] = Field(default_factory=list)
    unresolved: list[UnresolvedResult] = Field(default_factory=list)
    forgotten: Annotated[list[ForgottenResult] | None, Field(exclude_if=lambda found: not found)] = None
    again: Annotated[list[AgainResult] | None, Field(exclude_if=lambda found: not found)] = None
    note: str | None = None
    planner: str
    degraded: str | None
    statements: Annotated[list[StatementResult] | None, LEFT_OUT] = None


def render_answer(
    arguments: dict[str, Any],
    plan: RememberPlan,
    settled: Settlement,
    done: list[FileOutcome],
    hidden: Sequence[FileChange],
    config: dict[str, Any],
    *,
    again: Sequence[Echo] = (),
    entry: ToldEntry | None,
    is_dry_run: bool,
    lists_statements: bool = False,
) -> CallAnswer:
    """Return the answer to a text.

    Args:
        arguments: the arguments of the call, as the log keeps them.
        plan: the plan of what to write.
        settled: what the handles of the call take out.
        done: the outcome for each file.
        hidden: the changes of journal entries of which words are forgotten.
        config: what is logged with the arguments; see `planning_record`.
        again: the sentences that say anew what was forgotten.
        entry: of the journal, which holds the text; None where it was not kept.
        is_dry_run: nothing was written.
        lists_statements: the answer lists the statements.
    """
    plan = _with_settled(plan, settled)
    written = [
        (file.change, reason_of(file)) for file in done if file.change is not None and file.change.changed
    ]
    written += [(change, "words forgotten") for change in hidden]
    is_told = entry is not None and not entry.is_repeat
    status = "dry_run" if is_dry_run else "committed" if written or is_told else "nothing"
    skipped = [SkippedResult.taken_from(skip, known_in=None) for skip in plan.skipped]
    skipped += [
        SkippedResult.taken_from(
            known.statement,
            reason="duplicate",
            known_in=f"{known.reference.path}@{known.reference.version}",
        )
        for known in plan.known
    ]
    rivals = note.standing_rivals(plan, done)
    unresolved = _unresolved(settled, done)
    replaced, forgotten = list(_replaced(plan, done)), list(_forgotten(plan, done))
    skipped += [
        SkippedResult.taken_from(
            statement,
            reason=UNWRITTEN[outcome.action],
            known_in=file.change.new_reference if file.change and outcome.action == "duplicate" else None,
        )
        for file in done
        for statement, outcome in file.statement_outcomes
        if outcome.action in UNWRITTEN
    ]
    result = RememberResult(
        status=status,
        entry=entry.reference if entry else None,
        writes=[write_made(change, reason) for change, reason in written],
        skipped=sorted(skipped, key=lambda skip: skip.start),
        replaced=[replacement for replacement, _ in replaced],
        rivals=list(map(rival_result, rivals)),
        candidates=[
            CandidateResult.taken_from(candidate, handle=handle_of(candidate.path, candidate.text))
            for candidate in plan.candidates
        ],
        unresolved=unresolved,
        forgotten=[words for words, _ in forgotten],
        again=list(map(_said_again, again)),
        note=note.describe(
            arguments.get("text") or "",
            plan,
            done,
            rivals,
            is_again=bool(again),
            is_unknown=any(handle.reason == "unknown" for handle in unresolved),
            is_dry_run=is_dry_run,
        ),
        planner=plan.planner,
        degraded=degraded_code(plan.failure),
        statements=_statements(plan, done) if lists_statements else None,
    ).body()
    logged = result | {
        "rivals": _logged(result["rivals"], "older", [rival.older for rival in rivals]),
        "candidates": _logged(result["candidates"], "text", plan.candidates),
        "replaced": [
            answered | reference
            for answered, (_, reference) in zip(result["replaced"], replaced, strict=True)
        ],
    }
    if forgotten:
        references_of = zip(result["forgotten"], forgotten, strict=True)
        logged["forgotten"] = [answered | reference for answered, (_, reference) in references_of]
    if not is_dry_run:  # of a dry run no revision holds the new text
        diffs = [{"diff": references.of_diff(change)} for change, _ in written]
        logged |= {"writes": [w | d for w, d in zip(result["writes"], diffs, strict=True)]}
    if entry is not None and entry.text == arguments.get("text"):
        arguments = arguments | {"text": {"$text": f"{entry.reference}:0-{len(entry.text)}"}}
    return CallAnswer(result, arguments, logged, config)


def _said_again(echo: Echo) -> AgainResult:
    tombstone, (start, end) = echo.tombstone, echo.span
    at = tombstone.ended_at.isoformat()
    return AgainResult(start=start, end=end, forgotten_at=at, tool_call_id=tombstone.tool_call_id)


def _replaced(plan: RememberPlan, done: list[FileOutcome]) -> Iterator[tuple[ReplacedResult, dict[str, Any]]]:
    """Yield what was taken out for a newer statement of the call, each with the reference that the log keeps."""
    said = {add.statement for file in done for add in file.adds}
    for file in done:
        for add, outcome in zip(file.adds, file.outcomes, strict=True):
            older, newer = outcome.replaced, add.statement.text
            if outcome.action == "superseded" and older and normal_form(older) != normal_form(newer):
                kept = add.keeps if older == add.replaces else ""
                yield _taken_out(file.path, older, newer, kept), _older_reference(file.change, older)
        for removal, outcome in zip(file.removals, file.removed, strict=True):
            if outcome.action == "removed" and removal.statement in said:
                older, newer = removal.removes, removal.statement.text
                yield _taken_out(file.path, older, newer, removal.keeps), _older_reference(file.change, older)
    for overtaking in plan.overtaken:
        stated = overtaking.older
        reference = {"older": references.of_span(stated.reference)} if stated.reference else {}
        yield _taken_out(stated.path, stated.text, overtaking.statement.text, ""), reference


def _forgotten(
    plan: RememberPlan, done: list[FileOutcome]
) -> Iterator[tuple[ForgottenResult, dict[str, Any]]]:
    """Yield what a request to forget took out, each with the reference that the log keeps in place of its text."""
    for file in done:
        for removal, outcome in zip(file.removals, file.removed, strict=True):
            if outcome.action == "removed" and removal.is_forgotten:
                text = removal.part or removal.removes
                reference = _older_reference(file.change, text).get("older")
                yield ForgottenResult(path=file.path, text=text), {"text": reference} if reference else {}
    if any(skip.reason == "forget" for skip in plan.skipped):
        for sentence in plan.forgotten:
            reference = {"text": references.of_span(sentence.reference)} if sentence.reference else {}
            yield ForgottenResult.taken_from(sentence), reference


def _taken_out(path: str, older: str, newer: str, kept: str) -> ReplacedResult:
    return ReplacedResult(path=path, older=older, newer=newer, kept=kept or None)


def _older_reference(change: FileChange | None, older: str) -> dict[str, Any]:
    """Return the reference to a text that was taken out; the log holds no text that a revision holds."""
    start = change.old_content.find(older) if change is not None and change.old_reference else -1
    if change is None or start < 0:
        return {}
    return {"older": references.of_old(change, (start, start + len(older)))}


def _statements(plan: RememberPlan, done: list[FileOutcome]) -> list[StatementResult]:
    """Return the statements of the text, in its order."""
    found = [
        _statement(add.statement, outcome.action, file.path, add.heading, outcome.replaced)
        for file in done
        for add, outcome in zip(file.adds, file.outcomes, strict=True)
    ]
    found += [
        _statement(removal.statement, outcome.action, file.path, None, removal.removes)
        for file in done
        for removal, outcome in zip(file.removals, file.removed, strict=True)
        if removal.statement is not None
    ]
    found += [
        _statement(known.statement, "duplicate", known.reference.path, None, None) for known in plan.known
    ]
    return sorted(found, key=lambda statement: statement.start)


def _statement(
    statement: Statement, outcome: str, path: str, heading: str | None, replaced: str | None
) -> StatementResult:
    return StatementResult.taken_from(
        statement, outcome=outcome, path=path, heading=heading, replaced=replaced
    )


def _with_settled(plan: RememberPlan, settled: Settlement) -> RememberPlan:
    """Return a plan with what handles settle of its request to forget: what they take out is no candidate."""
    gone = {(statement.path, statement.text) for statement in settled.forgotten}
    gone |= {(removal.path, removal.removes) for _, removal in settled.removals}
    left = [stored for stored in plan.candidates if (stored.path, stored.text) not in gone]
    return replace(plan, candidates=tuple(left), forgotten=(*plan.forgotten, *settled.forgotten))


def _logged(
    answered: list[dict[str, Any]], text: str, statements: Sequence[FiledStatement]
) -> list[dict[str, Any]]:
    """Return stored statements of an answer as the log keeps them: their texts are references."""
    return [
        statement | ({text: references.of_span(stated.reference)} if stated.reference else {})
        for statement, stated in zip(answered, statements, strict=True)
    ]


def _unresolved(settled: Settlement, done: list[FileOutcome]) -> list[UnresolvedResult]:
    """Return the handles that took nothing out; a statement may have gone or changed since it was looked up."""
    actions = {
        (file.path, removal.removes): outcome.action
        for file in done
        for removal, outcome in zip(file.removals, file.removed, strict=True)
    }
    left = list(map(UnresolvedResult.taken_from, settled.unresolved))
    for handle, removal in settled.removals:
        action = actions.get((removal.path, removal.removes))
        if action != "removed":
            left.append(UnresolvedResult(handle=handle, reason="nested" if action == "nested" else "unknown"))
    contents = {file.path: file.change.new_content for file in done if file.change is not None}
    left += [
        UnresolvedResult(handle=handle, reason="unknown")
        for handle, confirmed in settled.confirmed
        if not note.holds(contents.get(confirmed.path, ""), confirmed.removes)
    ]
    return left


def rival_result(rival: Rivalry) -> RivalResult:
    """Return a rivalry as an answer has it."""
    older = rival.older
    handle = handle_of(older.path, older.text)
    return RivalResult(handle=handle, path=older.path, older=older.text, newer=rival.statement.text)


def write_made(change: FileChange, reason: str) -> WriteMade:
    """Return what a change wrote to a file."""
    return WriteMade.taken_from(change, reason=reason, diff=change.diff())


def reason_of(file: FileOutcome) -> str:
    """Say in words what became of a file: `2 added, 1 replaced`."""
    actions = [outcome.action for outcome in (*file.outcomes, *file.removed)]
    counts = {name: sum(action == done for action in actions) for done, name in WRITTEN.items()}
    counts["confirmed"] = len(file.confirmed)
    counts["cited"] = sum(outcome.cited is not None for outcome in file.outcomes)
    return ", ".join(f"{count} {name}" for name, count in counts.items() if count)
