"""Runs the app under uvicorn, on a socket that is bound already, until a signal ends it."""

import asyncio
import signal
import socket
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext

import uvicorn

from memex.http.app import create_app
from memex.service.service import Service

PATIENCE_S = 30  # for requests that still run when the end is asked for


class Server(uvicorn.Server):
    """A uvicorn that says when it takes requests, and leaves the signals to others."""

    def __init__(self, config: uvicorn.Config, on_ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._on_ready = on_ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to listen."""
        await super().startup(sockets)
        self._on_ready()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Do nothing: uvicorn would raise the signals again at its end, in the midst of ours."""
        yield


async def serve(
    service: Service, listener: socket.socket, on_ready: Callable[[], None], ending: Iterable[signal.Signals]
) -> None:
    """Answer requests over a service until one of the `ending` signals; requests that run then may end."""
    config = uvicorn.Config(
        create_app(lambda: nullcontext(service)),
        log_config=None,
        access_log=False,
        lifespan="on",
        server_header=False,
        timeout_graceful_shutdown=PATIENCE_S,
    )
    server = Server(config, on_ready)
    for number in ending:
        asyncio.get_running_loop().add_signal_handler(number, server.handle_exit, number, None)
    await server.serve(sockets=[listener])
