"""The prompts of the models, by name: Markdown files, each with front matter: a `version` and a `purpose`.

The prompt of a tool has under `# Tool` the description for the model that calls the tool, with its `## Arguments`,
a list item on one line each; under `# Instructions` the system prompt of Memex's own model. The prompt that reads a
text may have `# Rivals` behind them: what is added where the text probably contradicts stored statements. Any other
prompt is one text: all that stands below the front matter.
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
from memex.store.markdown import MarkdownDocument

_SECTIONS = ((1, "Tool"), (2, "Arguments"), (1, "Instructions"))
_RIVALS = (1, "Rivals")  # may be missing
_ARGUMENT = re.compile(r"- `(?P<name>[a-z_]+)`: (?P<description>\S.*)")
_VERSION = re.compile(r"[1-9][0-9]{0,8}")
_FORM = (
    "A prompt is a Markdown file: front matter with version and purpose; `# Tool`; below it `## Arguments`, with "
    "a line for each, such as - `query`: what you need to know; and `# Instructions`."
)
_TEXT_FORM = "It is a Markdown file: front matter with version and purpose, and the text below it."


@dataclass(frozen=True, slots=True)
class Prompt:
    """A prompt: `tool` and `arguments` are for the calling model, `instructions` for our own.

    `rivals` is for our own too, where a text may contradict what is stored; "" if the prompt asks for no verdicts.
    `text` is the whole file, and `sha256` that of its bytes: what the log knows the prompt by.
    """

    name: str
    version: int
    purpose: str
    tool: str
    arguments: Mapping[str, str]
    instructions: str
    rivals: str
    text: str
    sha256: bytes


@dataclass(frozen=True, slots=True)
class TextPrompt:
    """A prompt that is one text, `body`; `text` and `sha256` as of a `Prompt`."""

    name: str
    version: int
    purpose: str
    body: str
    text: str
    sha256: bytes


@cache
def load(name: str, directory: Path | None = None) -> Prompt:
    """Return the prompt of a tool, read once a process.

    Args:
        name: such as `context`.
        directory: where a file `{name}.md` goes before the one that Memex brings along.

    Raises:
        ValidationFailed: the file cannot be read, or has not the form of such a prompt.
    """
    content, where = _read(name, directory, _FORM)
    return _parse(name, content, where=where)


@cache
def load_text(name: str, directory: Path | None = None) -> TextPrompt:
    """Return a prompt that is one text, such as `block`; as `load`."""
    content, where = _read(name, directory, _TEXT_FORM)
    text = _decoded(content, where, _TEXT_FORM)
    document = markdown.parse(text)
    body = text[document.body_start :].strip()
    if not body:
        raise _malformed(where, "nothing stands below its front matter", _TEXT_FORM)
    return TextPrompt(
        name=name,
        version=_version(document, where, _TEXT_FORM),
        purpose=_field(document, "purpose", where, _TEXT_FORM),
        body=body,
        text=text,
        sha256=hashlib.sha256(content).digest(),
    )


def parse(name: str, text: str) -> Prompt:
    """Return the prompt of a tool from its text, such as the log keeps it; raises as `load`."""
    return _parse(name, text.encode(), where=f"{name}.md")


def _read(name: str, directory: Path | None, form: str) -> tuple[bytes, str]:
    """Return the bytes of a prompt's file, and where that is."""
    own = directory / f"{name}.md" if directory else None
    if own is None or not own.exists():
        return (files("memex.prompts") / f"{name}.md").read_bytes(), f"prompts/{name}.md"
    try:
        return own.read_bytes(), str(own)
    except OSError as error:
        raise _malformed(str(own), f"it cannot be read, {error.strerror}", form) from error


def _parse(name: str, content: bytes, *, where: str) -> Prompt:
    text = _decoded(content, where, _FORM)
    document = markdown.parse(text)
    tool, arguments, instructions, rivals = _sections(document, text, where)
    return Prompt(
        name=name,
        version=_version(document, where),
        purpose=_field(document, "purpose", where),
        tool=tool,
        arguments=_arguments(arguments, where),
        instructions=instructions,
        rivals=rivals,
        text=text,
        sha256=hashlib.sha256(content).digest(),
    )


def _decoded(content: bytes, where: str, form: str) -> str:
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise _malformed(where, f"it is not UTF-8 at byte {error.start}", form) from None


def _sections(document: MarkdownDocument, text: str, where: str) -> list[str]:
    """Return the texts of the sections, which stand in their order; "" for one that may be missing, and is."""
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
    headings += [h for h in document.headings if (h.level, h.title) == _RIVALS and h.start >= start][:1]
    ends = [*(heading.start for heading in headings[1:]), len(text)]
    texts = [text[heading.end : end].strip() for heading, end in zip(headings, ends, strict=True)]
    for heading, content in zip(headings, texts, strict=True):
        if not content:
            raise _malformed(where, f"nothing stands under its heading {heading.title}")
    return [*texts, ""][: len(_SECTIONS) + 1]


def _field(document: MarkdownDocument, name: str, where: str, form: str = _FORM) -> str:
    value = document.front_matter.get(name)
    if not value or not isinstance(value, str):
        raise _malformed(where, f"its front matter has no {name}", form)
    return value


def _version(document: MarkdownDocument, where: str, form: str = _FORM) -> int:
    version = _field(document, "version", where, form)
    if not _VERSION.fullmatch(version):
        raise _malformed(where, "its version is no whole number from 1", form)
    return int(version)


def _arguments(section: str, where: str) -> Mapping[str, str]:
    arguments: dict[str, str] = {}
    for line in section.splitlines():
        item = _ARGUMENT.fullmatch(line)
        if item is None or item["name"] in arguments:
            raise _malformed(where, f"this is not the one line of an argument: {line[:80]!r}")
        arguments[item["name"]] = item["description"]
    return MappingProxyType(arguments)


def _malformed(where: str, problem: str, form: str = _FORM) -> ValidationFailed:
    return ValidationFailed(f"The prompt {where} cannot be used: {problem}.", hint=form)
