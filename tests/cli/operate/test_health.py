"""`memex service health`: what is wrong and what to do, and the figures."""

import pytest
from tests.cli.conftest import Memex
from tests.kit.model_server import says

CHOSEN = says({"lines": [1]})


@pytest.mark.slow
def test_health_shows_checks_calls_and_sizes(memex: Memex) -> None:
    """A memory that works: the exit code is 0, the checks have marks, and the document has the figures."""
    tenant = ("--tenant", "healthy")
    memex.plain("keys", "create", "--role", "admin", *tenant)
    memex.plain("write", "user/tea.md", "--content", "Oolong.", "--user", "ann", *tenant)

    document = memex.json("health", *tenant)
    plain = memex.plain("health", *tenant)

    assert document["ok"]
    assert document["index"]["memories"] == 1
    assert {"queue", "calls", "spending", "disk"} <= {check["name"] for check in document["checks"]}
    assert "✓ disk" in plain
    assert "search index" in plain
    assert "The oldest call in the log is from" in plain
