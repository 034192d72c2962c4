"""What a command may ask of Memex, in this process or over HTTP, and how commands are made from coroutines."""

import inspect
import os
import shlex
import signal
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, Concatenate, Literal, ParamSpec, Self

from memex.cli.options import DemoOptions, Json, TenantOptions, UserOptions
from memex.cli.output import CommandOutput, print_output, program_name, report_errors
from memex.errors import ValidationFailed

if TYPE_CHECKING:
    from memex.service.log.replay.bundle import Bundle
    from memex.service.log.replay.counterfactual import ChangedResult, ReplayChange
    from memex.service.log.replay.replay import ReplayResult
    from memex.service.service import Caller, Service
    from memex.service.tools.transfer import Progress, Writer
    from memex.settings import Settings
    from memex.subagent.planner import Planner

P = ParamSpec("P")
Document = dict[str, Any]  # of JSON
Options = TenantOptions | UserOptions | DemoOptions
ReplayableKind = Literal["context", "remember", "reads", "all"]
ACTOR = "cli"
LOCAL_HINT = "Run the command where the service runs, or unset MEMEX_URL to use the database of this machine."


@dataclass(frozen=True, slots=True)
class CommandSession(ABC):
    """What a command may ask, and for whom. Answers are the JSON of the API; all methods raise MemexError.

    Attributes:
        tenant: the name of the tenant.
        user: the user whose memory it is; None for no user, or for the user of the key.
        project: the project that the work belongs to.
        tool_call_id: the id under which the call is logged.
    """

    tenant: str
    user: str | None = None
    project: str | None = None
    tool_call_id: str | None = None

    def of(self, user: str | None) -> Self:
        """Return the same session for another user, or for none."""
        return replace(self, user=user)

    def command(self, *words: str) -> str:
        """Return the shell line that runs another command for the same tenant and user."""
        given, default = {"tenant": self.tenant, "user": self.user}, UserOptions()
        options = [
            option
            for name, value in given.items()
            if value is not None and value != getattr(default, name)
            for option in (f"--{name}", value)
        ]
        return shlex.join([program_name(), *words, *options])

    @property
    def service(self) -> "Service":
        """The service in this process; raises ValidationFailed if there is none."""
        raise not_over_http()

    async def caller(self) -> "Caller":
        """Return the caller of the service in this process; raises ValidationFailed if there is none."""
        raise not_over_http()

    @abstractmethod
    async def execute(self, tool: str, **arguments: Any) -> Document:
        """Run a tool."""

    @abstractmethod
    async def revert(self, call: str, *, reason: str | None) -> Document:
        """Undo what a call wrote."""

    @abstractmethod
    async def operations(self, *, limit: int, cursor: str | None = None) -> Document:
        """Return calls, the newest first."""

    @abstractmethod
    async def operation(self, call: str) -> list[Document]:
        """Return the attempts at a call."""

    @abstractmethod
    async def catalogue(self, *, max_chars: int) -> str:
        """Return a line for each file."""

    @abstractmethod
    async def languages(self) -> dict[str, str]:
        """Return in which language each mount is searched."""

    @abstractmethod
    async def prompt_block(self, *, budget: int | None) -> Document:
        """Return the text for a system prompt."""

    @abstractmethod
    async def blame(self, path: str, version: int | None) -> Document:
        """Return who wrote each line."""

    @abstractmethod
    async def calls_that_saw(self, path: str, version: int, *, limit: int, cursor: str | None) -> Document:
        """Return the calls that saw a version of a file."""

    @abstractmethod
    async def revisions_seen(self, call: str) -> Document:
        """Return what a call saw."""

    @abstractmethod
    async def queue(self, *, limit: int, cursor: str | None) -> Document:
        """Return the calls of the queue."""

    @abstractmethod
    async def retry(self, call: str) -> Document:
        """Put a failed call back into the queue."""

    @abstractmethod
    async def replayable(
        self, *, which: ReplayableKind, since: datetime | None, only_degraded: bool, limit: int
    ) -> Sequence[str]:
        """Return the ids of the calls that can be replayed."""

    @abstractmethod
    async def replay(self, call: str) -> "ReplayResult":
        """Run a call again, unchanged."""

    @abstractmethod
    async def replay_changed(
        self, call: str, change: "ReplayChange", planner: "Planner | None" = None
    ) -> "ChangedResult":
        """Run a call again with a change; `planner` is the planner with a live model, if there is one."""

    @abstractmethod
    async def import_vault(
        self, source: Path, *, into: str | None, dry_run: bool, progress: "Progress"
    ) -> Document:
        """Write the files of a folder or a zip."""

    @abstractmethod
    async def export_files(self, writer: "Writer", *, source: str | None, progress: "Progress") -> Document:
        """Write all files, or those below a folder, and close the writer."""

    @abstractmethod
    async def export_call(self, call: str) -> "Bundle":
        """Return a call with everything that its replay needs."""

    @abstractmethod
    async def spending(self, *, days: int) -> Document:
        """Return the tokens and costs of models."""

    @abstractmethod
    async def list_projects(self) -> Document:
        """Return the open projects."""

    @abstractmethod
    async def open_project(self, slug: str) -> Document:
        """Create a project, or reopen it."""

    @abstractmethod
    async def close_project(self, slug: str) -> Document:
        """Close a project."""

    @abstractmethod
    async def set_member(self, slug: str, user: str, *, member: bool) -> Document:
        """Add a user to the members of a project, or remove the user."""

    @abstractmethod
    async def create_key(
        self, role: Literal["agent", "admin"], user: str | None, label: str | None
    ) -> Document:
        """Make a key."""

    @abstractmethod
    async def list_keys(self) -> Document:
        """Return the keys."""

    @abstractmethod
    async def revoke_key(self, key: int) -> Document:
        """Revoke a key."""


def not_over_http() -> ValidationFailed:
    """Return the error for a command that needs the database itself."""
    return ValidationFailed(
        "This command needs the database, but MEMEX_URL names a service.", hint=LOCAL_HINT
    )


def check_local(settings: "Settings") -> None:
    """Raise ValidationFailed if MEMEX_URL is set, for a command that needs the database itself."""
    if settings.url is not None:
        raise not_over_http()


def user_command(
    command: Callable[Concatenate[CommandSession, P], Awaitable[CommandOutput]],
) -> Callable[..., None]:
    """Make a command from a coroutine that acts for a user: its parameters, `UserOptions` and `--json`."""
    return _command(command, UserOptions)


def tenant_command(
    command: Callable[Concatenate[CommandSession, P], Awaitable[CommandOutput]],
) -> Callable[..., None]:
    """Make a command from a coroutine that works on a tenant: its parameters, `TenantOptions` and `--json`."""
    return _command(command, TenantOptions)


def demo_command(
    command: Callable[Concatenate[CommandSession, P], Awaitable[CommandOutput]],
) -> Callable[..., None]:
    """Make a command from a coroutine that acts for the demo user: its parameters, `DemoOptions` and `--json`."""
    return _command(command, DemoOptions)


def _command(
    command: Callable[Concatenate[CommandSession, P], Awaitable[CommandOutput]], kind: type[Options]
) -> Callable[..., None]:
    own = list(inspect.signature(command).parameters.values())[1:]
    shared = list(inspect.signature(kind).parameters.values())
    json = inspect.Parameter("as_json", inspect.Parameter.KEYWORD_ONLY, default=False, annotation=Json)
    parameters = [
        parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in (*own, json, *shared)
    ]

    @wraps(command)
    def run(**given: Any) -> None:
        import asyncio

        # Exit at once and silently; asyncio would wait for the end of a read from a terminal. Nothing is left half
        # done: the database rolls back an open transaction, and the lease on the server ends with the process.
        signal.signal(signal.SIGINT, lambda *_: os._exit(128 + signal.SIGINT))
        as_json = given.pop("as_json")
        options = kind(**{parameter.name: given.pop(parameter.name) for parameter in shared})
        with report_errors(as_json=as_json):
            shown = asyncio.run(_in_session(command, options, given))
        print_output(shown, as_json=as_json)

    # typer reads the options from these.
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return run


async def _in_session(
    command: Callable[..., Awaitable[CommandOutput]], options: Options, given: dict[str, Any]
) -> CommandOutput:
    async with _session(options) as session:
        return await command(session, **given)


@asynccontextmanager
async def _session(options: Options) -> AsyncIterator[CommandSession]:
    from memex.settings import read_settings

    settings = read_settings()
    if settings.url is not None:
        from memex.cli.session.over_http import remote_session

        async with remote_session(settings, options) as session:
            yield session
    else:
        from memex.cli.session.local import local_session

        async with local_session(settings, options) as session:
            yield session
