"""`memex eval run` and what goes with it: suites, runs, states and captured calls."""

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
import yaml
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
WRONG = CASES.replace("expected_output: {facts: [", "expected_output: {not_facts: [")


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    """A file of two cases that pass, over a state beside it."""
    seal(write(tmp_path / "small"))
    path = tmp_path / "mine.yaml"
    path.write_text(CASES, encoding="utf-8")
    return path


@pytest.mark.slow
def test_a_suite_is_run_on_a_server_of_its_own(fresh: Memex, suite: Path, tmp_path: Path) -> None:
    """Nothing is left but the file of the run."""
    shown = fresh.plain("eval", "run", str(suite), "--runs", str(tmp_path / "runs"))

    assert "2 of 2 cases pass (100.0 %)" in shown
    assert [path.suffix for path in (tmp_path / "runs").iterdir()] == [".json"]
    assert not fresh.data_dir.exists()


@pytest.mark.slow
@pytest.mark.usefixtures("server_up")
def test_a_suite_is_run_compared_and_handed_to_ci(memex: Memex, suite: Path, tmp_path: Path) -> None:
    """A run that is fine ends with 0, one with a failed case with 1; each is kept, and told from the one before."""
    kept = ("--own-database", "--runs", str(tmp_path / "runs"))
    first = memex.json("eval", "run", str(suite), *kept, "--compare", "last")
    suite.write_text(CASES.replace("Where do I live?", "Where is it that I live?"), encoding="utf-8")
    memex.plain("eval", "run", str(suite), *kept, "--compare", "last")
    suite.write_text(CASES, encoding="utf-8")

    again = memex.run(
        *("eval", "run", str(suite), *kept, "--compare", first["run_id"]),
        *("--html", str(tmp_path / "page.html"), "--junit", str(tmp_path / "junit.xml")),
    )
    suite.write_text(WRONG, encoding="utf-8")
    wrong = memex.run("eval", "run", str(suite), *kept)
    lenient = memex.run("eval", "run", str(suite), *kept, "--threshold", "50")
    one = memex.json("eval", "run", str(suite), *kept, "--tag", "plain", "--planner", "builtin")
    listed = memex.json("eval", "runs", *kept)

    assert first["pass_rate"] == 100
    assert first["comparison"] is None
    assert first["figures"]["all"]["fact-recall"]["value"] == 1
    assert again.code == 0, again.err
    assert "2 of 2 cases pass (100.0 %)" in again.out
    assert "over 2 cases" in again.out
    assert ET.parse(tmp_path / "junit.xml").getroot()[0].attrib["tests"] == "2"  # noqa: S314  # our own
    assert first["run_id"] in (tmp_path / "page.html").read_text(encoding="utf-8")
    assert wrong.code == 1
    assert "context/home" in wrong.out
    assert "In the context: “I live in Berlin.”" in wrong.out
    assert lenient.code == 0
    assert [case["id"] for case in one["cases"]] == ["context/allergies"]
    assert len(listed["runs"]) >= 6
    shown = memex.plain("eval", "runs", first["run_id"], *kept)
    assert "2 of 2 cases pass" in shown


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
@pytest.mark.usefixtures("server_up")
def test_runs_are_kept_in_the_own_database(memex: Memex, suite: Path, tmp_path: Path) -> None:
    """States stand in tenants beside live memory, which stays as it was; runs are listed from there."""
    memex.plain("remember", "I like oolong tea.")
    before = memex.json("list")
    made = memex.json("eval", "run", str(suite), "--own-database", "--runs", str(tmp_path / "one"))

    elsewhere = ("--own-database", "--runs", str(tmp_path / "two"))
    listed = memex.json("eval", "runs", *elsewhere)
    again = memex.json("eval", "run", str(suite), *elsewhere, "--compare", made["run_id"])

    assert (made["run_id"], "database") in [(run["run_id"], run["where"]) for run in listed["runs"]]
    assert again["comparison"]["run_id"] == made["run_id"]
    assert memex.json("list")["files"] == before["files"]


@pytest.mark.slow
@pytest.mark.usefixtures("server_up")
def test_live_memory_becomes_a_state_and_its_calls_cases(memex: Memex, tmp_path: Path) -> None:
    """As it stood then, without addresses; the cases pass as they are, and the log keeps the calls."""
    ada = ("--user", "ada")
    memex.plain("remember", "I live in Oslo. My e-mail is ada@example.com.", *ada)
    asked = memex.json("context", "Where do I live?", "--tool-call-id", "asked", *ada)
    memex.plain("remember", "I live in Bergen now. Write to ada@example.com.", "--tool-call-id", "told", *ada)
    (tmp_path / "own.yaml").write_text("- {literal: Oslo, with: Tromsø}\n", encoding="utf-8")
    own = ("--redact", str(tmp_path / "own.yaml"))

    frozen = memex.json("eval", "freeze", "mine", "--to", str(tmp_path / "mine"), *own, *ada)
    refused = memex.run("eval", "freeze", "mine", "--to", str(tmp_path / "mine"))
    plain = memex.json(
        *("eval", "freeze", "then", "--to", str(tmp_path / "then"), "--no-redact", *ada),
        *("--as-of", json.dumps(asked["state"])),
    )
    for call in ("asked", "told"):
        memex.plain("eval", "capture", call, "--to", str(tmp_path / "cases"), *own, *ada)
    chosen = ("--name", "chosen", "--passage", "1", "--fact", "I live in Tromsø.")
    memex.plain("eval", "capture", "asked", "--to", str(tmp_path / "cases"), *chosen, *own, *ada)
    unknown = memex.run("eval", "capture", "nothing", "--to", str(tmp_path / "cases"), *ada)
    done = memex.json(
        "eval", "run", str(tmp_path / "cases"), "--own-database", "--runs", str(tmp_path / "runs")
    )

    now = load_state(tmp_path / "mine").seen_by("ada")
    assert frozen["values"] == {"email": 1}
    assert "<email-1>" in "".join(now.values())
    assert "ada@" not in "".join(now.values())
    assert "Bergen" in now["user/profile.md"]
    assert refused.code == 1
    assert "is not empty" in refused.err
    then = load_state(tmp_path / "then").seen_by("ada")
    assert plain["replaced"] == {}
    assert "Oslo" in then["user/profile.md"]
    assert "ada@example.com" in then["user/profile.md"]
    assert unknown.code == 1
    assert [(case["id"], case["status"]) for case in done["cases"]] == [
        ("context/asked", "passed"),
        ("context/chosen", "passed"),
        ("remember/told", "passed"),
    ]
    [told] = yaml.safe_load((tmp_path / "cases" / "told.yaml").read_text(encoding="utf-8"))["cases"]
    assert told["inputs"]["text"] == "I live in Bergen now. Write to <email-1>."
    assert any("Tromsø" in text for text in told["expected_output"]["absent"]["user/profile.md"])
    pruned = memex.json("log", "prune", "--older-than", "0h")
    assert pruned["calls"] > 0
    assert memex.json("log", "asked", *ada)["attempts"]


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
