"""`python -m memex.evals.switches`: each mechanism can be taken out of a process, to see what is lost."""

import json
import os
import subprocess
import sys

import pytest

from memex.evals.switches.switches import SWITCHES

COMMAND = [sys.executable, "-m", "memex.evals.switches"]


def run(*arguments: str, **environment: str) -> "subprocess.CompletedProcess[str]":
    """Run the measurement in a process of its own, since it changes the process."""
    environ = {name: value for name, value in os.environ.items() if name != "MEMEX_EVAL_DATA"} | environment
    return subprocess.run(
        [*COMMAND, *arguments], env=environ, capture_output=True, text=True, check=False, timeout=300
    )


def test_each_mechanism_is_where_its_switch_looks_for_it() -> None:
    """All are turned off in one process; a function that was renamed or removed fails."""
    code = "from memex.evals.switches.switches import *; turn_off(list(SWITCHES))"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60
    )

    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.slow
def test_without_data_it_says_so_and_stops() -> None:
    """As every measurement on real data."""
    done = run("--here")

    assert done.returncode == 2
    assert "MEMEX_EVAL_DATA" in done.stderr


@pytest.mark.slow
def test_the_help_says_what_each_mechanism_does() -> None:
    """By the names that the command takes."""
    shown = run("--help").stdout

    assert all(name in shown and switch.does in shown for name, switch in SWITCHES.items())


@pytest.mark.slow
def test_an_unknown_mechanism_is_refused() -> None:
    """With its name."""
    done = run("magic")

    assert done.returncode == 2
    assert "no mechanism 'magic'" in done.stderr


@pytest.mark.slow
@pytest.mark.skipif("MEMEX_EVAL_DATA" not in os.environ, reason="MEMEX_EVAL_DATA names no folder of data")
def test_evidence_is_lost_without_what_finds_it() -> None:
    """One chat by words, with everything and without windows."""
    options = ("--here", "--no-lives", "--chats", "1", "--every", "4")
    data = os.environ["MEMEX_EVAL_DATA"]
    everything, less = (
        json.loads(run(*options, *off, MEMEX_EVAL_DATA=data).stdout) for off in ((), ("window",))
    )

    assert everything.keys() == less.keys()
    assert sum(everything.values()) > sum(less.values())
