"""`python -m memex.evals.pairs`: what becomes of an older statement when a newer one of the same thing is told."""

import asyncio
from typing import Annotated

import typer

from memex import logging
from memex.cli.eval.output import misuse, show_table
from memex.cli.options import Json
from memex.cli.output import CommandOutput, Screen, print_output
from memex.evals.lives import tables
from memex.evals.lives.measure import LifeMeasures
from memex.evals.lives.pairs import FILES, load_pairs, measure_pairs
from memex.evals.memex_adapter import MemexAdapter
from memex.evals.serving import ServingOptions, open_service
from memex.subagent.planner import BUILTIN


def pairs(
    *,
    sealed: Annotated[
        bool | None,
        typer.Option(help="Take only the sealed pairs, or only the open ones; by default both."),
    ] = None,
    misses: Annotated[
        bool, typer.Option("--misses", help="Also list the open pairs that went wrong.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Tell memory statements and newer ones of the same things, and measure what becomes of the older ones."""
    logging.configure("warning")
    with misuse(as_json=as_json):
        chosen = [name for name in ("open", "sealed") if sealed is None or sealed == (name == "sealed")]
        measured = asyncio.run(_tell(chosen))

    def show(screen: Screen) -> None:
        show_table(screen, tables.overview(measured, "Pairs"))
        for measures in measured:
            for figure in measures.figures if misses and measures.name == "open" else ():
                show_table(screen, tables.misses(measures, figure.name))

    print_output(CommandOutput(tables.document(measured), show), as_json=as_json)


async def _tell(names: list[str]) -> list[LifeMeasures]:
    async with open_service(ServingOptions(model=BUILTIN, language="english")) as service:
        adapter = MemexAdapter(service)
        return [await measure_pairs(name, load_pairs(FILES[name]), adapter) for name in names]


if __name__ == "__main__":
    typer.run(pairs)
