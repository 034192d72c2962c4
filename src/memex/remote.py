"""A running Memex over HTTP: the operations of a memory as JSON, with retries and typed errors.

It needs httpx2 and tenacity alone, so that it can be imported beside libraries that Memex cannot be installed with.
"""

import json
import secrets
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from typing import Any

from memex.call_context import CallContext
from memex.errors import StoreUnavailable, ValidationFailed
from memex.http_client import TIMEOUT_S, HttpClient, Role, document_of, quote_segment

__all__ = ["TIMEOUT_S", "CallContext", "Remote", "Role", "new_tool_call_id", "quote_segment"]

TRANSFER_TIMEOUT_S = 1_800.0  # a whole memory, or a whole call


class Remote(HttpClient):
    """A service at an address, asked with one key.

    It has every method of `memex.api.protocol.MemexApi` but the import and export of files: see `memex.api.remote`.

    Each call that may write goes under one tool call id, so that a write which arrived twice is done once.
    """

    async def me(self, context: CallContext | None = None) -> dict[str, Any]:
        """Return what the service is, whose key this is, and what the user of the context reads."""
        headers = context_headers(context or CallContext())
        return document_of(await self.request("GET", "/v1/me", headers=headers), self.url)

    async def execute(
        self,
        context: CallContext,
        tool: str,
        arguments: Mapping[str, Any],
        *,
        tool_call_id: str | None = None,
    ) -> dict[str, Any]:
        """Run a tool and return its result; raises MemexErrors with the codes of the service."""
        context = _identified(context.under(tool_call_id))
        body = {"context": _context_body(context), "arguments": dict(arguments)}
        try:
            return await self.json("POST", f"/tools/{quote_segment(tool)}/execute", body=body)
        except StoreUnavailable as error:
            # By this id the caller finds out what became of the call.
            error.details.setdefault("tool_call_id", context.tool_call_id)
            raise

    async def tidy(
        self,
        context: CallContext,
        *,
        project: str | None = None,
        dry_run: bool = False,
        tool_call_id: str | None = None,
    ) -> dict[str, Any]:
        """Group the statements of files by their topics."""
        headers = context_headers(_identified(context.under(tool_call_id)))
        body = {"project": project, "dry_run": dry_run}
        return await self.json("POST", "/tidy", headers=headers, body=body)

    async def review(
        self, context: CallContext, *, kind: str | None = None, limit: int = 50, cursor: str | None = None
    ) -> dict[str, Any]:
        """Return what waits for a person."""
        return await self._get(context, "/review", kind=kind, limit=limit, cursor=cursor)

    async def decide_review(self, context: CallContext, decisions: Mapping[str, str]) -> dict[str, Any]:
        """Carry out decisions about what waits, by the ids of the items."""
        body = {"decisions": [{"id": item, "decision": one} for item, one in decisions.items()]}
        headers = context_headers(_identified(context))
        return await self.json("POST", "/review", headers=headers, body=body)

    async def revert(
        self,
        context: CallContext,
        reverted: str,
        *,
        reason: str | None = None,
        tool_call_id: str | None = None,
    ) -> dict[str, Any]:
        """Undo what a call wrote."""
        path = f"/operations/{quote_segment(reverted)}/revert"
        headers = context_headers(_identified(context.under(tool_call_id)))
        return await self.json("POST", path, headers=headers, body={"reason": reason})

    async def operations(
        self,
        context: CallContext,
        filters: Mapping[str, Any] | None = None,
        *,
        limit: int,
        cursor: str | None = None,
    ) -> dict[str, Any]:
        """Return the calls that pass the filters, by default all of the user, the newest first."""
        given = {
            name: value.isoformat() if isinstance(value, datetime) else value
            for name, value in (filters or {}).items()
        }
        return await self._get(context, "/operations", **given, limit=limit, cursor=cursor)

    async def operation(self, context: CallContext, tool_call_id: str) -> list[dict[str, Any]]:
        """Return the attempts at one call, the newest first."""
        return list((await self._get(context, f"/operations/{quote_segment(tool_call_id)}"))["attempts"])

    async def replayable(
        self,
        context: CallContext,
        *,
        which: str = "all",
        since: datetime | None = None,
        only_degraded: bool = False,
        limit: int = 1_000,
    ) -> Sequence[str]:
        """Return the ids of the calls that can be replayed, the newest first."""
        time = since.isoformat() if since else None
        found = await self._get(
            context, "/replayable", tool=which, since=time, degraded=only_degraded, limit=limit
        )
        return list(found["calls"])

    async def replay(
        self, context: CallContext, tool_call_id: str, changes: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Run a call again, as it was or with something changed."""
        path = f"/operations/{quote_segment(tool_call_id)}/replay"
        return await self.json("POST", path, headers=context_headers(context), body=dict(changes))

    async def export_call(self, context: CallContext, tool_call_id: str) -> bytes:
        """Return a zip of a call with everything that its replay needs."""
        answer = await self.request(
            "GET",
            f"{self.base}/operations/{quote_segment(tool_call_id)}/bundle",
            headers=context_headers(context),
            timeout_s=TRANSFER_TIMEOUT_S,
        )
        return answer.content

    async def catalogue(self, context: CallContext, *, max_chars: int) -> str:
        """Return a line for each file."""
        return str((await self._get(context, "/catalogue", max_chars=max_chars))["catalogue"])

    async def prompt_block(
        self,
        context: CallContext,
        *,
        budget: int | None = None,
        project: str | None = None,
        profile: str | None = None,
        tool_call_id: str | None = None,
    ) -> dict[str, Any]:
        """Return the text for a system prompt."""
        context = _identified(context.under(tool_call_id))
        return await self._get(context, "/prompt-block", budget=budget, project=project, profile=profile)

    async def browse(self, context: CallContext, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Return mounts, the folders below a prefix, and the files that pass filters."""
        return await self._get(context, "/folders", **arguments)

    async def changes(
        self, context: CallContext, *, limit: int = 50, until: datetime | str | None = None
    ) -> dict[str, Any]:
        """Return the newest changes of all mounts."""
        moment = until.isoformat() if isinstance(until, datetime) else until
        return await self._get(context, "/changes", limit=limit, until=moment)

    async def journal(self, context: CallContext, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Return the months of the journal, and the days of a month or the entries of a day."""
        return await self._get(context, "/journal", **arguments)

    async def topics(
        self, context: CallContext, *, project: str | None = None, limit: int = 100
    ) -> dict[str, Any]:
        """Return the tags of a project, or of all files, with how many files bear each."""
        return await self._get(context, "/topics", project=project, limit=limit)

    async def explain_find(self, context: CallContext, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Return why a search with these arguments shows the file at `path`, or does not."""
        body = {name: value for name, value in arguments.items() if value is not None}
        headers = context_headers(_identified(context))
        return await self.json("POST", "/files:explain-find", headers=headers, body=body)

    async def blame(self, context: CallContext, path: str, version: int | None = None) -> dict[str, Any]:
        """Return who wrote each line of a file."""
        return await self._get(context, "/blame", path=path, version=version)

    async def calls_that_saw(
        self,
        context: CallContext,
        path: str,
        version: int | None = None,
        *,
        limit: int = 50,
        cursor: str | None = None,
    ) -> dict[str, Any]:
        """Return the calls that saw a version of a file."""
        return await self._get(context, "/seen/calls", path=path, version=version, limit=limit, cursor=cursor)

    async def revisions_seen(self, context: CallContext, tool_call_id: str) -> dict[str, Any]:
        """Return the versions of files that a call saw."""
        return await self._get(context, "/seen/revisions", tool_call_id=tool_call_id)

    async def queue(
        self, context: CallContext, *, limit: int = 100, cursor: str | None = None
    ) -> dict[str, Any]:
        """Return the calls that wait in the queue or failed there."""
        return await self._get(context, "/queue", limit=limit, cursor=cursor)

    async def retry(self, context: CallContext, tool_call_id: str) -> dict[str, Any]:
        """Put a failed call back into the queue."""
        path = f"/queue/{quote_segment(tool_call_id)}/retry"
        return await self._administer(context, "POST", path, is_repeatable=False)

    async def retry_all(self, context: CallContext) -> dict[str, Any]:
        """Put all failed calls back into the queue."""
        return await self._administer(context, "POST", "/queue/retry", is_repeatable=False)

    async def spending(self, context: CallContext, *, days: int) -> dict[str, Any]:
        """Return the tokens and costs of models."""
        return await self._administer(context, "GET", "/spend", params={"days": days})

    async def list_users(
        self, context: CallContext, *, limit: int = 100, cursor: str | None = None, query: str = ""
    ) -> dict[str, Any]:
        """Return the tenant's users, or those whose id contains a text, with what each stores."""
        params = {"limit": limit, "cursor": cursor, "query": query or None}
        return await self._administer(context, "GET", "/users", params=params)

    async def read_user(self, context: CallContext, user: str) -> dict[str, Any]:
        """Return how much a user stores and may store, and its projects."""
        return await self._administer(context, "GET", f"/users/{quote_segment(user)}")

    async def draft_case(
        self, context: CallContext, tool_call_id: str, choice: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Return what a case of a call would contain."""
        path = f"/operations/{quote_segment(tool_call_id)}/case/draft"
        return await self.json("POST", path, headers=context_headers(context), body=dict(choice))

    async def make_case(self, context: CallContext, tool_call_id: str, choice: Mapping[str, Any]) -> bytes:
        """Return a zip of a case of a call."""
        answer = await self.request(
            "POST",
            f"{self.base}/operations/{quote_segment(tool_call_id)}/case",
            headers=context_headers(context) | {"Content-Type": b"application/json"},
            content=json.dumps(dict(choice)).encode(),
            timeout_s=TRANSFER_TIMEOUT_S,
        )
        return answer.content

    async def keep_case(
        self, context: CallContext, tool_call_id: str, choice: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Keep a case of a call in the folder of the service."""
        path = f"/evals/cases/{quote_segment(tool_call_id)}"
        return await self._administer(context, "POST", path, body=dict(choice), is_repeatable=False)

    async def health(self, context: CallContext) -> dict[str, Any]:
        """Return whether the service works, and the figures of the tenant."""
        return await self._administer(context, "GET", "/health")

    async def erase_user(self, context: CallContext, user: str, *, dry_run: bool = False) -> dict[str, Any]:
        """Remove a user for good, or count what would be removed, and return the receipt."""
        return await self._administer(
            context,
            "DELETE",
            f"/users/{quote_segment(user)}",
            params={"dry_run": dry_run},
            timeout_s=TRANSFER_TIMEOUT_S,
        )

    async def list_erasures(
        self, context: CallContext, *, limit: int = 100, cursor: str | None = None
    ) -> dict[str, Any]:
        """Return the receipts of erased users, the newest first."""
        return await self._administer(context, "GET", "/erasures", params={"limit": limit, "cursor": cursor})

    async def show_secret_policies(self, context: CallContext) -> dict[str, Any]:
        """Return what the tenant does about secrets in texts to remember and in files."""
        return await self._administer(context, "GET", "/secrets")

    async def set_secret_policies(
        self, context: CallContext, *, remember: str | None, files: str | None
    ) -> dict[str, Any]:
        """Set what the tenant does about secrets; None for what the settings of the service say."""
        return await self._administer(context, "PUT", "/secrets", body={"remember": remember, "files": files})

    async def scan_secrets(
        self,
        context: CallContext,
        *,
        all_users: bool = False,
        history: bool = False,
        cursor: str | None = None,
    ) -> dict[str, Any]:
        """Return where secrets stand that are stored already, a page at a time."""
        params = {"all_users": all_users, "history": history} | ({"cursor": cursor} if cursor else {})
        return await self._administer(context, "GET", "/secrets/scan", params=params)

    async def list_quotas(self, context: CallContext) -> dict[str, Any]:
        """Return what the tenant stores and may store, and the quotas of its users and projects."""
        return await self._administer(context, "GET", "/quotas")

    async def set_quota(
        self, context: CallContext, kind: str, name: str, limits: Mapping[str, int]
    ) -> dict[str, Any]:
        """Set all limits of a user or a project."""
        params = {"kind": kind, "name": name}
        return await self._administer(context, "PUT", "/quotas", params=params, body=dict(limits))

    async def init_project(self, context: CallContext, slug: str) -> dict[str, Any]:
        """Make a project of which the user is a member, where agents may."""
        headers = context_headers(_identified(context))
        return await self.json("POST", "/projects", headers=headers, body={"slug": slug})

    async def list_projects(self, context: CallContext) -> dict[str, Any]:
        """Return the open projects."""
        return await self._administer(context, "GET", "/projects")

    async def open_project(self, context: CallContext, slug: str) -> dict[str, Any]:
        """Create a project, or reopen it."""
        return await self._administer(context, "PUT", f"/projects/{quote_segment(slug)}")

    async def close_project(self, context: CallContext, slug: str) -> dict[str, Any]:
        """Close a project."""
        return await self._administer(context, "DELETE", f"/projects/{quote_segment(slug)}")

    async def set_member(self, context: CallContext, slug: str, user: str, *, member: bool) -> dict[str, Any]:
        """Add a user to the members of a project, or remove the user."""
        path = f"/projects/{quote_segment(slug)}/members/{quote_segment(user)}"
        return await self._administer(context, "PUT" if member else "DELETE", path)

    async def create_key(
        self, context: CallContext, role: Role, user: str | None, label: str | None
    ) -> dict[str, Any]:
        """Make a key; its secret is in this answer and nowhere else."""
        body = {"role": role, "user": user, "label": label}
        return await self._administer(context, "POST", "/keys", body=body, is_repeatable=False)

    async def list_keys(self, context: CallContext) -> dict[str, Any]:
        """Return the keys, without their secrets."""
        return await self._administer(context, "GET", "/keys")

    async def revoke_key(self, context: CallContext, key: int) -> dict[str, Any]:
        """Revoke a key."""
        return await self._administer(context, "DELETE", f"/keys/{key}")

    async def _get(self, context: CallContext, path: str, /, **params: Any) -> dict[str, Any]:
        return await self.json("GET", path, headers=context_headers(context), params=params)

    async def _administer(
        self, context: CallContext, method: str, path: str, **options: Any
    ) -> dict[str, Any]:
        """Call a route for admins; the service refuses the key of an agent and says what is needed."""
        return await self.json(method, path, headers=context_headers(context), role="admin", **options)


def new_tool_call_id() -> str:
    """Return an id for a call that came with none, so that it can be sent twice."""
    return f"call_{secrets.token_hex(12)}"


def context_headers(context: CallContext) -> dict[str, bytes]:
    """Return a context as headers, in UTF-8.

    Raises:
        ValidationFailed: a header cannot carry a value as it is.
    """
    named = {
        "Memex-User": context.user_id,
        "Memex-Actor": context.actor,
        "Memex-Project": context.project,
        "Memex-Tool-Call-Id": context.tool_call_id,
        "Memex-Role": context.role,
    }
    return {name: _header(name, value) for name, value in named.items() if value is not None}


def _context_body(context: CallContext) -> dict[str, str]:
    named = {
        "userId": context.user_id,
        "actor": context.actor,
        "project": context.project,
        "toolCallId": context.tool_call_id,
        "role": context.role,
    }
    return {name: value for name, value in named.items() if value is not None}


def _identified(context: CallContext) -> CallContext:
    """Return the context with a tool call id, made if there is none."""
    return context if context.tool_call_id is not None else context.under(new_tool_call_id())


def _header(name: str, value: str) -> bytes:
    """Return a header's value; raises ValidationFailed where it could not arrive as it is."""
    if value == value.strip() and not any(ord(character) < ord(" ") for character in value):
        with suppress(UnicodeEncodeError):  # said below
            return value.encode()
    raise ValidationFailed(
        f"{name}: {value[:100]!r} has outer spaces, or characters that no header can hold.",
        hint="Give 1 to 200 printable characters without outer spaces.",
    )
