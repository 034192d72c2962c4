"""The prompt block of a caller: how to use memory, what is pinned for all, and what there is."""

import hashlib
from collections.abc import Collection, Mapping, Sequence
from datetime import date
from typing import Annotated, Literal

from pydantic import Field

from memex.errors import BudgetTooSmall
from memex.service.operation import LoggedAnswer, LoggedOperation, OperationCall
from memex.service.tools.context import BudgetResult, Source, SourceSpan
from memex.service.tools.tool import Arguments, ToolResult
from memex.store import catalogue, markdown
from memex.store.memory import Memory
from memex.store.records import FileSummary, Reference
from memex.store.statement_lines import line_key
from memex.subagent import prompts
from memex.subagent.context.prompt_block import SEARCH, PinnedNote, render
from memex.subagent.context.rendering import Rendering
from memex.subagent.memory_tools import MAX_PINNED
from memex.subagent.remember.filing.items import list_items
from memex.subagent.statements.language import StatementKind
from memex.subagent.statements.places import is_statement_file

PROMPT = "block"
PromptProfile = Literal[
    "agent", "project"
]  # whose names of tools the block uses; the latter are the six of projects
GUIDES: Mapping[PromptProfile, str] = {"agent": PROMPT, "project": "project"}
SEARCHES: Mapping[PromptProfile, str] = {"agent": SEARCH, "project": "search_memories"}
SHARED = "shared"
ABOUT_USER: frozenset[StatementKind] = frozenset({"profile", "preference", "constraint"})
ABOUT_PROJECT: frozenset[StatementKind] = frozenset({"objective", "decision", "constraint"})
MIN_BUDGET = 500
MAX_BUDGET = 50_000
DEFAULT_BUDGET = 4_000
MAX_WHO = 4_000  # characters of lines about the person or the project
MAX_WHO_PAGES = 12
FRONT_MATTER_CHARS = 4_096  # of a pinned file that are read beside what the budget holds


class PromptBlockArguments(Arguments):
    """Arguments for the block of a system prompt."""

    budget: Annotated[int, Field(le=MAX_BUDGET)] = DEFAULT_BUDGET
    project: str | None = None
    profile: PromptProfile | None = None
    who: Annotated[int, Field(ge=0, le=MAX_WHO)] = 0


class PromptBlockResult(ToolResult):
    """A text for a system prompt: how to use the memory, the pinned notes of shared/, the list of files.

    `hash` names these very bytes. `sources` are the pinned notes that stand in it, `notes_left_out` the paths of
    those that do not fit, and `files_left_out` counts the files that the list does not name.
    """

    text: str
    hash: str
    budget: BudgetResult
    state: dict[str, int]
    sources: list[Source]
    notes_left_out: list[str]
    files_left_out: int


async def _prompt_block(
    call: OperationCall, arguments: PromptBlockArguments
) -> LoggedAnswer[PromptBlockResult]:
    """Return the block of a caller.

    The list has the files of `project`, by default those of all the user's projects, as far as the caller may read
    them.

    Raises:
        BudgetTooSmall, ProjectNotFound: logged as a failed or denied call.
    """
    if arguments.budget < MIN_BUDGET:
        raise BudgetTooSmall(
            f"A prompt block of {arguments.budget} characters holds nothing.",
            hint=f"The budget is {MIN_BUDGET} to {MAX_BUDGET:,} characters, {DEFAULT_BUDGET:,} by default.",
            minimum=MIN_BUDGET,
        )
    service, tools = call.service, arguments.profile or "agent"
    guide = prompts.load_text(GUIDES[tools], service.prompts_dir if tools == "agent" else None)
    call.log.call.record.prompts[guide.sha256] = guide.text
    access = call.access.narrowed(arguments.project)
    async with call.database.transaction(access, snapshot=True) as connection:
        memory = Memory(connection, access)
        state = await memory.state(access.scopes)
        files = await memory.list_files(limit=catalogue.MAX_FILES)
        journal = await memory.journal_months()
        shared = Memory(connection, access.limited_to((access.scope_at(SHARED),)))
        pinned = await _pinned(shared, arguments.budget, service.rendering)
        who = await _who(memory, files, arguments.project, arguments.who) if arguments.who else []
        budget_chars, search = arguments.budget, SEARCHES[tools]
        block = render(
            guide.body, pinned, files, budget=budget_chars, search=search, journal=journal, who=who
        )
    result = PromptBlockResult(
        text=block.text,
        hash=block.sha256,
        budget=BudgetResult(limit=budget_chars, used=len(block.text)),
        state=state,
        sources=_sources(block.pinned),
        notes_left_out=list(block.left_out),
        files_left_out=len(files) - block.files,
    )
    logged = {name: value for name, value in result.body().items() if name != "text"}
    config = {"prompt": f"{GUIDES[tools]}-{guide.version}", "prompt_sha256": guide.sha256.hex()}
    # Not in the snapshot: it could not see a prompt that another call keeps at the same moment.
    return LoggedAnswer(result, logged, state=state, config=config)


async def _who(
    memory: Memory, files: Sequence[FileSummary], project: str | None, max_chars: int
) -> list[str]:
    """Return the sure lines in force about the user, or about a project; lines that newer ones contradict go."""
    folder = "user/" if project is None else f"projects/{project}/"
    own = [file.path for file in files if file.path.startswith(folder) and is_statement_file(file.path)]
    paths = own[:MAX_WHO_PAGES]
    pages = [(page.virtual_path, page.content) for page in await memory.read_files(paths)]
    outdated = {rival.line_key for rival in await memory.rivals(paths)}
    return _who_lines(pages, ABOUT_USER if project is None else ABOUT_PROJECT, outdated, max_chars)


async def _pinned(shared: Memory, budget: int, rendering: Rendering) -> list[PinnedNote]:
    """Return the pinned files of a mount in the order of their paths, as far as a block can hold them."""
    paths = await shared.pinned(limit=MAX_PINNED)
    standing = await shared.read_files(paths, with_content=False)
    read = [
        Reference(
            revision.virtual_path,
            revision.version,
            (0, min(revision.size_chars, budget + FRONT_MATTER_CHARS)),
        )
        for revision in standing
    ]
    notes = [
        _note(reference, text, is_whole=reference.span[1] == revision.size_chars, rendering=rendering)
        for reference, text, revision in zip(read, await shared.spans(read), standing, strict=True)
    ]
    return [note for note in notes if note.text]


def _note(reference: Reference, text: str, *, is_whole: bool, rendering: Rendering) -> PinnedNote:
    """Return a file without its front matter and the empty lines around the rest."""
    body = text[markdown.body_start(text) :]
    start = len(text) - len(body.lstrip("\r\n"))
    kept = text[start:].rstrip()
    placed = Reference(reference.path, reference.version, (start, start + len(kept)))
    return PinnedNote(placed, kept, is_whole=is_whole, rendering=rendering)


def _sources(pinned: Sequence[PinnedNote]) -> list[Source]:
    return [
        Source(
            path=note.reference.path,
            version=note.reference.version,
            reason="pinned",
            linked_from=None,
            spans=[
                SourceSpan(
                    start=note.reference.span[0],
                    end=note.reference.span[1],
                    sha256=hashlib.sha256(note.text.encode()).hexdigest(),
                    why="pinned",
                )
            ],
            truncated=not note.is_whole,
        )
        for note in pinned
    ]


def _who_lines(
    pages: Sequence[tuple[str, str]],
    kinds: Collection[StatementKind],
    outdated: Collection[bytes],
    max_chars: int,
) -> list[str]:
    """Return the lines that say for certain who somebody is, or what a project is, each once: newest first.

    Args:
        pages: the paths and texts of pages that `memory_remember` writes.
        kinds: of the statements that count.
        outdated: keys of lines that newer ones contradict; see `store.statement_lines.line_key`.
        max_chars: that all of them have at most, with their line ends.
    """
    found = [
        (item.day or date.min, item.start, text[item.start : item.own_end].strip(), line_key(item.text))
        for path, text in pages
        for item in list_items(text, markdown.parse(text), path)
        if item.kind in kinds and line_key(item.text) not in outdated
    ]
    lines: dict[bytes, str] = {}
    for *_, line, key in sorted(found, key=lambda record: record[:2], reverse=True):
        used = sum(map(len, lines.values())) + len(lines)
        if "\n" not in line and key not in lines and used + len(line) <= max_chars:
            lines[key] = line
    return list(lines.values())


PROMPT_BLOCK = LoggedOperation("prompt_block", PromptBlockArguments, PromptBlockResult, _prompt_block)
