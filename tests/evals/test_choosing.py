"""The measure of how well the definitions of the tools guide a model."""

from collections import Counter

import pytest
from tests.kit.model_server import ModelServer, Request, Step, says

from memex.evals.choosing import RIGHT_CHOICES, choose, load_cases, render_report
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
