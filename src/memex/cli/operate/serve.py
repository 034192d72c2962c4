"""`memex serve`: the service over HTTP."""

import os
import shlex
import signal
import socket
import sys
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from memex.cli.loading import load_structlog
from memex.cli.options import Json
from memex.cli.output import Screen, program_name, report_errors, to_json
from memex.cli.session.session import check_local
from memex.errors import ValidationFailed

if TYPE_CHECKING:
    from memex.settings import Settings
    from memex.store.identity.tenants import FirstKeys

MAX_DEFAULT_WORKERS = 4
MIN_USER_CONCURRENCY = 3
ANY_ADDRESS = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}  # noqa: S104  # how to reach what listens everywhere


def serve(
    host: Annotated[
        str | None, typer.Option(help="The host name or IP address to listen on; 127.0.0.1 by default.")
    ] = None,
    port: Annotated[
        int | None,
        typer.Option(
            min=0, max=65_535, help="The port to listen on; 8630 by default, 0 chooses a free port."
        ),
    ] = None,
    data_dir: Annotated[
        Path | None,
        typer.Option(help="The data folder of the embedded Postgres, which runs if DATABASE_URL is not set."),
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=64,
            help="The number of processes that answer; by default that of the cores, at most 4.",
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Start the HTTP service.

    It runs until SIGTERM or Ctrl-C. The first start creates an agent key and an administrator's key, and prints
    both keys once.
    """
    with report_errors(as_json=as_json):
        _serve({"host": host, "port": port, "data_dir": data_dir, "workers": workers}, as_json=as_json)


@dataclass(frozen=True, slots=True)
class StartupReport:
    """The facts to print once the service accepts requests. Keys are None unless this start made them."""

    url: str
    data_dir: Path | None
    agent_key: str | None
    admin_key: str | None
    sign_in_link: str | None = None
    planner: str = ""

    @property
    def document(self) -> dict[str, Any]:
        """The one line of JSON for scripts, which need no sign-in link."""
        keys = {"agent_key": self.agent_key, "admin_key": self.admin_key}
        return {
            "url": self.url,
            "data_dir": str(self.data_dir) if self.data_dir else None,
            **{name: key for name, key in keys.items() if key},
        }


def _serve(options: dict[str, Any], *, as_json: bool) -> None:
    load_structlog()
    from memex import logging
    from memex.cli.operate.service_run import ENDING, data_dir_of, run_alone, run_workers
    from memex.settings import read_settings

    for number in ENDING:
        signal.signal(number, lambda *_: sys.exit(0))
    settings = read_settings().model_copy(
        update={name: value for name, value in options.items() if value is not None}
    )
    check_local(settings)
    workers = count_workers(settings)
    log = logging.HeldLines(sys.stderr)
    logging.configure(settings.log_level, log)
    try:
        with ExitStack() as held:
            listener = held.enter_context(listen(settings.host, settings.port))
            health = settings.health_port and held.enter_context(listen(settings.host, settings.health_port))

            def announce(keys: "FirstKeys | None", link: str | None) -> None:
                from memex.service.identity.sessions import LINK_PATH  # loaded by now

                url = _url(listener)
                ready = StartupReport(
                    url=url,
                    data_dir=data_dir_of(settings),
                    agent_key=keys.agent if keys else None,
                    admin_key=keys.admin if keys else None,
                    sign_in_link=url + LINK_PATH + link if link else None,
                    planner=name_planners(settings),
                )
                _announce(ready, as_json=as_json)
                log.release()

            # What a terminal shows is read by a person. A pipe, a journal and the log of a container are kept.
            with_link = sys.stdout.isatty() and sys.stdin.isatty() and not as_json
            settings = settings.model_copy(update={"user_concurrency": user_concurrency(settings, workers)})
            if workers == 1:
                run_alone(settings, listener, announce, health=health or None, with_link=with_link)
            else:
                run_workers(settings, workers, listener, announce, health=health or None, with_link=with_link)
    finally:
        log.release()


def count_workers(settings: "Settings") -> int:
    """Return how many processes shall answer: by default one for each core that this process may use, at most 4.

    Raises:
        ValidationFailed: there are more workers than connections to the database.
    """
    if settings.workers is None:
        return min(_count_cores(), MAX_DEFAULT_WORKERS, settings.max_connections)
    if settings.workers > settings.max_connections:
        raise ValidationFailed(
            f"MEMEX_WORKERS: {settings.workers} workers cannot share {settings.max_connections} connections to the "
            "database, because each one needs its own.",
            hint="Raise MEMEX_MAX_CONNECTIONS, or have fewer workers.",
        )
    return settings.workers


def user_concurrency(settings: "Settings", workers: int) -> int:
    """Return how many connections of a worker one user may use: by default, enough to keep all cores busy.

    With more, one user's calls would share the processors with another user's without being answered any sooner.
    """
    most = max(1, settings.max_connections // workers - 1)
    return settings.user_concurrency or min(most, max(MIN_USER_CONCURRENCY, 2 * _count_cores() // workers))


def _count_cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def name_planners(settings: "Settings") -> str:
    """Return who plans contexts and who plans what to remember, by the settings."""
    context = settings.context_model or settings.model
    remember = settings.remember_model or settings.model
    return context if context == remember else f"context {context}, remember {remember}"


def _announce(ready: StartupReport, *, as_json: bool) -> None:
    if as_json:
        print(to_json(ready.document), flush=True)  # noqa: T201
    else:
        _welcome(Screen(sys.stdout), ready)
        sys.stdout.flush()


def listen(host: str, port: int) -> socket.socket:
    """Return a bound socket, so that a port in use is reported before anything starts.

    Raises:
        ValidationFailed: the address cannot be used.
    """
    listener = None
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        listener = socket.socket(family, kind, protocol)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
    except OSError as error:
        if listener is not None:
            listener.close()
        raise ValidationFailed(
            f"Cannot listen on {host}:{port}: {error.strerror}.",
            hint="Choose another port with --port (0 chooses a free port), or stop the program on this port.",
        ) from error
    return listener


def _url(listener: socket.socket) -> str:
    host, port = listener.getsockname()[:2]
    shown = f"[{host}]" if ":" in host else host
    return f"http://{ANY_ADDRESS.get(host, shown)}:{port}"


def _welcome(screen: Screen, ready: StartupReport) -> None:
    heading = "bold"
    screen.line()
    screen.line(("Memex", "bold green"), " answers at ", (ready.url, "bold"))
    screen.line("  data     ", str(ready.data_dir) if ready.data_dir else "the Postgres of DATABASE_URL")
    screen.line("  planner  ", ready.planner)
    screen.line("  pages    ", f"{ready.url}/ui")
    screen.line("  docs     ", f"{ready.url}/docs")
    screen.line()
    if ready.sign_in_link:
        screen.line(
            ("Sign in", heading), " to the pages once, within 10 minutes; `memex ui` makes another link:"
        )
        screen.line("  ", (ready.sign_in_link, "yellow"))
        screen.line()
    if ready.agent_key and ready.admin_key:
        screen.line(("Keys", heading), " of this memory, shown this once:")
        screen.line("  agent  ", (ready.agent_key, "yellow"))
        screen.line("  admin  ", (ready.admin_key, "yellow"))
        key = ready.agent_key
    else:
        screen.line(("Keys", heading), " were made before and cannot be shown again; this makes one more:")
        screen.line(f"  MEMEX_API_KEY=$({_command(ready)} keys create --role agent)")
        key = "$MEMEX_API_KEY"
    screen.line()
    screen.line(("Remember", heading), " something:")
    screen.line(_curl(ready.url, key, "memory_remember", '{"text": "I prefer oolong tea over coffee."}'))
    screen.line()
    screen.line(("Recall", heading), " it as context:")
    screen.line(_curl(ready.url, key, "memory_context", '{"query": "Which tea do I prefer?"}'))
    screen.line()
    screen.line(("Ctrl-C ends it; the data stays.", "dim"))


def _curl(url: str, key: str, tool: str, arguments: str) -> str:
    return (
        f"  curl -sS {url}/v1/tools/{tool}/execute \\\n"
        f'    -H "Authorization: Bearer {key}" -H "Content-Type: application/json" \\\n'
        f'    -d \'{{"context": {{"userId": "me"}}, "arguments": {arguments}}}\''
    )


def _command(ready: StartupReport) -> str:
    """Return the shell command that runs this program on the same data."""
    memex = shlex.quote(program_name())
    return f"MEMEX_DATA_DIR={shlex.quote(str(ready.data_dir))} {memex}" if ready.data_dir else memex
