"""Real vaults, changed at random while they are watched and while they are not: the root ends as the folder is."""

import asyncio
import os
import random
import shutil
import tarfile
from collections.abc import Callable
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
from tests.kit.documents import digest
from tests.kit.property_budget import scaled
from tests.mirror.conftest import Pushing, compared_with_a_fresh_push, watching

from memex.mirror.reading import decode
from memex.subagent.statements.secrets.finding import find_secrets

Make = Callable[..., Pushing]
EVAL_DATA = os.environ.get("MEMEX_EVAL_DATA")
ARCHIVES = ("dendron-site.tar.gz", "foam-docs.tar.gz")
QUERIES = ("note", "vault link", "graph view", "publish the site", "tags", "editor saved", "daily", "schema")
ENDINGS = (".md", ".txt", ".json", ".yaml", ".yml", ".toml", ".rst", ".mdx")
PAUSE_S = 0.5  # longer than a watcher gathers changes
NEW = "# Ünï {number}\r\n\r\neditor saved {number}\n\n```\n# no heading\n```\n"


def expected(folder: Path) -> dict[str, str]:
    """Return the digests of the documents of a folder, by a rule of its own."""
    found = {}
    for file in folder.rglob("*"):
        path = file.relative_to(folder).as_posix()
        is_kept = not any(part in (".git", "dist", "vendor", "build", "node_modules") for part in file.parts)
        if (
            file.suffix not in ENDINGS
            or not file.is_file()
            or not is_kept
            or file.name == "package-lock.json"
        ):
            continue
        text = decode(file.read_bytes())
        if text is not None and len(text.encode()) <= 1 << 20 and not find_secrets(text):
            found[path] = digest(text)
    return found


def change(folder: Path, dice: random.Random, number: int) -> None:
    """Create, edit, save by renaming, move, empty or delete a file, or move a folder."""
    files = sorted(one for one in folder.rglob("*") if one.suffix in ENDINGS and one.is_file())
    file, other = dice.choice(files), dice.choice(files)
    match dice.choice(("create", "copy", "edit", "save", "move", "empty", "delete", "latin", "folder")):
        case "create":
            new = file.parent / f"new-{number}" / f"n{number}.md"
            new.parent.mkdir()
            new.write_text(NEW.format(number=number), newline="")
        case "copy":
            shutil.copy(file, file.with_name(f"{file.name}.bak"))
            shutil.copy(file, file.with_name(f"copy-{number}{file.suffix}"))
        case "edit":
            with file.open("ab") as stream:
                stream.write(f"\n\nedited {number}\n".encode())
        case "save":
            (draft := file.with_name(f".{file.name}.swp")).write_text(f"\ufeffsaved {number}\n")
            draft.replace(file)
        case "move":
            file.rename(other.parent / f"moved-{number}{file.suffix}")
        case "empty":
            file.write_bytes(b"")
        case "delete":
            file.unlink()
        case "latin":
            file.write_bytes(f"Grüße {number}\n".encode("latin-1"))
        case "folder" if file.parent != folder:
            file.parent.rename(file.parent.with_name(f"folder-{number}"))


async def changed_and_compared(pushing: Make, folder: Path, archive: str, changes: int) -> None:
    """Change a vault, with a watcher on and off, killed and started anew; then compare documents and index."""
    with tarfile.open(Path(str(EVAL_DATA)) / "vaults" / archive) as opened:
        opened.extractall(folder, filter="data")
    dice = random.Random(archive)
    pushes = pushing()
    number = 0
    while number < changes:
        async with AsyncExitStack() as stack:
            if dice.random() < 0.7:
                await stack.enter_async_context(watching(pushes))
            for _ in range(dice.randrange(5, 40)):
                change(folder, dice, number := number + 1)
                await asyncio.sleep(dice.choice((0, 0, 0.02, PAUSE_S)))
        # the watcher was killed wherever it was
    await pushes.sync()

    assert await pushes.digests() == expected(folder)
    await compared_with_a_fresh_push(pushing, pushes, QUERIES)


@pytest.mark.skipif(EVAL_DATA is None, reason="MEMEX_EVAL_DATA names no folder of real data")
@pytest.mark.slow
@pytest.mark.parametrize("archive", ARCHIVES)
async def test_a_vault_that_changes_is_mirrored(pushing: Make, folder: Path, archive: str) -> None:
    """After many changes the documents are those of the folder, and its index is that of a fresh push."""
    await changed_and_compared(pushing, folder, archive, scaled(400))
