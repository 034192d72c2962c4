"""Links between files as they stood at a moment: stored ones of unchanged files, those of the others read anew."""

from collections.abc import Collection, Mapping, Sequence
from functools import partial
from typing import Any

from memex.store.access import Access, Scope
from memex.store.database import Connection, rows_as
from memex.store.graph import (
    MAX_BACKLINKS,
    MAX_LINKS_PER_HOP,
    MAX_OUT_LINKS,
    FileKey,
    LinkedFile,
    LinkGraph,
    NamedFile,
    WrittenLink,
    in_link,
    link_keys,
    parse_links,
    read_links,
)
from memex.store.past.changes import ChangeReader, PastFile, check_size
from memex.store.text_pool import offload

PlacedLink = tuple[int, str, int, WrittenLink]  # place of the scope, path, ordinal: the order of backlinks


class PastGraph(LinkGraph):
    """The links that a caller could see at a moment.

    Args:
        connection: in a snapshot transaction.
        access: the scopes to read.
        changed: what was changed in them since.
        revs: the number of each scope's last change at the moment; scopes where nothing stood are left out.
    """

    def __init__(
        self, connection: Connection, access: Access, changed: ChangeReader, revs: Mapping[Scope, int]
    ) -> None:
        super().__init__(connection, access)
        self._changed = changed
        self._revs = revs

    async def _links_out(self, sources: Mapping[FileKey, LinkedFile]) -> list[WrittenLink]:
        by_source: dict[FileKey, list[WrittenLink]] = {key: [] for key in sources}
        changes = await self._changed.since(self._revs)
        past: dict[FileKey, PastFile] = {}
        for key, source in sources.items():
            if source.file_id in changes[source.scope].file_ids:
                past[key] = changes[source.scope].by_id[source.file_id]
        unchanged = {key: source for key, source in sources.items() if key not in past}
        for link in await super()._links_out(unchanged):
            by_source[link.source.key].append(link)
        for file, content in await self._read(past.values()):
            key = file.scope.scope_id, file.file_id
            by_source[key] = await read_links(sources[key], content)
        return [link for written in by_source.values() for link in written][:MAX_LINKS_PER_HOP]

    async def _near(
        self, sources: Sequence[LinkedFile], texts: Sequence[str]
    ) -> tuple[list[WrittenLink], list[NamedFile]]:
        changes = await self._changed.since(self._revs)
        near: dict[int, list[WrittenLink]] = {}
        past: dict[PastFile, int] = {}
        unchanged: list[int] = []
        for place, source in enumerate(sources):
            known = changes.get(source.scope)
            if known is not None and source.path in known.by_path:
                past[known.by_path[source.path]] = place
            elif known is not None and source.path not in known.paths_now:
                unchanged.append(place)
        found, _ = await super()._near([sources[at] for at in unchanged], [texts[at] for at in unchanged])
        places = {sources[at].virtual_path: at for at in unchanged}
        for link in found:
            near.setdefault(places[link.source.virtual_path], []).append(link)
        for file, content in await self._read(past):
            place = past[file]
            written = await read_links(sources[place], content)
            near[place] = [link for link in written if link.raw in texts[place]][:MAX_OUT_LINKS]
        ordered = [link for place in sorted(near) for link in near[place]]
        return ordered, await self._named_by(ordered)

    async def _back(self, targets: Sequence[LinkedFile]) -> tuple[list[WrittenLink], list[NamedFile]]:
        written = await self._links_in({(0, place): file for place, file in enumerate(targets)})
        written = written[:MAX_BACKLINKS]
        return written, await self._named_by(written)

    async def _links_in(self, targets: Mapping[FileKey, LinkedFile]) -> list[WrittenLink]:
        keys = link_keys(targets.values())
        order = {scope.scope_id: place for place, scope in enumerate(self._revs)}
        placed = await rows_as(
            partial(_placed_link, order, self._access.by_id),
            self._connection,
            "past/link_in",
            scope_ids=list(order),
            revs=list(self._revs.values()),
            keys=sorted(keys),
            limit=MAX_LINKS_PER_HOP,
        )
        changes = await self._changed.since(self._revs)
        check_size(changes.values())
        for scope, known in changes.items():
            async for part in self._changed.texts(known.past_files):
                chars = sum(file.size_chars for file, _ in part)
                placed += await offload.run_in_thread(
                    chars, _links_leading_to, part, keys, order[scope.scope_id]
                )
        return [link for *_, link in sorted(placed, key=lambda link: link[:3])[:MAX_LINKS_PER_HOP]]

    async def _named(self, path_keys: set[str], name_keys: set[str]) -> list[NamedFile]:
        changes = await self._changed.since(self._revs)
        found = [
            named
            for named in await super()._named(path_keys, name_keys)
            if (known := changes.get(named[0].scope)) and named[0].file_id not in known.file_ids
        ]
        return found + [
            (LinkedFile(scope, file.file_id, file.path), file.path_key, file.name_key)
            for scope, known in changes.items()
            for file in known.past_files
            if file.path_key in path_keys or file.name_key in name_keys
        ]

    async def _read(self, files: Collection[PastFile]) -> list[tuple[PastFile, str]]:
        by_scope: dict[Scope, list[PastFile]] = {}
        for file in files:
            by_scope.setdefault(file.scope, []).append(file)
        return [
            read for mine in by_scope.values() async for part in self._changed.texts(mine) for read in part
        ]


def _placed_link(
    order: Mapping[int, int], scopes: Mapping[int, Scope], *, ordinal: int, **columns: Any
) -> PlacedLink:
    """Return a link with its place among backlinks, from the columns of its row."""
    return order[columns["scope_id"]], columns["path"], ordinal, in_link(scopes, **columns)


def _links_leading_to(part: Sequence[tuple[PastFile, str]], keys: set[str], place: int) -> list[PlacedLink]:
    """Return the links in files that may lead to one of these keys."""
    return [
        (place, file.path, ordinal, link)
        for file, content in part
        for ordinal, link in enumerate(parse_links(LinkedFile(file.scope, file.file_id, file.path), content))
        if not keys.isdisjoint(link.target_keys)
    ]
