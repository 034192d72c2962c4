"""Real vaults on the command line: imported, asked, exported as they were."""

import os
import tarfile
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
import yaml

EVAL_DATA = os.environ.get("MEMEX_EVAL_DATA")
ASKED = ("states-of-a-checkbox", "faster-lookup-backend")


@pytest.mark.slow
@pytest.mark.skipif(EVAL_DATA is None, reason="MEMEX_EVAL_DATA names no folder of real data")
def test_a_real_vault_goes_in_answers_and_comes_out_again(fresh: Any, tmp_path: Path) -> None:
    """An import takes its notes, `memex context` answers within the budget, and an export has the same bytes."""
    with tarfile.open(Path(str(EVAL_DATA)) / "vaults" / "dendron-site.tar.gz") as archive:
        archive.extractall(tmp_path / "in", filter="data")
    cases = yaml.safe_load((files("memex.evals") / "cases" / "vaults.yaml").read_text(encoding="utf-8"))
    asked = [case for case in cases if case["name"] in ASKED]

    report = fresh.json("import", str(tmp_path / "in"))
    answers = [
        fresh.plain("context", case["question"], "--budget", str(case["budgets"][0])) for case in asked
    ]
    fresh.plain("export", str(tmp_path / "out"), "--from", "user")

    assert report["counts"]["created"] > 1_000
    assert report["counts"]["refused"] == 0
    for case, answer in zip(asked, answers, strict=True):
        assert len(answer) <= case["budgets"][0]
        assert all(fact in answer for fact in case["expect"])
    exported = list((tmp_path / "out").rglob("*.md"))
    assert len(exported) == report["counts"]["created"]
    for path in exported:
        assert path.read_bytes() == (tmp_path / "in" / path.relative_to(tmp_path / "out")).read_bytes()
