"""Statements are embedded one by one, and a context holds those that answer in other words."""

from datetime import UTC, datetime

import pytest
from tests.conftest import CallerOf
from tests.kit.word_embedder import WordEmbedder

from memex.call_context import CallContext
from memex.service.chunk_embedding import backfill
from memex.service.log.replay.requests import replay_call
from memex.service.planners import Planners
from memex.service.service import Caller, Service
from memex.store.database import Database
from memex.store.search.analyzer import Analyzer
from memex.store.search.hybrid import statement_states, token_states
from memex.subagent.builtin import BuiltinPlanner
from memex.subagent.context.candidates.meaning import SINCE_VERSION

NOW = datetime(2026, 5, 4, tzinfo=UTC)
TOLD = (
    "The generator stands behind the boathouse.",
    "The ferryman is called Torvald.",
    "My sister keeps alpacas.",
    "The lighthouse was painted in spring.",
    "Our anchor weighs forty kilos.",
)
# Shares no word with the second statement, but the letters of some.
ASKED = {"query": "ferrymaan callledx torvaldd", "budget": 200}


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
    service = Service(database, max_files=100, embedder=embedder)
    caller = await service.caller(alice.principal, CallContext(user_id="alice"), makes_user=True)
    made = Told(service, caller, embedder)
    for text in TOLD:
        await made.tell(text)
    return made


async def test_a_context_holds_what_is_said_in_other_words(told: Told) -> None:
    """By words alone nothing speaks for the statement."""
    found = await told.service.execute(told.caller, "memory_context", ASKED, tool_call_id="by-meaning")
    plain = await Service(told.service.database, max_files=100).execute(told.caller, "memory_context", ASKED)
    [attempt] = await told.service.operation(told.caller, "by-meaning")

    assert "Torvald" in found["context"]
    assert "Torvald" not in plain["context"]
    [compared] = [one for one in attempt.inner if one.tool == "memory_compare"]
    assert compared.request is not None
    assert compared.response is not None
    assert compared.request["statements"] == len(compared.response["similar"]) == len(TOLD)
    *_, second, first = sorted(compared.response["similar"])
    assert first > 2 * second


async def test_a_replay_takes_from_the_log_how_similar_statements_were(told: Told) -> None:
    """The same bytes come back, though the states are gone."""
    await told.service.execute(told.caller, "memory_context", ASKED, tool_call_id="x")
    await token_states.drop(told.service.database, told.embedder.name)
    assert await told.count() == 0

    again = await replay_call(Service(told.service.database, max_files=100), told.caller, "x")

    assert again.is_equal
    assert "Torvald" in again.result["context"]


async def test_a_call_of_an_older_planner_compares_nothing(told: Told) -> None:
    """Its log holds no comparison, and its replay makes none."""
    older = BuiltinPlanner(Analyzer(), version=SINCE_VERSION - 1)
    database = told.service.database
    service = Service(database, max_files=100, embedder=told.embedder, planning=Planners(older, older))
    await service.execute(told.caller, "memory_context", ASKED, tool_call_id="older")
    async with database.maintenance() as connection:
        await connection.execute(
            "update operation set engine = regexp_replace(engine, 'planner-[0-9]+', 'planner-7')"
            " where tool_call_id = 'older'"
        )

    again = await replay_call(told.service, told.caller, "older")

    assert again.is_equal
    assert all(
        one.tool != "memory_compare" for one in (await service.operation(told.caller, "older"))[0].inner
    )


async def test_a_statement_is_embedded_once(told: Told) -> None:
    """Another one beside it makes a new passage of the file, but the statement stays what it was."""
    await told.tell("The winch needs grease.")

    statements = [text for text in told.embedder.embedded if "ferryman" in text and "lighthouse" not in text]
    assert [told.embedder.embedded[text] for text in statements if "\n" not in text] == [1]
    assert await told.count() == len(TOLD) + 1


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

    assert "boathouse" in found["context"]
    assert found["context"].splitlines()[2:-1] == plain["context"].splitlines()[2:-1]
