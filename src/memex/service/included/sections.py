"""The kinds of passages that a host can include beside memory, found live or taken from the log.

A call names kinds in `include`; without it `MEMEX_CONTEXT_INCLUDE` does. `include` is the host's: no definition of
a tool for a model has it. Each kind is a `SectionKind`, and nothing else knows the kinds:

- `LiveSections.find` searches them, each in a short transaction of its own, before memory is opened. So no call
  holds two connections, and a call that includes nothing sends no statement more.
- What was found is logged as one operation inside the call (`OPERATION`): places, scores and shares, and what each
  word of the query weighed; never a text.
- `RecordedSections.find` gives a replay the passages that the log names. A text that is gone since is named in
  `erased`, and the replay says so.
- A planner chooses among their lines and those of memory (`memex.subagent.context.pool`), and `include` of
  `memex.subagent.context.recall` puts the chosen ones into the wrapper, below the kind's sentence.

A second kind is added so:

1. Write a module beside `conversations.py` with a `SectionKind`: a `find` and a `read` over the store, each one
   function with a connection, and the header of a passage (`FoundPassage.about`). A reference must name a text
   that never changes: path, version and span.
2. Add the kind to `KINDS` in `kinds.py`, its name to `IncludedName` (`memex.settings`) and its reason to
   `IncludedReason` (`memex.subagent.included`).
3. Measure the floors for it as `memex.evals.included` does, and name it in docs/concepts/context.md.

A tool other than memory_context uses the same: `names = work.sections.names(arguments.include)`, and then
`await work.sections.find(names, query)` before it opens memory: memory_find does (`hits.py`).
"""

import time
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from memex.service.query_embedding import QueryEmbedder
from memex.settings import IncludedName
from memex.store.access import Access, Scope
from memex.store.database import Connection, Database
from memex.store.log.call import Call, InnerOperation
from memex.store.log.operations import shorten
from memex.store.records import Operation, QueryVector, Reference
from memex.store.search.bm25 import Query
from memex.store.search.find import MAX_QUERY_CHARS
from memex.subagent.included import FoundPassage, FoundSection, IncludedReason
from memex.subagent.judgement import codes_of

OPERATION = "context_include"  # the kind of the operation inside a call that found passages
MAX_PASSAGES = 50  # of a kind: as many as fill a context of 8,000 characters with short messages
# How much of the query's words, in percent of their weight, the best passage of a kind must hold (else nothing is
# included), and each passage. On LoCoMo (docs/evals.md), half of the questions about other conversations add
# nothing, and questions about the conversations lose half a point of recall to two points.
MIN_BEST_SHARE = 30
MIN_SHARE = 20
LEAST_SIMILARITY = 0.5  # of a passage that is included for its meaning alone
AS_OF = "as_of"  # the kind has no past, and the call asks for one


@dataclass(frozen=True, slots=True)
class SectionKind:
    """A kind of passages beside memory.

    Attributes:
        name: as `include` names it.
        reason: why its passages stand in a context.
        sentence: one plain line above the passages, which says what they are.
        opened: returns the access under which the kind is read, where a project is named for it alone; None if the
            caller has nothing of it.
        find: returns the query as search weighed it, and the passages that score highest, at most so many, each
            with its score and share; it takes the vector of the query, if there is one.
        read: returns the passages at some references, as far as they still stand there.
        are_embedded: whether scopes of the kind have vectors of a model; None if the kind has none.
    """

    name: IncludedName
    reason: IncludedReason
    sentence: str
    opened: Callable[[Access, str | None], Access | None]
    find: Callable[
        [Connection, Access, str, int, QueryVector | None],
        Awaitable[tuple[Query | None, list[FoundPassage]]],
    ]
    read: Callable[[Connection, Access, Sequence[Reference]], Awaitable[dict[Reference, FoundPassage]]]
    are_embedded: Callable[[Connection, Sequence[Scope], str], Awaitable[bool]] | None = None

    def section(
        self,
        passages: Sequence[FoundPassage] = (),
        query: Query | None = None,
        *,
        left_out: str | None = None,
    ) -> FoundSection:
        """Return passages, and the query that found them, as a section; or why nothing was searched."""
        return FoundSection(self.name, self.reason, self.sentence, tuple(passages), query, left_out)

    def above_floor(self, passages: Sequence[FoundPassage], query: str) -> list[FoundPassage]:
        """Return the passages that have enough words of a query, or a code of it, or lie near to it in meaning."""
        codes = codes_of(query)
        near = {
            id(passage)
            for passage in passages
            if (passage.similarity or 0.0) >= LEAST_SIMILARITY
            or codes & codes_of("\n".join((*passage.heading, passage.text)))
        }
        if max((passage.share for passage in passages), default=0) < MIN_BEST_SHARE:
            return [passage for passage in passages if id(passage) in near]
        return [passage for passage in passages if passage.share >= MIN_SHARE or id(passage) in near]


Kinds = Mapping[str, SectionKind]


@dataclass(frozen=True, slots=True)
class Sections(ABC):
    """Finds the passages of a call beside memory, of kinds by name."""

    kinds: Kinds
    database: Database
    access: Access
    call: Call

    @abstractmethod
    def names(self, asked: Sequence[str] | None) -> tuple[str, ...]:
        """Return the kinds that a call includes, each once: those that it names, else those of the settings."""

    @abstractmethod
    async def _find(self, kind: SectionKind, query: str, project: str | None, limit: int) -> FoundSection:
        """Return the passages of a kind, and log them."""

    async def find(
        self,
        names: Sequence[str],
        query: str,
        *,
        project: str | None = None,
        is_past: bool = False,
        limit: int = MAX_PASSAGES,
    ) -> list[FoundSection]:
        """Return a section for each kind, and log what was found. In a call about the past all are left out.

        Args:
            names: of the kinds.
            query: what is looked for.
            project: that the call is about; None for the one of the caller, or all.
            is_past: whether the call is about the past.
            limit: the most passages of a kind.

        Raises:
            ProjectNotFound: the user is not a member of the project.
        """
        return [
            self.kinds[name].section(left_out=AS_OF)
            if is_past
            else await self._find(self.kinds[name], query, project, limit)
            for name in names
        ]


@dataclass(frozen=True, slots=True)
class LiveSections(Sections):
    """Finds what stands there now.

    Attributes:
        default: the kinds of a call that names none.
        renew: looks the access up anew, as one from memory may not know what the user has since.
        embedder: makes the vector of a query for kinds whose passages have vectors.
    """

    default: Sequence[str] = ()
    renew: Callable[[], Awaitable[Access]] | None = None
    embedder: QueryEmbedder | None = None

    def names(self, asked: Sequence[str] | None) -> tuple[str, ...]:
        """Return the kinds that a call includes; see `Sections.names`."""
        return tuple(dict.fromkeys(self.default if asked is None else asked))

    async def _find(self, kind: SectionKind, query: str, project: str | None, limit: int) -> FoundSection:
        started = _Started()
        passages: list[FoundPassage] = []
        weighed: Query | None = None
        access = kind.opened(self.access, project)
        if access is None and self.renew is not None:
            access = kind.opened(await self.renew(), project)
        if access is not None and query.strip():
            text = query[:MAX_QUERY_CHARS]
            vector = None
            if self.embedder is not None and kind.are_embedded is not None:
                vector = await self.embedder.of_embedded(text, access, kind.are_embedded, self.call)
            async with self.database.transaction(access, snapshot=True) as connection:
                weighed, found = await kind.find(connection, access, text, min(limit, MAX_PASSAGES), vector)
            passages = kind.above_floor(found, query)
        started.log(self.call, kind.name, query, _logged(passages, weighed))
        return kind.section(passages, weighed)


@dataclass(frozen=True, slots=True)
class RecordedSections(Sections):
    """Finds what the log says that a call found, whatever the limit; the texts are read where they stand now.

    The access is that of the caller of the replay: nothing beyond it is read.

    Attributes:
        logged: the call whose log names the passages.
        erased: the passages whose texts are gone.
    """

    logged: Operation
    erased: list[str] = field(default_factory=list)

    def names(self, asked: Sequence[str] | None) -> tuple[str, ...]:  # noqa: ARG002  # as `Sections`
        """Return the kinds that the logged call included."""
        return included_names(self.logged)

    async def _find(
        self,
        kind: SectionKind,
        query: str,
        project: str | None,
        limit: int,  # noqa: ARG002  # as many as the log names
    ) -> FoundSection:
        started = _Started()
        recorded = _recorded(self.logged, kind.name)
        passages = recorded.get("passages", [])
        references = [_reference(passage) for passage in passages]
        standing: dict[Reference, FoundPassage] = {}
        access = kind.opened(self.access, project)
        if access is not None and references:
            async with self.database.transaction(access, snapshot=True) as connection:
                standing = await kind.read(connection, access, references)
        self.erased.extend(str(reference) for reference in references if reference not in standing)
        started.log(self.call, kind.name, query, recorded)
        return kind.section(
            [
                replace(standing[reference], score=score, share=share)
                for reference, (*_, score, share) in zip(references, passages, strict=True)
                if reference in standing
            ],
            _query(recorded),
        )


def included_names(logged: Operation) -> tuple[str, ...]:
    """Return the kinds that a logged call included, in their order."""
    result = (logged.response or {}).get("result") or {}
    return tuple(section["name"] for section in result.get("included") or ())


def _recorded(logged: Operation, name: str) -> dict[str, Any]:
    """Return what was found of a kind as the log has it."""
    for inner in logged.inner:
        if inner.kind == OPERATION and inner.request.get("name") == name:
            return inner.response or {}
    return {"passages": []}


def _logged(passages: Sequence[FoundPassage], query: Query | None) -> dict[str, Any]:
    """Return what was found as the log has it: places, scores and shares, and the weights of the words."""
    found = {"passages": [[*_place(passage.reference), passage.score, passage.share] for passage in passages]}
    if query is None or not passages:
        return found
    weights = dict(zip(query.lexemes, query.weights, strict=True))
    return found | {"weights": weights, "most": query.most}


def _query(logged: Mapping[str, Any]) -> Query | None:
    """Return a query as the log has it; how long passages are in the mean is not in it."""
    weights = logged.get("weights")
    return (
        None if weights is None else Query(tuple(weights), tuple(weights.values()), 0.0, 0.0, logged["most"])
    )


def _place(reference: Reference) -> tuple[str, int, int, int]:
    path, version, (start, end) = reference
    return path, version, start, end


def _reference(logged: Sequence[Any]) -> Reference:
    path, version, start, end, *_ = logged
    return Reference(path, version, (start, end))


class _Started:
    """The beginning of an operation inside a call."""

    def __init__(self) -> None:
        self._at, self._s = datetime.now(UTC), time.perf_counter()

    def log(self, call: Call, name: str, query: str, found: dict[str, Any]) -> None:
        """Log the operation, which ends now."""
        call.record.inner.append(
            InnerOperation(
                kind=OPERATION,
                request={"name": name, "query": shorten(query)},
                response=found,
                state=None,
                error_code=None,
                started_at=self._at,
                duration_ms=(time.perf_counter() - self._s) * 1000,
            )
        )
