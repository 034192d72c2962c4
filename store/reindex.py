"""The index of a scope, made anew from the text of its files: after an upgrade, or in another language."""

from collections.abc import Sequence
from dataclasses import dataclass

from memex.store.analyzer import Analyzer
from memex.store.database import Database


@dataclass(frozen=True, slots=True)
class IndexedScope:
    """A scope, what made its index, and what would make it now."""

    scope_id: int
    tenant: str
    kind: str
    name: str
    language: str
    analyzer: str
    current: str

    @property
    def is_stale(self) -> bool:
        """Whether its chunks and lexemes were made by another version of the chunker or analyzer."""
        return self.analyzer != self.current


@dataclass(frozen=True, slots=True)
class Rebuilt:
    """What one rebuild put into the index of a scope."""

    scope: IndexedScope
    files: int
    chunks: int
    seconds: float


async def scopes(database: Database, **chosen: str | None) -> Sequence[IndexedScope]:
    """Return the scopes that are chosen, with what made the index of each."""
    raise NotImplementedError


async def rebuild(database: Database, scope: IndexedScope, analyzer: Analyzer) -> Rebuilt:
    """Make the index of one scope anew, in one transaction under its writers' lock."""
    raise NotImplementedError
