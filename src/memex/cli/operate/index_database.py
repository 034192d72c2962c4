"""The database of the commands on the index: opened for one piece of work, and closed at its end."""

import inspect
import os
import sys
from collections.abc import Awaitable, Callable
from contextlib import closing
from dataclasses import dataclass
from functools import wraps
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec

from memex.cli.options import UserOptions
from memex.cli.output import CommandOutput
from memex.cli.session.commands import JSON, exit_at_interrupt, in_session, with_options
from memex.errors import ValidationFailed

if TYPE_CHECKING:
    from memex.settings import Settings
    from memex.store.database import Database
    from memex.store.upkeep.reindex import Kind
    from memex.subagent.embedders.interface import Embedder

P = ParamSpec("P")


@dataclass(frozen=True, slots=True)
class ScopeSelection:
    """The scopes that a command works on: all of the database, those of a tenant, or one."""

    tenant: str | None
    kind: "Kind | None" = None
    key: str | None = None

    @property
    def name(self) -> str:
        """The name for people."""
        tenant = f"tenant {self.tenant!r}" if self.tenant else "the database"
        if self.kind is None:
            return tenant
        if self.kind == "conversations":
            return (
                f"conversation of user {self.key!r} in {tenant}" if self.key else f"conversation in {tenant}"
            )
        return f"{self.kind} {self.key!r} in {tenant}" if self.key else f"{self.kind} files in {tenant}"


@dataclass(frozen=True, slots=True)
class IndexDatabase:
    """A database, and the settings with which it was opened."""

    settings: "Settings"
    database: "Database"

    def embedder(self, model: str | None) -> "Embedder":
        """Return the embedder of a command.

        Raises:
            ValidationFailed: no embedder is named, the embedder is unknown or lacks packages, or the database
                cannot store vectors.
        """
        from memex.wiring import embedder_of

        embedder = embedder_of(self.settings, model)
        if embedder is None or not embedder.gives_states:  # its token states need no extension
            self.require_vectors()
        if embedder is None:
            raise ValidationFailed(
                "No embedder is set.",
                hint="Set MEMEX_EMBEDDER, or name an embedder with --model, such as local.",
            )
        return embedder

    def require_vectors(self) -> None:
        """Raise ValidationFailed if the database cannot store vectors."""
        if not self.database.has_vectors:
            raise ValidationFailed(
                "This database holds no vectors: search is by words alone.",
                hint="`memex doctor` says what it needs for them.",
            )


def index_command(
    work: Callable[Concatenate[IndexDatabase, P], Awaitable[CommandOutput]],
    over_http: Callable[..., Awaitable[CommandOutput]] | None = None,
) -> Callable[..., None]:
    """Make a command from a coroutine that works on the database: its parameters, and `--json`.

    Vectors that were made before an interrupt stay, and the next run finds the rest. `over_http` does the work with
    a session of the service at MEMEX_URL; it takes the other parameters than `user` and `tenant`.
    """

    @wraps(work)
    def run(**given: Any) -> CommandOutput:
        import asyncio

        exit_at_interrupt()
        if over_http is not None and os.environ.get("MEMEX_URL"):
            named = {name: given.pop(name) for name in ("tenant", "user")}
            acting = UserOptions(**{name: value for name, value in named.items() if value is not None})
            return asyncio.run(in_session(over_http, acting, given))
        return asyncio.run(_in_database(work, given))

    return with_options(run, [*list(inspect.signature(work).parameters.values())[1:], JSON])


async def _in_database(work: Callable[..., Awaitable[CommandOutput]], given: dict[str, Any]) -> CommandOutput:
    import asyncio
    import gc

    from memex.cli.session.opening import start_database

    # A log line for each batch would disturb the progress bar.
    settings, started = start_database(is_quiet=sys.stderr.isatty())
    from memex.store.database import Database  # loads while the database starts

    gc.enable()
    with closing(await asyncio.wrap_future(started)) as ready:
        database = await Database.open(
            ready.conninfo, max_connections=settings.max_connections, pooler_setting=settings.pooler
        )
        try:
            return await work(IndexDatabase(settings, database), **given)
        finally:
            await database.close()
