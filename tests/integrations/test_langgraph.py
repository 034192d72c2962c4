"""`MemexStore` as LangGraph's own store in memory behaves, and what it keeps besides."""

import asyncio
from typing import Any

import pytest
from langgraph.store.base import BaseStore, GetOp, InvalidNamespaceError, PutOp, SearchOp
from langgraph.store.memory import InMemoryStore
from tests.integrations.conftest import Home

from memex import Memex
from memex.api.memex import UserMemory
from memex.integrations.langgraph import MemexStore

ITEMS: list[tuple[tuple[str, ...], str, dict[str, Any]]] = [
    (("notes", "tea"), "oolong", {"text": "Steep oolong for four minutes.", "rating": 5}),
    (("notes", "tea"), "a/b \\ c: ü%20.md", {"text": "```\n---\n\u0000 \u2028 'quoted'", "rating": 1}),
    (
        ("notes", "coffee"),
        "moka",
        {"text": "Fill the pot.", "rating": 3, "nested": {"roast": ["dark", None, 1.5]}},
    ),
    (("people",), "elin", {"text": "Elin drinks oolong.", "tags": ["tea"], "empty": {}}),
]


async def filled(store: BaseStore) -> BaseStore:
    """Return a store with the items in it."""
    for namespace, key, value in ITEMS:
        await store.aput(namespace, key, value)
    return store


def addresses(items: Any) -> set[tuple[tuple[str, ...], str, str]]:
    """Return items as what can be compared across stores."""
    return {(item.namespace, item.key, repr(item.value)) for item in items}


async def test_it_answers_as_langgraphs_own_store(memory: UserMemory) -> None:
    """Gets, filters, pages and namespaces with wildcards, and values exactly as they were put."""
    ours, theirs = await filled(MemexStore(memory)), await filled(InMemoryStore())
    for namespace, key, value in [*ITEMS, (("none",), "none", None)]:
        item = await ours.aget(namespace, key)

        assert (item.value if item else None) == value
    searches: list[dict[str, Any]] = [
        {"namespace_prefix": ()},
        {"namespace_prefix": ("notes",)},
        {"namespace_prefix": ("notes", "tea"), "filter": {"rating": {"$gt": 1}}},
        {"namespace_prefix": (), "filter": {"rating": {"$gte": 3, "$ne": 5}} | {"text": "Fill the pot."}},
        {"namespace_prefix": (), "filter": {"tags": ["tea"]}},
        {"namespace_prefix": (), "limit": 0},
    ]
    for search in searches:
        arguments = (search.pop("namespace_prefix"),)
        if "rating" in search.get("filter", {}):
            arguments = (("notes",),)  # LangGraph's comparisons fail on items without the value
        found = await ours.asearch(*arguments, **search)

        assert addresses(found) == addresses(await theirs.asearch(*arguments, **search)), search
    for conditions in (
        {},
        {"prefix": ("notes",)},
        {"suffix": ("tea",)},
        {"prefix": ("*", "tea")},
        {"max_depth": 1},
        {"limit": 1, "offset": 1},
    ):
        assert await ours.alist_namespaces(**conditions) == await theirs.alist_namespaces(**conditions)


async def test_a_query_finds_by_words(memory: UserMemory) -> None:
    """With a score, the best first, inside the namespace; and a page begins where it should."""
    store = await filled(MemexStore(memory))
    everywhere = await store.asearch((), query="oolong")
    tea = await store.asearch(("notes",), query="oolong", filter={"rating": 5})

    assert {item.key for item in everywhere} == {"oolong", "elin"}
    assert [item.key for item in tea] == ["oolong"]
    assert tea[0].score is not None
    assert [item.key for item in await store.asearch((), query="oolong", offset=1)] == [everywhere[1].key]


async def test_items_are_memory_files_with_their_versions(memory: UserMemory) -> None:
    """A put over an item keeps when it was made; the earlier value stays in the history; a delete ends it."""
    store = MemexStore(memory)
    await store.aput(("notes",), "tea", {"text": "oolong"})
    first = await store.aget(("notes",), "tea")
    await store.aput(("notes",), "tea", {"text": "sencha"})
    second = await store.aget(("notes",), "tea")
    await store.adelete(("notes",), "tea")
    await store.adelete(("notes",), "tea")

    assert first is not None
    assert second is not None
    assert second.created_at == first.created_at
    assert second.updated_at > first.updated_at
    assert await store.aget(("notes",), "tea") is None
    history = await memory.history("user/store/notes/tea.md")
    assert [revision.deleted for revision in history.revisions] == [True, False, False]
    assert '"oolong"' in (await memory.read("user/store/notes/tea.md", version=1)).content


async def test_a_batch_reads_before_it_writes(memory: UserMemory) -> None:
    """As LangGraph's own: results in order, and of two puts of one item the last counts."""
    store = MemexStore(memory)
    results = await store.abatch(
        [
            PutOp(("a",), "x", {"n": 1}),
            GetOp(("a",), "x"),
            PutOp(("a",), "x", {"n": 2}),
            SearchOp(("a",)),
        ]
    )
    kept = await store.aget(("a",), "x")

    assert results == [None, None, None, []]
    assert kept is not None
    assert kept.value == {"n": 2}


async def test_what_it_cannot_keep_is_refused(memory: UserMemory) -> None:
    """A time to live, and a namespace that LangGraph forbids; and a file of someone else is no item."""
    store = MemexStore(memory)
    await memory.write("user/store/notes/mine.md", "# By hand")
    with pytest.raises(NotImplementedError):
        await store.aput(("a",), "x", {"n": 1}, ttl=5)
    with pytest.raises(NotImplementedError):
        await store.abatch([PutOp(("a",), "x", {"n": 1}, ttl=5)])
    with pytest.raises(InvalidNamespaceError):
        await store.aput((), "x", {"n": 1})

    assert await store.asearch(()) == []
    assert await store.aget(("notes",), "mine") is None


async def test_two_users_share_nothing(memory: UserMemory, memex: Memex, user: str) -> None:
    """The namespace is not whose it is: that was said when the store was made."""
    await MemexStore(memory).aput(("users", "bob"), "x", {"text": "oolong"})
    other = MemexStore(memex.for_user(f"{user}-other"))

    assert await other.aget(("users", "bob"), "x") is None
    assert await other.asearch((), query="oolong") == []


def test_it_works_without_an_event_loop(home: Home, user: str) -> None:
    """With a loop of its own, from ordinary code and from any loop."""
    memex = Memex(url=home.url, api_key=home.key)
    store = MemexStore(memex.for_user(user))
    store.put(("notes",), "tea", {"text": "oolong"})
    item = store.get(("notes",), "tea")
    found = asyncio.run(store.asearch(("notes",), query="oolong"))
    store.delete(("notes",), "tea")

    assert item is not None
    assert item.value == {"text": "oolong"}
    assert [one.key for one in found] == ["tea"]
    assert store.list_namespaces() == []
    store.close(memex)


async def test_ordinary_calls_in_its_own_loop_are_refused(memory: UserMemory) -> None:
    """They would wait for themselves."""
    with pytest.raises(asyncio.InvalidStateError, match="await"):
        MemexStore(memory).get(("notes",), "tea")
