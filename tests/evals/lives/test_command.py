"""`python -m memex.evals.lives`: on a small life, and on what is none."""

import gzip
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.cli.conftest import Memex

LIFE = """\
life: ferryman
language: en
about: Ruben, who rows a ferry.
start: 2027-03-01
texts:
- {id: t1, at: 2027-03-01T08:00, how: digest, text: "The user's ferry leaves at 07:15.", facts: [
    {id: f1, keys: [ferry, "07:15"], kind: fact, aspect: departure}]}
- {id: t2, at: 2027-03-02T08:00, how: message, text: "Thanks a lot!", facts: [], noise: smalltalk}
questions:
- {id: q1, at: 2027-03-03T09:00, text: "When does the ferry leave?",
   expected: [f1], outdated: [], self: true, budget: 600}
"""


@pytest.fixture
def lives(measurement: Callable[[str], Memex]) -> Memex:
    """The command."""
    return measurement("lives")


@pytest.fixture
def life(tmp_path: Path) -> Path:
    """A life of two texts and a question."""
    path = tmp_path / "ferryman.yaml"
    path.write_text(LIFE, encoding="utf-8")
    return path


@pytest.mark.slow
def test_a_life_is_played_and_measured(lives: Memex, life: Path) -> None:
    """As a table of figures with their aims, and as JSON; nothing is left."""
    misses = ("--misses", "lost", "--misses", "small talk kept")
    (shown, document) = lives.both(str(life), *misses)
    figures = document["ferryman"]

    assert figures["lost"] == {"hits": 0, "count": 1, "share": 0, "aim": 0.03}
    assert figures["small talk kept"]["hits"] == 0
    assert figures["evidence in 600 characters"]["share"] == 1
    assert figures["lines in 600 characters"]["mean"] == 2  # the entry beside the statement: it says more
    assert "ferryman: lost" in shown
    row = next(line for line in shown.splitlines() if line.startswith("evidence in 600"))
    assert row.endswith("100 % of 1")
    assert not lives.data_dir.exists()


@pytest.mark.slow
def test_what_is_no_life_ends_with_two(lives: Memex, life: Path, tmp_path: Path) -> None:
    """With what is wrong, and without a trace; no figure is made up."""
    broken = {
        "missing.yaml": (None, "Cannot read"),
        "list.yaml": ("- 1\n", "must be an object"),
        "broken.yaml": ("a: [", "is no YAML"),
        "kind.yaml": (LIFE.replace("kind: fact", "kind: wish"), "kind"),
        "names.yaml": (LIFE.replace("expected: [f1]", "expected: [f9]"), "q1 names f9, which is no fact"),
    }
    for name, (text, _) in broken.items():
        if text is not None:
            (tmp_path / name).write_text(text, encoding="utf-8")
    (tmp_path / "broken.yaml.gz").write_bytes(gzip.compress(b"life: x")[:-9])
    said = {str(tmp_path / name): what for name, (_, what) in broken.items()}
    calls = [([path], what) for path, what in said.items()]
    calls += [
        ([str(tmp_path / "broken.yaml.gz")], "Cannot read"),
        ([str(life), "--sealed"], "None of these lives is sealed"),
    ]
    calls += [([str(life), "--misses", "luck"], "There is no figure 'luck'")]

    for arguments, what in calls:
        done = lives.run(*arguments)
        assert done.code == 2, (arguments, done.out, done.err)
        assert what in done.err
        assert "Traceback" not in done.err
        assert done.out == ""
