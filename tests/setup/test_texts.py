"""Other people's configuration is changed in one place and left as it is in every other."""

import json
import tomllib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memex.errors import ValidationFailed
from memex.setup import guidance, jsontext, tomltext

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
SERVER = {"command": "memex", "args": ["mcp"]}

COMMENTED = """{
    // What this project uses, "quoted" and {braced}.
    "servers": {
        "git": {"command": "uvx", "args": ["mcp-server-git"]}, // the version control
        /* "old": {}, */
    },
}
"""


@given(VALUES, st.sampled_from([None, 1, 2, 4, "\t"]), st.sampled_from(["\n", "\r\n"]))
def test_a_server_is_put_into_any_json(servers: Any, indent: Any, newline: str) -> None:
    """Whatever else the text holds says the same afterwards; what was there before keeps its bytes and order."""
    document = {"a": servers, "mcpServers": {"other": servers}, "z": servers}
    text = json.dumps(document, indent=indent, ensure_ascii=False).replace("\n", newline)

    changed = jsontext.put(text, ["mcpServers", "memex"], SERVER)

    expected = {**document, "mcpServers": {"other": servers, "memex": SERVER}}
    assert json.loads(changed) == expected
    assert list(json.loads(changed)) == list(expected)
    assert jsontext.put(changed, ["mcpServers", "memex"], SERVER) == changed


def test_comments_and_trailing_commas_stay() -> None:
    """Every line that was there is there afterwards."""
    changed = jsontext.put(COMMENTED, ["servers", "memex"], SERVER)

    assert jsontext.parse(changed)["servers"] == {
        "git": {"command": "uvx", "args": ["mcp-server-git"]},
        "memex": SERVER,
    }
    added = [line for line in changed.splitlines() if line not in COMMENTED.splitlines()]
    assert len(changed.splitlines()) == len(COMMENTED.splitlines()) + len(added)
    assert added[0] == '        "memex": {'


def test_a_comma_is_put_before_a_comment() -> None:
    """A comment behind the last entry stays behind it."""
    changed = jsontext.put('{\n  "a": 1 // one\n}', ["b"], 2)

    assert changed == '{\n  "a": 1, // one\n  "b": 2\n}'


def test_a_list_takes_one_more() -> None:
    """What is asked of the user stands in a list, which is made where there is none."""
    assert jsontext.append('{"inputs": [1]}', "inputs", 2) == '{"inputs": [1,\n    2\n  ]}'
    assert jsontext.parse(jsontext.append("{}", "inputs", 2)) == {"inputs": [2]}


@pytest.mark.parametrize("text", ["", "{", '{"a": }', '{"servers": 1}', "[]", "1"])
def test_broken_json_is_refused(text: str) -> None:
    """What cannot be read is not written."""
    with pytest.raises(ValidationFailed):
        jsontext.put(text, ["servers", "memex"], SERVER)


def test_a_table_is_added_to_toml_and_replaced_there() -> None:
    """Comments, order and other tables stay; a second time changes only the table."""
    text = '# mine\nmodel = "m"\n\n[mcp_servers.git]\ncommand = "uvx" # here\n\n# of the next\n[tui]\ntheme = "x"'
    first = tomltext.put_table(text, "mcp_servers", "memex", SERVER)
    again = tomltext.put_table(
        first + "\n# end\n[last]\n", "mcp_servers", "memex", {"url": 'http://x/"\\\x7f'}
    )

    assert first.startswith(text)
    assert tomllib.loads(first)["mcp_servers"]["memex"] == SERVER
    assert again.startswith(text)
    assert again.endswith("\n# end\n[last]\n")
    assert tomllib.loads(again)["mcp_servers"]["memex"] == {"url": 'http://x/"\\\x7f'}


@pytest.mark.parametrize(
    "text", ["[", 'mcp_servers = { memex = { command = "x" } }', "[mcp_servers]\nmemex = {}"]
)
def test_toml_in_another_form_is_refused(text: str) -> None:
    """A table that does not stand in lines of its own is left to its owner."""
    with pytest.raises(ValidationFailed):
        tomltext.put_table(text, "mcp_servers", "memex", SERVER)


@pytest.mark.parametrize("before", ["", "# Ours\n", "# Ours"])
def test_the_text_for_agents_stands_once(before: str) -> None:
    """Placed again it takes its own place, whatever was written around it."""
    placed = guidance.place_guidance(before)

    assert placed.startswith(before)
    assert guidance.place_guidance(placed + "\nAfter.\n") == placed + "\nAfter.\n"
    assert "memory_context" in guidance.text()
    assert "memory_remember" in guidance.text()
