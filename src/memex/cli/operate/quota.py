"""`memex service quota`: how much is stored, and how much may be."""

from collections.abc import Callable
from functools import partial
from typing import Annotated, Any, Literal

import typer

from memex.cli.output import Column, CommandOutput, Screen
from memex.cli.session.commands import tenant_command
from memex.cli.session.session import CommandSession
from memex.service.health.sizes import format_size

MEASURES = ("files", "bytes", "revisions", "stored_bytes")


def _limit(what: str) -> Any:
    return typer.Option(min=0, help=f"The largest {what}; left out, there is no limit.")


@tenant_command
async def show(session: CommandSession) -> CommandOutput:
    """Show what the tenant stores and may store, and the quotas of users and projects."""
    document = await session.call("quota_list")
    return CommandOutput(document, lambda screen: _show(screen, document["quotas"]))


@tenant_command
async def set_quota(
    session: CommandSession,
    kind: Annotated[
        Literal["tenant", "user", "project"], typer.Argument(metavar="KIND", help="tenant, user or project.")
    ],
    name: Annotated[
        str, typer.Argument(metavar="[NAME]", help="The user or the project; by default all of them.")
    ] = "",
    files: Annotated[int | None, _limit("number of files")] = None,
    size_bytes: Annotated[
        int | None,
        typer.Option("--bytes", min=0, help="The most bytes of text in files, messages and documents."),
    ] = None,
    revisions: Annotated[int | None, _limit("number of stored versions, history included")] = None,
    stored_bytes: Annotated[int | None, _limit("sum of bytes of all stored versions")] = None,
) -> CommandOutput:
    """Set all limits at once: a limit that is left out does not hold any more.

    Limits of one user or project go before those of all users or projects. What is over a limit already stays, and
    deletions always go through. The quota of a tenant can only be set on the machine of the database.
    """
    given = {"files": files, "bytes": size_bytes, "revisions": revisions, "stored_bytes": stored_bytes}
    limits = {measure: limit for measure, limit in given.items() if limit is not None}
    document = await session.call("quota_set", {"kind": kind, "name": name, **limits})
    return CommandOutput(document, lambda screen: _show(screen, [document]))


def _show(screen: Screen, quotas: list[dict[str, Any]]) -> None:
    cells: dict[str, Callable[[dict[str, Any]], str]] = {
        name: partial(_cell, measure=name) for name in MEASURES
    }
    cells |= {"journal": _journal, "messages": _messages, "documents": _documents}
    columns = [Column(name, align="right", whole=True, cell=cell) for name, cell in cells.items()]
    screen.records(quotas, [Column("quota", "bold", cell=_named), *columns])


def _named(quota: dict[str, Any]) -> str:
    if quota["kind"] == "tenant":
        return "tenant"
    return f"{quota['kind']} {quota['name']}" if quota["name"] else f"every {quota['kind']}"


def _journal(quota: dict[str, Any]) -> str:
    """Return how large the texts of the journal are, and how large they may be."""
    held = quota["journal"]
    if held is None:
        return ""
    limit = f" of {format_size(held['max_bytes'])}" if held["max_bytes"] else ""
    return f"{format_size(held['bytes'])}{limit}"


def _messages(quota: dict[str, Any]) -> str:
    """Return how many messages of conversations there are, of how many there may be, and how large they are."""
    held = quota["conversations"]
    if held is None:
        return ""
    limit = f" of {held['max_messages']:,}" if held["max_messages"] else ""
    return f"{held['messages']:,}{limit}, {format_size(held['bytes'])}"


def _documents(quota: dict[str, Any]) -> str:
    """Return how many documents there are, of how many there may be, and how large they are."""
    held = quota["documents"]
    if held is None:
        return ""
    limits = (held["max_documents"], held["max_bytes"])
    most, largest = (f" of {limits[0]:,}", f" of {format_size(limits[1])}") if limits[0] else ("", "")
    return f"{held['documents']:,}{most}, {format_size(held['bytes'])}{largest}"


def _cell(quota: dict[str, Any], measure: str) -> str:
    limit = quota["limits"][measure]
    used = f"{quota['used'][measure]:,}" if quota["used"] else ("" if limit is None else "…")
    return used if limit is None else f"{used} of {limit:,}"
