"""`memex forget`: take a stored statement out of memory, by its words."""

from typing import Annotated

import typer

from memex.cli.memory.agent import show_remembered
from memex.cli.output import CommandOutput
from memex.cli.session.commands import user_command
from memex.cli.session.session import CommandSession
from memex.errors import ValidationFailed

MAX_CHARS = 500
REQUEST = "Forget this: "  # whatever follows, `memory_remember` reads it as a request, and stores nothing


@user_command
async def forget(
    session: CommandSession,
    text: Annotated[
        list[str], typer.Argument(help="The statement to forget, or the words that only it holds.")
    ],
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show what would be forgotten.")] = False,
) -> CommandOutput:
    """Forget one statement.

    If several fit, nothing is changed and they are listed. Earlier versions of the file still hold the
    statement, and `memex revert` brings it back.
    """
    asked = REQUEST + _words(text)
    done = await session.execute("memory_remember", {"text": asked, "dry_run": dry_run})
    return CommandOutput(done, lambda screen: show_remembered(screen, session, asked, done))


def _words(text: list[str]) -> str:
    """Return the words to forget by, on one line; raises ValidationFailed for none and for too many."""
    words = " ".join(" ".join(text).split())
    if not words or len(words) > MAX_CHARS:
        raise ValidationFailed(
            f"forget takes 1 to {MAX_CHARS} characters of text.",
            hint="Name one statement in its own words; `memex find` shows the files that hold it.",
        )
    return words
