"""The request to remember a text: a planner says where its statements belong, code files them and commits once."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from datetime import date
from functools import lru_cache, partial

from memex.store import offload
from memex.store.records import FileChange
from memex.store.writes.draft import Draft
from memex.subagent.memory_tools import MemoryTools
from memex.subagent.planner import BUILTIN, Addition, RememberPlan, Removal
from memex.subagent.remember.filing.entries import Entry, EntryOutcome
from memex.subagent.remember.filing.page import RevisedFile, revise
from memex.subagent.statements.extraction import Statement

MAX_TEXT_CHARS = 200_000
BULLET_CHARS = 64  # what a statement's bullet, date and links add to it, roughly


@dataclass(frozen=True, slots=True)
class StagedFile:
    """What goes into one file and out of it, and what that makes of its text.

    `revised` keeps what it made of the last text: it is asked again under the scope's lock, where nothing may take
    long.
    """

    path: str
    adds: tuple[Addition, ...]
    removals: tuple[Removal, ...]
    revise: Callable[[str | None], RevisedFile]

    def content(self, content: str | None) -> str | None:
        """Return the file's text with the statements in it; None where no file stands and nothing goes in."""
        made = self.revise(content).content
        return None if content is None and not made else made


@dataclass(frozen=True, slots=True)
class FileOutcome:
    """What became of one file: the change, and the outcome of each statement that was put to it.

    `change` is None where no file stands and none was made.
    """

    change: FileChange | None
    adds: tuple[Addition, ...]
    outcomes: tuple[EntryOutcome, ...]
    removals: tuple[Removal, ...] = ()
    removed: tuple[EntryOutcome, ...] = ()

    @property
    def statement_outcomes(self) -> list[tuple[Statement, EntryOutcome]]:
        """What the text said, and what became of it."""
        added = ((add.statement, outcome) for add, outcome in zip(self.adds, self.outcomes, strict=True))
        removed = zip((removal.statement for removal in self.removals), self.removed, strict=True)
        return [*added, *removed]


@dataclass(slots=True)
class _FileParts:
    """The parts of a plan that are about one file."""

    adds: list[Addition] = field(default_factory=list)
    removals: list[Removal] = field(default_factory=list)


def group_by_file(
    adds: Sequence[Addition],
    day: date,
    *,
    removals: Sequence[Removal] = (),
    matches_paraphrases: bool = False,
) -> list[StagedFile]:
    """Return statements by the files that they go to, or go out of.

    Args:
        adds: the statements to put in.
        day: that new ones are dated by.
        removals: the statements to take out.
        matches_paraphrases: what a file says in nearly the same words is not put in.
    """
    groups: dict[str, _FileParts] = {}
    for add in adds:
        groups.setdefault(add.path, _FileParts()).adds.append(add)
    for removal in removals:
        groups.setdefault(removal.path, _FileParts()).removals.append(removal)
    return [
        StagedFile(
            path,
            tuple(group.adds),
            tuple(group.removals),
            lru_cache(maxsize=1)(partial(_revise_file, group, day, matches_paraphrases)),
        )
        for path, group in groups.items()
    ]


async def find_replacements(
    adds: Sequence[Addition], known: Collection[Addition], day: date, tools: MemoryTools
) -> list[Addition]:
    """Return the statements that take the place of what the file of a known one says today.

    An old note elsewhere is no reason to keep a value that was taken back, or a task that is done.
    """
    paths = {add.path for add in known}
    found = []
    for filing in group_by_file([add for add in adds if add.path in paths], day):
        listed = await tools.list_files(filing.path, limit=1)
        stands = any(file.path == filing.path for file in listed)
        content = (await tools.read_file(filing.path)).content if stands else None
        revised = await offload.run(len(content or ""), filing.revise, content)
        outcomes = zip(filing.adds, revised.outcomes, strict=True)
        found += [add for add, outcome in outcomes if outcome.action == "superseded"]
    return found


def stage(draft: Draft, plan: RememberPlan, day: date) -> list[StagedFile]:
    """Stage a plan's statements, each file's at once, and return them by file.

    What they become is settled under the file's lock, so calls at the same moment neither lose a statement nor
    write it twice. A model says the same in other words: then what is nearly the same is the same.
    """
    matches_paraphrases = plan.planner != BUILTIN
    staged = group_by_file(plan.adds, day, removals=plan.removals, matches_paraphrases=matches_paraphrases)
    for filing in staged:
        chars = sum(len(add.statement.text) + BULLET_CHARS for add in filing.adds)
        draft.revise(filing.path, filing.content, chars=chars, reason="memory_remember")
    return staged


def file_outcomes(staged: Sequence[StagedFile], changes: Sequence[FileChange]) -> list[FileOutcome]:
    """Return what became of the statements that were staged; the same function says it as did it."""
    by_path = {change.path: change for change in changes}
    result = []
    for filing in staged:
        change = by_path.get(filing.path)
        before = change.old_content if change is not None and change.old_version is not None else None
        revised = filing.revise(before)
        result.append(FileOutcome(change, filing.adds, revised.outcomes, filing.removals, revised.removals))
    return result


def _revise_file(group: _FileParts, day: date, matches_paraphrases: bool, content: str | None) -> RevisedFile:
    entries = [Entry(add.statement, add.heading, day, add.links, add.replaces) for add in group.adds]
    return revise(
        content,
        entries,
        title=group.adds[0].title if group.adds else "",
        removals=[removal.removes for removal in group.removals],
        matches_paraphrases=matches_paraphrases,
    )
