"""A statement of SQL that a person wrote; logged as every call."""

from memex.errors import ValidationFailed
from memex.service.call import Caller
from memex.service.service import Service
from memex.store.browse.raw_query import RawResult, run_statement
from memex.store.log.call import CallAnswer

NAME = "sql_query"
MAX_CHARS = 100_000


async def query(
    service: Service, caller: Caller, statement: str, *, tool_call_id: str | None = None
) -> RawResult:
    """Return what a statement selects; the log keeps the statement and how many rows came back.

    Raises:
        ValidationFailed: the statement is empty or too long, or Postgres refuses it.
    """
    asked = {"statement": statement[:MAX_CHARS]}
    async with service.recorder.recorded(caller, NAME, asked, tool_call_id=tool_call_id) as log:
        if not statement.strip():
            raise ValidationFailed(
                "The statement is empty.", hint="Write a SELECT over the views of `memex sql schema`."
            )
        if len(statement) > MAX_CHARS:
            raise ValidationFailed(f"The statement has {len(statement):,} characters, over {MAX_CHARS:,}.")
        found = await run_statement(service.database, caller.access, statement)
        counted = {"rows": len(found.rows), "columns": list(found.columns), "is_cut": found.is_cut}
        await log.add("answered", CallAnswer(counted, asked, counted))
    return found
