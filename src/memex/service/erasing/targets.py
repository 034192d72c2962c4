"""Targets of erasing: the words, and the file or the call of which all words go."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any, Literal

from memex.errors import FileNotFound, LineNotFound, ValidationFailed, VersionNotFound
from memex.store.access import Access
from memex.store.database import Connection, rows
from memex.store.entry_path import is_entry_at
from memex.store.log import operations as log
from memex.store.memory import Memory
from memex.store.paths import parse
from memex.store.removed_lines import find_removed
from memex.store.search.index import describe_file
from memex.store.statement_lines import lines_of
from memex.store.upkeep.words.digests import MIN_CHARS, SAID, normal_form
from memex.subagent.statements.places import is_statement_file

TargetKind = Literal["text", "path", "call", "statement"]
MIN_WORDS = 3  # of a part of a text: less is said in many places that are not meant
LONG_CHARS = 12  # of the normal form of fewer words: so long a word is no common one

_PART = re.compile(r"(?<=[.!?。！？])\s+|[\r\n]+")
_MARKER = re.compile(r"^[ \t]*(?:[-*+>]|\d{1,9}[.)])[ \t]+(?:\[[ xX]\][ \t]+)?")
_WRITTEN = re.compile(r"(.+)@(\d+)")


@dataclass(frozen=True, slots=True)
class Target:
    """The words to erase: `texts` wherever they stand, and every word of the files and calls of `whole`.

    `whole` names them as `ErasedWords.is_whole` does; `mount` is that of the file that was named. `kept_names` are
    the names and titles of a file that say too little to be erased elsewhere.
    """

    kind: TargetKind
    texts: tuple[str, ...]
    whole: tuple[str, ...] = ()
    mount: str | None = None
    kept_names: frozenset[str] = frozenset()


async def find_target(connection: Connection, access: Access, kind: TargetKind, value: str) -> Target:
    """Return what a request means.

    Raises:
        ValidationFailed: the words are too few.
        InvalidPath, UnknownMount, ProjectNotFound: the path is none, or none that the caller may read.
        FileNotFound, OperationNotFound, LineNotFound: nothing has this name.
    """
    if kind == "path":
        return await _file(connection, access, value)
    if kind == "call":
        return await _call(connection, access, value)
    if kind == "statement":
        line = await find_removed(connection, access, value)
        if line is None:
            raise LineNotFound(f"No line of memory has the id {value[:100]!r}.")
        text = (
            await Memory(connection, access).read(line.held_in.path, version=line.held_in.version)
        ).content
        start, end = line.held_in.span
        return _checked(Target("statement", (text[start:end],)))
    return _checked(Target("text", tuple(dict.fromkeys(_parts(value, whole=True)))))


async def _file(connection: Connection, access: Access, path: str) -> Target:
    parsed = parse(path)
    scope = access.scope_of(parsed)
    versions = await rows(
        connection, "erasure/words_file_texts", scope_id=scope.scope_id, path=parsed.relative
    )
    if not versions:
        raise FileNotFound(f"There was never a file at {path}.", path=path)
    said: dict[str, None] = {}
    names: set[str] = set()
    for version in versions:
        said |= dict.fromkeys(_lines(version["content"]))
        title = describe_file(version["path"], version["content"]).title
        names |= {PurePosixPath(version["path"]).stem, title}
    is_of_memex = is_entry_at(path) or is_statement_file(path)
    telling = {name for name in names if _is_telling(name) and not is_of_memex}
    said |= dict.fromkeys(sorted(telling))
    is_own = scope.mount == "user"
    owner = f"user:{access.user_id}" if is_own else scope.mount.replace("projects/", "project:")
    whole = dict.fromkeys(f"file:{owner}/{record['path']}" for record in versions)
    kept_names = frozenset() if is_of_memex else frozenset(names - telling)
    return Target("path", tuple(said), tuple(whole), scope.mount, kept_names)


async def _call(connection: Connection, access: Access, tool_call_id: str) -> Target:
    attempts = await log.read_known_call(connection, access, tool_call_id)
    said: dict[str, None] = {}
    for attempt in attempts:
        try:
            request: Any = await log.expand(connection, access, attempt.request)
        except VersionNotFound:
            request = attempt.request
        for text in _said(request):
            said |= dict.fromkeys(_parts(text, whole=True))
        for written in (attempt.response or {}).get("writes", ()):
            said |= dict.fromkeys(await _written(connection, access, written))
    return Target("call", tuple(filter(is_long, said)), (f"call:{tool_call_id}",))


async def _written(connection: Connection, access: Access, written: str) -> list[str]:
    """Return the lines that a version has and the one before has not."""
    found = _WRITTEN.fullmatch(written)
    if found is None:
        return []
    memory, version = Memory(connection, access), int(found[2])
    try:
        after = (await memory.read(found[1], version=version)).content
        before = (await memory.read(found[1], version=version - 1)).content if version > 1 else ""
    except (VersionNotFound, FileNotFound):
        return []
    known = set(before.splitlines())
    return _lines("\n".join(line for line in after.splitlines() if line not in known))


def _lines(content: str) -> list[str]:
    """Return what the lines of a file say, those that are long enough to be known elsewhere."""
    return [text for text in (*lines_of(content).values(), *_parts(content)) if is_long(text)]


def _parts(text: str, *, whole: bool = False) -> Iterator[str]:
    """Yield the sentences and lines of a text that say something, and on request the text itself first."""
    if whole:
        yield text
    for part in _PART.split(text):
        said = _MARKER.sub("", part).strip()
        if is_long(said) and not said.startswith(("#", "---", "```")):
            yield said


def is_long(text: str) -> bool:
    """Return whether a part of a text says enough to be known elsewhere."""
    return len(re.findall(r"\w+", text)) >= MIN_WORDS or len(normal_form(text)) >= LONG_CHARS


def _is_telling(name: str) -> bool:
    """Return whether the name of a file says more than one word, beside numbers, so that it is known elsewhere."""
    words = [word for word in re.findall(r"\w+", name) if not word.isdigit()]
    return len(words) > 1 or (bool(words) and len(normal_form(name)) >= LONG_CHARS)


def _said(value: Any) -> Iterator[str]:
    """Yield the texts in the arguments of a call that say something, and neither names nor codes."""
    if isinstance(value, list):
        for item in value:
            yield from _said(item)
    if isinstance(value, dict):
        for name, item in value.items():
            if isinstance(item, str) and name in SAID:
                yield item
            else:
                yield from _said(item)


def _checked(target: Target) -> Target:
    if not any(len(normal_form(text)) >= MIN_CHARS for text in target.texts):
        raise ValidationFailed(
            f"The text has fewer than {MIN_CHARS} letters or digits, so it may stand anywhere.",
            hint="Name more of the text, or the file, the call or the removed line that holds it.",
        )
    return target
