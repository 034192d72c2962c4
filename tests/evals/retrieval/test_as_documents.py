"""A suite that is stored as documents: the same texts under the same names, found at the same ranks."""

from pathlib import Path

import pytest

from memex.errors import ValidationFailed
from memex.evals.retrieval import evaluation
from memex.evals.retrieval.evaluation import RetrievalOptions

pytestmark = pytest.mark.embedded_only


async def test_a_suite_that_is_not_stored_as_documents_is_refused(tmp_path: Path) -> None:
    """The message names those that are."""
    with pytest.raises(ValidationFailed) as refused:
        await evaluation.run_suite("locomo", tmp_path, RetrievalOptions(stored_as="documents"))

    assert "scifact" in refused.value.hint
