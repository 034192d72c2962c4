"""A running Memex over HTTP: what asks it, with retries and typed errors.

It needs httpx2 and tenacity alone, so that it can be imported beside libraries that Memex cannot be installed with.
"""

import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Literal, Self
from urllib.parse import quote

import httpx2
from tenacity import (
    AsyncRetrying,
    RetryCallState,
    retry_if_exception,
    stop_after_attempt,
    wait_exponential_jitter,
)

from memex.errors import MemexError, StoreUnavailable, ValidationFailed, error_of

TIMEOUT_S = 120.0  # a model may plan for a minute
CONNECT_TIMEOUT_S = 10.0
ATTEMPTS = 4
FIRST_WAIT_S = 0.2
LONGEST_WAIT_S = 20.0
RETRIED_STATUSES = (429, 502, 503, 504)
IN_PROGRESS = "TOOL_CALL_IN_PROGRESS"
HINT = "Check that the address is that of a Memex and that it runs: GET /health/ready answers 200."


@dataclass(frozen=True, slots=True)
class For:
    """For whom a call is made: with a key that is bound to a user, nobody need be named."""

    user_id: str | None = None
    actor: str | None = None
    project: str | None = None

    def headers(self, tool_call_id: str | None = None) -> dict[str, str]:
        """Return the context as headers."""
        named = {
            "Memex-User": self.user_id,
            "Memex-Actor": self.actor,
            "Memex-Project": self.project,
            "Memex-Tool-Call-Id": tool_call_id,
        }
        return {name: value.encode().decode("latin-1") for name, value in named.items() if value is not None}

    def body(self, tool_call_id: str | None = None) -> dict[str, str]:
        """Return the context as a part of a body."""
        named = {
            "userId": self.user_id,
            "actor": self.actor,
            "project": self.project,
            "toolCallId": tool_call_id,
        }
        return {name: value for name, value in named.items() if value is not None}


class Remote:
    """A service at an address, asked with one key.

    A request is tried again when the network or the service fails for the moment, at most four times. Each call
    goes under one tool call id, so that a write which arrived twice is done once.

    Args:
        url: such as `http://127.0.0.1:8630`.
        api_key: an agent's, or with `role` admin an admin's.
        role: which routes are asked: those of agents, or of admins.
        timeout_s: seconds that one attempt may take.
    """

    def __init__(
        self,
        url: str,
        api_key: str,
        *,
        role: Literal["agent", "admin"] = "agent",
        timeout_s: float = TIMEOUT_S,
    ) -> None:
        if not url.startswith(("http://", "https://")):
            raise ValidationFailed(
                f"{url!r} is no address of a Memex.", hint="Give one such as http://127.0.0.1:8630."
            )
        if not api_key.isascii() or not api_key.isprintable() or not api_key:
            raise ValidationFailed("The key is malformed.", hint="Copy it as `memex keys create` printed it.")
        self.url = url.rstrip("/")
        self._base = "/v1/admin" if role == "admin" else "/v1"
        self._http = httpx2.AsyncClient(
            base_url=self.url,
            headers={"Authorization": f"Bearer {api_key}"},
            timeout=httpx2.Timeout(timeout_s, connect=CONNECT_TIMEOUT_S),
        )

    async def __aenter__(self) -> Self:
        """Return itself."""
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the connections."""
        await self.close()

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def execute(
        self, who: For, tool: str, arguments: Mapping[str, Any], *, tool_call_id: str | None = None
    ) -> dict[str, Any]:
        """Run a tool and return its result; raises MemexErrors with the codes of the service."""
        body = {"context": who.body(tool_call_id or new_tool_call_id()), "arguments": dict(arguments)}
        return dict(await self.json("POST", f"/tools/{quote(tool, safe='')}/execute", body=body))

    async def revert(
        self, who: For, reverted: str, *, reason: str | None = None, tool_call_id: str | None = None
    ) -> dict[str, Any]:
        """Undo what a call wrote."""
        path = f"/operations/{quote(reverted, safe='')}/revert"
        headers = who.headers(tool_call_id or new_tool_call_id())
        return dict(await self.json("POST", path, headers=headers, body={"reason": reason}))

    async def operations(self, who: For, *, limit: int, cursor: str | None) -> dict[str, Any]:
        """Return the user's calls, the newest first."""
        params = {"limit": limit, "cursor": cursor}
        return dict(await self.json("GET", "/operations", headers=who.headers(), params=params))

    async def operation(self, who: For, tool_call_id: str) -> list[dict[str, Any]]:
        """Return the attempts at one call, the newest first."""
        path = f"/operations/{quote(tool_call_id, safe='')}"
        return list((await self.json("GET", path, headers=who.headers()))["attempts"])

    async def replay(self, who: For, tool_call_id: str, changes: Mapping[str, Any]) -> dict[str, Any]:
        """Run a call again, as it was or with something changed."""
        path = f"/operations/{quote(tool_call_id, safe='')}/replay"
        return dict(await self.json("POST", path, headers=who.headers(), body=dict(changes)))

    async def catalogue(self, who: For, *, max_chars: int) -> str:
        """Return a line for each file."""
        params = {"max_chars": max_chars}
        return str((await self.json("GET", "/catalogue", headers=who.headers(), params=params))["catalogue"])

    async def prompt_block(
        self, who: For, *, budget: int | None, project: str | None, tool_call_id: str | None
    ) -> dict[str, Any]:
        """Return the text for a system prompt."""
        params = {"budget": budget, "project": project}
        headers = who.headers(tool_call_id or new_tool_call_id())
        return dict(await self.json("GET", "/prompt-block", headers=headers, params=params))

    async def json(
        self,
        method: str,
        path: str,
        *,
        headers: Mapping[str, str] | None = None,
        params: Mapping[str, Any] | None = None,
        body: Any = None,
    ) -> Any:
        """Return the JSON answer to a request below /v1, for an admin below /v1/admin; None for an empty one."""
        answer = await self.request(method, self._base + path, headers=headers, params=params, json=body)
        return answer.json() if answer.content else None

    async def request(
        self,
        method: str,
        path: str,
        *,
        params: Mapping[str, Any] | None = None,
        **options: Any,
    ) -> httpx2.Response:
        """Return the answer to a request, tried again while that can help.

        Args:
            method: of HTTP.
            path: the whole one, such as `/v1/files`.
            params: of the query; those that are None are left out.
            options: what `httpx2.AsyncClient.request` takes besides: `json`, `content`, `headers`.

        Raises:
            MemexError: of the class of its code; StoreUnavailable when no Memex answers.
        """
        asked = {name: value for name, value in (params or {}).items() if value is not None}
        attempts = AsyncRetrying(
            retry=retry_if_exception(_may_pass),
            wait=_wait_s,
            stop=stop_after_attempt(ATTEMPTS),
            reraise=True,
        )
        async for attempt in attempts:
            with attempt:
                return await self._once(method, path, params=asked, **options)
        raise AssertionError("unreachable")

    async def _once(self, method: str, path: str, **options: Any) -> httpx2.Response:
        try:
            answer = await self._http.request(method, path, **options)
        except httpx2.HTTPError as error:
            what = str(error) or type(error).__name__
            raise StoreUnavailable(f"No Memex answers at {self.url}: {what}.", hint=HINT) from error
        if answer.is_success:
            return answer
        raise _error_in(answer, self.url)


@dataclass(frozen=True, slots=True)
class RemoteUser:
    """One user's memory over HTTP, with the tools by their names and results as JSON."""

    remote: Remote
    who: For

    async def execute(
        self, tool: str, arguments: Mapping[str, Any], *, tool_call_id: str | None = None
    ) -> dict[str, Any]:
        """Run a tool and return its result."""
        return await self.remote.execute(self.who, tool, arguments, tool_call_id=tool_call_id)


def new_tool_call_id() -> str:
    """Return an id for a call that came with none, so that it can be sent twice."""
    return f"call_{secrets.token_hex(12)}"


def _error_in(answer: httpx2.Response, url: str) -> MemexError:
    try:
        problem = answer.json()
        details = {
            name: value
            for name, value in problem.items()
            if name not in ("type", "title", "status", "detail", "code", "hint")
        }
        found = error_of(problem["code"], problem["detail"], hint=problem["hint"], **details)
    except (ValueError, KeyError, TypeError, AttributeError):
        found = StoreUnavailable(f"{url} answers {answer.status_code}, and not as a Memex does.", hint=HINT)
    found.details |= {"http_status": answer.status_code}
    if (after := answer.headers.get("retry-after", "")).isdigit():
        found.details.setdefault("retry_after_s", int(after))
    return found


def _may_pass(error: BaseException) -> bool:
    if not isinstance(error, MemexError):
        return False
    status = error.details.get("http_status")
    return status is None or status in RETRIED_STATUSES or error.code == IN_PROGRESS


def _wait_s(state: RetryCallState) -> float:
    backoff = wait_exponential_jitter(initial=FIRST_WAIT_S, max=LONGEST_WAIT_S)(state)
    error = state.outcome.exception() if state.outcome else None
    asked = error.details.get("retry_after_s", 0) if isinstance(error, MemexError) else 0
    return min(max(backoff, float(asked)), LONGEST_WAIT_S)
