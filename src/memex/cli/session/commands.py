"""Commands are made from coroutines: typer reads the options, the coroutine gets a session."""

import inspect
import os
import signal
from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import wraps
from typing import Any, Concatenate, ParamSpec

from memex.cli.options import DemoOptions, Json, TenantOptions, UserOptions
from memex.cli.output import CommandOutput, print_output, report_errors
from memex.cli.session.session import CommandSession, Options
from memex.errors import MemexError

P = ParamSpec("P")


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
    from memex.cli.session.hints import mend_hint, suggest_users
    from memex.cli.session.opening import open_session

    async with open_session(options) as session:
        try:
            shown = await command(session, **given)
        except MemexError as error:
            await mend_hint(session, error)
            raise
        return replace(shown, note=await suggest_users(session)) if shown.is_empty else shown
