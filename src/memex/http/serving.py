"""Runs the app under uvicorn, on a socket that is bound already, until a signal ends it."""

import asyncio
import signal
import socket
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from types import FrameType

import uvicorn
from fastapi import FastAPI

from memex.http.app import create_app
from memex.http.protocol import HttpProtocol
from memex.service.service import Service
from memex.settings import Settings

SHUTDOWN_TIMEOUT_S = 30  # for requests that still run when the end is asked for


class Server(uvicorn.Server):
    """A uvicorn that says when it takes requests and when it shall end, and leaves the signals to others."""

    def __init__(
        self, config: uvicorn.Config, on_ready: Callable[[], None], on_ending: Callable[[], None]
    ) -> None:
        super().__init__(config)
        self._on_ready = on_ready
        self._on_ending = on_ending

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to listen."""
        await super().startup(sockets)
        self._on_ready()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Begin to end; of the open requests none waits for a model."""
        super().handle_exit(sig, frame)
        self._on_ending()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Do nothing: uvicorn would raise the signals again at its end, in the midst of ours."""
        yield


def http_config(app: FastAPI) -> uvicorn.Config:
    """Return how uvicorn runs the app. The loop is that of the caller."""
    return uvicorn.Config(
        app,
        http=HttpProtocol,
        ws="none",
        log_config=None,
        access_log=False,
        lifespan="on",
        server_header=False,
        timeout_graceful_shutdown=SHUTDOWN_TIMEOUT_S,
    )


async def serve(
    service: Service,
    settings: Settings,
    listener: socket.socket,
    on_ready: Callable[[], None],
    ending: Iterable[signal.Signals],
) -> None:
    """Answer requests over a service until one of the `ending` signals; those that run then end without a model."""
    config = http_config(create_app(lambda: nullcontext(service), settings))
    server = Server(config, on_ready, service.cancel_models)
    for number in ending:
        asyncio.get_running_loop().add_signal_handler(number, server.handle_exit, number, None)
    await server.serve(sockets=[listener])
