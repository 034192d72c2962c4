"""`memex sql`, `query` and `schema`: questions in SQL, for whoever holds the login of the database."""

import asyncio
import csv
import io
import json
import sys
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from memex.cli.output import Column, CommandOutput, Screen, format_count
from memex.cli.session.commands import user_command
from memex.cli.session.session import CommandSession
from memex.errors import MemexError

if TYPE_CHECKING:
    from memex.store.browse.raw_query import RawResult

PROMPT = "memex> "
END = ("exit", "quit", r"\q")


TableFormat = Literal["table", "json", "csv"]
FormatOption = Annotated[TableFormat, typer.Option("--format", help="How to print the rows.")]


@user_command
async def schema(session: CommandSession) -> CommandOutput:
    """Show the views that `memex sql query` may name, with their columns."""
    from memex.store.browse.raw_query import list_columns

    service, caller = await session.local.caller(session.context)
    columns = await list_columns(service.database, caller.access)
    views: dict[str, dict[str, str]] = {}
    for column in columns:
        views.setdefault(column.view, {})[column.name] = column.kind

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
    """Ask in SQL again and again; an empty line does nothing, and exit ends."""
    screen, asked = Screen(sys.stdout), 0
    while True:
        try:
            line = await asyncio.to_thread(input, PROMPT if sys.stdin.isatty() else "")
        except EOFError:
            break
        statement = line.strip().rstrip(";")
        if statement in END:
            break
        if not statement:
            continue
        asked += 1
        try:
            _show(screen, await _run(session, statement), "table")
        except MemexError as error:
            screen.line(("error ", "red"), error.message)
    return CommandOutput({"asked": asked}, lambda _: None)


async def _run(session: CommandSession, statement: str) -> "RawResult":
    from memex.service.vaults import raw_query

    service, caller = await session.local.caller(session.context)
    return await raw_query.query(service, caller, statement, tool_call_id=session.context.tool_call_id)


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
