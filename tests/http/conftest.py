"""One Memex over real HTTP for all tests of the surface; each test has tenants of its own on it."""

import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, TypeVar

import httpx2
import pytest
from tests.kit.http_service import Served, serving_http

from memex import errors
from memex.errors import MemexError
from memex.http.problems import MEDIA_TYPE
from memex.store.access import Role
from memex.store.identity import tenants

T = TypeVar("T")

# What DESIGN says of codes and statuses, written down a second time.
STATUSES: dict[int, set[str]] = {
    400: {"INVALID_PATH", "UNKNOWN_MOUNT"},
    401: {"UNAUTHENTICATED"},
    403: {"FORBIDDEN", "READ_ONLY_MOUNT", "PHYSICAL_PATH_FORBIDDEN"},
    404: {
        "FILE_NOT_FOUND",
        "VERSION_NOT_FOUND",
        "PROJECT_NOT_FOUND",
        "CONVERSATION_NOT_FOUND",
        "DOCUMENT_NOT_FOUND",
        "LINE_NOT_FOUND",
        "HANDLE_NOT_FOUND",
        "PROPOSAL_NOT_FOUND",
        "WORK_ITEM_NOT_FOUND",
        "OPERATION_NOT_FOUND",
        "UNKNOWN_TOOL",
        "UNKNOWN_ROUTE",
    },
    405: {"METHOD_NOT_ALLOWED"},
    409: {
        "VERSION_CONFLICT",
        "FILE_EXISTS",
        "TOOL_CALL_CONFLICT",
        "TOOL_CALL_IN_PROGRESS",
        "SYNC_IN_PROGRESS",
        "SYNC_SUPERSEDED",
        "MOSTLY_GONE",
        "SCOPE_BUSY",
        "WORDS_ERASED",
        "PREVIEW_OUTDATED",
    },
    412: {"VERSION_CONFLICT"},
    413: {"FILE_TOO_LARGE"},
    422: {
        "VALIDATION_ERROR",
        "INVALID_ID",
        "PATCH_NOT_FOUND",
        "SECRET_REFUSED",
        "PATCH_AMBIGUOUS",
        "BUDGET_TOO_SMALL",
        "LIMIT_EXCEEDED",
    },
    503: {"STORE_UNAVAILABLE", "OVERLOADED", "SCHEMA_TOO_NEW"},
    507: {"DISK_LOW", "QUOTA_EXCEEDED"},
}


def check_problem(response: httpx2.Response) -> None:
    """Fail unless an error response is a problem body as promised."""
    if response.status_code < 400:
        return
    assert response.headers["content-type"] == MEDIA_TYPE, response.text
    if response.request.method == "HEAD":
        return
    problem = response.json()
    assert problem["code"] in STATUSES.get(response.status_code, set()), problem
    assert problem["status"] == response.status_code
    assert problem["type"] == f"urn:memex:error:{problem['code']}"
    assert problem["title"]
    assert problem["detail"]
    assert problem["hint"], problem
    assert problem["request_id"] == response.headers["x-request-id"]
    assert response.headers["cache-control"] == "no-store"
    assert ("retry-after" in response.headers) == (
        response.status_code == 503 or problem["code"] in ("TOOL_CALL_IN_PROGRESS", "SCOPE_BUSY")
    )


def _check(response: httpx2.Response) -> None:
    response.read()
    check_problem(response)


@pytest.fixture(scope="session")
def serving() -> Callable[..., Any]:
    """A context manager that serves the database of a conninfo for a while."""
    return serving_http


@pytest.fixture(scope="session")
def http_conninfo(embedded_server: Any) -> Iterator[str]:
    """The database of the shared Memex."""
    name = f"memex_http_{uuid.uuid4().hex[:12]}"
    yield embedded_server.create(name)
    embedded_server.drop(name)


@pytest.fixture(scope="session")
def served(http_conninfo: str) -> Iterator[Served]:
    """The shared Memex."""
    with serving_http(http_conninfo) as served:
        yield served


KeyOf = Callable[..., str]
ClientOf = Callable[..., httpx2.Client]


@pytest.fixture
def key_of(served: Served) -> KeyOf:
    """Makes keys: `key_of("agent", bound_to="alice", tenant="acme")`. Tenants are the test's own."""
    return _keys_of(served)


@pytest.fixture(scope="module")
def shared_key_of(served: Served) -> KeyOf:
    """Makes keys in tenants that the tests of a module share."""
    return _keys_of(served)


def _keys_of(served: Served) -> KeyOf:
    mark = uuid.uuid4().hex[:12]

    def make(
        role: Role = "agent", *, bound_to: str | None = None, tenant: str = "home", revoked: bool = False
    ) -> str:
        assert served.service is not None
        database, name = served.service.database, f"{tenant}-{mark}"
        secret, key = served.run(tenants.create_key(database, name, role, user_id=bound_to))
        if revoked:
            served.run(tenants.revoke_key(database, name, key.key_id))
        return secret

    return make


@pytest.fixture
def client_of(served: Served, key_of: KeyOf) -> Iterator[ClientOf]:
    """Makes clients that fail on an error which is no good problem body.

    `client_of("agent", bound_to="alice")`, `client_of("admin", user="alice", tenant="acme")`.
    """
    with _clients_of(served, key_of) as make:
        yield make


@pytest.fixture(scope="module")
def shared_client_of(served: Served, shared_key_of: KeyOf) -> Iterator[ClientOf]:
    """Makes such clients for all tests of a module."""
    with _clients_of(served, shared_key_of) as make:
        yield make


@contextmanager
def _clients_of(served: Served, key_of: KeyOf) -> Iterator[ClientOf]:
    with ExitStack() as stack:

        def make(
            role: Role = "agent",
            *,
            bound_to: str | None = None,
            tenant: str = "home",
            user: str | None = None,
            project: str | None = None,
            keyless: bool = False,
        ) -> httpx2.Client:
            headers = {}
            if not keyless:
                headers["Authorization"] = f"Bearer {key_of(role, bound_to=bound_to, tenant=tenant)}".encode()
            for name, value in {"Memex-User": user, "Memex-Project": project}.items():
                if value is not None:
                    headers[name] = value.encode()
            client = httpx2.Client(
                base_url=served.url,
                headers=headers,
                event_hooks={"response": [_check]},
                timeout=30,
            )
            return stack.enter_context(client)

        yield make


@pytest.fixture
def alice(client_of: ClientOf) -> httpx2.Client:
    """A client whose key is bound to alice."""
    return client_of("agent", bound_to="alice")


@pytest.fixture
def bob(client_of: ClientOf) -> httpx2.Client:
    """A client whose key is bound to bob, of alice's tenant."""
    return client_of("agent", bound_to="bob")


@pytest.fixture
def root(client_of: ClientOf) -> httpx2.Client:
    """A client with an admin's key of alice's tenant, that names no user."""
    return client_of("admin")


def known_codes() -> set[str]:
    """Return every code that an error class has."""
    kinds = [MemexError]
    for kind in kinds:
        kinds += kind.__subclasses__()
    return {kind.code for kind in kinds}


def test_the_table_of_statuses_names_only_known_codes() -> None:
    """Guards this file against a typing error."""
    named = set().union(*STATUSES.values()) - {"UNKNOWN_ROUTE", "METHOD_NOT_ALLOWED"}

    assert named <= known_codes(), errors.__name__
