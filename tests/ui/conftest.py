"""One Memex over real HTTP for the tests of the web UI, and browsers that are signed in to it."""

import re
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from html import unescape
from typing import Any

import httpx2
import pytest
from tests.kit.http_service import Served, serving_http

from memex.settings import Settings
from memex.store.access import Role
from memex.store.identity import sessions, tenants
from memex.ui.security import COOKIE, HEADERS, TOKEN_FIELD, USER_FIELD

TOKEN = re.compile(rf'name="{TOKEN_FIELD}" value="([0-9a-f]*)"')
USER = re.compile(rf'name="{USER_FIELD}" value="([^"]*)"')


@dataclass
class Visitor:
    """A browser without JavaScript: it keeps cookies, and sends the token of the page that it saw."""

    client: httpx2.Client
    fields: dict[str, str] = field(default_factory=dict)

    def get(self, path: str, **options: Any) -> httpx2.Response:
        """Open a page."""
        return self._seen(self.client.get(path, **options))

    def post(
        self,
        path: str,
        form: dict[str, str] | None = None,
        *,
        file: tuple[str, bytes] | None = None,
        file_name: str = "vault.zip",
        **headers: str,
    ) -> httpx2.Response:
        """Send a form of the page that was seen last, and with it a file by the name of its field."""
        sent = {"Origin": str(self.client.base_url).rstrip("/")} | headers
        fields = self.fields | (form or {})
        if file is None:
            return self._seen(self.client.post(path, data=fields, headers=sent))
        name, content = file
        files = {name: (file_name, content, "application/zip")}
        return self._seen(self.client.post(path, data=fields, files=files, headers=sent))

    @property
    def secret(self) -> str | None:
        """The secret of the session."""
        return self.client.cookies.get(COOKIE)

    def _seen(self, response: httpx2.Response) -> httpx2.Response:
        for name, value in HEADERS.items():
            assert response.headers[name] == value
        if token := TOKEN.search(response.text):
            user = USER.search(response.text)
            assert user is not None
            self.fields = {TOKEN_FIELD: token[1], USER_FIELD: unescape(user[1])}
        return response


@dataclass(frozen=True)
class Site:
    """A tenant on the service of the tests."""

    served: Served
    stack: ExitStack
    tenant: str

    def key(self, role: Role = "agent", *, bound_to: str | None = None) -> str:
        """Make a key."""
        return self._make_key(role, bound_to)[0]

    def _make_key(self, role: Role, bound_to: str | None) -> tuple[str, int]:
        assert self.served.service is not None
        database = self.served.service.database
        secret, key = self.served.run(tenants.create_key(database, self.tenant, role, user_id=bound_to))
        return secret, key.key_id

    def revoke(self, key_id: int) -> None:
        """Revoke a key."""
        assert self.served.service is not None
        self.served.run(tenants.revoke_key(self.served.service.database, self.tenant, key_id))

    def link(self, user: str | None = "me") -> str:
        """Make a sign-in link; return its secret."""
        assert self.served.service is not None
        database = self.served.service.database
        tenant_id = self.served.run(tenants.ensure_tenant(database, self.tenant))
        return self.served.run(sessions.make_link(database, tenant_id, user))

    def stranger(self) -> Visitor:
        """Return a browser that is not signed in."""
        client = httpx2.Client(base_url=self.served.url, timeout=30)
        return Visitor(self.stack.enter_context(client))

    def visitor(self, role: Role = "agent", *, bound_to: str | None = None) -> Visitor:
        """Return a browser that is signed in with a key."""
        visitor = self.stranger()
        signed_in = visitor.post("/ui/sign-in", {"key": self.key(role, bound_to=bound_to)})
        assert signed_in.status_code == 303, signed_in.text
        return visitor

    def visitor_with_key(self, role: Role = "agent", *, bound_to: str | None = None) -> tuple[Visitor, int]:
        """Return a browser that is signed in with a key, and the number of the key."""
        secret, key_id = self._make_key(role, bound_to)
        visitor = self.stranger()
        assert visitor.post("/ui/sign-in", {"key": secret}).status_code == 303
        return visitor, key_id

    def api(self, role: Role = "agent", *, bound_to: str | None = None) -> httpx2.Client:
        """Return a client of the HTTP API."""
        headers = {"Authorization": f"Bearer {self.key(role, bound_to=bound_to)}"}
        return self.stack.enter_context(httpx2.Client(base_url=self.served.url, headers=headers, timeout=30))


@pytest.fixture(scope="session")
def conninfo(embedded_server: Any) -> Iterator[str]:
    """The database of the shared Memex."""
    name = f"memex_ui_{uuid.uuid4().hex[:12]}"
    yield embedded_server.create(name)
    embedded_server.drop(name)


@pytest.fixture(scope="session")
def served(conninfo: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """The shared Memex."""
    settings = Settings.model_construct(upload_dir=tmp_path_factory.mktemp("uploads"))
    with serving_http(conninfo, settings=settings) as served:
        yield served


@pytest.fixture
def new_site(served: Served) -> Iterator[Callable[[], Site]]:
    """Makes tenants on the shared Memex."""
    with ExitStack() as stack:
        yield lambda: Site(served, stack, f"home-{uuid.uuid4().hex[:12]}")


@pytest.fixture(scope="module")
def module_site(served: Served) -> Iterator[Callable[[], Site]]:
    """Makes tenants that the tests of a module share."""
    with ExitStack() as stack:
        yield lambda: Site(served, stack, f"home-{uuid.uuid4().hex[:12]}")


@pytest.fixture
def site(new_site: Callable[[], Site]) -> Site:
    """A tenant on the shared Memex."""
    return new_site()


@pytest.fixture(scope="module")
def in_browser() -> Iterator[Callable[..., Any]]:
    """Runs work with a browser in a thread of its own, since Playwright cannot be called within a running loop."""
    from tests.ui.browser import chromium

    found: list[Any] = []
    skipped: list[BaseException] = []
    with ThreadPoolExecutor(1) as thread:

        def open_browser() -> Any:
            manager = chromium()
            try:
                found.append(manager.__enter__())
            except BaseException as error:  # noqa: BLE001  # a skip is told to the test
                skipped.append(error)
            return manager

        manager = thread.submit(open_browser).result()
        if skipped:
            raise skipped[0]
        yield lambda work, *arguments: thread.submit(work, found[0], *arguments).result(timeout=300)
        thread.submit(manager.__exit__, None, None, None).result()
