"""The options that many commands share."""

from typing import Annotated

import typer

Json = Annotated[
    bool, typer.Option("--json", help="Print one JSON document; an error goes to stderr, as JSON too.")
]
Tenant = Annotated[str, typer.Option(help="Whose data: the tenant.", show_default=True)]
User = Annotated[str, typer.Option(help="Whose user/… it is.")]
Project = Annotated[str | None, typer.Option(help="The project that the work is about.")]
ToolCallId = Annotated[
    str | None,
    typer.Option(help="Logs the call under this id; a write is then done once, however often sent."),
]
