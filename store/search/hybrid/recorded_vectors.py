"""The recorded results of a vector search, put back into the scopes as a search of the past sees them."""

from collections.abc import Sequence
from dataclasses import replace

from memex.store.database import Connection, batch
from memex.store.paths import parse
from memex.store.records import NearSpan
from memex.store.search.lexical import ScopeView
from memex.store.search.vectors import NearChunk, near_chunk


async def find_recorded_chunks(
    connection: Connection, views: Sequence[ScopeView], spans: Sequence[NearSpan]
) -> list[NearChunk]:
    """Return the chunks at these places, in their order, but for places where none stands.

    Args:
        connection: in a snapshot transaction.
        views: the scopes as this search sees them: chunks of files that were changed since are in `added`.
        spans: what was found, the nearest first.
    """
    by_mount = {view.scope.mount: view for view in views}
    paths = {place.path: parse(place.path) for place in spans}
    found: dict[tuple[str, int], NearChunk] = {}
    asked = []
    for mount, view in by_mount.items():
        mine = [place for place in spans if paths[place.path].mount_name == mount]
        for chunk in view.added:
            path = view.scope.virtual(chunk.path)
            found[path, chunk.span[0]] = NearChunk(
                0.0, path, chunk.span, view.scope, chunk.chunk_id, chunk.file_id, chunk
            )
        wanted = {
            "scope_id": view.scope.scope_id,
            "paths": [paths[place.path].relative for place in mine],
            "starts": [place.span[0] for place in mine],
        }
        asked.append((view, wanted))
    read = await batch(connection, *(("search/chunk_at", wanted) for _, wanted in asked))
    for (view, _), records in zip(asked, read, strict=True):
        for stored in (near_chunk(view.scope, distance=0.0, **record) for record in records):
            if stored.chunk_id not in view.hidden:
                found.setdefault((stored.path, stored.span[0]), stored)
    return [
        replace(near, distance=place.distance, interaction=place.interaction)
        for place in spans
        if (near := found.get((place.path, place.span[0]))) is not None
    ]
