"""`python -m memex.evals.dream`: known dirt in states and vaults, and look-alikes; precision and recall by kind.

The states are those of this checkout, and the vaults those of MEMEX_EVAL_DATA. What dreams propose for the memories
as they are is told apart: nobody has said whether that is dirt.
"""

import argparse
import asyncio
import random
import re
import tarfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from memex import logging
from memex.errors import MemexError
from memex.evals.dream.dirt import DirtyMemory, soil, soil_by_hand
from memex.evals.dream.unhurt import compare_before_and_after
from memex.evals.fixtures.states import SHIPPED
from memex.evals.retrieval.datasets import find_data_folder
from memex.store.search.analyzer import Analyzer
from memex.subagent.dream.rules import plan_by_rules
from memex.subagent.dream.signals import find_signals
from memex.subagent.dream.verify import core, verify

KINDS = ("duplicate", "superseded", "task_done", "moved_link")
LISTED: dict[str, str] = {"said_again": "duplicate", "contradiction": "superseded"}
MAX_DREAMS = 40
_WORDS = re.compile(r"\w+")


def memories() -> Iterator[tuple[str, dict[str, str]]]:
    """Yield the memories by name: each mount of the states, and each vault."""
    for state in sorted(path for path in SHIPPED.iterdir() if path.is_dir()):
        for mount in sorted(path for folder in ("users", "projects") for path in state.glob(f"{folder}/*")):
            texts = {
                f"user/{page.relative_to(mount)}": page.read_text("utf-8") for page in mount.rglob("*.md")
            }
            if texts:
                yield f"{state.name}/{mount.name}", texts
    for vault in sorted((find_data_folder() / "vaults").glob("*.tar.gz")):
        with tarfile.open(vault) as archive:
            texts = {}
            for member in archive:
                file = archive.extractfile(member) if member.name.endswith(".md") else None
                if file is not None:
                    texts[f"user/{Path(member.name).as_posix()}"] = file.read().decode("utf-8", "replace")
        yield vault.name.removesuffix(".tar.gz"), texts


def changed_lines(memory: DirtyMemory) -> tuple[Counter[tuple[str, str]], set[tuple[str, str]]]:
    """Return the lines that dreams would change, with the kind of the edit, until nothing more comes.

    Also those that are only listed, with the kind of the edit that they might have had.
    """
    found: Counter[tuple[str, str]] = Counter()
    listed: set[tuple[str, str]] = set()
    for _ in range(MAX_DREAMS):
        state = memory.state()
        signals = find_signals(state, Analyzer())
        listed |= {
            (LISTED[signal.kind], line.raw)
            for signal in signals
            if signal.kind in LISTED
            for line in signal.lines
        }
        plan = plan_by_rules(state, signals)
        if not plan.groups:
            break
        for edit in (edit for group in plan.groups for edit in group):
            found.update((edit.kind, change.old) for change in edit.changes if change.does == "line")
        memory.texts |= verify(state, plan.groups)
    return found, listed


def main() -> None:
    """Measure, and print a line for each kind, with what was missed and what was wrong."""
    parser = argparse.ArgumentParser(prog="python -m memex.evals.dream", description=__doc__)
    parser.add_argument("--seeds", type=int, default=3, metavar="N", help="How often each memory is soiled.")
    parser.add_argument("--show", action="store_true", help="Print each miss, and edits of clean memories.")
    parser.add_argument("--by-hand", action="store_true", help="Soil with what was written by hand.")
    parser.add_argument(
        "--unhurt",
        type=int,
        metavar="CHATS",
        help="Only compare what so many chats of BEAM, and the vaults, answer before and after all dreams.",
    )
    asked = parser.parse_args()
    right, missed, listed, wrong, own = (Counter[str]() for _ in range(5))
    try:
        if asked.unhurt is not None:
            logging.configure("warning")
            asyncio.run(compare_before_and_after(find_data_folder(), asked.unhurt))
            return
        soiled = list(memories())
    except MemexError as error:
        raise SystemExit(f"{error.message} {error.hint or ''}") from None
    for name, texts in soiled:
        clean, _ = changed_lines(DirtyMemory(dict(texts)))
        own.update(kind for kind, _ in clean.elements())
        if asked.show:
            for kind, line in clean:
                print(f"own     {kind:12} {name}: {line}")  # noqa: T201  # its output
        for memory in _soiled(name, texts, asked):
            changes, told = changed_lines(memory)
            found, named = ({(kind, _key(line)) for kind, line in lines} for lines in (changes, told))
            for kind in KINDS:
                for lines in memory.dirt.get(kind, ()):
                    is_found = any((kind, _key(line)) in found for line in lines)
                    (right if is_found else missed)[kind] += 1
                    listed[kind] += not is_found and any((kind, _key(line)) in named for line in lines)
                    if asked.show and not is_found:
                        print(f"missed  {kind:12} {name}: {lines[0]}")  # noqa: T201  # its output
                for line in memory.look_alikes.get(kind, ()):
                    if changed := [one for one in KINDS if (one, _key(line)) in found]:
                        wrong[kind] += 1
                        print(f"wrong   {kind:12} {name}: {changed} {line}")  # noqa: T201  # its output
    print("kind          right missed listed  wrong precision  recall   own")  # noqa: T201  # its output
    for kind in KINDS:
        precision = right[kind] / max(1, right[kind] + wrong[kind])
        recall = right[kind] / max(1, right[kind] + missed[kind])
        print(  # noqa: T201  # its output
            f"{kind:12} {right[kind]:6} {missed[kind]:6} {listed[kind]:6} {wrong[kind]:6} {precision:9.3f}"
            f" {recall:7.3f} {own[kind]:5}"
        )


def _soiled(name: str, texts: dict[str, str], asked: argparse.Namespace) -> Iterator[DirtyMemory]:
    """Yield a memory with dirt: that which was written by hand, or as often as there are seeds."""
    if asked.by_hand:
        yield soil_by_hand(texts)
        return
    for seed in range(asked.seeds):
        yield soil(texts, random.Random(f"{name}-{seed}"))  # noqa: S311  # for no secret


def _key(line: str) -> tuple[tuple[str, ...], bool]:
    """Return what equal lines have in common: the words without stamp and links, and whether it is open."""
    return tuple(_WORDS.findall(core(line).casefold())), "[ ]" in line


if __name__ == "__main__":
    main()
