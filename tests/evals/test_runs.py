"""Runs of cases: kept, found again, compared, drawn and handed to CI."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from memex.errors import ValidationFailed
from memex.evals import runs
from memex.evals.report import junit, tables
from memex.service.evals.runs import CaseRun, Run
from memex.store.database import Database
from memex.store.identity.tenants import ensure_tenant

STARTED = datetime(2026, 11, 22, 9, 0, tzinfo=UTC)


def a_case(name: str, status: str = "passed", sha256: str = "a", **measures: float) -> CaseRun:
    """Return a case that ended so."""
    passed = float(status in ("passed", "fixed"))
    return CaseRun.model_validate(
        {
            "id": f"context/{name}",
            "kind": "context",
            "state": "small",
            "tags": ["plain"],
            "sha256": sha256,
            "status": status,
            "problems": [] if passed else ["Not in the context: “<b>tea</b>\x00”."],
            "measures": {"passed": passed, "latency-ms": 12.0, "mrr": passed, **measures},
            "asked": "What do I <drink>?",
            "traces": [{"context": "# Tea </pre><script>", "planner": "builtin"}],
        }
    )


def a_run(*cases: CaseRun, minutes: int = 0, suite: str = "all") -> Run:
    """Return a run of these cases."""
    started_at = STARTED + timedelta(minutes=minutes)
    return Run(
        run_id=runs.new_id(suite, started_at),
        suite=suite,
        started_at=started_at,
        duration_s=1.5,
        service="memex",
        planner="builtin",
        options={},
        engine="e1",
        revision=None,
        states={"small": "0" * 64},
        counts=runs.count_groups(cases),
        figures=runs.estimate_figures(cases),
        cases=cases,
    )


def test_figures_are_means_over_the_cases_that_have_them() -> None:
    """By group; a case that does not apply counts nowhere."""
    run = a_run(
        a_case("a"), a_case("b", "failed", abstention=0.0), a_case("c", "known"), a_case("d", "skipped")
    )

    assert run.counts == {"all": 3, "context": 3, "plain": 3}
    assert run.figures["all"]["passed"].value == pytest.approx(1 / 3)
    assert run.figures["plain"]["abstention"].value == 0
    assert run.pass_rate == pytest.approx(100 / 3)
    assert "1 of 3 cases pass" in tables.summary(run)
    assert "1 known failures" in tables.summary(run)


@pytest.mark.slow
def test_a_comparison_names_every_case_that_turned() -> None:
    """Over the cases that are the same in both; others are named and left out."""
    before = a_run(*(a_case(name) for name in "abcdeklm"), a_case("f", "failed"), a_case("g"), a_case("h"))
    after = a_run(
        *(a_case(name, "failed") for name in "abcdeklm"),
        a_case("f"),
        a_case("g", "failed", sha256="b"),
        a_case("i"),
        minutes=1,
    )

    compared = runs.compare(before, after)

    assert compared.regressions == tuple(f"context/{name}" for name in "abcdeklm")
    assert compared.gains == ("context/f",)
    assert compared.changed == ("context/g",)
    assert (compared.added, compared.removed) == (("context/i",), ("context/h",))
    change = compared.changes["all"]["passed"]
    assert (change.gained, change.lost) == (1, 8)
    assert change.value == pytest.approx(-7 / 9)
    assert change.low < change.value < change.high
    assert change.mcnemar == pytest.approx(0.0390625)
    assert tables.verdict("passed", change) == "worse"
    assert tables.verdict("forbidden-fact-rate", change) == "better"


def test_equal_runs_do_not_differ() -> None:
    """No change is beyond noise, and no case has turned."""
    compared = runs.compare(a_run(a_case("a")), a_run(a_case("a"), minutes=1))

    assert compared.regressions == compared.gains == ()
    assert tables.changes(compared).rows == ()


def test_a_run_is_found_by_name_by_path_and_as_the_newest(tmp_path: Path) -> None:
    """Of the same suite; what is no run in the folder is passed over."""
    old, new = a_run(a_case("a")), a_run(a_case("a"), minutes=1)
    other = a_run(a_case("a"), minutes=2, suite="dir/own.yaml")
    paths = [runs.save(run, tmp_path) for run in (new, old, other)]
    (tmp_path / "scifact-20261122T090000Z.json").write_text("{}")

    assert runs.find(old.run_id, tmp_path) == old
    assert runs.find(str(paths[0]), tmp_path) == new
    assert runs.find("last", tmp_path, "all") == new
    assert runs.find("last", tmp_path) == other
    assert runs.find("none", tmp_path) is None
    assert other.run_id.startswith("own-2026")
    assert [one.run_id for one in runs.list_runs(tmp_path)] == [other.run_id, new.run_id, old.run_id]


def test_a_file_that_holds_no_run_is_refused(tmp_path: Path) -> None:
    """The message names it."""
    path = tmp_path / "run.json"
    path.write_text("{}")

    with pytest.raises(ValidationFailed, match=r"run\.json holds no run"):
        runs.load(path)


async def test_runs_are_kept_in_the_database(database: Database) -> None:
    """Whole, listed with what came of them, and each tenant's its own."""
    first, second = await ensure_tenant(database, "one"), await ensure_tenant(database, "two")
    old, new = a_run(a_case("a")), a_run(a_case("a"), a_case("b", "failed"), minutes=1)
    for run in (old, new, new):
        await runs.store(database, first, run)

    listed = await runs.list_stored(database, first, limit=10)

    assert [(one.run_id, one.cases, one.passed, one.failed) for one in listed] == [
        (new.run_id, 2, 1, 1),
        (old.run_id, 1, 1, 0),
    ]
    kept = await runs.load_stored(database, first, old.run_id)
    assert kept is not None
    assert kept.figures == old.figures
    assert await runs.load_stored(database, second, old.run_id) is None


def test_ci_sees_failures_and_known_ones(tmp_path: Path) -> None:
    """JUnit XML that a parser reads, whatever stands in the texts."""
    run = a_run(a_case("a"), a_case("b", "failed"), a_case("c", "known"), a_case("d", "skipped"))

    root = ET.fromstring(junit.render(run))  # noqa: S314  # our own

    [suite] = root
    assert {name: suite.attrib[name] for name in ("tests", "failures", "skipped")} == {
        "tests": "4",
        "failures": "1",
        "skipped": "2",
    }
    failed = suite.find("testcase[@name='b']/failure")
    assert failed is not None
    assert "<b>tea</b>" in failed.attrib["message"]
    assert "What do I <drink>?" in (failed.text or "")


class _Loads(HTMLParser):
    """Notes what a page would load, and its tags."""

    def __init__(self) -> None:
        super().__init__()
        self.loaded: list[str] = []
        self.tags: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note a tag."""
        self.tags.append(tag)
        given: Mapping[str, Any] = dict(attrs)
        self.loaded += [
            given[name] for name in ("src", "href") if given.get(name, "#").startswith("#") is False
        ]


def test_a_page_loads_nothing() -> None:
    """Plots and style are inside; texts of memory are shown and not obeyed; a comparison is drawn."""
    from memex.evals.report import page

    before = a_run(*(a_case(name) for name in "abc"))
    run = a_run(a_case("a"), a_case("b", "failed"), a_case("c", "known"), minutes=1)

    drawn = page.render(run, runs.compare(before, run))

    parser = _Loads()
    parser.feed(drawn)
    assert parser.loaded == []
    assert "script" not in parser.tags
    assert parser.tags.count("svg") == 4
    assert parser.tags.count("details") == 3
    assert "Passed before, and fail now" in drawn
    assert "url(http" not in drawn
