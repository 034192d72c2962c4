"""That the tests stay quick: what happens to a test that takes too long."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.time_limit import slowness

OPTIONS = ["-rA", "-p", "no:cacheprovider"]
CONFTEST = """
from tests.time_limit import TimeLimit

def pytest_configure(config):
    config.addinivalue_line("markers", "slow: may take longer")
    config.pluginmanager.register(TimeLimit(limit_s={limit_s}, slowness={slowness}))
"""
TESTS = """
import time
import pytest

def test_quick():
    pass

def test_long():
    time.sleep({took_s})

@pytest.mark.slow
def test_long_and_marked():
    time.sleep({took_s})

def test_wrong():
    time.sleep({took_s})
    assert False, "its own failure"
"""


def outcomes(folder: Path, *, took_s: float, limit_s: float, slowness: float) -> str:
    """Return what pytest prints about tests that take a time under a limit."""
    (folder / "conftest.py").write_text(CONFTEST.format(limit_s=limit_s, slowness=slowness))
    (folder / "test_times.py").write_text(TESTS.format(took_s=took_s))
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *OPTIONS, f"--rootdir={folder}", str(folder)],
        cwd=folder,
        env={
            **os.environ,
            "PYTHONPATH": str(Path(__file__).parents[1]),
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
            "PYTEST_ADDOPTS": "",
        },
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    return done.stdout


def test_a_test_over_the_limit_fails_unless_it_is_slow(tmp_path: Path) -> None:
    """The message says what to do; a quick test passes, and one that is wrong keeps its own failure."""
    printed = outcomes(tmp_path, took_s=0.5, limit_s=0.001, slowness=1)

    assert "PASSED test_times.py::test_quick" in printed
    assert "PASSED test_times.py::test_long_and_marked" in printed
    assert "FAILED test_times.py::test_long - Failed: The test took 0.5 s" in printed
    assert "mark it with @pytest.mark.slow" in printed
    assert "FAILED test_times.py::test_wrong - AssertionError: its own failure" in printed


@pytest.mark.slow
def test_a_slow_machine_has_more_time(tmp_path: Path) -> None:
    """A test fails only after the limit times what the machine takes longer than a quiet one."""
    printed = outcomes(tmp_path, took_s=0.2, limit_s=0.1, slowness=1_000)

    assert "PASSED test_times.py::test_long" in printed


def test_a_busy_machine_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where four programs wait for each core, a test may take at least four times as long."""
    monkeypatch.setattr("os.getloadavg", lambda: (8.0, 0.0, 0.0))
    monkeypatch.setattr("os.cpu_count", lambda: 2)

    assert slowness() >= 4
