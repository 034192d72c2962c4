"""Folders are pushed over HTTP: what is stored is what the folder holds."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.mirror.conftest import Pushing

from memex.errors import MostlyGone

Make = Callable[..., Pushing]


def put(folder: Path, **files: str) -> None:
    """Write files; `__` in a name is a slash, and the ending is md."""
    for name, text in files.items():
        path = folder / (name.replace("__", "/") + ".md")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


async def test_a_root_follows_its_folder(pushing: Make, folder: Path) -> None:
    """New, changed, moved, emptied and deleted files; what is unchanged is not sent again."""
    put(folder, README="# Tea", docs__a="# Oolong\n\nSteep it.", docs__b="b", docs__c="c")
    pushes = pushing()
    first = await pushes.sync()
    (folder / "docs" / "a.md").rename(folder / "moved.md")
    put(folder, docs__b="", docs__c="other")
    (folder / "README.md").unlink()
    second = await pushes.sync()
    third = await pushes.sync()

    assert (first.created, first.documents) == (4, 4)
    assert (second.renamed, second.changed, second.removed, second.created) == (1, 2, 1, 0)
    assert not any((third.created, third.changed, third.renamed, third.removed, third.refused_files))
    assert await pushes.stored() == {
        "docs/b.md": "",
        "docs/c.md": "other",
        "moved.md": "# Oolong\n\nSteep it.",
    }
    assert [one.document.path for one in (await pushes.documents.find("steep")).hits] == ["moved.md"]


async def test_content_decides_and_not_the_time(pushing: Make, folder: Path) -> None:
    """A text of the same length with the time of the one before is found; a touched file is not sent."""
    put(folder, a="one", b="same")
    pushes = pushing()
    await pushes.sync()
    before = (folder / "a.md").stat()
    put(folder, a="two")
    os.utime(folder / "a.md", ns=(before.st_atime_ns, before.st_mtime_ns))
    os.utime(folder / "b.md")
    done = await pushes.sync()

    assert (done.changed, done.unchanged) == (1, 1)
    assert (await pushes.stored())["a.md"] == "two"


async def test_most_of_a_folder_is_not_removed_unless_that_is_meant(pushing: Make, folder: Path) -> None:
    """An empty folder removes nothing; with `prune` it does."""
    put(folder, a="a", b="b", c="c")
    pushes = pushing()
    await pushes.sync()
    for name in "abc":
        (folder / f"{name}.md").unlink()

    with pytest.raises(MostlyGone):
        await pushes.sync()
    assert len(await pushes.stored()) == 3

    pushes.push.prune = True
    assert (await pushes.sync()).removed == 3
