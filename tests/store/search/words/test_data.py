"""Words of data in the index: what counts as one, that people lose none, and how large the index gets."""

import base64
import gzip
import json
import os
import random
import tarfile
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from memex.service.service import Caller, Service
from memex.store import markdown
from memex.store.search import chunks
from memex.store.search.analyzer import Analyzer
from memex.store.search.chunks import Chunk
from memex.store.search.words.data import KEPT_WORDS, MAX_MIXED_WORDS, surplus_words, word_kind

EVAL_DATA = os.environ.get("MEMEX_EVAL_DATA")
ANALYZER = Analyzer()
MAX_CHARS = (1 << 18) - 100  # of each text whose index is measured
MAX_GROWTH = 6
DERIVED = "'posting', 'chunk', 'revision'"

KINDS = {
    "plain": (
        "boat python3 rs1799724 3p21 H2O 2026 123456 SKU1234 getUser2 v2 500K 10px 16th naïve2x2 2024年3月22日"
    ),
    "number": "0301234567 1234567 1732450000123",
    "mixed": "a3f2bc91 18299fc28f47 1acc ab12 DEADBEEF01 tFgW6xQ7 eyJ0eXAiOiJKV1Qi 2H9v1h1v 0137942850138467",
}


def test_words_have_the_kind_that_they_look_like() -> None:
    """Names with a number, years and dates are no data; hexadecimal and encoded words are."""
    wrong = {word: kind for kind, words in KINDS.items() for word in words.split() if word_kind(word) != kind}

    assert wrong == {}


def test_a_passage_of_data_gives_its_first_data_words_and_all_others() -> None:
    """One word more than the bound, and only the first ones are found; whatever else the passage says stays."""
    words = [
        f"{number:08x}" for number in random.Random(1).sample(range(1 << 28, 1 << 32), MAX_MIXED_WORDS + 1)
    ]
    within = f"orders of Anna {' '.join(words[:-1])} rudder"
    beyond = f"orders of Anna {' '.join(words)} rudder"

    assert ANALYZER.passage_lexemes(within) == ANALYZER.lexemes(within)
    assert ANALYZER.passage_lexemes(beyond) == ANALYZER.lexemes(
        f"orders of Anna {' '.join(words[:KEPT_WORDS])} rudder"
    )


def test_repeated_words_count_once() -> None:
    """A log that names two identifiers a hundred times is no data."""
    text = "a3f2bc91 started, 18299fc28f47 stopped. " * 30

    assert ANALYZER.passage_lexemes(text) == ANALYZER.lexemes(text)
    assert not surplus_words([("a3f2bc91", "mixed")] * 1_000)


@pytest.mark.skipif(EVAL_DATA is None, reason="MEMEX_EVAL_DATA names no folder of real data")
@pytest.mark.slow
def test_passages_of_people_are_indexed_whole() -> None:
    """No passage of two public vaults and of LoCoMo loses a word, so each score is as without the bound."""
    changed = {
        source
        for source, chunk in _real_passages(Path(str(EVAL_DATA)))
        if ANALYZER.passage_lexemes(chunk.indexed_text) != ANALYZER.lexemes(chunk.indexed_text)
    }

    assert changed == set()


@pytest.mark.slow
@pytest.mark.embedded_only
@pytest.mark.parametrize("kind", ["base64", "hexadecimal", "lines", "uuids", "json", "numbers"])
async def test_data_makes_the_database_grow_by_a_few_times_its_size(
    service: Service, alice: Caller, kind: str
) -> None:
    """Text, passages and postings together; without the bound it was 15 to 30 times."""
    text = _data(kind)
    await service.execute(alice, "memory_write", {"path": "user/first.md", "content": "A rudder."})
    before = await _stored_bytes(service)

    await service.execute(alice, "memory_write", {"path": "user/data.md", "content": text})

    assert (await _stored_bytes(service) - before) / len(text) <= MAX_GROWTH


def _data(kind: str) -> str:
    chance = random.Random(3)
    makers: dict[str, tuple[Callable[[], str], str]] = {
        "hexadecimal": (lambda: f"{chance.getrandbits(32):08x}", " "),
        "lines": (lambda: f"{chance.getrandbits(256):064x}", "\n"),
        "base64": (lambda: base64.b64encode(chance.randbytes(57)).decode(), "\n"),
        "uuids": (lambda: str(uuid.UUID(int=chance.getrandbits(128))), "\n"),
        "json": (lambda: json.dumps(_record(chance), separators=(",", ":")), ","),
        "numbers": (lambda: f"{chance.getrandbits(30):09d}", " "),
    }
    make, separator = makers[kind]
    parts, size = [], 0
    while size < MAX_CHARS:
        parts.append(make())
        size += len(parts[-1]) + 1
    return separator.join(parts)


def _record(chance: random.Random) -> dict[str, object]:
    return {
        "id": str(uuid.UUID(int=chance.getrandbits(128))),
        "at": chance.randrange(1 << 31),
        "user": f"{chance.getrandbits(40):x}",
        "score": chance.random(),
        "tags": [chance.choice(["red", "green", "blue"])],
    }


async def _stored_bytes(service: Service) -> int:
    async with service.database.maintenance() as connection:
        cursor = await connection.execute(
            f"select sum(pg_total_relation_size(oid))::bigint as bytes from pg_class where relname in ({DERIVED})"  # noqa: S608  # our own words
        )
        return int((await cursor.fetchall())[0]["bytes"])


def _real_passages(folder: Path) -> Iterator[tuple[str, Chunk]]:
    for vault in ("dendron-site", "foam-docs"):
        with tarfile.open(folder / f"vaults/{vault}.tar.gz") as archive:
            for member in archive:
                if member.isfile() and member.name.endswith(".md") and (file := archive.extractfile(member)):
                    yield from _passages(vault, member.name, file.read().decode())
    talks = json.loads(gzip.decompress((folder / "locomo/locomo5.json.gz").read_bytes()))
    for number, talk in enumerate(talks):
        yield from _passages("locomo", f"{number}.md", "\n\n".join(_texts(talk)))


def _passages(source: str, path: str, text: str) -> Iterator[tuple[str, Chunk]]:
    document = markdown.parse(text)
    for chunk in chunks.split(path, text, markdown.describe(path, document), document):
        yield source, chunk


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for part in value.values():
            yield from _texts(part)
    elif isinstance(value, list):
        for part in value:
            yield from _texts(part)
