"""The options that many commands share."""

from dataclasses import dataclass
from typing import Annotated

import typer

Json = Annotated[
    bool, typer.Option("--json", help="Print one JSON document; an error goes to stderr, as JSON too.")
]
PathArgument = Annotated[
    str, typer.Argument(help="Such as user/notes.md, shared/guide.md, projects/apollo/plan.md.")
]
Limit = Annotated[int, typer.Option(help="How many at most.")]
Cursor = Annotated[str | None, typer.Option(help="Go on after the last answer: its next_cursor.")]
Reason = Annotated[str | None, typer.Option(help="Why, kept with the version.")]
BaseVersion = Annotated[
    int | None, typer.Option(help="The version that was read: fails when it is no longer the newest.")
]
AsOf = Annotated[
    str | None,
    typer.Option(
        metavar="TIME|STATE",
        help="Memory as it stood at a time, such as 2026-11-22T09:30:00Z, or in the state of an answer, as JSON.",
    ),
]

_ACTING = "Acting for"


@dataclass(frozen=True, slots=True)
class TenantOptions:
    """For which tenant a command works."""

    tenant: Annotated[str, typer.Option(help="The tenant.", rich_help_panel=_ACTING)] = "default"


@dataclass(frozen=True, slots=True)
class UserOptions:
    """For whom a command acts, and under which id it is logged."""

    tenant: Annotated[str, typer.Option(help="The tenant.", rich_help_panel=_ACTING)] = "default"
    user: Annotated[str, typer.Option(help="Whose user/… it is.", rich_help_panel=_ACTING)] = "me"
    project: Annotated[
        str | None, typer.Option(help="The project that the work is about.", rich_help_panel=_ACTING)
    ] = None
    tool_call_id: Annotated[
        str | None,
        typer.Option(
            help="The id to log the call under. A write is done once under an id.", rich_help_panel=_ACTING
        ),
    ] = None


@dataclass(frozen=True, slots=True)
class DemoOptions:
    """Where the sample memory is put: by default to a user of its own."""

    tenant: Annotated[str, typer.Option(help="The tenant.", rich_help_panel=_ACTING)] = "default"
    user: Annotated[str, typer.Option(help="Whose user/… takes it.", rich_help_panel=_ACTING)] = "demo"
