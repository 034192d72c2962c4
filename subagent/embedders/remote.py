"""Embeddings over HTTP from OpenAI, or from any server that speaks as it does."""

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import openai
from tenacity import (
    AsyncRetrying,
    RetryCallState,
    retry_if_exception,
    stop_after_attempt,
    stop_any,
    stop_before_delay,
    wait_random_exponential,
)

from memex.errors import ModelUnavailable
from memex.store.text_pool.portions import portions
from memex.subagent.breaker import EMBEDDING, MAX_FAILURES, Breaker
from memex.subagent.embedders.interface import MAX_CHARS, EmbeddedText, InputType, to_unit_length
from memex.subagent.retrying import is_transient, retry_after_s

if TYPE_CHECKING:
    from numpy import float32
    from numpy.typing import NDArray

BATCH_TEXTS = 128
BATCH_CHARS = 200_000
ATTEMPTS = 6
DEADLINES_S: dict[InputType, float] = {"query": 2.0, "document": 60.0}  # of one request with its repeats
QUOTA_SPENT = "insufficient_quota"  # a 429 that waiting does not mend


class OpenAIEmbedder:
    """A model of OpenAI's, or of a compatible server's at `base_url`; asked in batches, again after a failure."""

    gives_states = False

    def __init__(
        self,
        model: str,
        *,
        dimensions: int | None = None,
        revision: str = "",
        api_key: str | None = None,
        base_url: str | None = None,
        backoff_s: float = 0.5,
        breaker: Breaker | None = None,
    ) -> None:
        """Make one; nothing is asked of the server yet.

        Args:
            model: by the provider's name.
            dimensions: that the server is asked for; None for the model's own.
            revision: tells vectors apart that the other names do not, such as those of a model that was replaced.
            api_key: a server on this machine may need none.
            base_url: of the server; None for OpenAI's.
            backoff_s: the first wait after a failure, at most; each next one may be twice as long.
            breaker: says whether the server is asked; by default one of its own.
        """
        size = f"@{dimensions}" if dimensions else ""
        self.name = f"openai:{model}{size}{f'#{revision}' if revision else ''}"
        self.dimensions = dimensions
        self._requested_dimensions = dimensions
        self._model = model
        self._breaker = breaker or Breaker(self.name, EMBEDDING)
        self._wait = wait_random_exponential(multiplier=backoff_s, max=20)
        self._client = openai.AsyncOpenAI(
            api_key=api_key or "none", base_url=base_url, max_retries=0, timeout=max(DEADLINES_S.values())
        )

    async def embed(self, texts: Sequence[str], kind: InputType = "document") -> list[EmbeddedText]:
        """Return texts as `Embedder.embed` does."""
        return [
            EmbeddedText(vector)
            for batch in portions([text[:MAX_CHARS] for text in texts], len, BATCH_CHARS, BATCH_TEXTS)
            for vector in await self._embed_batch(batch, kind)
        ]

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()

    async def _embed_batch(self, batch: list[str], kind: InputType) -> "NDArray[float32]":
        """Return the vectors of one batch, asked for again while that may help and the deadline allows.

        A question is so short that a server which does not answer it answers no other one either.
        """
        deadline_s = DEADLINES_S[kind]
        retrying = AsyncRetrying(
            retry=retry_if_exception(_is_transient),
            stop=stop_any(stop_after_attempt(ATTEMPTS), stop_before_delay(deadline_s)),
            wait=self._pause,
            reraise=True,
        )
        has_answered = False

        async def request() -> "NDArray[float32]":
            nonlocal has_answered
            try:
                return await self._request(batch)
            except openai.APIStatusError:
                has_answered = True
                raise

        with self._breaker.attempt() as attempt:
            try:
                async with asyncio.timeout(deadline_s):
                    vectors: NDArray[float32] = await retrying(request)
            except (TimeoutError, openai.APIConnectionError) as error:
                attempt.fail(MAX_FAILURES if kind == "query" and not has_answered else 1)
                reason = _error_name(error) if isinstance(error, openai.APIError) else "timeout"
                raise self._unavailable(reason) from error
            except openai.APIError as error:
                attempt.fail() if _is_transient(error) else attempt.answer()
                raise self._unavailable(_error_name(error)) from error
            except ValueError as error:  # what is no JSON comes through the client as it is
                attempt.answer()
                raise self._unavailable("an answer that is no JSON") from error
            attempt.answer()
            return vectors

    async def _request(self, batch: list[str]) -> "NDArray[float32]":
        answer = await self._client.embeddings.create(
            model=self._model,
            input=batch,
            dimensions=openai.omit if self._requested_dimensions is None else self._requested_dimensions,
            encoding_format="float",
        )
        vectors = _vectors(answer)
        if len(vectors) != len(batch) or len({len(vector) for vector in vectors}) != 1:
            raise self._unavailable(f"{len(vectors)} vectors for {len(batch)} texts")
        made = np.asarray(vectors, dtype=np.float32)
        self.dimensions = self.dimensions or made.shape[1]
        if made.shape[1] != self.dimensions or not np.isfinite(made).all():
            raise self._unavailable(f"vectors of {made.shape[1]} dimensions, or not of numbers")
        return to_unit_length(made)

    def _pause(self, state: RetryCallState) -> float:
        """Return how long to wait: what the server asks for, and never less than our own growing pause."""
        error = state.outcome.exception() if state.outcome else None
        asked_s = retry_after_s(error.response.headers) if isinstance(error, openai.APIStatusError) else 0.0
        return max(self._wait(state), asked_s)

    def _unavailable(self, reason: str) -> ModelUnavailable:
        return ModelUnavailable(
            f"The embedder {self.name} gave no vectors: {reason}.",
            hint="Check OPENAI_API_KEY, OPENAI_BASE_URL and the model's name; it is tried again later.",
            reason=reason,
        )


def _vectors(answer: object) -> list[list[float]]:
    """Return the vectors of an answer in their order; none when it is some other document."""
    data = getattr(answer, "data", None)
    if not isinstance(data, list):
        return []
    found = [item for item in data if isinstance(item, openai.types.Embedding)]
    return [embedding.embedding for embedding in sorted(found, key=lambda embedding: embedding.index)]


def _is_transient(error: BaseException) -> bool:
    if isinstance(error, openai.APIStatusError):
        return is_transient(error.status_code) and error.code != QUOTA_SPENT
    return isinstance(error, openai.APIConnectionError)


def _error_name(error: openai.APIError) -> str:
    """Return an error as class, status and code: its message could quote the request."""
    status = error.status_code if isinstance(error, openai.APIStatusError) else ""
    code = error.code if isinstance(error.code, str) else ""
    return " ".join(filter(None, [type(error).__name__, str(status), code[:60]]))
