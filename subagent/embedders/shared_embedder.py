"""A local model as the processes of a service use it: through the process that holds it."""

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from memex.errors import ModelUnavailable
from memex.subagent.embedders.interface import MAX_CHARS, STARTING, EmbeddedText, InputType
from memex.subagent.embedders.model_messages import (
    HELLO,
    LENGTH,
    pack_request,
    size_of_numbers,
    unpack_numbers,
)
from memex.subagent.embedders.names import LOCAL, parse_name
from memex.subagent.embedders.shared_model import SharedModel

TEXTS_A_REQUEST = 16
MAX_WAITING = 64  # requests of a kind that wait for a connection; further ones are refused
CONNECTIONS = {"query": 4, "document": 2}
ANSWER_S = {"query": 3.0, "document": 120.0}
START_S = 60.0  # for the model to be loaded
LOOK_EVERY_S = 1.0  # whether the process that loads it still lives


@dataclass(slots=True)
class _Connection:
    """A connection to the process of the model."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    async def ask(self, request: bytes) -> list[EmbeddedText]:
        self.writer.write(request)
        await self.writer.drain()
        [size] = LENGTH.unpack(await self.reader.readexactly(LENGTH.size))
        answer: dict[str, Any] = json.loads(await self.reader.readexactly(size))
        return unpack_numbers(answer, await self.reader.readexactly(size_of_numbers(answer)))

    def close(self) -> None:
        self.writer.close()


@dataclass(slots=True)
class _Pool:
    """The connections for requests of one kind."""

    slots: asyncio.Semaphore
    idle: list[_Connection] = field(default_factory=list)
    waiting: int = 0


class SharedEmbedder:
    """The model behind a `SharedModel`. Nobody who searches waits until the model is loaded.

    The first text or query starts the process. Until the model is loaded, a query raises ModelUnavailable with the
    reason `STARTING` at once, and documents wait.
    """

    def __init__(self, model: SharedModel) -> None:
        self.name = model.name
        self.dimensions: int | None = int(parse_name(model.name)["dimensions"])
        self.gives_states = model.name == LOCAL
        self._model = model
        self._pools = {kind: _Pool(asyncio.Semaphore(count)) for kind, count in CONNECTIONS.items()}
        self._warming: asyncio.Task[None] | None = None
        self._is_warm = False

    async def embed(self, texts: Sequence[str], kind: InputType = "document") -> list[EmbeddedText]:
        """Return each text with the states of its word pieces, if the model gives any.

        Raises:
            ModelUnavailable: the process does not answer, or too many requests wait for it. The reason is
                `STARTING` for a query while the model is being loaded.
        """
        if kind == "query" and not self._is_warm:
            self._warm_up()
            raise ModelUnavailable("The embedding model is being loaded.", reason=STARTING)
        made: dict[int, EmbeddedText] = {}
        order = sorted(range(len(texts)), key=lambda at: len(texts[at]))  # texts of like length share a batch
        for start in range(0, len(order), TEXTS_A_REQUEST):
            places = order[start : start + TEXTS_A_REQUEST]
            found = await self._ask([texts[at][:MAX_CHARS] for at in places], kind)
            made.update(zip(places, found, strict=True))
        return [made[at] for at in range(len(texts))]

    async def close(self) -> None:
        """Close the connections. The process ends with the service."""
        if self._warming is not None:
            self._warming.cancel()
            with suppress(asyncio.CancelledError):
                await self._warming
        self._close_idle()

    async def _ask(self, texts: Sequence[str], kind: InputType) -> list[EmbeddedText]:
        async with self._connection(kind) as connection:
            try:
                async with asyncio.timeout(ANSWER_S[kind]):
                    return await connection.ask(pack_request(texts, kind))
            except TimeoutError:
                raise ModelUnavailable(
                    f"The embedding model did not answer within {ANSWER_S[kind]:.0f} s.", reason="timeout"
                ) from None
            except (OSError, EOFError) as error:
                self._is_warm = False
                self._close_idle()  # they lead to the same process
                raise ModelUnavailable(
                    "The process of the embedding model ended before it answered.",
                    reason="model process ended",
                ) from error

    @asynccontextmanager
    async def _connection(self, kind: InputType) -> AsyncIterator[_Connection]:
        """A connection that nobody else uses meanwhile; one that fails is not used again."""
        pool = self._pools[kind]
        if pool.waiting >= MAX_WAITING:
            raise ModelUnavailable("Too many requests wait for the embedding model.", reason="busy")
        pool.waiting += 1
        try:
            await pool.slots.acquire()
        finally:
            pool.waiting -= 1
        try:
            connection = pool.idle.pop() if pool.idle else await self._connect()
            try:
                yield connection
            except BaseException:
                connection.close()
                raise
            pool.idle.append(connection)
        finally:
            pool.slots.release()

    async def _connect(self) -> _Connection:
        """Return a connection to the process once it has loaded the model; start it if it does not run.

        Raises:
            ModelUnavailable: the process ends by itself, or does not load the model in time.
        """
        await asyncio.to_thread(self._model.ensure_running)
        try:
            reader, writer = await asyncio.open_unix_connection(self._model.address)
        except OSError as error:
            raise ModelUnavailable("The embedding model cannot be reached.", reason="no socket") from error
        connection = _Connection(reader, writer)
        try:
            async with asyncio.timeout(START_S):
                while await self._greeting(reader) != HELLO:
                    await asyncio.to_thread(self._model.ensure_running)
        except (TimeoutError, OSError, EOFError) as error:
            connection.close()
            raise ModelUnavailable("The embedding model cannot be loaded.", reason="start failed") from error
        except BaseException:
            connection.close()
            raise
        self._is_warm = True
        return connection

    def _close_idle(self) -> None:
        for pool in self._pools.values():
            while pool.idle:
                pool.idle.pop().close()

    async def _greeting(self, reader: asyncio.StreamReader) -> bytes | None:
        """Return the greeting; None if it has not come for a while."""
        try:
            async with asyncio.timeout(LOOK_EVERY_S):
                return await reader.readexactly(len(HELLO))
        except TimeoutError:
            return None

    def _warm_up(self) -> None:
        if self._warming is None or self._warming.done():
            self._warming = asyncio.create_task(self._keep_one())

    async def _keep_one(self) -> None:
        """Have a connection for queries, once the model is loaded."""
        with suppress(ModelUnavailable):  # the next query tries again
            async with self._connection("query"):
                pass
