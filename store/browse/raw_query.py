"""One statement of SQL that a person wrote, over the views of what a user may see. It reads, and changes nothing.

It runs as the role of agents in a transaction that only reads, so row-level security shows the user's own rows.
This guards against accidents: whoever holds the login of the database can read everything anyway.
"""

import re
from dataclasses import dataclass
from typing import Any

import psycopg
from psycopg.rows import tuple_row

from memex.errors import ValidationFailed
from memex.store.access import Access
from memex.store.database import Database, rows
from memex.store.waiting.time_limits import TimeLimits

MAX_ROWS = 10_000
LIMITS = TimeLimits(lock_s=5, statement_s=30)
VIEWS = ("my_files", "my_revisions", "my_conversations", "my_messages", "my_documents", "my_calls")

# What Postgres says of the statement, and not of its own state, although elsewhere these errors mean the latter.
_OF_THE_STATEMENT = (
    psycopg.errors.FeatureNotSupported,
    psycopg.errors.ReadOnlySqlTransaction,
    psycopg.errors.ObjectNotInPrerequisiteState,
    psycopg.errors.StatementTooComplex,
    psycopg.errors.ProgramLimitExceeded,
)
# Who could name the function that sets who acts would act as somebody else; also in an identifier of escapes.
_SETTING = re.compile(r"set_config|\bu&\s*\"", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class RawResult:
    """The names of the columns, and at most 10,000 rows. `is_cut` says that there are more."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    is_cut: bool


@dataclass(frozen=True, slots=True)
class ViewColumn:
    """A column of a view, with its type as Postgres names it."""

    view: str
    name: str
    kind: str


async def run_statement(database: Database, access: Access, statement: str) -> RawResult:
    """Return what a statement selects.

    The login of the database must be able to act as the role of agents. `access` has the scopes that the
    statement may read, with those of conversations and of documents.

    Raises:
        ValidationFailed: Postgres refuses the statement, it takes over 30 s, or the login cannot act as an agent.
    """
    if not database.acts_by_role:
        raise ValidationFailed(
            "The login of the database cannot act as memex_agent, so nothing would bind the statement.",
            hint="Use a login that may create roles, and run `memex service migrate` with it.",
        )
    if _SETTING.search(statement):
        raise ValidationFailed("The statement names set_config, which says who acts.")
    scopes = (*access.scopes, *((access.conversations,) if access.conversations else ()), *access.documents)
    try:
        async with database.transaction(access.limited_to(scopes), limits=LIMITS) as connection:
            await connection.execute("set transaction read only")
            await connection.execute(
                "set local enable_seqscan = on"
            )  # which Memex' own statements do without
            cursor = connection.cursor(row_factory=tuple_row)
            found: list[tuple[Any, ...]] = []
            try:
                # A stream uses the extended protocol, which takes one statement alone.
                async for record in cursor.stream(statement.encode()):
                    found.append(record)
                    if len(found) > MAX_ROWS:
                        break
            except psycopg.errors.QueryCanceled:
                raise ValidationFailed(
                    f"The statement took over {LIMITS.statement_s:.3g} s, and was stopped.",
                    hint="Select less, or name a path or a conversation.",
                ) from None
            except _OF_THE_STATEMENT as error:
                raise _refused(error) from None
            columns = tuple(column.name for column in cursor.description or ())
    except psycopg.Error as error:
        raise _refused(error) from None
    return RawResult(columns, tuple(found[:MAX_ROWS]), len(found) > MAX_ROWS)


def _refused(error: psycopg.Error) -> ValidationFailed:
    told = (error.diag.message_primary or str(error)).strip()
    place = f" (at character {error.diag.statement_position})" if error.diag.statement_position else ""
    return ValidationFailed(
        f"Postgres refused the statement{place}: {told}.",
        hint="A statement can only read. See the views and their columns with `memex sql schema`.",
    )


async def list_columns(database: Database, access: Access) -> list[ViewColumn]:
    """Return the columns of the views, in their order."""
    async with database.transaction(access) as connection:
        read = await rows(connection, "browse/view_columns", views=list(VIEWS))
    return [ViewColumn(record["view"], record["name"], record["kind"]) for record in read]
