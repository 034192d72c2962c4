"""Figures before and after all that the rules propose was applied: of chats of BEAM, and of vaults."""

import sys
from pathlib import Path

from memex.api.dreams import Dreams
from memex.evals.dream.applying import dream_until_none
from memex.evals.retrieval import runs, tables
from memex.evals.retrieval.evaluation import RetrievalOptions, run_suite
from memex.evals.told.__main__ import measure
from memex.evals.told.chats import SETS
from memex.evals.told.measure import figures_table, to_markdown
from memex.evals.told.play import DREAMT, EMBEDDERS, SAID_TWICE


async def compare_before_and_after(root: Path, chats: int) -> None:
    """Print the figures of the first chats of BEAM and of the vaults, before and after."""
    beam = SETS["beam"]
    told = beam.load(root)[:chats]
    if told:
        ways = await measure(
            told, list(EMBEDDERS), ["indexed", SAID_TWICE, DREAMT], beam.budgets, at_a_time=2
        )
        table = figures_table(f"{beam.title}, {len(told)} chats", ways, beam.budgets)
        print(to_markdown(table))  # noqa: T201  # its output
    before = await run_suite("vaults", root, RetrievalOptions())
    after = await run_suite("vaults", root, RetrievalOptions(dreams=_dream))
    comparison = runs.compare(before, after, name="before")
    print(to_markdown(tables.overview(after, comparison)))  # noqa: T201  # its output


async def _dream(dreams: Dreams) -> None:
    print(f"vault: {dict(await dream_until_none(dreams))}", file=sys.stderr)  # noqa: T201  # its output
