"""Files of states, and texts in them, that somebody made to do harm, or that just are unusual."""

from pathlib import Path

import pytest

from memex.errors import ValidationFailed
from memex.evals.redaction import Redactor
from memex.evals.states import read_state

MANIFEST = "name: small\npurpose: A file.\nat: 2026-11-20T09:00:00Z\nusers: [alice]\n"


def state(folder: Path, manifest: str = MANIFEST) -> Path:
    """Write a state of one file."""
    (folder / "shared").mkdir(parents=True)
    (folder / "shared" / "a.md").write_text("A.\n", encoding="utf-8")
    (folder / "state.yaml").write_text(manifest, encoding="utf-8")
    return folder


@pytest.mark.parametrize("is_folder", [False, True])
def test_a_link_is_no_file_of_a_state(tmp_path: Path, is_folder: bool) -> None:
    """Else a state could read any file of the machine into a run, or silently lack what is linked."""
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "secret.md").write_text("secret\n", encoding="utf-8")
    folder = state(tmp_path / "small")
    target = tmp_path / "elsewhere" if is_folder else tmp_path / "elsewhere" / "secret.md"
    (folder / "shared" / "b.md").symlink_to(target)

    with pytest.raises(ValidationFailed, match="is a link"):
        read_state(folder)


def test_a_manifest_without_end_is_refused(tmp_path: Path) -> None:
    """A thousand brackets."""
    folder = state(tmp_path / "small", manifest="name: " + "[" * 3_000 + "]" * 3_000)

    with pytest.raises(ValidationFailed, match="nested too deeply"):
        read_state(folder)


@pytest.mark.parametrize("word", ["a", "a.", "-", "a@"])
def test_a_long_word_is_gone_over_once(word: str) -> None:
    """Such as an image in Base64: looked at from each of its characters it would take hours."""
    text = f"{word * 200_000} ada@example.com"

    assert Redactor().text(text).endswith(" <email-1>")


@pytest.mark.parametrize(
    ("text", "redacted"),
    [
        ("ada@example.com+bob@example.org", "<email-1><email-2>"),
        ("ada@example.com,bob@example.org", "<email-1>,<email-2>"),
        ("x@y@example.com", "x@<email-1>"),
        ("@example.com and ada@localhost", "@example.com and ada@localhost"),
        ("björn.o'neil@exämple.co.uk", "björn.o'<email-1>"),
    ],
)
def test_addresses_may_stand_close_together(text: str, redacted: str) -> None:
    """Each goes as far as it reaches."""
    assert Redactor().text(text) == redacted


def test_an_address_that_names_a_file_is_the_one_in_texts() -> None:
    """The ending of the file is no part of it."""
    redactor = Redactor()

    assert redactor.text("Ada is ada@example.com.") == "Ada is <email-1>."
    assert redactor.name("people/ada@example.com.md") == "people/email-1.md"
