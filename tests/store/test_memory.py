"""What a context is made from: spans of stored versions, pinned files, passages with their scores, near links."""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager

import pytest
from tests.kit.memory import open_project, put

from memex.errors import InvalidPath, MemexError, ProjectNotFound, ValidationFailed, VersionNotFound
from memex.service.service import Caller, Service
from memex.store import markdown
from memex.store.graph import MAX_OUT_LINKS
from memex.store.memory import Memory
from memex.store.records import NearLink, Reference
from memex.store.search import bm25, chunks
from memex.store.search.analyzer import Analyzer
from memex.store.search.find import MAX_PASSAGES
from memex.store.snapshot.reads import Reads

CallerOf = Callable[..., Awaitable[Caller]]
ANALYZER = Analyzer()
PINNED = "---\npinned: true\n---\n"


@asynccontextmanager
async def memory_of(service: Service, caller: Caller) -> AsyncIterator[Memory]:
    """Memory as a caller reads it."""
    async with service.database.transaction(caller.access, snapshot=True) as connection:
        yield Memory(connection, caller.access)


@pytest.fixture
async def admin(service: Service, caller_of: CallerOf) -> Caller:
    """An admin who acts for alice, a member of apollo; zeus is bob's."""
    opener = await caller_of(None, role="admin")
    for slug, user in {"apollo": "alice", "zeus": "bob"}.items():
        await open_project(service, opener, slug, user)
    return await caller_of("alice", role="admin")


@pytest.fixture
async def alice(caller_of: CallerOf, admin: Caller) -> Caller:
    """An agent of alice, a member of apollo."""
    return await caller_of("alice")


# Reads ahead of their turn.


async def test_what_was_read_ahead_needs_no_database(service: Service, alice: Caller) -> None:
    """Each read gives what it gives by itself, also when the transaction of the snapshot is over."""
    await put(service, alice, {"user/a.md": f"{PINNED}The mast, see [[b]].", "user/notes.md": "- A sail."})
    await put(service, alice, {"projects/apollo/b.md": "Bob, see [[a]].", "projects/apollo/notes-2.md": "x"})
    query = bm25.weigh(ANALYZER.lexemes("mast"), n=5, total_length=50, df={"mast": 1})
    paths, texts = ["projects/apollo/b.md", "user/a.md", "user/none.md"], {"user/a.md": "see [[b]]"}

    async def read(memory: Memory) -> list[object]:
        return [
            await memory.state(alice.access.scopes),
            await memory.pinned(limit=5),
            await memory.list_series(["notes"], limit=3),
            await memory.passages(query, paths),
            await memory.near_links(texts),
            await memory.back_links(["user/a.md"]),
            await memory.read("user/notes.md"),
        ]

    async with memory_of(service, alice) as memory:
        expected = await read(memory)
    async with memory_of(service, alice) as memory:
        await memory.read_ahead(
            Reads(
                state=True,
                pinned=5,
                series=[(["notes"], 3)],
                passages=[(query, paths)],
                near=texts,
                back=["user/a.md"],
                files=["user/notes.md"],
            )
        )

    assert await read(memory) == expected
    with pytest.raises(VersionNotFound):  # row-level security shows nothing outside of a transaction
        await memory.spans([Reference("user/a.md", 1, (0, 5))])


# Spans.


async def test_spans_are_those_of_their_version(service: Service, alice: Caller, admin: Caller) -> None:
    """In code points, in the order in which they were asked for, of any version and mount, repeats too."""
    first, second = "a👩‍👩‍👧 é\r\nשלום 東京" * 3, "e\u0301 second"
    await put(service, alice, {"user/a.md": first})
    await put(service, alice, {"user/a.md": second})
    await put(service, admin, {"shared/s.md": "shared text"})
    wanted = [
        *(Reference("user/a.md", 1, (start, start + 4)) for start in range(len(first) - 3)),
        Reference("shared/s.md", 1, (0, 6)),
        Reference("user/a.md", 2, (0, len(second))),
        Reference("user/a.md", 2, (0, 0)),
        Reference("shared/s.md", 1, (0, 6)),
    ]
    async with memory_of(service, alice) as memory:
        found = await memory.spans(wanted)
        nothing = await memory.spans([])

    assert found == [*(first[n : n + 4] for n in range(len(first) - 3)), "shared", second, "", "shared"]
    assert nothing == []


async def test_spans_that_are_not_there_are_refused(
    service: Service, alice: Caller, caller_of: CallerOf
) -> None:
    """No such version, a deletion, a place outside of the text, or nothing that the caller reads."""
    bob = await caller_of("bob")
    await put(service, bob, {"user/b.md": "secret", "projects/zeus/z.md": "secret"})
    await put(service, alice, {"user/a.md": "text"})
    await put(service, alice, {"user/a.md": None})
    refused: list[tuple[Reference, type[MemexError]]] = [
        (Reference("user/a.md", 3, (0, 1)), VersionNotFound),
        (Reference("user/a.md", 2, (0, 0)), VersionNotFound),
        (Reference("user/b.md", 1, (0, 1)), VersionNotFound),
        (Reference("user/a.md", 1, (0, 5)), ValidationFailed),
        (Reference("user/a.md", 1, (3, 2)), ValidationFailed),
        (Reference("user/a.md", 1, (-1, 2)), ValidationFailed),
        (Reference("projects/zeus/z.md", 1, (0, 1)), ProjectNotFound),
        (Reference("nowhere/a.md", 1, (0, 1)), InvalidPath),
    ]
    async with memory_of(service, alice) as memory:
        assert await memory.spans([Reference("user/a.md", 1, (0, 4))]) == ["text"]
        for reference, error in refused:
            with pytest.raises(error):
                await memory.spans([Reference("user/a.md", 1, (0, 4)), reference])


# Pinned files.


async def test_pinned_files_are_listed_by_scope_and_path(
    service: Service, alice: Caller, admin: Caller, caller_of: CallerOf
) -> None:
    """Those that stand, as their front matter says now; of those that the caller reads, at most so many."""
    bob = await caller_of("bob")
    await put(service, bob, {"user/b.md": PINNED, "projects/zeus/z.md": PINNED})
    await put(
        service,
        admin,
        {
            "user/b.md": PINNED,
            "user/B.md": PINNED,
            "user/é.md": PINNED,
            "user/no.md": "pinned: true",
            "user/gone.md": PINNED,
            "shared/a.md": PINNED,
            "projects/apollo/a.md": "\ufeff---\r\nPinned: Yes\r\n---\r\ntext",
        },
    )
    await put(service, admin, {"user/gone.md": None})
    async with memory_of(service, alice) as memory:
        found, first = await memory.pinned(limit=50), await memory.pinned(limit=2)

    assert found == ["user/B.md", "user/b.md", "user/é.md", "shared/a.md", "projects/apollo/a.md"]
    assert first == found[:2]


# Passages.


async def test_passages_are_the_chunks_with_their_scores(
    service: Service, alice: Caller, admin: Caller
) -> None:
    """Of files of any mount in the order of their paths, those that hold no word of the query too."""
    texts = {
        "user/a.md": f"{PINNED}# Tea\n\nOolong.\n\n## Water\n\nSoft.\n\n## Time\n\nOolong, oolong and oolong.\n",
        "shared/s.md": "Oolong for all.",
        "user/empty.md": "",
    }
    await put(service, admin, texts)
    async with memory_of(service, alice) as memory:
        query = (await memory.find("oolong time")).query
        found = await memory.passages(query, [*texts, "user/none.md", "user/a.md"])

    assert sorted(file.path for file in found) == sorted(texts)
    for file in found:
        document = markdown.parse(texts[file.path])
        name = file.path.partition("/")[2]
        expected = chunks.split(name, texts[file.path], markdown.describe(name, document), document)
        assert (file.version, file.size_chars) == (1, len(texts[file.path]))
        assert file.body_start == expected[0].start
        for passage, chunk in zip(file.passages, expected, strict=True):
            lexemes = ANALYZER.passage_lexemes(chunk.indexed_text)
            tfs = {lexeme: lexemes.count(lexeme) for lexeme in query.lexemes}
            assert (passage.span, passage.heading) == ((chunk.start, chunk.end), chunk.heading_path)
            assert passage.score == bm25.score(query, tfs, len(lexemes))
            assert passage.text is None


async def test_passages_score_as_hits_do(service: Service, alice: Caller) -> None:
    """A hit brings the best passages of its file with their texts, at most so many."""
    text = "\n\n".join(f"## Part {n}\n\n" + "oolong " * n + "filler " * 40 for n in range(1, 9))
    await put(service, alice, {"user/a.md": text, "user/b.md": "oolong"})
    async with memory_of(service, alice) as memory:
        found = await memory.find("oolong", passages=3)
        files = {
            file.path: file for file in await memory.passages(found.query, [hit.path for hit in found.hits])
        }

    for hit in found.hits:
        assert hit.file is not None
        known = {passage.span: passage.score for passage in files[hit.path].passages}
        assert hit.file.size_chars == files[hit.path].size_chars
        assert hit.file.body_start == files[hit.path].body_start
        assert len(hit.file.passages) == min(3, len(known))
        assert [passage.score for passage in hit.file.passages] == sorted(known.values(), reverse=True)[:3]
        for passage in hit.file.passages:
            assert passage.score == known[passage.span]
            assert passage.text == (text if hit.path == "user/a.md" else "oolong")[slice(*passage.span)]


async def test_a_passage_that_search_has_read_is_not_read_again(service: Service, alice: Caller) -> None:
    """Its text is known, whatever the length of its characters; that of another span is not."""
    texts = {"user/a.md": "# Tea\n\noolong", "user/b.md": "# Tee\n\noolong für Ünal, 烏龍茶"}
    await put(service, alice, texts)
    async with memory_of(service, alice) as memory:
        found = await memory.find("oolong", passages=1)
    passages = [(hit, passage) for hit in found.hits if hit.file for passage in hit.file.passages]

    assert {hit.path for hit, _ in passages} == texts.keys()
    for hit, passage in passages:
        text = texts[hit.path][slice(*passage.span)]
        assert await memory.spans([Reference(hit.path, 1, passage.span)]) == [text]
        with pytest.raises(VersionNotFound):  # as above: outside of a transaction
            await memory.spans([Reference(hit.path, 1, (1, 2))])


async def test_passages_of_a_long_file_are_its_first(service: Service, alice: Caller) -> None:
    """So that a file of a megabyte costs no more than a page; without a known word too."""
    await put(service, alice, {"user/a.md": "\n\n".join(f"# Part {n}\n\ntext" for n in range(60))})
    async with memory_of(service, alice) as memory:
        query = (await memory.find("unknown")).query
        [file] = await memory.passages(query, ["user/a.md"])

    assert [passage.heading for passage in file.passages] == [(f"Part {n}",) for n in range(MAX_PASSAGES)]
    assert {passage.score for passage in file.passages} == {0}
    assert file.size_chars > file.passages[-1].span[1]


# Near links.


async def near(service: Service, caller: Caller, texts: Mapping[str, str]) -> list[NearLink]:
    """Return the near links of files."""
    async with memory_of(service, caller) as memory:
        return await memory.near_links(texts)


async def test_links_within_a_text(service: Service, alice: Caller, admin: Caller) -> None:
    """In their order, each to the file that it means from there; what is missing is left out."""
    await put(
        service,
        admin,
        {
            "user/a.md": "[[b]] [[none]]\n\nHere: [[s#Part|tea]] and [x](c.md).\n\n[[p]]",
            "user/b.md": "[[c]]",
            "user/c.md": "",
            "shared/s.md": "[[a]]",
            "projects/apollo/p.md": "",
        },
    )
    found = await near(
        service,
        alice,
        {
            "user/b.md": "[[c]]",
            "user/a.md": "[[none]] Here: [[s#Part|tea]] and [x](c.md).",
            "user/none.md": "[[c]]",
        },
    )

    assert found == [
        NearLink("user/b.md", "user/c.md", None),
        NearLink("user/a.md", "shared/s.md", "Part"),
        NearLink("user/a.md", "user/c.md", None),
    ]


@pytest.mark.slow
async def test_links_of_a_hub_are_bounded(service: Service, alice: Caller) -> None:
    """Forty of each file."""
    await put(service, alice, {f"user/n/{n}.md": "" for n in range(100)})
    hub = " ".join(f"[[{n % 100}]]" for n in range(10_000))
    await put(service, alice, {"user/hub.md": hub, "user/few.md": "[[98]] [[99]] [[1]]"})
    found = await near(service, alice, {"user/hub.md": hub, "user/few.md": "see [[98]] and [[99]]"})

    assert [link.target for link in found] == [f"user/n/{n}.md" for n in (*range(MAX_OUT_LINKS), 98, 99)]


async def test_links_lead_to_nobody_else_s_files(
    service: Service, alice: Caller, caller_of: CallerOf
) -> None:
    """Not to another user's file of that name, nor into a project of others."""
    bob = await caller_of("bob")
    await put(service, bob, {"user/b.md": "secret", "projects/zeus/z.md": "secret"})
    text = "[[b]] [[user/b]] [[z]] [[projects/zeus/z]] [[a]]"
    await put(service, alice, {"user/a.md": text})

    assert await near(service, alice, {"user/a.md": text}) == [NearLink("user/a.md", "user/a.md", None)]
    assert await near(service, alice, {}) == []
    with pytest.raises(ProjectNotFound):
        await near(service, alice, {"projects/zeus/z.md": ""})
