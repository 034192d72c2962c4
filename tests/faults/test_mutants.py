"""Negative controls: without a protection, the tests that are named for it fail; with it they pass."""

import os
import shutil
import subprocess
import sys
import time
import xml.etree.ElementTree as ET
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]
LIST = Path(__file__).parent / "mutants.yaml"
MIN_MUTANTS = 20
SHORT_MUTANTS = 2  # each day others
SECONDS_A_DAY = 86_400
LEFT_OUT = shutil.ignore_patterns(".*", "build", "dist", "*.whl")
LIMIT_S = 900  # of a run that takes seconds on a quiet machine


@dataclass(frozen=True, slots=True)
class Mutant:
    """A protection that is taken away, and the tests that must notice; see `mutants.yaml`."""

    name: str
    why: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]

    def apply(self, root: Path) -> None:
        """Change the source below `root`; fail unless the old text stands there exactly once."""
        path = root / self.file
        text = path.read_text(encoding="utf-8")
        assert text.count(self.old) == 1, (
            f"{self.file} holds the text of {self.name} {text.count(self.old)} times"
        )
        path.write_text(text.replace(self.old, self.new), encoding="utf-8")


MUTANTS = [
    Mutant(**{**given, "tests": tuple(given["tests"])})
    for given in yaml.safe_load(LIST.read_text(encoding="utf-8"))
]


@dataclass(frozen=True, slots=True)
class Outcome:
    """How many tests of a run passed and failed, and how many broke outside of the test itself."""

    passed: int
    failed: int
    broken: int
    said: str


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Take all mutants, or for a short run those of the day."""
    if "mutant" in metafunc.fixturenames:
        chosen = MUTANTS
        if metafunc.config.getoption("--faults") == "short":
            first = int(time.time()) // SECONDS_A_DAY * SHORT_MUTANTS
            chosen = [MUTANTS[(first + at) % len(MUTANTS)] for at in range(SHORT_MUTANTS)]
        metafunc.parametrize("mutant", chosen, ids=lambda mutant: mutant.name.replace(" ", "-"))


@pytest.fixture
def copy(server_folder: Path) -> Iterator[Path]:
    """A copy of the checkout, without its environment and its history."""
    folder = server_folder / "mutant"
    shutil.copytree(ROOT, folder / "source", symlinks=True, ignore=LEFT_OUT)
    yield folder / "source"
    shutil.rmtree(folder)


def run_tests(root: Path, tests: Sequence[str], *options: str) -> Outcome:
    """Run tests of a checkout with the source of that checkout."""
    report = root.parent / "report.xml"
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--junit-xml={report}"]
    done = subprocess.run(
        [*command, "--no-time-limit", *options, *tests],
        cwd=root,
        env={**os.environ, "PYTHONPATH": str(root / "src")},
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )
    assert report.exists(), done.stdout + done.stderr
    suite: Any = ET.parse(report).getroot().find("testsuite")  # noqa: S314  # pytest wrote it
    total, failed, broken, skipped = (
        int(suite.get(name)) for name in ("tests", "failures", "errors", "skipped")
    )
    return Outcome(total - failed - broken - skipped, failed, broken, done.stdout[-4_000:])


def test_each_mutant_can_be_made(tmp_path: Path) -> None:
    """Each text stands in its file once, and each test that is named is there; so the list stays true."""
    assert len(MUTANTS) >= MIN_MUTANTS
    assert len({mutant.name for mutant in MUTANTS}) == len(MUTANTS)
    for mutant in MUTANTS:
        copied = tmp_path / mutant.file
        copied.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / mutant.file, copied)
        mutant.apply(tmp_path)
        assert mutant.old != mutant.new
        assert mutant.why
        for test in mutant.tests:
            file, _, name = test.partition("::")
            assert f"def {name}" in (ROOT / file).read_text(encoding="utf-8"), test


@pytest.mark.faults
def test_what_finds_mutants_passes_without_them(copy: Path, faults: str) -> None:
    """The tests pass on the source as it is: they fail because of the mutants alone."""
    if faults == "short":
        pytest.skip("`make test` has just run them")
    tests = sorted({test for mutant in MUTANTS for test in mutant.tests})

    found = run_tests(copy, tests)

    assert (found.failed, found.broken) == (0, 0), found.said
    assert found.passed >= len(tests)


@pytest.mark.faults
def test_each_mutant_is_found(mutant: Mutant, copy: Path) -> None:
    """Without the protection a test fails, and does not merely break before it begins."""
    mutant.apply(copy)

    found = run_tests(copy, mutant.tests, "--exitfirst")

    assert found.failed > 0, f"Nothing notices that {mutant.why}:\n{found.said}"
    assert found.broken == 0, found.said
