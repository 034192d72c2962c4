"""Erased words in the test cases that a service keeps, and in their states of memory."""

import asyncio
from pathlib import Path

from memex.service.evals.states import MANIFEST, seal
from memex.store.upkeep.words.digests import ErasedWords


async def fill(folder: Path | None, words: ErasedWords, *, is_dry_run: bool = False) -> dict[str, int]:
    """Put a filler in the place of the words in all cases below a folder; return how many files hold them."""
    count = 0 if folder is None else await asyncio.to_thread(_fill, folder, words, is_dry_run)
    return {"case_files": count} if count else {}


def _fill(folder: Path, words: ErasedWords, is_dry_run: bool) -> int:
    count = 0
    for path in sorted([*folder.rglob("*.yaml"), *folder.rglob("*.md")]):
        text = path.read_text(encoding="utf-8", errors="surrogateescape")
        place, filled = folder / words.fill(str(path.relative_to(folder))), words.fill(text)
        if (filled, place) == (text, path):
            continue
        count += 1
        if not is_dry_run:
            place.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(filled, encoding="utf-8", errors="surrogateescape")
            path.rename(place)
    for manifest in sorted(folder.rglob(MANIFEST)) if count and not is_dry_run else ():
        seal(manifest.parent)
    return count
