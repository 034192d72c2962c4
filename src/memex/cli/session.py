"""A service in this process for the time of one command, and commands that run in one."""

import gc
import inspect
import os
import shlex
import signal
from collections.abc import Awaitable, Callable
from dataclasses import asdict, dataclass
from functools import wraps
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

from memex.cli.options import DemoOptions, Json, TenantOptions, UserOptions
from memex.cli.output import Shown, present, program, reporting

if TYPE_CHECKING:
    from memex.service.service import Caller, Service
    from memex.store.access import Access
    from memex.store.database import Connection

P = ParamSpec("P")
T = TypeVar("T")
Options = TenantOptions | UserOptions | DemoOptions
ACTOR = "cli"


@dataclass(frozen=True, slots=True)
class Session:
    """A running service, and for whom the command acts: as an admin, since it has the database itself."""

    service: "Service"
    tenant: str
    user: str | None = None
    project: str | None = None
    tool_call_id: str | None = None

    async def caller(self) -> "Caller":
        """Return who calls; raises as `identity.resolve`."""
        from memex.store import tenants
        from memex.store.identity import Context, Principal

        tenant_id = await tenants.find_tenant(self.service.database, self.tenant)
        context = Context(user_id=self.user, actor=ACTOR, project=self.project, channel="user")
        return await self.service.caller(Principal(tenant_id, "admin"), context)

    async def execute(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """Run a tool and return its result; raises as `Service.execute`."""
        return await self.service.execute(
            await self.caller(), tool, arguments, tool_call_id=self.tool_call_id
        )

    def command(self, *words: str) -> str:
        """Return the line that runs another command for the same tenant and user, for a shell."""
        given, default = {"tenant": self.tenant, "user": self.user}, UserOptions()
        options = [
            option
            for name, value in given.items()
            if value is not None and value != getattr(default, name)
            for option in (f"--{name}", value)
        ]
        return shlex.join([program(), *words, *options])

    async def administer(
        self,
        action: str,
        arguments: dict[str, Any],
        work: "Callable[[Connection, Access], Awaitable[T]]",
    ) -> T:
        """Do an admin's work on the tenant; raises as `Service.administer`."""
        return await self.service.administer(await self.caller(), action, arguments, work)


def for_user(command: Callable[Concatenate[Session, P], Awaitable[Shown]]) -> Callable[..., None]:
    """Make a command of a coroutine that acts for a user: its parameters, `UserOptions` and `--json`."""
    return _command(command, UserOptions)


def for_tenant(command: Callable[Concatenate[Session, P], Awaitable[Shown]]) -> Callable[..., None]:
    """Make a command of a coroutine that works for a tenant: its parameters, `TenantOptions` and `--json`."""
    return _command(command, TenantOptions)


def for_demo(command: Callable[Concatenate[Session, P], Awaitable[Shown]]) -> Callable[..., None]:
    """Make a command of a coroutine that acts for the demo's user: its parameters, `DemoOptions` and `--json`."""
    return _command(command, DemoOptions)


def _command(
    command: Callable[Concatenate[Session, P], Awaitable[Shown]], kind: type[Options]
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

        # At once and without a word, where asyncio would wait for the end of a read from a terminal. Nothing is
        # left half: the database drops an open transaction, and the share of the server ends with the process.
        signal.signal(signal.SIGINT, lambda *_: os._exit(128 + signal.SIGINT))
        as_json = given.pop("as_json")
        options = kind(**{parameter.name: given.pop(parameter.name) for parameter in shared})
        with reporting(as_json=as_json):
            shown = asyncio.run(_in_session(command, options, given))
        present(shown, as_json=as_json)

    # What typer reads to know the options.
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return run


async def _in_session(
    command: Callable[..., Awaitable[Shown]], options: Options, given: dict[str, Any]
) -> Shown:
    from memex import logging, postgres
    from memex.settings import read_settings

    settings = read_settings()
    logging.configure(settings.log_level)
    started = postgres.start_in_background(settings)
    from memex.wiring import running_service  # loads while the database starts

    gc.enable()
    async with running_service(settings, started=started) as service:
        return await command(Session(service, **asdict(options)), **given)
