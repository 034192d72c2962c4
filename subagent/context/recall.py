"""The question what memory knows: a planner chooses spans, code reads, checks and assembles them."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby, pairwise
from typing import NamedTuple

from memex.errors import ValidationFailed
from memex.subagent.context.assembly import (
    NOTHING_SENTENCE,
    PINNED_SENTENCE,
    SENTENCE,
    WEAK_SENTENCE,
    Note,
    Section,
    assemble,
    passage_header,
    title_line,
    wrapper_chars,
)
from memex.subagent.context.rendering import Rendering
from memex.subagent.judgement import Judgement
from memex.subagent.memory_tools import MemoryTools
from memex.subagent.planner import Choice, ContextPlan, ContextRequest, Omitted, Planner


class RecalledSpan(NamedTuple):  # a call makes dozens
    """A span in a context, with the SHA-256, in hex, of its text as the store gave it."""

    choice: Choice
    sha256: str


@dataclass(frozen=True, slots=True)
class RecalledContext:
    """The context of a query: the text, its hash, what stands in it and what was left out, best first.

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
    """The passages beside memory that were put into a context, and those that were left out of it."""

    sections: list[Section] = field(default_factory=list)
    recalled: list[RecalledSpan] = field(default_factory=list)
    omitted: list[Omitted] = field(default_factory=list)


async def recall(
    planner: Planner, request: ContextRequest, tools: MemoryTools, rendering: Rendering
) -> RecalledContext:
    """Return the context that a planner chooses; never longer than the request's budget.

    Args:
        planner: chooses what memory gives, and what stands beside it.
        request: the question, with what was found beside memory.
        tools: read memory.
        rendering: how stored text is shown.

    Raises:
        ValidationFailed: the plan holds spans that overlap, or do not lie in their text.
        VersionNotFound: it names a version that is not there.
    """
    plan = await planner.plan_context(request, tools)
    _check(plan)
    judgement = plan.judgement if request.min_confidence is not None else None
    nothing_fits = judgement is not None and request.refuses(judgement)
    left_beside: list[Omitted] = []
    if request.included:
        places = {passage.reference.path for section in request.included for passage in section.passages}
        left_beside = [passage for passage in plan.omitted if passage.reference.path in places]
        of_memory_alone = [passage for passage in plan.omitted if passage.reference.path not in places]
        plan = replace(plan, omitted=tuple(of_memory_alone))
    if nothing_fits:
        plan = _pinned_alone(plan)
    of_memory = [choice for choice in plan.choices if choice.included is None]
    texts = await tools.read([choice.reference for choice in of_memory])
    sentence = WEAK_SENTENCE if judgement is not None and judgement.band == "weak" else SENTENCE
    room = request.budget - wrapper_chars(sentence)
    notes, kept = fitting_notes(list(zip(of_memory, texts, strict=True)), room, rendering)
    beside = include(plan.choices, request, room - sum(note.chars for note in notes), rendering)
    if nothing_fits and not beside.sections:
        sentence = PINNED_SENTENCE if notes else NOTHING_SENTENCE
    assembled = assemble(notes, beside.sections, sentence=sentence, form=rendering.format)
    return RecalledContext(
        text=assembled.text,
        sha256=assembled.sha256,
        recalled=(*(_recalled(*shown) for shown in kept), *beside.recalled),
        omitted=(*_left_out(of_memory, kept), *plan.omitted),
        planner=plan.planner,
        failure=plan.failure,
        left_beside=(*beside.omitted, *left_beside),
        judgement=judgement,
    )


def fitting_notes(
    chosen: Sequence[tuple[Choice, str]], room: int, rendering: Rendering
) -> tuple[list[Note], list[tuple[Choice, str]]]:
    """Return the notes of spans, and the spans that they hold; what does not fit as it is shown is left out.

    Spans of one day or one page that follow each other share a note.

    Args:
        chosen: the spans with their texts, in their order.
        room: characters that the notes may have.
        rendering: how stored text is shown.
    """
    notes: list[Note] = []
    kept: list[tuple[Choice, str]] = []
    for _, group in groupby(chosen, key=lambda pair: pair[0].group):
        spans = list(group)
        while spans and (note := note_of(spans, rendering)).chars > room:
            spans.pop()
        if spans:
            notes.append(note)
            kept += spans
            room -= note.chars
    return notes, kept


def note_of(chosen: Sequence[tuple[Choice, str]], rendering: Rendering) -> Note:
    """Return the note of spans that share a header."""
    first = chosen[0][0]
    return Note(first.reference.path, _shown(chosen, rendering), first.is_outdated)


def _shown(chosen: Sequence[tuple[Choice, str]], rendering: Rendering) -> str:
    """Return spans as a context shows them, with the titles above them where these change.

    They are rendered line by line and then together, since lines may be parts of one image.
    """
    text, above = "", ""
    for choice, stored in chosen:
        title = title_line(choice.reference.path, tuple(map(rendering.render, choice.heading)))
        text += f"{'' if title == above else title}{rendering.render(stored)}\n"
        above = title
    return rendering.render(text.removesuffix("\n"))


def include(choices: Sequence[Choice], request: ContextRequest, room: int, rendering: Rendering) -> Inclusion:
    """Return the sections of what was chosen beside memory, kind by kind, as far as they fit as they are shown.

    Args:
        choices: of a plan.
        request: which says in which order the kinds were asked for.
        room: characters that memory and the wrapper leave.
        rendering: how stored text is shown.
    """
    made = Inclusion()
    for kind in request.included:
        is_open = False
        chosen = [
            (choice, _stored(choice))
            for choice in choices
            if choice.reason == kind.reason and choice.included
        ]
        for _, group in groupby(chosen, key=lambda pair: pair[0].group):
            lines = list(group)
            sections = [] if is_open else [Section(kind.sentence, None)]
            sections.append(_section(lines, rendering))
            chars = sum(section.chars for section in sections)
            if chars > room:
                made.omitted += [Omitted(choice.reference, "budget") for choice, _ in lines]
                continue
            made.sections += sections
            made.recalled += [_recalled(*line) for line in lines]
            room, is_open = room - chars, True
    return made


def _stored(choice: Choice) -> str:
    """Return the text of a span beside memory."""
    if choice.included is None:
        raise ValueError("a span of memory is read by its version")
    passage = choice.included.passage
    start, end = choice.reference.span
    first = passage.reference.span[0]
    return passage.text[start - first : end - first]


def _section(chosen: Sequence[tuple[Choice, str]], rendering: Rendering) -> Section:
    """Return lines of one passage beside memory below its header."""
    place = chosen[0][0].included
    return Section(
        "" if place is None else passage_header(place.passage, rendering.render), _shown(chosen, rendering)
    )


def _recalled(choice: Choice, text: str) -> RecalledSpan:
    return RecalledSpan(choice, hashlib.sha256(text.encode()).hexdigest())


def _check(plan: ContextPlan) -> None:
    chosen = sorted((choice.reference for choice in plan.choices), key=lambda r: (r.path, r.version, r.span))
    for one, other in pairwise(chosen):
        if (one.path, one.version) == (other.path, other.version) and other.span[0] < one.span[1]:
            raise ValidationFailed(f"The plan's spans {one} and {other} overlap.")


def _pinned_alone(plan: ContextPlan) -> ContextPlan:
    """Return a plan without the lines of memory that are not pinned, since none fits the question."""
    kept = [choice for choice in plan.choices if choice.reason == "pinned" or choice.included is not None]
    chosen = [choice.reference for choice in plan.choices if choice not in kept]
    omitted = (*chosen, *(omission.reference for omission in plan.omitted))
    return replace(
        plan,
        choices=tuple(kept),
        omitted=tuple([Omitted(reference, "nothing_fits") for reference in omitted]),
    )


def _left_out(choices: Sequence[Choice], kept: Sequence[tuple[Choice, str]]) -> list[Omitted]:
    held = {choice.reference for choice, _ in kept}
    return [Omitted(choice.reference, "budget") for choice in choices if choice.reference not in held]
