"""`memex eval beam`: how well memory serves the users of BEAM, a public data set that no rule was tuned on."""

from typing import TYPE_CHECKING, Annotated, Literal

import typer

from memex.cli.eval.output import check_installed, misuse, show_table
from memex.cli.options import Json
from memex.cli.output import CommandOutput, Screen, print_output
from memex.cli.progress import Progress, progress_bar

if TYPE_CHECKING:
    from memex.evals.beam.chats import BeamChat
    from memex.evals.lives.measure import LifeMeasures

NEEDED = ("numpy",)


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
    from memex import logging

    logging.configure("warning")
    with misuse(as_json=as_json):
        import asyncio

        check_installed(*NEEDED)
        from memex.errors import ValidationFailed
        from memex.evals.beam.chats import SIZES, load_beam
        from memex.evals.beam.measure import measure_chat
        from memex.evals.beam.play import PlayedChat
        from memex.evals.lives.measure import combine
        from memex.evals.retrieval.datasets import find_data_folder

        root = find_data_folder()
        found = [one for each in (SIZES if size == "all" else (size,)) for one in load_beam(root, each)]
        names = [one.name for one in found]
        if unknown := [name for name in chat or () if name not in names]:
            raise ValidationFailed(
                f"There is no chat {unknown[0]!r}.", hint=f"There are: {', '.join(names)}."
            )
        chosen = [one for one in found if not chat or one.name in chat]
        figures = [figure.name for figure in measure_chat(PlayedChat(chosen[0], {}, ())).figures]
        if unknown := [name for name in misses or () if name not in figures]:
            raise ValidationFailed(
                f"There is no figure {unknown[0]!r}.", hint=f"There are: {', '.join(figures)}."
            )
        with progress_bar() as progress:
            measured = asyncio.run(_play(chosen, progress))
    columns = [*measured, combine("all", measured)] if len(measured) > 1 else measured

    def show(screen: Screen) -> None:
        from memex.evals.lives import tables

        show_table(screen, tables.overview(columns[-1:], "BEAM"))
        for name in misses or ():
            for one in measured:
                show_table(screen, tables.misses(one, name))

    from memex.evals.lives import tables

    print_output(CommandOutput(tables.document(columns), show), as_json=as_json)


async def _play(chats: "list[BeamChat]", progress: Progress) -> "list[LifeMeasures]":
    from memex.evals.beam.measure import measure_chat
    from memex.evals.beam.play import evidence_texts, play_chat
    from memex.evals.lives.candidates import CandidateWatch
    from memex.evals.memex_adapter import MemexAdapter
    from memex.evals.serving import ServingOptions, open_service

    watch = CandidateWatch(evidence_texts(chats))
    measured = []
    async with open_service(ServingOptions(planners=watch.planners())) as service:
        for chat in chats:
            measured.append(measure_chat(await play_chat(chat, MemexAdapter(service), watch)))
            progress("chats", len(measured), len(chats))
    return measured
