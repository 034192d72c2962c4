"""The session of a command: the API that it asks, and for whom it acts."""

import shlex
from collections.abc import AsyncIterator, Collection, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, Self

from memex.call_context import CallContext
from memex.cli.options import DemoOptions, TenantOptions, UserOptions
from memex.cli.output import program_name
from memex.errors import ValidationFailed

if TYPE_CHECKING:
    from memex.api.local import OwnedMemex
    from memex.api.protocol import MemexApi
    from memex.settings import Settings

Options = TenantOptions | UserOptions | DemoOptions
ACTOR = "cli"
LOCAL_HINT = "Run the command where the service runs, or unset MEMEX_URL to use the database of this machine."


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandSession:
    """The API that a command asks, and for whom.

    Attributes:
        api: a Memex in this process or over HTTP.
        owned: the same Memex if it runs in this process.
        user: the user whose memory it is; None for no user, or for the user of the key.
        role: `agent` if an administrator wants only the rights of the user's agent.
    """

    api: "MemexApi"
    owned: "OwnedMemex | None" = None
    tenant: str
    user: str | None = None
    project: str | None = None
    tool_call_id: str | None = None
    role: Literal["agent"] | None = None
    as_admin: bool = False

    @property
    def context(self) -> CallContext:
        """The context of each call. What a person writes on the command line comes by the channel `user`."""
        return CallContext(self.user, ACTOR, self.project, self.tool_call_id, channel="user", role=self.role)

    async def call(self, name: str, arguments: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Run an operation of `memex.routes`, and return its JSON."""
        return await self.api.call(self.context, name, arguments)

    async def pages(self, name: str, arguments: Mapping[str, Any]) -> AsyncIterator[dict[str, Any]]:
        """Yield the pages of an operation, from `cursor` among the arguments on, to the last one."""
        page = await self.call(name, arguments)
        yield page
        while page["next_cursor"] is not None:
            page = await self.call(name, {**arguments, "cursor": page["next_cursor"]})
            yield page

    async def execute(self, tool: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Run a tool, and return its JSON."""
        return await self.api.execute(self.context, tool, arguments)

    async def shown_by(self, call: str, tool: str, *, without: Collection[str]) -> dict[str, Any]:
        """Return the arguments that write exactly what a dry run showed: its own, as the log has them, and its id.

        It leaves out arguments that a call which writes does not have (`without`); raises ValidationFailed if
        `call` was a dry run of another tool.
        """
        newest = (await self.call("memory_operation", {"tool_call_id": call}))["attempts"][0]
        if newest["tool"] != tool:
            raise ValidationFailed(f"The call {call!r} was no dry run of {tool.rpartition('_')[2]}.")
        kept = {name: value for name, value in newest["request"].items() if name not in without}
        return kept | {"dry_run_id": call}

    @property
    def local(self) -> "OwnedMemex":
        """The Memex in this process, for a command that needs the database; raises ValidationFailed over HTTP."""
        if self.owned is None:
            raise not_over_http()
        return self.owned

    def of(self, user: str | None) -> Self:
        """Return the same session for another user, or for none, which only an administrator can ask."""
        return replace(self, user=user, role=self.role if user is not None else None)

    def without_project(self) -> Self:
        """Return the same session without its project, which may be a label of sessions."""
        return replace(self, project=None)

    def command(self, *words: str) -> str:
        """Return the shell line that runs another command for the same tenant and user."""
        given, default = {"tenant": self.tenant, "user": self.user}, UserOptions()
        options = [
            option
            for name, value in given.items()
            if value is not None and value != getattr(default, name)
            for option in (f"--{name}", value)
        ]
        if self.as_admin:
            options.append("--as-admin")
        return shlex.join([program_name(), *words, *options])


def not_over_http() -> ValidationFailed:
    """Return the error for a command that needs the database itself."""
    return ValidationFailed(
        "This command needs the database, but MEMEX_URL names a service.", hint=LOCAL_HINT
    )


def check_local(settings: "Settings") -> None:
    """Raise ValidationFailed if MEMEX_URL is set, for a command that needs the database itself."""
    if settings.url is not None:
        raise not_over_http()
