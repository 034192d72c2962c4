"""Claude's memory tool (`memory_20250818`) over one user's memory: `/memories/x.md` is `user/memories/x.md`.

tool = MemoryTool(memex.for_user("alice"))
await client.beta.messages.tool_runner(model=…, max_tokens=…, messages=messages, tools=[tool]).until_done()

Answers and errors are, word for word, those of the file system tool that the library `anthropic` brings along. Any
file name is kept as it is, and every file is read as Markdown by the rest of Memex. A folder is there while it
holds a file. Sizes are in characters; a folder's is the sum of its files.
"""

from collections.abc import Sequence
from pathlib import PurePosixPath

from memex.api.memex import UserMemory
from memex.errors import FileExists, FileNotFound, MemexError
from memex.integrations.extras import required_extra

with required_extra("anthropic"):
    from anthropic.lib.tools import BetaAsyncAbstractMemoryTool, ToolError
    from anthropic.types.beta import (
        BetaMemoryTool20250818Command,
        BetaMemoryTool20250818CreateCommand,
        BetaMemoryTool20250818DeleteCommand,
        BetaMemoryTool20250818InsertCommand,
        BetaMemoryTool20250818RenameCommand,
        BetaMemoryTool20250818StrReplaceCommand,
        BetaMemoryTool20250818ViewCommand,
    )

ROOT = "/memories"
FOLDER = "user/memories"
MAX_LINES = 999_999
SHOWN_DEPTH = 2
PAGE = 1_000
NOT_THERE = "The path {} does not exist. Please provide a valid path."
REASON = "memory tool of Claude"


class MemoryTool(BetaAsyncAbstractMemoryTool):
    """The tool `memory` for `client.beta.messages`; whose memory it is was said when it was made."""

    def __init__(self, memory: UserMemory) -> None:
        super().__init__()
        self._memory = memory

    async def execute(self, command: BetaMemoryTool20250818Command) -> str:
        """Run a command; an error of Memex becomes the tool's, with its code and hint."""
        try:
            return str(await super().execute(command))
        except MemexError as error:
            raise ToolError(f"{error.code}: {error.message} {error.hint}") from error

    async def view(self, command: BetaMemoryTool20250818ViewCommand) -> str:
        """Return a file with line numbers, or what is in a folder, two levels deep."""
        path = _stored(command.path)
        try:
            content = await self._content(path)
        except FileNotFound:
            return await self._folder(command.path, path)
        lines = content.split("\n")
        if len(lines) > MAX_LINES:
            raise ToolError(f"File {command.path} exceeds maximum line limit of 999,999 lines.")
        first, last = 1, len(lines)
        if command.view_range and len(command.view_range) == 2:
            first = max(1, command.view_range[0])
            last = len(lines) if command.view_range[1] == -1 else command.view_range[1]
        shown = _numbered(lines[first - 1 : last], first)
        return f"Here's the content of {command.path} with line numbers:\n{shown}"

    async def create(self, command: BetaMemoryTool20250818CreateCommand) -> str:
        """Make a new file; one that is there stays as it is."""
        path = _stored(command.path)
        parents = [str(parent) for parent in PurePosixPath(path).parents if len(parent.parts) > 2]
        if path == FOLDER or await self._below(path):
            raise ToolError(f"File {command.path} already exists")
        for parent in parents:
            if await self._is_file(parent):
                raise ToolError(f"The path {_shown(parent)} is not a directory.")
        try:
            await self._memory.write(path, command.file_text, reason=REASON)
        except FileExists as error:
            raise ToolError(f"File {command.path} already exists") from error
        return f"File created successfully at: {command.path}"

    async def str_replace(self, command: BetaMemoryTool20250818StrReplaceCommand) -> str:
        """Replace a text that stands exactly once in a file."""
        path = _stored(command.path)
        content, version = await self._file(command.path, path)
        if not (count := content.count(command.old_str)):
            raise ToolError(
                f"No replacement was performed, old_str `{command.old_str}` "
                f"did not appear verbatim in {command.path}."
            )
        at = content.index(command.old_str)
        if count > 1:
            numbers = []
            while at != -1:
                numbers.append(str(content.count("\n", 0, at) + 1))
                at = content.find(command.old_str, at + 1)
            raise ToolError(
                f"No replacement was performed. Multiple occurrences of old_str `{command.old_str}` in lines: "
                f"{', '.join(numbers)}. Please ensure it is unique"
            )
        changed = content.replace(command.old_str, command.new_str or "")
        await self._memory.write(path, changed, base_version=version, reason=REASON)
        line = content.count("\n", 0, at)
        first = max(0, line - 2)
        snippet = _numbered(changed.split("\n")[first : line + 3], first + 1)
        header = (
            "The memory file has been edited. Here is the snippet showing the change (with line numbers):"
        )
        return f"{header}\n{snippet}"

    async def insert(self, command: BetaMemoryTool20250818InsertCommand) -> str:
        """Insert a text behind a line; 0 is the beginning."""
        path = _stored(command.path)
        content, version = await self._file(command.path, path)
        lines = content.removesuffix("\n").split("\n") if content else []
        if not 0 <= command.insert_line <= len(lines):
            raise ToolError(
                f"Invalid `insert_line` parameter: {command.insert_line}. "
                f"It should be within the range [0, {len(lines)}]."
            )
        lines.insert(command.insert_line, command.insert_text.rstrip("\n"))
        changed = "\n".join(lines)
        changed += "" if changed.endswith("\n") else "\n"
        await self._memory.write(path, changed, base_version=version, reason=REASON)
        return f"The file {command.path} has been edited."

    async def delete(self, command: BetaMemoryTool20250818DeleteCommand) -> str:
        """Delete a file, or a folder with all that is in it, file by file; earlier versions stay."""
        path = _stored(command.path)
        if path == FOLDER:
            raise ToolError(f"Cannot delete the {ROOT} directory itself")
        for file in await self._files_at(path, command.path):
            await self._memory.delete(file, reason=REASON)
        return f"Successfully deleted {command.path}"

    async def rename(self, command: BetaMemoryTool20250818RenameCommand) -> str:
        """Move a file, or a folder with all that is in it, file by file, to where nothing is."""
        old, new = _stored(command.old_path), _stored(command.new_path)
        if old == FOLDER:
            raise ToolError(f"Cannot rename the {ROOT} directory itself")
        if new == FOLDER or await self._is_file(new) or await self._below(new):
            raise ToolError(f"The destination {command.new_path} already exists")
        for file in await self._files_at(old, command.old_path):
            await self._memory.move(file, new + file.removeprefix(old), reason=REASON)
        return f"Successfully renamed {command.old_path} to {command.new_path}"

    async def _content(self, path: str) -> str:
        if path == FOLDER:
            raise FileNotFound(f"{path} is a folder.")
        return (await self._memory.read(path)).content

    async def _is_file(self, path: str) -> bool:
        listed = await self._memory.list(path, limit=1)
        return any(file.path == path for file in listed.files)

    async def _file(self, shown: str, path: str) -> tuple[str, int]:
        if path == FOLDER or await self._below(path):
            raise ToolError(f"The path {shown} is not a file.")
        try:
            read = await self._memory.read(path)
        except FileNotFound as error:
            raise ToolError(NOT_THERE.format(shown)) from error
        return read.content, read.version

    async def _files_at(self, path: str, shown: str) -> Sequence[str]:
        """Return the file at a path, or the files of the folder there."""
        files = [path] if await self._is_file(path) else [file for file, _ in await self._below(path)]
        if not files:
            raise ToolError(f"The path {shown} does not exist")
        return files

    async def _below(self, path: str) -> list[tuple[str, int]]:
        """Return the files of a folder with their sizes, by path."""
        found, cursor = [], None
        while True:
            listed = await self._memory.list(f"{path}/", limit=PAGE, cursor=cursor)
            found += [(file.path, file.size_chars) for file in listed.files]
            if (cursor := listed.next_cursor) is None:
                return found

    async def _folder(self, shown: str, path: str) -> str:
        files = await self._below(path)
        if not files and path != FOLDER:
            raise ToolError(NOT_THERE.format(shown))
        sizes: dict[tuple[str, ...], int] = {}
        folders: set[tuple[str, ...]] = set()
        for file, size in files:
            parts = tuple(file.removeprefix(f"{path}/").split("/"))
            if any(part.startswith(".") for part in parts):
                continue
            for depth in range(1, min(len(parts), SHOWN_DEPTH) + 1):
                sizes[parts[:depth]] = sizes.get(parts[:depth], 0) + size
            folders |= {parts[:depth] for depth in range(1, len(parts))}
        lines = [f"{_size(sum(size for _, size in files))}\t{shown}"]
        for parts in sorted(sizes):
            slash = "/" if parts in folders else ""
            lines.append(f"{_size(sizes[parts])}\t{shown}/{'/'.join(parts)}{slash}")
        header = f"Here're the files and directories up to 2 levels deep in {shown}, excluding hidden items:"
        return "\n".join([header, *lines])


def _stored(path: str) -> str:
    """Return where a path of the tool is stored; one that leaves /memories is refused."""
    if path != ROOT and not path.startswith(f"{ROOT}/"):
        raise ToolError(f"Path must start with {ROOT}, got: {path}")
    parts = [part for part in path.removeprefix(ROOT).split("/") if part not in ("", ".")]
    if ".." in parts:
        raise ToolError(f"Path {path} would escape {ROOT} directory")
    return "/".join([FOLDER, *parts])


def _shown(path: str) -> str:
    return ROOT + path.removeprefix(FOLDER)


def _numbered(lines: Sequence[str], first: int) -> str:
    return "\n".join(f"{number:6}\t{line}" for number, line in enumerate(lines, first))


def _size(size: int) -> str:
    """Return a size as `du -h` writes it."""
    unit = min(max(size.bit_length() - 1, 0) // 10, 3)
    scaled = size / 1024**unit
    return f"{int(scaled)}{'BKMG'[unit]}" if scaled == int(scaled) else f"{scaled:.1f}{'BKMG'[unit]}"
