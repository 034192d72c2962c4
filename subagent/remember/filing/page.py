"""A Markdown file under revision: statements are put in, a dated bullet each, and texts taken out. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from memex.store.statement_lines import line_key
from memex.subagent.remember.filing.entries import (
    Entry,
    EntryOutcome,
    plan_entries,
)
from memex.subagent.remember.filing.file_revision import FileRevision


@dataclass(frozen=True, slots=True)
class RevisedFile:
    """A file's new content, and one outcome an entry and a text to take out, in their order."""

    content: str
    outcomes: tuple[EntryOutcome, ...]
    removals: tuple[EntryOutcome, ...] = ()


def revise(
    content: str | None,
    entries: Sequence[Entry],
    *,
    title: str,
    path: str = "",
    removals: Sequence[str] = (),
    kept: Mapping[str, str] | None = None,
    matches_paraphrases: bool = False,
    later: frozenset[bytes] = frozenset(),
) -> RevisedFile:
    """Return a file with entries put in, each under its heading, and what became of each.

    - A text to take out goes first: a bullet, or a sentence or line of prose that stands there once. What is
      nested below a bullet keeps it.
    - An entry that says what it replaces takes the place of that, date and all, whatever it is about; where it
      does not stand there any more the entry is like any other. What else a bullet says stays, in its own line.
    - A statement that a bullet or a line of prose anywhere in the file makes already is a duplicate.
    - One with the key of a bullet takes that bullet's place, date and all, unless the bullet says more than
      that; what is nested below stays. Where several have that key, the last one counts.
    - One that denies what a bullet says word for word takes its place too, and the other way round.
    - A task that is done takes the pending bullet of that task away; a task that was done may come up again.
    - A statement that names another due day than a bullet which says the same takes that bullet's place.
    - What was said earlier than a bullet never takes its place, nor takes it out: the entry is overtaken. If the
      bullet was said on the same day and does not give way, the entry is added before it.
    - Of several entries that would replace each other the last one is filed, the others are overtaken.
    - Anything else is added behind the last line under its heading, before the next heading of any level.
    - A statement for the general heading of its file goes under a heading that it names, if there is one.
    - A heading that is missing is added at the end of the file, but before what is done.

    Entries act one after the other. To play them again, on whatever day, changes nothing.
    Every other character of the file is kept.

    Args:
        content: the file as it is; None or without text for a new one.
        entries: what to file.
        title: the heading of level 1 of a new file.
        path: of the file, which tells the kinds of its statements.
        removals: texts of statements to take out.
        kept: what else each of them says, which stays.
        matches_paraphrases: a statement in nearly the same words is a duplicate too.
        later: keys of bullets that were said later than the entries, which their dates need not tell; see
            `store.statement_lines.line_key`.
    """
    page = FileRevision.of(content or "", title, path, matches_paraphrases=matches_paraphrases)
    for item in page.items if later else ():
        item.is_later = line_key(item.text) in later
    removed = tuple(page.remove(text, (kept or {}).get(text, "")) for text in removals)
    outcomes = tuple(map(page.place, plan_entries(entries, path)))
    page.group()
    changed = page.content()
    return RevisedFile((content or "") if changed is None else changed, outcomes, removed)
