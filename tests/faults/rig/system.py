"""The system under test: two services, each with a line of its own to one Postgres."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx2
from tests.faults.rig.clients import NAMES, PROJECT, USERS
from tests.faults.rig.clocks import clock_environment
from tests.faults.rig.link import Link
from tests.faults.rig.postgres import PostgresServer, new_server
from tests.faults.rig.replica import Replica


@dataclass(frozen=True)
class System:
    """What faults are made in, and what clients call."""

    server: PostgresServer
    replicas: tuple[Replica, ...]
    links: tuple[Link, ...]

    @property
    def urls(self) -> tuple[str, ...]:
        """Where the services listen."""
        return tuple(replica.url for replica in self.replicas)

    @property
    def key(self) -> str:
        """The key of an agent."""
        return str(self.replicas[0].ready["agent_key"])

    def settle(self) -> None:
        """Give all users their files and the project."""
        admin = {"Authorization": f"Bearer {self.replicas[0].ready['admin_key']}"}
        with httpx2.Client(base_url=self.replicas[0].url, headers=admin, timeout=60) as http:
            http.put(f"/v1/admin/{PROJECT}", json={"title": "Apollo"}).raise_for_status()
            for user in USERS:
                http.put(f"/v1/admin/{PROJECT}/members/{user}").raise_for_status()
        agent = {"Authorization": f"Bearer {self.key}"}
        with httpx2.Client(base_url=self.replicas[1].url, headers=agent, timeout=60) as http:
            for user in USERS:
                paths = [f"user/{name}.md" for name in NAMES]
                paths += [f"{PROJECT}/{name}.md" for name in NAMES] if user == USERS[0] else []
                edits = [{"kind": "write", "path": path, "content": "# First\n"} for path in paths]
                body = {
                    "context": {"userId": user, "toolCallId": f"first-{user}"},
                    "arguments": {"edits": edits},
                }
                http.post("/v1/tools/memory_write_many/execute", json=body).raise_for_status()


FIRST_CALLS = frozenset(f"first-{user}" for user in USERS)


@contextmanager
def two_replicas(folder: Path) -> Iterator[System]:
    """Start Postgres and two services over it, with the files that `Load` works on."""
    with ExitStack() as stack:
        server = stack.enter_context(new_server(folder / "postgres"))
        links = (stack.enter_context(Link(server.port)), stack.enter_context(Link(server.port)))
        replicas = (
            Replica("one", server.url(links[0].port), folder),
            Replica("two", server.url(links[1].port), folder, environment=clock_environment(folder)),
        )
        for replica in replicas:
            stack.callback(replica.kill)
            replica.start()
        system = System(server, replicas, links)
        system.settle()
        yield system
