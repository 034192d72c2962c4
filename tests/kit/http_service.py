"""A Memex over real HTTP, in a thread of the tests' own process."""

import asyncio
import socket
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

import uvicorn
from fastapi import FastAPI

from memex.http.app import create_app
from memex.http.protocol import HttpLimits
from memex.http.serving import http_config
from memex.service.identity.rate_limits import rate_limits
from memex.service.service import Service
from memex.service.tools.registry import new_metrics
from memex.settings import Settings
from memex.store.database import Database

T = TypeVar("T")


@dataclass
class Served:
    """A Memex that answers on a port of this machine; its service lives in the loop of another thread."""

    url: str
    app: FastAPI
    ready: threading.Event = field(default_factory=threading.Event)
    loop: asyncio.AbstractEventLoop | None = None
    service: Service | None = None

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine in the server's loop and return its result."""
        assert self.loop is not None
        return asyncio.run_coroutine_threadsafe(work, self.loop).result(timeout=180)


@contextmanager
def serving_http(
    conninfo: str,
    *,
    wrap: Callable[[Service], Any] = lambda service: service,
    limits: HttpLimits = HttpLimits(),  # noqa: B008  # frozen
    settings: Settings | None = None,
) -> Iterator[Served]:
    """Serve the database of a conninfo on a free port, from a thread of its own; `wrap` changes the service."""
    known = settings or Settings.model_construct()
    # The protocol is named because asyncio sets TCP_NODELAY only on a socket that knows to be TCP's.
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.bind(("127.0.0.1", 0))
    listener.listen(256)

    @asynccontextmanager
    async def open_service() -> AsyncIterator[Service]:
        database = await Database.open(conninfo, max_connections=10)
        try:
            limits_set = rate_limits(known, None, metrics := new_metrics())
            made = Service(database, max_files=10_000, metrics=metrics, rate_limits=limits_set)
            served.service = wrap(made)
            served.loop = asyncio.get_running_loop()
            served.ready.set()
            assert served.service is not None
            yield served.service
        finally:
            await database.close()

    served = Served(f"http://127.0.0.1:{listener.getsockname()[1]}", create_app(open_service, settings))
    server = uvicorn.Server(http_config(served.app, limits))
    thread = threading.Thread(target=lambda: asyncio.run(server.serve(sockets=[listener])), daemon=True)
    thread.start()
    assert served.ready.wait(30), "the service did not start"
    try:
        yield served
    finally:
        server.should_exit = True
        thread.join(30)
        listener.close()
    assert not thread.is_alive(), "the service did not end"
