"""What the OpenAPI document says, and that reality keeps to it."""

from collections.abc import Callable, Iterator
from contextlib import nullcontext
from typing import Any

import httpx2
import pytest
from fastapi.routing import iter_route_contexts
from hypothesis import HealthCheck, Phase, given, settings
from tests.kit.json_lines import register_json_lines
from tests.kit.zips import register_zip_bodies

from memex.http.app import create_app
from memex.http.problems import MEDIA_TYPE
from memex.store.identity import tenants

APP = create_app(nullcontext)  # type: ignore[arg-type]  # never started
# The document itself is made when the first test needs it: it takes each worker of a run longer than the routes.
OPERATIONS = [
    (method, route.path.replace(":path}", "}"))
    for route in iter_route_contexts(APP.routes)
    for method in route.methods or ()
    if getattr(route, "include_in_schema", False)
]
# What an administrator does as an agent does it: the same function behind another address.
FOR_BOTH = {
    (method, path)
    for method, path in OPERATIONS
    if path.startswith("/v1/admin/") and (method, path.replace("/v1/admin/", "/v1/")) in OPERATIONS
}
EXAMPLES = 200
SENT = settings(
    derandomize=True, deadline=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck)
)


def operations() -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Yield the method, the path and the documentation of each operation."""
    for path, documented in APP.openapi()["paths"].items():
        for method, operation in documented.items():
            yield method.upper(), path, operation


@pytest.fixture(scope="module")
def api() -> Any:
    """The document as requests are made of it."""
    import schemathesis  # a second of loading

    register_zip_bodies()
    register_json_lines()
    return schemathesis.openapi.from_dict(APP.openapi())


@pytest.fixture(scope="module")
def keys(served: Any) -> dict[str, str]:
    """The keys of alice and of an admin; the file of the examples stands."""
    secrets = {
        role: served.run(tenants.create_key(served.service.database, "openapi", role, user_id="alice"))[0]
        for role in ("agent", "admin")
    }
    headers = {"Authorization": f"Bearer {secrets['agent']}"}
    url = f"{served.url}/v1/file?path=user/profile.md"
    assert httpx2.put(url, content="# Alice\n", headers=headers).is_success
    return secrets


@pytest.mark.parametrize(
    ("method", "path"),
    [pytest.param(*one, marks=pytest.mark.slow if one in FOR_BOTH else ()) for one in OPERATIONS],
)
def test_what_is_documented_is_what_happens(
    method: str, path: str, api: Any, served: Any, keys: dict[str, str]
) -> None:
    """Every example and generated request gets a documented status, media type and shape, and never a 500."""
    from schemathesis.checks import not_a_server_error
    from schemathesis.specs.openapi import checks

    role = "admin" if path.startswith("/v1/admin/") or path == "/metrics" else "agent"

    def check(case: Any) -> None:
        for name in ("Memex-User", "Memex-Project"):  # nearly all that are made up are refused: look behind
            case.headers.pop(name, None)
        case.call_and_validate(
            base_url=served.url,
            headers={"Authorization": f"Bearer {keys[role]}"},
            checks=(
                not_a_server_error,
                checks.status_code_conformance,
                checks.content_type_conformance,
                checks.response_schema_conformance,
            ),
        )

    requests = api[path][method]
    for example in requests.get_strategies_from_examples():
        settings(SENT, max_examples=1)(given(example)(check))()
    settings(SENT, max_examples=EXAMPLES // len(OPERATIONS) + 2)(given(requests.as_strategy())(check))()


def test_every_operation_documents_its_problems() -> None:
    """A summary, a description, and each problem under its own media type alone."""
    documented = list(operations())
    assert {(method, path) for method, path, _ in documented} == set(OPERATIONS)
    for method, path, operation in documented:
        problems = {status: answer for status, answer in operation["responses"].items() if status >= "400"}

        assert operation["summary"], (method, path)
        assert operation["description"], (method, path)
        assert {"401", "403", "404", "422", "503"} <= set(problems), (method, path)
        for answer in problems.values():
            assert answer["content"] == {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}


def test_every_body_has_an_example(served: Any) -> None:
    """A reader of /docs can send each request as it stands there."""
    bodies = {
        f"{method} {path}": content
        for method, path, operation in operations()
        for content in operation.get("requestBody", {}).get("content", {}).values()
    }

    assert len(bodies) == 76
    for name, content in bodies.items():
        assert _examples(content), name


def test_the_examples_of_tools_can_be_sent_as_they_stand(client_of: Callable[..., Any]) -> None:
    """In the order in which they are documented."""
    [content] = APP.openapi()["paths"]["/v1/tools/{tool}/execute"]["post"]["requestBody"]["content"].values()
    backend = client_of("agent")

    for tool, example in content["examples"].items():
        answered = backend.post(f"/v1/tools/{tool}/execute", json=example["value"])
        assert answered.is_success, answered.text


def test_the_context_headers_are_documented() -> None:
    """Wherever the context does not stand in the body."""
    named = {
        parameter["name"].lower() for parameter in APP.openapi()["paths"]["/v1/files"]["get"]["parameters"]
    }

    assert {"memex-user", "memex-actor", "memex-project", "memex-tool-call-id"} <= named


def test_the_document_asks_for_a_key_where_the_service_does() -> None:
    """Every operation but the greeting and the two on health names the bearer scheme."""
    open_to_all = {path for _, path, operation in operations() if not operation.get("security")}

    assert open_to_all == {"/", "/health/live", "/health/ready"}


def _examples(content: dict[str, Any]) -> Any:
    schema = content["schema"]
    if found := content.get("examples") or content.get("example") or schema.get("examples"):
        return found
    for choice in schema.get("anyOf", [schema]):
        if "$ref" in choice:
            return APP.openapi()["components"]["schemas"][choice["$ref"].rpartition("/")[2]].get("examples")
    return None
