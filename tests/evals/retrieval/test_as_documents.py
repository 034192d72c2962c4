"""A suite that is stored as documents: the same texts under the same names, found at the same ranks."""

from pathlib import Path

import pytest

from memex.errors import ValidationFailed
from memex.evals.retrieval import evaluation, page
from memex.evals.retrieval.evaluation import RetrievalOptions

pytestmark = pytest.mark.embedded_only


@pytest.mark.slow
async def test_documents_are_ranked_as_files_are(retrieval_data: Path, conninfo: str) -> None:
    """By the same engine; no context is asked for."""
    as_files = await evaluation.run_suite("scifact", retrieval_data, RetrievalOptions(database_url=conninfo))
    run = await evaluation.run_suite(
        "scifact", retrieval_data, RetrievalOptions(stored_as="documents", database_url=conninfo)
    )

    [part], [files] = run.parts, as_files.parts
    assert [one.ranks for one in part.outcomes] == [one.ranks for one in files.outcomes]
    assert (run.suite, run.tool, part.files) == ("scifact-documents", "document_find", files.files)
    assert "document_find" in page.render(run, None, None)


async def test_a_suite_that_is_not_stored_as_documents_is_refused(tmp_path: Path) -> None:
    """The message names those that are."""
    with pytest.raises(ValidationFailed) as refused:
        await evaluation.run_suite("locomo", tmp_path, RetrievalOptions(stored_as="documents"))

    assert "scifact" in refused.value.hint
