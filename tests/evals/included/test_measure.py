"""Evidence in contexts of a memory that was made from conversations, of the conversations, and of both."""

from pathlib import Path

import pytest

from memex.evals.included.__main__ import tell
from memex.evals.included.measure import measure_part
from memex.evals.retrieval.suites import locomo_turns
from memex.service.service import Service

pytestmark = pytest.mark.embedded_only


@pytest.mark.slow
async def test_memory_holds_what_one_person_said_and_conversations_hold_the_rest(
    service: Service, retrieval_data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Ada's sailing course is a statement of memory; what Bert said stands in the conversations alone."""
    measured = await measure_part(service, locomo_turns(retrieval_data), tell)
    figures = measured.document()

    [made] = measured.memories
    assert made.statements.total() == figures["memory"]["statements"] == 1
    assert sorted(one.held["memory", 2_000] for one in measured.asked) == [0, 0, 0, 1]
    assert [one.own_held["memory", 2_000] for one in measured.asked].count(None) == 2
    assert figures["questions"] == 4
    recall = figures["evidence recall"]
    assert recall["both"]["8000"] >= recall["conversations"]["8000"] > recall["memory"]["8000"] == 25.0
    assert figures["foreign questions"]["asked"] == 0
    assert figures["memory"]["messages"] == 3
    assert "locomo-turns" in capsys.readouterr().err
