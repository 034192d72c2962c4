"""`python -m memex.evals.lives`: how memory serves texts that nobody wrote beside the rules."""

import asyncio
from pathlib import Path
from typing import Annotated

import typer

from memex import logging
from memex.cli.eval.output import misuse, show_table
from memex.cli.options import Json
from memex.cli.output import CommandOutput, Screen, print_output
from memex.cli.progress import Progress, progress_bar
from memex.errors import ValidationFailed
from memex.evals.lives import tables
from memex.evals.lives.candidates import CandidateWatch
from memex.evals.lives.life import Life, load_life, shipped_lives
from memex.evals.lives.measure import LifeMeasures, combine, measure
from memex.evals.lives.play import LANGUAGES, PlayedLife, changing_texts, play
from memex.evals.memex_adapter import MemexAdapter
from memex.evals.serving import ServingOptions, open_service
from memex.subagent.planner import BUILTIN


def play_lives(
    lives: Annotated[
        list[Path] | None, typer.Argument(metavar="[LIFE]...", help="Files of lives; by default all of ours.")
    ] = None,
    *,
    sealed: Annotated[
        bool | None,
        typer.Option(help="Take only the sealed lives, or only the open ones; by default both."),
    ] = None,
    misses: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FIGURE",
            help="Also list the cases of this figure that went wrong, but not of sealed lives.",
        ),
    ] = None,
    model: Annotated[
        str | None, typer.Option(help="The model that plans. By default the built-in rules plan.")
    ] = None,
    distil: Annotated[
        bool,
        typer.Option(
            "--distil",
            help="Also distil each text, after it was remembered, as one of a conversation of three weeks ago.",
        ),
    ] = False,
    embedder: Annotated[
        str | None,
        typer.Option(
            help="Also compare meaning by this embedder, such as local. By default search is by words."
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Play three weeks of invented people to memory, and measure what it keeps, corrects, forgets and recalls."""
    logging.configure("warning")
    with misuse(as_json=as_json):
        chosen = [load_life(path) for path in lives or shipped_lives()]
        chosen = [life for life in chosen if sealed is None or life.is_sealed == sealed]
        if not chosen:
            raise ValidationFailed(f"None of these lives is {'sealed' if sealed else 'open'}.")
        figures = [figure.name for figure in measure(PlayedLife(chosen[0], (), ())).figures]
        if unknown := [name for name in misses or () if name not in figures]:
            raise ValidationFailed(
                f"There is no figure {unknown[0]!r}.", hint=f"There are: {', '.join(figures)}."
            )
        with progress_bar() as progress:
            measured = asyncio.run(play_all(chosen, model, embedder, progress, distils=distil))
    is_sealed = {life.name for life in chosen if life.is_sealed}
    columns = [*measured, combine("all", measured)] if len(measured) > 1 else measured

    def show(screen: Screen) -> None:
        show_table(screen, tables.overview(columns))
        for name in misses or ():
            for life_measures in measured:
                if life_measures.name not in is_sealed:
                    show_table(screen, tables.misses(life_measures, name))

    print_output(CommandOutput(tables.document(columns), show), as_json=as_json)


async def play_all(
    lives: list[Life], model: str | None, embedder: str | None, progress: Progress, *, distils: bool = False
) -> list[LifeMeasures]:
    """Play lives to a service each, and return what each shows."""
    measured = []
    for life in lives:
        watch = CandidateWatch(changing_texts(life)) if model in (None, BUILTIN) else None
        options = ServingOptions(
            model=model or BUILTIN,
            language=LANGUAGES[life.content.language],
            planners=watch.planners() if watch is not None else None,
            embedder=embedder,
        )
        async with open_service(options) as service:
            measured.append(measure(await play(life, MemexAdapter(service), watch, distils=distils)))
        progress("lives", len(measured), len(lives))
    return measured


if __name__ == "__main__":
    typer.run(play_lives)
