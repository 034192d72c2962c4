"""The question what memory knows: a planner chooses spans, code reads, checks and assembles them."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby, pairwise

from memex.errors import ValidationFailed
from memex.store.search.confidence import is_below
from memex.subagent.context.assembly import (
    NOTHING_SENTENCE,
    PINNED_SENTENCE,
    SENTENCE,
    WEAK_SENTENCE,
    WRAPPER_CHARS,
    Note,
    Section,
    assemble,
    header_name,
    in_line,
    title_line,
    wrapper_chars,
)
from memex.subagent.context.rendering import Rendering
from memex.subagent.included import FoundPassage, FoundSection
from memex.subagent.judgement import Judgement
from memex.subagent.memory_tools import MemoryTools
from memex.subagent.planner import Choice, ContextPlan, ContextRequest, Omitted, Planner

MAX_PART_CHARS = 80  # of each part of the line of a passage beside memory


@dataclass(frozen=True, slots=True)
class RecalledSpan:
    """A span in a context, with the SHA-256, in hex, of its text as the store gave it."""

    choice: Choice
    sha256: str


@dataclass(frozen=True, slots=True)
class RecalledContext:
    """What memory gives to a query: the text, its hash, what stands in it and what was left out, best first.

    `planner` chose; `failure` says why the model that should have did not. `left_beside` is what was found beside
    memory and has no place in the context. `judgement` says how sure it is that memory answers; None if the
    question was not judged.
    """

    text: str
    sha256: str
    recalled: tuple[RecalledSpan, ...]
    omitted: tuple[Omitted, ...]
    planner: str
    failure: str | None
    left_beside: tuple[Omitted, ...] = ()
    judgement: Judgement | None = None


@dataclass(slots=True)
class Inclusion:
    """What was put into a context beside memory, and what was left out of it."""

    sections: list[Section] = field(default_factory=list)
    choices: list[Choice] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)  # as they are stored
    omitted: list[Omitted] = field(default_factory=list)


async def recall(
    planner: Planner,
    request: ContextRequest,
    tools: MemoryTools,
    rendering: Rendering,
    included: Sequence[FoundSection] = (),
) -> RecalledContext:
    """Return the context that a planner chooses; never longer than the request's budget.

    Args:
        planner: chooses what memory gives.
        request: the question.
        tools: read memory.
        rendering: how stored text is shown.
        included: what was found beside memory; half of the room is kept for it, as far as it fills that, and it
            gets what memory leaves.

    Raises:
        ValidationFailed: the plan holds spans that overlap, or do not lie in their text.
        VersionNotFound: it names a version that is not there.
    """
    beside_chars = min(_chars_beside(included, rendering), (request.budget - WRAPPER_CHARS) // 2)
    plan = await planner.plan_context(replace(request, budget=request.budget - beside_chars), tools)
    _check(plan)
    judgement = plan.judgement if request.min_confidence is not None else None
    nothing_fits = judgement is not None and is_below(judgement.band, request.min_confidence or "none")
    if nothing_fits:
        plan = _pinned_alone(plan)
    texts = await tools.read([choice.reference for choice in plan.choices])
    groups = group_choices(plan.choices, texts, rendering)
    sentence = WEAK_SENTENCE if judgement is not None and judgement.band == "weak" else SENTENCE
    room = request.budget - wrapper_chars(sentence)
    fitting = groups[: _count_fitting([note for note, _ in groups], room)]
    kept = sum(count for _, count in fitting)
    notes = [note for note, _ in fitting]
    beside = include(included, notes, texts[:kept], room=room, rendering=rendering)
    if nothing_fits and not beside.sections:
        sentence = PINNED_SENTENCE if notes else NOTHING_SENTENCE
    assembled = assemble(notes, beside.sections, sentence=sentence, form=rendering.format)
    return RecalledContext(
        text=assembled.text,
        sha256=assembled.sha256,
        recalled=tuple(
            RecalledSpan(choice, hashlib.sha256(text.encode()).hexdigest())
            for choice, text in zip(
                [*plan.choices[:kept], *beside.choices], [*texts[:kept], *beside.texts], strict=True
            )
        ),
        omitted=(*(Omitted(choice.reference, "budget") for choice in plan.choices[kept:]), *plan.omitted),
        planner=plan.planner,
        failure=plan.failure,
        left_beside=tuple(beside.omitted),
        judgement=judgement,
    )


def group_choices(
    choices: Sequence[Choice], texts: Sequence[str], rendering: Rendering
) -> list[tuple[Note, int]]:
    """Return the notes of chosen spans, each with the number of spans that it holds.

    Spans of one day or one page that follow each other share a note.
    """
    chosen = zip(choices, texts, strict=True)
    groups = [list(group) for _, group in groupby(chosen, key=lambda one: one[0].group)]
    return [(note_of(group, rendering), len(group)) for group in groups]


def note_of(chosen: Sequence[tuple[Choice, str]], rendering: Rendering) -> Note:
    """Return the note of spans that share a header, with the titles above them where these change."""
    text, above = "", ""
    for choice, stored in chosen:
        title = title_line(choice.reference.path, tuple(map(rendering.render, choice.heading)))
        text += f"{'' if title == above else title}{rendering.render(stored)}\n"
        above = title
    first = chosen[0][0]
    return Note(first.reference.path, text.removesuffix("\n"), first.is_outdated)


def include(
    found: Sequence[FoundSection],
    notes: Sequence[Note],
    texts: Sequence[str],
    *,
    room: int,
    rendering: Rendering,
) -> Inclusion:
    """Return the passages that fit beside the notes of memory.

    A passage whose text memory holds already is a duplicate. One that does not fit is left out whole, and a shorter
    one behind it may still fit.

    Args:
        found: the kinds in the order in which they were asked for.
        notes: what memory gives.
        texts: the stored texts of these notes.
        room: characters that the context may have beside its wrapper.
        rendering: how stored text is shown.
    """
    made = Inclusion()
    room -= sum(note.chars for note in notes)
    known = list(texts)
    for kind in found:
        opening = Section(kind.sentence, None)
        is_open = False
        for passage in kind.passages:
            if any(passage.text.strip() in text for text in known):
                made.omitted.append(Omitted(passage.reference, "duplicate"))
                continue
            section = _section(passage, rendering)
            added = section.chars + (0 if is_open else opening.chars)
            if added > room:
                made.omitted.append(Omitted(passage.reference, "budget"))
                continue
            made.sections += [section] if is_open else [opening, section]
            made.choices.append(Choice(passage.reference, kind.reason, why=kind.reason))
            made.texts.append(passage.text)
            known.append(passage.text)
            room, is_open = room - added, True
    return made


def _check(plan: ContextPlan) -> None:
    chosen = sorted((choice.reference for choice in plan.choices), key=lambda r: (r.path, r.version, r.span))
    for one, other in pairwise(chosen):
        if (one.path, one.version) == (other.path, other.version) and other.span[0] < one.span[1]:
            raise ValidationFailed(f"The plan's spans {one} and {other} overlap.")


def _pinned_alone(plan: ContextPlan) -> ContextPlan:
    """Return a plan without what is not pinned, since nothing fits the question."""
    chosen = [choice.reference for choice in plan.choices if choice.reason != "pinned"]
    omitted = (*chosen, *(one.reference for one in plan.omitted))
    return replace(
        plan,
        choices=tuple([choice for choice in plan.choices if choice.reason == "pinned"]),
        omitted=tuple([Omitted(reference, "nothing_fits") for reference in omitted]),
    )


def _count_fitting(notes: Sequence[Note], room: int) -> int:
    """Return how many of the notes, from the first, have room."""
    used = 0
    for kept, note in enumerate(notes):
        used += note.chars
        if used > room:
            return kept
    return len(notes)


def _chars_beside(found: Sequence[FoundSection], rendering: Rendering) -> int:
    """Return how many characters all that was found beside memory adds to a context."""
    return sum(
        Section(kind.sentence, None).chars + sum(_section(one, rendering).chars for one in kind.passages)
        for kind in found
        if kind.passages
    )


def _section(passage: FoundPassage, rendering: Rendering) -> Section:
    parts = [in_line(rendering.render(part))[:MAX_PART_CHARS] for part in passage.about if part]
    return Section(" · ".join(parts or [header_name(passage.reference.path)]), rendering.render(passage.text))
