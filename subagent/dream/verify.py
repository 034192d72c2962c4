"""The proof that edits lose nothing: of the texts before and after, whoever planned the edits.

Nothing here trusts a planner. Each check has a name, which a refusal carries.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Literal

from memex.store import links
from memex.store.entry_path import is_entry_at
from memex.store.paths import parse
from memex.subagent.dream.edits import FileEdit, Group, apply_groups, split_lines
from memex.subagent.dream.pages import DreamPage, MountState, PageLine, without_links
from memex.subagent.dream.rules import GOING, LEAST_REMOVED, MAX_EDITS, REMOVED_SHARE
from memex.subagent.dream.signals import MAX_FILES, is_done_by
from memex.subagent.statements import language
from memex.subagent.statements.bullets import ITEM, STAMP, parse_bullet
from memex.subagent.statements.days.dating import without_dates
from memex.subagent.statements.places import DONE_HEADING, mount_of
from memex.subagent.statements.subjects import APOSTROPHES, subject_of

Check = Literal[
    "mount", "bounds", "tenth", "lost", "twin", "invented", "stamp", "box", "link", "merge", "held"
]

_TARGET = re.compile(r"(\[\[)[^\[\]\n|#]+|(\]\()[^()\s#]+")
_WORD = re.compile(r"\w+")
_TOKEN = re.compile(  # numbers with their signs, words, and other signs
    r"(?:(?<!\w)[-+])?\d+(?:[.,:/-]\d+)*\w*|\w+(?:'\w+)*|!?[^\w\s.,;:!?'\"()\[\]…–—-]+"
)
_NEGATION = re.compile(
    r"no|none|nobody|nothing|nowhere|nor|neither|without|cannot|\w+n't|nicht|kein\w*|nichts|ohne|niemand|sans|rien"
    r"|nunca|sin|nada|non|mai|nie"
)
# By which a sentence joins what others say; no other word of it may be new.
_JOINING = frozenset(
    {"and", "also", "too", "both", "which", "who", "where"}
    | {"und", "auch", "sowie"}
    | {"et", "aussi", "qui"}
    | {"y", "e"}
)


class UnsafeEdits(Exception):  # says what the edits are
    """Edits that would lose or change what a mount says; `check` names what found it. No caller sees it."""

    def __init__(self, check: Check, why: str) -> None:
        super().__init__(f"The check {check!r} refuses the edits: {why}.")
        self.check = check


def verify(state: MountState, groups: Sequence[Group]) -> dict[str, str]:
    """Return the changed texts of groups of edits that lose nothing.

    Raises:
        UnsafeEdits: they would; nothing of them may be kept.
        VersionConflict: an edit does not fit.
    """
    edits = [edit for group in groups for edit in group]
    _check_bounds(state, edits)
    before = {path: page.text for path, page in state.pages.items()}
    after = apply_groups(before, groups)
    pages = {path: DreamPage(path, 0, text) for path, text in (before | after).items()}
    touched = after.keys()
    old = [line for path in touched for line in _lines(before.get(path, ""))]
    new = [line for path in touched for line in _lines(after[path])]
    _check_merges(state, edits)
    _check_invented(state, edits, old, new)
    _check_lost(state, edits, pages, Counter(map(core, old)) - Counter(map(core, new)))
    _check_links(state, pages, after)
    return after


def core(line: str) -> str:
    """Return what of a line a dream may not change: all but box, stamp, targets of links, and links at the end."""
    bare = line.strip()
    marker = ITEM.match(bare)
    said = without_links(STAMP.sub("", bare[marker.end() :])) if marker else bare
    return " ".join(_TARGET.sub(lambda found: f"{found[1] or found[2]}*", said).split())


def _lines(text: str) -> list[str]:
    return [line for line in (span.rstrip("\r\n") for span in split_lines(text)) if line.strip()]


def _check_bounds(state: MountState, edits: Sequence[FileEdit]) -> None:
    for edit in edits:
        if mount_of(edit.path) != state.mount or is_entry_at(edit.path):
            raise UnsafeEdits("mount", f"{edit.path} is no page of {state.mount}")
    if len(edits) > MAX_EDITS or len({edit.path for edit in edits}) > MAX_FILES:
        raise UnsafeEdits("bounds", f"{len(edits)} edits are more than one proposal may hold")
    going = sum(len(edit.removed) for edit in edits if edit.kind in GOING)
    if going > max(LEAST_REMOVED, len(state.lines) // REMOVED_SHARE):
        raise UnsafeEdits("tenth", f"{going} of {len(state.lines)} statements would go")


def _check_lost(
    state: MountState, edits: Sequence[FileEdit], pages: Mapping[str, DreamPage], lost: Counter[str]
) -> None:
    """Check that each line that stands nowhere any more is named as removed, and has a twin that stands."""
    by_reference = {line.reference: line for line in state.lines}
    named = Counter(
        f"## {change.heading}" for edit in edits for change in edit.changes if change.does == "done"
    )  # headings without a task any more go
    for edit in edits:
        if edit.kind not in GOING:
            continue
        for reference, twin in zip(edit.removed, edit.kept, strict=True):
            line = by_reference.get(reference)
            if line is None:
                raise UnsafeEdits("lost", f"{reference} is no statement")
            if edit.kind == "merge":
                named[core(line.raw)] += 1
                continue
            other = by_reference.get(twin)
            if other is None or not _stands(pages, other) or not _is_twin(edit, line, other):
                raise UnsafeEdits("twin", f"{twin} does not say what {reference} says")
            named[core(line.raw)] += 1
    for said, count in lost.items():
        if said and count > named[said]:
            raise UnsafeEdits("lost", f"a line would be lost: {said[:100]}")


def _stands(pages: Mapping[str, DreamPage], line: PageLine) -> bool:
    """Return whether a line stands in its page after the edits, as it did or with another stamp or links."""
    wanted = core(line.raw)
    return any(core(other) == wanted for other in _lines(pages[line.path].text))


def _is_twin(edit: FileEdit, line: PageLine, other: PageLine) -> bool:
    if line.reference == other.reference:
        return False
    if edit.kind == "duplicate":
        return (line.literal, line.due, line.is_done) == (other.literal, other.due, other.is_done)
    is_newer = line.day is not None and other.day is not None and other.day > line.day
    if sorted(filter(_is_negation, _tokens(line.text))) != sorted(filter(_is_negation, _tokens(other.text))):
        return False
    subject = subject_of(line.kind, line.text)
    is_same_key = subject is not None and subject == subject_of(other.kind, other.text)
    return is_newer and (is_same_key or _differs_in_one_place(line.text, other.text))


def _differs_in_one_place(one: str, other: str) -> bool:
    """Return whether two statements have the same beginning and end around one value, which neither lacks."""
    first, second = without_dates(one).casefold().split(), without_dates(other).casefold().split()
    start = 0
    while start < min(len(first), len(second)) and first[start] == second[start]:
        start += 1
    end = 0
    while end < min(len(first), len(second)) - start and first[-1 - end] == second[-1 - end]:
        end += 1
    lengths = len(first) - start - end, len(second) - start - end
    return start + end >= 2 and min(lengths) > 0 and max(lengths) <= 4


def _check_invented(
    state: MountState, edits: Sequence[FileEdit], old: Sequence[str], new: Sequence[str]
) -> None:
    """Check that lines that did not stand before say nothing that did not, nor on another day."""
    everywhere = [*old, *(line.raw for line in state.lines)]
    cores = {core(line) for line in everywhere}
    stamps = {(core(line), *_stamp(line)) for line in everywhere}
    for edit in edits:
        if edit.kind == "duplicate":
            _add_twins(state, edit, stamps)
    _check_boxes(state, edits, old, new)
    allowed = {core(line) for edit in edits for line in _allowed(state, edit)}
    known = set(everywhere)
    for line in new:
        said = core(line)
        if line in known or not said:
            continue
        if said not in cores:
            if said not in allowed:
                raise UnsafeEdits("invented", f"nobody said: {said[:100]}")
            continue
        if (said, *_stamp(line)) not in stamps:
            raise UnsafeEdits("stamp", f"the day of a statement would change: {said[:100]}")


def _check_boxes(
    state: MountState, edits: Sequence[FileEdit], old: Sequence[str], new: Sequence[str]
) -> None:
    """Check that no more lines have a box than before, but for tasks that a line says are done."""
    ticked = {(said, "x") for edit in edits for said in _ticked(state, edit)}
    before = Counter((core(line), _box(line)) for line in old)
    boxed = {said for said, box in before if box}
    for said, box in Counter((core(line), _box(line)) for line in new) - before:
        if said in boxed and (said, box) not in ticked:
            raise UnsafeEdits("box", f"nothing says that it is done: {said[:100]}")


def _ticked(state: MountState, edit: FileEdit) -> Iterator[str]:
    """Yield the tasks that an edit ticks, and that the line which it names says are done."""
    ends = [line for line in state.lines if edit.kind == "task_done" and line.reference in edit.kept]
    changed = {change.old for change in edit.changes if change.does == "line"}
    for task in state.pages[edit.path].lines if ends else ():
        if task.raw in changed and any(is_done_by(state, task, end) for end in ends):
            yield core(task.raw)


def _add_twins(state: MountState, edit: FileEdit, stamps: set[tuple[str, str, str]]) -> None:
    """Let a line that stays bear the older date of a line that goes, which says the same."""
    by_reference = {line.reference: line for line in state.lines}
    for reference, twin in zip(edit.removed, edit.kept, strict=True):
        if reference in by_reference and twin in by_reference:
            line, other = by_reference[reference], by_reference[twin]
            if line.day is not None and other.day is not None and line.day < other.day:
                stamps.add((core(other.raw), str(line.day), _stamp(other.raw)[1]))


def _allowed(state: MountState, edit: FileEdit) -> Iterator[str]:
    """Yield the lines beside those that stood that an edit may write: titles, links, words of the journal."""
    entries = {f"{entry.path}@{entry.version}": entry.text for entry in state.entries}
    for change in edit.changes:
        if change.does == "add":
            yield f"# {change.title}"
        elif change.does == "done":
            yield f"## {DONE_HEADING}"
        elif change.does == "text" and edit.kind == "split":
            yield from (
                f"[[{path.removeprefix(f'{state.mount}/').removesuffix('.md')}]]" for path in edit.kept
            )
        elif change.does == "file":
            reference, _, span = change.source.rpartition(":")
            start, _, end = span.partition("-")
            said = entries.get(reference, "")[int(start) : int(end)]
            if _words(without_dates(change.new or "")) != _words(said) and _words(change.new or "") != _words(
                said
            ):
                raise UnsafeEdits("invented", f"the journal does not say: {(change.new or '')[:100]}")
            if state.ever_said(change.new or ""):
                raise UnsafeEdits("held", f"a page says it, or once said it: {(change.new or '')[:100]}")
            yield f"- {change.new}"
            yield from (f"# {change.title}", f"## {change.heading}")
        elif edit.kind == "merge" and change.does == "line" and change.new:
            yield change.new


def _words(text: str) -> list[str]:
    return _WORD.findall(text.casefold())


def _stamp(line: str) -> tuple[str, str]:
    """Return the day of a stamp, and the rest of it."""
    found = STAMP.search(line)
    return (found[1], f"{found[2]} {found[3]}") if found else ("", "")


def _box(line: str) -> str:
    marker = ITEM.match(line.strip())
    return ((marker[3] or "") if marker else "").lower()


def _check_links(state: MountState, pages: Mapping[str, DreamPage], after: Mapping[str, str]) -> None:
    """Check that links which did not stand before lead to pages of the mount."""
    keys: set[str] = set()
    for path in pages:
        keys |= {*links.path_keys(parse(path).relative), links.key(path)}
    if after:
        keys |= {key for page in state.pages.values() for key in page.link_keys}
    for path, text in after.items():
        for link in links.parse(text, parse(path).relative):
            if keys.isdisjoint(link.targets):
                raise UnsafeEdits("link", f"{link.raw} leads to no page of {state.mount}")


def _check_merges(state: MountState, edits: Sequence[FileEdit]) -> None:
    """Check that each sentence in the place of several lines says what they say, with a day of theirs."""
    by_reference = {line.reference: line for line in state.lines}
    for edit in edits:
        if edit.kind == "merge":
            lines = [by_reference[reference] for reference in edit.removed if reference in by_reference]
            written = [change.new for change in edit.changes if change.new]
            if len(lines) < 2 or len(written) != 1:
                raise UnsafeEdits("merge", "it is no sentence in the place of several")
            stamp, box = _stamp(written[0]), _box(written[0])
            if stamp[0] not in {_stamp(line.raw)[0] for line in lines} or any(
                (stamp[1], box) != (_stamp(line.raw)[1], _box(line.raw)) for line in lines
            ):
                raise UnsafeEdits("merge", "its day or its box is that of none of the lines")
            check_merged([line.text for line in lines], parse_bullet(written[0]))


def check_merged(texts: Sequence[str], merged: str) -> None:
    """Check that one sentence has each word of several statements, nothing new, and says it of the same things.

    Numbers, names and negations stand in the order of each statement, and before the same words.

    Raises:
        UnsafeEdits: it says more, or less, or something else.
    """
    articles = language.load("en").stop_words
    sources, now = [_tokens(text) for text in texts], _tokens(merged)
    words = {word for source in sources for word in source}
    if missing := sorted(words - set(now) - articles):
        raise UnsafeEdits("merge", f"these words are missing: {' '.join(missing)[:100]}")
    if new := sorted(set(now) - words - articles - _JOINING):
        raise UnsafeEdits("merge", f"these words are new: {' '.join(new)[:100]}")
    marks = {word for text in texts for word in _marks(text)}
    order = [word for word in now if word in marks]
    followed = _followed(now)
    for text, source in zip(texts, sources, strict=True):
        rest = iter(order)
        if not all(mark in rest for mark in _marks(text)) or not _followed(source) <= followed:
            raise UnsafeEdits("merge", "a number, a name or a negation belongs to something else")
    if not followed <= {pair for source in sources for pair in _followed(source)}:
        raise UnsafeEdits("merge", "a number or a negation belongs to something else")


def _tokens(text: str) -> list[str]:
    return [token.casefold() for token in _TOKEN.findall(text.translate(APOSTROPHES))]


def _marks(text: str) -> list[str]:
    """Return the numbers, names and negations of a text in their order."""
    tables = language.load("en")
    small = tables.stop_words.union(*tables.function_words.values())
    return [
        token.casefold()
        for token in _TOKEN.findall(text.translate(APOSTROPHES))
        if _is_valued(token.casefold()) or (token[0].isupper() and token.casefold() not in small)
    ]


def _followed(tokens: Sequence[str]) -> set[tuple[str, str]]:
    """Return each number and negation with the word that it stands before."""
    said = [token for token in tokens if token not in language.load("en").stop_words | _JOINING]
    return {(one, other) for one, other in pairwise(said) if _is_valued(one)}


def _is_valued(token: str) -> bool:
    return token[-1].isdigit() or token[0].isdigit() or _is_negation(token)


def _is_negation(token: str) -> bool:
    negations = language.load("en").negations
    return _NEGATION.fullmatch(token) is not None or negations.fullmatch(token) is not None
