"""Statements are embedded one by one, and a context holds those that answer in other words."""

from collections.abc import Sequence
from datetime import UTC, datetime

import pytest
from tests.conftest import CallerOf
from tests.kit.word_embedder import WordEmbedder

from memex.call_context import CallContext
from memex.errors import ModelUnavailable
from memex.service.chunk_embedding import backfill
from memex.service.log.call_list import read_attempts
from memex.service.log.replay.requests import replay_call
from memex.service.log.trace_steps import CompareStep
from memex.service.service import Caller, Service
from memex.store.database import Database
from memex.store.search.hybrid import statement_states, token_states
from memex.subagent.embedders.interface import EmbeddedText, InputType
from memex.ui.call_story import story_of

NOW = datetime(2026, 5, 4, tzinfo=UTC)
TOLD = (
    "The generator stands behind the boathouse.",
    "The ferryman is called Torvald.",
    "My sister keeps alpacas.",
    "The lighthouse was painted in spring.",
    "Our anchor weighs forty kilos.",
)
# Shares no word with the second statement, but the letters of some.
ASKED = {"query": "ferrymann callled torvaldd", "budget": 200, "min_confidence": "none"}


class Told:
    """A service that was told something, and what it embeds with."""

    def __init__(self, service: Service, caller: Caller, embedder: WordEmbedder) -> None:
        self.service = service
        self.caller = caller
        self.embedder = embedder

    async def tell(self, text: str) -> None:
        """Remember a text, and embed what is new."""
        await self.service.execute(self.caller, "memory_remember", {"text": text}, now=NOW)
        await backfill(self.service.database, self.embedder)

    async def count(self) -> int:
        """Return how many states of statements are kept."""
        async with self.service.database.maintenance() as connection:
            cursor = await connection.execute("select count(*) as found from statement_state")
            [row] = await cursor.fetchall()
        return int(row["found"])


@pytest.fixture
async def told(database: Database, alice: Caller) -> Told:
    """A service whose embedder gives token states, and that was told a few things."""
    embedder = WordEmbedder()
    service = Service(database, max_files=100, embedder=embedder, keeps_journal=False)
    caller = await service.caller(alice.principal, CallContext(user_id="alice"), makes_user=True)
    made = Told(service, caller, embedder)
    for text in TOLD:
        await made.tell(text)
    return made


async def test_a_context_holds_what_is_said_in_other_words(told: Told) -> None:
    """By words alone nothing speaks for the statement."""
    found = await told.service.execute(told.caller, "memory_context", ASKED, tool_call_id="by-meaning")
    [attempt] = await read_attempts(told.service, told.caller, "by-meaning")

    assert "Torvald" in found["context"]
    assert "alpacas" not in found["context"]
    [compared] = [one for one in attempt.inner if one.tool == "memory_compare"]
    assert compared.request is not None
    assert compared.response is not None
    assert compared.request["statements"] == len(compared.response["similar"]) == len(TOLD)
    *_, second, first = sorted(compared.response["similar"])
    assert first > 2 * second


async def test_what_was_just_told_is_not_called_nothing(database: Database, alice: Caller) -> None:
    """No word speaks for it, and its meaning cannot be compared before it is embedded."""
    embedder = WordEmbedder()
    service = Service(database, max_files=100, embedder=embedder)
    caller = await service.caller(alice.principal, CallContext(user_id="alice"), makes_user=True)
    told = Told(service, caller, embedder)
    for text in TOLD:
        await told.tell(text)
    asked = {"query": "Who rows us over?", "budget": 1_000}
    before = await service.execute(caller, "memory_context", asked)
    await service.execute(caller, "memory_remember", {"text": "My boat is at anchor."}, now=NOW)
    fresh = await service.execute(caller, "memory_context", asked)
    await backfill(database, embedder)
    later = await service.execute(caller, "memory_context", asked)

    assert (before["confidence"]["band"], later["confidence"]["band"]) == ("none", "none")
    assert (fresh["confidence"]["band"], fresh["confidence"]["lifted_by"]) == ("weak", "not_embedded")
    assert "at anchor" in fresh["context"]


async def test_a_replay_takes_from_the_log_how_similar_statements_were(told: Told) -> None:
    """The same bytes come back, though the states are gone."""
    await told.service.execute(told.caller, "memory_context", ASKED, tool_call_id="x")
    await token_states.drop(told.service.database, told.embedder.name)
    assert await told.count() == 0

    again = await replay_call(Service(told.service.database, max_files=100), told.caller, "x")

    assert again.is_equal
    assert "Torvald" in again.result["context"]


async def test_a_statement_is_embedded_once(told: Told) -> None:
    """Another one beside it makes a new passage of the file, but the statement stays what it was."""
    await told.tell("The winch needs grease.")

    statements = [text for text in told.embedder.embedded if "ferryman" in text and "lighthouse" not in text]
    assert [told.embedder.embedded[text] for text in statements if "\n" not in text] == [1]
    assert await told.count() == len(TOLD) + 1


async def test_lines_of_the_journal_are_embedded_too(told: Told) -> None:
    """Each line of an entry, of which no statement was made."""
    before = await told.count()
    told.service.keeps_journal = True
    await told.tell("The winch needs grease.\nThe rudder is loose.")

    assert await told.count() == before + 2


async def test_statements_of_a_file_that_is_moved_are_embedded(told: Told) -> None:
    """Its passages were embedded before, when nothing said that they hold statements."""
    path = "user/old/notes-7.md"
    written = {"path": path, "content": "# Notes\n\nProse.\n\n- The oars are of ash. (2026-05-04)\n"}
    await told.service.execute(told.caller, "memory_write", written)
    await backfill(told.service.database, told.embedder)
    before = await told.count()
    await told.service.execute(told.caller, "memory_move", {"path": path, "to": "user/notes-7.md"})
    await backfill(told.service.database, told.embedder)

    assert await told.count() == before + 1


async def test_a_job_that_ends_amid_statements_is_made_up_for(told: Told) -> None:
    """A passage has states when its statements have theirs, never before."""

    class Failing(WordEmbedder):
        async def embed(self, texts: Sequence[str], kind: InputType = "document") -> list[EmbeddedText]:
            if not any("\n" in text for text in texts):  # single statements
                raise ModelUnavailable("The embedder is away.", reason="timeout")
            return await super().embed(texts, kind)

    before = await told.count()
    await told.service.execute(told.caller, "memory_remember", {"text": "The winch needs grease."}, now=NOW)
    with pytest.raises(ModelUnavailable):
        await backfill(told.service.database, Failing())
    await backfill(told.service.database, told.embedder)

    assert await told.count() == before + 1


async def test_any_heading_may_stand_above_a_statement(told: Told) -> None:
    """A passage has its heading without markup and cut short; the statement is still known by its states."""
    for place, heading in enumerate(("**Sea** `x`", "Two  spaces", "long heading " * 40)):
        lines = "".join(f"- The rope number {line} is new. (2026-05-04)\n" for line in range(60))
        content = f"# Notes\n\n## {heading}\n\n{lines}"
        await told.service.execute(
            told.caller, "memory_write", {"path": f"user/notes-{place + 2}.md", "content": content}
        )
    await backfill(told.service.database, told.embedder)
    asked = {"query": "Which rope is number 7?", "budget": 200}

    await told.service.execute(told.caller, "memory_context", asked, tool_call_id="ropes")

    [attempt] = await read_attempts(told.service, told.caller, "ropes")
    [compared] = [one for one in attempt.inner if one.tool == "memory_compare"]
    assert compared.response is not None
    assert len(compared.response["similar"]) > 60
    assert None not in compared.response["similar"]


@pytest.mark.embedded_only
async def test_of_a_long_file_the_newest_statements_are_compared(told: Told) -> None:
    """A file holds more statements than are compared, and what was said last stands at its end."""
    lines = "".join(f"- Rope {line} is new. (2026-05-03)\n" for line in range(1_000))
    content = f"# Notes\n\n## Notes\n\n{lines}- The pilot is Henrik. (2026-05-04)\n"
    await told.service.execute(told.caller, "memory_write", {"path": "user/notes-2.md", "content": content})
    await backfill(told.service.database, told.embedder)

    asked = {"query": "pilott iss henrikk", "budget": 200, "min_confidence": "none"}
    found = await told.service.execute(told.caller, "memory_context", asked)

    assert "Henrik" in found["context"]


async def test_the_story_of_a_call_tells_of_the_comparison(told: Told) -> None:
    """How many statements were compared, and how near the best is."""
    await told.service.execute(told.caller, "memory_context", ASKED, tool_call_id="told")
    [attempt] = await read_attempts(told.service, told.caller, "told")
    assert attempt.trace is not None
    [step] = [one for one in attempt.trace.steps if isinstance(one, CompareStep)]
    [on_page] = [one for one in story_of(attempt.trace.model_dump(mode="json"), 10) if one.verb == "compare"]

    assert (step.query, step.statements, step.compared) == (ASKED["query"], len(TOLD), len(TOLD))
    assert step.best is not None
    assert 0.1 < step.best <= 1
    assert on_page.summary == f"5 statements in meaning: best similarity {step.best:.2f}"


async def test_states_go_with_their_statements(told: Told) -> None:
    """A file that is deleted takes them along, and so does the erasure of the user."""
    listed = await told.service.execute(told.caller, "memory_list", {})
    for file in listed["files"]:
        await told.service.execute(told.caller, "memory_delete", {"path": file["path"]})
    await backfill(told.service.database, told.embedder)

    assert await told.count() == 0


async def test_nobody_compares_the_statements_of_another(told: Told, caller_of: CallerOf) -> None:
    """States are read under the access of the caller, whatever digest is asked for."""
    database = told.service.database
    async with database.maintenance() as connection:
        cursor = await connection.execute(
            "select scope_id, model, dimensions, statement_sha256 from statement_state limit 1"
        )
        [row] = await cursor.fetchall()
    bob = await caller_of("bob")
    wanted = [row["scope_id"]], row["model"], row["dimensions"], {bytes(row["statement_sha256"])}
    seen = []
    for caller in (told.caller, bob):
        async with database.transaction(caller.access) as connection:
            seen.append(len(await statement_states.read(connection, *wanted)))

    assert seen == [1, 0]


async def test_statements_without_states_are_ranked_by_words(told: Told) -> None:
    """As long as nothing was embedded, the context is that of words."""
    await token_states.drop(told.service.database, told.embedder.name)
    asked = {"query": "Where does the generator stand?"}

    found = await told.service.execute(told.caller, "memory_context", asked)
    plain = await Service(told.service.database, max_files=100).execute(told.caller, "memory_context", asked)

    lines, words = (
        [line for line in answer["context"].splitlines()[2:-1] if line.startswith("- ")]
        for answer in (found, plain)
    )
    assert "boathouse" in lines[0]
    assert lines == words[: len(lines)]


async def test_while_a_part_is_embedded_the_rest_is_found_by_words(told: Told) -> None:
    """Somebody who asks right after the answer is given what was just told."""
    await told.service.execute(told.caller, "memory_remember", {"text": "The cellar key is brass."}, now=NOW)

    for budget in (300, 4_000):
        asked = {"query": "Is the cellar key brass?", "budget": budget}
        found = await told.service.execute(told.caller, "memory_context", asked)
        lines = [line for line in found["context"].splitlines() if line.startswith("- ")]
        assert lines[0].startswith("- The cellar key is brass.")
