"""How often each tool waits for Postgres, counted on the wire between a served Memex and the database.

Each wait costs the latency between the service and its Postgres, whatever the machine. A figure that rises here is
felt by each caller.
"""

import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import httpx2
import pytest
from tests.http.conftest import check_problem
from tests.kit.http_service import Served, serving_http

from memex.evals.bench.felt.proxy import CountingProxy, Traffic, counting_proxy
from memex.service.tools.registry import TOOLS
from memex.store.identity import tenants

APPLICATION = "memex"
CALLS = 4  # of each tool; the least counts, as a busy machine can only add
NOTES = {
    "boats/heron": "# Heron\n\nThe mast of Heron has eleven metres. See [[boats/sails]].\n",
    "boats/sails": "# Sails\n\nThe sails are of linen. See [[boats/harbour]].\n",
    "boats/harbour": "# Harbour\n\nThe harbour closes in winter.\n",
    "tea": "# Tea\n\nOolong is brewed at ninety degrees.\n",
    "days/2026-11-02": "# A day\n\nBob repaired the rudder.\n",
    "moving-0": "# Moving\n\nA crate.\n",
    **{f"old-{number}": f"# Old {number}\n\nA broken bell.\n" for number in range(CALLS)},
}

SAID = '{"kind": "chat"}\n{"id": "1", "messages": [{"id": "1", "role": "user", "text": "Linen sails."}]}'

Arguments = dict[str, Any]
Call = tuple[str, Callable[[int], Arguments]]  # the tool, and the arguments of its call with a number

CASES: dict[str, Call] = {
    "find": ("memory_find", lambda _: {"query": "mast of the boat"}),
    "find, nothing there": ("memory_find", lambda _: {"query": "zeppelin"}),
    "find, days": ("memory_find", lambda _: {"query": "rudder in November 2026"}),
    "read": ("memory_read", lambda _: {"path": "user/tea.md"}),
    "list": ("memory_list", lambda _: {}),
    "links": ("memory_links", lambda _: {"path": "user/boats/heron.md"}),
    "history": ("memory_history", lambda _: {"path": "user/tea.md"}),
    "diff": ("memory_diff", lambda _: {"path": "user/edited.md"}),
    "context, no link": ("memory_context", lambda _: {"query": "oolong degrees"}),
    "context, a hop": ("memory_context", lambda _: {"query": "linen sails"}),
    "context, conversations": (
        "memory_context",
        lambda _: {"query": "linen sails", "include": ["conversations"]},
    ),
    "write, new": ("memory_write", lambda n: {"path": f"user/new-{n}.md", "content": "# New\n\nA mast.\n"}),
    "write, over": (
        "memory_write",
        lambda n: {"path": "user/edited.md", "content": f"No {n}.\n", "overwrite": True},
    ),
    "patch": (
        "memory_patch",
        lambda n: {"path": "user/edited.md", "operation": "append", "text": f"Line {n}."},
    ),
    "move": (
        "memory_move",
        lambda n: {"path": f"user/moving-{n}.md", "to": f"user/moving-{n + 1}.md"},
    ),
    "delete": ("memory_delete", lambda n: {"path": f"user/old-{n}.md"}),
    "restore": ("memory_restore", lambda n: {"path": "user/edited.md", "version": 1 + n % 2}),
    "remember": ("memory_remember", lambda n: {"text": f"Paul has {n + 3} canoes."}),
    "remember, three": (
        "memory_remember",
        lambda n: {"text": f"Carla has {n + 3} oars. I prefer oars of ash. The dock is {n} metres long."},
    ),
    # Last, for its notes are in the way of what others find.
    "write many": (
        "memory_write_many",
        lambda n: {
            "edits": [
                {"kind": "write", "path": f"user/many-{n}-{one}.md", "content": "# Many\n\nA mast.\n"}
                for one in range(50)
            ]
        },
    ),
}
BOUNDS = {
    "find": 4,
    "find, nothing there": 3,
    "find, days": 5,
    "read": 4,
    "list": 5,  # one of them counts the journal
    "links": 6,
    "history": 3,
    "diff": 5,
    # Of a context of a small memory, three read the files to which no word leads.
    # One reads which lines newer ones contradict, and the texts of the passages that are looked at.
    "context, no link": 11,
    "context, a hop": 12,
    "context, conversations": 17,
    "write, new": 2,
    "write, over": 2,
    "patch": 2,
    "move": 2,
    "delete": 2,
    "restore": 5,
    # Of each statement, two read the entries that it may contradict.
    "remember": 8,
    "remember, three": 14,
    "write many": 3,
}


@dataclass(frozen=True, slots=True)
class Counted:
    """A client of a served Memex whose connections to the database are counted."""

    client: httpx2.Client
    proxy: CountingProxy

    def call(self, tool: str, arguments: Arguments) -> Traffic:
        """Run a tool, and return what it sent to Postgres."""
        before = self.proxy.traffic(APPLICATION)
        response = self.client.post(f"/v1/tools/{tool}/execute", json={"arguments": arguments})
        check_problem(response)
        assert response.status_code == 200, response.text
        return self.proxy.traffic(APPLICATION) - before


@pytest.fixture(scope="module")
def counted(embedded_server: Any) -> Iterator[Counted]:
    """A Memex with some notes, behind the proxy."""
    name = f"memex_trips_{uuid.uuid4().hex[:12]}"
    conninfo = embedded_server.create(name)
    with counting_proxy(conninfo) as proxy, serving_http(proxy.conninfo) as served:
        key = _key(served)
        headers = {"Authorization": f"Bearer {key}"}
        with httpx2.Client(base_url=served.url, headers=headers, timeout=60) as client:
            counted = Counted(client, proxy)
            for path, content in NOTES.items():
                counted.call("memory_write", {"path": f"user/{path}.md", "content": content})
            for line in ("One.", "Two."):
                arguments = {"path": "user/edited.md", "content": line, "overwrite": True}
                counted.call("memory_write", arguments)
            assert client.post("/v1/conversations", content=SAID).is_success
            yield counted
    embedded_server.drop(name)


def _key(served: Served) -> str:
    assert served.service is not None
    secret, _ = served.run(tenants.create_key(served.service.database, "trips", "agent", user_id="alice"))
    return str(secret)


def test_every_tool_has_a_bound() -> None:
    """A new tool needs a case."""
    assert {tool for tool, _ in CASES.values()} == set(TOOLS)
    assert BOUNDS.keys() == CASES.keys()


@pytest.mark.process
@pytest.mark.parametrize("case", CASES)
def test_a_call_waits_for_postgres_no_more_often_than_its_bound(counted: Counted, case: str) -> None:
    """Over HTTP, from the request to its answer, with the key's look-up and the row of the log."""
    tool, make = CASES[case]

    trips = [counted.call(tool, make(number)).round_trips for number in range(CALLS)]

    assert min(trips) <= BOUNDS[case]
