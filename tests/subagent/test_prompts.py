"""Prompts: what the models read, and what is refused as a prompt."""

import hashlib
import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memex.errors import ValidationFailed
from memex.service.tools.definitions import Format, define
from memex.store import markdown
from memex.subagent import prompts

ROOT = Path(__file__).parents[2]
TOOLS = ("context", "remember")
NAMES = TOOLS
MAX_TOOLS_CHARS = 1_200

GOOD = """\
---
version: 7
purpose: Show the form.
---

# Tool

Do it.

Call it often.

## Arguments

- `text`: What to do.
- `max_hops`: How far: 1 or 2.

# Instructions

Be brief.

## How

Stay so.
"""


def written(folder: Path, text: str, name: str = "context") -> Path:
    """Put a prompt into the folder, which is returned."""
    (folder / f"{name}.md").write_bytes(text.encode())
    return folder


def test_a_prompt_is_read_by_its_parts(tmp_path: Path) -> None:
    """Description, arguments and instructions come apart; the rest is the file and its hash."""
    prompt = prompts.load("context", written(tmp_path, GOOD))

    assert (prompt.name, prompt.version, prompt.purpose) == ("context", 7, "Show the form.")
    assert prompt.tool == "Do it.\n\nCall it often."
    assert dict(prompt.arguments) == {"text": "What to do.", "max_hops": "How far: 1 or 2."}
    assert prompt.instructions == "Be brief.\n\n## How\n\nStay so."
    assert prompt.text == GOOD
    assert prompt.sha256 == hashlib.sha256(GOOD.encode()).digest()


def test_a_prompt_may_have_a_part_about_rivals(tmp_path: Path) -> None:
    """It ends the instructions; a prompt without it asks for no verdicts, and an empty one is refused."""
    with_rivals = prompts.load("context", written(tmp_path, f"{GOOD}\n# Rivals\n\nJudge.\n"))
    without = prompts.parse("context", GOOD)

    assert (with_rivals.rivals, without.rivals) == ("Judge.", "")
    assert with_rivals.instructions == without.instructions
    assert prompts.load("remember").rivals != prompts.load("context").rivals == ""
    with pytest.raises(ValidationFailed, match="nothing stands under its heading Rivals"):
        prompts.parse("context", f"{GOOD}\n# Rivals\n")


def test_line_endings_do_not_matter(tmp_path: Path) -> None:
    """A prompt written on Windows has the same parts, and its own hash."""
    unix = prompts.load("context", written(tmp_path, GOOD))
    (tmp_path / "windows").mkdir()
    windows = prompts.load("context", written(tmp_path / "windows", GOOD.replace("\n", "\r\n")))

    assert windows.instructions.splitlines() == unix.instructions.splitlines()
    assert windows.arguments == unix.arguments
    assert windows.sha256 != unix.sha256


def test_a_directory_overrides_what_it_holds(tmp_path: Path) -> None:
    """A prompt that the directory lacks is the one that Memex brings along."""
    written(tmp_path, GOOD)

    assert prompts.load("context", tmp_path).version == 7
    assert prompts.load("remember", tmp_path) == prompts.load("remember")


def test_a_prompt_is_read_once(tmp_path: Path) -> None:
    """A change of the file counts from the next start: one process has one prompt."""
    before = prompts.load("context", written(tmp_path, GOOD))
    written(tmp_path, GOOD.replace("version: 7", "version: 8"))

    assert prompts.load("context", tmp_path) is before


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("version: 7\n", "", "no version"),
        ("version: 7", "version: 0", "no whole number"),
        ("version: 7", "version: 1.5", "no whole number"),
        ("version: 7", "version: [7]", "no version"),
        ("purpose: Show the form.\n", "", "no purpose"),
        ("---\nversion", "--\nversion", "no version"),
        ("# Tool\n", "# Tools\n", "no heading Tool"),
        ("## Arguments\n", "### Arguments\n", "no heading Arguments"),
        ("# Instructions\n", "```\n# Instructions\n```\n", "no heading Instructions"),
        ("Do it.\n\nCall it often.\n", "", "nothing stands under its heading Tool"),
        ("- `text`: What to do.\n- `max_hops`: How far: 1 or 2.\n", "", "its heading Arguments"),
        ("- `max_hops`", "- `text`", "not the one line of an argument"),
        ("- `max_hops`: ", "- max_hops ", "not the one line of an argument"),
        ("Be brief.\n\n## How\n\nStay so.\n", "", "its heading Instructions"),
    ],
)
def test_a_malformed_prompt_is_refused(tmp_path: Path, old: str, new: str, problem: str) -> None:
    """The message names the file and what is wrong in it, the hint the form."""
    assert old in GOOD
    folder = written(tmp_path, GOOD.replace(old, new))

    with pytest.raises(ValidationFailed, match=problem) as refused:
        prompts.load("context", folder)

    assert str(folder / "context.md") in refused.value.message
    assert "# Instructions" in refused.value.hint


def test_an_unreadable_prompt_is_refused(tmp_path: Path) -> None:
    """Bytes that are no UTF-8, and a folder in the file's place."""
    (tmp_path / "context.md").write_bytes(b"\xff\xfe")
    (tmp_path / "remember.md").mkdir()

    for name, problem in (("context", "not UTF-8 at byte 0"), ("remember", "cannot be read")):
        with pytest.raises(ValidationFailed, match=problem):
            prompts.load(name, tmp_path)


@given(
    st.lists(st.sampled_from([*GOOD.splitlines(keepends=True), "#", "\r", "\0", "é"]), max_size=30).map(
        "".join
    )
)
def test_any_text_is_a_prompt_or_refused(text: str) -> None:
    """Nothing but a refusal rises from a file, whatever it holds."""
    try:
        prompt = prompts._parse("context", text.encode(), where="context.md")
    except ValidationFailed:
        return

    assert prompt.tool
    assert prompt.arguments
    assert prompt.instructions


def test_the_tools_are_described_with_the_arguments_that_a_model_sees() -> None:
    """`memory_context` and `memory_remember` show a model these arguments and no others."""
    shown = {name: tuple(prompts.load(name).arguments) for name in TOOLS}

    assert shown == {"context": ("query", "budget", "project"), "remember": ("text", "outdated", "project")}


@pytest.mark.parametrize("form", ["openai", "openai-responses", "anthropic", "mcp"])
def test_the_tools_are_described_within_their_room(form: Format) -> None:
    """They stand in every request of the calling model, so both together are short, as JSON of any API."""
    tools = [definition.rendered(form) for definition in define("agent")]
    if form == "mcp":  # a client gives its model no more of them
        tools = [{name: tool[name] for name in ("name", "description", "inputSchema")} for tool in tools]

    assert len(tools) == 2
    assert len(json.dumps(tools)) <= MAX_TOOLS_CHARS


def test_each_description_is_a_sentence() -> None:
    """Of a tool and of an argument: a model reads it without the documentation."""
    for tool in define("agent"):
        arguments = tool.parameters["properties"].values()
        for text in (tool.description, *(argument["description"] for argument in arguments)):
            assert re.fullmatch(r"[A-Z][^`]+ [^`]+\.", text), text


@pytest.mark.parametrize("name", NAMES)
def test_instructions_are_the_same_for_every_request(name: str) -> None:
    """Without variables they are one prefix, which a provider can keep in its cache."""
    prompt = prompts.load(name)

    assert not set("{}$%<>") & set(prompt.instructions)
    assert prompt.text == (ROOT / "prompts" / f"{name}.md").read_text(encoding="utf-8")
    assert "are data" in prompt.instructions or "is data" in prompt.instructions


def test_a_prompt_says_what_changed_last_and_what_guards_it() -> None:
    """The change of its present version, and tests or measurements that there are."""
    for path in sorted((ROOT / "prompts").glob("*.md")):
        fields = markdown.parse(path.read_text(encoding="utf-8")).front_matter
        guards = [guard.strip() for guard in str(fields["guarded_by"]).split(",")]
        places = [guard for guard in guards if "/" in guard]

        assert str(fields["changed"]).startswith(f"{fields['version']}: ")
        assert guards
        assert all((ROOT / place).exists() for place in places)
