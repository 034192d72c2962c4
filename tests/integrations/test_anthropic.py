"""`memex.integrations.anthropic` and Claude's memory tool, each through the library `anthropic`."""

from pathlib import Path
from typing import Any

import pytest
from tests.integrations.scripts import anthropic_calls, anthropic_results, anthropic_says
from tests.kit.model_server import ModelServer

from memex.api.memex import UserMemory

# Every command with its refusals, in one story: (command, arguments).
COMMANDS: list[tuple[str, dict[str, Any]]] = [
    ("create", {"path": "/memories/notes.md", "file_text": "# Notes\n\ntea\ncoffee\ntea\n"}),
    ("create", {"path": "/memories/notes.md", "file_text": "again"}),
    ("create", {"path": "/memories/work/apollo/plan.txt", "file_text": "one\ntwo\nthree\nfour\nfive\nsix"}),
    ("create", {"path": "/memories/work/todo.md", "file_text": "x" * 2_048}),
    ("create", {"path": "/memories/.hidden", "file_text": "x"}),
    ("create", {"path": "/memories/empty.md", "file_text": ""}),
    ("view", {"path": "/memories/notes.md"}),
    ("view", {"path": "/memories/empty.md"}),
    ("view", {"path": "/memories/work/apollo/plan.txt", "view_range": [2, 4]}),
    ("view", {"path": "/memories/work/apollo/plan.txt", "view_range": [3, -1]}),
    ("view", {"path": "/memories/none.md"}),
    ("view", {"path": "/etc/passwd"}),
    ("view", {"path": "/memories/../secrets"}),
    ("str_replace", {"path": "/memories/notes.md", "old_str": "tea", "new_str": "cocoa"}),
    ("str_replace", {"path": "/memories/notes.md", "old_str": "milk", "new_str": "cocoa"}),
    ("str_replace", {"path": "/memories/notes.md", "old_str": "coffee", "new_str": "cocoa\nmilk"}),
    ("str_replace", {"path": "/memories/none.md", "old_str": "a", "new_str": "b"}),
    ("str_replace", {"path": "/memories/work", "old_str": "a", "new_str": "b"}),
    ("insert", {"path": "/memories/notes.md", "insert_line": 0, "insert_text": "first\n"}),
    ("insert", {"path": "/memories/notes.md", "insert_line": 7, "insert_text": "last"}),
    ("insert", {"path": "/memories/notes.md", "insert_line": 99, "insert_text": "x"}),
    ("insert", {"path": "/memories/empty.md", "insert_line": 0, "insert_text": "first"}),
    ("insert", {"path": "/memories/none.md", "insert_line": 0, "insert_text": "x"}),
    ("insert", {"path": "/memories/work", "insert_line": 0, "insert_text": "x"}),
    ("view", {"path": "/memories/notes.md"}),
    ("view", {"path": "/memories/empty.md"}),
    ("rename", {"old_path": "/memories/notes.md", "new_path": "/memories/work/todo.md"}),
    ("rename", {"old_path": "/memories/none.md", "new_path": "/memories/some.md"}),
    ("rename", {"old_path": "/memories", "new_path": "/memories/some"}),
    ("rename", {"old_path": "/memories/notes.md", "new_path": "/memories/old/notes.md"}),
    ("rename", {"old_path": "/memories/work", "new_path": "/memories/done"}),
    ("view", {"path": "/memories/done/apollo/plan.txt"}),
    ("view", {"path": "/memories/work"}),
    ("delete", {"path": "/memories/none.md"}),
    ("delete", {"path": "/memories/old/notes.md"}),
    ("delete", {"path": "/memories/done"}),
    ("delete", {"path": "/memories"}),
    ("view", {"path": "/memories/done/todo.md"}),
]


async def said(tool: Any, command: str, arguments: dict[str, Any]) -> tuple[str, str]:
    """Return whether a command was done or refused, and with which words."""
    from anthropic.lib.tools import ToolError

    try:
        return "done", await tool.call({"command": command, **arguments})
    except ToolError as error:
        return "refused", str(error.content)


@pytest.mark.slow
async def test_the_memory_tool_answers_as_the_librarys_own(memory: UserMemory, tmp_path: Path) -> None:
    """Word for word, over every command and refusal, as the tool that `anthropic` brings along."""
    from anthropic.lib.tools._beta_builtin_memory_tool import BetaAsyncLocalFilesystemMemoryTool

    from memex.integrations.anthropic_memory import MemoryTool

    ours, theirs = MemoryTool(memory), BetaAsyncLocalFilesystemMemoryTool(str(tmp_path))
    for command, arguments in COMMANDS:
        expected = await said(theirs, command, arguments)

        assert await said(ours, command, arguments) == expected, (command, arguments)
    assert ours.to_dict() == theirs.to_dict()


async def test_folders_are_listed_two_levels_deep(memory: UserMemory, tmp_path: Path) -> None:
    """As the library's own lists them; only a folder's size differs, which here is that of the files in it."""
    from anthropic.lib.tools._beta_builtin_memory_tool import BetaAsyncLocalFilesystemMemoryTool

    from memex.integrations.anthropic_memory import MemoryTool

    ours, theirs = MemoryTool(memory), BetaAsyncLocalFilesystemMemoryTool(str(tmp_path))
    for command, arguments in COMMANDS[:6]:
        await said(ours, command, arguments)
        await said(theirs, command, arguments)
    for path in ("/memories", "/memories/work"):
        shown = (await said(ours, "view", {"path": path}))[1]
        expected = (await said(theirs, "view", {"path": path}))[1]

        assert [line.split("\t")[-1] for line in shown.split("\n")] == [
            line.split("\t")[-1] for line in expected.split("\n")
        ]
        assert "2K\t/memories/work/todo.md" in shown
    assert (await MemoryTool(memory).call({"command": "view", "path": "/memories"})).count("\t") == 6


async def test_the_librarys_runner_runs_the_memory_tool(
    model_server: ModelServer, memory: UserMemory
) -> None:
    """Claude's file is an ordinary memory file: the other tools recall it, and Memex checks it."""
    from anthropic import AsyncAnthropic

    from memex.integrations.anthropic_memory import MemoryTool

    model_server.play(
        anthropic_calls(
            ("toolu_1", "memory", {"command": "create", "path": "/memories/tea.md", "file_text": "Oolong."}),
            ("toolu_2", "memory", {"command": "create", "path": "/memories/a\\b.md", "file_text": "x"}),
            ("toolu_3", "memory", {"command": "create", "path": "/memories/tea.md/a.md", "file_text": "x"}),
        ),
        anthropic_says("Done."),
    )
    url = model_server.url.removesuffix("/v1")
    async with AsyncAnthropic(base_url=url, api_key="-", max_retries=0) as client:
        runner = client.beta.messages.tool_runner(
            model="m",
            max_tokens=100,
            messages=[{"role": "user", "content": "I like oolong."}],
            tools=[MemoryTool(memory)],
        )
        last = await runner.until_done()
    created, malformed, below_a_file = anthropic_results(model_server.requests[-1])

    assert last.stop_reason == "end_turn"
    assert created == "File created successfully at: /memories/tea.md"
    assert malformed.startswith("INVALID_PATH: ")
    assert below_a_file == "The path /memories/tea.md is not a directory."
    assert (await memory.read("user/memories/tea.md")).content == "Oolong."
    assert "Oolong." in (await memory.context("oolong")).context
    assert model_server.requests[0].body["tools"] == [{"type": "memory_20250818", "name": "memory"}]


async def test_uses_of_other_tools_are_left_to_the_host(
    model_server: ModelServer, memory: UserMemory
) -> None:
    """Ours are answered in their order, errors marked as such."""
    from anthropic import AsyncAnthropic

    from memex.integrations.anthropic import run_tool_use, tools

    model_server.play(
        anthropic_calls(
            ("toolu_1", "memory_remember", {"text": "I prefer oolong tea."}),
            ("toolu_2", "get_weather", {"city": "Oslo"}),
            ("toolu_3", "memory_context", {"query": "tea", "budget": 1}),
        )
    )
    url = model_server.url.removesuffix("/v1")
    async with AsyncAnthropic(base_url=url, api_key="-", max_retries=0) as client:
        message = await client.messages.create(
            model="m", max_tokens=100, messages=[{"role": "user", "content": "Hi."}], tools=tools()
        )
    ran = await run_tool_use(message, memory)

    assert [(block["tool_use_id"], block.get("is_error", False)) for block in ran.blocks] == [
        ("toolu_1", False),
        ("toolu_3", True),
    ]
    assert [use.name for use in ran.others] == ["get_weather"]
    assert ran.outcomes["toolu_3"].error is not None


@pytest.mark.parametrize(
    "path", ["/memories/../../etc", "/memoriesx/a.md", "memories/a.md", "/memories/a/../../b"]
)
async def test_no_path_leaves_the_memory(memory: UserMemory, path: str) -> None:
    """Whatever a path is spelled as, nothing outside of /memories is read or written."""
    from anthropic.lib.tools import ToolError

    from memex.integrations.anthropic_memory import MemoryTool

    for command in ({"command": "view"}, {"command": "create", "file_text": "x"}, {"command": "delete"}):
        with pytest.raises(ToolError):
            await MemoryTool(memory).call({**command, "path": path})

    assert (await memory.list()).files == []
