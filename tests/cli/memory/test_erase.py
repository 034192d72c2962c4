"""`memex erase`: a preview, a receipt in a file, and `memex erasure verify`, which checks it."""

import json
from pathlib import Path

import pytest
from tests.cli.conftest import Memex

pytestmark = pytest.mark.usefixtures("server_up")


def test_words_are_erased_once_that_is_confirmed(memex: Memex, tmp_path: Path) -> None:
    """Without --yes nothing is erased; the receipt is checked, and one that was changed is not known."""
    nina, receipt = ("--user", "nina"), tmp_path / "receipt.json"
    memex.plain("remember", "I prefer quetzalcoatl tea.", *nina)

    shown = memex.plain("erase", "quetzalcoatl", "--dry-run", *nina)
    asked = memex.run("erase", "quetzalcoatl", *nina)
    kept = memex.plain("read", "user/preferences.md", *nina)
    done = memex.plain("erase", "quetzalcoatl", "--yes", "--receipt", str(receipt), *nina)
    left = memex.plain("read", "user/preferences.md", *nina)
    checked = memex.plain("erasure", "verify", str(receipt))  # the receipt names nina

    assert "Would be erased for good (text):\n    quetzalcoatl\n" in shown
    assert (asked.code, "Nothing was erased." in asked.out) == (3, True)
    assert "Would be erased for good (text):\n    quetzalcoatl\n" in asked.out
    assert "quetzalcoatl" in kept
    assert done.startswith("Erased, at ")
    assert "I prefer ████████████ tea." in left
    assert "The database has this receipt.\nThe words stand nowhere.\n" in checked
    told = json.loads(receipt.read_text())
    assert "quetzalcoatl" not in receipt.read_text()
    receipt.write_text(json.dumps(told | {"counts": {}}))
    assert memex.run("erasure", "verify", str(receipt), *nina).code == 1
    assert memex.plain("erase", "quetzalcoatl", *nina).startswith("Nothing holds these words.")
    assert memex.run("erasure", "verify", str(tmp_path / "none.json"), *nina).code == 1
    assert (memex.data_dir / "erasures.jsonl").stat().st_mode & 0o777 == 0o600


@pytest.mark.slow
def test_a_target_is_taken_for_what_it_looks_like(memex: Memex) -> None:
    """A path, the id of a removed line and the id of a call are found by themselves; --as says another thing."""
    olga = ("--user", "olga")
    memex.plain("remember", "I live in Lisbon.", "--tool-call-id", "told", *olga)
    memex.plain("remember", "I live in Porto now.", *olga)
    [line] = memex.json("removed", *olga)["lines"]

    kinds = [
        memex.json("erase", target, "--dry-run", *more, *olga)["target"]
        for target, *more in (
            ("user/profile.md",),
            (line["id"],),
            ("told",),
            ("Lisbon",),
            ("I live in Porto",),
            ("told", "--as", "text"),
        )
    ]

    assert kinds == ["path", "statement", "call", "text", "text", "text"]
