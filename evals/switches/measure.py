"""The whole job with some mechanisms switched off: told talks and lives, in the process that calls."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from memex.evals.lives.__main__ import play_all
from memex.evals.lives.life import load_life, shipped_lives
from memex.evals.lives.measure import combine
from memex.evals.planner.run import run
from memex.evals.retrieval.datasets import find_data_folder
from memex.evals.told.chats import SETS

BUDGETS: Mapping[str, Sequence[int]] = {"beam": (600, 1_500, 4_000, 8_000), "locomo": (2_000, 4_000, 8_000)}
LIFE_FIGURES = (
    "evidence in 600 characters",
    "evidence in 1500 characters",
    "evidence in 8000 characters",
    "applied or shown as rivals",
    "wrong rivals",
    "old value alone",
    "old beside new, unmarked",
    "questions about oneself: answered",
)


@dataclass(frozen=True, slots=True)
class ToldSample:
    """The size of a sample: each nth question of the first chats of a set (all by default), and of lives."""

    every: int = 1
    chats: int | None = None
    embedder: str | None = None
    with_lives: bool = True


async def measure(sample: ToldSample) -> dict[str, float | None]:
    """Return the figures by name, in per cent.

    Raises:
        ValidationFailed: MEMEX_EVAL_DATA names no folder of data.
    """
    found: dict[str, float | None] = {}
    for name, budgets in BUDGETS.items():
        chats = SETS[name].load(find_data_folder())[: sample.chats]
        figures = await run(chats, budgets, every=sample.every, embedder=sample.embedder, picks=False)
        found |= {f"{name} {budget}": figures.rules[budget].recalled_percent() for budget in budgets}
    if sample.with_lives:
        lives = [life for path in shipped_lives() if not (life := load_life(path)).is_sealed]
        played = combine("all", await play_all(lives, None, sample.embedder, lambda *_: None))
        shares = {figure.name: figure.share for figure in played.figures}
        found |= {name: None if shares[name] is None else 100 * (shares[name] or 0) for name in LIFE_FIGURES}
    return found
