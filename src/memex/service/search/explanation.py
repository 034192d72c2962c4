"""memory_find_explain: why a search shows a file, or does not."""

from collections.abc import Sequence
from dataclasses import asdict, replace
from functools import partial
from typing import Any

from memex.errors import ValidationFailed
from memex.service.call import Caller
from memex.service.journal.hits import OneHit, find_once
from memex.service.service import Service
from memex.service.tools.files import FindArguments, MatchResult, Path, SpanResult, render_hit
from memex.service.tools.tool import ReadAnswer, ReadTool, ResultPart
from memex.store.browse.explain_find import FilterName, FindExplanation, WordPlace, explain_find
from memex.store.log.call import CallAnswer
from memex.store.memory import Memory
from memex.store.search import vectors
from memex.store.text_pool import offload

FILTER_WORDS: dict[FilterName, str] = {
    "project": "the search does not cover its project",
    "prefix": "its path does not begin so",
    "tags": "it lacks a tag",
    "days": "it is not of the days that the query names",
}


class ExplainFindArguments(FindArguments):
    """Say why a search shows a file, or does not: the arguments of the search, and the path of the file."""

    path: Path


class WordResult(ResultPart):
    """A word of the query: where in the file it stands, and what it adds to the score.

    | place | meaning |
    | --- | --- |
    | passage | it stands in the best passage of the file |
    | elsewhere | it stands in another passage of the file, which adds nothing |
    | neighbours | it stands in neighbouring files of a numbered series alone |
    | absent | the file lacks it |
    | uncounted | no file of the search holds it, or the query has more than 64 words, and it is a common one |
    """

    word: str
    lexeme: str
    place: WordPlace
    score: int


class MeaningResult(ResultPart):
    """A word of the query, the word of the passage that is nearest to it in meaning, and how similar they are.

    The similarity lies between -1 and 1; of a word of several word pieces it is their mean.
    """

    word: str
    answer: str
    similarity: float


class LastHitResult(ResultPart):
    """The last file that the search shows, and how far the file stands below it.

    `score_below` is the difference of the scores; in hybrid mode `fused_below` is that of the blended scores. Both
    are null for a file that the search shows, or that has no such score.
    """

    path: str
    rank: int
    score: int
    fused: float | None
    score_below: int | None
    fused_below: float | None


class ExplainFindResult(ReadAnswer):
    """An explanation of why a search shows a file, or does not; `reason` says it in a sentence.

    `rank` counts from 1 among all files that are found; it is null for a file that is not. `match` is what a hit
    says, with the same scores; it is null if no passage of the file matches. Of a file in `removed_by`, it is what
    the file would have without these filters.

    `meaning` says which words of the best passage answer which words of the query, where the search compared them
    word piece by word piece. It is null for other searches, and if the model did not answer. The log does not keep
    it, so an explanation that is looked up later has none.
    """

    path: str
    version: int
    title: str
    is_shown: bool
    rank: int | None
    reason: str
    match: MatchResult | None
    heading: list[str] | None
    span: SpanResult | None
    words: list[WordResult]
    meaning: list[MeaningResult] | None = None
    removed_by: list[FilterName]
    last: LastHitResult | None


async def explain(
    memory: Memory, arguments: ExplainFindArguments, *, explained: list[FindExplanation] | None = None
) -> CallAnswer:
    """Answer memory_find_explain, and add what was found to `explained`.

    As of a find, the log keeps no text of a file.
    """
    if arguments.mode == "vectors":
        raise ValidationFailed(
            "A search by vectors alone is not explained.", hint="Each of its hits says how similar it is."
        )
    asked = {name: getattr(arguments, name) for name in ("limit", "project", "prefix", "tags")}
    found = await explain_find(memory, arguments.query, arguments.path, **asked)
    if explained is not None:
        explained.append(found)
    _, hits = await find_once(memory, arguments.query, **asked)
    result = _render(found, hits, arguments.limit).body()
    kept = ("path", "version", "is_shown", "rank", "match", "span", "removed_by", "last")
    logged: dict[str, Any] = {name: result[name] for name in kept}
    if found.near is not None:
        logged["near"] = [near.logged for near in found.near]
    return CallAnswer(result, arguments.canonical(), logged)


EXPLAIN_FIND = ReadTool(
    "memory_find_explain",
    ExplainFindArguments,
    ExplainFindResult,
    explain,
    lambda arguments: (arguments.query, arguments.mode),
)


async def explain_search(
    service: Service, caller: Caller, arguments: dict[str, Any], *, tool_call_id: str | None = None
) -> dict[str, Any]:
    """Return why a search shows a file, or does not, and log the call; see `ExplainFindResult`.

    Raises:
        FileNotFound: nothing stands at the path.
        ValidationFailed, ProjectNotFound: as memory_find.
    """
    explained: list[FindExplanation] = []
    tool = replace(EXPLAIN_FIND, answer=partial(explain, explained=explained))
    result = await service.execute(caller, EXPLAIN_FIND.name, arguments, tool_call_id=tool_call_id, own=tool)
    if explained and (passage := await _compared_passage(explained[0])) is not None:
        # No connection is held while the model compares.
        matches = await service.query_embedder.match_words(arguments["query"], passage)
        result["meaning"] = None if matches is None else [asdict(match) for match in matches]
    return result


async def _compared_passage(found: FindExplanation) -> str | None:
    """Return the text by which the best passage of a file is indexed, if it was compared piece by piece."""
    if found.hit is None or found.hit.match.interaction is None:
        return None
    content, span = found.revision.content, found.hit.span

    texts = await offload.run_in_thread(len(content), vectors.texts_by_span, found.revision.path, content)
    return texts.get(span)


def _render(found: FindExplanation, hits: Sequence[OneHit], limit: int) -> ExplainFindResult:
    path = found.revision.virtual_path
    page = next((listed.hit.path for listed in hits if path in listed.entries), None)
    is_shown = page is not None or any(listed.hit.path == path for listed in hits)
    found = replace(found, is_shown=is_shown)
    hit = render_hit(found.hit) if found.hit is not None else None
    match = hit.match.model_copy(update={"mode": found.mode}) if hit is not None else None
    return ExplainFindResult(
        path=path,
        version=found.revision.version,
        title=found.revision.title,
        is_shown=found.is_shown,
        rank=found.rank,
        reason=_reason(found, limit)
        if page is None
        else f"The entry is shown with {page}, which holds its statement.",
        match=match,
        heading=hit.heading if hit is not None else None,
        span=hit.span if hit is not None else None,
        words=list(map(WordResult.taken_from, found.words)),
        removed_by=list(found.removed_by),
        last=_last(found, match),
    )


def _last(found: FindExplanation, match: MatchResult | None) -> LastHitResult | None:
    last = found.last
    if last is None:
        return None
    is_below = match is not None and not found.is_shown
    fused = match.fused if match is not None else None
    return LastHitResult.taken_from(
        last,
        score_below=last.score - match.score if is_below and match is not None else None,
        fused_below=last.fused - fused if is_below and last.fused is not None and fused is not None else None,
    )


def _reason(found: FindExplanation, limit: int) -> str:
    """Say in a sentence why a file is shown, or is not."""
    if found.removed_by:
        return f"The file is left out: {', and '.join(FILTER_WORDS[name] for name in found.removed_by)}."
    if found.is_shown:
        return f"The file is shown: it is number {found.rank} of the files found."
    if found.rank is not None:
        return f"The file is number {found.rank:,} of the files found, and the search shows {limit}."
    if found.hit is None and found.mode == "bm25":
        return "The file holds no word of the query that counts."
    if found.hit is None:
        return "The file holds no word of the query that counts, and others are nearer in meaning."
    if found.mode == "hybrid":
        return "The file is neither among the 100 best by words nor among the nearest in meaning."
    return "The file is beyond the 10,000 best by words."
