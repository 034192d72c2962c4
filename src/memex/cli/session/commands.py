"""Commands are made from functions: typer reads the options; who asks a Memex is a coroutine with a session."""

import inspect
import os
import signal
from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager
from dataclasses import is_dataclass, replace
from functools import partial, wraps
from typing import Any, Concatenate, ParamSpec

from memex.cli.options import DemoOptions, Json, TenantOptions, UserOptions
from memex.cli.output import CommandOutput, print_output, report_errors
from memex.cli.session.session import CommandSession, Options
from memex.errors import MemexError

P = ParamSpec("P")


def plain_command(
    command: Callable[P, CommandOutput],
    reporting: Callable[..., AbstractContextManager[None]] = report_errors,
) -> Callable[..., None]:
    """Make a command from a function without a session: its parameters, and `--json`, which it may take itself."""
    parameters = inspect.signature(command).parameters
    return with_options(command, list({**parameters, "as_json": JSON}.values()), reporting)


def with_options(
    command: Callable[..., CommandOutput],
    parameters: list[inspect.Parameter],
    reporting: Callable[..., AbstractContextManager[None]] = report_errors,
) -> Callable[..., None]:
    """Make a command that prints what a function returns, and its errors.

    Args:
        command: takes `as_json` only if it has a parameter of this name.
        parameters: those of the command. One whose annotation is a dataclass stands for the fields of this class.
        reporting: prints an error, and exits.
    """
    groups: dict[str, Any] = {
        parameter.name: parameter.annotation for parameter in parameters if is_dataclass(parameter.annotation)
    }
    fields = {name: list(inspect.signature(kind).parameters.values()) for name, kind in groups.items()}
    shown = [
        field.replace(kind=inspect.Parameter.KEYWORD_ONLY)
        for parameter in parameters
        for field in fields.get(parameter.name, [parameter])
    ]
    takes_json = "as_json" in inspect.signature(command).parameters

    @wraps(command)
    def run(**given: Any) -> None:
        as_json = given["as_json"] if takes_json else given.pop("as_json")
        for name, kind in groups.items():
            given[name] = kind(**{field.name: given.pop(field.name) for field in fields[name]})
        with reporting(as_json=as_json):
            output = command(**given)
        print_output(output, as_json=as_json)

    # typer reads the options from these.
    run.__signature__ = inspect.Signature(shown)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in shown}
    return run


JSON = inspect.Parameter("as_json", inspect.Parameter.KEYWORD_ONLY, default=False, annotation=Json)


def exit_at_interrupt() -> None:
    """Exit at once and silently at Ctrl-C; asyncio would wait for the end of a read from a terminal.

    Nothing is left half done: the database rolls back an open transaction, and the lease on the server ends with
    the process.
    """
    signal.signal(signal.SIGINT, lambda *_: os._exit(128 + signal.SIGINT))


async def in_session(
    command: Callable[..., Awaitable[CommandOutput]], options: Options, given: dict[str, Any]
) -> CommandOutput:
    """Return the output of a command in a session, which is opened for it."""
    from memex.cli.session.opening import open_session

    async with open_session(options) as session:
        try:
            shown = await command(session, **given)
        except MemexError as error:
            from memex.cli.session.wording import put_in_words

            await put_in_words(session, error)
            raise
        if shown.is_empty:
            from memex.cli.session.near_users import suggest_users

            shown = replace(shown, note=await suggest_users(session))
        return shown


def _session_command(
    command: Callable[Concatenate[CommandSession, P], Awaitable[CommandOutput]], kind: type[Options]
) -> Callable[..., None]:
    """Make a command from a coroutine with a session: its parameters, the options of `kind`, and `--json`."""
    own = list(inspect.signature(command).parameters.values())[1:]
    acting = inspect.Parameter("acting", inspect.Parameter.KEYWORD_ONLY, annotation=kind)

    @wraps(command)
    def run(acting: Options, **given: Any) -> CommandOutput:
        import asyncio

        exit_at_interrupt()
        return asyncio.run(in_session(command, acting, given))

    return with_options(run, [*own, JSON, acting])


# What acts for a user, works on a tenant, and acts for the demo user.
user_command = partial(_session_command, kind=UserOptions)
tenant_command = partial(_session_command, kind=TenantOptions)
demo_command = partial(_session_command, kind=DemoOptions)
