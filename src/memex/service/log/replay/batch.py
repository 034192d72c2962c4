"""Many calls of the log, run again one after the other: how many give the same bytes."""

from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from memex.errors import MemexError
from memex.service.log.replay.replay import ReplayResult
from memex.service.tools.tool import ResultPart

R = TypeVar("R")
Progress = Callable[[str, int, int], None]


class RefusedReplay(ResultPart):
    """A call that could not be replayed, and why."""

    tool_call_id: str
    code: str
    message: str


class ReplayedSet(ResultPart):
    """Calls that were run again as they were: how many are equal, and those that are not."""

    calls: int
    equal: int
    different: list[ReplayResult]
    refused: list[RefusedReplay]


async def replay_all(
    calls: Sequence[str],
    replay: Callable[[str], Awaitable[ReplayResult]],
    *,
    progress: Progress,
) -> ReplayedSet:
    """Run calls again as they were; see `replay_each`."""
    done, refused = await replay_each(calls, replay, progress=progress)
    return ReplayedSet(
        calls=len(calls),
        equal=sum(result.is_equal for result in done),
        different=[result for result in done if not result.is_equal],
        refused=refused,
    )


async def replay_each(
    calls: Sequence[str], replay: Callable[[str], Awaitable[R]], *, progress: Progress
) -> tuple[list[R], list[RefusedReplay]]:
    """Run calls again, one after the other, and return what came of them, and which could not be run."""
    done: list[R] = []
    refused: list[RefusedReplay] = []
    for place, call in enumerate(calls):
        progress("Replaying", place, len(calls))
        try:
            done.append(await replay(call))
        except MemexError as error:
            refused.append(RefusedReplay(tool_call_id=call, code=error.code, message=error.message))
    progress("Replaying", len(calls), len(calls))
    return done, refused
