"""The effect of one change on many calls of the log, with statistics over them."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from pydantic import BaseModel, ConfigDict

from memex.evals.metrics import paired_differences
from memex.service.evals.figures import PairedDifference
from memex.service.log.replay.batch import Progress, RefusedReplay, replay_each
from memex.service.log.replay.counterfactual import ChangedResult, Outcome

MAX_MOST_CHANGED = 20


class CounterfactualReport(BaseModel):
    """Calls that were run again with something changed.

    Attributes:
        change: what was changed.
        calls: that were run.
        same_answers: how many answered with the same bytes.
        overlap: the mean share that the chosen spans of before and after have in common (Jaccard), 0 to 1.
        before: the mean of each measure as the calls were.
        after: the mean with the change.
        differences: of the means, paired by call: 95 % bootstrap intervals, McNemar's test for measures of 0 and 1.
            Money counts only where every request of a call, before and after, has a price.
        most_changed: the calls whose chosen spans have least in common, at most 20.
        refused: calls that could not be run.
    """

    model_config = ConfigDict(frozen=True)

    change: dict[str, Any]
    calls: int
    same_answers: int
    overlap: float
    before: dict[str, float]
    after: dict[str, float]
    differences: dict[str, PairedDifference]
    most_changed: list[ChangedResult]
    refused: list[RefusedReplay]


async def replay_with_change(
    calls: Sequence[str],
    change: Mapping[str, Any],
    replay: Callable[[str], Awaitable[ChangedResult]],
    *,
    progress: Progress,
) -> CounterfactualReport:
    """Run calls again with something changed, one after the other.

    Args:
        calls: their tool call ids.
        change: what is changed, by name.
        replay: runs one of them.
        progress: is told how far it is.
    """
    done, refused = await replay_each(calls, replay, progress=progress)
    return summarise(dict(change), done, refused)


def summarise(
    change: dict[str, Any], done: Sequence[ChangedResult], refused: Sequence[RefusedReplay]
) -> CounterfactualReport:
    """Return what a change did to calls, with statistics over them."""
    before = [_measures(result.before) for result in done]
    after = [_measures(result.after) for result in done]
    changed = [result for result in done if not result.is_same_answer]
    priced = all(result.before.usd is not None and result.after.usd is not None for result in done)
    if not priced:
        for measured in (*before, *after):
            del measured["usd"]
    return CounterfactualReport(
        change=change,
        calls=len(done),
        same_answers=sum(result.is_same_answer for result in done),
        overlap=sum(map(overlap, done)) / len(done) if done else 1.0,
        before=_means(before),
        after=_means(after),
        differences=paired_differences(before, after),
        most_changed=sorted(changed, key=overlap)[:MAX_MOST_CHANGED],
        refused=list(refused),
    )


def overlap(changed: ChangedResult) -> float:
    """Return the share that what was chosen before and after has in common: 1 when both are alike, or empty."""
    everything = len(changed.kept) + len(changed.removed) + len(changed.added)
    return len(changed.kept) / everything if everything else 1.0


def _measures(outcome: Outcome) -> dict[str, float]:
    return {
        "chosen": float(len(outcome.items)),
        "chars": float(outcome.chars),
        "nothing": float(not outcome.items),
        "degraded": float(outcome.degraded is not None),
        "requests": float(outcome.requests),
        "tokens": float(outcome.input_tokens + outcome.output_tokens),
        "usd": outcome.usd or 0.0,
        "duration_ms": outcome.duration_ms,
    }


def _means(measured: Sequence[Mapping[str, float]]) -> dict[str, float]:
    if not measured:
        return {}
    return {name: sum(measures[name] for measures in measured) / len(measured) for name in measured[0]}
