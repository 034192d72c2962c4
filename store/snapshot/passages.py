"""Passages of files in one snapshot. Where they are read ahead, the whole texts of their files come with them."""

from collections.abc import Sequence

from memex.store.access import Access
from memex.store.database import Statement
from memex.store.records import FilePassages
from memex.store.search import find
from memex.store.search.bm25 import Query
from memex.store.snapshot.reader import SnapshotReader
from memex.store.snapshot.reads import Reads


class PassageReader:
    """Reads passages in one snapshot."""

    def __init__(self, reader: SnapshotReader, access: Access) -> None:
        self._reader = reader
        self._access = access
        self._ahead: dict[tuple[Query, tuple[str, ...]], list[Statement]] = {}

    def statements(self, reads: Reads) -> tuple[list[Statement], dict[str, int]]:
        """Return the statements that read passages ahead, and the files whose texts they leave to other statements.

        The files are those of `Reads.texts`, each with the size, in characters, above which its text is left.
        """
        left = dict(reads.texts)
        statements: list[Statement] = []
        for query, paths in reads.passages:
            ahead = find.passages_statements(self._access, query, paths, left)
            self._ahead[query, tuple(paths)] = ahead
            statements += ahead
            for path in paths:
                left.pop(path, None)
        return statements, left

    async def texts(self, statements: Sequence[Statement]) -> list[tuple[int, str, int, str]]:
        """Return the texts that these statements have read, each with its scope, path and version."""
        found = await self._reader.rows(*statements)
        return [
            (parameters["scope_id"], path, version, content)
            for (_, parameters), rows in zip(statements, found, strict=True)
            for path, version, *_, content in rows
            if content is not None
        ]

    async def read(self, query: Query, paths: Sequence[str]) -> list[FilePassages]:
        """Return the first passages of files, scored by a query; see `find.passages`."""
        statements = self._ahead.get((query, tuple(paths)))
        if statements is None:
            statements = find.passages_statements(self._access, query, paths)
        return find.passages(self._access, query, statements, await self._reader.rows(*statements))
