"""Questions about two real vaults: what memory_context recalls of them, by rules alone."""

import hashlib
import os
import tarfile
import tempfile
from collections.abc import Awaitable, Callable
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
import yaml

from memex.service.service import Caller, Service
from memex.service.vaults.vault_import import import_vault
from memex.subagent.context.rendering import RENDERING

CallerOf = Callable[..., Awaitable[Caller]]
EVAL_DATA = os.environ.get("MEMEX_EVAL_DATA")
ARCHIVES = {"dendron": "dendron-site.tar.gz", "foam": "foam-docs.tar.gz"}
ANSWERED = 29  # of 41 at least, at each of their budgets
LINKED = 12  # of the 19 among them that need a page which the matching one links to


async def take(service: Service, caller: Caller, archive: Path) -> None:
    """Import a vault."""
    with tempfile.TemporaryDirectory() as folder:
        with tarfile.open(archive) as opened:
            opened.extractall(folder, filter="data")
        await import_vault(service, caller, Path(folder))


def faults(case: dict[str, Any], found: dict[str, Any]) -> list[str]:
    """Return what an answer lacks: facts, and sources."""
    sources = {source["path"].removeprefix("user/") for source in found["sources"]}
    lacking = [fact for fact in case["expect"] if fact not in found["context"]]
    return lacking + [path for path in case["sources"] if path not in sources]


@pytest.mark.slow
@pytest.mark.skipif(EVAL_DATA is None, reason="MEMEX_EVAL_DATA names no folder of real data")
@pytest.mark.embedded_only
async def test_questions_about_vaults_are_answered(service: Service, caller_of: CallerOf) -> None:
    """Most of them with all facts from the named sources; every span verbatim, none over its budget."""
    cases = yaml.safe_load((files("memex.evals") / "cases" / "vaults.yaml").read_text(encoding="utf-8"))
    callers = {vault: await caller_of(vault) for vault in ARCHIVES}
    for vault, archive in ARCHIVES.items():
        await take(service, callers[vault], Path(str(EVAL_DATA)) / "vaults" / archive)
    failed: dict[str, list[str]] = {}
    texts: dict[tuple[str, str, int], str] = {}
    for case in cases:
        caller = callers[case["vault"]]
        for budget in case["budgets"]:
            arguments = {"query": case["question"], "budget": budget}
            found = await service.execute(caller, "memory_context", arguments)
            if lacking := faults(case, found):
                failed[case["name"]] = lacking
            assert found["budget"]["used"] == len(found["context"]) <= budget
            for source in found["sources"]:
                key = case["vault"], source["path"], source["version"]
                if key not in texts:
                    read = {"path": source["path"], "version": source["version"]}
                    texts[key] = (await service.execute(caller, "memory_read", read))["content"]
                for span in source["spans"]:
                    text = texts[key][span["start"] : span["end"]]
                    assert hashlib.sha256(text.encode()).hexdigest() == span["sha256"]
                    assert RENDERING.render(text) in found["context"]

    linked = [case["name"] for case in cases if case.get("linked")]
    assert len(cases) - len(failed) >= ANSWERED, failed
    assert len(linked) - len(failed.keys() & set(linked)) >= LINKED, failed
