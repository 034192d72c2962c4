"""Documents by meaning: embedded by themselves where the model runs here, and found in other words."""

import pytest
from tests.kit.documents import current, push
from tests.kit.rows import select
from tests.service.test_conversation_vectors import Topics

from memex.jobs.embedding_queue import sweep
from memex.service.chunk_embedding import backfill
from memex.service.documents import reading
from memex.service.service import Caller, Service
from memex.settings import Settings
from memex.store.database import Database
from memex.store.search.rank import LEAST_SIMILARITY
from memex.wiring import embeds_conversations

pytestmark = pytest.mark.embedded_only  # the server must have pgvector

FOLDER = {
    "retry.md": "# Draining\n\nRun the jobs of the backlog anew with a second worker.\n",
    "tea.md": "---\ndesc: Camellia needs three minutes.\n---\n\n{{fm.desc}}\n",
    "sea.md": "# Harbour\n\nWe sail at noon.\n",
}


async def test_a_page_is_found_in_other_words(database: Database, alice: Caller) -> None:
    """By vectors in a search of documents, in memory_find and in a context; without them by words alone."""
    if not database.has_vectors:
        pytest.skip("no pgvector here")
    embedder = Topics()
    service = Service(database, max_files=100, embedder=embedder)
    await push(service, alice, FOLDER)
    caller = await current(service, alice)
    asked = {"query": "which queue"}
    before = await reading.FIND.call(service, caller, asked)
    told_before = (await reading.ROOTS.call(service, caller, {})).vectors
    assert await sweep(database, embedder.name) == 0
    assert await sweep(database, embedder.name, conversations=True) == 1
    texts = await backfill(database, embedder, conversations=True)
    found = await reading.FIND.call(service, caller, asked)
    beside = await service.execute(caller, "memory_find", asked | {"include": ["documents"]})
    context = await service.execute(caller, "memory_context", asked | {"include": ["documents"]})
    other = await reading.FIND.call(service, caller, asked | {"prefix": "tea"})
    described = await reading.FIND.call(service, caller, {"query": "brewing oolong"})

    told = (await reading.ROOTS.call(service, caller, {})).vectors

    assert told_before is not None
    assert told is not None
    assert [(one.passages, one.embedded) for one in (told_before, told)] == [(3, 0), (3, 3)]
    assert (before.hits, before.by_vectors) == ([], False)
    assert texts == len(FOLDER)
    assert found.by_vectors
    assert found.hits[0].document.path == "retry.md"
    assert (found.hits[0].similarity or 0) > 0.9
    assert [hit["details"]["document"] for hit in beside["included"][0]["hits"]] == ["retry.md"]
    assert "a second worker" in context["context"]
    assert [hit.document.path for hit in other.hits] == ["tea.md"]
    assert described.hits[0].document.path == "tea.md"
    assert await select(database, "select count(*) from embedding") == [(3,)]


async def test_few_words_of_a_query_weigh_little(database: Database, alice: Caller) -> None:
    """A page with one of its words, nearly as near as another, comes after it; with all words it is first."""
    if not database.has_vectors:
        pytest.skip("no pgvector here")
    embedder = Topics()
    service = Service(database, max_files=100, embedder=embedder)
    await push(service, alice, FOLDER | {"post.md": "# Post\n\nLetters, jobs and jobs on the boat.\n"})
    await backfill(database, embedder, conversations=True)
    caller = await current(service, alice)
    vague, sure = [
        (await reading.FIND.call(service, caller, {"query": query})).hits[0].document.path
        for query in ("letters of zebras to yonder xylem in a quartz queue", "letters of the post queue")
    ]

    assert (vague, sure) == ("retry.md", "post.md")


async def test_a_page_that_waits_for_its_vector_is_found_by_its_words(
    database: Database, alice: Caller
) -> None:
    """It comes before pages that are embedded and lie far, which have no word of the query; so it does after."""
    if not database.has_vectors:
        pytest.skip("no pgvector here")
    embedder = Topics()
    service = Service(database, max_files=100, embedder=embedder)
    far = {
        f"{n}.md": f"# Page\n\n{'oolong ' * (n % 3)}{'camellia ' * (1 + n % 2)}{n * 'x'}\n" for n in range(12)
    }
    await push(service, alice, far)
    await backfill(database, embedder, conversations=True)
    await push(service, alice, far | {"otters.md": "# Alpha page about otters\n"})
    caller = await current(service, alice)
    asked = {"query": "otters queue"}

    waiting = await reading.FIND.call(service, caller, asked)
    await backfill(database, embedder, conversations=True)
    embedded = await reading.FIND.call(service, caller, asked)

    assert waiting.by_vectors
    assert (waiting.hits[0].document.path, waiting.hits[0].similarity) == ("otters.md", None)
    assert max(hit.similarity or 0 for hit in waiting.hits) < LEAST_SIMILARITY
    assert embedded.hits[0].document.path == "otters.md"


def test_texts_leave_the_machine_only_if_a_setting_says_so() -> None:
    """By default, conversations and documents are embedded by a model of this machine alone."""
    remote, local = "openai:text-embedding-3-small@1536", "local:all-MiniLM-L6-v2-int8@384#8199be6f"

    assert [embeds_conversations(Settings(), name) for name in (local, remote)] == [True, False]
    asked = Settings(embed_conversations=True)
    assert embeds_conversations(asked, remote)
    assert not embeds_conversations(Settings(embed_conversations=False), local)
