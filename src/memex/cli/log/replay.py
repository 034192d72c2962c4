"""`memex log replay`: run logged calls again, unchanged or with one thing changed."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from memex.cli.ages import parse_time
from memex.cli.eval.output import check_installed
from memex.cli.output import Column, CommandOutput, Screen, format_count, shorten
from memex.cli.progress import progress_bar
from memex.cli.session.commands import user_command
from memex.cli.session.session import CommandSession
from memex.errors import ValidationFailed

if TYPE_CHECKING:
    from memex.evals.counterfactual import CounterfactualReport
    from memex.service.log.replay.batch import ReplayedSet
    from memex.service.log.replay.counterfactual import ChangedResult, Outcome, ReplayChange
    from memex.service.log.replay.replay import ReplayResult
    from memex.subagent.planner import Planner

DIFFERENT = 1  # the exit code if a call does not give its logged answer
MAX_SHOWN = 20
MAX_VALUE_CHARS = 160
GONE = ("erased", "thinned")  # kinds of differences that name what is no longer kept


@user_command
async def replay(
    session: CommandSession,
    call: Annotated[
        str | None,
        typer.Argument(
            metavar="[TOOL_CALL_ID]", help="The id of the call; without it, the newest calls of the user."
        ),
    ] = None,
    bundle: Annotated[
        Path | None, typer.Option(help="Replay a call from a file that `memex files export --call` wrote.")
    ] = None,
    planner: Annotated[
        Literal["builtin"] | None, typer.Option(help="Change: the built-in rules plan instead of the model.")
    ] = None,
    model: Annotated[
        str | None, typer.Option(help="Change: this model plans, such as openai:gpt-5-mini.")
    ] = None,
    prompt: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Change: the model gets the prompt in this file.")
    ] = None,
    budget: Annotated[
        int | None, typer.Option(help="Change: the largest number of characters of a context.")
    ] = None,
    search_mode: Annotated[
        Literal["bm25", "hybrid"] | None, typer.Option(help="Change: how search works.")
    ] = None,
    as_of: Annotated[
        str | None,
        typer.Option(
            metavar="now|TIME|STATE",
            help="Change: memory as it is now, as it was at a time, or in the `state` of an answer (JSON).",
        ),
    ] = None,
    which: Annotated[
        Literal["context", "remember", "reads", "all"],
        typer.Option("--tool", help="Filter: only calls of these tools."),
    ] = "all",
    since: Annotated[
        str | None,
        typer.Option(help="Filter: only calls since a time, such as 7d, 12h or 2026-11-22."),
    ] = None,
    degraded: Annotated[
        bool,
        typer.Option(
            "--degraded", help="Filter: only calls in which the model did not plan although it should have."
        ),
    ] = False,
    limit: Annotated[
        int, typer.Option(min=1, max=100_000, help="The largest number of calls to replay.")
    ] = 1_000,
) -> CommandOutput:
    """Run a call again on the memory that it saw, offline, and compare the answer byte for byte.

    With a changed option, show how the answer, its cost and its time change. Without an id, replay many calls and
    print a summary. The exit code is 1 if a call does not give the bytes in the log.
    """
    from memex.service.log.replay.counterfactual import ReplayChange, read_prompt

    change = ReplayChange.of(
        planner=planner,
        model=model,
        prompt=read_prompt(prompt) if prompt else None,
        budget=budget,
        search_mode=search_mode,
        as_of=as_of,
    )
    if bundle is not None:
        if call is not None or change.named:
            raise ValidationFailed(
                "A bundle is replayed unchanged.",
                hint="Leave out the id of the call and the options that change it.",
            )
        from memex.service.log.replay.bundle_archive import read
        from memex.service.log.replay.requests import replay_bundle

        return _shown_replay(await replay_bundle(await session.local.service(), read(bundle)))
    if call is not None and (since is not None or degraded or which != "all"):
        raise ValidationFailed(
            "--since, --tool and --degraded select among many calls.",
            hint="Leave out the id of the call, or these options.",
        )
    async with _requested_change(session, change) as named:
        if call is not None:
            return await _replay_one(session, call, change, named)
        # Only a context has these.
        has_budget = bool(change.budget or change.search_mode or change.as_of is not None)
        asked = {
            "tool": "context" if has_budget and which == "all" else which,
            "since": parse_time(since, "--since"),
            "degraded": degraded,
            "limit": limit,
        }
        return await _replay_many(session, change, named, asked)


@asynccontextmanager
async def _requested_change(
    session: CommandSession, change: "ReplayChange"
) -> AsyncIterator["Planner | None"]:
    """The planner with a live model, if the change needs one; its settings are those of this machine."""
    if not change.model and not change.prompt:
        yield None
        return
    _ = session.local  # raises over HTTP: the model must read the memory of this machine
    from memex.settings import read_settings
    from memex.wiring import model_planner

    async with model_planner(read_settings(), change.model, change.prompt) as made:
        yield made


async def _replay_one(
    session: CommandSession, call: str, change: "ReplayChange", planner: "Planner | None"
) -> CommandOutput:
    if not change.named:
        return _shown_replay(await _replay_unchanged(session, call))
    changed = await _replay_changed(session, call, change, planner)
    return CommandOutput(changed.model_dump(mode="json"), lambda screen: _show_changed(screen, changed))


async def _replay_unchanged(session: CommandSession, call: str) -> "ReplayResult":
    from memex.service.log.replay.replay import ReplayResult

    return ReplayResult.model_validate(await session.call("memory_replay", {"tool_call_id": call}))


async def _replay_changed(
    session: CommandSession, call: str, change: "ReplayChange", planner: "Planner | None"
) -> "ChangedResult":
    """Run a call again with a change; `planner` is the planner with a live model, if the change needs one."""
    if planner is None:
        from memex.service.log.replay.counterfactual import ChangedResult

        document = await session.call("memory_replay", {"tool_call_id": call, **change.named})
        return ChangedResult.model_validate(document)
    from memex.service.log.replay.requests import replay_changed

    service, caller = await session.local.caller(session.context)
    return await replay_changed(service, caller, call, change, planner=planner)


async def _replay_many(
    session: CommandSession, change: "ReplayChange", planner: "Planner | None", asked: dict[str, Any]
) -> CommandOutput:
    from memex.service.log.replay import batch

    found = (await session.call("memory_replayable", asked))["calls"]
    with progress_bar() as progress:
        if not change.named:
            done = await batch.replay_all(found, partial(_replay_unchanged, session), progress=progress)
            is_whole = done.equal == done.calls
            return CommandOutput(
                done.model_dump(mode="json", exclude={"different": {"__all__": {"result"}}}),
                lambda screen: _show_set(screen, done),
                exit_code=0 if is_whole else DIFFERENT,
            )
        check_installed("numpy", "scipy")
        from memex.evals import counterfactual

        summed = await counterfactual.replay_with_change(
            found,
            change.named,
            lambda call: _replay_changed(session, call, change, planner),
            progress=progress,
        )
    return CommandOutput(summed.model_dump(mode="json"), lambda screen: _show_changed_set(screen, summed))


def _shown_replay(result: "ReplayResult") -> CommandOutput:
    return CommandOutput(
        result.model_dump(mode="json"),
        lambda screen: _show_replay(screen, result),
        exit_code=0 if result.is_equal else DIFFERENT,
    )


def _show_replay(screen: Screen, result: "ReplayResult") -> None:
    verdict = ("equal", "bold green") if result.is_equal else ("different", "bold red")
    screen.line((result.tool, "bold"), "  ", verdict, (f"  {result.tool_call_id}", "dim"))
    answer = "the same bytes" if result.is_same_answer else "other bytes"
    inside = format_count(result.operations, "operation")
    if result.model_requests:
        inside += f", {format_count(result.model_requests, 'answer')} of the model from the log"
    facts = {
        "answer": f"{answer}, SHA-256 {result.replayed_sha256[:16]}…" if result.replayed_sha256 else answer,
        "inside": inside,
        "time": f"{result.duration_ms:.0f} ms now, {result.logged_ms:.0f} ms then",
        "engine": ", ".join(f"{changed.part} {changed.logged} → {changed.now}" for changed in result.changed),
    }
    for name, value in facts.items():
        if value:
            screen.line((f"  {name:8}", "dim"), value)
    if result.difference is not None and result.difference.what in GONE:
        screen.line((f"  {result.difference.what}", "red"), f"  {result.difference.where}")
    elif result.difference is not None:
        screen.line(("  first difference", "red"), f"  {result.difference.where}")
        screen.line(("    logged  ", "dim"), shorten(str(result.difference.logged), MAX_VALUE_CHARS))
        screen.line(("    now     ", "dim"), shorten(str(result.difference.now), MAX_VALUE_CHARS))
    for sign, items, style in (("-", result.removed, "red"), ("+", result.added, "green")):
        for item in items[:MAX_SHOWN]:
            screen.line((f"  {sign} {item}", style))
        _show_more(screen, len(items))


def _show_set(screen: Screen, done: "ReplayedSet") -> None:
    if not done.calls:
        screen.line(("No calls to replay.", "dim"))
        return
    style = "bold green" if done.equal == done.calls else "bold red"
    screen.line((f"{done.equal:,} of {done.calls:,}", style), " calls give the same bytes")
    if done.different:
        screen.line()
        rows = [
            (
                result.tool_call_id,
                result.tool.removeprefix("memory_"),
                result.difference.where if result.difference else "",
            )
            for result in done.different[:MAX_SHOWN]
        ]
        screen.table([Column("different", "bold"), Column("tool"), Column("first difference")], rows)
        _show_more(screen, len(done.different))
    _show_refused(screen, done)


def _show_refused(screen: Screen, done: "ReplayedSet | CounterfactualReport") -> None:
    if not done.refused:
        return
    screen.line()
    rows = [(refusal.tool_call_id, refusal.code, refusal.message) for refusal in done.refused[:MAX_SHOWN]]
    screen.table([Column("not replayed", "bold"), Column("code"), Column("why", cut=True)], rows)
    _show_more(screen, len(done.refused))


def _show_more(screen: Screen, number: int) -> None:
    if number > MAX_SHOWN:
        screen.line((f"and {number - MAX_SHOWN:,} more: --json lists all", "dim"))


def _show_changed(screen: Screen, changed: "ChangedResult") -> None:
    what = _named(changed.change)
    verdict = (
        ("the same answer", "bold green") if changed.is_same_answer else ("another answer", "bold yellow")
    )
    screen.line((changed.tool, "bold"), f"  {what}  ", verdict, (f"  {changed.tool_call_id}", "dim"))
    if not changed.is_replayed:
        screen.line(("  run again as it was, it does not give its logged bytes any more", "red"))
    if changed.stale_answers:
        told = format_count(changed.stale_answers, "answer")
        screen.line((f"  {told} of the model were given to another request; --model asks it anew", "yellow"))
    has_model = bool(changed.before.requests or changed.after.requests)
    rows = zip(_MEASURES, _column(changed.before), _column(changed.after), strict=True)
    screen.table(
        [Column(""), Column("before", align="right"), Column("after", align="right")],
        [row for row in rows if has_model or row[0] not in _OF_MODELS],
    )
    screen.line()
    for sign, items, style in (
        ("-", changed.removed, "red"),
        ("+", changed.added, "green"),
        (" ", changed.kept, "dim"),
    ):
        for item in items[:MAX_SHOWN]:
            screen.line((f"{sign} {item}", style))
        _show_more(screen, len(items))
    if changed.diff:
        screen.line()
        screen.diff(changed.diff)


_MEASURES = ("planner", "degraded", "chosen", "characters", "requests", "tokens", "US dollars", "ms")
_OF_MODELS = ("requests", "tokens", "US dollars")
_MEANS = {
    "chosen": "chosen",
    "chars": "characters",
    "nothing": "nothing chosen",
    "degraded": "degraded",
    "requests": "requests",
    "tokens": "tokens",
    "usd": "US dollars",
    "duration_ms": "ms",
}


def _column(outcome: "Outcome") -> list[str]:
    return [
        outcome.planner,
        outcome.degraded or "no",
        f"{len(outcome.items):,}",
        f"{outcome.chars:,}",
        f"{outcome.requests:,}",
        f"{outcome.input_tokens:,} + {outcome.output_tokens:,}",
        "unknown" if outcome.usd is None else f"{outcome.usd:.4f}",
        f"{outcome.duration_ms:.0f}",
    ]


def _show_changed_set(screen: Screen, summed: "CounterfactualReport") -> None:
    if not summed.calls:
        screen.line(("No calls to replay.", "dim"))
        _show_refused(screen, summed)
        return
    what = _named(summed.change)
    screen.line((what, "bold"), f"  {format_count(summed.calls, 'call')}")
    overlap = f"what is chosen overlaps by {summed.overlap:.0%} on average"
    screen.line(f"  {summed.same_answers:,} with the same answer; {overlap}")
    screen.line()
    columns = [Column("mean of"), *(Column(name, align="right") for name in ("before", "after", "change"))]
    columns += [Column("95 % interval", align="right"), Column("p", align="right")]
    has_model = bool(summed.before["requests"] or summed.after["requests"])
    screen.table(
        columns,
        [
            _difference_row(summed, name)
            for name in summed.differences
            if has_model or _MEANS[name] not in _OF_MODELS
        ],
    )
    if summed.most_changed:
        screen.line()
        rows = [
            (
                changed.tool_call_id,
                f"{len(changed.kept)}",
                f"-{len(changed.removed)}",
                f"+{len(changed.added)}",
            )
            for changed in summed.most_changed
        ]
        names = ("kept", "removed", "added")
        screen.table(
            [Column("changed most", "bold"), *(Column(name, align="right", whole=True) for name in names)],
            rows,
        )
    _show_refused(screen, summed)


def _difference_row(summed: "CounterfactualReport", name: str) -> tuple[Any, ...]:
    difference = summed.differences[name]
    p = difference.p if difference.mcnemar is None else difference.mcnemar
    interval = f"{_signed(difference.low)} to {_signed(difference.high)}" if summed.calls > 1 else "–"
    return (
        _MEANS[name],
        _number(summed.before[name]),
        _number(summed.after[name]),
        _signed(difference.value),
        interval,
        f"{p:.3f}",
    )


def _named(change: dict[str, Any]) -> str:
    return ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in change.items())


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def _signed(value: float) -> str:
    return f"{'+' if value > 0 else ''}{_number(value)}"
