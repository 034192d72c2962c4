"""Measure how often a context holds the statements that answer a question of invented people.

Run `python -m memex.evals.reading.recall`. Each person tells memory what they said, statement by statement, and
asks their questions. Without options they are those of `held_out/`, whose writer had seen neither the rules nor the
code. `--set people` takes those of `people/`, which whoever works on contexts may read. `--embedder` compares
meaning too, as `MEMEX_EMBEDDER` does.
"""

import argparse
import asyncio
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

from memex.evals.adapter import MemoryService
from memex.evals.lives.life import squash
from memex.evals.lives.play import context_units
from memex.evals.memex_adapter import MemexAdapter
from memex.evals.reading.people import SETS, Person, load_people
from memex.evals.serving import ServingOptions, open_service
from memex.service.evals.states import Manifest, State

BUDGETS = (600, 1_500, 8_000)
USER = "user"
TOLD = datetime(2026, 3, 2, 9, tzinfo=UTC)
ASKED = TOLD + timedelta(days=10)
HELD_SHARE = 0.75  # of the words of a statement; a stored one may lack a label

_WORD = re.compile(r"\w+")


async def measure(person: Person, service: MemoryService) -> Counter[str]:
    """Return how many statements are expected and found by the questions of a person, by budget."""
    counts: Counter[str] = Counter()
    manifest = Manifest(name="recall", purpose="-", language=person.language, at=TOLD, users=(USER,))
    async with service.place(State(Path(), manifest, {})) as memory:
        for statement in person.statements.values():
            await memory.remember(USER, statement, project=None, now=TOLD)
        for question in person.questions:
            wanted = [_words(person.statements[name]) for name in question.answers]
            for budget in BUDGETS:
                found = await memory.context(
                    USER, question.text, budget=budget, project=None, max_hops=1, now=ASKED
                )
                lines = [_words(unit.text) for unit in context_units(found.context)]
                counts[f"expected {budget}"] += len(wanted)
                counts[f"found {budget}"] += sum(
                    any(len(words & line) >= HELD_SHARE * len(words) for line in lines) for words in wanted
                )
                counts[f"lines {budget}"] += len(lines)
                counts[f"questions {budget}"] += 1
    return counts


def report(language: str, counts: Counter[str]) -> Iterator[str]:
    """Yield what is printed of a language."""
    for budget in BUDGETS:
        found, expected = counts[f"found {budget}"], counts[f"expected {budget}"]
        shown = counts[f"lines {budget}"] / counts[f"questions {budget}"]
        yield f"{language}, {budget} characters: {found / expected:.0%} of {expected}, {shown:.1f} lines"


async def recall(people: list[Person], embedder: str | None) -> None:
    """Print the shares by language and budget."""
    counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
    async with open_service(ServingOptions(embedder=embedder)) as service:
        for person in people:
            counts[person.language] += await measure(person, MemexAdapter(service))
    for language, counted in counts.items():
        sys.stdout.write("\n".join(report(language, counted)) + "\n")


def main() -> None:
    """Measure the people of a set."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--set", choices=SETS, default="held", help="the people; held is the default")
    parser.add_argument("--embedder", help="such as local; without one, search is by words")
    options = parser.parse_args()
    asyncio.run(recall(load_people(SETS[options.set]), options.embedder))


def _words(text: str) -> set[str]:
    return set(_WORD.findall(squash(text)))


if __name__ == "__main__":
    main()
