"""What a query means, as a vector: asked of the embedder before any connection is held."""

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
    """How this service searches by meaning.

    Attributes:
        embedder: None where there is none, or the database has no vectors.
        mode: where a call names none. With `auto` words and vectors are used if both are there.
    """

    embedder: Embedder | None = None
    mode: SearchMode = "auto"

    async def of(self, query: str, mode: SearchMode | None, call: Call) -> QueryEmbeddings:
        """Return the vector of a query, or none where it is searched by words alone.

        Args:
            query: what is searched.
            mode: that the call names.
            call: whose log shall say which embedder the query was sent to, however that ends.

        Raises:
            ValidationFailed: the call or the setting asks for hybrid, and there are no vectors here.
            ModelUnavailable: the call asks for hybrid, and the embedder does not answer.
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
