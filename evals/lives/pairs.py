"""Pairs of statements: what becomes of the older one when memory is told the newer one?

A pair tells apart what a life mixes: a new value in the same words, a digest that tells of a change, a task that is
done, and two statements that both hold although they look alike. Their writer had seen neither the rules nor the
code. As with lives, one file is open and one is sealed; see `memex.evals.lives.life`.
"""

import gzip
import re
from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path
from typing import Literal

import yaml
from pydantic import BaseModel, ConfigDict, TypeAdapter

from memex.evals.adapter import MemoryService, Placed
from memex.evals.lives.life import FOLDER, SEALED_SUFFIX, squash
from memex.evals.lives.measure import Figure, LifeCase, LifeMeasures
from memex.service.evals.states import Manifest, State
from memex.subagent.statements.bullets import ITEM

LANGUAGES = {"en": "english", "de": "german", "fr": "french", "es": "spanish"}
FILES = {"open": FOLDER / "pairs" / "open.yaml", "sealed": FOLDER / "pairs" / f"sealed{SEALED_SUFFIX}"}
USER = "user"
TOLD = datetime(2026, 3, 2, 9, tzinfo=UTC)
TOLD_AGAIN = datetime(2026, 3, 9, 9, tzinfo=UTC)
SAME_SHARE = 0.8  # of its words, by which a stored entry is known to be a statement

_WORD = re.compile(r"\w+")

# What a figure counts, with its aim; the last is the share that should be as small as possible.
_FIGURES: Sequence[tuple[str, str, float | None, bool]] = (
    ("value", "pairs: new value applied", 0.88, False),
    ("digest", "pairs: digest applied", 0.80, False),
    ("closing", "pairs: closing applied", None, False),
    ("named", "pairs: change applied or shown as rivals", None, False),
    ("removed", "pairs: removed, though both hold", 0.005, True),
    ("rival", "pairs: shown as rivals, though both hold", 0.05, True),
)


class StatementPair(BaseModel):
    """Two statements, the newer of which replaces or closes the older one, or leaves it as it is."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str
    lang: Literal["en", "de", "fr", "es"]
    kind: Literal["value", "digest", "closing", "both"]
    older: str
    newer: str
    truth: Literal["replaces", "closes", "both"]


def load_pairs(path: Path) -> list[StatementPair]:
    """Return the pairs of a file, sealed or open."""
    data = path.read_bytes()
    text = gzip.decompress(data) if path.name.endswith(SEALED_SUFFIX) else data
    return TypeAdapter(list[StatementPair]).validate_python(yaml.load(text, Loader=yaml.CSafeLoader))


async def measure_pairs(name: str, pairs: Sequence[StatementPair], service: MemoryService) -> LifeMeasures:
    """Tell memory all older statements of a language, then all newer ones, and return what became of the older."""
    cases: dict[str, list[LifeCase]] = {figure: [] for figure, *_ in _FIGURES}
    ordered = sorted(pairs, key=lambda pair: pair.lang)
    for language, group in groupby(ordered, key=lambda pair: pair.lang):
        manifest = Manifest(
            name="pairs",
            purpose="Nothing is known yet.",
            language=LANGUAGES[language],
            at=TOLD,
            users=(USER,),
        )
        async with service.place(State(Path(), manifest, {})) as memory:
            await _play(list(group), memory, cases)
    figures = tuple(
        Figure(title, tuple(cases[key]), aim, is_upper=is_upper) for key, title, aim, is_upper in _FIGURES
    )
    return LifeMeasures(name, figures, ())


async def _play(pairs: Sequence[StatementPair], memory: Placed, cases: dict[str, list[LifeCase]]) -> None:
    for pair in pairs:
        await memory.remember(USER, pair.older, project=None, now=TOLD)
    for pair in pairs:
        before = await _lines(memory)
        answer = await memory.remember(USER, pair.newer, project=None, now=TOLD_AGAIN)
        after = await _lines(memory)
        line = _line_of(pair.older, before)
        detail = f"{pair.older} → {pair.newer}"
        is_gone = line is not None and (line not in after or "[x]" in line)
        is_rival = any(_line_of(rival["older"], [line or ""]) for rival in answer.trace.get("rivals", ()))
        if pair.truth == "both":
            cases["removed"].append(LifeCase(pair.id, is_gone, detail))
            cases["rival"].append(LifeCase(pair.id, is_rival, detail))
            continue
        cases[pair.kind].append(LifeCase(pair.id, is_gone, detail if line else f"not stored: {detail}"))
        cases["named"].append(LifeCase(pair.id, is_gone or is_rival, detail))


async def _lines(memory: Placed) -> list[str]:
    """Return the list entries of all files, and the texts of the journal without the words that hold no more."""
    contents = (await memory.files(USER) or {}).values()
    told = (await memory.journal(USER)).values()
    lines = [line for content in contents for line in content.splitlines() if ITEM.match(line)]
    return [squash(line) for line in (*lines, *told)]


def _line_of(statement: str, lines: Sequence[str]) -> str | None:
    """Return the entry that holds nearly all words of a statement; labels and dates may differ."""
    words = set(_WORD.findall(squash(statement)))
    held, line = max(((len(words & set(_WORD.findall(line))), line) for line in lines), default=(0, ""))
    return line if words and held >= SAME_SHARE * len(words) else None
