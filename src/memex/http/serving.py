"""Runs the app under uvicorn, on a socket that is bound already, until a signal ends it."""

import socket
from collections.abc import Callable
from contextlib import nullcontext

import uvicorn

from memex.http.app import create_app
from memex.service.service import Service

PATIENCE_S = 30  # for requests that still run when the end is asked for


class Server(uvicorn.Server):
    """A uvicorn that says when it takes requests."""

    def __init__(self, config: uvicorn.Config, on_ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._on_ready = on_ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to listen."""
        await super().startup(sockets)
        self._on_ready()


async def serve(service: Service, listener: socket.socket, on_ready: Callable[[], None]) -> None:
    """Answer requests over a service until SIGTERM or SIGINT; requests that run then may end.

    The signal is raised again at the end, for whoever handled it before.
    """
    config = uvicorn.Config(
        create_app(lambda: nullcontext(service)),
        log_config=None,
        access_log=False,
        lifespan="on",
        server_header=False,
        timeout_graceful_shutdown=PATIENCE_S,
    )
    await Server(config, on_ready).serve(sockets=[listener])
