"""The memory block of a host's system prompt: how to use memory, what is pinned for all, what there is. Pure.

    You have a long-term memory. …

    <memory-3fa9>
    Pinned notes, and the list of files.

    [3fa9] who this is
    - I live in Lisbon. (2026-11-22)

    [3fa9] shared/guide.md@3:21-160
    …

    [3fa9] files
    - user/profile.md — Profile (71 chars, 2026-11-22)
    </memory-3fa9>

The wrapper is that of a context: stored text can neither close it nor pass for one of its lines. The same state
gives the same bytes, so that a provider's prompt cache holds them.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from memex.store import catalogue
from memex.store.records import FileSummary, JournalCount, Reference
from memex.subagent.context.assembly import Section, enclose, wrapper_chars
from memex.subagent.context.rendering import RENDERING, Rendering

FORMAT = "memex-prompt-block-3"
SENTENCE = "Pinned notes, and the list of files."
FILES = "files"
WHO = "who this is"
LEFT_OUT = "pinned notes that do not fit: {count}"
SEARCH = "memory_context"  # the tool that recalls what does not fit
RECALL = "{search} recalls them."
FILES_SHARE = 4  # the list of files has this part of the room, one in four, however much is pinned


@dataclass(frozen=True, slots=True)
class PinnedNote:
    """The stored text of a pinned file, or its beginning, where that stands, and how it is shown."""

    reference: Reference
    text: str
    is_whole: bool = True
    rendering: Rendering = RENDERING

    @property
    def section(self) -> Section:
        """The section of the block that shows the note, with its reference."""
        about = f"{self.reference}{'' if self.is_whole else ' · cut'}"
        return Section(about, self.rendering.render(self.text))

    def cut(self, max_chars: int) -> "PinnedNote | None":
        """Return its first lines, of which the section has at most so many characters; None for not even one."""
        left = max_chars - PinnedNote(self.reference, "", is_whole=False).section.chars
        end = self.text.rfind("\n", 0, left + 1) if left > 0 else -1
        text = self.text[:end].rstrip() if end > 0 else ""
        if not text:
            return None
        start = self.reference.span[0]
        span = start, start + len(text)  # of no more digits than the one that was counted
        reference = Reference(self.reference.path, self.reference.version, span)
        beginning = PinnedNote(reference, text, is_whole=False, rendering=self.rendering)
        return (
            beginning if beginning.section.chars <= max_chars else None
        )  # it may be shown longer than it is


@dataclass(frozen=True, slots=True)
class PromptBlock:
    """A block and what stands in it.

    Attributes:
        text: at most as long as its budget.
        sha256: in hex, over the format and the text.
        pinned: the pinned notes that stand in it, as far as they do.
        left_out: the paths of those that do not.
        files: how many files the list names.
    """

    text: str
    sha256: str
    pinned: tuple[PinnedNote, ...]
    left_out: tuple[str, ...]
    files: int


def render(
    guide: str,
    pinned: Sequence[PinnedNote],
    files: Sequence[FileSummary],
    *,
    budget: int,
    search: str = SEARCH,
    journal: Sequence[JournalCount] = (),
    who: Sequence[str] = (),
) -> PromptBlock:
    """Return the block for a budget of characters.

    The guide goes first, then the lines of `who`, then pinned notes in their order, the first that does not fit cut
    at a line and those after it left out, then the list of files with those that were changed last.

    Args:
        guide: how to use the memory; cut at a line where even that is too long.
        pinned: in the order in which they shall stand.
        files: by path.
        budget: that the whole block keeps to.
        search: the tool that recalls the notes that do not fit.
        journal: the months of the journal, which the list of files ends with.
        who: lines about the person or the project, of which those are left out that do not fit.
    """
    if len(guide) > budget:
        guide = guide[: max(guide.rfind("\n", 0, budget + 1), 0)].rstrip()
    room = budget - len(guide) - len("\n\n") - wrapper_chars(SENTENCE)
    about = _who_section(who, room // FILES_SHARE * 2)
    room -= _total_chars(about)
    listed, _ = _file_section(files, journal, room // FILES_SHARE)
    notes, left_out = _fit_notes(pinned, room - _total_chars(listed), search)
    sections = [note.section for note in notes]
    if left_out and (told := _left_out_section(left_out, search)).chars <= room - _total_chars(sections):
        sections.append(told)
    listed, named = _file_section(files, journal, room - _total_chars(sections))
    sections = [*about, *sections, *listed]
    text = guide
    if sections:
        text += f"\n\n{enclose(sections, sentence=SENTENCE, form=FORMAT).text}"
    return PromptBlock(
        text=text,
        sha256=hashlib.sha256(f"{FORMAT}\n{text}".encode()).hexdigest(),
        pinned=tuple(notes),
        left_out=tuple(note.reference.path for note in left_out),
        files=named,
    )


def _who_section(who: Sequence[str], max_chars: int) -> list[Section]:
    kept: list[str] = []
    for line in who:
        if Section(WHO, "\n".join([*kept, line])).chars <= max_chars:
            kept.append(line)
    return [Section(WHO, "\n".join(kept))] if kept else []


def _fit_notes(
    pinned: Sequence[PinnedNote], room: int, search: str
) -> tuple[list[PinnedNote], list[PinnedNote]]:
    """Return the pinned notes that a room holds, the last of them perhaps cut, and the others."""
    if _total_chars([note.section for note in pinned]) <= room:
        return list(pinned), []
    left = room - _left_out_section(pinned, search).chars
    kept: list[PinnedNote] = []
    for note in pinned:
        if note.section.chars > left:
            if (beginning := note.cut(left)) is not None:
                kept.append(beginning)
            break
        kept.append(note)
        left -= note.section.chars
    return kept, list(pinned[len(kept) :])


def _file_section(
    files: Sequence[FileSummary], journal: Sequence[JournalCount], max_chars: int
) -> tuple[list[Section], int]:
    """Return the list of files, if there is room for one, and how many it names."""
    left = max_chars - Section(FILES, "").chars
    text, named = catalogue.choose(files, max_chars=max(left, catalogue.MIN_CHARS), journal=journal)
    text = text.rstrip("\n")
    return ([Section(FILES, text)], len(named)) if text and len(text) <= left else ([], 0)


def _left_out_section(left_out: Sequence[PinnedNote], search: str) -> Section:
    return Section(LEFT_OUT.format(count=len(left_out)), RECALL.format(search=search))


def _total_chars(sections: Sequence[Section]) -> int:
    return sum(section.chars for section in sections)
