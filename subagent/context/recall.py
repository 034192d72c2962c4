"""The question what memory knows: a planner chooses spans, code reads, checks and assembles them."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from memex.errors import ValidationFailed
from memex.subagent.context.assembly import WRAPPER_CHARS, Note, assemble
from memex.subagent.context.rendering import Rendering
from memex.subagent.context.statement_selection import note_of
from memex.subagent.memory_tools import MemoryTools
from memex.subagent.planner import Choice, ContextPlan, ContextRequest, Omitted, Planner


@dataclass(frozen=True, slots=True)
class RecalledSpan:
    """A span in a context, with the SHA-256, in hex, of its text as the store gave it."""

    choice: Choice
    sha256: str


@dataclass(frozen=True, slots=True)
class RecalledContext:
    """What memory gives to a query: the text, its hash, what stands in it and what was left out, best first.

    `planner` chose; `failure` says why the model that should have did not.
    """

    text: str
    sha256: str
    recalled: tuple[RecalledSpan, ...]
    omitted: tuple[Omitted, ...]
    planner: str
    failure: str | None


async def recall(
    planner: Planner, request: ContextRequest, tools: MemoryTools, rendering: Rendering
) -> RecalledContext:
    """Return the context that a planner chooses; never longer than the request's budget.

    Raises:
        ValidationFailed: the plan holds spans that overlap, or do not lie in their text.
        VersionNotFound: it names a version that is not there.
    """
    plan = await planner.plan_context(request, tools)
    _check(plan)
    texts = await tools.read([choice.reference for choice in plan.choices])
    groups = [(rendering.render_note(note), spans) for note, spans in group_choices(plan.choices, texts)]
    fitting = groups[: _count_fitting([note for note, _ in groups], request.budget)]
    kept = sum(count for _, count in fitting)
    assembled = assemble([note for note, _ in fitting], form=rendering.format)
    return RecalledContext(
        text=assembled.text,
        sha256=assembled.sha256,
        recalled=tuple(
            RecalledSpan(choice, hashlib.sha256(text.encode()).hexdigest())
            for choice, text in zip(plan.choices[:kept], texts[:kept], strict=True)
        ),
        omitted=(*(Omitted(choice.reference, "budget") for choice in plan.choices[kept:]), *plan.omitted),
        planner=plan.planner,
        failure=plan.failure,
    )


def group_choices(choices: Sequence[Choice], texts: Sequence[str]) -> list[tuple[Note, int]]:
    """Return the notes of chosen spans, each with the number of spans that it holds.

    Statements of one heading that follow each other share a note; any other span has a note of its own.
    """
    groups: list[list[int]] = []
    for place, choice in enumerate(choices):
        if groups and choice.group is not None and choices[groups[-1][0]].group == choice.group:
            groups[-1].append(place)
        else:
            groups.append([place])
    return [
        (note_of([choices[at] for at in group], [texts[at] for at in group]), len(group)) for group in groups
    ]


def _check(plan: ContextPlan) -> None:
    chosen = sorted((choice.reference for choice in plan.choices), key=lambda r: (r.path, r.version, r.span))
    for one, other in pairwise(chosen):
        if (one.path, one.version) == (other.path, other.version) and other.span[0] < one.span[1]:
            raise ValidationFailed(f"The plan's spans {one} and {other} overlap.")


def _count_fitting(notes: Sequence[Note], budget: int) -> int:
    """Return how many of the notes, from the first, a budget holds."""
    used = WRAPPER_CHARS
    for kept, note in enumerate(notes):
        used += note.chars
        if used > budget:
            return kept
    return len(notes)
