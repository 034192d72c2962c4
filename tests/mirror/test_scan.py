"""Which files of a folder are documents, and why others are left out; no service is asked."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from memex.errors import ValidationFailed
from memex.mirror.known_files import KnownFiles
from memex.mirror.reading import MAX_TEXT_BYTES, decode
from memex.mirror.rules import PushPatterns
from memex.mirror.scan import FolderScan


@pytest.fixture
def known() -> Iterator[KnownFiles]:
    """What is known of the files, in memory."""
    known = KnownFiles(None)
    yield known
    known.close()


def looked(folder: Path, known: KnownFiles, **patterns: object) -> tuple[list[str], dict[str, str]]:
    """Return the documents of a folder, and the reasons against the others."""
    FolderScan(folder, PushPatterns(**patterns), known).all()  # type: ignore[arg-type]
    documents = [path for path, _, _ in known.documents("", 1_000)]
    return documents, {one["path"]: one["reason"] for one in known.examples(1_000)}


def fill(folder: Path, *paths: str, text: str = "text") -> None:
    """Write files."""
    for path in paths:
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)


def test_patterns_choose_and_what_is_left_out_has_a_reason(folder: Path, known: KnownFiles) -> None:
    """Folders of other people's files, lock files, keys, secrets, links, and what is no text."""
    fill(folder, "a.md", "b.txt", "c/d.yaml", "x.py", "x.md.bak", "x.md", "c.md", "a/z.md", "a-b.md")
    fill(folder, "node_modules/p/README.md", "web/dist/i.json", ".venv/x.txt", ".git/config.toml")
    fill(folder, ".env", "prod.env", ".env.local.json", "key.pem", "package-lock.json", "c/uv.lock")
    (folder / "s.md").write_text("The password is hunter2-Zebra!9\n")
    (folder / "png.md").write_bytes(b"\x89PNG\r\n\x1a\n\0\0")
    (folder / "mixed.md").write_bytes("ü".encode() + b"\xff")
    (folder / "big.md").write_text("a" * (MAX_TEXT_BYTES + 1))
    (folder / "full.md").write_text("a" * MAX_TEXT_BYTES)
    (folder / "inner.md").symlink_to(folder / "a.md")
    (folder / "outer.md").symlink_to("/etc/hostname")
    (folder / "loop").symlink_to(folder)
    (folder / "loop.md").symlink_to(folder / "loop.md")
    os.mkfifo(folder / "pipe.md")
    Path(os.fsdecode(bytes(folder) + b"/caf\xe9.md")).write_text("x")

    documents, reasons = looked(folder, known)

    kept = ["a-b.md", "a.md", "a/z.md", "b.txt", "c.md", "c/d.yaml", "full.md", "x.md"]
    assert documents == kept
    assert reasons == {
        ".env": "env",
        ".env.local.json": "env",
        ".git": "folder",
        ".venv": "folder",
        "big.md": "too_large",
        "c/uv.lock": "lock_file",
        "caf\\udce9.md": "name",
        "inner.md": "link",
        "key.pem": "key",
        "loop.md": "link_out",
        "mixed.md": "encoding",
        "node_modules": "folder",
        "outer.md": "link_out",
        "package-lock.json": "lock_file",
        "pipe.md": "special",
        "png.md": "binary",
        "prod.env": "env",
        "s.md": "secret",
        "web/dist": "folder",
    }


def test_a_hard_link_out_of_the_folder_is_left_out(folder: Path, known: KnownFiles, tmp_path: Path) -> None:
    """Nobody can tell which of its names came first; a file whose names are all in the folder is read."""
    outside = tmp_path / "outside.md"
    outside.write_text("of somebody else")
    fill(folder, "a.md", "c/b.md")
    os.link(folder / "a.md", folder / "c" / "same.md")
    os.link(outside, folder / "c" / "outer.md")

    documents, reasons = looked(folder, known)
    outside.unlink()
    after, _ = looked(folder, known)

    assert documents == ["a.md", "c/b.md", "c/same.md"]
    assert reasons == {"c/outer.md": "link_out"}
    assert after == ["a.md", "c/b.md", "c/outer.md", "c/same.md"]


def test_names_that_nobody_can_see_are_left_out(folder: Path, known: KnownFiles) -> None:
    """Two documents that look the same would be two, and a text could seem to come from another file."""
    fill(folder, "a.md", "a\u200b.md", "x\u202egnp.md", "c\u2028d.md", ".GIT/config.toml")

    documents, reasons = looked(folder, known)

    assert documents == ["a.md"]
    assert sorted(reasons.values()) == ["folder", "name", "name", "name"]


def test_git_decides_file_by_file(folder: Path, known: KnownFiles) -> None:
    """Nested .gitignore files, the ones above the root, and git's own list; the deepest rule counts."""
    (folder / ".git").mkdir()
    fill(folder, ".git/HEAD", text="ref: refs/heads/main\n")
    fill(folder, ".git/info/exclude", text="mine.md\n")
    fill(folder, ".gitignore", text="*.txt\nout/\n/docs/top.md\n")
    fill(folder, "docs/.gitignore", text="!keep.txt\ndeep/*.md\n")
    fill(folder, "docs/keep.txt", "docs/other.txt", "docs/top.md", "docs/deep/a.md", "docs/deep/b.rst")
    fill(folder, "docs/out/a.md", "docs/in.md", "docs/mine.md")

    documents, reasons = looked(folder / "docs", known)

    assert documents == ["deep/b.rst", "in.md", "keep.txt"]
    assert set(reasons.values()) == {"ignored"}
    assert looked(folder / "docs", known, gitignore=False)[0] == sorted(
        ["deep/a.md", "deep/b.rst", "in.md", "keep.txt", "mine.md", "other.txt", "out/a.md", "top.md"]
    )


def test_a_repository_narrows_and_never_widens(folder: Path, known: KnownFiles) -> None:
    """`.memex.toml` excludes, and includes only of what is a document anyway; a person adds patterns."""
    fill(folder, ".memex.toml", text='[docs]\ninclude = ["docs/**", "*.py", ".env"]\nexclude = ["drafts/"]\n')
    fill(folder, "docs/a.md", "docs/drafts/b.md", "README.md", "docs/x.py", ".env", "docs/.env")

    assert looked(folder, known)[0] == ["docs/a.md"]
    assert looked(folder, known, include=("*.py", ".env"))[0] == ["docs/a.md", "docs/x.py"]
    assert looked(folder, known, exclude=("a.md",))[0] == []


def test_a_broken_file_of_a_repository_stops_the_push(folder: Path, known: KnownFiles) -> None:
    """Pushing more than its author wants would be worse."""
    for text in (
        "[docs",
        'docs = "x"',
        '[docs]\ninclude = "x"',
        '[docs]\nexclude = ["../x"]',
        "[docs]\nexclude = [1]",
    ):
        fill(folder, "a.md")
        fill(folder, ".memex.toml", text=text)

        with pytest.raises(ValidationFailed, match=r"\.memex\.toml"):
            looked(folder, known)


def test_texts_are_read_in_their_encodings() -> None:
    """UTF-8 as it is with its mark and line ends, Latin-1, UTF-16; and nothing that is no text."""
    assert decode(b"\xef\xbb\xbfa\r\nb") == "\ufeffa\r\nb"
    assert decode("Grüße\r\n".encode("latin-1")) == "Grüße\r\n"
    assert decode("Grüße".encode("utf-16")) == "Grüße"
    assert decode("Grüße".encode()) == "Grüße"
    assert decode(b"") == ""
    assert [decode(one) for one in (b"a\0b", b"\x89\x01\x02", "ü".encode() + b"\xff")] == [None] * 3


def test_what_cannot_be_read_now_stays_as_it_was(
    folder: Path, known: KnownFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A folder without permission, or a disk that does not answer, deletes nothing."""
    fill(folder, "a.md", "docs/b.md", "docs/deep/c.md")
    looked(folder, known)
    real = os.scandir

    def refusing(path: Path) -> object:
        if Path(path).name == "docs":
            raise PermissionError(13, "Permission denied")
        return real(path)

    monkeypatch.setattr(os, "scandir", refusing)
    documents, reasons = looked(folder, known)

    assert documents == ["a.md", "docs/b.md", "docs/deep/c.md"]
    assert reasons == {"docs": "unreadable"}
    monkeypatch.undo()
    assert looked(folder, known)[1] == {}
