"""A call to the service: who makes it, and the request that is made of what came in."""

import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from memex.errors import Forbidden
from memex.store.access import Access, Role
from memex.store.identity.authentication import Principal
from memex.store.log.call import Call, CallRequest
from memex.store.log.queue import LeasedCall
from memex.store.paths import check_tool_call_id
from memex.subagent.engine import ENGINE

ROLE_HINTS: dict[Role, str] = {
    "agent": "Use the routes below /v1/admin/ with this key, or an agent's key here.",
    "admin": "Use an admin's key: `memex keys create --role admin` makes one.",
}

UNBOUND_HINT = "Use an administrator's key that is not bound to a user."


@dataclass(frozen=True, slots=True)
class Caller:
    """The caller of one operation: who holds the key, and the memory that is open to the call."""

    principal: Principal
    access: Access

    @property
    def logged(self) -> dict[str, Any]:
        """The caller as the log names it."""
        return {
            "role": self.principal.role,
            "key_id": self.principal.key_id,
            "user": self.access.user_id,
            "actor": self.access.actor,
            "project": self.access.project,
            "channel": self.access.channel,
        }


def check_role(principal: Principal, role: Role) -> None:
    """Refuse a key of another role; raises Forbidden."""
    if principal.role != role:
        raise Forbidden(
            f"This is for {role} keys, and the key is an {principal.role}'s.", hint=ROLE_HINTS[role]
        )


def to_plain(value: Any) -> Any:
    """Return a value as JSON has it if it is a time."""
    return value.isoformat() if hasattr(value, "isoformat") else value


def plain_arguments(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return arguments as the log has them: those that are given, with times as text."""
    return {name: to_plain(value) for name, value in given.items() if value is not None}


def new_call(
    caller: Caller,
    tool: str,
    arguments: dict[str, Any],
    tool_call_id: str | None,
    *,
    now: datetime | None = None,
) -> Call:
    """Return a call made now, or by another clock; raises ValidationFailed for an id that is none."""
    return Call(
        CallRequest(
            tool_call_id=f"call_{secrets.token_hex(12)}"
            if tool_call_id is None
            else check_tool_call_id(tool_call_id),
            tool=tool[:100],
            arguments=arguments,
            principal=caller.logged,
            now=now or datetime.now(UTC),
            engine=ENGINE,
        )
    )


def resumed_call(caller: Caller, leased: LeasedCall) -> Call:
    """Return a call that a worker took from the queue, under its own id and clock."""
    return Call(
        CallRequest(
            tool_call_id=leased.tool_call_id,
            tool=leased.kind,
            arguments=leased.request,
            principal=caller.logged,
            now=leased.now,
            engine=ENGINE,
            accepted_id=leased.operation_id,
        )
    )
