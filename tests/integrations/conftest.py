"""One Memex for all integrations, in a thread of its own over real HTTP; each test has users of its own on it."""

import uuid
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import certifi
import pytest
from tests.kit.http_service import Served, serving_http
from tests.kit.postgres_servers import Server

from memex import Memex
from memex.api.memex import UserMemory
from memex.store.identity import tenants


@dataclass(frozen=True, slots=True)
class Home:
    """A Memex that runs: its address, an agent's key for any user, and its database."""

    url: str
    key: str
    database_url: str
    served: Served

    def bound_key(self, user: str, *, tenant: str = "default") -> str:
        """Return a key of an agent that is bound to a user."""
        assert self.served.service is not None
        made = tenants.create_key(self.served.service.database, tenant, "agent", user_id=user)
        return self.served.run(made)[0]


@pytest.fixture(scope="module", autouse=True)
def one_authority(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A single certificate in the place of 150, which each new client reads, though it asks only loopback."""
    end = "-----END CERTIFICATE-----\n"
    bundle = tmp_path_factory.mktemp("authority") / "one.pem"
    bundle.write_text(Path(certifi.where()).read_text().partition(end)[0] + end)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SSL_CERT_FILE", str(bundle))
        yield


@pytest.fixture(scope="module")
def home(embedded_server: Server) -> Iterator[Home]:
    """The Memex of a test module."""
    with embedded_server.lend() as lent, serving_http(lent.conninfo) as served:
        assert served.service is not None
        secret, _ = served.run(tenants.create_key(served.service.database, "default", "agent"))
        yield Home(served.url, secret, lent.conninfo, served)


@pytest.fixture
async def memex(home: Home) -> AsyncIterator[Memex]:
    """That Memex from Python."""
    async with Memex(url=home.url, api_key=home.key) as memex:
        yield memex


@pytest.fixture
def user() -> str:
    """A user that only this test has."""
    return f"user-{uuid.uuid4().hex[:8]}"


@pytest.fixture
def memory(memex: Memex, user: str) -> UserMemory:
    """The memory of the test's user."""
    return memex.for_user(user, actor="tests")


def texts_of(messages: list[dict[str, Any]]) -> list[str]:
    """Return the texts of the results that a host appends."""
    return [message.get("content") or message["output"] for message in messages]
