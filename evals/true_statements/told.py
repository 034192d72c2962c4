"""Tells memory the statements of each set one after the other, and counts those that are still there at the end.

Run `python -m memex.evals.true_statements.told [SET]...` in a checkout, such as `told 01.en`; without names all
sets are told, which takes about ten minutes. What is not stored at all, such as a line that is read as small talk,
is listed apart: it was not taken out.
"""

import asyncio
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from memex.evals.adapter import Placed
from memex.evals.memex_adapter import MemexAdapter
from memex.evals.serving import ServingOptions, open_service
from memex.evals.true_statements.sets import TrueStatements, load_sets
from memex.service.evals.states import Manifest, State
from memex.subagent.planner import BUILTIN
from memex.subagent.statements.bullets import parse_bullet
from memex.subagent.statements.subjects import normal_form

USER = "user"
TOLD = datetime(2026, 11, 23, 9, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class StatementSet:
    """The outcome for a set of statements.

    `gone` are the statements that went again, each with the one for which it went; `unstored` was never there.
    """

    name: str
    gone: tuple[tuple[str, str], ...]
    unstored: tuple[str, ...]


async def tell(one: TrueStatements, memory: Placed) -> StatementSet:
    """Tell memory the statements of a set, and return what is not there at the end."""
    stored: dict[tuple[str, ...], str] = {}
    gone, unstored = [], []
    for line in one.lines:
        answer = await memory.remember(USER, line, project=None, now=TOLD)
        standing = _standing(await memory.files(USER) or {}, await memory.journal(USER))
        written = standing - stored.keys()
        if not written and normal_form(line) not in standing:
            unstored.append(line)
        gone += [(stored.pop(form), line) for form in [*stored] if form not in standing]
        gone += [(took["older"], line) for took in answer.trace.get("replaced", ())]
        stored |= dict.fromkeys(written, line)
    return StatementSet(one.name, tuple(gone), tuple(unstored))


def _standing(pages: Mapping[str, str], journal: Mapping[str, str]) -> set[tuple[str, ...]]:
    """Return what stands on pages and in entries of the journal, in the form in which it is compared."""
    items = [parse_bullet(line) for line in _lines(pages) if line.startswith("- ")]
    return set(map(normal_form, (*items, *_lines(journal))))


def _lines(texts: Mapping[str, str]) -> list[str]:
    return [line for text in texts.values() for line in text.splitlines()]


async def _main(names: Sequence[str]) -> int:
    found = 0
    for statement_set in load_sets():
        if names and statement_set.name not in names:
            continue
        manifest = Manifest(
            name="true",
            purpose="Nothing is known yet.",
            language=statement_set.language,
            at=TOLD,
            users=(USER,),
            projects={},
        )
        options = ServingOptions(model=BUILTIN, language=statement_set.language)
        async with (
            open_service(options) as service,
            MemexAdapter(service).place(State(Path(), manifest, {})) as memory,
        ):
            told = await tell(statement_set, memory)
        found += len(told.gone)
        sys.stdout.write(
            f"{told.name}: {len(statement_set.lines)} told, {len(told.gone)} taken out, "
            f"{len(told.unstored)} not stored\n"
        )
        sys.stdout.writelines(f"  gone: {older}\n   for: {newer}\n" for older, newer in told.gone)
        sys.stdout.writelines(f"  not stored: {line}\n" for line in told.unstored)
        sys.stdout.flush()
    return int(found > 0)


if __name__ == "__main__":
    sys.exit(asyncio.run(_main(sys.argv[1:])))
