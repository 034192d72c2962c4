"""Links between files: forward links as they are stored, backlinks by their keys, resolved when asked."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from memex.store import links
from memex.store.access import Access, Scope
from memex.store.database import Connection, rows
from memex.store.records import Link

MAX_LINKS = 1_000

Direction = Literal["out", "in", "both"]
FileKey = tuple[int, int]  # scope_id, file_id


@dataclass(frozen=True, slots=True)
class LinkedFile:
    """A file as the end of a link."""

    scope: Scope
    file_id: int
    path: str

    @property
    def key(self) -> FileKey:
        """What it is told apart by."""
        return self.scope.scope_id, self.file_id

    @property
    def virtual_path(self) -> str:
        """The path as a caller writes it."""
        return self.scope.virtual(self.path)


Found = dict[tuple[str, str, str | None], Link]
Step = Callable[[Sequence[LinkedFile], int], Awaitable[list[tuple[Link, LinkedFile | None]]]]


class LinkGraph:
    """The links that a caller can see, read within one transaction."""

    def __init__(self, connection: Connection, access: Access) -> None:
        self._connection = connection
        self._access = access

    async def walk(
        self, scope: Scope, file_id: int, path: str, *, direction: Direction, depth: int
    ) -> Sequence[Link]:
        """Return the links up to `depth` hops from a file, at most 1,000, in each direction the nearest first."""
        origin = LinkedFile(scope, file_id, path)
        found: Found = {}
        if direction in ("out", "both"):
            await self._follow(origin, depth, found, self._links_out)
        if direction in ("in", "both"):
            await self._follow(origin, depth, found, self._links_in)
        return list(found.values())[:MAX_LINKS]

    async def links_in_text(self, scope: Scope, path: str, content: str) -> Sequence[Link]:
        """Return the links of a text that stands, or stood, at a path, at most 1,000."""
        parsed = links.parse(content, path)[:MAX_LINKS]
        sides = [
            {
                "scope_id": scope.scope_id,
                "source_file_id": 0,
                "ordinal": ordinal,
                "target_key": target,
                "raw": link.raw,
                "anchor": link.anchor,
                "path": path,
            }
            for ordinal, link in enumerate(parsed)
            for target in link.targets
        ]
        return [_link(source, link, target, 1) for source, link, target in await self._resolved(sides)]

    async def _follow(self, origin: LinkedFile, depth: int, found: Found, step: Step) -> None:
        frontier, left = [origin], {origin.key}
        for hop in range(1, depth + 1):
            reached: dict[FileKey, LinkedFile] = {}
            for link, neighbour in await step(frontier, hop):
                found.setdefault((link.source, link.target, link.heading), link)
                if neighbour is not None and neighbour.key not in left:
                    reached[neighbour.key] = neighbour
            frontier = list(reached.values())
            left.update(reached)
            if not frontier or len(found) >= MAX_LINKS:
                return

    async def _links_out(
        self, sources: Sequence[LinkedFile], hop: int
    ) -> list[tuple[Link, LinkedFile | None]]:
        records = await rows(
            self._connection,
            "link_out",
            scope_ids=[source.scope.scope_id for source in sources],
            file_ids=[source.file_id for source in sources],
            limit=2 * MAX_LINKS,
        )
        return [
            (_link(source, link, target, hop), target)
            for source, link, target in await self._resolved(records)
        ]

    async def _links_in(
        self, targets: Sequence[LinkedFile], hop: int
    ) -> list[tuple[Link, LinkedFile | None]]:
        keys = set()
        for target in targets:
            path_key, name_key = links.path_keys(target.path)
            keys |= {path_key, name_key, f"{links.key(target.scope.mount)}/{path_key}"}
        records = await rows(
            self._connection,
            "link_in",
            scope_ids=[scope.scope_id for scope in self._access.scopes],
            keys=sorted(keys),
            limit=2 * MAX_LINKS,
        )
        wanted = {target.key for target in targets}
        return [
            (_link(source, link, target, hop), source)
            for source, link, target in await self._resolved(records)
            if target is not None and target.key in wanted
        ]

    async def _resolved(
        self, records: Sequence[dict[str, Any]]
    ) -> list[tuple[LinkedFile, dict[str, Any], LinkedFile | None]]:
        """Join the sides of each link, and find the file that each link means."""
        sides: dict[tuple[int, int, int], list[dict[str, Any]]] = {}
        for record in records:
            place = record["scope_id"], record["source_file_id"], record["ordinal"]
            sides.setdefault(place, []).append(record)
        candidates = await self._candidates({record["target_key"] for record in records})
        resolved = []
        for (scope_id, file_id, _), link in sides.items():
            source = LinkedFile(self._access.by_id[scope_id], file_id, link[0]["path"])
            targets = [record["target_key"] for record in link]
            target = self._resolve(targets, source.scope, candidates)
            resolved.append((source, link[0], target))
        return resolved

    async def _candidates(self, keys: set[str]) -> dict[str, list[tuple[LinkedFile, str, str]]]:
        """Return the files that each key can mean, with their keys."""
        path_keys = set(keys)
        for scope in self._access.scopes:
            mount = f"{links.key(scope.mount)}/"
            path_keys |= {key.removeprefix(mount) for key in keys if key.startswith(mount)}
        if not keys:
            return {}
        found = await rows(
            self._connection,
            "file_by_key",
            scope_ids=[scope.scope_id for scope in self._access.scopes],
            path_keys=sorted(path_keys),
            name_keys=sorted(keys),
        )
        by_key: dict[str, list[tuple[LinkedFile, str, str]]] = {}
        for record in found:
            scope = self._access.by_id[record["scope_id"]]
            file = LinkedFile(scope, record["file_id"], record["path"])
            path_key, name_key = record["path_key"], record["name_key"]
            for key in {path_key, name_key, f"{links.key(scope.mount)}/{path_key}"} & keys:
                by_key.setdefault(key, []).append((file, path_key, name_key))
        return by_key

    def _resolve(
        self,
        targets: Sequence[str],
        own: Scope,
        candidates: dict[str, list[tuple[LinkedFile, str, str]]],
    ) -> LinkedFile | None:
        order = {scope.scope_id: place for place, scope in enumerate(self._access.scopes, start=1)}
        order[own.scope_id] = 0
        files = {
            links.Candidate(order[file.scope.scope_id], file.scope.mount, file.path, path_key, name_key): file
            for target in targets
            for file, path_key, name_key in candidates.get(target, ())
        }
        chosen = links.resolve(targets, list(files))
        return files[chosen] if chosen is not None else None


def _link(source: LinkedFile, link: dict[str, Any], target: LinkedFile | None, hop: int) -> Link:
    return Link(
        source=source.virtual_path,
        target=target.virtual_path if target is not None else link["raw"],
        heading=link["anchor"],
        exists=target is not None,
        hop=hop,
    )
