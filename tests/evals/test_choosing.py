"""The measure of how well the definitions of the tools guide a model."""

from collections import Counter

import pytest
from tests.kit.model_server import ModelServer, Request, Step, says

from memex.evals.choosing import (
    RIGHT_CHOICES,
    choose,
    load_cases,
    load_dialogues,
    render_report,
    render_settled,
    settle,
)
from memex.subagent.model.chat import ModelAccess, chat_model


def test_there_are_messages_of_each_kind() -> None:
    """At least ten for each of what may be right, under names that differ."""
    asked = load_cases()
    kinds = Counter(message.right for message in asked)

    assert set(kinds) == set(RIGHT_CHOICES.values())
    assert min(kinds.values()) >= 10
    assert len({message.name for message in asked}) == len(asked)


async def test_what_a_model_chooses_is_counted(
    model_server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each message goes to the model with the definitions; the table names what was not right."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    asked = [message for message in load_cases() if message.right != "none"][:20]

    def answer(request: Request) -> Step:
        assert "memory_remember" in request.text
        assert "input_schema" in request.text
        return says({"tool": "memory_context"})

    model_server.play(*[answer] * len(asked))
    chat = chat_model("openai:scripted", ModelAccess("key", model_server.url))
    chosen = await choose(chat, asked)
    await chat.close()
    table = render_report(asked, chosen)

    right = sum(message.right == "memory_context" for message in asked)
    assert f"{right} of {len(asked)} right" in table
    assert "  remember/tea: memory_context" in table
    assert "recall/sister" not in table


def test_there_are_dialogues_of_each_kind() -> None:
    """At least ten each, and each stored statement of a dialogue has its handle in the answer."""
    dialogues = load_dialogues()
    kinds = Counter(one.name.partition("/")[0] for one in dialogues)

    assert set(kinds) == {"replaced", "both_hold", "chosen"}
    assert min(kinds.values()) >= 10
    assert len({one.name for one in dialogues}) == len(dialogues) >= 40
    assert [one.name for one in dialogues if not all(handle in one.answer for handle in one.right)] == []
    assert {bool(one.right) for one in dialogues if one.name.startswith("both_hold/")} == {False}


async def test_the_handles_that_a_model_names_are_counted(
    model_server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each dialogue goes to the model with the answer that it would get; the table names what was not right."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    replaced, both_hold, chosen = (
        next(one for one in load_dialogues() if one.name.startswith(kind))
        for kind in ("replaced", "both_hold", "chosen")
    )

    def answer(request: Request) -> Step:
        assert "May be " in request.text
        return says({"outdated": sorted(replaced.right)})

    model_server.play(*[answer] * 3)
    chat = chat_model("openai:scripted", ModelAccess("key", model_server.url))
    dialogues = [replaced, both_hold, chosen]
    table = render_settled(dialogues, await settle(chat, dialogues))
    await chat.close()

    assert "1 of 3 dialogues right" in table
    assert f"  {both_hold.name}: {next(iter(replaced.right))}" in table
    assert f"  {replaced.name}:" not in table
