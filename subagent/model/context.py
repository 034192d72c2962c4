"""The context agent: a model chooses from the passages that were found, and may search for more."""

from collections.abc import Sequence
from datetime import UTC, date, datetime
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from memex.errors import FileNotFound
from memex.store import catalogue
from memex.store.records import FilePassages, Reference
from memex.subagent.builtin import BuiltinPlanner, Candidates
from memex.subagent.context.assembly import WRAPPER_CHARS, Note
from memex.subagent.context.selection import CandidatePassage, rank, take
from memex.subagent.limits import ModelFailure, model_unavailable
from memex.subagent.memory_tools import FileCatalogue, MemoryTools
from memex.subagent.model.ask import ModelQuestion, ModelSession, ModelTool, ask
from memex.subagent.model.numbered_spans import NumberedSpans, wrap_data
from memex.subagent.planner import ContextPlan, ContextRequest, Omitted
from memex.subagent.prompts import Prompt

PROMPT_CHARS = 12_000  # of the first prompt with its instructions; spans fill what the rest leaves
EVIDENCE_FRACTION = 0.8  # spans fill at least this fraction of the budget, even beyond PROMPT_CHARS
MAX_EVIDENCE_CHARS = 40_000
CATALOGUE_CHARS = 1_000
QUERY_CHARS = 1_000  # a longer query is shown by its beginning
RESULT_CHARS = 6_000  # of what a tool gives back
FOUND_FILES = 8
FOUND_PASSAGES = 2
MAX_CHOSEN = 400  # spans of a plan
MAX_LISTED = 1_000
MAX_PINNED = 10  # files that are named
MAX_SIZES = 60  # spans whose sizes are told
SPAN_CHARS = 100  # of the name of a span, in a problem


class Chosen(BaseModel):
    """A span that answers."""

    model_config = ConfigDict(extra="forbid")

    span: Annotated[str, Field(description="Its number, such as S3; or a part: path@version:start-end.")]
    reason: Annotated[str, Field(description="In one short sentence, which fact it states.")]


class Selection(BaseModel):
    """The spans that together answer the query, the best first; none when nothing answers it."""

    model_config = ConfigDict(extra="forbid")

    spans: list[Chosen]


async def plan_context(
    request: ContextRequest,
    candidates: Candidates,
    files: FileCatalogue,
    builtin: BuiltinPlanner,
    prompt: Prompt,
    session: ModelSession,
    *,
    with_tools: bool,
) -> ContextPlan:
    """Return the spans that a model chooses.

    Args:
        request: the question.
        candidates: the passages that the built-in planner found, with their values.
        files: the list of the files.
        builtin: the planner that found the candidates.
        prompt: the prompt with the instructions.
        session: the session of the model.
        with_tools: whether the model may search for more; otherwise it answers at once.

    Raises:
        ModelUnavailable: the model gave no answer, or twice named spans that do not exist.
    """
    shown_spans = NumberedSpans(builtin.cutter(candidates.query), files.dates)
    job = ModelQuestion(
        name="memory_context",
        prompt=prompt,
        text=first_prompt(request, candidates, files, shown_spans, session.tools.now, prompt.instructions),
        output=Selection,
        check=lambda answer: answer_problems(answer, shown_spans, _room(request, candidates)),
        tools=_tools(shown_spans, candidates, session.tools) if with_tools else (),
        shown=shown_spans.shown,
    )
    answer = await ask(job, session)
    found = [shown_spans.span(name) for name in _chosen_names(answer)[:MAX_CHOSEN]]
    chosen = [span for span in found if span is not None]
    if len(chosen) < len(found):
        raise model_unavailable(ModelFailure.UNKNOWN_SPANS)
    plan = take(
        candidates.pinned,
        chosen,
        available=request.budget - WRAPPER_CHARS,
        cut=builtin.cutter(candidates.query),
    )
    judgement = candidates.judge(request.query)
    return ContextPlan(
        plan.choices,
        (*plan.omitted, *_not_chosen(plan, shown_spans)),
        planner=session.chat.name,
        judgement=judgement.lifted("model") if chosen else judgement,  # it has read what it chose
    )


def first_prompt(
    request: ContextRequest,
    candidates: Candidates,
    files: FileCatalogue,
    shown_spans: NumberedSpans,
    now: datetime,
    instructions: str,
) -> str:
    """Return the prompt for a question: the files that exist, the spans that search found, and the query.

    The prompt numbers its spans in `shown_spans`. Prompt and instructions have at most 12,000 characters together,
    unless the budget of the context needs more.
    """
    query = request.query if len(request.query) <= QUERY_CHARS else f"{request.query[:QUERY_CHARS]} […]"
    asked = [
        f"Asked on {_day(now.astimezone(UTC).date())}. Budget: {_room(request, candidates):,} characters."
    ]
    if pinned := sorted({candidate.reference.path for candidate in candidates.pinned}):
        asked.append(f"Recalled in any case, do not choose: {', '.join(pinned[:MAX_PINNED])}.")
    listed = wrap_data("files", files.text.rstrip("\n"))
    before = f"# The files that there are\n\n{listed}\n\n# What a search found\n\n"
    after = f"\n\n# The query\n\n{' '.join(asked)}\n\n{wrap_data('query', query)}"
    room = PROMPT_CHARS - len(instructions) - len(before) - len(after)
    large = min(int(request.budget * EVIDENCE_FRACTION), MAX_EVIDENCE_CHARS)
    ranked = _best_of_each_file_first(
        sorted(candidates.ranked, key=lambda one: rank(one.value, one.reference))
    )
    return f"{before}{shown_spans.show(ranked, max(room, large))}{after}"


def _best_of_each_file_first(ranked: Sequence[CandidatePassage]) -> list[CandidatePassage]:
    """Return spans with the best of each file before all others: an answer often needs two files."""
    best = {one.reference.path: one for one in reversed(ranked)}
    first = [one for one in ranked if best[one.reference.path] is one]
    return [*first, *(one for one in ranked if best[one.reference.path] is not one)]


def answer_problems(answer: Selection, shown_spans: NumberedSpans, room: int) -> list[str]:
    """Return what is wrong with an answer, in words for the model."""
    names = _chosen_names(answer)
    if len(names) > MAX_CHOSEN:
        return [f"It names {len(names):,} spans; {MAX_CHOSEN} are the most."]
    found = [(name, shown_spans.span(name)) for name in names]
    told = [f"There is no span {named[:SPAN_CHARS]!r}." for named, span in found if span is None]
    if told:
        return [*told[:10], f"The spans are: {shown_spans.numbers}."]
    chosen = {span.reference: (named[:SPAN_CHARS], _chars(span)) for named, span in found if span is not None}
    total = sum(chars for _, chars in chosen.values())
    if total > room and len(chosen) > 1:
        sizes = ", ".join(f"{named} {chars:,}" for named, chars in list(chosen.values())[:MAX_SIZES])
        return [f"It has {total:,} characters, the budget is {room:,}. They are: {sizes}."]
    return []


def _chosen_names(answer: Selection) -> list[str]:
    """Return the names of the spans that an answer chooses, each once."""
    return list(dict.fromkeys(chosen.span for chosen in answer.spans))


def _room(request: ContextRequest, candidates: Candidates) -> int:
    """Return how many characters are left for what is chosen."""
    available = request.budget - WRAPPER_CHARS
    return available - min(available // 2, sum(map(_chars, candidates.pinned)))


def _chars(span: CandidatePassage) -> int:
    return Note(span.reference, span.text, span.linked_from, span.heading).chars


def _not_chosen(plan: ContextPlan, shown_spans: NumberedSpans) -> list[Omitted]:
    """Return the spans that were shown and not chosen."""
    known = [*(choice.reference for choice in plan.choices), *(omitted.reference for omitted in plan.omitted)]

    def is_known(reference: Reference) -> bool:
        return any(_overlap(reference, other) for other in known)

    return [Omitted(one.reference, "relevance") for one in shown_spans.spans if not is_known(one.reference)]


def _overlap(one: Reference, other: Reference) -> bool:
    is_same = (one.path, one.version) == (other.path, other.version)
    return is_same and one.span[0] < other.span[1] and other.span[0] < one.span[1]


def _day(day: date) -> str:
    return f"{day.isoformat()}, a {day:%A}"


def _tools(shown_spans: NumberedSpans, candidates: Candidates, tools: MemoryTools) -> list[ModelTool]:
    """Return what the model may call; each tool adds the spans that it finds to `shown_spans`."""

    async def find(query: str) -> str:
        """Search the memory with other words. Gives spans, numbered on.

        Args:
            query: a question or a few words, such as the notes would use.
        """
        found = await tools.find(query, limit=FOUND_FILES, passages=FOUND_PASSAGES)
        files = [hit.file for hit in found.hits if hit.file is not None]
        passages = [
            CandidatePassage(
                Reference(file.path, file.version, one.span), one.text, one.score, "match", None, one.heading
            )
            for file in files
            for one in file.passages
            if one.text and one.text.strip()
        ]
        return shown_spans.show(passages, RESULT_CHARS) if passages else "Nothing was found."

    async def read(path: str, heading: str | None = None) -> str:
        """Read a file, or the part of it under a heading. Gives spans, numbered on.

        Args:
            path: as a span, the list of files or a link gave it, such as `user/profile.md`.
            heading: a heading in it; leave out for the file from its beginning.
        """
        found = await tools.passages(candidates.query, [path])
        if not found:
            raise FileNotFound(f"There is no file {path[:SPAN_CHARS]!r}.", hint=_known_paths(shown_spans))
        passages = await _passages(found[0], heading, tools)
        if not passages:
            headings = dict.fromkeys(" › ".join(one.heading) for one in found[0].passages if one.heading)
            return f"No such heading. There are: {'; '.join(list(headings)[:30]) or 'none'}."
        return shown_spans.show(passages, RESULT_CHARS, whole=True)

    async def list_files(prefix: str = "") -> str:
        """List the files below a folder, with titles and dates.

        Args:
            prefix: such as `user/projects/`; leave out for all.
        """
        listed = await tools.list_files(prefix, limit=MAX_LISTED)
        return wrap_data("files", catalogue.render(listed, max_chars=RESULT_CHARS).rstrip("\n") or "none")

    async def links(path: str) -> str:
        """List the links from a file and to it.

        Args:
            path: such as `user/profile.md`.
        """
        found = await tools.links(path)
        lines = [f"{link.source} → {link.target}{'' if link.exists else ' (no file)'}" for link in found]
        return wrap_data("links", "\n".join(lines)[:RESULT_CHARS] or "none")

    return [find, read, list_files, links]


def _known_paths(shown_spans: NumberedSpans) -> str:
    paths = list(dict.fromkeys(one.reference.path for one in shown_spans.spans))[:20]
    return f"Files that were shown: {', '.join(paths)}." if paths else "List the files first."


async def _passages(file: FilePassages, heading: str | None, tools: MemoryTools) -> list[CandidatePassage]:
    """Return the passages of a file with their texts, those under a heading or all."""
    wanted = heading.strip().lstrip("#").strip().casefold() if heading else None
    kept = [one for one in file.passages if wanted is None or wanted in map(str.casefold, one.heading)]
    references = [Reference(file.path, file.version, one.span) for one in kept]
    candidates: list[CandidatePassage] = []
    used = 0
    for one, reference in zip(kept, references, strict=True):
        if used > RESULT_CHARS:
            break
        used += reference.span[1] - reference.span[0]
        [text] = await tools.read([reference]) if one.text is None else [one.text]
        if text.strip():
            candidates.append(CandidatePassage(reference, text, one.score, "match", None, one.heading))
    return candidates
