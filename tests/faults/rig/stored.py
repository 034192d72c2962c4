"""What a database holds at the end of a run, put together with what the clients saw into a history."""

from collections.abc import Sequence
from dataclasses import replace

from tests.faults.checker.history import History, Operation, Revision
from tests.faults.rig.postgres import DATABASE, PostgresServer
from tests.kit.inconsistencies import INCONSISTENCIES

REVISIONS = """
select case kind when 'user' then 'user:' || key when 'project' then 'projects/' || key else kind end,
       path, file_id, version, revision.rev, rev_end, tool_call_id, content, encode(sha256, 'hex'), deleted
  from revision join scope using (scope_id)
"""
# Of each call the attempt that did it, or that answered a read.
CALLS = """
select tool_call_id, user_id, state, coalesce(response -> 'writes', '[]')
  from operation
 where parent_id is null and status in ('committed', 'answered') and state is not null
"""


def history_of(
    server: PostgresServer, operations: Sequence[Operation], *, earlier: frozenset[str]
) -> History:
    """Return the history of a run: each operation with the state that the log holds of it, and all revisions."""
    logged = {}
    for call_id, user, state, writes in server.execute(CALLS, dbname=DATABASE):
        scopes = {f"user:{user}" if mount == "user" else mount: rev for mount, rev in dict(state).items()}  # type: ignore[call-overload]
        logged[call_id] = (scopes, set(writes))  # type: ignore[call-overload]
    revisions = []
    for scope, path, file_id, version, rev, rev_end, call_id, content, sha256, deleted in server.execute(
        REVISIONS, dbname=DATABASE
    ):
        file = (str(scope), str(path))
        revisions.append(Revision(file, file_id, version, rev, rev_end, call_id, content, sha256, deleted))  # type: ignore[arg-type]
    return History(tuple(_with_log(one, *logged.get(one.call_id, (None, set()))) for one in operations),
                   tuple(revisions), earlier)  # fmt: skip


def inconsistencies(server: PostgresServer) -> list[str]:
    """Return what is inconsistent in the database, in words."""
    return [name for name, statement in INCONSISTENCIES.items() if server.execute(statement, dbname=DATABASE)]


def _with_log(one: Operation, state: dict[str, int] | None, writes: set[str]) -> Operation:
    """Return an operation with its state; a version that it named without having written it was read."""
    if one.kind not in ("restore", "revert", "move") or state is None:
        return replace(one, state=state)
    wrote = tuple(seen for seen in one.wrote if _virtual(seen.file, seen.version) in writes)
    read = tuple(seen for seen in one.wrote if seen not in wrote)
    return replace(one, state=state, wrote=wrote, read=read)


def _virtual(file: tuple[str, str], version: int) -> str:
    mount = "user" if file[0].startswith("user:") else file[0]
    return f"{mount}/{file[1]}@{version}"
