"""What the models read, by name: Markdown files with the tool's description and the planner's instructions.

A file has front matter with `version` and `purpose`, and under `# Tool` the description for the model that
calls the tool, with its `## Arguments`, a list item on one line each; under `# Instructions` the system prompt
of Memex's own model.
"""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from types import MappingProxyType

from memex.errors import ValidationFailed
from memex.store import markdown
from memex.store.markdown import Document

_SECTIONS = ((1, "Tool"), (2, "Arguments"), (1, "Instructions"))
_ARGUMENT = re.compile(r"- `(?P<name>[a-z_]+)`: (?P<description>\S.*)")
_VERSION = re.compile(r"[1-9][0-9]{0,8}")
_FORM = (
    "A prompt is a Markdown file: front matter with version and purpose; `# Tool`; below it `## Arguments`, with "
    "a line for each, such as - `query`: what you need to know; and `# Instructions`."
)


@dataclass(frozen=True, slots=True)
class Prompt:
    """A prompt: `tool` and `arguments` are for the calling model, `instructions` for our own.

    `text` is the whole file, and `sha256` that of its bytes: what the log knows the prompt by.
    """

    name: str
    version: int
    purpose: str
    tool: str
    arguments: Mapping[str, str]
    instructions: str
    text: str
    sha256: bytes


@cache
def load(name: str, directory: Path | None = None) -> Prompt:
    """Return the prompt of that name, read once a process.

    Args:
        name: such as `context`.
        directory: where a file `{name}.md` goes before the one that Memex brings along.

    Raises:
        ValidationFailed: the file cannot be read, or has not the form of a prompt.
    """
    own = directory / f"{name}.md" if directory else None
    if own is None or not own.exists():
        content = (files("memex.prompts") / f"{name}.md").read_bytes()
        return _parse(name, content, where=f"prompts/{name}.md")
    try:
        content = own.read_bytes()
    except OSError as error:
        raise _malformed(str(own), f"it cannot be read, {error.strerror}") from error
    return _parse(name, content, where=str(own))


def _parse(name: str, content: bytes, *, where: str) -> Prompt:
    try:
        text = content.decode()
    except UnicodeDecodeError as error:
        raise _malformed(where, f"it is not UTF-8 at byte {error.start}") from None
    document = markdown.parse(text)
    tool, arguments, instructions = _sections(document, text, where)
    return Prompt(
        name=name,
        version=_version(document, where),
        purpose=_field(document, "purpose", where),
        tool=tool,
        arguments=_arguments(arguments, where),
        instructions=instructions,
        text=text,
        sha256=hashlib.sha256(content).digest(),
    )


def _sections(document: Document, text: str, where: str) -> list[str]:
    """Return the texts of the sections, which stand in their order; the last one goes to the end of the file."""
    headings = []
    start = 0
    for section in _SECTIONS:
        heading = next(
            (h for h in document.headings if (h.level, h.title) == section and h.start >= start), None
        )
        if heading is None:
            raise _malformed(where, f"it has no heading {section[1]} in its place")
        headings.append(heading)
        start = heading.end
    ends = [*(heading.start for heading in headings[1:]), len(text)]
    texts = [text[heading.end : end].strip() for heading, end in zip(headings, ends, strict=True)]
    for (_, title), content in zip(_SECTIONS, texts, strict=True):
        if not content:
            raise _malformed(where, f"nothing stands under its heading {title}")
    return texts


def _field(document: Document, name: str, where: str) -> str:
    value = document.front_matter.get(name)
    if not value or not isinstance(value, str):
        raise _malformed(where, f"its front matter has no {name}")
    return value


def _version(document: Document, where: str) -> int:
    version = _field(document, "version", where)
    if not _VERSION.fullmatch(version):
        raise _malformed(where, "its version is no whole number from 1")
    return int(version)


def _arguments(section: str, where: str) -> Mapping[str, str]:
    arguments: dict[str, str] = {}
    for line in section.splitlines():
        item = _ARGUMENT.fullmatch(line)
        if item is None or item["name"] in arguments:
            raise _malformed(where, f"this is not the one line of an argument: {line[:80]!r}")
        arguments[item["name"]] = item["description"]
    return MappingProxyType(arguments)


def _malformed(where: str, problem: str) -> ValidationFailed:
    return ValidationFailed(f"The prompt {where} cannot be used: {problem}.", hint=_FORM)
