"""The context agent: a model picks lines of the pool from which the rules choose, and may look for more of them."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, date, datetime
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from memex.errors import FileNotFound
from memex.store.records import FilePassages, Reference
from memex.subagent.builtin import BuiltinPlanner
from memex.subagent.context.assembly import WRAPPER_CHARS
from memex.subagent.context.pool import (
    ContextLine,
    best_first,
    entries_of,
    lines_of,
    score_lines,
    window_weight,
)
from memex.subagent.context.selection import CandidatePassage
from memex.subagent.context.survey import LinePool
from memex.subagent.limits import ModelFailure, model_unavailable
from memex.subagent.memory_tools import MemoryTools
from memex.subagent.model.ask import ModelQuestion, ModelSession, ModelTool, ask
from memex.subagent.model.data_blocks import wrap_data
from memex.subagent.model.numbered_lines import NumberedLines, best_lines
from memex.subagent.planner import ContextPlan, ContextRequest
from memex.subagent.prompts import Prompt

PROMPT_CHARS = 12_000  # of the first prompt with its instructions
MAX_LINES = 60  # of the first prompt
MAX_PICKS = 15  # that a model is asked for; more are taken all the same
QUERY_CHARS = 1_000  # a longer query is shown by its beginning
RESULT_CHARS = 4_000  # of what a tool gives back
FOUND_FILES = 8
FOUND_PASSAGES = 2
NAME_CHARS = 100  # of a path, in a problem
REASON_CHARS = 100  # of why a line was picked


class Picks(BaseModel):
    """The lines that answer the query, the best first; none when nothing answers it."""

    model_config = ConfigDict(extra="forbid")

    # A server that holds its model to the schema ends a list in which a small model counts on and on.
    lines: Annotated[
        list[int],
        Field(description="Their numbers, such as [3, 7].", json_schema_extra={"maxItems": MAX_PICKS}),
    ]
    reasons: Annotated[
        list[str],
        Field(
            description="Why each was picked, in at most six words, in the same order. May stay empty.",
            json_schema_extra={"maxItems": MAX_PICKS},
        ),
    ] = []


async def plan_context(
    request: ContextRequest,
    pool: LinePool,
    builtin: BuiltinPlanner,
    prompt: Prompt,
    session: ModelSession,
    *,
    worth: float,
    with_tools: bool,
) -> ContextPlan:
    """Return the plan that the rules make when the lines that a model picks are worth more.

    Args:
        request: the question.
        pool: the lines that the built-in planner found, with their scores.
        builtin: the planner that found them.
        prompt: the prompt with the instructions.
        session: the session of the model.
        worth: what a pick adds to the score of its line, at least 0.
        with_tools: whether the model may look for more; otherwise it answers at once.

    Raises:
        ModelUnavailable: the model gave no answer, or twice named no line that exists.
    """
    picked = await pick_lines(request, pool, builtin, prompt, session, with_tools=with_tools)
    plan = builtin.select(with_picks(pool, picked, worth), request)
    return replace(plan, planner=session.chat.name)


async def pick_lines(
    request: ContextRequest,
    pool: LinePool,
    builtin: BuiltinPlanner,
    prompt: Prompt,
    session: ModelSession,
    *,
    with_tools: bool,
) -> list[ContextLine]:
    """Return the lines that a model picks, each once, in its order; see `plan_context`."""
    shown = NumberedLines(builtin.cutter(pool.survey.query))
    job = ModelQuestion(
        name="memory_context",
        prompt=prompt,
        text=first_prompt(request, pool, shown, session.tools.now, prompt.instructions),
        output=Picks,
        check=lambda answer: answer_problems(answer, shown),
        tools=_tools(shown, pool, session.tools, window_weight(request.budget)) if with_tools else (),
        shown=shown.shown,
    )
    answer = await ask(job, session)
    reasons = [*answer.reasons, *[""] * len(answer.lines)]
    picked = {
        line.reference: line._replace(why=" ".join(reason.split())[:REASON_CHARS] or line.why)
        for number, reason in zip(answer.lines, reasons, strict=False)
        if (line := shown.line(number)) is not None
    }
    if answer.lines and not picked:
        raise model_unavailable(ModelFailure.UNKNOWN_LINES)
    return list(picked.values())


def is_sure(pool: LinePool, lead: float) -> bool:
    """Return whether the best line of a pool leads the next one by so much that a model need not be asked.

    Args:
        pool: as the rules found it.
        lead: in the score of a line; 0 is no lead at all, and never sure.
    """
    first, second = (*(line.score for line in pool.lines[:2]), 0.0, 0.0)[:2]
    return 0 < lead <= first - second


def with_picks(pool: LinePool, picked: Sequence[ContextLine], worth: float) -> LinePool:
    """Return a pool in which the lines that a model picked, and may have found itself, are worth more."""
    lines = {line.reference: line for line in pool.lines}
    for line in picked:
        known = lines.get(line.reference, line)
        lines[line.reference] = known._replace(score=max(known.score, 0.0) + worth, why=line.why)
    judgement = pool.judgement.lifted("model") if picked else pool.judgement  # it has read what it picked
    best = pool.best
    if best is None:
        best = max((line.score for line in (*pool.lines[:1], *pool.included[:1])), default=0.0)
    return replace(pool, lines=best_first(lines.values()), judgement=judgement, best=best)


def first_prompt(
    request: ContextRequest, pool: LinePool, shown: NumberedLines, now: datetime, instructions: str
) -> str:
    """Return the prompt for a question: the best lines, numbered in `shown`, and the query.

    Prompt and instructions have at most 12,000 characters together.
    """
    query = request.query if len(request.query) <= QUERY_CHARS else f"{request.query[:QUERY_CHARS]} […]"
    asked = (
        f"Asked on {_day(now.astimezone(UTC).date())}. "
        f"The context holds {request.budget - WRAPPER_CHARS:,} characters."
    )
    before = "# Lines of the memory\n\n"
    after = f"\n\n# The query\n\n{asked}\n\n{wrap_data('query', query)}"
    room = PROMPT_CHARS - len(instructions) - len(before) - len(after)
    return f"{before}{shown.show(best_lines(pool.lines, MAX_LINES), room)}{after}"


def answer_problems(answer: Picks, shown: NumberedLines) -> list[str]:
    """Return what is wrong with an answer, in words for the model."""
    unknown = [number for number in dict.fromkeys(answer.lines) if shown.line(number) is None]
    if not unknown:
        return []
    return [f"There is no line {', '.join(map(str, unknown[:10]))}; the numbers are {shown.numbers}."]


def _day(day: date) -> str:
    return f"{day.isoformat()}, a {day:%A}"


def _tools(shown: NumberedLines, pool: LinePool, tools: MemoryTools, weight: float) -> list[ModelTool]:
    """Return what the model may call; each tool adds the lines that it finds to `shown`."""

    async def show(passages: Sequence[CandidatePassage], *, is_ranked: bool) -> str:
        entries = entries_of(passages)
        found = lines_of(passages, await tools.entry_statements(entries) if entries else ())
        scored = score_lines(found, pool.survey.query, tools.analyzer, weight=weight)
        if not is_ranked:
            scored.sort(key=lambda line: line.reference)
        return shown.show(scored, RESULT_CHARS) if scored else "Nothing was found."

    async def find(query: str) -> str:
        """Search the memory with other words. Gives lines, numbered on.

        Args:
            query: a question or a few words, such as the notes would use.
        """
        found = await tools.find(query, limit=FOUND_FILES, passages=FOUND_PASSAGES)
        return await show(
            [
                CandidatePassage(
                    Reference(hit.path, hit.version, passage.span),
                    passage.text,
                    0,
                    "match",
                    None,
                    passage.heading,
                )
                for hit in found.hits
                if hit.file is not None
                for passage in hit.file.passages
                if passage.text and passage.text.strip()
            ],
            is_ranked=True,
        )

    async def read(place: str, heading: str | None = None) -> str:
        """Read a file, or the part of it under a heading. Gives lines, numbered on.

        Args:
            place: the number of a line that stands in it, or its path, such as `user/profile.md`.
            heading: a heading in it; leave out for the file from its beginning.
        """
        path = _path(place, shown)
        found = await tools.passages(pool.survey.query, [path])
        if not found:
            raise FileNotFound(f"There is no file {path[:NAME_CHARS]!r}.", hint=_known_paths(shown))
        passages = await _passages(found[0], heading, tools)
        if not passages:
            headings = dict.fromkeys(
                " › ".join(passage.heading) for passage in found[0].passages if passage.heading
            )
            return f"No such heading. There are: {'; '.join(list(headings)[:30]) or 'none'}."
        return await show(passages, is_ranked=False)

    async def links(place: str) -> str:
        """List the links from a file and to it.

        Args:
            place: the number of a line that stands in it, or its path, such as `user/profile.md`.
        """
        found = await tools.links(_path(place, shown))
        listed = [f"{link.source} → {link.target}{'' if link.exists else ' (no file)'}" for link in found]
        return wrap_data("links", "\n".join(listed)[:RESULT_CHARS] or "none")

    return [find, read, links]


def _path(place: str, shown: NumberedLines) -> str:
    """Return the path that a model names by itself, or by the number of a line."""
    number = place.strip()
    line = shown.line(int(number)) if number.isascii() and number.isdigit() and len(number) < 6 else None
    return place if line is None else line.reference.path


def _known_paths(shown: NumberedLines) -> str:
    paths = list(dict.fromkeys(line.reference.path for line in shown.lines))[:20]
    return f"Files that were shown: {', '.join(paths)}." if paths else "Search first."


async def _passages(file: FilePassages, heading: str | None, tools: MemoryTools) -> list[CandidatePassage]:
    """Return the passages of a file with their texts, those under a heading or all, as far as they are shown."""
    wanted = heading.strip().lstrip("#").strip().casefold() if heading else None
    kept = [
        passage for passage in file.passages if wanted is None or wanted in map(str.casefold, passage.heading)
    ]
    references: list[Reference] = []
    used = 0
    for passage in kept:
        if used > RESULT_CHARS:
            break
        used += passage.span[1] - passage.span[0]
        references.append(Reference(file.path, file.version, passage.span))
    texts = await tools.read(references) if references else []
    return [
        CandidatePassage(reference, text, 0, "match", None, passage.heading)
        for reference, passage, text in zip(references, kept, texts, strict=False)
        if text.strip()
    ]
