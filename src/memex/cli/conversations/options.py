"""Options that the commands about conversations share."""

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Annotated, Any, Literal

import typer

from memex.cli.ages import parse_age
from memex.cli.output import CommandOutput, Screen
from memex.errors import ValidationFailed

Format = Literal["panel", "json", "ids"]
FormatOption = Annotated[
    Format,
    typer.Option(
        "--format", help="panel: for people. json: as --json. ids: one reference a line, for programs."
    ),
]
SourceOption = Annotated[
    str | None,
    typer.Option(metavar="LABEL", help="Only conversations from this source: its label or format."),
]
ProviderProjectOption = Annotated[
    str | None,
    typer.Option(
        "--of-project", metavar="NAME", help="Only conversations that the provider keeps in this project."
    ),
]
SinceOption = Annotated[
    str | None,
    typer.Option(metavar="TIME", help="Only from this time on: 90d, 2w, 2026-11-22 or 2026-11-22T09:00:00Z."),
]
UntilOption = Annotated[
    str | None, typer.Option(metavar="TIME", help="Only before this time, written like --since.")
]


def parse_moment(text: str | None, option: str) -> str | None:
    """Return a moment as the service takes it: an age such as `90d`, a day or a time.

    Raises:
        ValidationFailed: the text is none of these.
    """
    if text is None:
        return None
    try:
        moment = parse_age(text, "hdw") or datetime.fromisoformat(text)
    except ValueError:
        raise ValidationFailed(
            f"{option}: {text!r} is no time.", hint="Write an age such as 90d, 2w or 12h, a day, or a time."
        ) from None
    return (moment if moment.tzinfo else moment.astimezone()).isoformat()


def in_format(
    wanted: Format, document: dict[str, Any], ids: Sequence[str], show: Callable[[Screen], None], **more: Any
) -> CommandOutput:
    """Return the output of a command in the wanted format."""
    if wanted == "json":
        return CommandOutput(document, lambda screen: screen.json(document), **more)
    if wanted == "ids":
        return CommandOutput(
            document, lambda screen: screen.raw("".join(f"{identifier}\n" for identifier in ids)), **more
        )
    return CommandOutput(document, show, **more)
