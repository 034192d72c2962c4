"""The options that many commands share."""

from dataclasses import dataclass
from typing import Annotated

import typer

Json = Annotated[
    bool,
    typer.Option("--json", help="Print the result as one JSON document; print an error as JSON on stderr."),
]
PathArgument = Annotated[
    str,
    typer.Argument(
        help="The path of a file, such as user/notes.md, shared/guide.md or projects/apollo/plan.md."
    ),
]
Limit = Annotated[int, typer.Option(help="The largest number of results.")]
Cursor = Annotated[
    str | None,
    typer.Option(help="The next_cursor of the previous answer; prints the results that follow it."),
]
Reason = Annotated[
    str | None, typer.Option(help="The reason for the change; Memex stores it with the version.")
]
BaseVersion = Annotated[
    int | None, typer.Option(help="The version that you read; the command fails if the file has a newer one.")
]
AsOf = Annotated[
    str | None,
    typer.Option(
        metavar="DAY|TIME|STATE",
        help="Use memory as it was at the end of a day (UTC), such as 2026-11-22, at a time, such as "
        "2026-11-22T09:30:00Z, or in the `state` of an answer (JSON).",
    ),
]

_ACTING = "Acting for"


@dataclass(frozen=True, slots=True)
class TenantOptions:
    """The tenant that a command works on."""

    tenant: Annotated[str, typer.Option(help="The tenant to use.", rich_help_panel=_ACTING)] = "default"


@dataclass(frozen=True, slots=True)
class UserOptions:
    """The user for whom a command acts, and the id under which its call is logged."""

    tenant: Annotated[str, typer.Option(help="The tenant to use.", rich_help_panel=_ACTING)] = "default"
    user: Annotated[
        str, typer.Option(help="The user whose files are at user/….", rich_help_panel=_ACTING)
    ] = "me"
    project: Annotated[
        str | None, typer.Option(help="The project that this work belongs to.", rich_help_panel=_ACTING)
    ] = None
    tool_call_id: Annotated[
        str | None,
        typer.Option(
            help="The id of the call in the log. A write with the same id is done only once.",
            rich_help_panel=_ACTING,
        ),
    ] = None
    as_admin: Annotated[
        bool,
        typer.Option(
            "--as-admin",
            help="Act with the rights of an administrator: all projects, writing to shared/, and the calls of "
            "administrators. By default the command may do what the user's agent may do.",
            rich_help_panel=_ACTING,
        ),
    ] = False


@dataclass(frozen=True, slots=True)
class DemoOptions:
    """The user who gets the sample memory; by default a separate one."""

    tenant: Annotated[str, typer.Option(help="The tenant to use.", rich_help_panel=_ACTING)] = "default"
    user: Annotated[
        str, typer.Option(help="The user who gets the sample memory.", rich_help_panel=_ACTING)
    ] = "demo"
