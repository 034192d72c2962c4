"""Runs the app under uvicorn, on a socket that is bound already or on dealt connections, until a signal ends it."""

import asyncio
import signal
import socket
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from functools import partial
from types import FrameType
from typing import Any

import uvicorn
from fastapi import FastAPI

from memex.http.app import create_app
from memex.http.loop_watch import watching_loop
from memex.http.protocol import Crowd, HttpLimits, HttpProtocol
from memex.http.workers import WorkerLine
from memex.service import exposition
from memex.service.long_texts import prepare_for_long_texts
from memex.service.service import Service
from memex.settings import Settings
from memex.ui.live_calls import live_calls_of

SHUTDOWN_TIMEOUT_S = 30  # for requests that still run when the end is asked for
LOAD_EVERY_S = 1  # for the sums of `/metrics`


class Server(uvicorn.Server):
    """A uvicorn that says when it takes requests and when it shall end, and leaves the signals to others."""

    def __init__(
        self,
        config: uvicorn.Config,
        on_ready: Callable[[], None],
        on_ending: Callable[[], None],
        line: WorkerLine | None = None,
    ) -> None:
        super().__init__(config)
        self._on_ready = on_ready
        self._on_ending = on_ending
        self._line = line
        self._connecting: set[asyncio.Task[Any]] = set()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to take connections: from a socket, or from the line of a worker."""
        await super().startup(sockets)
        if self._line is not None:
            asyncio.get_running_loop().add_reader(self._line.socket, self._take, self._line)
        self._on_ready()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Take no more connections, and end when the requests under way have ended."""
        if self._line is not None:
            asyncio.get_running_loop().remove_reader(self._line.socket)
        await super().shutdown(sockets)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Begin to end; of the open requests none waits for a model, or for new calls."""
        super().handle_exit(sig, frame)
        self._on_ending()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Do nothing: uvicorn would raise the signals again at its end, in the midst of ours."""
        yield

    def _take(self, line: WorkerLine) -> None:
        """Answer the connections that were dealt to this worker; end if nobody deals any more."""
        loop = asyncio.get_running_loop()
        try:
            for connection in line.receive():
                task = loop.create_task(loop.connect_accepted_socket(self._new_protocol, connection))
                self._connecting.add(task)
                task.add_done_callback(self._connecting.discard)
        except (EOFError, ConnectionError):
            loop.remove_reader(line.socket)
            self.handle_exit(signal.SIGTERM, None)

    def _new_protocol(self) -> asyncio.Protocol:
        new = self.config.http_protocol_class
        return new(config=self.config, server_state=self.server_state, app_state=self.lifespan.state)  # type: ignore[call-arg]  # as uvicorn does


def http_config(
    app: FastAPI,
    limits: HttpLimits = HttpLimits(),  # noqa: B008  # frozen
    health_port: int | None = None,
) -> uvicorn.Config:
    """Return how uvicorn runs the app for clients within limits. The loop is that of the caller."""
    return uvicorn.Config(
        app,
        http=partial(HttpProtocol, limits=limits, crowd=Crowd(health_port)),  # type: ignore[arg-type]  # it is only called
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
    source: socket.socket | WorkerLine,
    on_ready: Callable[[], None],
    ending: Iterable[signal.Signals],
    health: socket.socket | None = None,
) -> None:
    """Answer requests over a service until one of the `ending` signals; those that run then end without a model.

    Connections come from `source`, a bound socket or the line of a worker; those of the socket `health` get the
    health alone. `on_ready` is called when connections are taken.
    """
    is_prepared = False

    async def record_load() -> None:
        nonlocal is_prepared
        exposition.record_load(service)
        if not is_prepared and server.server_state.total_requests:
            is_prepared = True  # after the first answer, which waits for nothing that can come later
            prepare_for_long_texts()

    line = source if isinstance(source, WorkerLine) else None
    limits = HttpLimits(connections=settings.http_connections)
    app = create_app(lambda: nullcontext(service), settings)
    config = http_config(app, limits, health.getsockname()[1] if health else None)
    config.callback_notify, config.timeout_notify = record_load, LOAD_EVERY_S

    def end_waiting() -> None:
        service.cancel_models()
        live_calls_of(app.state, service).end()

    server = Server(config, on_ready, end_waiting, line)
    for number in ending:
        asyncio.get_running_loop().add_signal_handler(number, server.handle_exit, number, None)
    with watching_loop(service.metrics):
        sockets = [] if isinstance(source, WorkerLine) else [source]
        await server.serve(sockets=[*sockets, *([health] if health else [])])
