"""A client of one service over HTTP: its connections, retries and typed errors.

It needs httpx2 and tenacity alone, so that it can be imported beside libraries that Memex cannot be installed with.
"""

import asyncio
import json
import os
import time
from collections.abc import Mapping
from contextlib import suppress
from types import TracebackType
from typing import Any, Literal, Self
from urllib.parse import quote

import httpx2
from tenacity import AsyncRetrying, RetryCallState, retry_if_exception, wait_exponential_jitter

from memex.errors import MemexError, StoreUnavailable, ValidationFailed, error_of
from memex.retry_after import parse_retry_after

Role = Literal["agent", "admin"]

BASES: dict[Role, str] = {"agent": "/v1", "admin": "/v1/admin"}
TIMEOUT_S = 120.0  # a model may plan for a minute
CONNECT_TIMEOUT_S = 10.0
ATTEMPTS = 4
FIRST_WAIT_S = 0.2
JITTER_S = 0.1
LONGEST_WAIT_S = 20.0
RETRIED_STATUSES = (429, 502, 503, 504)
IN_PROGRESS = "TOOL_CALL_IN_PROGRESS"
RETRIED_CODES = (IN_PROGRESS, "SCOPE_BUSY")
PROBLEM_FIELDS = ("type", "title", "status", "detail", "code", "hint")
HINT = "Check the address, and that a Memex runs there: `memex doctor` says more."
LATE_HINT = "Send it again under its tool_call_id, which does a write once; or grant it more time: timeout_s."


class HttpClient:
    """A service at an address, asked with one key.

    A request is tried again when the network or the service fails for the moment, at most four times. Connections
    are opened by the first request, and again after `close`.

    Args:
        url: such as `http://127.0.0.1:8630`.
        api_key: an agent's, or with `role` admin an admin's.
        role: which routes are asked: those of agents, or of admins.
        timeout_s: seconds that one attempt may take.
    """

    def __init__(self, url: str, api_key: str, *, role: Role = "agent", timeout_s: float = TIMEOUT_S) -> None:
        if not _is_address(url):
            raise ValidationFailed(
                f"{url[:200]!r} is no address of a Memex.", hint="Give one such as http://127.0.0.1:8630."
            )
        if not api_key.isascii() or not api_key.isprintable() or not api_key or " " in api_key:
            raise ValidationFailed("The key is malformed.", hint="Copy it as `memex keys create` printed it.")
        self.url = url.rstrip("/")
        self.role: Role = role
        self._api_key = api_key
        self._timeout_s = timeout_s
        self._open: tuple[httpx2.AsyncClient, asyncio.AbstractEventLoop] | None = None

    async def __aenter__(self) -> Self:
        """Return itself."""
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the connections."""
        await self.close()

    async def close(self) -> None:
        """Close the connections; raises ValidationFailed in another event loop than theirs."""
        if self._open is not None:
            http = self._connections()
            self._open = None
            await http.aclose()

    @property
    def base(self) -> str:
        """The beginning of the paths of all routes for the role of this client."""
        return BASES[self.role]

    async def json(
        self, method: str, path: str, *, params: Mapping[str, Any] | None = None, body: Any = None
    ) -> dict[str, Any]:
        """Return the JSON answer to a request below /v1, for an admin below /v1/admin.

        Args:
            method: of HTTP.
            path: below one of them, such as `/tools`.
            params: of the query; those that are None are left out.
            body: of JSON; None for none.

        Raises:
            ValidationFailed: the body is no JSON.
            MemexError: as `request`.
        """
        content = encode_json(body) if body is not None else None
        headers = {} if content is None else {"Content-Type": b"application/json"}
        answer = await self.request(method, self.base + path, headers=headers, params=params, content=content)
        return document_of(answer, self.url)

    async def request(
        self,
        method: str,
        path: str,
        *,
        params: Mapping[str, Any] | None = None,
        headers: Mapping[str, bytes] | None = None,
        content: bytes | None = None,
        timeout_s: float | None = None,
        is_repeatable: bool = True,
    ) -> httpx2.Response:
        """Return the answer to a request, tried again while that can help.

        Args:
            method: of HTTP.
            path: the whole one, such as `/v1/files`.
            params: of the query; those that are None are left out.
            headers: besides the key.
            content: the body.
            timeout_s: seconds that one attempt may take, where it is another number than for the rest.
            is_repeatable: whether it may arrive twice; if not, it is sent again only when it never arrived.

        Raises:
            MemexError: of the class of its code; StoreUnavailable when no Memex answers.
        """
        http = self._connections()
        request = http.build_request(
            method,
            path,
            params={name: value for name, value in (params or {}).items() if value is not None},
            headers=[(name.encode(), value) for name, value in (headers or {}).items()],
            content=content,
            timeout=_timeout(timeout_s or self._timeout_s),
        )
        granted_s = timeout_s or self._timeout_s
        attempts = AsyncRetrying(
            retry=retry_if_exception(
                lambda error: (
                    isinstance(error, _FailedAttempt)
                    and (error.may_pass if is_repeatable else not error.arrived)
                )
            ),
            wait=_wait_s,
            stop=lambda state: _should_give_up(state, granted_s),
            reraise=True,
        )
        try:
            async for attempt in attempts:
                with attempt:
                    return await self._once(http, request, granted_s)
        except _FailedAttempt as failed:
            raise failed.error from failed.__cause__
        raise AssertionError("unreachable")

    async def _once(
        self, http: httpx2.AsyncClient, request: httpx2.Request, granted_s: float
    ) -> httpx2.Response:
        try:
            async with asyncio.timeout(granted_s):  # httpx2 counts anew with each byte that comes
                answer = await http.send(request)
        except (httpx2.ConnectTimeout, httpx2.ConnectError) as error:
            raise _FailedAttempt(self._silence(error), arrived=False) from error
        except (httpx2.TimeoutException, TimeoutError) as error:
            late = StoreUnavailable(f"{self.url} did not answer within {granted_s:g} s.", hint=LATE_HINT)
            raise _FailedAttempt(late, may_pass=False) from error
        except httpx2.HTTPError as error:
            raise _FailedAttempt(self._silence(error)) from error
        if answer.is_success:
            return answer
        refusal = _error_in(answer, self.url)
        raise _FailedAttempt(
            refusal,
            may_pass=answer.status_code in RETRIED_STATUSES or refusal.code in RETRIED_CODES,
            arrived=answer.status_code != 429,
            after_s=refusal.details.get("retry_after_s", 0),
        )

    def _may_use_tls(self) -> bool:
        """Tell whether a connection can be one of TLS. Loading the certificates takes as long as some calls."""
        return not self.url.startswith("http://") or any(
            name.lower().endswith("_proxy") for name in os.environ
        )

    def _silence(self, error: Exception) -> StoreUnavailable:
        what = str(error).rstrip(".") or type(error).__name__
        return StoreUnavailable(f"No Memex answers at {self.url}: {what}.", hint=HINT)

    def _connections(self) -> httpx2.AsyncClient:
        """Return the client of the event loop that runs; raises ValidationFailed when they are another's."""
        loop = asyncio.get_running_loop()
        if self._open is None:
            http = httpx2.AsyncClient(
                base_url=self.url,
                headers={"Authorization": f"Bearer {self._api_key}", "Accept": "application/json"},
                verify=self._may_use_tls(),
            )
            self._open = http, loop
        http, opened_in = self._open
        if opened_in is not loop:
            raise ValidationFailed(
                "This Memex was used in another event loop.",
                hint="Make one for each asyncio.run, or close it before the first one ends.",
            )
        return http


def quote_segment(text: str) -> str:
    """Return a text as one segment of a path.

    Raises:
        ValidationFailed: it would not arrive. `.` and `..` are folded away on the way, however they are encoded:
            a request for the member `..` of a project would become one for the project.
    """
    if text not in (".", ".."):
        with suppress(UnicodeEncodeError):  # said below
            return quote(text, safe="")
    raise ValidationFailed(
        f"{text!r} cannot be sent in a URL.", hint="Ask Memex where it runs, not over HTTP."
    )


class _FailedAttempt(Exception):
    """An attempt that failed: why, whether another may succeed, and whether the service had the request."""

    def __init__(
        self, error: MemexError, *, may_pass: bool = True, arrived: bool = True, after_s: float = 0
    ) -> None:
        super().__init__(error.message)
        self.error = error
        self.may_pass = may_pass
        self.arrived = arrived
        self.after_s = after_s


def _is_address(url: str) -> bool:
    try:
        parsed = httpx2.URL(url)
    except (httpx2.InvalidURL, TypeError):
        return False
    return parsed.scheme in ("http", "https") and bool(parsed.host) and not parsed.query


def _timeout(timeout_s: float) -> httpx2.Timeout:
    return httpx2.Timeout(timeout_s, connect=min(timeout_s, CONNECT_TIMEOUT_S))


def encode_json(body: Any) -> bytes:
    """Return a body as JSON in ASCII, so that what is no Unicode text is refused by the service, and as there."""
    try:
        return json.dumps(body, allow_nan=False).encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise ValidationFailed(f"The arguments are no JSON: {error}.") from None


def document_of(answer: httpx2.Response, url: str) -> dict[str, Any]:
    """Return the JSON of an answer; raises StoreUnavailable if it is no document."""
    with suppress(ValueError):  # said below
        if isinstance(document := answer.json(), dict):
            return document
    raise StoreUnavailable(f"{url} answers {answer.status_code}, and not as a Memex does.", hint=HINT)


def _error_in(answer: httpx2.Response, url: str) -> MemexError:
    try:
        problem = answer.json()
        details = {name: value for name, value in problem.items() if name not in PROBLEM_FIELDS}
        found = error_of(problem["code"], problem["detail"], hint=problem["hint"], **details)
        float(found.details.get("retry_after_s", 0))
    except (ValueError, KeyError, TypeError, AttributeError):
        found = StoreUnavailable(f"{url} answers {answer.status_code}, and not as a Memex does.", hint=HINT)
    if (after_s := parse_retry_after(answer.headers.get("retry-after", ""))) is not None:
        found.details.setdefault("retry_after_s", after_s)
    return found


def _should_give_up(state: RetryCallState, granted_s: float) -> bool:
    """Tell whether to give up: after four attempts; a call that still runs is waited for while there is time."""
    error = state.outcome.exception() if state.outcome else None
    if isinstance(error, _FailedAttempt) and error.error.code == IN_PROGRESS:
        return time.monotonic() - state.start_time >= granted_s
    return state.attempt_number >= ATTEMPTS


def _wait_s(state: RetryCallState) -> float:
    backoff = wait_exponential_jitter(initial=FIRST_WAIT_S, max=LONGEST_WAIT_S, jitter=JITTER_S)(state)
    error = state.outcome.exception() if state.outcome else None
    asked = error.after_s if isinstance(error, _FailedAttempt) else 0.0
    return min(max(backoff, float(asked)), LONGEST_WAIT_S)
