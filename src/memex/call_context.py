"""For whom a call is made: one class for the API, the client over HTTP and the store."""

from dataclasses import dataclass, replace
from typing import Literal, Self

Channel = Literal["user", "agent", "import", "dream", "admin"]


@dataclass(frozen=True, slots=True)
class CallContext:
    """For whom a call is made, as the trusted side says; never an argument that a model fills in.

    Attributes:
        user_id: the user whose memory it is. None for a key that is bound to its user, or for an admin.
        actor: who acts for the user, such as the name of a program.
        project: the slug of the project that the work is about.
        tool_call_id: the id under which the call is logged; a write is done once under it.
        channel: how a write came, if the role of the caller does not say it. A key over HTTP cannot choose it.
        role: `agent` gives an admin only the rights of the user's agent; None gives the rights of the key.
    """

    user_id: str | None = None
    actor: str | None = None
    project: str | None = None
    tool_call_id: str | None = None
    channel: Channel | None = None
    role: Literal["agent"] | None = None

    def under(self, tool_call_id: str | None) -> Self:
        """Return the context of a call with this id; None keeps the id that the context has."""
        return self if tool_call_id is None else replace(self, tool_call_id=tool_call_id)
