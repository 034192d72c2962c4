"""A suite that is played as conversations: turns are messages, and search in conversations finds them."""

from pathlib import Path

import pytest

from memex.errors import ValidationFailed
from memex.evals.retrieval import evaluation, page, tables
from memex.evals.retrieval.evaluation import RetrievalOptions
from memex.evals.retrieval.stored_as import conversations
from memex.evals.retrieval.suites import Collection

pytestmark = pytest.mark.embedded_only


def test_turns_are_messages_of_their_session() -> None:
    """In the order of the files, with the day, and with the role that the text names or the speaker has."""
    files = {
        "user/chats/a/0002.md": "**Bert**: Two.\n",
        "user/chats/a/0001.md": "---\ndate: 2023-05-08\n---\n**Ada**: One.\n",
        "user/chats/b/0001.md": "assistant: Three.\n",
    }
    first, second = conversations.conversations_of(Collection("alice", files, ()))

    assert (first.id, second.id) == ("user/chats/a", "user/chats/b")
    assert [(one.role, one.text) for one in (*first.messages, *second.messages)] == [
        ("user", "**Ada**: One."),
        ("assistant", "**Bert**: Two."),
        ("assistant", "Three."),
    ]
    assert [one.said_at and one.said_at.date().isoformat() for one in first.messages] == ["2023-05-08", None]
    assert [one.id for one in first.messages] == ["user/chats/a/0001.md", "user/chats/a/0002.md"]


@pytest.mark.slow
async def test_messages_are_ranked_as_files_are(retrieval_data: Path, conninfo: str) -> None:
    """By the same engine; no context is asked for, and the tables and the page have none."""
    as_files = await evaluation.run_suite("locomo", retrieval_data, RetrievalOptions(database_url=conninfo))
    run = await evaluation.run_suite(
        "locomo", retrieval_data, RetrievalOptions(stored_as="conversations", database_url=conninfo)
    )

    [part] = run.parts
    turns = next(one for one in as_files.parts if one.name == part.name == "locomo-turns")
    assert [one.ranks for one in part.outcomes] == [one.ranks for one in turns.outcomes]
    assert (run.suite, run.tool, part.files) == ("locomo-conversations", "conversation_find", 5)
    assert tables.context(part, run.config.budgets) is None
    assert "conversation_find" in page.render(run, None, None)
    assert "Evidence that stands in memory_context" not in page.render(run, None, None)
    assert "Evidence that stands in memory_context" in page.render(as_files, None, None)


async def test_a_suite_without_conversations_is_refused(tmp_path: Path) -> None:
    """And so is a search by vectors, which conversations have not."""
    for suite, mode in (("scifact", "bm25"), ("locomo", "hybrid")):
        with pytest.raises(ValidationFailed):
            await evaluation.run_suite(
                suite, tmp_path, RetrievalOptions(mode=mode, stored_as="conversations")
            )
