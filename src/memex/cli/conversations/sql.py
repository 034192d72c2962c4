"""`memex sql`, `query` and `schema`: questions in SQL, for whoever holds the login of the database."""

import asyncio
import csv
import io
import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from memex.cli.output import Column, CommandOutput, Screen, format_count
from memex.cli.session.commands import user_command
from memex.cli.session.session import CommandSession
from memex.errors import MemexError, ValidationFailed
from memex.homes import state_home

if TYPE_CHECKING:
    from memex.store.browse.raw_query import RawResult

PROMPT, GOES_ON = "memex> ", "    -> "
DESCRIBE = r"\d"
MAX_HISTORY = 1_000
END = ("exit", "quit", r"\q")


TableFormat = Literal["table", "json", "csv"]
FormatOption = Annotated[TableFormat, typer.Option("--format", help="How to print the rows.")]


@user_command
async def schema(session: CommandSession) -> CommandOutput:
    """Show the views that `memex sql query` may name, with their columns."""
    views = await _views(session)

    def show(screen: Screen) -> None:
        for view, named in views.items():
            screen.line((view, "bold"))
            screen.line("  " + ", ".join(f"{name} {kind}" for name, kind in named.items()))

    return CommandOutput(views, show)


@user_command
async def query(
    session: CommandSession,
    statement: Annotated[
        str, typer.Argument(metavar="SQL", help="One SELECT over the views of `memex sql schema`.")
    ],
    output_format: FormatOption = "table",
) -> CommandOutput:
    """Ask in SQL what is stored for the user: it only reads, for at most 30 seconds and 10,000 rows.

    This is for whoever holds the login of the database. It guards against accidents, and is no border.
    """
    found = await _run(session, statement)
    document = {"columns": list(found.columns), "rows": _plain(found), "is_cut": found.is_cut}
    return CommandOutput(document, lambda screen: _show(screen, found, output_format))


@user_command
async def sql(session: CommandSession) -> CommandOutput:
    r"""Ask in SQL again and again. On a terminal a statement ends at `;`, and there is a history.

    `\\d` lists the views, `\\d VIEW` its columns, and `\\q` or exit ends.
    """
    screen, asked, is_terminal = Screen(sys.stdout), 0, sys.stdin.isatty()
    with _history(is_terminal=is_terminal) as remember:
        while (statement := await _statement(is_terminal=is_terminal)) is not None:
            if statement in END:
                break
            if not statement:
                continue
            asked += 1
            remember(statement if statement.startswith("\\") else f"{statement};")
            try:
                if statement.split()[0] == DESCRIBE:
                    await _describe(screen, session, statement.removeprefix(DESCRIBE).strip())
                else:
                    _show(screen, await _run(session, statement), "table")
            except MemexError as error:
                screen.line(("error ", "red"), error.message)
                screen.line((error.hint, "dim"))
    return CommandOutput({"asked": asked}, lambda _: None)


async def _statement(*, is_terminal: bool) -> str | None:
    """Return the next statement: of a terminal up to `;`, of a pipe a line; None at the end."""
    lines: list[str] = []
    while True:
        try:
            prompt = (GOES_ON if lines else PROMPT) if is_terminal else ""
            line = (await asyncio.to_thread(input, prompt)).strip()
        except EOFError:
            return " ".join(lines) or None
        lines.append(line)
        said = " ".join(lines).strip()
        if not is_terminal or not said or said.endswith(";") or said.startswith("\\") or said in END:
            return said.rstrip(";").strip()


@contextmanager
def _history(*, is_terminal: bool) -> Iterator[Callable[[str], None]]:
    """Give a terminal line editing, and a history that only the user can read; what is called remembers a line."""
    if not is_terminal or find_spec("readline") is None:  # as on Windows
        yield lambda _: None
        return
    import readline

    file = state_home() / "memex" / "sql-history"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.touch(mode=0o600)
    readline.set_auto_history(False)
    readline.set_history_length(MAX_HISTORY)
    with suppress(OSError):
        readline.read_history_file(file)
    try:
        yield readline.add_history
    finally:
        with suppress(OSError):
            readline.write_history_file(file)


async def _describe(screen: Screen, session: CommandSession, name: str) -> None:
    """Print the views, or the columns of one."""
    views = await _views(session)
    if name and name not in views:
        raise ValidationFailed(f"There is no view {name[:100]!r}.", hint=_names(views))
    for view in [name] if name else views:
        screen.line((view, "bold"))
        screen.line("  " + ", ".join(f"{column} {kind}" for column, kind in views[view].items()))


async def _views(session: CommandSession) -> dict[str, dict[str, str]]:
    """Return the views with their columns and their types."""
    from memex.store.browse.raw_query import list_columns

    service, caller = await session.local.caller(session.context)
    views: dict[str, dict[str, str]] = {}
    for column in await list_columns(service.database, caller.access):
        views.setdefault(column.view, {})[column.name] = column.kind
    return views


def _names(views: dict[str, dict[str, str]]) -> str:
    return f"The views are: {', '.join(views)}."


async def _run(session: CommandSession, statement: str) -> "RawResult":
    from memex.service.vaults import raw_query

    service, caller = await session.local.caller(session.context)
    try:
        return await raw_query.query(service, caller, statement, tool_call_id=session.context.tool_call_id)
    except ValidationFailed as error:
        if "does not exist" in error.message:
            error.hint = f"{error.hint} {_names(await _views(session))}"
        raise


def _plain(found: "RawResult") -> list[list[Any]]:
    return [[_cell(value) for value in record] for record in found.rows]


def _cell(value: Any) -> Any:
    return value if value is None or isinstance(value, str | int | float | bool | list | dict) else str(value)


def _show(screen: Screen, found: "RawResult", wanted: TableFormat) -> None:
    if wanted == "json":
        screen.json([dict(zip(found.columns, record, strict=True)) for record in _plain(found)])
        return
    if wanted == "csv":
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(found.columns)
        writer.writerows(_plain(found))
        screen.text(text.getvalue())
        return
    columns = [Column(name, cut=True) for name in found.columns]
    screen.table(columns, [[_shown(value) for value in record] for record in _plain(found)])
    counted = format_count(len(found.rows), "row")
    more = "; there are more, which are not shown" if found.is_cut else ""
    Screen(sys.stderr).line((f"{counted}{more}", "dim"))


def _shown(value: Any) -> str:
    if value is None:
        return ""
    return (
        json.dumps(value, ensure_ascii=False, default=str) if isinstance(value, list | dict) else str(value)
    )
