"""The answer of a distil call: each statement with its message, what was left out, and what the log keeps of it."""

from collections.abc import Mapping, Sequence
from datetime import date, datetime
from typing import Annotated, Any

from memex.service.distil.portion import READ, DistilledConversation, Portion
from memex.service.log import references
from memex.service.tools.planned_tool import degraded_code
from memex.service.tools.remember_answer import RivalResult, WriteMade, reason_of, rival_result, write_made
from memex.service.tools.tool import LEFT_OUT, ResultPart, ToolResult
from memex.store.citations.syntax import CitedPlace, message_reference
from memex.store.log.call import CallAnswer, digest
from memex.store.records import FileChange
from memex.subagent.distil.planning import DistilPlan, OutdatedStatement
from memex.subagent.distil.reading import MessageReading
from memex.subagent.planner import Addition, Rivalry
from memex.subagent.remember import note
from memex.subagent.remember.filing.entries import EntryOutcome
from memex.subagent.remember.stage import FileOutcome
from memex.subagent.statements.bullets import UNDATED

OPEN = "pending"
# What a dry run shows, and the call that writes it must have the same.
SHOWN = ("read", "statements", "outdated", "skipped", "rivals", "writes")
TEXTS = ("text", "replaced", "newer_text", "title")  # of an answer, which the log does not keep
SHOWN_SHA256 = "shown_sha256"  # in the log: of what a dry run shows


class DistilledStatement(ResultPart):
    """A statement, the message that it stands in with its span, and what becomes of it in memory.

    | outcome | meaning |
    | --- | --- |
    | added | it is added under `heading` of the file at `path` |
    | superseded | it takes the place of the older statement `replaced` |
    | cited | memory has it; the citation of this message was added to it |
    | duplicate | memory has it, in a text that somebody wrote |
    | overtaken | a later message of the same call has its place |

    `age_days` is the age of an open task. `text` and `replaced` are missing in the answer to a repeated call.
    """

    message: str
    start: int
    end: int
    said_at: str | None
    kind: str
    outcome: str
    path: str
    heading: str | None
    age_days: Annotated[int | None, LEFT_OUT] = None
    text: Annotated[str | None, LEFT_OUT] = None
    replaced: Annotated[str | None, LEFT_OUT] = None


class OutdatedResult(ResultPart):
    """A statement that was not taken, because memory holds a newer one that it contradicts, at `path`.

    An open task of which nobody knows when it was said is outdated too; it has no `path`.
    """

    message: str
    start: int
    end: int
    said_at: str | None
    path: str | None
    text: Annotated[str | None, LEFT_OUT] = None
    newer_text: Annotated[str | None, LEFT_OUT] = None


class SkippedPart(ResultPart):
    """A part of a message that states nothing to store; `reason` as in memory_remember, and two more.

    `quoted` lines are somebody else's words, and `code` alone states nothing.
    """

    message: str
    start: int
    end: int
    reason: str


class DistilResult(ToolResult):
    """The statements taken from conversations, or to be taken. `status` is dry_run, committed or nothing.

    `remaining` is the number of messages that people wrote and that the next call would read. `rivals` are stored
    statements that a newer one from a conversation probably contradicts; both stay. `degraded` is the code of the
    error of a model that should have chosen the statements; the rules chose them instead.
    """

    status: str
    read: list[DistilledConversation]
    remaining: int
    statements: list[DistilledStatement]
    outdated: list[OutdatedResult]
    skipped: list[SkippedPart]
    rivals: list[RivalResult]
    writes: list[WriteMade]
    planner: str
    degraded: Annotated[str | None, LEFT_OUT] = None


def render(
    arguments: dict[str, Any],
    portion: Portion,
    made: DistilPlan,
    done: Sequence[FileOutcome],
    config: dict[str, Any],
    *,
    now: datetime,
    is_dry_run: bool,
) -> CallAnswer:
    """Return the answer of a call. The log gets the messages by their names, and no text of them.

    `arguments` and `config` are as the log keeps them; `done` has the outcome for each file.
    """
    written = [(file, file.change) for file in done if file.change is not None and file.change.changed]
    by_place = {message.said.place: message for message in portion.messages}
    rivals = note.standing_rivals(made.plan, done)
    statements, overtaken = _statements(made, done, by_place, now.date())
    result = DistilResult(
        status="dry_run" if is_dry_run else "committed" if written else "nothing",
        read=list(portion.parts),
        remaining=portion.remaining,
        statements=statements,
        outdated=[*(_outdated(line, by_place) for line in made.outdated), *overtaken],
        skipped=[
            SkippedPart.taken_from(skip, message=message_reference(*message.said.place))
            for message in portion.messages
            for skip in message.skipped
        ],
        rivals=list(map(rival_result, rivals)),
        writes=[write_made(change, reason_of(file)) for file, change in written],
        planner=config["planner"],
        degraded=degraded_code(config.get("failure")),
    ).body()
    shown = {name: result[name] for name in SHOWN}
    config = config | {READ: portion.logged, SHOWN_SHA256: digest(shown).hex()}
    changes = [change for _, change in written]
    return CallAnswer(result, arguments, _logged(result, changes, rivals, is_dry_run=is_dry_run), config)


def _statements(
    made: DistilPlan, done: Sequence[FileOutcome], by_place: Mapping[CitedPlace, MessageReading], today: date
) -> tuple[list[DistilledStatement], list[OutdatedResult]]:
    """Return what became of the statements that were filed; those that a file outdates come apart."""
    found, outdated = [], []
    for file in done:
        for add, outcome in zip(file.adds, file.outcomes, strict=True):
            if outcome.action == "overtaken" and outcome.replaced is not None:
                place = _place(add, by_place)
                newer = {"path": file.path, "newer_text": outcome.replaced}
                outdated.append(OutdatedResult(**place, text=add.statement.text, **newer))
            else:
                found.append(_statement(add, outcome, file.path, by_place, today))
    duplicate = EntryOutcome("duplicate")
    found += [_statement(add, duplicate, add.path, by_place, today) for add in made.known]
    return sorted(
        found, key=lambda statement: (statement.said_at or "", statement.message, statement.start)
    ), outdated


def _statement(
    add: Addition,
    outcome: EntryOutcome,
    path: str,
    by_place: Mapping[CitedPlace, MessageReading],
    today: date,
) -> DistilledStatement:
    assert add.said is not None  # noqa: S101  # each addition of such a plan has a message
    is_filed = outcome.action in ("added", "superseded")
    has_age = add.statement.kind == OPEN and add.said.day != UNDATED and is_filed
    return DistilledStatement(
        **_place(add, by_place),
        kind=add.statement.kind,
        outcome="cited" if outcome.cited is not None else outcome.action,
        path=path,
        heading=add.heading if is_filed else None,
        age_days=(today - add.said.day).days if has_age else None,
        text=add.statement.text,
        replaced=outcome.replaced,
    )


def _place(add: Addition, by_place: Mapping[CitedPlace, MessageReading]) -> dict[str, Any]:
    """Return where a statement stands: the message, the span, and when it was said."""
    assert add.said is not None  # noqa: S101  # as above
    said_at = by_place[add.said.place].message.said_at
    return {
        "message": add.said.link,
        "start": add.statement.start,
        "end": add.statement.end,
        "said_at": said_at.isoformat() if said_at and add.said.day != UNDATED else None,
    }


def _outdated(one: OutdatedStatement, by_place: Mapping[CitedPlace, MessageReading]) -> OutdatedResult:
    newer = {"path": one.newer.path, "newer_text": one.newer.text} if one.newer else {"path": None}
    return OutdatedResult(**_place(one.add, by_place), text=one.add.statement.text, **newer)


def _logged(
    result: dict[str, Any], changes: Sequence[FileChange], rivals: Sequence[Rivalry], *, is_dry_run: bool
) -> dict[str, Any]:
    """Return an answer as the log keeps it: no text of a message, and no title of a conversation."""
    logged = dict(result)
    for name in ("read", "statements", "outdated"):
        logged[name] = [{key: part[key] for key in part if key not in TEXTS} for part in result[name]]
    logged["rivals"] = [
        {
            "handle": shown["handle"],
            "path": shown["path"],
            "older": references.of_span(rival.older.reference) if rival.older.reference else "",
            "newer": "",
        }
        for shown, rival in zip(result["rivals"], rivals, strict=True)
    ]
    logged["writes"] = [
        write | {"diff": "" if is_dry_run else references.of_diff(change)}
        for write, change in zip(result["writes"], changes, strict=True)
    ]
    return logged
