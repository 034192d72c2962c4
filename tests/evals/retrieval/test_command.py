"""`python -m memex.evals.retrieval`: on a small data set, and without one."""

import gzip
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.cli.conftest import Memex

DOCUMENTS = [
    {"_id": "A", "title": "Flow", "text": "In pipes and in channels of many kinds, among other things."},
    {"_id": "B", "title": "Heat flow", "text": "Heat flow."},
]


@pytest.fixture
def measured(measurement: Callable[[str], Memex], tmp_path: Path) -> Memex:
    """The command with a small test collection as its data."""
    home = tmp_path / "data" / "cranfield"
    home.mkdir(parents=True)
    queries = [{"_id": "1", "text": "heat flow"}, {"_id": "2", "text": "pipes"}]
    for name, lines in (("corpus", DOCUMENTS), ("queries", queries)):
        with gzip.open(home / f"{name}.jsonl.gz", "wt", encoding="utf-8") as file:
            file.writelines(json.dumps(line) + "\n" for line in lines)
    (home / "qrels-test.tsv").write_text("query-id\tcorpus-id\tscore\n1\tA\t1\n2\tA\t1\n")
    command = measurement("retrieval")
    return command.elsewhere(command.data_dir, MEMEX_EVAL_DATA=str(tmp_path / "data"))


@pytest.mark.slow
def test_a_suite_is_measured_and_compared_with_the_run_before(measured: Memex, tmp_path: Path) -> None:
    """It brings a database of its own, keeps the run, and draws the page; the next run is compared with it."""
    command = ("--suite", "cranfield", "--runs", str(tmp_path / "runs"))

    shown = measured.plain(*command)
    again = measured.json(*command, "--html", str(tmp_path / "page.html"))

    assert "cranfield  2 files, 2 questions" in shown
    assert "at chance" in shown
    [first, second] = sorted((tmp_path / "runs").iterdir())
    assert again["file"] == str(second)
    assert again["comparison"]["run"] == first.name
    assert again["parts"][0]["figures"]["all"]["mrr@10"]["value"] == 0.75
    assert "outcomes" not in again["parts"][0]
    assert [outcome["ranks"] for outcome in json.loads(second.read_text())["parts"][0]["outcomes"]] == [
        [2],
        [1],
    ]
    assert first.name in (tmp_path / "page.html").read_text(encoding="utf-8")
    assert not measured.data_dir.exists()


def test_without_data_nothing_is_measured(measurement: Callable[[str], Memex]) -> None:
    """The variable is named, as text and as JSON, and the exit code is 2."""
    command = measurement("retrieval")
    plain, document = command.run(), command.run("--json")

    assert (plain.code, document.code) == (2, 2)
    assert "MEMEX_EVAL_DATA is not set" in plain.err
    assert json.loads(document.err)["code"] == "VALIDATION_ERROR"
    assert plain.out == document.out == ""


def test_a_run_that_is_none_is_refused_first(measured: Memex, tmp_path: Path) -> None:
    """Before anything is written or asked."""
    done = measured.run("--suite", "cranfield", "--compare", str(tmp_path / "none.json"))

    assert done.code == 1
    assert "none.json" in done.err


def test_reference_says_where_it_differs(measured: Memex) -> None:
    """The published figures are of the real data: on another one they differ, and the exit code is 1."""
    done = measured.run("--suite", "cranfield", "--reference", "--json")

    document = json.loads(done.out)
    assert done.code == 1
    assert not document["agree"]
    assert {figure["measure"] for figure in document["figures"]} == {"ndcg@10", "recall@100", "map@1000"}
