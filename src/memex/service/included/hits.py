"""Hits of memory_find beside the files of memory: the passages of each kind that a host includes."""

import hashlib
from collections.abc import Sequence
from typing import Annotated, Any

from pydantic import Field

from memex.service.tools.tool import LEFT_OUT, BesideMemory, ResultPart
from memex.service.tools.tool_context import ToolContext
from memex.settings import IncludedName
from memex.subagent.included import FoundPassage


class IncludedHitResult(ResultPart):
    """A passage beside memory; `text` is all of it, and `details` say where it stands.

    Of a document they are `root`, `project`, `document` (its path in the root), `heading`, `title`, `tags` and
    `updated_at`; of a message `role`, `author`, `said_at` and `title`. `kind` is `document` or `message`.
    """

    path: str
    version: int
    start: int
    end: int
    sha256: str
    text: str
    score: int
    details: dict[str, Any]


class IncludedHitsResult(ResultPart):
    """The passages of a kind, the best first; `left_out` says why the kind was not searched: `as_of`."""

    name: str
    hits: list[IncludedHitResult]
    left_out: str | None


async def find_beside(
    work: ToolContext,
    kinds: Sequence[IncludedName] | None,
    query: str,
    *,
    project: str | None,
    is_past: bool,
    limit: int,
) -> BesideMemory:
    """Return what a search shows beside the files of memory. The log has digests of the passages, and no text.

    `kinds` are those that the host includes; None for those of the settings.
    """
    names = work.sections.names(kinds)
    sections = await work.sections.find(names, query, project=project, is_past=is_past, limit=limit)
    if not sections:
        return BesideMemory()
    shown = [
        IncludedHitsResult(
            name=section.name, hits=list(map(_hit, section.passages)), left_out=section.left_out
        )
        for section in sections
    ]
    logged = [
        {"name": section.name, "hits": [hit.sha256 for hit in section.hits], "left_out": section.left_out}
        for section in shown
    ]
    return BesideMemory(
        {"included": [section.model_dump(mode="json") for section in shown]}, {"included": logged}
    )


def _hit(passage: FoundPassage) -> IncludedHitResult:
    path, version, (start, end) = passage.reference
    return IncludedHitResult(
        path=path,
        version=version,
        start=start,
        end=end,
        sha256=hashlib.sha256(passage.text.encode()).hexdigest(),
        text=passage.text,
        score=passage.score,
        details=dict(passage.details),
    )


SearchInclude = Annotated[
    list[IncludedName] | None,
    Field(description="Also search conversations or documents; by default what MEMEX_CONTEXT_INCLUDE says."),
]
IncludedHits = Annotated[list[IncludedHitsResult] | None, LEFT_OUT]
