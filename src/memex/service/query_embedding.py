"""The vectors of queries. The embedder is asked before any connection is held."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field

from memex.errors import ModelUnavailable, ValidationFailed
from memex.settings import SearchMode
from memex.store.log.call import Call
from memex.store.records import QueryVector
from memex.store.search.find import MAX_QUERY_CHARS
from memex.subagent.embedders.interface import Embedder

QUERY_TIMEOUT_S = 10.0  # somebody waits; a provider's own limit is shorter


@dataclass(frozen=True, slots=True)
class QueryEmbeddings:
    """The vectors of queries, by their texts; `degraded` is a code when the embedder did not answer."""

    by_query: dict[str, QueryVector] = field(default_factory=dict)
    degraded: str | None = None


@dataclass(frozen=True, slots=True)
class QueryEmbedder:
    """Makes the vectors of queries, if the search mode wants them.

    Attributes:
        embedder: None if there is no embedder, or the database has no vectors.
        mode: the search mode of calls that name none. `auto` uses words, and vectors if there is an embedder.
    """

    embedder: Embedder | None = None
    mode: SearchMode = "auto"

    async def of(self, query: str, mode: SearchMode | None, call: Call) -> QueryEmbeddings:
        """Return the vector of a query, or no vector if the search uses words alone.

        Args:
            query: the text of the query.
            mode: the search mode that the call names, if it names one.
            call: its log records the embedder, even if embedding fails.

        Raises:
            ValidationFailed: the call or the setting asks for hybrid search, and this service has no vectors.
            ModelUnavailable: the call asks for hybrid search, and the embedder does not answer.
        """
        wanted = mode or self.mode
        if wanted == "bm25" or not 0 < len(query.strip()) <= MAX_QUERY_CHARS:
            return QueryEmbeddings()
        if self.embedder is None:
            if wanted == "hybrid":
                remedy = "Ask with mode bm25 or auto" if mode else "Set MEMEX_SEARCH_MODE=auto"
                raise ValidationFailed(
                    "This service has no vectors to search by.",
                    hint=f"{remedy}; `memex doctor` says what hybrid search needs.",
                )
            return QueryEmbeddings()
        call.record.config["embedder"] = self.embedder.name
        try:
            values = await self._embed_with_timeout(self.embedder, query)
        except ModelUnavailable as error:
            if mode == "hybrid":
                raise
            return QueryEmbeddings(degraded=error.code)
        return QueryEmbeddings({query: QueryVector(self.embedder.name, values)})

    async def _embed_with_timeout(self, embedder: Embedder, query: str) -> Sequence[float]:
        try:
            async with asyncio.timeout(QUERY_TIMEOUT_S):
                [values] = await embedder.embed([query], "query")
        except TimeoutError:
            raise ModelUnavailable(
                f"The embedder did not answer within {QUERY_TIMEOUT_S:.0f} s.", reason="timeout"
            ) from None
        return [float(value) for value in values]
