"""A newer statement contradicts an older one and both stay: contexts show the older one behind the newer one."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from tests.kit.memory import open_project, remember
from tests.kit.rows import select
from tests.kit.word_embedder import WordEmbedder
from tests.kit.zips import unzipped

from memex.call_context import CallContext
from memex.service.chunk_embedding import backfill
from memex.service.identity import erasures
from memex.service.log.call_list import read_attempts
from memex.service.log.replay.bundle import export_call, restored_database
from memex.service.log.replay.bundle_archive import pack_bundle, read
from memex.service.log.replay.replay import replay
from memex.service.log.replay.requests import replay_call
from memex.service.review.deciding import decide
from memex.service.review.items import ItemDecision
from memex.service.review.waiting import REVIEW
from memex.service.service import Caller, Service
from memex.store.database import Database
from memex.subagent.context.assembly import OUTDATED

CallerOf = Callable[..., Awaitable[Caller]]
pytestmark = pytest.mark.embedded_only

# What else memory holds, so that words differ in how much they say.
WORLD = (
    "I am allergic to walnuts. My dentist is Dr. Okafor. I prefer window seats on trains. I live in Lisbon. "
    "I like my tea without sugar. I need to renew the passport. We decided to use Redis for the cache. "
    "The harbour opens in May. "
    "The cabin key hangs behind the boiler. Marta runs the bakery on Elm Street. Our mascot is a heron. "
    "The quarterly report goes to the board in October. The garage door has a new spring."
)
MONDAY, FRIDAY, LATER = "2026-04-06", "2026-04-10", "2026-04-20"


@dataclass(frozen=True)
class Pair:
    """Two statements that contradict each other, and a question that both answer.

    `asks_older` is one that shares words with the older one alone.
    """

    older: str
    newer: str
    asks: str
    asks_older: str


ROOM = Pair(
    "The bookbinding workshop of the guild takes place in room 204.",
    "In room 311 the bookbinding workshop of the guild takes place.",
    "In which room is the bookbinding workshop?",
    "What is 204 about?",
)
WIKI = Pair(
    "We decided to host the wiki on the Hetzner server.",
    "The wiki is hosted on the AWS server now, we decided.",
    "Where did we decide to host the wiki?",
    "What is Hetzner about?",
)
CHOICE = Pair(
    "Decision: the bookbinding workshop of the guild takes place in room 204.",
    "Decision: in room 311 the bookbinding workshop of the guild takes place.",
    "In which room is the bookbinding workshop?",
    "What is 204 about?",
)
RULE = Pair(
    "The bookbinding workshop of the guild takes place in room 204.",
    "Decision: in room 311 the bookbinding workshop of the guild takes place.",
    "In which room is the bookbinding workshop?",
    "What is 204 about?",
)
PAIRS = {"words and a line": RULE, "words and words": ROOM, "a line and words": WIKI, "two lines": CHOICE}
each_pair = pytest.mark.parametrize("pair", PAIRS.values(), ids=PAIRS.keys())
# Where no pair takes another way than the first one: all of them in `make nightly`.
some_pair = pytest.mark.parametrize(
    "pair",
    [
        pytest.param(pair, id=kind, marks=() if number == 0 else pytest.mark.slow)
        for number, (kind, pair) in enumerate(PAIRS.items())
    ],
)


@pytest.fixture
def service(service: Service) -> Service:
    """Return a service that keeps the journal."""
    service.keeps_journal = True
    return service


def filed(text: str) -> str:
    """Return a statement as a page has it, without the word that says what it is."""
    return text.removeprefix("Decision: ")


async def tell(
    service: Service, caller: Caller, pair: Pair, *, older: str = MONDAY, newer: str = FRIDAY
) -> dict[str, Any]:
    """Tell both statements of a pair, and return the rival that the second answer names."""
    await remember(service, caller, WORLD, said_at=MONDAY)
    await remember(service, caller, pair.older, call="older", said_at=older)
    answer = await remember(service, caller, pair.newer, call="newer", said_at=newer)
    [rival] = answer["rivals"]
    assert (rival["older"], rival["newer"]) == (filed(pair.older), filed(pair.newer))
    return dict(rival)


async def shown(
    service: Service, caller: Caller, pair: Pair, query: str | None = None, **more: Any
) -> list[str]:
    """Return what a context shows of a pair, in its order; `earlier` is the older one below the mark."""
    asked = {"query": query or pair.asks, **more}
    text = (await service.execute(caller, "memory_context", asked))["context"]
    found, is_marked = [], False
    for line in text.splitlines():
        is_marked = OUTDATED in line if line.startswith("[") else is_marked
        if filed(pair.older).rstrip(".") in line:
            found.append("earlier" if is_marked else "older")
        if filed(pair.newer).rstrip(".") in line:
            found.append("newer" if not is_marked else "newer as earlier")
    return list(dict.fromkeys(found))


@each_pair
async def test_the_older_one_stands_behind_the_newer_one(service: Service, alice: Caller, pair: Pair) -> None:
    """Also for a question that the older one alone answers; without room for both, the newer one is shown."""
    await tell(service, alice, pair)

    assert await shown(service, alice, pair) == ["newer", "earlier"]
    assert await shown(service, alice, pair, pair.asks_older) == ["newer", "earlier"]
    assert await shown(service, alice, pair, budget=240) == ["newer"]


@some_pair
async def test_contexts_by_meaning_mark_it_too(database: Database, alice: Caller, pair: Pair) -> None:
    """At once, when nothing is embedded yet, and with token states."""
    service = Service(database, max_files=100, embedder=WordEmbedder())
    service.keeps_journal = True
    caller = await service.caller(alice.principal, CallContext(user_id="alice"), makes_user=True)
    await tell(service, caller, pair)
    at_once = await shown(service, caller, pair)
    await backfill(database, WordEmbedder())

    assert at_once == ["newer", "earlier"]
    assert await shown(service, caller, pair, min_confidence="none") == ["newer", "earlier"]


@each_pair
async def test_what_was_said_earlier_is_the_older_one(service: Service, alice: Caller, pair: Pair) -> None:
    """Whichever of the two was told first."""
    turned = Pair(pair.newer, pair.older, pair.asks, pair.asks_older)
    await tell(service, alice, pair, older=FRIDAY, newer=MONDAY)

    assert await shown(service, alice, turned) == ["newer", "earlier"]


async def test_a_list_marks_it_too(service: Service, alice: Caller) -> None:
    """The newer one stands before it."""
    today = datetime.now(UTC).date()
    await tell(service, alice, CHOICE, older=str(today - timedelta(days=2)), newer=str(today))

    assert await shown(service, alice, CHOICE, "What is new?") == ["newer", "earlier"]


@pytest.mark.slow
async def test_a_newer_line_that_no_word_leads_to_is_read(service: Service, alice: Caller) -> None:
    """Of a memory of many passages, of which a question finds few."""
    for number in range(60):
        await remember(service, alice, f"Shelf {number} holds the oars of crew {number}.", said_at=MONDAY)
    await tell(service, alice, CHOICE)

    assert await shown(service, alice, CHOICE, CHOICE.asks_older) == ["newer", "earlier"]


async def held(service: Service, caller: Caller, pair: Pair, rival: dict[str, Any]) -> None:
    """The caller says that both hold."""
    answer = await service.execute(
        caller, "memory_remember", {"both_hold": [rival["handle"]]}, tool_call_id="settled"
    )
    assert answer["unresolved"] == []


async def kept(service: Service, caller: Caller, pair: Pair, rival: dict[str, Any]) -> None:
    """A person says in the review that both hold."""
    [item] = [one for one in (await REVIEW.call(service, caller, {})).items if one.kind == "rival"]
    await decide(service, caller, [ItemDecision(id=item.id, decision="keep")])


async def outdated(service: Service, caller: Caller, pair: Pair, rival: dict[str, Any]) -> None:
    """The caller says that the older one does not hold."""
    await service.execute(caller, "memory_remember", {"outdated": [rival["handle"]]})


async def forgotten(service: Service, caller: Caller, pair: Pair, rival: dict[str, Any]) -> None:
    """The newer one is forgotten."""
    await remember(service, caller, f"Please forget this: {pair.newer}")


async def reverted(service: Service, caller: Caller, pair: Pair, rival: dict[str, Any]) -> None:
    """The call that told the newer one is taken back."""
    await service.revert(caller, "newer", tool_call_id="reverted")


SETTLED = {
    "both hold": (held, {"older", "newer"}),
    "a review": (kept, {"older", "newer"}),
    "outdated": (outdated, {"newer"}),
    "forgotten": (forgotten, {"older"}),
    "reverted": (reverted, {"older"}),
}


@pytest.mark.parametrize(
    ("pair", "name"),
    [  # each way with another pair, and all pairs in `make nightly`
        pytest.param(
            pair, name, id=f"{name}-{kind}", marks=() if number == way % len(PAIRS) else pytest.mark.slow
        )
        for way, name in enumerate(SETTLED)
        for number, (kind, pair) in enumerate(PAIRS.items())
    ],
)
async def test_a_pair_that_is_settled_is_not_marked(
    service: Service, alice: Caller, pair: Pair, name: str
) -> None:
    """At once, by whatever it is settled."""
    settle, left = SETTLED[name]
    rival = await tell(service, alice, pair)
    await settle(service, alice, pair, rival)

    assert set(await shown(service, alice, pair)) == left


@some_pair
async def test_a_revert_of_what_settled_a_pair_marks_it_again(
    service: Service, alice: Caller, pair: Pair
) -> None:
    """So does a revert of the revert of the call that told the newer one."""
    rival = await tell(service, alice, pair)
    await held(service, alice, pair, rival)
    await service.revert(alice, "settled")
    again = await shown(service, alice, pair)
    await reverted(service, alice, pair, rival)
    await service.revert(alice, "reverted")

    assert again == ["newer", "earlier"]
    assert await shown(service, alice, pair) == ["newer", "earlier"]


@some_pair
async def test_the_past_shows_what_was_known_then(service: Service, alice: Caller, pair: Pair) -> None:
    """A replay of an earlier context shows what it showed."""
    rival = await tell(service, alice, pair)
    asked = {"query": pair.asks}
    first = await service.execute(alice, "memory_context", asked, tool_call_id="asked")
    await held(service, alice, pair, rival)
    second = await service.execute(alice, "memory_context", asked, tool_call_id="asked-again")
    replayed = [
        (await replay_call(service, alice, one)).is_equal for one in ("newer", "asked", "asked-again")
    ]
    [call] = await read_attempts(service, alice, "asked")

    assert OUTDATED in first["context"]
    assert OUTDATED not in second["context"]
    assert replayed == [True, True, True]
    assert await shown(service, alice, pair, as_of=call.state) == ["newer", "earlier"]


async def test_what_takes_the_place_of_a_newer_one_contradicts_the_older_one(
    service: Service, alice: Caller
) -> None:
    """The older one is shown behind it."""
    await tell(service, alice, WIKI)
    newest = "The wiki is hosted on the Azure server now, we decided, not on AWS."
    answer = await remember(service, alice, newest, said_at=LATER)
    pair = Pair(WIKI.older, "on the Azure server", WIKI.asks, WIKI.asks_older)

    assert answer["replaced"] or answer["rivals"], answer
    found = await shown(service, alice, pair)
    assert "older" not in found
    assert found[0] == "newer"


async def test_all_members_of_a_project_see_its_pairs(service: Service, caller_of: CallerOf) -> None:
    """Two lines of the project's pages."""
    admin = await caller_of(None, role="admin")
    await open_project(service, admin, "apollo", "alice", "bob")
    alice, bob = await caller_of("alice"), await caller_of("bob")
    await remember(service, alice, WORLD, project="apollo", said_at=MONDAY)
    await remember(service, alice, WIKI.older, project="apollo", said_at=MONDAY)
    answer = await remember(service, alice, WIKI.newer, project="apollo", said_at=FRIDAY)
    [rival] = answer["rivals"]

    assert rival["path"].startswith("projects/apollo/")
    assert await shown(service, alice, WIKI, project="apollo") == ["newer", "earlier"]
    assert await shown(service, bob, WIKI, project="apollo") == ["newer", "earlier"]


@some_pair
async def test_a_bundle_tells_the_pairs(service: Service, alice: Caller, pair: Pair) -> None:
    """A context is the same in a database that has nothing else; one of a memory without pairs names none."""
    await remember(service, alice, WORLD, said_at=MONDAY)
    asked = {"query": pair.asks}
    await service.execute(alice, "memory_context", asked, tool_call_id="before")
    await tell(service, alice, pair)
    await service.execute(alice, "memory_context", asked, tool_call_id="after")
    packed = [pack_bundle(await export_call(service, alice, one)) for one in ("before", "after")]
    bundle = read(packed[1])
    async with restored_database(service.database, bundle) as (caller, logged):
        replayed = await replay(service.database, caller.access, logged)

    assert ["rivals/1.jsonl" in unzipped(one) for one in packed] == [False, True]
    assert replayed.is_equal


@some_pair
async def test_nothing_is_left_of_the_pairs_of_an_erased_user(
    service: Service, alice: Caller, caller_of: CallerOf, pair: Pair
) -> None:
    """The rows go with the scope."""
    await tell(service, alice, pair)
    admin = await caller_of(None, role="admin")
    scope = alice.access.by_mount["user"].scope_id
    count = "select count(*) from rival where scope_id = %s"
    [(before,)] = await select(service.database, count, scope)
    assert before > 0

    await erasures.erase_user(service, admin, "alice")

    assert await select(service.database, count, scope) == [(0,)]
