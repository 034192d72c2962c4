"""Exact BM25 in packed postings: the same hits and integer scores as the formula over the texts themselves."""

import random
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest
from tests.kit.memory import commit_draft, open_project
from tests.kit.postings import unpack
from tests.kit.property_budget import is_thorough

from memex.errors import ProjectNotFound, Refused, ValidationFailed
from memex.service.service import Caller, Service
from memex.store import links, markdown
from memex.store.memory import Memory
from memex.store.search import bm25, chunks
from memex.store.search.analyzer import Analyzer
from memex.store.search.index import MAX_KEY_CHARS, MAX_RAW_CHARS
from memex.store.writes import pending
from memex.store.writes.draft import Draft

CallerOf = Callable[..., Awaitable[Caller]]
ANALYZER = Analyzer()


@dataclass(frozen=True, slots=True)
class Document:
    """A chunk as the text of its file has it."""

    path: str
    start: int
    end: int
    heading: tuple[str, ...]
    tfs: Counter[str]
    tags: frozenset[str]

    @property
    def length(self) -> int:
        """Its number of lexemes."""
        return sum(self.tfs.values())


@dataclass(slots=True)
class Heads:
    """What stands in the store now, read past row-level security, by scope."""

    mounts: dict[int, str]
    files: list[dict[str, Any]] = field(default_factory=list)

    def documents(self, scope_id: int) -> Iterator[tuple[int, Document]]:
        """Yield the chunks of a scope with their files, recomputed from the texts."""
        for file in self.files:
            if file["scope_id"] != scope_id:
                continue
            document = markdown.parse(file["content"])
            description = markdown.describe(file["path"], document)
            for chunk in chunks.split(file["path"], file["content"], description, document):
                yield (
                    file["file_id"],
                    Document(
                        f"{self.mounts.get(scope_id)}/{file['path']}",
                        chunk.start,
                        chunk.end,
                        chunk.heading_path,
                        Counter(ANALYZER.passage_lexemes(chunk.indexed_text)),
                        frozenset(tag.casefold() for tag in description.tags),
                    ),
                )


async def read_heads(service: Service, mounts: dict[int, str]) -> Heads:
    """Return every file that stands."""
    async with service.database.maintenance() as connection:
        cursor = await connection.execute(
            "select scope_id, file_id, path, content from revision where rev_end is null and not deleted"
        )
        return Heads(mounts, await cursor.fetchall())


async def check_index(service: Service) -> Heads:
    """Compare chunks, postings, totals and links with what the heads say; nothing else stands there.

    Chunks that wait for their merge are in no posting yet, and removed ones that wait still are.
    """
    heads = await read_heads(service, {})
    async with service.database.maintenance() as connection:
        stored = [
            await (await connection.execute(f"select * from {table}")).fetchall()  # noqa: S608 (names of ours)
            for table in ("chunk", "chunk_removed", "posting", "scope_stat", "link")
        ]
    chunk_rows, removed_rows, posting_rows, stat_rows, link_rows = stored
    for stat in stat_rows:
        scope_id = stat["scope_id"]
        mine = [row for row in chunk_rows if row["scope_id"] == scope_id]
        expected = list(heads.documents(scope_id))
        assert Counter(
            (row["file_id"], row["start_char"], row["end_char"], tuple(row["heading_path"]), _tfs(row))
            for row in mine
        ) == Counter(
            (file_id, doc.start, doc.end, doc.heading, frozenset(doc.tfs.items()))
            for file_id, doc in expected
        )
        assert all(row["length"] == sum(row["tfs"]) for row in mine)
        files = {row["file_id"] for row in heads.files if row["scope_id"] == scope_id}
        assert (stat["n"], stat["total_length"], stat["files"]) == (
            len(expected),
            sum(doc.length for _, doc in expected),
            len(files),
        )
        assert stat["next_chunk_id"] > max((row["chunk_id"] for row in mine), default=0)
        posted = [row for row in mine if row["chunk_id"] <= stat["merged_chunk_id"]]
        posted += [row for row in removed_rows if row["scope_id"] == scope_id]
        assert stat["unmerged"] <= pending.BOUND
        _check_postings([row for row in posting_rows if row["scope_id"] == scope_id], posted)
    assert Counter(
        (
            row["scope_id"],
            row["source_file_id"],
            row["ordinal"],
            row["side"],
            row["target_key"],
            row["raw"],
            row["anchor"],
        )
        for row in link_rows
    ) == Counter(_links(heads))
    return heads


def _tfs(row: dict[str, Any]) -> frozenset[tuple[str, int]]:
    assert len(set(row["lexemes"])) == len(row["lexemes"])
    return frozenset(zip(row["lexemes"], row["tfs"], strict=True))


def _check_postings(posting_rows: list[dict[str, Any]], chunk_rows: list[dict[str, Any]]) -> None:
    expected: dict[str, list[int]] = {}
    for row in sorted(chunk_rows, key=lambda row: row["chunk_id"]):
        for lexeme, tf in zip(row["lexemes"], row["tfs"], strict=True):
            expected.setdefault(lexeme, []).append(bm25.entry(row["chunk_id"], row["length"], tf))
    found: dict[str, list[int]] = {}
    for row in sorted(posting_rows, key=lambda row: row["segment"]):
        entries = found.setdefault(row["lexeme"], [])
        # An entry is looked for in the last segment that was opened at or before its chunk.
        assert not entries or unpack(entries[-1])[0] < row["segment"]
        assert 1 <= len(row["entries"]) == row["n"] <= 256
        assert row["segment"] <= unpack(row["entries"][0])[0]
        entries += row["entries"]
    assert found == expected


def _links(heads: Heads) -> Iterator[tuple[Any, ...]]:
    for file in heads.files:
        for ordinal, link in enumerate(links.parse(file["content"], file["path"])):
            for side, target in enumerate(link.targets):
                if len(target) <= MAX_KEY_CHARS:
                    yield (
                        file["scope_id"],
                        file["file_id"],
                        ordinal,
                        side,
                        target,
                        link.raw[:MAX_RAW_CHARS],
                        link.anchor,
                    )


Ranked = list[tuple[str, tuple[int, int], int, tuple[tuple[int, int], ...]]]


def ranked(
    documents: Sequence[Document], query: str, *, prefix: str = "", tags: Sequence[str] = ()
) -> Ranked:
    """Return path, best span, score and further spans of each file, by the formula over all documents."""
    weighed = bm25.weigh(
        ANALYZER.lexemes(query),
        n=len(documents),
        total_length=sum(document.length for document in documents),
        df=Counter(lexeme for document in documents for lexeme in document.tfs),
        light=ANALYZER.light_lexemes,
    )
    found = bm25.rank(
        weighed,
        (
            ((document.path, document.start, document.end), document.tfs, document.length)
            for document in documents
            if document.path.startswith(prefix) and document.tags >= {tag.casefold() for tag in tags}
        ),
    )
    by_path: dict[str, list[tuple[int, int, int]]] = {}
    for (path, start, end), score in found:
        by_path.setdefault(path, []).append((score, start, end))
    return [
        (path, group[0][1:], group[0][0], tuple(span[1:] for span in group[1:4]))
        for path, group in by_path.items()
    ]


async def find(service: Service, caller: Caller, query: str, **more: Any) -> Ranked:
    """Return the same of a search in the store."""
    async with service.database.transaction(caller.access, snapshot=True) as connection:
        found = await Memory(connection, caller.access).find(query, **more)
    for rank, hit in enumerate(found.hits, start=1):
        assert sum(hit.match.terms.values()) + sum(hit.match.borrowed.values()) == hit.score
        assert hit.match.score == hit.score
        assert hit.match.bm25_rank == rank
    return [(hit.path, hit.span, hit.score, hit.more_spans) for hit in found.hits]


async def documents_of(service: Service, caller: Caller, project: str | None = None) -> list[Document]:
    """Return the chunks that a caller searches, recomputed."""
    scopes = caller.access.searched(project)
    heads = await read_heads(service, {scope.scope_id: scope.mount for scope in scopes})
    return [document for scope in scopes for _, document in heads.documents(scope.scope_id)]


async def check_finds(service: Service, caller: Caller, chance: random.Random, queries: int) -> None:
    """Compare random queries, with limits and filters, to the formula."""
    documents = await documents_of(service, caller)
    in_project = [{"prefix": "projects/apollo/a"}] if "projects/apollo" in caller.access.by_mount else []
    for _ in range(queries):
        query = " ".join(chance.choices(WORDS, weights=WEIGHTS, k=chance.randint(1, 9)))
        filters = chance.choice([{}, {}, {"prefix": "user/"}, {"tags": ["Alpha"]}, *in_project])
        limit = chance.choice([1, 2, 5, 100])
        found = await find(service, caller, query, limit=limit, **filters)
        check_ranked(found, ranked(documents, query, **filters)[:limit])


def check_ranked(found: Ranked, expected: Ranked) -> None:
    """Compare hits; of a file's further spans a search shows the best that it came by, maybe not all."""
    assert [hit[:3] for hit in found] == [hit[:3] for hit in expected]
    for hit, known in zip(found, expected, strict=True):
        assert hit[3] == known[3][: len(hit[3])]


WORDS = [
    *(
        "deploy",
        "database",
        "getUserName",
        "the",
        "running",
        "runs",
        "naïve",
        "検索エンジン",
        "v2.1",
        "apollo",
    ),
    *(f"word{n}" for n in range(60)),
]
WEIGHTS = [1 / (n + 3) for n in range(len(WORDS))]


def text(chance: random.Random) -> str:
    """Return a random file: front matter with tags, sections, lists, links, sometimes a long paragraph."""

    def words(count: int) -> str:
        return " ".join(chance.choices(WORDS, weights=WEIGHTS, k=count))

    parts = []
    if chance.random() < 0.3:
        parts.append(f"---\ntags: [{chance.choice(['alpha', 'Alpha, beta', 'beta'])}]\n---\n")
    for _ in range(chance.randint(0, 5)):
        parts.append(f"{'#' * chance.randint(1, 3)} {words(3)}\n\n")
        parts.append(f"{words(chance.choice([5, 20, 400]))}\n\n- [[{words(1)}|{words(2)}]] {words(4)}\n")
        data = " ".join(f"{chance.getrandbits(32):08x}" for _ in range(60))
        parts.append(chance.choice(["", f"[{words(2)}](../b.md#top)\n", "```\n# no heading\n```\n", data]))
    return "".join(parts)


PATHS = [
    f"{mount}/{name}.md" for mount in ("user", "projects/apollo", "shared") for name in ("a", "ab", "b/c")
]


async def scramble(service: Service, callers: Sequence[Caller], chance: random.Random, steps: int) -> None:
    """Do random writes, patches, moves, deletions, restores and drafts of several; refusals change nothing."""
    for _ in range(steps):
        caller = chance.choice(callers)
        path, to = chance.choice(PATHS), chance.choice(PATHS)
        kind = chance.choice(["write", "write", "append", "insert", "move", "delete", "restore", "draft"])
        arguments: dict[str, Any] = {"path": path}
        if kind == "write":
            arguments |= {"content": text(chance), "overwrite": True}
        elif kind in ("append", "insert"):
            arguments |= {"operation": kind, "text": text(chance) or "x"}
        elif kind == "move":
            arguments |= {"to": to}
        elif kind == "restore":
            arguments |= {"version": chance.randint(1, 5)}
        tool = "memory_patch" if kind in ("append", "insert") else f"memory_{kind}"
        try:
            if kind == "draft":
                draft = Draft(service.database, caller.access)
                for one in chance.sample(PATHS, 4):
                    draft.write(one, text(chance), overwrite=True)
                draft.delete(path)
                draft.write(path, text(chance))
                await commit_draft(draft, caller)
            else:
                await service.execute(caller, tool, arguments)
        except Refused:
            continue


@pytest.fixture
async def apollo(service: Service, caller_of: CallerOf) -> Caller:
    """Alice as a member of the project apollo."""
    admin = await caller_of(None, role="admin")
    await open_project(service, admin, "apollo", "alice")
    return await caller_of("alice")


async def test_index_and_scores_follow_random_edits(
    service: Service, apollo: Caller, caller_of: CallerOf
) -> None:
    """Over a user's, the shared and a project's files: every table of the index, every hit, every score."""
    chance = random.Random(11)
    admin = await caller_of("alice", role="admin")
    bob = await caller_of("bob")
    for _ in range(6 if is_thorough() else 2):
        await scramble(service, [apollo, admin, admin], chance, 25)
        await scramble(service, [bob], chance, 3)
        await check_index(service)
        await check_finds(service, apollo, chance, 25)
        await check_finds(service, bob, chance, 3)


async def test_a_word_of_more_chunks_than_a_row_holds(service: Service, alice: Caller) -> None:
    """Rows of 256 entries split, a file straddles two of them, and parts of it go again on either side."""
    chance = random.Random(5)

    def sections(numbers: Sequence[int]) -> str:
        return "".join(f"## part {n}\n\ncommon word{n % 7} number{n}\n\n" for n in numbers)

    async def put(path: str, numbers: Sequence[int]) -> None:
        arguments = {"path": path, "content": sections(numbers), "overwrite": True}
        await service.execute(alice, "memory_write", arguments)
        await check_index(service)

    async def check_common(query: str) -> None:
        documents = await documents_of(service, alice)
        for limit in (1, 3, 100):
            check_ranked(await find(service, alice, query, limit=limit), ranked(documents, query)[:limit])

    await put("user/a.md", range(200))
    await put("user/b.md", range(200, 320))
    await check_common("common part")
    await put("user/b.md", [n for n in range(200, 320) if n not in (254, 255, 256, 257, 300)])
    await put("user/b.md", [*range(200, 230), *range(290, 320)])
    await put("user/c.md", range(400, 1000))
    await check_common("common word3 number500")
    await put("user/c.md", sorted(chance.sample(range(400, 1000), 300)))
    await put("user/a.md", [])
    await check_common("common word3 number500")
    await put("user/d.md", range(1000, 1300))
    await service.execute(alice, "memory_delete", {"path": "user/b.md"})
    await service.execute(alice, "memory_move", {"path": "user/d.md", "to": "user/b.md"})
    await check_index(service)
    await check_common("common word5 part number1200")
    for path in ("user/a.md", "user/b.md", "user/c.md"):
        await service.execute(alice, "memory_delete", {"path": path})
    await check_index(service)
    assert await find(service, alice, "common") == []


async def test_unchanged_chunks_keep_their_postings(service: Service, alice: Caller) -> None:
    """A line put in front of a long file moves its chunks and indexes one anew."""
    body = "".join(f"## part {n}\n\nsome words {n}\n\n" for n in range(50))
    await service.execute(alice, "memory_write", {"path": "user/a.md", "content": body})
    before = await _chunk_ids(service)

    insert = {"path": "user/a.md", "operation": "insert", "text": "a line at the top"}
    await service.execute(alice, "memory_patch", insert)

    assert len(await _chunk_ids(service) - before) == 1
    await check_index(service)


async def _chunk_ids(service: Service) -> set[int]:
    async with service.database.maintenance() as connection:
        cursor = await connection.execute("select chunk_id from chunk")
        return {row["chunk_id"] for row in await cursor.fetchall()}


async def test_a_chunk_that_stays_shows_its_new_heading(service: Service, alice: Caller) -> None:
    """A heading equal to the title adds nothing to what is indexed, and everything to where a hit stands."""
    body = "".join(f"paragraph {n} " + "some words " * 100 + "\n\n" for n in range(3))
    front = "---\ntitle: Plan\n---\n"
    for content in (f"{front}# Plan\n\n{body}", front + body, f"{front}\n# Plan\n\n{body}"):
        arguments = {"path": "user/a.md", "content": content, "overwrite": True}
        await service.execute(alice, "memory_write", arguments)
        await check_index(service)


async def test_equal_scores_are_ordered_by_path(service: Service, alice: Caller) -> None:
    """However many tie, the first ones by path are found, over mounts too, with any limit."""
    for name in random.Random(3).sample([f"user/{n:03}/note.md" for n in range(80)], 80):
        await service.execute(alice, "memory_write", {"path": name, "content": "the same text"})

    everything = [hit[0] for hit in await find(service, alice, "same note", limit=100)]

    assert everything == [f"user/{n:03}/note.md" for n in range(80)]
    for limit in (1, 7, 79):
        assert [hit[0] for hit in await find(service, alice, "same note", limit=limit)] == everything[:limit]


async def test_filters_leave_scores_as_they_are(service: Service, apollo: Caller) -> None:
    """A prefix, a tag or a project narrows what is found; what remains is worth the same."""
    for path, tags in {
        "user/a/1.md": "red",
        "user/a/2.md": "Red, Blue",
        "user/ab.md": "blue",
        "projects/apollo/a.md": "red",
    }.items():
        content = f"---\ntags: [{tags}]\n---\nlaunch plan {path}\n"
        await service.execute(apollo, "memory_write", {"path": path, "content": content})

    async def scores(**filters: Any) -> dict[str, int]:
        return {hit[0]: hit[2] for hit in await find(service, apollo, "launch plan red", **filters)}

    everything = await scores()

    def only(*paths: str) -> dict[str, int]:
        return {path: everything[path] for path in paths}

    assert len(everything) == 4
    assert await scores(prefix="user/a") == only("user/a/1.md", "user/a/2.md", "user/ab.md")
    assert await scores(prefix="user/a/") == only("user/a/1.md", "user/a/2.md")
    assert await scores(prefix="user") == only("user/a/1.md", "user/a/2.md", "user/ab.md")
    assert await scores(prefix="projects/apollo/") == only("projects/apollo/a.md")
    assert await scores(prefix="shared/") == {}
    assert await scores(tags=["RED"]) == only("user/a/1.md", "user/a/2.md", "projects/apollo/a.md")
    assert await scores(tags=["blue", "red"]) == only("user/a/2.md")
    assert await scores(tags=["red"], prefix="projects/") == only("projects/apollo/a.md")
    assert await scores(tags=["red", "none"]) == {}
    assert await scores(project="apollo") == everything


async def test_tags_compare_without_case_in_every_script(service: Service, alice: Caller) -> None:
    """The same on every server, whatever its locale."""
    tags = ["ÉTÉ", "Straße", "ΣΊΣΥΦΟΣ", "İstanbul", "日本"]
    content = f"---\ntags: [{', '.join(tags)}]\n---\nsome text\n"
    await service.execute(alice, "memory_write", {"path": "user/a.md", "content": content})

    for tag in tags:
        for written in (tag, tag.lower(), tag.upper()):
            assert await find(service, alice, "text", tags=[written]), written


async def test_a_path_may_hold_any_character(service: Service, alice: Caller) -> None:
    """Listed by its beginning and found by it, up to the last code point there is."""
    paths = [
        f"user/{name}.md" for name in ("a%", "a_", "a'b", "a\U0010ffff", "a\U0010ffff\U0010ffffb", "é", "🙂")
    ]
    for path in paths:
        await service.execute(alice, "memory_write", {"path": path, "content": "text"})

    for path in paths:
        for prefix in (path, path[:-3], path[:6]):
            arguments = {"prefix": prefix}
            listed = (await service.execute(alice, "memory_list", arguments))["files"]
            expected = sorted(one for one in paths if one.startswith(prefix))
            assert [file["path"] for file in listed] == expected
            assert sorted(hit[0] for hit in await find(service, alice, "text", **arguments)) == expected


@pytest.mark.parametrize("query", ["the and of", "zyzzyva", "!?", "the zyzzyva", "-" * 10_000])
async def test_a_query_without_known_words_finds_nothing(service: Service, alice: Caller, query: str) -> None:
    """Stop words alone, words that stand nowhere, no words at all."""
    await service.execute(alice, "memory_write", {"path": "user/a.md", "content": "the text and the words"})

    assert await find(service, alice, query) == []


@pytest.mark.parametrize("query", ["", " \n", "x" * 10_001])
async def test_a_query_that_cannot_be_one_is_refused(service: Service, alice: Caller, query: str) -> None:
    """Nothing, white space, or more than 10,000 characters."""
    with pytest.raises(ValidationFailed):
        await find(service, alice, query)


async def test_a_query_counts_its_64_rarest_words(service: Service, alice: Caller) -> None:
    """A query of a thousand words ranks by those of them that tell files apart."""
    words = [f"word{n}" for n in range(300)]
    for n in range(0, 300, 10):
        content = " ".join(words[n : n + 10] + words[:20])
        await service.execute(alice, "memory_write", {"path": f"user/{n}.md", "content": content})
    query = " ".join(words * 3)

    assert await find(service, alice, query, limit=100) == ranked(await documents_of(service, alice), query)


async def test_headings_and_tags_keep_odd_characters(service: Service, alice: Caller) -> None:
    """Quotes, braces, backslashes, control characters: what is stored of a chunk is what the text says."""
    odd = 'a "quoted" {brace}, \\ back\\slash NULL \x1f sep \x01 | `code`'
    content = f"---\ntags: ['{odd}', NULL, '{{}}']\ntitle: '{odd}'\n---\n# {odd}\n\ntext\n\n## \x1f\n\nmore\n"

    await service.execute(alice, "memory_write", {"path": "user/a.md", "content": content})

    heads = await check_index(service)
    description = markdown.describe("a.md", markdown.parse(content))
    [listed] = (await service.execute(alice, "memory_list", {}))["files"]
    assert listed["tags"] == list(description.tags)
    assert listed["title"] == description.title
    assert len(heads.files) == 1


async def test_a_prefix_in_a_project_that_is_not_searched_is_refused(
    service: Service, caller_of: CallerOf
) -> None:
    """A project that is none of the user's is not found; one beyond the first 20 must be named to be searched."""
    root = await caller_of(None, role="admin")
    for number in range(21):
        slug = f"p{number:02}"
        await open_project(service, root, slug, "alice")
    alice = await caller_of("alice")
    last = {"path": "projects/p20/a.md", "content": "oolong"}
    await service.execute(alice, "memory_write", last)

    with pytest.raises(ProjectNotFound):
        await service.execute(alice, "memory_find", {"query": "oolong", "prefix": "projects/foreign/"})
    with pytest.raises(ProjectNotFound):
        await service.execute(alice, "memory_list", {"prefix": "projects/foreign/"})
    with pytest.raises(ValidationFailed, match="not among the scopes"):
        await service.execute(alice, "memory_find", {"query": "oolong", "prefix": "projects/p20/"})
    named = {"query": "oolong", "prefix": "projects/p20/", "project": "p20"}
    found = await service.execute(alice, "memory_find", named)
    assert [hit["path"] for hit in found["hits"]] == ["projects/p20/a.md"]
