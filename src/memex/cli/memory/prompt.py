"""`memex setup prompt`: the text that a host program puts into the system prompt of its agent."""

from typing import Annotated

import typer

from memex.cli.output import CommandOutput, Screen, format_count
from memex.cli.session.commands import user_command
from memex.cli.session.session import CommandSession


@user_command
async def prompt(
    session: CommandSession,
    budget: Annotated[
        int | None, typer.Option(help="The largest number of characters, 500 to 50,000; 4,000 by default.")
    ] = None,
    who: Annotated[
        int | None,
        typer.Option(
            help="Begin with lines that say who the user is, or what the project is: so many characters."
        ),
    ] = None,
) -> CommandOutput:
    """Print the text for a system prompt: how to use memory, the pinned files of shared/, and a list of files."""
    block = await session.call(
        "prompt_block", {"budget": budget, "who": who, "project": session.project if who else None}
    )

    def show(screen: Screen) -> None:
        if not screen.is_terminal:
            screen.raw(block["text"])
            return
        for line in block["text"].split("\n"):
            screen.line(line)
        screen.line()
        used = f"{block['budget']['used']:,} of {block['budget']['limit']:,} characters"
        left_out = [
            format_count(len(block["notes_left_out"]), "pinned note"),
            format_count(block["files_left_out"], "file"),
        ]
        screen.line((f"{used}; left out: {', '.join(left_out)}", "dim"))

    return CommandOutput(block, show)
