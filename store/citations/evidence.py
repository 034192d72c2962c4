"""Reads of files for comparisons with conversations: whose a citation is, and what has left a file."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime

from memex.store.access import Access, Scope
from memex.store.citations.records import citations_of_places
from memex.store.citations.syntax import CitedPlace
from memex.store.database import Connection, rows
from memex.store.paths import parse

NEWEST = 2**62  # above every rev
MAX_LINES = 50_000  # of old versions

RemovedLine = tuple[str, datetime | None]


class EvidenceReader:
    """Reads of one caller, within one transaction; with `revs` as of these changes of the scopes."""

    def __init__(
        self, connection: Connection, access: Access, revs: Mapping[Scope, int] | None = None
    ) -> None:
        self._connection = connection
        self._access = access
        self._revs = revs

    async def own_citations(self, places: Collection[CitedPlace]) -> set[tuple[str, CitedPlace]]:
        """Return which of these citations are of conversations of the user, each with the mount of its file."""
        scopes = {scope.scope_id: scope.mount for scope in self._access.scopes}
        found = await citations_of_places(self._connection, scopes, places)
        return {
            (scopes[citation.scope_id], citation.place)
            for citation in found
            if citation.user_id == self._access.user_id
        }

    async def removed_lines(self, paths: Sequence[str]) -> list[RemovedLine]:
        """Return list items that went from files, with the last time of that; without a time those that stand.

        Args:
            paths: virtual, of files that may not be there.
        """
        placed = [parse(path) for path in paths]
        scopes = {scope.scope_id: scope for scope in map(self._access.scope_of, placed)}
        found = await rows(
            self._connection,
            "citations/line_removed",
            scope_ids=list(scopes),
            revs=[
                NEWEST if self._revs is None else self._revs.get(scope_id, 0) for scope_id in scopes.values()
            ],
            paths=sorted({path.relative for path in placed}),
            limit=MAX_LINES,
        )
        return [(record["line"], record["removed_at"]) for record in found]
