"""A suite is played through the service: written, asked, measured."""

import gzip
import json
from pathlib import Path

import pytest

from memex.errors import ValidationFailed
from memex.evals.retrieval import evaluation, runs
from memex.evals.retrieval.evaluation import RetrievalOptions
from memex.evals.retrieval.runs import QuestionOutcome, RetrievalRun

pytestmark = pytest.mark.embedded_only


def outcomes(run: RetrievalRun, part: str) -> tuple[QuestionOutcome, ...]:
    """Return what became of the questions of a part."""
    return next(one.outcomes for one in run.parts if one.name == part)


async def test_ranks_are_those_of_memory_find(retrieval_data: Path, conninfo: str) -> None:
    """One query's relevant documents are second and, sharing no word with it, nowhere; the other's is first."""
    run = await evaluation.run_suite("cranfield", retrieval_data, RetrievalOptions(database_url=conninfo))

    assert [outcome.ranks for outcome in outcomes(run, "cranfield")] == [(2, None), (1,)]
    figures = run.parts[0].figures["all"]
    assert figures["recall@10"].value == 0.75
    assert figures["mrr@10"].value == 0.75
    assert figures["recall@1"].value == 0.5
    assert figures["context-recall@2000"].value == 1  # a small memory is shown whole
    assert (run.suite, run.parts[0].files, run.config.sample) == ("cranfield", 3, None)


@pytest.mark.slow
async def test_every_suite_is_played(retrieval_data: Path, conninfo: str) -> None:
    """All parts of all suites, each with its questions; paths that are no content are guarded."""
    seen: list[tuple[str, int, int]] = []

    run = await evaluation.run_suite(
        "all",
        retrieval_data,
        RetrievalOptions(database_url=conninfo),
        progress=lambda what, done, total: seen.append((what, done, total)),
    )

    assert [part.name for part in run.parts] == [
        "locomo-sessions",
        "locomo-turns",
        "locomo-plus",
        "beam-user",
        "beam-all",
        "scifact",
        "cranfield",
        "vaults",
        "vaults-linked",
    ]
    assert [part.guard is None for part in run.parts] == [False] * 7 + [True] * 2
    assert ("locomo-turns: asking", 4, 4) in seen
    assert all(outcome.ranks == (None, None) for outcome in outcomes(run, "vaults-linked"))


async def test_turns_are_evidence_of_sessions(retrieval_data: Path, conninfo: str) -> None:
    """A session is found by its turns; a context holds the turns whole, whichever file they are in."""
    run = await evaluation.run_suite("locomo", retrieval_data, RetrievalOptions(database_url=conninfo))

    sessions, turns = outcomes(run, "locomo-sessions"), outcomes(run, "locomo-turns")
    assert [outcome.id for outcome in sessions] == [outcome.id for outcome in turns]
    assert set(sessions[1].ranks) == set(turns[1].ranks) == {1, 2}  # one in each session, and both found
    assert [outcome.contexts[8_000].found for outcome in sessions] == [1, 2, 1, 1]
    assert [outcome.contexts[8_000].found for outcome in turns] == [1, 2, 1, 1]
    assert all(0 < outcome.contexts[2_000].used_chars <= 2_000 for outcome in turns)


@pytest.mark.slow
async def test_what_was_not_written_is_not_found(retrieval_data: Path, conninfo: str) -> None:
    """Among the user's messages that of the assistant has no rank; among all it has one."""
    run = await evaluation.run_suite("beam", retrieval_data, RetrievalOptions(database_url=conninfo))

    user, every = outcomes(run, "beam-user")[1], outcomes(run, "beam-all")[1]
    assert user.ranks == (1, None)
    assert set(every.ranks) == {1, 2}
    assert user.contexts[8_000].found == 1
    assert every.contexts[8_000].found == 2


@pytest.mark.slow
async def test_texts_of_a_vault_stand_in_the_context(retrieval_data: Path, conninfo: str) -> None:
    """A question whose source is there is answered."""
    run = await evaluation.run_suite("vaults", retrieval_data, RetrievalOptions(database_url=conninfo))

    first = outcomes(run, "vaults")[0]
    assert first.ranks == (1,)
    assert (first.contexts[2_000].found, first.contexts[2_000].evidence) == (3, 3)


@pytest.mark.slow
async def test_the_same_run_gives_the_same(retrieval_data: Path, conninfo: str) -> None:
    """Two runs of the same state agree on every question; a sample asks some of them, always the same."""
    first = await evaluation.run_suite("locomo", retrieval_data, RetrievalOptions(database_url=conninfo))
    second = await evaluation.run_suite("locomo", retrieval_data, RetrievalOptions(database_url=conninfo))
    sample = await evaluation.run_suite(
        "locomo", retrieval_data, RetrievalOptions(database_url=conninfo, sample=2)
    )

    assert [part.outcomes for part in first.parts] == [part.outcomes for part in second.parts]
    assert all(len(part.outcomes) == 2 for part in sample.parts)
    compared = runs.compare(first, sample, name="first")
    assert compared.questions == {"locomo-sessions": 2, "locomo-turns": 2}
    assert all(change.value == 0 for change in compared.changes["locomo-turns"]["all"].values())


async def test_foreign_questions_have_less_evidence(retrieval_data: Path, conninfo: str) -> None:
    """Each conversation is asked its own questions and another's, with the names of its own people."""
    path = retrieval_data / "locomo" / "locomo5.json.gz"
    [first] = json.loads(gzip.decompress(path.read_bytes()))
    other = json.loads(json.dumps(first).replace("Ada", "Cleo").replace("Bert", "Dan"))
    other["sample_id"] = "conv-2"
    other["qa"] = [{"question": "Why did Cleo sell her cello?", "evidence": ["D1:1"], "category": 4}]
    with gzip.open(path, "wt", encoding="utf-8") as file:
        json.dump([first, other], file)

    run = await evaluation.run_suite("foreign", retrieval_data, RetrievalOptions(database_url=conninfo))

    [told] = run.foreign
    assert run.parts == ()
    assert (told.own, told.foreign) == (5, 5)
    shares = {outcome.id: outcome.share for outcome in told.outcomes}
    cello = next(one for one in shares if f"f{one}" in shares and shares[one] == min(shares.values()))
    assert shares[f"f{cello}"] < 0.5
    assert max(shares.values()) <= 1
    assert list(told.curve) == sorted(told.curve)
    assert 0 <= told.low <= told.auc <= told.high <= 1


async def test_missing_data_ends_before_anything_is_written(tmp_path: Path, conninfo: str) -> None:
    """The file that is missing is named."""
    with pytest.raises(ValidationFailed, match="scifact/"):
        await evaluation.run_suite("scifact", tmp_path, RetrievalOptions(database_url=conninfo))
