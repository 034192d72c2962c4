"""`memex eval run` and what goes with it: suites, runs, states and captured calls."""

from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import Memex
from tests.evals.fixtures.test_states import write
from tests.kit.model_server import ModelServer, calls

from memex.service.evals.states import load_state, seal

CASES = """\
cases:
- name: allergies
  inputs: {state: small, query: "What am I allergic to?"}
  expected_output: {paths: [user/profile.md], facts: ["I am allergic to peanuts."]}
  metadata: {tags: [plain]}
- name: home
  inputs: {state: small, query: "Where do I live?"}
  expected_output: {facts: ["I live in Berlin."]}
"""


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    """A file of two cases that pass, over a state beside it."""
    seal(write(tmp_path / "small"))
    path = tmp_path / "mine.yaml"
    path.write_text(CASES, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("run", "no-such-suite"), "There is no suite"),
        (("run", "{suite}", "--case", "none"), "There is no case none"),
        (("run", "{suite}", "--compare", "none"), "There is no run 'none'"),
        (("run", "{suite}", "--record", "x"), "--record needs a live model"),
        (("run", "{suite}", "--model", "m", "--planner", "builtin"), "exclude each other"),
        (("run", "{suite}", "--service", "no_such:Thing"), "--service no_such:Thing"),
        (("run", "{suite}", "--recorded", "nowhere"), "recordings of several models or of none"),
        (("runs", "none"), "There is no run 'none'"),
        (("check", "no-such-suite"), "There is no suite"),
    ],
)
def test_misuse_ends_with_two(
    fresh: Memex, suite: Path, tmp_path: Path, arguments: tuple[str, ...], said: str
) -> None:
    """One tells it from cases that fail; nothing is run."""
    given = [argument.format(suite=suite) for argument in arguments]
    kept = () if given[0] == "check" else ("--runs", str(tmp_path / "runs"))

    done = fresh.run("eval", *given, *kept)

    assert done.code == 2, done.err
    assert said in done.err
    assert "Traceback" not in done.err
    assert not (tmp_path / "runs").exists()


def test_what_is_wrong_in_a_file_is_said(fresh: Memex, suite: Path) -> None:
    """All of it, without a database; a file that is fine ends with 0."""
    assert "mine.yaml: 2 cases (2 context), 0 problems" in fresh.plain("eval", "check", str(suite))
    suite.write_text(CASES.replace("facts", "fact"), encoding="utf-8")

    done = fresh.run("eval", "check", str(suite))

    assert done.code == 1
    assert done.out.count("there is no field expected_output.fact") == 2


def test_shipped_states_are_listed_and_own_ones_sealed(fresh: Memex, suite: Path) -> None:
    """A seal is written anew when a change is meant."""
    folder = suite.parent / "small"
    (folder / "shared" / "new.md").write_text("# New\n", encoding="utf-8")

    sealed = fresh.json("eval", "states", "--seal", str(folder))
    listed = fresh.json("eval", "states")

    assert load_state(folder).sha256 == sealed["sha256"]
    assert {"assistant", "empty"} <= {state["name"] for state in listed["states"]}


@pytest.mark.slow
def test_a_live_model_is_recorded_and_played(
    fresh: Memex, suite: Path, tmp_path: Path, model_server: ModelServer
) -> None:
    """The second run asks nobody: it has no key and no address."""
    model_server.play(calls(("answer", {"lines": [1]})), endless=True)
    folder = ("--runs", str(tmp_path / "runs"))
    live = fresh.elsewhere(fresh.data_dir, OPENAI_API_KEY="k", OPENAI_BASE_URL=model_server.url)
    recorded: dict[str, Any] = live.json(
        *("eval", "run", str(suite), *folder, "--model", "openai:small", "--record", str(tmp_path / "kept")),
        *("--concurrency", "1"),
    )
    asked = len(model_server.requests)

    played = fresh.json("eval", "run", str(suite), *folder, "--recorded", str(tmp_path / "kept"))

    assert asked == len(model_server.requests) == 2
    assert played["planner"] == recorded["planner"] == "openai:small"
    assert played["stale"] == []
    assert [case["problems"] for case in played["cases"]] == [case["problems"] for case in recorded["cases"]]
    assert played["figures"]["all"]["requests"]["value"] == 1
