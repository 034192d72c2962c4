"""Secrets where two services share a database: what one is told holds at the other, at once."""

import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from itertools import chain
from typing import Any

import httpx2
import pytest
from tests.kit.http_service import Served, serving_http
from tests.kit.rows import until
from tests.kit.zips import zipped

from memex.jobs.remember_queue import remember_queue
from memex.jobs.worker import running_workers
from memex.service.secrets import scan
from memex.store.identity import tenants
from memex.store.identity.authentication import new_secret

ACTIONS = {"off": [], "flag": ["flagged"], "redact": ["redacted"], "refuse": ["refused"]}
ALL_DONE = "select count(*) = 0 from operation where status = 'queued'"

ClientAt = Callable[..., httpx2.Client]


@pytest.fixture(scope="module")
def conninfo(embedded_server: Any) -> Iterator[str]:
    """The database of both."""
    name = f"memex_secrets_{uuid.uuid4().hex[:12]}"
    yield embedded_server.create(name)
    embedded_server.drop(name)


@pytest.fixture(scope="module")
def replicas(conninfo: str) -> Iterator[tuple[Served, Served]]:
    """Two services, each of which keeps what it looked up."""
    with serving_http(conninfo) as one, serving_http(conninfo) as other:
        yield one, other


@pytest.fixture
def client_at(replicas: tuple[Served, Served], request: pytest.FixtureRequest) -> Iterator[ClientAt]:
    """Return clients of a service, by the role of their key, in a tenant of the test's own."""
    tenant = f"t{uuid.uuid4().hex[:12]}"
    with ExitStack() as stack:

        def client(served: Served, role: str, user_id: str | None = None) -> httpx2.Client:
            assert served.service is not None
            made = tenants.create_key(served.service.database, tenant, role, user_id=user_id)  # type: ignore[arg-type]
            headers = {"Authorization": f"Bearer {served.run(made)[0]}"}
            return stack.enter_context(httpx2.Client(base_url=served.url, headers=headers, timeout=60))

        yield client


def execute(client: httpx2.Client, tool: str, call: str | None = None, **arguments: Any) -> httpx2.Response:
    """Run a tool."""
    context = {"toolCallId": call} if call else {}
    return client.post(f"/v1/tools/{tool}/execute", json={"context": context, "arguments": arguments})


def actions(answer: httpx2.Response) -> list[str]:
    """Return what was done about the secrets of a call."""
    return [one["action"] for one in answer.json().get("secrets", [])]


def test_a_policy_that_one_is_told_holds_at_the_other_at_once(
    replicas: tuple[Served, Served], client_at: ClientAt
) -> None:
    """The first write, text and import after the change heed it, though the other keeps who its callers are."""
    admin, user = client_at(replicas[0], "admin"), client_at(replicas[1], "agent", "ana")
    secret = new_secret()
    execute(user, "memory_write", path="user/first.md", content="tea")

    for policy in ("refuse", "off", "redact", "flag", "refuse"):
        seen = []
        for number, name in enumerate(("write", "remember", "import")):
            # Each kind of call is the first one after a change.
            admin.put("/v1/admin/secrets", json={"remember": "off", "files": "off"})
            execute(user, "memory_write", path=f"user/{policy}-{number}.md", content="tea", overwrite=True)
            admin.put("/v1/admin/secrets", json={"remember": policy, "files": policy})
            if name == "write":
                answer = execute(
                    user, "memory_write", path=f"user/{policy}.md", content=secret, overwrite=True
                )
                seen.append(actions(answer))
            elif name == "remember":
                seen.append(actions(execute(user, "memory_remember", text=f"The key is {secret} today.")))
            else:
                report = user.post(
                    "/v1/import", content=zipped({"key.md": f"Key: {secret}\n".encode()})
                ).json()
                refused = ["refused"] * len(report["refused"])
                seen.append(refused or [one["action"] for one in report["secrets"]])

        assert seen == [ACTIONS[policy]] * 3, policy


def test_a_scan_goes_on_at_the_other(
    replicas: tuple[Served, Served], client_at: ClientAt, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Pages that two services return in turn hold each stored secret once, like those of one."""
    monkeypatch.setattr(scan, "MAX_TEXTS", 3)
    user = client_at(replicas[0], "agent", "ana")
    admins = [client_at(served, "admin") for served in replicas]
    for number in range(11):
        text = f"tea\n{new_secret()}\n" if number % 3 else "tea"
        execute(user, "memory_write", path=f"user/{number:02}.md", content=text)

    def pages(*order: httpx2.Client) -> list[list[str]]:
        found, cursor = [], None
        while True:
            given = {"all_users": True} | ({"cursor": cursor} if cursor else {})
            page = order[len(found) % len(order)].get("/v1/admin/secrets/scan", params=given).json()
            found.append([one["path"] for one in page["secrets"]])
            cursor = page["next_cursor"]
            if cursor is None:
                return found

    in_turn = pages(*admins)

    assert len(in_turn) >= 4
    assert [path for page in in_turn for path in page] == [
        f"user/{number:02}.md" for number in range(11) if number % 3
    ]
    assert in_turn == pages(admins[1], admins[0]) == pages(admins[0])


@pytest.mark.parametrize("policy", ["redact", "refuse"])
def test_a_queued_text_is_looked_at_by_the_policy_of_when_it_is_done(
    replicas: tuple[Served, Served], client_at: ClientAt, conninfo: str, policy: str
) -> None:
    """It was let in as it was; the service that does it heeds what an administrator has said since.

    The secret is then in no row of the log any more, also where the text was refused.
    """
    accepting, working = replicas
    admin, user = client_at(accepting, "admin"), client_at(accepting, "agent", "ana")
    secret = new_secret()
    admin.put("/v1/admin/secrets", json={"remember": "off"})
    text = f"I prefer oolong tea. The deploy key of the build is {secret} today."
    queued = execute(user, "memory_remember", "later", text=text, wait=False).json()
    admin.put("/v1/admin/secrets", json={"remember": policy})

    async def work_off() -> None:
        assert working.service is not None
        async with running_workers(conninfo, remember_queue(working.service)):
            await until(working.service.database, ALL_DONE)

    working.run(work_off())
    call = user.get("/v1/operations/later").json()
    listed = [user.get("/v1/files", params={"prefix": one}).json()["files"] for one in ("", "user/journal/")]
    contents = [
        user.get("/v1/file", params={"path": one["path"]}).json()["content"] for one in chain(*listed)
    ]

    assert queued["status"] == "queued"
    assert [one["action"] for one in call["attempts"][0]["config"]["secrets"]] == ACTIONS[policy]
    assert [len(files) for files in listed] == ([1, 1] if policy == "redact" else [0, 0])
    assert not any(secret in one for one in contents)
    assert secret not in str(call)
