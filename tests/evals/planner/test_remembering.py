"""Texts that a model files beside the rules, and what was recorded of one."""

import gzip
from pathlib import Path

import pytest
from tests.kit.model_server import ModelServer, says

from memex.errors import ValidationFailed
from memex.evals.planner.remembering import remember_texts, to_text

TEXTS = ("I am allergic to peanuts.", "The kettle in the hall is blue, and I like that.")


def filed(statement: str, evidence: str) -> dict[str, object]:
    """Return an answer that files a statement as a preference."""
    edit = {"action": "add", "kind": "preference", "statement": statement, "evidence": evidence}
    return {"edits": [edit], "skipped": []}


@pytest.mark.slow
async def test_a_recorded_model_files_what_it_filed(
    model_server: ModelServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The same lines, requests and seconds as when it was asked; it is not asked again."""
    monkeypatch.setenv("OPENAI_BASE_URL", model_server.url)
    monkeypatch.setenv("OPENAI_API_KEY", "-")
    monkeypatch.setenv("MEMEX_MODEL_MODE", "single")
    answers = [
        filed(TEXTS[0], TEXTS[0]),
        filed("The kettle in the hall is blue.", "The kettle in the hall is blue"),
    ]
    model_server.play(*map(says, answers))
    kept = tmp_path / "texts.jsonl"
    asked = await remember_texts(TEXTS, model="openai:small", record=kept)
    packed = tmp_path / "texts.jsonl.gz"
    packed.write_bytes(gzip.compress(kept.read_bytes()))
    played = await remember_texts((), replay=packed)

    assert len(model_server.requests) == 2
    assert played == asked | {"rules": played["rules"]}
    assert (played["model"].texts, played["model"].lines, played["model"].degraded) == (2, 2, 0)
    assert played["rules"].lines == 1
    assert "model: of 2 texts, 2 have a line on a page" in to_text(played)


async def test_a_file_of_something_else_is_no_recording(tmp_path: Path) -> None:
    """It is named, and nothing is told."""
    kept = tmp_path / "texts.jsonl"
    kept.write_text("{}\n")

    with pytest.raises(ValidationFailed, match="holds no recorded texts"):
        await remember_texts((), replay=kept)


TEXTS_TOLD = 100
RECORDED = Path(__file__).parents[3] / "evals/recordings/planner/qwen2.5-coder-1.5b-remember.jsonl.gz"


@pytest.mark.slow
async def test_a_weak_model_files_and_loses_nothing(tmp_path: Path) -> None:
    """Of the true statements that a small model was told, its edits take the place of none.

    What code refuses of its edits is filed as it was told, or stays in the journal: pages hold what the rules file.
    """
    first = tmp_path / "texts.jsonl"
    first.write_bytes(b"\n".join(gzip.decompress(RECORDED.read_bytes()).splitlines()[:TEXTS_TOLD]))
    played = await remember_texts((), replay=first)
    rules, model = played["rules"], played["model"]

    assert (rules.texts, model.texts) == (TEXTS_TOLD, TEXTS_TOLD)
    assert model.replaced == 0
    assert model.filed >= rules.filed
    assert model.requests["requests"] <= 2 * TEXTS_TOLD
