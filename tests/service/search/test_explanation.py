"""Why a search shows a file, or does not: the same ranks and scores as the search itself."""

import random
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from tests.kit.memory import open_project, put, write

from memex.call_context import CallContext
from memex.errors import FileNotFound, MemexError, ProjectNotFound, ValidationFailed
from memex.service.chunk_embedding import backfill
from memex.service.log.call_list import list_calls, read_attempts
from memex.service.search.explanation import explain_search
from memex.service.service import Caller, Service
from memex.store.database import Database
from memex.subagent.embedders.hashed import HashEmbedder

CallerOf = Callable[..., Awaitable[Caller]]
WORDS = [
    *("kettle", "oolong", "sencha", "garden", "tomato", "lantern"),
    *("bridge", "harbour", "violin", "copper", "saddle", "meadow"),
]


async def explain(service: Service, caller: Caller, query: str, path: str, **more: Any) -> dict[str, Any]:
    """Return why a search shows a file, or does not."""
    return await explain_search(service, caller, {"query": query, "path": path, **more})


async def find(service: Service, caller: Caller, query: str, **more: Any) -> list[dict[str, Any]]:
    """Return the hits of a search."""
    found = await service.execute(caller, "memory_find", {"query": query, **more})
    return list(found["hits"])


def corpus(seed: int) -> dict[str, str | None]:
    """Return files of few words, some of them in numbered series, in which neighbours lend words."""
    chance = random.Random(seed)  # for a corpus
    files: dict[str, str | None] = {}
    for number in range(40):
        words = " ".join(chance.choices(WORDS, k=chance.randint(3, 30)))
        tags = f"---\ntags: [{chance.choice(['tea', 'town'])}]\n---\n" if number % 3 else ""
        folder = chance.choice(["notes", "days"])
        name = f"user/{folder}/session-{number}.md" if number % 2 else f"user/{folder}/{number}-note.md"
        files[name] = (
            f"{tags}# Note {number}\n\n{words}\n\n## More\n\n{' '.join(chance.choices(WORDS, k=5))}\n"
        )
    return files


@pytest.mark.parametrize("seed", [1, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (2, 3))])
@pytest.mark.slow
async def test_ranks_and_scores_are_those_of_the_search(service: Service, alice: Caller, seed: int) -> None:
    """With whatever filter and limit: a file that a longer list would show has that list's rank and score."""
    await put(service, alice, corpus(seed))
    chance = random.Random(seed)  # for queries
    for filters in ({}, {"prefix": "user/notes/"}, {"tags": ["tea"]}):
        query = " ".join(chance.sample(WORDS, 3))
        hits = await find(service, alice, query, limit=100, **filters)
        for rank, hit in enumerate(hits, start=1):
            for limit in (100, 20):
                found = await explain(service, alice, query, hit["path"], limit=limit, **filters)
                assert (found["rank"], found["match"]) == (rank, hit["match"]), (query, hit["path"])
                assert found["is_shown"] == (rank <= limit)
                assert (found["span"], found["heading"]) == (hit["span"], hit["heading"])
                assert found["removed_by"] == []
        shown = hits[:20]
        for hit in hits[20:]:
            found = await explain(service, alice, query, hit["path"], limit=20, **filters)
            assert found["last"]["path"] == shown[-1]["path"]
            assert found["last"]["score_below"] == shown[-1]["score"] - hit["score"]


async def test_a_file_that_a_filter_leaves_out_is_told_so(service: Service, alice: Caller) -> None:
    """Each filter that leaves it out is named, and the score is that of the search without the filter."""
    await put(
        service, alice, {"user/tea.md": "---\ntags: [drink]\n---\n# Tea\n\nOolong.", "user/b.md": "Oolong."}
    )
    [free] = [hit for hit in await find(service, alice, "oolong") if hit["path"] == "user/tea.md"]

    found = await explain(service, alice, "oolong", "user/tea.md", prefix="user/b", tags=["house"])

    assert found["removed_by"] == ["prefix", "tags"]
    assert found["rank"] is None
    assert found["match"]["score"] == free["score"]
    assert "left out" in found["reason"]


async def test_each_word_is_placed(service: Service, alice: Caller) -> None:
    """In the best passage, in another one, in no passage, and in no file at all."""
    passage = "word " * 400
    await put(
        service,
        alice,
        {
            "user/tea.md": f"# Tea\n\nOolong kettles.\n\n## Far\n\n{passage}\n\n## Farther\n\nA lantern.\n",
            "user/b.md": "A violin.",
        },
    )

    found = await explain(service, alice, "Oolong lanterns violin zugzwang", "user/tea.md")

    places = {word["word"]: word["place"] for word in found["words"]}
    assert places == {
        "Oolong": "passage",
        "lanterns": "elsewhere",
        "violin": "absent",
        "zugzwang": "uncounted",
    }
    scores = {word["word"]: word["score"] for word in found["words"]}
    assert scores["Oolong"] == found["match"]["score"] > 0
    assert scores["violin"] == 0


async def test_a_file_without_a_word_has_no_rank(service: Service, alice: Caller) -> None:
    """It has no score either."""
    await put(service, alice, {"user/tea.md": "Oolong.", "user/b.md": "A violin."})

    found = await explain(service, alice, "violin", "user/tea.md")

    assert (found["rank"], found["match"], found["is_shown"]) == (None, None, False)
    assert found["last"]["path"] == "user/b.md"
    assert found["last"]["score_below"] is None


async def test_the_past_is_explained_as_it_was(service: Service, alice: Caller) -> None:
    """A file of then has the rank of then, and one that did not stand then is not found."""
    await put(service, alice, {"user/tea.md": "Oolong, oolong.", "user/b.md": "Oolong in a kettle."})
    then = datetime.now(UTC).isoformat()
    await put(service, alice, {"user/tea.md": "Sencha.", "user/c.md": "Oolong."})
    past = await find(service, alice, "oolong", as_of=then)

    for rank, hit in enumerate(past, start=1):
        found = await explain(service, alice, "oolong", hit["path"], as_of=then)
        assert (found["rank"], found["match"], found["version"]) == (rank, hit["match"], hit["version"])
    assert len(past) == 2
    assert (await explain(service, alice, "oolong", "user/tea.md"))["match"] is None
    with pytest.raises(FileNotFound):
        await explain(service, alice, "oolong", "user/c.md", as_of=then)


async def test_days_of_the_query_leave_files_out(service: Service, alice: Caller) -> None:
    """A query that names a day leaves out files of other days."""
    today = datetime.now(UTC).date()
    of_day, of_another = (f"user/{today - timedelta(days=days)}.md" for days in (1, 10))
    await put(service, alice, {of_day: "Walked to the harbour.", of_another: "Walked on the bridge."})

    found = await explain(service, alice, "walked yesterday", of_another)

    assert (await explain(service, alice, "walked yesterday", of_day))["is_shown"]
    assert found["removed_by"] == ["days"]


async def test_what_is_not_there_or_not_readable_is_not_found(
    service: Service, alice: Caller, caller_of: CallerOf
) -> None:
    """Deleted files, files that never stood, and files of others get the same answer as a read, which is logged."""
    await put(service, alice, {"user/tea.md": "Oolong.", "user/gone.md": "Oolong."})
    await put(service, alice, {"user/gone.md": None})
    await open_project(service, await caller_of(None, role="admin"), "apollo", "alice")
    bob = await caller_of("bob")

    async def code(caller: Caller, path: str) -> str:
        with pytest.raises(MemexError) as explained:
            await explain(service, caller, "oolong", path)
        with pytest.raises(MemexError) as read:
            await service.execute(caller, "memory_read", {"path": path})
        assert (explained.value.code, explained.value.message) == (read.value.code, read.value.message)
        return explained.value.code

    assert await code(alice, "user/gone.md") == FileNotFound.code
    assert await code(alice, "user/never.md") == FileNotFound.code
    assert await code(bob, "user/tea.md") == FileNotFound.code
    assert await code(bob, "projects/apollo/plan.md") == ProjectNotFound.code
    with pytest.raises(ValidationFailed):
        await explain(service, alice, " ", "user/tea.md")
    logged = await list_calls(service, bob)
    assert "memory_find_explain" in {one.tool for one in logged.operations}


async def test_a_project_that_is_not_searched_is_named(service: Service, caller_of: CallerOf) -> None:
    """The file is read, but the search covers another project."""
    await caller_of("alice")
    admin = await caller_of(None, role="admin")
    for slug in ("apollo", "hermes"):
        await open_project(service, admin, slug, "alice")
    alice = await caller_of("alice")
    await write(service, alice, "projects/apollo/plan.md", "Oolong for the crew.")

    found = await explain(service, alice, "oolong", "projects/apollo/plan.md", project="hermes")

    assert (found["removed_by"], found["match"], found["words"]) == (["project"], None, [])


async def test_the_call_is_logged_as_other_reads_are(service: Service, alice: Caller) -> None:
    """With its arguments, its state and without the text of the file; a secret in the query is redacted."""
    await put(service, alice, {"user/tea.md": "Oolong."})
    given = {"query": "oolong ghp_16C7e42F292c6912E7710c838347Ae178B4a", "path": "user/tea.md"}

    await explain_search(service, alice, given, tool_call_id="why")

    [logged] = await read_attempts(service, alice, "why")
    assert (logged.status, logged.tool) == ("answered", "memory_find_explain")
    assert "ghp_" not in str(logged.request)
    assert logged.state
    assert logged.state["user"] > 0
    assert "Oolong" not in str(logged.response)


async def test_both_lists_are_explained(database: Database, alice: Caller) -> None:
    """With vectors the rank is that of the blended list, with the blended score."""
    if not database.has_vectors:
        pytest.skip("no pgvector here")
    service = Service(database, max_files=100, embedder=HashEmbedder())
    caller = await service.caller(alice.principal, CallContext(user_id="alice"), makes_user=True)
    await put(service, caller, corpus(4))
    await backfill(database, HashEmbedder())
    hits = await find(service, caller, "oolong kettles violin", limit=100, mode="hybrid")

    for rank, hit in enumerate(hits, start=1):
        found = await explain(service, caller, "oolong kettles violin", hit["path"], limit=10, mode="hybrid")
        assert (found["rank"], found["match"]) == (rank, hit["match"]), hit["path"]
        if rank > 10:
            assert found["last"]["fused_below"] == pytest.approx(
                hits[9]["match"]["fused"] - hit["match"]["fused"]
            )
