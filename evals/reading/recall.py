"""How often a context holds the statements that answer a question, of people whom no model was fitted to.

Run `python -m memex.evals.reading.recall`. Each of the people of `held_out/` tells memory what they said,
statement by statement, and asks their questions. Their writer had seen neither the rules nor the code.
"""

import asyncio
import re
import sys
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from importlib.resources import files
from pathlib import Path

from memex.evals.adapter import MemoryService
from memex.evals.lives.life import squash
from memex.evals.memex_adapter import MemexAdapter
from memex.evals.reading.people import Person, read_people
from memex.evals.serving import ServingOptions, open_service
from memex.service.evals.states import Manifest, State

HELD_OUT = Path(str(files("memex.evals.reading") / "held_out"))
LANGUAGES = {"en": "english", "de": "german", "fr": "french", "es": "spanish"}
BUDGETS = (600, 1_500, 8_000)
USER = "user"
TOLD = datetime(2026, 3, 2, 9, tzinfo=UTC)
ASKED = TOLD + timedelta(days=10)
HELD_SHARE = 0.75  # of the words of a statement; a stored one may lack a label

_WORD = re.compile(r"\w+")


async def measure(person: Person, language: str, service: MemoryService) -> Counter[str]:
    """Return how many statements are expected and found by the questions of a person, by budget."""
    counts: Counter[str] = Counter()
    manifest = Manifest(name="recall", purpose="-", language=language, at=TOLD, users=(USER,))
    async with service.place(State(Path(), manifest, {})) as memory:
        for statement in person.statements.values():
            await memory.remember(USER, statement.text, project=None, now=TOLD)
        for question in person.questions:
            for budget in BUDGETS:
                found = await memory.context(
                    USER, question.asked.text, budget=budget, project=None, max_hops=1, now=ASKED
                )
                lines = [_words(line) for line in found.context.splitlines()]
                wanted = [_words(person.statements[name].text) for name in question.answers]
                counts[f"expected {budget}"] += len(wanted)
                counts[f"found {budget}"] += sum(
                    any(len(words & line) >= HELD_SHARE * len(words) for line in lines) for words in wanted
                )
                counts[f"statements {budget}"] += found.context.count("\n- ")
                counts[f"questions {budget}"] += 1
    return counts


def lines_of(language: str, counts: Counter[str]) -> Iterator[str]:
    """Yield what is printed of a language."""
    for budget in BUDGETS:
        found, expected = counts[f"found {budget}"], counts[f"expected {budget}"]
        shown = counts[f"statements {budget}"] / counts[f"questions {budget}"]
        yield f"{language}, {budget} characters: {found / expected:.0%} of {expected}, {shown:.1f} statements"


async def main() -> None:
    """Print the shares by language and budget."""
    async with open_service(ServingOptions()) as service:
        for code, language in LANGUAGES.items():
            counts: Counter[str] = Counter()
            for person in read_people(HELD_OUT / f"{code}.txt"):
                counts += await measure(person, language, MemexAdapter(service))
            sys.stdout.write("\n".join(lines_of(language, counts)) + "\n")


def _words(text: str) -> set[str]:
    return set(_WORD.findall(squash(text)))


if __name__ == "__main__":
    asyncio.run(main())
