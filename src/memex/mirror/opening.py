"""A push of one root: what this machine knows of its files, and the lock of the root, held meanwhile."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from memex.api.protocol import CallsOperations
from memex.call_context import CallContext
from memex.mirror.known_files import KnownFiles
from memex.mirror.locks import file_lock
from memex.mirror.push import FolderPush
from memex.mirror.roots import PushedRoot
from memex.mirror.scan import FolderScan


@asynccontextmanager
async def open_push(
    api: CallsOperations, context: CallContext, root: PushedRoot, *, prune: bool = False
) -> AsyncIterator[FolderPush]:
    """Open the push of a root; no other process of this machine pushes it meanwhile.

    Raises:
        ValidationFailed: the state of this user cannot be written.
    """
    async with file_lock(root.state_file("lock")):
        known = KnownFiles(root.state_file("sqlite"))
        try:
            yield FolderPush(api, context, root, FolderScan(root.folder, root.patterns, known), prune=prune)
        finally:
            known.close()
