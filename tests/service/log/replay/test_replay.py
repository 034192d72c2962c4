"""A call of the log is run again in the state that it saw, and gives the same bytes."""

import hashlib
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models import Model
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.profiles import ModelProfile

from memex.service.chunk_embedding import embed_scope
from memex.service.log.call_list import list_calls, read_attempts
from memex.service.log.replay.replay import ReplayResult
from memex.service.log.replay.requests import replay_call
from memex.service.planners import Planners
from memex.service.service import Caller, Service
from memex.store.database import Database
from memex.store.search.analyzer import Analyzer
from memex.store.upkeep.reindex import rebuild
from memex.subagent import prompts
from memex.subagent.builtin import BuiltinPlanner
from memex.subagent.context.assembly import FORMAT, VERBATIM_FORMAT
from memex.subagent.context.rendering import Rendering
from memex.subagent.embedders.hashed import HashEmbedder
from memex.subagent.model.chat import ChatModel
from memex.subagent.model.planner import ModelPlanner
from memex.subagent.prompts import Prompt
from memex.subagent.remember.file_series import LISTS_SERIES

TEA = "# Tea\n\nI like oolong tea.\n\n## Brewing\n\nAt 90 degrees, as in [[coffee]].\n"
COFFEE = "# Coffee\n\nHot, and never with milk.\n"
ASKED = {"query": "Which tea do I like?"}


def answering(*script: ModelResponse | Exception) -> Callable[[], Model]:
    """Return a model that plays a script."""
    left = list(script)

    def play(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        now = left.pop(0)
        if isinstance(now, Exception):
            raise now
        return now

    return lambda: FunctionModel(play, profile=ModelProfile(supports_json_schema_output=True))


def calls(*named: tuple[str, Any]) -> ModelResponse:
    """Return an answer that calls tools."""
    return ModelResponse(parts=[ToolCallPart(name, arguments) for name, arguments in named])


def modelled(
    database: Database, make: Callable[[], Model], load: Callable[[str], Prompt] = prompts.load
) -> Service:
    """Return a service whose model is this one, and reads these prompts."""
    chat = ChatModel("function:test", lambda: (make(), None))
    planner = ModelPlanner(chat, BuiltinPlanner(Analyzer()), load=load)
    return Service(database, max_files=100, planning=Planners(planner, planner))


@pytest.fixture
def plain(database: Database) -> Service:
    """A service by rules."""
    return Service(database, max_files=100)


async def fill(service: Service, caller: Caller) -> None:
    """Write two files."""
    for path, text in (("user/tea.md", TEA), ("user/coffee.md", COFFEE)):
        await service.execute(caller, "memory_write", {"path": path, "content": text})


async def change(service: Service, caller: Caller) -> None:
    """Change, add and remove."""
    more = {"path": "user/tea.md", "operation": "append", "text": "I like matcha tea too, tea, tea."}
    await service.execute(caller, "memory_patch", more)
    await service.execute(caller, "memory_write", {"path": "user/tea2.md", "content": "Which tea? Any tea."})
    await service.execute(caller, "memory_delete", {"path": "user/coffee.md"})


def told(result: ReplayResult) -> str:
    """Return what a failing assertion should say."""
    return f"{result.difference}"


async def test_a_context_gives_the_same_bytes_after_edits(plain: Service, alice: Caller) -> None:
    """By the rules, whatever was written since."""
    await fill(plain, alice)
    answer = await plain.execute(alice, "memory_context", ASKED, tool_call_id="first")
    await change(plain, alice)
    result = await replay_call(plain, alice, "first")

    assert result.is_equal, told(result)
    assert result.result["context"] == answer["context"] != ""
    assert result.operations > 3


async def test_a_call_of_an_older_planner_makes_its_reads(database: Database, alice: Caller) -> None:
    """An older planner listed the folder beside a file of statements; the call of today lists less."""
    older = BuiltinPlanner(Analyzer(), version=LISTS_SERIES - 1)
    services = {
        "older": Service(database, max_files=100, planning=Planners(older, older), keeps_journal=False),
        "newer": Service(database, max_files=100, keeps_journal=False),
    }
    for name in ("user/notes/dock.md", "user/notes-2.md", "user/notes.md"):
        await services["newer"].execute(
            alice, "memory_write", {"path": name, "content": f"# Of {name}\n\nThe dock is long.\n"}
        )
    for name, service in services.items():
        said = {"text": f"The mast of the {name} boat is broken."}
        await service.execute(alice, "memory_remember", said, tool_call_id=name)
    async with database.maintenance() as connection:
        query = "update operation set engine = regexp_replace(engine, 'planner-[0-9]+', 'planner-6')"
        await connection.execute(f"{query} where tool_call_id = 'older'".encode())
    results = {name: await replay_call(service, alice, name) for name, service in services.items()}
    listed = {}
    for name in services:
        [attempt] = await read_attempts(services["newer"], alice, name)
        listed[name] = next(one.response["files"] for one in attempt.inner if one.tool == "memory_list")

    assert [told(result) for result in results.values() if not result.is_equal] == []
    assert [one.part for one in results["older"].changed] == ["planner"]
    assert [len(files) for files in listed.values()] == [3, 2]


async def test_a_context_is_shown_again_as_it_was(database: Database, alice: Caller) -> None:
    """Each call has its format and its setting of images in the log; the replay takes them, not those of today."""
    renderings = {
        "older": Rendering(format=VERBATIM_FORMAT),
        "kept": Rendering(images="keep"),
        "newer": Rendering(),
    }
    services = {name: Service(database, max_files=100, rendering=one) for name, one in renderings.items()}
    text = "# Plan\n\nThe plan is ![a map](https://host.example/?q=1), in order\u202e.\n"
    await services["newer"].execute(alice, "memory_write", {"path": "user/plan.md", "content": text})
    asked = {name: await one.execute(alice, "memory_context", {"query": "plan map"}, tool_call_id=name)
             for name, one in services.items()}  # fmt: skip
    async with database.maintenance() as connection:
        query = "update operation set engine = replace(engine, %s, %s) where tool_call_id = 'older'"
        await connection.execute(query, [FORMAT, VERBATIM_FORMAT])
    results = [await replay_call(services["newer"], alice, name) for name in services]

    assert [told(result) for result in results if not result.is_equal] == []
    shown = {
        name: answer["context"].split("The plan is ")[1].split("\n")[0] for name, answer in asked.items()
    }
    assert shown == {
        "older": "![a map](https://host.example/?q=1), in order\u202e.",
        "kept": "![a map](https://host.example/?q=1), in order⟨U+202E⟩.",
        "newer": "a map, in order⟨U+202E⟩.",
    }
    [[span], *others] = [
        [one for source in answer["sources"] for one in source["spans"]] for answer in asked.values()
    ]
    assert others == [[span], [span]]  # digests are those of the stored text
    assert span["sha256"] == hashlib.sha256(text[span["start"] : span["end"]].encode()).hexdigest()


async def test_an_index_made_anew_changes_nothing(plain: Service, alice: Caller) -> None:
    """Its chunks have other ids; what was changed before and after it is seen as it stood."""
    await fill(plain, alice)
    await plain.execute(alice, "memory_context", ASKED, tool_call_id="first")
    await change(plain, alice)
    await plain.execute(alice, "memory_context", ASKED, tool_call_id="second")
    await rebuild(plain.database, alice.access.by_mount["user"].scope_id)
    await plain.execute(alice, "memory_write", {"path": "user/tea3.md", "content": "Tea."})
    results = [await replay_call(plain, alice, call) for call in ("first", "second")]

    assert [told(result) for result in results if not result.is_equal] == []


async def test_a_search_of_the_logged_state_gives_the_logged_hits(plain: Service, alice: Caller) -> None:
    """What search found inside a call is found again with `as_of`: the same spans and scores."""
    await fill(plain, alice)
    await plain.execute(alice, "memory_context", ASKED, tool_call_id="first")
    await change(plain, alice)
    [attempt] = await read_attempts(plain, alice, "first")
    [logged] = [one for one in attempt.inner if one.tool == "memory_find"]
    asked = {"query": ASKED["query"], "limit": 100, "as_of": logged.state}
    again = await plain.execute(alice, "memory_find", asked)
    now = await plain.execute(alice, "memory_find", asked | {"as_of": None})

    places = ("path", "version", "score")
    hits = [[hit[name] for name in places] for hit in (logged.response or {})["hits"]]
    assert hits
    assert [[hit[name] for name in places] for hit in again["hits"]] == hits
    assert [[hit[name] for name in places] for hit in now["hits"]] != hits


async def test_a_remembered_text_is_compared_and_not_written(plain: Service, alice: Caller) -> None:
    """The writes of then come out again; memory and log stay as they are."""
    await fill(plain, alice)
    texts = ("I live in Berlin. I prefer green tea.", "I moved to Oslo. I prefer black tea.", "Hello!")
    for place, text in enumerate(texts):
        await plain.execute(alice, "memory_remember", {"text": text}, tool_call_id=f"r{place}")
    before = await list_calls(plain, alice)
    results = [await replay_call(plain, alice, f"r{place}") for place in range(len(texts))]

    assert [told(result) for result in results if not result.is_equal] == []
    assert results[1].result["writes"]
    assert (await list_calls(plain, alice)) == before


async def test_reads_are_replayed(plain: Service, alice: Caller) -> None:
    """Find, read and list as they answered."""
    await fill(plain, alice)
    asked = {
        "memory_find": {"query": "oolong tea"},
        "memory_read": {"path": "user/tea.md"},
        "memory_list": {"prefix": "user/"},
    }
    for tool, arguments in asked.items():
        await plain.execute(alice, tool, arguments, tool_call_id=tool)
    await change(plain, alice)
    results = [await replay_call(plain, alice, tool) for tool in asked]

    assert [told(result) for result in results if not result.is_equal] == []


SPANS = {"lines": [1]}
SCRIPTS: dict[str, Sequence[ModelResponse | Exception]] = {
    "one request": [calls(("answer", SPANS))],
    "tools": [
        calls(("find", {"query": "coffee"}), ("nothing", {}), ("find", "{")),
        calls(("read", {"place": "user/tea.md"}), ("links", {"place": "1"}), ("find", {"query": "kettle"})),
        calls(("answer", {"lines": [99]})),
        calls(("answer", SPANS)),
    ],
    "words, then one answer": [
        ModelResponse(parts=[TextPart("Tea.")]),
        ModelResponse(parts=[TextPart("Tea.")]),
        ModelResponse(parts=[TextPart('{"lines": [1]}')]),
    ],
    "no answer": [ValueError("broken"), ValueError("broken")],
}


@pytest.mark.parametrize("script", SCRIPTS.values(), ids=SCRIPTS)
async def test_a_models_context_gives_the_same_bytes(
    database: Database, alice: Caller, script: Sequence[ModelResponse | Exception]
) -> None:
    """With its recorded answers, its mistakes and its silence, and without it."""
    asked = modelled(database, answering(*script))
    await fill(asked, alice)
    answer = await asked.execute(alice, "memory_context", ASKED, tool_call_id="first")
    other = Service(database, max_files=100)
    await change(other, alice)
    result = await replay_call(other, alice, "first")

    assert result.is_equal, told(result)
    assert result.result["context"] == answer["context"] != ""
    assert result.model_requests == len(script)


def edit(evidence: str, statement: str = "I like matcha tea.") -> dict[str, Any]:
    """Return an edit that stores a preference."""
    return {"action": "add", "kind": "preference", "statement": statement, "evidence": evidence}


async def test_a_models_writes_come_out_again(database: Database, alice: Caller) -> None:
    """Compared, not applied; also after the file was written again."""
    asked = modelled(
        database,
        answering(
            calls(("find", {"query": "green tea"})),
            calls(("answer", {"edits": [edit("no piece of it")], "skipped": []})),
            calls(("answer", {"edits": [edit("I like matcha tea.")], "skipped": []})),
        ),
    )
    await fill(asked, alice)
    text = {"text": "I like matcha tea. It is green."}
    answer = await asked.execute(alice, "memory_remember", text, tool_call_id="first")
    other = Service(database, max_files=100)
    await other.execute(alice, "memory_remember", {"text": "I prefer black tea."})
    result = await replay_call(other, alice, "first")

    assert result.is_equal, told(result)
    assert result.result["writes"] == answer["writes"] != []


async def test_a_call_is_replayed_with_the_prompt_that_it_had(database: Database, alice: Caller) -> None:
    """Also after Memex, or a user's own folder, has another one: the requests are the same."""
    text = prompts.load("remember").text.replace("You keep a person's memory", "You keep notes")
    old = prompts.parse("remember", text[: text.index("# Rivals")])
    script = calls(("answer", {"edits": [edit("I like matcha tea.")], "skipped": []}))
    asked = modelled(database, answering(script), lambda _: old)
    await asked.execute(alice, "memory_remember", {"text": "I like matcha tea."}, tool_call_id="first")
    result = await replay_call(Service(database, max_files=100), alice, "first")

    assert result.is_equal, told(result)


async def test_what_vectors_found_is_taken_from_the_log(database: Database, alice: Caller) -> None:
    """Their ranking cannot be worked out again; all that follows from it is."""
    if not database.has_vectors:
        pytest.skip("no pgvector here")
    embedder = HashEmbedder()
    both = Service(database, max_files=100, embedder=embedder)
    await fill(both, alice)
    await embed_scope(database, embedder, alice.access.log_scope_id)
    answer = await both.execute(alice, "memory_context", ASKED, tool_call_id="first")
    await both.execute(alice, "memory_find", {"query": "tea with milk"}, tool_call_id="second")
    [attempt] = await read_attempts(both, alice, "first")
    await change(both, alice)
    results = [
        await replay_call(Service(database, max_files=100), alice, call) for call in ("first", "second")
    ]

    assert attempt.inner[0].response
    assert attempt.inner[0].response["near"]
    assert [told(result) for result in results if not result.is_equal] == []
    assert results[0].result["context"] == answer["context"]
