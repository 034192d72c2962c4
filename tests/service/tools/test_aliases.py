"""Other services' names of our tools: the call is ours, and so is the answer."""

import pytest
from tests.conftest import CallerOf

from memex.errors import UnknownTool, ValidationFailed
from memex.service.log.call_list import read_attempts
from memex.service.service import TOOLS, Caller, Service
from memex.service.tools.aliases import ALIASES, translate


def test_a_call_is_translated() -> None:
    """Names of an alias alone, in either spelling; of two for one argument ours counts; only null is lost."""
    for tool, given, ours in (
        ("memory_memorize", {"content": "tea"}, ("memory_remember", {"text": "tea"})),
        (
            "memory_memorize",
            {"memory": "tea", "projectId": "x"},
            ("memory_remember", {"text": "tea", "project": "x"}),
        ),
        (
            "memory_memorize",
            {"text": "tea", "dryRun": True},
            ("memory_remember", {"text": "tea", "dry_run": True}),
        ),
        ("memory_search", {"q": "tea", "topK": 3}, ("memory_find", {"query": "tea", "limit": 3})),
        ("memory_search", {"query": "tea", "max_results": 3}, ("memory_find", {"query": "tea", "limit": 3})),
        (
            "memory_search",
            {"query": "tea", "pathPrefix": "user/"},
            ("memory_find", {"query": "tea", "prefix": "user/"}),
        ),
        ("memory_search", {"q": "milk", "query": "tea"}, ("memory_find", {"query": "tea"})),
        ("memory_search", {"query": "tea", "q": "milk"}, ("memory_find", {"query": "tea"})),
        (
            "memory_search",
            {"query": "tea", "rerank": True},
            ("memory_find", {"query": "tea", "rerank": True}),
        ),
        ("memory_search", {"query": None, "q": "tea", "topK": None}, ("memory_find", {"query": "tea"})),
        ("memory_find", {"q": "tea"}, ("memory_find", {"q": "tea"})),
        ("no_tool", {"topK": 1}, ("no_tool", {"topK": 1})),
    ):
        assert translate(tool, given) == ours


def test_every_alias_leads_to_arguments_that_there_are() -> None:
    """And no alias hides a tool."""
    for name, alias in ALIASES.items():
        assert name not in TOOLS
        assert set(alias.arguments.values()) <= set(TOOLS[alias.tool].arguments.model_fields)


async def test_other_names_do_what_ours_do(service: Service, alice: Caller) -> None:
    """Remembered and found; the log has our names, so that replay and metrics know the call."""
    said = await service.execute(
        alice, "memory_memorize", {"content": "I prefer oolong tea."}, tool_call_id="a"
    )
    again = await service.execute(
        alice, "memory_remember", {"text": "I prefer oolong tea."}, tool_call_id="a"
    )
    found = await service.execute(alice, "memory_search", {"q": "tea", "topK": 1}, tool_call_id="b")
    [searched] = await read_attempts(service, alice, "b")

    assert said == again
    assert said["status"] == "committed"
    [hit] = found["hits"]
    assert (hit["path"], hit["entries"]) == ("user/preferences.md", [said["entry"].rpartition("@")[0]])
    assert (searched.tool, searched.request) == ("memory_find", {"query": "tea", "limit": 1})


async def test_what_is_unknown_is_refused_as_ever(
    service: Service, alice: Caller, caller_of: CallerOf
) -> None:
    """An argument that no name stands for, one that names a user, and a tool that there is not."""
    for arguments in ({"query": "tea", "user_id": "bob"}, {"query": "tea", "rerank": True}, {"q": ""}):
        with pytest.raises(ValidationFailed):
            await service.execute(alice, "memory_search", arguments)
    with pytest.raises(UnknownTool):
        await service.execute(await caller_of("bob"), "memory_get", {})
