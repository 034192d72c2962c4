"""Files as MCP resources, and the prompt block as a prompt."""

import io
import zipfile
from typing import Any
from urllib.parse import quote

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp.types import TextContent, TextResourceContents
from tests.http.conftest import KeyOf
from tests.kit.http_service import Served
from tests.mcp.conftest import Connect

from mcp import MCPError
from memex.mcp.resources import path_of, uri_of


@given(st.text(st.characters(codec="utf-8"), max_size=40))
def test_an_address_leads_back_to_its_path(path: str) -> None:
    """Whatever stands in a path: spaces, percent signs, question marks, other scripts."""
    assert path_of(uri_of(path)) == path


async def test_files_of_all_mounts_are_read_as_resources(connect: Connect) -> None:
    """By addresses that are percent-encoded; what lists them says what they are."""
    paths = {
        "shared/guide.md": "# Guide\n",
        "user/café 100%?#.md": "# Café\n",
        "projects/apollo/plan.md": "# Plan\n",
    }
    async with connect("admin", user="alice") as admin:
        assert (await admin.list_tools()).tools
        refused = await admin.call_tool("memory_write", {"path": "projects/apollo/plan.md", "content": "x"})
        assert refused.is_error  # there is no project yet
        del paths["projects/apollo/plan.md"]
        for path, content in paths.items():
            await admin.call_tool("memory_write", {"path": path, "content": content})
    async with connect(bound_to="alice") as client:
        listed = (await client.list_resources()).resources
        templates = (await client.list_resource_templates()).resource_templates
        read = [(await client.read_resource(resource.uri)).contents for resource in listed]

    assert {resource.name: resource.uri for resource in listed} == {
        "shared/guide.md": "memex://shared/guide.md",
        "user/café 100%?#.md": "memex://user/caf%C3%A9%20100%25%3F%23.md",
    }
    assert {(one.mime_type, one.title) for one in listed} == {
        ("text/markdown", "Guide"),
        ("text/markdown", "Café"),
    }
    assert [template.uri_template for template in templates] == [
        "memex://user/{+path}",
        "memex://shared/{+path}",
        "memex://projects/{slug}/{+path}",
    ]
    for resource, [content] in zip(listed, read, strict=True):
        assert isinstance(content, TextResourceContents)
        assert content.text == paths[resource.name]


async def test_many_resources_come_in_pages(connect: Connect, served: Served, key_of: KeyOf) -> None:
    """The cursor of one page leads to the next, and one that is none of ours is refused."""
    names = [f"note-{n:03}.md" for n in range(205)]
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name in names:
            archive.writestr(name, f"# {name}\n")
    key = key_of(bound_to="alice")
    imported = httpx2.post(
        f"{served.url}/v1/import",
        content=packed.getvalue(),
        headers={"Authorization": f"Bearer {key}"},
        timeout=60,
    )
    assert imported.is_success, imported.text

    async with connect(key=key) as client:
        first = await client.list_resources()
        second = await client.list_resources(cursor=first.next_cursor)
        with pytest.raises(MCPError) as refused:
            await client.list_resources(cursor="none")

    assert (len(first.resources), second.next_cursor) == (200, None)
    assert [resource.name for resource in first.resources + second.resources] == [
        f"user/{name}" for name in names
    ]
    assert refused.value.data["code"] == "VALIDATION_ERROR"


async def test_an_address_without_a_file_is_refused(connect: Connect) -> None:
    """As an error of the protocol, with the code that a tool would answer."""
    for uri, code in (
        ("memex://user/none.md", "FILE_NOT_FOUND"),
        ("memex://user/..%2F..%2Fsecret.md", "INVALID_PATH"),
        ("memex://users/bob/secret.md", "PHYSICAL_PATH_FORBIDDEN"),
        ("memex://projects/bobs/plan.md", "PROJECT_NOT_FOUND"),
        ("memex://user/%ff.md", "INVALID_PATH"),
        ("memex://user/a.md?user=bob", "INVALID_PATH"),
        ("file:///etc/passwd", "INVALID_PATH"),
        ("memex://", "INVALID_PATH"),
        (f"memex://user/{quote('%2e%2e')}/a.md", "FILE_NOT_FOUND"),  # decoded once
    ):
        async with connect(bound_to="alice") as client:
            with pytest.raises(MCPError) as refused:
                await client.read_resource(uri)

        assert refused.value.data["code"] == code
        assert refused.value.data["hint"]


async def test_a_missing_file_has_the_older_protocols_code(connect: Connect) -> None:
    """Until 2025-11-25 a resource that is not there had a code of its own."""
    codes = []
    for mode in ("legacy", "auto"):
        async with connect(bound_to="alice", mode=mode) as client:
            with pytest.raises(MCPError) as refused:
                await client.read_resource("memex://user/none.md")
            codes.append(refused.value.code)

    assert codes == [-32002, -32602]


async def test_the_prompt_is_the_prompt_block(connect: Connect) -> None:
    """How to use the memory, and what there is; of a project when it is named."""
    async with connect(bound_to="alice") as client:
        await client.call_tool("memory_remember", {"text": "I prefer oolong tea."})
        listed = (await client.list_prompts()).prompts
        told = await client.get_prompt("memory")
        refused: list[Any] = []
        for name, arguments in (("memory", {"project": "bobs"}), ("memory", {"user": "bob"}), ("none", {})):
            with pytest.raises(MCPError) as error:
                await client.get_prompt(name, arguments)
            refused.append(error.value.data and error.value.data["code"])

    [message] = told.messages
    assert isinstance(message.content, TextContent)
    assert [prompt.name for prompt in listed] == ["memory"]
    assert message.content.text.startswith("You have a long-term memory.")
    assert "- user/preferences.md" in message.content.text
    assert refused == ["PROJECT_NOT_FOUND", "VALIDATION_ERROR", None]
