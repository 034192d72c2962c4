"""The vectors of queries. The embedder is asked before any connection is held."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

from memex.errors import ModelUnavailable, ValidationFailed
from memex.service.search.word_matches import WordMatch, match_words
from memex.settings import FindMode, SearchMode
from memex.store.access import Access, Scope
from memex.store.database import Connection, Database, row
from memex.store.log.call import Call
from memex.store.records import QueryVector
from memex.store.search.find import MAX_QUERY_CHARS
from memex.store.search.hybrid import late_interaction
from memex.subagent.embedders.interface import (
    STARTING,
    EmbeddedText,
    Embedder,
    embed_texts,
)
from memex.subagent.embedders.names import ENGLISH_ONLY
from memex.subagent.judgement import ENGLISH, is_latin

QUERY_TIMEOUT_S = 10.0  # somebody waits; a provider's own limit is shorter
STARTING_POLL_S = 0.05
BRIEF_WAIT_S = 3.0  # a process that answers one call waits so long for its model
BY_WORDS = "by_words"  # `degraded` of an answer by words, for which the model was not ready in time
VECTORS_LOST = "vectors"  # `degraded` of an answer whose search should use vectors, and cannot


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
        mode: the search mode of calls that name none. `auto` uses words, and vectors if there is an embedder that
            knows the language.
        database: which holds the vectors, or not: then texts are compared by token states alone. Without one,
            vectors are made.
        is_brief: the process answers one call and ends. It loads the model only where there are vectors to compare,
            and waits for it a moment.
        is_set: whether the service has an embedder, which a database without vectors may not let it use.
    """

    embedder: Embedder | None = None
    mode: SearchMode = "auto"
    database: Database | None = None
    is_set: bool = True
    is_brief: bool = False

    @property
    def has_vectors(self) -> bool:
        """Return whether the database holds vectors."""
        return self.database is None or self.database.has_vectors

    @property
    def degraded(self) -> str | None:
        """Return the code of answers by words that should be by vectors too, which cannot be used."""
        is_lost = self.is_set and self.database is not None and self.database.lost_vectors
        return VECTORS_LOST if is_lost else None

    @classmethod
    def over(
        cls,
        database: Database,
        embedder: Embedder | None,
        mode: SearchMode = "auto",
        *,
        is_brief: bool = False,
    ) -> "QueryEmbedder":
        """Return the embedder of queries for a database: one without vectors is searched by token states alone."""
        gives_states = embedder is not None and embedder.gives_states
        used = embedder if database.has_vectors or (database.has_jobs and gives_states) else None
        return cls(used, mode, database, is_set=embedder is not None, is_brief=is_brief)

    async def of(
        self, query: str, mode: FindMode | None, call: Call, *, language: str = ENGLISH
    ) -> QueryEmbeddings:
        """Return the vector of a query, or no vector if the search uses words alone.

        The call names the embedder in its log, even if embedding fails. `language` is that of the texts that are
        searched.

        Raises:
            ValidationFailed: the call or the setting asks for vectors, and this service has none.
            ModelUnavailable: the call asks for vectors, and the embedder does not answer.
        """
        wanted = mode or self.mode
        if wanted == "bm25" or not 0 < len(query.strip()) <= MAX_QUERY_CHARS:
            return QueryEmbeddings()
        if self.embedder is None or (wanted == "vectors" and not self.has_vectors):
            if wanted in ("hybrid", "vectors"):
                remedy = "Ask with mode bm25 or auto" if mode else "Set MEMEX_SEARCH_MODE=auto"
                raise ValidationFailed(
                    "This service has no vectors to search by.",
                    hint=f"{remedy}; `memex doctor` says what hybrid search needs.",
                )
            return QueryEmbeddings(degraded=self.degraded)
        if (
            wanted == "auto"
            and self.embedder.name in ENGLISH_ONLY
            and (language != ENGLISH or not is_latin(query))
        ):
            return QueryEmbeddings()
        is_required = mode in ("hybrid", "vectors")
        is_brief = self.is_brief and not is_required and wanted == "auto"
        if is_brief and not await self._is_anything_embedded(self.embedder.name):
            return QueryEmbeddings(degraded=self.degraded)
        call.record.config["embedder"] = self.embedder.name
        try:
            embedded = await self._embed_with_timeout(
                self.embedder,
                query,
                waits_for_start=is_required or is_brief,
                timeout_s=BRIEF_WAIT_S if is_brief else QUERY_TIMEOUT_S,
            )
        except ModelUnavailable as error:
            if is_required:
                raise
            late = BY_WORDS if is_brief else None
            return QueryEmbeddings(degraded=late if is_brief or _is_starting(error) else error.code)
        values = embedded.vector.tolist() if self.has_vectors else ()
        states = None if embedded.states is None else late_interaction.round_states(embedded.states)
        return QueryEmbeddings({query: QueryVector(self.embedder.name, values, states)}, self.degraded)

    async def of_embedded(
        self,
        query: str,
        access: Access,
        are_embedded: Callable[[Connection, Sequence[Scope], str], Awaitable[bool]],
        call: Call,
    ) -> QueryVector | None:
        """Return the vector of a query, if texts in the scopes of an access have vectors of the model."""
        if (
            self.embedder is None
            or self.database is None
            or not self.database.has_vectors
            or not access.scopes
        ):
            return None
        async with self.database.transaction(access) as connection:
            if not await are_embedded(connection, access.scopes, self.embedder.name):
                return None
        return (await self.of(query, None, call)).by_query.get(query)

    async def match_words(self, query: str, passage: str) -> list[WordMatch] | None:
        """Return which words of a passage answer which words of a query; None if the embedder does not say."""
        if self.embedder is None or not self.embedder.gives_states:
            return None
        try:
            async with asyncio.timeout(QUERY_TIMEOUT_S):
                asked, found = await embed_texts(self.embedder, [query, passage], "query")
        except (ModelUnavailable, TimeoutError):
            return None
        return match_words(query, asked, passage, found) or None

    async def _embed_with_timeout(
        self, embedder: Embedder, query: str, *, waits_for_start: bool, timeout_s: float
    ) -> EmbeddedText:
        try:
            async with asyncio.timeout(timeout_s):
                while True:
                    try:
                        [embedded] = await embed_texts(embedder, [query], "query")
                    except ModelUnavailable as error:
                        if not (waits_for_start and _is_starting(error)):
                            raise
                        await asyncio.sleep(STARTING_POLL_S)
                    else:
                        return embedded
        except TimeoutError:
            raise ModelUnavailable(
                f"The embedder did not answer within {timeout_s:.0f} s.", reason="timeout"
            ) from None

    async def _is_anything_embedded(self, model: str) -> bool:
        """Return whether the database holds a vector of a model, or may hold token states alone."""
        if self.database is None or not self.database.has_vectors:
            return self.database is None
        async with self.database.maintenance() as connection:
            found = await row(connection, "vectors/embedding_exists", model=model)
        return bool(found and found["is_embedded"])


def _is_starting(error: ModelUnavailable) -> bool:
    """Return whether an embedder is not ready yet: the first answers of a service are by words, and complete."""
    return error.details.get("reason") == STARTING


def least_similarity(mode: FindMode | None, min_score: float | None, as_of: object) -> float | None:
    """Return the least cosine of a search by vectors alone; None in the other modes.

    Raises:
        ValidationFailed: a smallest score without mode vectors, or that mode for the past.
    """
    if min_score is not None and mode != "vectors":
        raise ValidationFailed("min_score needs mode vectors.", hint="Leave it out, or use mode vectors.")
    if mode == "vectors" and as_of is not None:
        raise ValidationFailed("The past has no vectors.", hint="Leave out as_of, or use mode bm25.")
    return (-1.0 if min_score is None else min_score) if mode == "vectors" else None
