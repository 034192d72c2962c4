"""The reports of imports and exports about files."""

import time
from collections.abc import Callable
from typing import Any

from pydantic import Field

from memex.errors import Refused, ValidationFailed
from memex.service.tools.tool import ResultPart
from memex.service.vaults.import_conflicts import KeptFile
from memex.store.log.call import Call
from memex.store.paths import MAX_ID_CHARS

MAX_LOGGED_REFUSALS = 100
MAX_SUFFIX_CHARS = 40  # what a batch adds to the id of its import
MAX_SHOWN_CHARS = 512  # of a name that was refused or skipped, which nothing else bounds

Progress = Callable[[int, int], None]


class RefusedFile(ResultPart):
    """A file that was not taken, by its name in the vault or in memory, and why."""

    path: str
    code: str
    message: str


class SecretInFile(ResultPart):
    """A place in a file that looks like a secret, and what was done: flagged or redacted."""

    path: str
    line: int
    column: int
    kind: str
    action: str


class HiddenCharacterInFile(ResultPart):
    """The place of a character in a file that nobody sees, and its code point, such as U+202E."""

    path: str
    line: int
    column: int
    code_point: str


class HiddenCharactersInFiles(ResultPart):
    """The number of characters of the files that nobody sees, and the places of the first of them."""

    count: int
    first: list[HiddenCharacterInFile]


class ForgottenLine(ResultPart):
    """A line of a file that says what the user asked to forget."""

    path: str
    line: int


class Counts(ResultPart):
    """The numbers of files by outcome: the lengths of the lists of the report."""

    created: int
    updated: int
    unchanged: int
    refused: int
    skipped: int
    hidden: int
    kept: int = 0
    projects: int = 0
    secrets: int = 0
    forgotten: int = 0


class ImportResult(ResultPart):
    """The report of an import, or with `dry_run` of one that would be.

    Attributes:
        tool_call_id: under which its report is logged; reverting this call undoes the whole import.
        calls: the ids of those batches that wrote something; each can be reverted alone.
        dry_run: whether nothing was written.
        counts: the lengths of the lists below.
        created: paths where no file stood before.
        updated: paths whose text is another now.
        unchanged: paths where the same text stood already.
        refused: what was not taken though it is Markdown, or could do harm.
        skipped: names that are not Markdown.
        hidden: hidden files and folders, and links to folders, none of which was looked into.
        kept: files of memory that are newer than those of the vault; `replace` replaces them.
        projects: files of projects, which are imported only with `projects` or into a named project.
        secrets: where texts that look like secrets stand in the files, the first 100 of them.
        hidden_characters: how many characters of the files nobody sees, and where the first 20 of them stand; null
            if there is none.
        forgotten: lines of files that say what the user asked to forget, the first 100 of them; contexts leave them
            out.
        size_bytes: the size of the Markdown that was imported.
        duration_s: from the first look to the last write.
    """

    tool_call_id: str
    calls: list[str]
    dry_run: bool
    counts: Counts
    created: list[str]
    updated: list[str]
    unchanged: list[str]
    refused: list[RefusedFile]
    skipped: list[str]
    hidden: list[str] = Field(default_factory=list)
    kept: list[KeptFile] = Field(default_factory=list)
    projects: list[str] = Field(default_factory=list)
    secrets: list[SecretInFile] = Field(default_factory=list)
    hidden_characters: HiddenCharactersInFiles | None = None
    forgotten: list[ForgottenLine] = Field(default_factory=list)
    size_bytes: int
    duration_s: float


def ignore_progress(_done: int, _total: int) -> None:
    """Take no notice of progress."""


def refused_file(name: str, error: Refused) -> RefusedFile:
    """Return the report of a file that was refused."""
    return RefusedFile(path=printable_name(name), code=error.code, message=error.message)


def printable_name(name: str) -> str:
    """Return a name as any answer can carry it: cut, and without the marks of bytes that are no UTF-8."""
    name = name.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    return name if len(name) <= MAX_SHOWN_CHARS else f"{name[: MAX_SHOWN_CHARS - 1]}…"


def duration_s(call: Call) -> float:
    """Return how many seconds a call has taken until now."""
    return round(time.perf_counter() - call.record.started_s, 3)


def log_record(result: ImportResult) -> dict[str, Any]:
    """Return the report without its lists of files: each batch's call has its own."""
    refused = [
        refusal.model_dump(include={"path", "code"}) for refusal in result.refused[:MAX_LOGGED_REFUSALS]
    ]
    kept = [file.model_dump(include={"path", "version"}) for file in result.kept[:MAX_LOGGED_REFUSALS]]
    logged = {"calls", "counts", "size_bytes", "duration_s"}
    return result.model_dump(mode="json", include=logged) | {"refused": refused, "kept": kept}


def check_import_id(tool_call_id: str | None) -> str | None:
    """Return the id, if any; raises ValidationFailed when those of the batches would be too long."""
    if tool_call_id is not None and len(tool_call_id) > MAX_ID_CHARS - MAX_SUFFIX_CHARS:
        raise ValidationFailed(
            f"tool_call_id of an import must have at most {MAX_ID_CHARS - MAX_SUFFIX_CHARS} characters: "
            "each batch adds its number."
        )
    return tool_call_id
