"""Databases that older versions made: upgraded, they have today's schema, and hold all that they held.

`older/make.py` says how they were made.
"""

import gzip
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2
import psycopg
import pytest
from tests.kit.catalogue import catalogue, run
from tests.kit.http_service import Served, serving_http

from memex.errors import StoreUnavailable
from memex.jobs import worker
from memex.jobs.remember_queue import remember_queue
from memex.service.tools.remember_answer import RememberResult
from memex.store.database import Database
from memex.store.identity import tenants
from memex.store.migrate import migrate, migrations

FOLDER = Path(__file__).with_name("older")
COMMITS = sorted(path.name.removesuffix(".sql.gz") for path in FOLDER.glob("*.sql.gz"))
QUICK = (
    "4266a87f",
    "aa83f898",
    "ccf6db8b",
    "f9d0a1e0",
    "fff32001",
)  # each migration, and answers, once in make test
EACH = [pytest.param(one, marks=() if one in QUICK else pytest.mark.slow) for one in COMMITS]
READS = ("memory_find", "memory_read", "memory_context")
SEARCHES = {"sencha": "user/profile.md", "oxidised": "user/notes/tea.md", "hull": "projects/boats/plan.md"}
TEXTS = {
    "user/profile.md": "Likes sencha.\nNot after noon.\n",
    "user/notes/tea.md": "Oolong is partly oxidised.",
    "user/new.md": "To be moved.",
    "user/gone.md": "To be deleted.",
    "projects/boats/plan.md": "Paint the hull in May.",
}


def load(conninfo: str, commit: str) -> None:
    """Put a database of an older version into an empty one."""
    with psycopg.connect(conninfo) as connection:
        connection.execute(gzip.decompress((FOLDER / f"{commit}.sql.gz").read_bytes()))


def calls_of(commit: str) -> list[dict[str, Any]]:
    """Return the calls that the older version answered, with their answers; those of what is gone are left out."""
    found: list[dict[str, Any]] = json.loads(gzip.decompress((FOLDER / f"{commit}.json.gz").read_bytes()))
    return [call for call in found if "tidy" not in call]


def schema(conninfo: str) -> dict[tuple[Any, ...], str]:
    """Return what makes up a schema; a condition that was dumped and loaded has fewer brackets."""
    return {key: str(made).replace("(", "").replace(")", "") for key, made in catalogue(conninfo).items()}


@contextmanager
def alice_of(served: Served) -> Iterator[httpx2.Client]:
    """An agent of the user of the older databases."""
    assert served.service is not None
    made = tenants.create_key(served.service.database, "default", "agent", user_id=None)
    headers = {"Authorization": f"Bearer {served.run(made)[0]}", "Memex-User": "alice"}
    with httpx2.Client(base_url=served.url, headers=headers, timeout=60) as client:
        yield client


def send_again(client: httpx2.Client, call: dict[str, Any]) -> httpx2.Response:
    """Send a call as it was sent to the older version."""
    headers = {"Memex-Tool-Call-Id": call["call"]}
    if "revert" in call:
        return client.post(f"/v1/operations/{call['revert']}/revert", headers=headers)
    if "conversations" in call:
        return client.post("/v1/conversations", content=call["conversations"].encode(), headers=headers)
    body = {"context": {"userId": "alice", "toolCallId": call["call"]}, "arguments": call["arguments"]}
    return client.post(f"/v1/tools/{call['tool']}/execute", json=body)


def find(client: httpx2.Client, query: str) -> str:
    """Return the path of the first hit."""
    body = {"context": {"userId": "alice"}, "arguments": {"query": query}}
    answer = client.post("/v1/tools/memory_find/execute", json=body)
    path: str = answer.json()["hits"][0]["path"]
    return path


def is_kept(call: dict[str, Any]) -> bool:
    """Return whether the log keeps the answer for the call that is sent again; a queued call gets its result."""
    reads = call.get("tool") in READS or call.get("arguments", {}).get("dry_run")
    return not reads and call["answer"].get("status") != "queued"


@pytest.mark.parametrize("commit", EACH)
async def test_an_older_database_gets_the_schema_of_a_new_one(
    commit: str, empty: str, conninfo: str, server: Any
) -> None:
    """Opening it names the command, which runs once."""
    load(empty, commit)
    with pytest.raises(StoreUnavailable) as refused:
        await Database.open(empty)
    await migrate(empty, superuser=server.admin)

    assert "memex service migrate" in refused.value.hint
    assert schema(empty) == schema(conninfo)
    recorded = run(empty, "select name, sha256 from schema_migration order by version")
    assert recorded == [(one.name, one.sha256) for one in migrations()]
    assert await migrate(empty) == []


@pytest.mark.parametrize("commit", EACH)
async def test_an_older_database_is_found_whole(commit: str, empty: str) -> None:
    """Files, search, links and the log; and a call that is sent again is answered as it was then."""
    load(empty, commit)
    await migrate(empty)
    calls = calls_of(commit)
    with serving_http(empty) as served, alice_of(served) as client:
        again = {call["call"]: send_again(client, call) for call in calls if is_kept(call)}
        waiting = [send_again(client, call) for call in calls if not is_kept(call)]
        texts = {path: client.get("/v1/file", params={"path": path}).json()["content"] for path in TEXTS}
        hits = {query: find(client, query) for query in SEARCHES}
        links = client.get("/v1/links", params={"path": "user/profile.md"}).json()["links"]
        logged = [client.get(f"/v1/operations/{call['call']}") for call in calls]
        review = client.get("/v1/review")

    assert {name: answer.status_code for name, answer in again.items()} == dict.fromkeys(again, 200)
    first = {call["call"]: call["answer"] for call in calls if is_kept(call)}
    assert {name: answer.json() for name, answer in again.items()} | _imported(calls) == first | _imported(
        calls
    )
    assert all(answer.status_code == 200 for answer in (*waiting, *logged, review))
    assert all(said in texts[path] for path, said in TEXTS.items())
    assert hits == SEARCHES
    assert [link["source"] for link in links] == ["user/notes/tea.md"]


def _imported(calls: list[dict[str, Any]]) -> dict[str, Any]:
    """Return what stands for the answers of imports, which say anew what was stored before."""
    return {call["call"]: None for call in calls if "conversations" in call}


@pytest.mark.parametrize("commit", ["61eab6e3", "aa83f898"])
async def test_a_call_that_waits_is_carried_out_after_the_upgrade(commit: str, empty: str) -> None:
    """With the job that the older version made."""
    load(empty, commit)
    await migrate(empty)
    with serving_http(empty) as served, alice_of(served) as client:
        assert served.service is not None
        queue = remember_queue(served.service, at_once=1)
        app = worker.open_app(empty, queue)
        app.periodic_registry.periodic_tasks.clear()

        async def work() -> None:
            async with app.open_async():
                await worker.create_worker(app, queue, wait=False).run()

        served.run(work())
        done = send_again(client, calls_of(commit)[-1]).json()
        kept = client.get("/v1/file", params={"path": done["entry"].partition("@")[0]}).json()

    assert done["status"] == "committed"
    assert kept["content"] == "I keep two bees."


def test_answers_of_older_versions_are_read_in_python() -> None:
    """A caller that uses the classes gets them with the members that they have."""
    answers = [
        call["answer"] for one in COMMITS for call in calls_of(one) if call.get("tool") == "memory_remember"
    ]

    read = [RememberResult.model_validate(answer) for answer in answers]

    assert [one.status for one in read] == [answer["status"] for answer in answers]
    assert any("rivals" not in answer for answer in answers)
    assert any("handle" not in rival for answer in answers for rival in answer.get("rivals", ()))
