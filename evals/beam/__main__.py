"""`python -m memex.evals.beam`: how well memory serves the users of BEAM, on which no rule was tuned."""

import asyncio
from typing import Annotated, Literal

import typer

from memex import logging
from memex.cli.eval.output import misuse, show_table
from memex.cli.options import Json
from memex.cli.output import CommandOutput, Screen, print_output
from memex.cli.progress import Progress, progress_bar
from memex.errors import ValidationFailed
from memex.evals.beam.chats import SIZES, BeamChat, load_beam
from memex.evals.beam.measure import measure_chat
from memex.evals.beam.play import PlayedChat, evidence_texts, play_chat
from memex.evals.lives import tables
from memex.evals.lives.candidates import CandidateWatch
from memex.evals.lives.measure import LifeMeasures, combine
from memex.evals.memex_adapter import MemexAdapter
from memex.evals.retrieval.datasets import find_data_folder
from memex.evals.serving import ServingOptions, open_service


def beam(
    *,
    size: Annotated[
        Literal["100K", "500K", "all"], typer.Option(help="The size of the chats, in tokens.")
    ] = "all",
    chat: Annotated[
        list[str] | None,
        typer.Option(
            help="Play only this chat, such as beam-100K-03; give the option again for further chats."
        ),
    ] = None,
    misses: Annotated[
        list[str] | None,
        typer.Option(metavar="FIGURE", help="Also list the cases of this figure that went wrong."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Remember the messages of BEAM's users, and ask what changed, what contradicts and what they prefer.

    MEMEX_EVAL_DATA names the folder of the data. The built-in rules plan.
    """
    logging.configure("warning")
    with misuse(as_json=as_json):
        root = find_data_folder()
        found = [
            found_chat
            for each in (SIZES if size == "all" else (size,))
            for found_chat in load_beam(root, each)
        ]
        names = [found_chat.name for found_chat in found]
        if unknown := [name for name in chat or () if name not in names]:
            raise ValidationFailed(
                f"There is no chat {unknown[0]!r}.", hint=f"There are: {', '.join(names)}."
            )
        chosen = [found_chat for found_chat in found if not chat or found_chat.name in chat]
        figures = [figure.name for figure in measure_chat(PlayedChat(chosen[0], {}, ())).figures]
        if unknown := [name for name in misses or () if name not in figures]:
            raise ValidationFailed(
                f"There is no figure {unknown[0]!r}.", hint=f"There are: {', '.join(figures)}."
            )
        with progress_bar() as progress:
            measured = asyncio.run(_play(chosen, progress))
    columns = [*measured, combine("all", measured)] if len(measured) > 1 else measured

    def show(screen: Screen) -> None:
        show_table(screen, tables.overview(columns[-1:], "BEAM"))
        for name in misses or ():
            for measures in measured:
                show_table(screen, tables.misses(measures, name))

    print_output(CommandOutput(tables.document(columns), show), as_json=as_json)


async def _play(chats: list[BeamChat], progress: Progress) -> list[LifeMeasures]:
    watch = CandidateWatch(evidence_texts(chats))
    measured = []
    async with open_service(ServingOptions(planners=watch.planners())) as service:
        for chat in chats:
            measured.append(measure_chat(await play_chat(chat, MemexAdapter(service), watch)))
            progress("chats", len(measured), len(chats))
    return measured


if __name__ == "__main__":
    typer.run(beam)
