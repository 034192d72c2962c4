"""Chat models by name: which there are, how they are asked, and what is asked again."""

import asyncio
import os
import subprocess
import sys
import time
import tomllib
from collections.abc import AsyncIterator, Callable
from email.utils import formatdate
from pathlib import Path

import pytest
from pydantic import BaseModel
from pydantic_ai import Agent, ModelHTTPError, ToolOutput
from pydantic_ai.exceptions import ModelConnectionError
from tests.kit.model_server import (
    ModelServer,
    Step,
    Usage,
    calls,
    cut,
    drips,
    fails,
    hangs,
    resets,
    says,
)

from memex.errors import ValidationFailed
from memex.subagent.model import chat as chat_models
from memex.subagent.model.chat import Api, ChatModel, ModelAccess, chat_model

# Runs in a process of its own, which may open no socket, and says what it had to load.
QUIET = """
import memex.subagent.model.ask
from pydantic_ai import Agent
from pydantic_ai.models.test import TestModel
Agent(TestModel()).run_sync("What does Anna drink?")
"""
UNASKED = """
import socket, sys
from memex.errors import ValidationFailed

def refuse(*_, **__):
    raise AssertionError("a socket was opened")

socket.socket.connect = socket.socket.connect_ex = socket.getaddrinfo = refuse
from memex.subagent.model.chat import ModelAccess, chat_model
chat_model("openai:small", ModelAccess(api_key="secret"))
print([name for name in ("openai", "pydantic_ai") if name in sys.modules])
"""


class Drink(BaseModel):
    """An answer with a form."""

    name: str


ModelOf = Callable[..., ChatModel]


@pytest.fixture(autouse=True)
def quick_repeats(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shortens the pauses before a request is repeated; those that a server asks for stay."""
    monkeypatch.setattr(chat_models, "FIRST_PAUSE_S", 0.001)


@pytest.fixture
async def model_of(model_server: ModelServer) -> AsyncIterator[ModelOf]:
    """What makes models that ask the server, by the name small."""
    made: list[ChatModel] = []

    def make(api: Api = "chat", *, api_key: str | None = "secret", url: str | None = None) -> ChatModel:
        made.append(chat_model("openai:small", ModelAccess(api_key, url or model_server.url, api)))
        return made[-1]

    yield make
    for model in made:
        await model.close()


async def answer(model: ChatModel, *, seconds: float = 60.0) -> str:
    """Ask a model one thing, with so many seconds for it, and return what it says."""
    token = chat_models.deadline.set(time.monotonic() + seconds)
    try:
        return (await Agent(await model.model()).run("What does Anna drink?")).output
    finally:
        chat_models.deadline.reset(token)


@pytest.mark.parametrize(("api", "path"), [("chat", "/v1/chat/completions"), ("responses", "/v1/responses")])
async def test_a_model_is_asked_by_either_api(
    model_server: ModelServer, model_of: ModelOf, api: Api, path: str
) -> None:
    """At OPENAI_BASE_URL, by its name without the provider, and with the key."""
    model_server.play(says("Oolong."))

    said = await answer(model_of(api))

    [request] = model_server.requests
    assert said == "Oolong."
    assert (request.path, request.headers["authorization"]) == (path, "Bearer secret")
    assert request.body["model"] == "small"
    assert "What does Anna drink?" in request.text


@pytest.mark.parametrize("api", ["chat", "responses"])
async def test_tools_are_called_and_answer_by_either_api(
    model_server: ModelServer, model_of: ModelOf, api: Api
) -> None:
    """The results of two calls of one answer go back in their order; the usage is counted, cached tokens too."""
    usage = Usage(input_tokens=200, output_tokens=7, cached_tokens=150)
    model_server.play(
        calls(("find", {"query": "tea"}), ("find", {"query": "Anna"}), usage=usage),
        calls(("answer", {"name": "oolong"}), usage=usage),
    )
    agent = Agent(await model_of(api).model(), output_type=ToolOutput(Drink, name="answer"))

    @agent.tool_plain
    def find(query: str) -> str:
        """Find notes."""
        return f"Nothing about {query}."

    result = await agent.run("What does Anna drink?")

    first, second = model_server.requests
    assert result.output == Drink(name="oolong")
    assert set(first.tools) == {"find", "answer"}
    assert second.tool_results == ["Nothing about tea.", "Nothing about Anna."]
    assert (result.usage.input_tokens, result.usage.output_tokens, result.usage.cache_read_tokens) == (
        400,
        14,
        300,
    )


async def test_a_server_of_ones_own_needs_no_key(model_server: ModelServer, model_of: ModelOf) -> None:
    """A base URL is enough."""
    model_server.play(says("Oolong."))

    assert await answer(model_of(api_key=None)) == "Oolong."


async def test_another_provider_is_asked_by_its_prefix_and_own_variables(
    model_server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its requests are repeated as those of `openai` are."""
    monkeypatch.setenv("OLLAMA_BASE_URL", model_server.url)
    model_server.play(fails(503), says("Oolong."))
    chat = chat_model("ollama:small", ModelAccess(api_key="secret", base_url="http://127.0.0.1:9/v1"))

    assert await answer(chat) == "Oolong."
    assert [request.body["model"] for request in model_server.requests] == ["small", "small"]
    await chat.close()


async def test_a_server_of_ones_own_gets_the_plain_form_of_a_request(
    model_server: ModelServer, model_of: ModelOf
) -> None:
    """No strict schemas, and the older name of the limit of tokens: llama.cpp and others know no other."""
    model_server.play(calls(("answer", {"name": "oolong"})))
    agent = Agent(await model_of().model(), output_type=ToolOutput(Drink, name="answer"))

    await agent.run("What does Anna drink?", model_settings={"max_tokens": 50})

    [request] = model_server.requests
    assert request.body["max_tokens"] == 50
    assert "max_completion_tokens" not in request.body
    assert "strict" not in request.body["tools"][0]["function"]


async def test_a_model_that_thinks_gets_the_newer_limit_behind_a_gateway_too(
    model_server: ModelServer,
) -> None:
    """OpenAI's models of that sort refuse the older name, wherever they are reached."""
    model_server.play(says("Oolong."))
    chat = chat_model("openai:gpt-5-mini", ModelAccess("secret", model_server.url))

    await Agent(await chat.model()).run("What does Anna drink?", model_settings={"max_tokens": 50})

    [request] = model_server.requests
    assert request.body["max_completion_tokens"] == 50
    assert "max_tokens" not in request.body
    await chat.close()


@pytest.mark.parametrize(
    "failures",
    [
        [fails(429, retry_after=0), fails(503), fails(500)],
        [fails(429, retry_after=formatdate(0, usegmt=True)), fails(408)],
        [resets(), resets()],
        [cut(says("Water.")), fails(502)],
        [fails(504), resets(), cut(says("Water."))],
    ],
    ids=["statuses", "a date that is past", "resets", "an answer that breaks off", "all sorts"],
)
async def test_what_may_pass_is_asked_again(
    model_server: ModelServer, model_of: ModelOf, failures: list[Step]
) -> None:
    """The same request, until the answer comes."""
    model_server.play(*failures, says("Oolong."))

    said = await answer(model_of())

    assert said == "Oolong."
    assert len(model_server.requests) == len(failures) + 1
    assert len({str(request.body) for request in model_server.requests}) == 1


async def test_a_request_is_repeated_three_times_at_most(
    model_server: ModelServer, model_of: ModelOf
) -> None:
    """Then the failure stands: nobody else repeats it."""
    model_server.play(fails(503), endless=True)

    with pytest.raises(ModelHTTPError) as failed:
        await answer(model_of())

    assert failed.value.status_code == 503
    assert len(model_server.requests) == chat_models.ATTEMPTS == 4


@pytest.mark.parametrize("status", [400, 401, 403, 404, 422])
async def test_what_will_not_pass_is_not_asked_again(
    model_server: ModelServer, model_of: ModelOf, status: int
) -> None:
    """A wrong key or a wrong request stays wrong."""
    model_server.play(fails(status))

    with pytest.raises(ModelHTTPError) as failed:
        await answer(model_of())

    assert failed.value.status_code == status


@pytest.mark.parametrize("api", ["chat", "responses"])
async def test_spent_money_is_not_asked_for_again(
    model_server: ModelServer, model_of: ModelOf, api: Api
) -> None:
    """A 429 that says the account is empty does not pass by waiting."""
    model_server.play(fails(429, code="insufficient_quota"))

    with pytest.raises(ModelHTTPError):
        await answer(model_of(api))


@pytest.mark.parametrize("given_as", ["seconds", "date"])
async def test_a_pause_beyond_the_deadline_is_not_begun(
    model_server: ModelServer, model_of: ModelOf, given_as: str
) -> None:
    """A server that asks for an hour is given up at once."""
    later = "3600" if given_as == "seconds" else formatdate(time.time() + 3600, usegmt=True)
    model_server.play(fails(429, retry_after=later))

    with pytest.raises(ModelHTTPError) as failed:
        await answer(model_of(), seconds=30)

    assert failed.value.status_code == 429


async def test_a_server_that_is_not_there_is_a_failure(model_server: ModelServer, model_of: ModelOf) -> None:
    """Of the kind that the planner knows."""
    model = model_of()
    model_server.stop()

    with pytest.raises(ModelConnectionError):
        await answer(model)


@pytest.mark.parametrize("late", [hangs(), drips(says("Oolong."))], ids=["hangs", "drips"])
async def test_a_cancelled_request_leaves_the_model_usable(
    model_server: ModelServer, model_of: ModelOf, late: Step
) -> None:
    """A call that is given up while it waits goes; the next one is answered."""
    model = model_of()
    model_server.play(late, says("Oolong."))
    asked = asyncio.create_task(answer(model))
    while not model_server.requests:  # noqa: ASYNC110  # the server is in a thread
        await asyncio.sleep(0.01)
    asked.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asked

    assert await answer(model) == "Oolong."


async def test_a_model_is_asked_anew_after_its_server_came_back(
    model_server: ModelServer, model_of: ModelOf
) -> None:
    """A connection that died while it lay idle costs one repeat."""
    model = model_of()
    model_server.play(says("Oolong."), resets(), says("Sencha."))

    assert [await answer(model), await answer(model)] == ["Oolong.", "Sencha."]


@pytest.mark.process
def test_nothing_is_asked_or_loaded_before_the_first_question() -> None:
    """Naming a model opens no connection, and costs no import of a client."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("OPENAI_")}
    done = subprocess.run(
        [sys.executable, "-c", UNASKED], check=True, capture_output=True, text=True, env=environment
    )

    assert done.stdout.strip() == "[]"


@pytest.mark.process
@pytest.mark.slow
def test_a_question_prints_nothing() -> None:
    """Where somebody looks on, the library would praise its own services before the first answer."""
    hidden = {"CI", "PYTEST_VERSION", "PYTEST_CURRENT_TEST", "PYDANTIC_AI_NO_BANNER"}
    environment = {name: value for name, value in os.environ.items() if name not in hidden}
    watched = environment | {"CLAUDECODE": "1"}  # to that it is shown in a pipe as on a terminal
    done = subprocess.run(
        [sys.executable, "-c", QUIET], check=True, capture_output=True, text=True, env=watched
    )

    assert (done.stdout, done.stderr) == ("", "")


@pytest.mark.parametrize("name", ["", "gpt-5", "openai:", ":small", "nobody:small", "Open AI:small"])
def test_a_name_without_a_provider_is_refused(name: str) -> None:
    """With what a name looks like."""
    with pytest.raises(ValidationFailed) as refused:
        chat_model(name, ModelAccess(api_key="secret"))

    assert "openai:MODEL" in refused.value.hint


def test_a_provider_whose_packages_are_missing_is_refused_with_their_extra() -> None:
    """The hint installs them."""
    with pytest.raises(ValidationFailed) as refused:
        chat_model("mistral:mistral-small-latest")

    assert refused.value.hint == 'Install them: pip install "memex-memory[mistral]".'


def test_a_provider_without_an_extra_of_ours_is_refused_with_its_own() -> None:
    """Memex names no extra that it does not have; those that it has are in the project's file."""
    with pytest.raises(ValidationFailed) as refused:
        chat_model("voyageai:voyage-4")
    project = tomllib.loads((Path(__file__).parents[3] / "pyproject.toml").read_text(encoding="utf-8"))

    assert refused.value.hint == 'Install them: pip install "pydantic-ai-slim[voyageai]".'
    assert project["project"]["optional-dependencies"].keys() > chat_models.EXTRAS


def test_openai_without_a_key_is_refused() -> None:
    """Unless a server of one's own is named."""
    with pytest.raises(ValidationFailed) as refused:
        chat_model("openai:small")

    assert "OPENAI_API_KEY" in refused.value.hint
