"""LangGraph's store over one user's memory: an item is a Markdown file with its value as JSON.

store = MemexStore(memex.for_user("alice"))
graph = builder.compile(store=store)

The namespace `("notes", "tea")` is the folder `user/store/notes/tea/`, the key `oolong` the file `oolong.md` in it.
For tools of an agent see `memex.integrations.langchain`.
"""

import asyncio
import json
import re
import threading
from collections.abc import Coroutine, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, TypeVar
from urllib.parse import quote, unquote

from memex.api.memex import Memex, UserMemory
from memex.errors import FileNotFound
from memex.integrations.extras import required_extra

with required_extra("langgraph"):
    from langgraph.store.base import (
        BaseStore,
        GetOp,
        Item,
        ListNamespacesOp,
        Op,
        PutOp,
        Result,
        SearchItem,
        SearchOp,
    )
    from langgraph.store.memory import InMemoryStore

T = TypeVar("T")
Namespace = tuple[str, ...]
PAGE, MAX_HITS, MAX_CONCURRENT_CALLS = 1_000, 100, 8
SAFE = "@+,="
FILE = re.compile(
    r"\A---\ncreated_at: (?P<created>\S+)\n---\n.*?^```json\n(?P<value>.*)\n```\n?\Z",
    re.MULTILINE | re.DOTALL,
)
REASON = "LangGraph store"


class MemexStore(BaseStore):
    """A BaseStore that keeps every version of an item, and searches by words with the rank of Memex.

    Made inside an event loop it belongs to that loop: there the asynchronous methods are for use, and from other
    threads the others. Made without one it has a loop of its own, and both may be used. Items live until they are
    deleted (a `ttl` is refused), every value is searched (`index` changes nothing), and a search with a `query`
    returns only items that share a word with it.

    Args:
        memory: whose it is.
        folder: where the items stand.
    """

    __slots__ = ("_folder", "_loop", "_memory", "_slots", "_thread")

    def __init__(self, memory: UserMemory, *, folder: str = "user/store") -> None:
        super().__init__()
        self._memory = memory
        self._folder = folder.rstrip("/")
        self._slots = asyncio.Semaphore(MAX_CONCURRENT_CALLS)
        self._thread: threading.Thread | None
        try:
            self._loop = asyncio.get_running_loop()
            self._thread = None
        except RuntimeError:
            self._loop = asyncio.new_event_loop()
            self._thread = threading.Thread(target=self._loop.run_forever, name="memex-store", daemon=True)
            self._thread.start()

    def close(self, memex: Memex) -> None:
        """Close the Memex that was asked, and end the store's own loop, if it has one."""
        asyncio.run_coroutine_threadsafe(memex.close(), self._loop).result()
        if self._thread is not None:
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
            self._loop.close()

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Run operations from a thread without the store's loop; see `abatch`."""
        try:
            if asyncio.get_running_loop() is self._loop:
                raise asyncio.InvalidStateError("In the store's own event loop, await aget, aput, asearch …")
        except RuntimeError:
            pass
        return asyncio.run_coroutine_threadsafe(self._batch(list(ops)), self._loop).result()

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """Run operations: the reads together, then the writes, of which the last counts for each item."""
        work = self._batch(list(ops))
        if asyncio.get_running_loop() is self._loop:
            return await work
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, self._loop))

    async def _batch(self, ops: Sequence[Op]) -> list[Result]:
        if any(isinstance(op, PutOp) and op.ttl is not None for op in ops):
            raise NotImplementedError("Items live until they are deleted: MemexStore takes no ttl.")
        results = list(await asyncio.gather(*(self._read(op) for op in ops)))
        puts = {(op.namespace, op.key): op for op in ops if isinstance(op, PutOp)}
        await asyncio.gather(*(self._put(op) for op in puts.values()))
        return results

    async def _read(self, op: Op) -> Result:
        match op:
            case GetOp():
                return await self._item(self._path(op.namespace, op.key))
            case SearchOp():
                return await self._search(op)
            case ListNamespacesOp():
                return await self._namespaces(op)
        return None

    async def _put(self, op: PutOp) -> None:
        path = self._path(op.namespace, op.key)
        before = await self._item(path)
        if op.value is not None:
            created = datetime.now(UTC) if before is None else before.created_at
            text = _written(op.key, op.value, created)
            await self._limited(self._memory.write(path, text, overwrite=True, reason=REASON))
        elif before is not None:
            await self._limited(self._memory.delete(path, reason=REASON))

    async def _search(self, op: SearchOp) -> list[SearchItem]:
        prefix = self._path(op.namespace_prefix)
        scores: dict[str, float | None]
        if op.query:
            found = await self._memory.find(op.query, limit=MAX_HITS, prefix=prefix)
            scores = {hit.path: hit.score for hit in found.hits}
        else:
            files = sorted(await self._files(prefix), key=lambda file: file[1], reverse=True)
            scores = {path: None for path, _ in files}
        items = await asyncio.gather(*(self._item(path) for path in scores))
        there = [(item, score) for item, score in zip(items, scores.values(), strict=True) if item]
        fitting = _filter_items([item for item, _ in there], op)
        kept = [
            SearchItem(item.namespace, item.key, item.value, item.created_at, item.updated_at, score)
            for item, score in there
            if (item.namespace, item.key) in fitting
        ]
        return kept[op.offset : op.offset + op.limit]

    async def _namespaces(self, op: ListNamespacesOp) -> list[Namespace]:
        local = InMemoryStore()  # it knows the rules of wildcards, depth and pages
        for path, _ in await self._files(f"{self._folder}/"):
            if namespace := self._address(path)[0]:
                local.put(namespace, "any", {})
        [namespaces] = local.batch([op])
        return namespaces  # type: ignore[return-value]  # of this operation

    async def _files(self, prefix: str) -> list[tuple[str, str]]:
        found, cursor = [], None
        while True:
            listed = await self._memory.list(prefix, limit=PAGE, cursor=cursor)
            found += [(file.path, file.updated_at) for file in listed.files if file.path.endswith(".md")]
            if (cursor := listed.next_cursor) is None:
                return found

    async def _item(self, path: str) -> Item | None:
        try:
            read = await self._limited(self._memory.read(path))
        except FileNotFound:
            return None
        namespace, key = self._address(path)
        if (found := FILE.match(read.content)) is None or not namespace:
            return None  # a file of someone else
        return Item(
            value=json.loads(found["value"]),
            key=key,
            namespace=namespace,
            created_at=datetime.fromisoformat(found["created"]),
            updated_at=datetime.fromisoformat(read.updated_at),
        )

    async def _limited(self, work: Coroutine[Any, Any, T]) -> T:
        async with self._slots:
            return await work

    def _path(self, namespace: Namespace, key: str | None = None) -> str:
        name = "" if key is None else f"{_quoted(key)}.md"
        return "/".join([self._folder, *(_quoted(label) for label in namespace), name])

    def _address(self, path: str) -> tuple[Namespace, str]:
        *labels, name = path.removeprefix(f"{self._folder}/").split("/")
        return tuple(unquote(label) for label in labels), unquote(name.removesuffix(".md"))


def _quoted(name: str) -> str:
    """Return a name as one segment of a path, from which it can be read back exactly."""
    return quote(name, safe=SAFE if name != name.strip() else f"{SAFE} ", errors="surrogatepass")


def _written(key: str, value: Mapping[str, Any], created: datetime) -> str:
    text = json.dumps(value, indent=1, ensure_ascii=False)
    if any("\ud800" <= character <= "\udfff" for character in text):  # half a pair can only stand escaped
        text = json.dumps(value, indent=1)
    title = " ".join(key.split())
    return f"---\ncreated_at: {created.isoformat()}\n---\n# {title}\n\n```json\n{text}\n```\n"


def _filter_items(items: Sequence[Item], op: SearchOp) -> set[tuple[Namespace, str]]:
    """Return the items that a filter lets through, by LangGraph's own rules."""
    local = InMemoryStore()
    local.batch([PutOp(item.namespace, item.key, item.value) for item in items])
    [found] = local.batch([SearchOp((), op.filter, limit=len(items))])
    return {(item.namespace, item.key) for item in found}  # type: ignore[union-attr]  # of this operation
