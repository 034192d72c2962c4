"""Links between files: forward links as they are stored, backlinks by their keys, resolved when asked."""

from collections.abc import Container, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, Literal, NamedTuple

from memex.store import links
from memex.store.access import Access, Scope
from memex.store.citations.syntax import is_citation_key
from memex.store.database import Connection, Statement, rows_as
from memex.store.paths import parse
from memex.store.records import Link, NearLink
from memex.store.search.index import MAX_ANCHOR_CHARS, MAX_KEY_CHARS, MAX_RAW_CHARS
from memex.store.snapshot.reader import SnapshotReader, SnapshotRows
from memex.store.text_pool import offload

MAX_LINKS = 1_000
MAX_LINKS_PER_HOP = links.MAX_LINKS  # in one hop; a file is always read whole
MAX_OUT_LINKS = 40  # of one file, for a context
MAX_BACKLINKS = 400  # that lead to some files, for a context

Direction = Literal["out", "in", "both"]
FileKey = tuple[int, int]  # scope_id, file_id


class LinkedFile(NamedTuple):  # a call makes hundreds, and a dataclass takes three times as long
    """A file as the end of a link."""

    scope: Scope
    file_id: int
    path: str

    @property
    def key(self) -> FileKey:
        """The values that tell this file from others."""
        return self.scope.scope_id, self.file_id

    @property
    def virtual_path(self) -> str:
        """The path as a caller writes it."""
        return self.scope.virtual(self.path)


class WrittenLink(NamedTuple):  # as `LinkedFile`
    """A link as it stands in a file, with the keys that it may mean, best first; without `raw` for a context."""

    source: LinkedFile
    target_keys: Sequence[str]
    raw: str
    anchor: str | None


NamedFile = tuple[LinkedFile, str, str]  # with the keys of its path and its name
ResolvedLink = tuple[WrittenLink, LinkedFile | None]
LinksByKey = dict[tuple[str, str, str | None], Link]


class LinkGraph:
    """The links that a caller can see, read within one transaction."""

    def __init__(self, connection: Connection, access: Access, reader: SnapshotReader | None = None) -> None:
        """Make one; `reader` may have read ahead what `near` and `back` ask for."""
        self._connection = connection
        self._access = access
        self._reader = reader or SnapshotReader(connection)

    async def walk(
        self, scope: Scope, file_id: int, path: str, *, direction: Direction, depth: int
    ) -> Sequence[Link]:
        """Return the links up to `depth` hops from a file, the nearest first, at most 1,000.

        Links of one source to one target and heading are one link. Of each hop, 10,000 links are looked at.
        """
        origin = LinkedFile(scope, file_id, path)
        found: LinksByKey = {}
        if direction in ("out", "both"):
            found |= await self._follow(origin, depth, is_forward=True)
        if direction in ("in", "both"):
            for ends, link in (await self._follow(origin, depth, is_forward=False)).items():
                # In a cycle, a link that is far ahead can be near behind.
                found[ends] = min(found.get(ends, link), link, key=_hop)
        return sorted(found.values(), key=_hop)[:MAX_LINKS]

    async def links_in_text(self, scope: Scope, path: str, content: str) -> Sequence[Link]:
        """Return the links of a text that stood at a path, as `walk` would if it stood there now."""
        written = await read_links(LinkedFile(scope, 0, path), content)
        found: LinksByKey = {}
        await self._add(found, written, hop=1)
        return list(found.values())[:MAX_LINKS]

    async def near(self, texts: Mapping[str, str]) -> list[NearLink]:
        """Return the links of files that lead to files and stand in the text given with each; 40 a file.

        Args:
            texts: virtual paths of files that stand, each with a part of its text.
        """
        return [
            NearLink(link.source.virtual_path, target.virtual_path, link.anchor)
            for link, target in self._meant(
                *await self._near(self._linked_files(texts), list(texts.values()))
            )
            if target is not None
        ]

    async def back(self, paths: Sequence[str]) -> list[NearLink]:
        """Return the links by which other files lead to files, in the order of those others; 400 are looked at."""
        targets = frozenset(paths)
        return [
            NearLink(link.source.virtual_path, target.virtual_path, link.anchor)
            for link, target in self._meant(*await self._back(self._linked_files(paths)))
            if target is not None
            and target.virtual_path in targets
            and target.virtual_path != link.source.virtual_path
        ]

    def near_statement(self, texts: Mapping[str, str]) -> Statement:
        """Return the statement by which `near` reads."""
        return self._near_statement(self._linked_files(texts), list(texts.values()))

    def back_statement(self, paths: Iterable[str]) -> Statement:
        """Return the statement by which `back` reads."""
        return self._back_statement(self._linked_files(paths))

    def _linked_files(self, paths: Iterable[str]) -> list[LinkedFile]:
        return [self._linked_file(path) for path in paths]

    def _linked_file(self, path: str) -> LinkedFile:
        """Return the file at a virtual path as the end of a link, without its id."""
        parsed = parse(path)
        return LinkedFile(self._access.scope_of(parsed), 0, parsed.relative)

    async def _follow(self, origin: LinkedFile, depth: int, *, is_forward: bool) -> LinksByKey:
        """Return the links up to `depth` hops ahead, or behind, the nearest first; each file is left once."""
        found: LinksByKey = {}
        frontier, left = {origin.key: origin}, {origin.key}
        for hop in range(1, depth + 1):
            if is_forward:
                added = await self._add(found, await self._links_out(frontier), hop)
                neighbours = [target for _, target in added if target is not None]
            else:
                added = await self._add(found, await self._links_in(frontier), hop, to=frontier)
                neighbours = [link.source for link, _ in added]
            frontier = {file.key: file for file in neighbours if file.key not in left}
            left.update(frontier)
            if not frontier or len(found) >= MAX_LINKS:
                break
        return found

    async def _add(
        self,
        found: LinksByKey,
        written: Sequence[WrittenLink],
        hop: int,
        *,
        to: Container[FileKey] | None = None,
    ) -> list[ResolvedLink]:
        """Add links until there are enough, of those that lead to `to` or by default anywhere; return them.

        A link that was found before stays as it is. One that leads to no file is named by what was written.
        """
        added: list[ResolvedLink] = []
        for start in range(0, len(written), MAX_LINKS):
            if len(found) >= MAX_LINKS:
                break
            for link, target in await self._resolved(written[start : start + MAX_LINKS]):
                if to is None or (target is not None and target.key in to):
                    ends = link.source.virtual_path, target.virtual_path if target else link.raw, link.anchor
                    found.setdefault(ends, Link(*ends, exists=target is not None, hop=hop))
                    added.append((link, target))
        return added

    async def _links_out(self, sources: Mapping[FileKey, LinkedFile]) -> list[WrittenLink]:
        """Return the links that stand in files."""
        return await rows_as(
            partial(_out_link, sources),
            self._connection,
            "memory/link_out",
            scope_ids=[scope_id for scope_id, _ in sources],
            file_ids=[file_id for _, file_id in sources],
            limit=MAX_LINKS_PER_HOP,
        )

    async def _near(
        self, sources: Sequence[LinkedFile], texts: Sequence[str]
    ) -> tuple[list[WrittenLink], list[NamedFile]]:
        """Return the links in the texts given with files, by file, and the files that they can mean."""
        [found] = await self._reader.rows(self._near_statement(sources, texts))
        near = [
            WrittenLink(sources[place - 1], target_keys, "", anchor)
            for place, _, anchor, target_keys, *_ in found
            if place is not None
        ]
        return near, self._named_in(found[len(near) :])

    def _near_statement(self, sources: Sequence[LinkedFile], texts: Sequence[str]) -> Statement:
        return "memory/link_near", self._meant_parameters() | {
            "scope_ids": [source.scope.scope_id for source in sources],
            "paths": [source.path for source in sources],
            "texts": list(texts),
            "limit": MAX_OUT_LINKS,
        }

    async def _back(self, targets: Sequence[LinkedFile]) -> tuple[list[WrittenLink], list[NamedFile]]:
        """Return the links that may lead to files, by their keys, and the files that they can mean."""
        [found] = await self._reader.rows(self._back_statement(targets))
        scopes = self._access.by_id
        back = [
            WrittenLink(LinkedFile(scopes[scope_id], file_id, path), target_keys, "", anchor)
            for place, _, anchor, target_keys, scope_id, file_id, path, *_ in found
            if place is not None
        ]
        return back, self._named_in(found[len(back) :])

    def _back_statement(self, targets: Sequence[LinkedFile]) -> Statement:
        return "memory/link_back", self._meant_parameters() | {
            "keys": sorted(link_keys(targets)),
            "limit": MAX_BACKLINKS,
        }

    def _meant_parameters(self) -> dict[str, Any]:
        """Return the parameters of a statement that looks for the files that links can mean."""
        scopes = self._access.scopes
        return {
            "all_scope_ids": [scope.scope_id for scope in scopes],
            "mounts": [links.key(scope.mount) for scope in scopes],
        }

    def _named_in(self, found: SnapshotRows) -> list[NamedFile]:
        """Return the files that the links of the rows before these can mean."""
        scopes = self._access.by_id
        return [
            (LinkedFile(scopes[scope_id], file_id, path), path_key, name_key)
            for *_, scope_id, file_id, path, path_key, name_key in found
        ]

    async def _links_in(self, targets: Mapping[FileKey, LinkedFile]) -> list[WrittenLink]:
        """Return the links that may lead to files, by their keys."""
        return await rows_as(
            partial(in_link, self._access.by_id),
            self._connection,
            "memory/link_in",
            scope_ids=[scope.scope_id for scope in self._access.scopes],
            keys=sorted(link_keys(targets.values())),
            limit=MAX_LINKS_PER_HOP,
        )

    async def _resolved(self, written: Sequence[WrittenLink]) -> list[ResolvedLink]:
        """Find the file that each link means."""
        return self._meant(written, await self._named_by(written))

    async def _named_by(self, written: Sequence[WrittenLink]) -> list[NamedFile]:
        """Return the files that links can mean."""
        keys = {key for link in written for key in link.target_keys}
        path_keys = set(keys)
        for scope in self._access.scopes:
            mount = f"{links.key(scope.mount)}/"
            path_keys |= {key.removeprefix(mount) for key in keys if key.startswith(mount)}
        return await self._named(path_keys, keys) if keys else []

    def _meant(self, written: Sequence[WrittenLink], named: Sequence[NamedFile]) -> list[ResolvedLink]:
        """Return links with the file that each means, one of those in `named`."""
        keys = {key for link in written for key in link.target_keys}
        mounts = {scope.scope_id: links.key(scope.mount) for scope in self._access.scopes}
        by_key: dict[str, list[NamedFile]] = {}
        for file, path_key, name_key in named:
            for key in {path_key, name_key, f"{mounts[file.scope.scope_id]}/{path_key}"} & keys:
                by_key.setdefault(key, []).append((file, path_key, name_key))

        meant: dict[tuple[int, str], LinkedFile | None] = {}  # many links may bear one name: index.md

        def target_of(link: WrittenLink) -> LinkedFile | None:
            own = link.source.scope
            for key in link.target_keys:
                if is_citation_key(key):
                    return None
                if key in by_key:
                    place = own.scope_id, key
                    if place not in meant:
                        meant[place] = self._resolve(own, key, by_key[key])
                    if (target := meant[place]) is not None:
                        return target
            return None

        return [(link, target_of(link)) for link in written]

    async def _named(self, path_keys: set[str], name_keys: set[str]) -> list[NamedFile]:
        """Return the files whose path or name has one of these keys."""
        return await rows_as(
            partial(_named_file, self._access.by_id),
            self._connection,
            "memory/file_by_key",
            scope_ids=[scope.scope_id for scope in self._access.scopes],
            path_keys=sorted(path_keys),
            name_keys=sorted(name_keys),
        )

    def _resolve(self, own: Scope, key: str, named: Sequence[NamedFile]) -> LinkedFile | None:
        if len(named) == 1 and key in named[0][1:]:
            return named[0][0]
        order = {scope.scope_id: place for place, scope in enumerate(self._access.scopes, start=1)}
        order[own.scope_id] = 0
        files = {
            links.LinkCandidate(
                order[file.scope.scope_id], file.scope.mount, file.path, path_key, name_key
            ): file
            for file, path_key, name_key in named
        }
        chosen = links.resolve([key], list(files))
        return files[chosen] if chosen is not None else None


def parse_links(source: LinkedFile, content: str) -> list[WrittenLink]:
    """Return the links that stand in a file's text, as the store would hold them."""
    return _written_links(source, links.parse(content, source.path))


async def read_links(source: LinkedFile, content: str) -> list[WrittenLink]:
    """Return the same as `parse_links`; a long text is read in a process."""
    return _written_links(source, await offload.run_on(content, links.parse, content, source.path))


def _written_links(source: LinkedFile, parsed: Iterable[links.ParsedLink]) -> list[WrittenLink]:
    return [
        WrittenLink(
            source, target_keys, link.raw[:MAX_RAW_CHARS], link.anchor and link.anchor[:MAX_ANCHOR_CHARS]
        )
        for link in parsed
        if (target_keys := [target for target in link.targets if len(target) <= MAX_KEY_CHARS])
    ]


def link_keys(targets: Iterable[LinkedFile]) -> set[str]:
    """Return every key by which a link may name one of these files."""
    keys = set()
    for target in targets:
        path_key, name_key = links.path_keys(target.path)
        keys |= {path_key, name_key, f"{links.key(target.scope.mount)}/{path_key}"}
    return keys


# Each of these makes a link, or a file, from the columns of its row. There are no classes for the rows in between,
# because a walk reads hundreds of links, and a second object for each made a row cost 1.7 times as much.
def _out_link(
    sources: Mapping[FileKey, LinkedFile],
    *,
    scope_id: int,
    file_id: int,
    raw: str,
    anchor: str | None,
    target_keys: Sequence[str],
) -> WrittenLink:
    return WrittenLink(sources[scope_id, file_id], target_keys, raw, anchor)


def in_link(
    scopes: Mapping[int, Scope],
    *,
    scope_id: int,
    file_id: int,
    path: str,
    raw: str,
    anchor: str | None,
    target_keys: Sequence[str],
) -> WrittenLink:
    """Return a link with the file that holds it, which lies in one of `scopes`."""
    return WrittenLink(LinkedFile(scopes[scope_id], file_id, path), target_keys, raw, anchor)


def _named_file(
    scopes: Mapping[int, Scope], *, scope_id: int, file_id: int, path: str, path_key: str, name_key: str
) -> NamedFile:
    return LinkedFile(scopes[scope_id], file_id, path), path_key, name_key


def _hop(link: Link) -> int:
    return link.hop
