"""Thousands of requests that are made from the OpenAPI document, alone and after others that they depend on."""

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.stateful import run_state_machine_as_test
from tests.kit.http_service import Served, serving_http
from tests.kit.json_lines import register_json_lines
from tests.kit.zips import register_zip_bodies

from memex.http.app import create_app
from memex.store.identity import tenants

SHORT = 200
STEPS, SEQUENCES = 10, 4  # of requests that depend on each other, in one round
ALONE = 2  # requests to each route in one round
TIMEOUT_S = 180.0  # so long that only a request which is never answered exceeds it


def _document() -> dict[str, Any]:
    """Return the document without its keys: requests without a key are for other tests."""
    document = create_app(nullcontext).openapi()  # type: ignore[arg-type]  # never started
    for operations in document["paths"].values():
        for operation in operations.values():
            operation.pop("security", None)
    return dict(document)


def _is_for_admins(path: str) -> bool:
    return path.startswith("/v1/admin/") or path == "/metrics"


class Sender:
    """Sends generated cases with a key that fits, and counts the answers.

    The agent's key is bound to alice; the administrator's is not, and may manage keys.
    """

    def __init__(self, served: Served) -> None:
        self.answered: Counter[int] = Counter()
        self.sent: Counter[str] = Counter()
        self._served = served
        self._make_keys()

    def _make_keys(self) -> None:
        assert self._served.service is not None
        database, run = self._served.service.database, self._served.run
        agent = run(tenants.create_key(database, "generated", "agent", user_id="alice"))[0]
        admin = run(tenants.create_key(database, "generated", "admin"))[0]
        self._agent = {"Authorization": f"Bearer {agent}"}
        self._admin = {"Authorization": f"Bearer {admin}", "Memex-User": "alice"}

    def prepare(self, case: Any) -> None:
        """Take the context of a case away: nearly all that are made up are refused."""
        for name in ("Authorization", "Memex-User", "Memex-Project"):
            case.headers.pop(name, None)

    def headers(self, case: Any) -> dict[str, str]:
        """Return the headers with which a case is sent."""
        return self._admin if _is_for_admins(case.operation.path) else self._agent

    def check(self, response: Any, case: Any) -> None:
        """Count an answer, and fail on a 5xx."""
        from schemathesis.checks import not_a_server_error  # a second of loading

        self.answered[response.status_code] += 1
        self.sent[case.operation.label] += 1
        if response.status_code == 401:  # a request revoked the key that it came with
            self._make_keys()
        case.validate_response(response, checks=[not_a_server_error])

    def send(self, case: Any) -> None:
        """Send a case by itself."""
        self.prepare(case)
        self.check(case.call(headers=self.headers(case), timeout=TIMEOUT_S), case)


def _rounds(served: Served, sender: Sender, limits: settings) -> tuple[int, Iterator[Callable[[], None]]]:
    """Return how many routes there are, and without an end what sends requests: to all routes, then sequences."""
    import schemathesis

    register_zip_bodies()
    register_json_lines()
    schema = schemathesis.openapi.from_dict(_document())
    schema.config.update(base_url=served.url)
    routes = [found.ok() for found in schema.get_all_operations()]

    class Machine(schema.as_state_machine()):  # type: ignore[misc]  # made at run time
        """Takes ids out of answers for the requests that come after."""

        def before_call(self, case: Any) -> None:
            sender.prepare(case)

        def get_call_kwargs(self, case: Any) -> dict[str, Any]:
            return {"headers": sender.headers(case), "timeout": TIMEOUT_S}

        def validate_response(self, response: Any, case: Any, *_: Any, **__: Any) -> None:
            sender.check(response, case)

    in_sequence = settings(limits, max_examples=SEQUENCES, stateful_step_count=STEPS)

    def alone(strategy: Any) -> None:
        settings(limits, max_examples=ALONE)(given(strategy)(sender.send))()

    def rounds() -> Iterator[Callable[[], None]]:
        while True:
            yield from (lambda route=route: alone(route.as_strategy()) for route in routes)
            yield lambda: run_state_machine_as_test(Machine, settings=in_sequence)

    return len(routes), rounds()


@pytest.mark.faults
@pytest.mark.process
def test_no_generated_request_breaks_the_service(
    conninfo: str, faults: str, figures: list[str], request: pytest.FixtureRequest
) -> None:
    """Every request of an agent or an administrator is answered, and none with a 5xx."""
    cases = SHORT if faults == "short" else int(request.config.getoption("--cases"))
    limits = settings(
        derandomize=faults == "short",
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
        database=None,
    )
    with serving_http(conninfo) as served:
        sender = Sender(served)
        routes, rounds = _rounds(served, sender, limits)
        for send in rounds:
            send()
            if sender.answered.total() >= cases and len(sender.sent) == routes:
                break

    figures.append(
        f"{sender.answered.total():,} generated requests to {routes} routes:"
        f" {dict(sorted(sender.answered.items()))}"
    )
    assert not [status for status in sender.answered if status >= 500]
    assert sender.answered[200] > sender.answered[401]
