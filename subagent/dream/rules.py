"""The planner by rules: groups of edits for what is certain, and a list of the rest."""

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from urllib.parse import quote

from memex.store.paths import parse
from memex.subagent.dream.edits import EditChange, FileEdit, Group, fitting, split_lines
from memex.subagent.dream.pages import LINE, DreamPage, MountState, PageLine, without_links
from memex.subagent.dream.signals import LEAST_SECTION_CHARS, MAX_FILES, Signal
from memex.subagent.statements.places import destination, is_statement_file, mount_of, stands_for_kind

MAX_EDITS = 40
MAX_LINKS_A_LINE = 3
LEAST_REMOVED = 3  # statements that may always go
REMOVED_SHARE = 10  # of a mount's statements, one in ten may go
MAX_LISTED = 100
GOING = ("duplicate", "superseded", "merge")  # kinds of edits by which statements go

_SLUG = re.compile(r"[^\w]+")
_STAMP_DAY = re.compile(
    r"\(\d{4}-\d\d-\d\d(?=(?:, (?:due|still true) \d{4}-\d\d-\d\d)*\)(?:[ \t]+\[\[[^\[\]\n]+\]\])*[ \t]*$)"
)
_NOT_PLAIN = re.compile(r"[ %#()<>]")  # in the destination of a Markdown link
_LINK = re.compile(r"\[\[[^\[\]\n]+\]\]")

Refused = Collection[tuple[str, str, str]]  # kinds, paths and lines that a person rejected, or took back


@dataclass(frozen=True, slots=True)
class DreamPlan:
    """The proposals of a dream: groups of edits that stand or fall together, and findings that are only listed.

    `left_out` counts the groups that are more than one proposal may hold: the next one has them.
    """

    groups: tuple[Group, ...]
    listed: tuple[Signal, ...] = ()
    left_out: int = 0


def plan_by_rules(state: MountState, signals: Sequence[Signal], refused: Refused = ()) -> DreamPlan:
    """Return the edits that the rules make of signals, at most as many as one proposal holds."""
    groups: list[Group] = []
    listed: list[Signal] = []
    claimed: set[tuple[str, int]] = set()  # lines that a group changes already
    cut = 0  # groups of which a part is left for the next proposal
    most = min(_most_removed(state), MAX_FILES - 1)
    for found in signals:
        signal = _without_refused(found, refused)
        if signal is None:
            continue
        is_cut = signal.kind == "duplicate" and len(signal.lines) > most + 1
        signal = replace(signal, lines=signal.lines[: most + 1]) if is_cut else signal
        group = _group(state, signal)
        if group is None:
            listed.append(signal)
            continue
        touched = {(line.path, line.start) for line in signal.lines}
        if not claimed.isdisjoint(touched) or is_refused(group, refused):
            continue
        claimed |= touched
        cut += is_cut
        groups.append(group)
    groups.sort(key=lambda group: group[0].kind == "link")  # which matter least
    kept = bounded(state, groups)
    return DreamPlan(tuple(kept), tuple(listed[:MAX_LISTED]), len(groups) - len(kept) + cut)


def _without_refused(signal: Signal, refused: Refused) -> Signal | None:
    """Return a signal of many lines without those whose change was refused; None if nothing is left to do."""
    stays = 1 if signal.kind == "duplicate" else 0
    if signal.kind not in ("duplicate", "archive"):
        return signal
    going = [line for line in signal.lines[stays:] if (signal.kind, line.path, line.raw) not in refused]
    return replace(signal, lines=(*signal.lines[:stays], *going)) if going else None


def is_refused(group: Group, refused: Refused) -> bool:
    """Return whether a person rejected the same changes of the same lines, or took them back.

    Of lines that are merged two are enough: a larger group would do the same.
    """
    changes = [
        (edit.kind, edit.path, change.old or change.new or "")
        for edit in group
        for change in edit.changes
        if change.does not in ("need", "done")
    ]
    least = 2 if group[0].kind == "merge" else len(changes)
    return bool(changes) and sum(change in refused for change in changes) >= least


def bounded(state: MountState, groups: Sequence[Group]) -> list[Group]:
    """Return the first groups that fit into one proposal, and one after the other into the files."""
    texts = {path: page.text for path, page in state.pages.items()}
    kept: list[Group] = []
    edits, files, removed = 0, set[str](), 0
    most = _most_removed(state)
    for group in fitting(texts, groups):
        more = edits + len(group)
        paths = files | {edit.path for edit in group}
        going = removed + sum(len(edit.removed) for edit in group if edit.kind in GOING)
        if more > MAX_EDITS or len(paths) > MAX_FILES or going > most:
            continue
        kept.append(group)
        edits, files, removed = more, paths, going
    return kept


def _most_removed(state: MountState) -> int:
    return max(LEAST_REMOVED, len(state.lines) // REMOVED_SHARE)


def _group(state: MountState, signal: Signal) -> Group | None:
    """Return the edits that a signal asks for; None if it is only listed."""
    match signal.kind:
        case "duplicate":
            return _without_duplicates(state, signal.lines[0], signal.lines[1:])
        case "superseded":
            return _without_superseded(state, *signal.lines)
        case "task_done":
            return _ticked(state, *signal.lines)
        case "archive":
            return _archived(state, signal.lines)
        case "moved_link":
            return _followed(state, signal)
        case "link":
            return _linked(state, signal)
        case "split":
            return _split(state, state.pages[signal.places[0]])
        case "journal":
            return _filed(signal)
    return None


def line_changes(
    state: MountState, path: str, changes: Iterable[tuple[PageLine, str | None]]
) -> tuple[EditChange, ...]:
    """Return changes of lines of one page; None takes a line out.

    They go from the end of the page on, so that equal lines keep their places while later ones go.
    """
    lines = [line.rstrip("\r\n") for line in split_lines(state.pages[path].text)]
    counts: dict[str, int] = {}
    made = []
    for line, new in sorted(changes, key=lambda change: -change[0].start):
        count = counts.setdefault(line.raw, lines.count(line.raw))
        made.append(EditChange("line", line.raw, new, line.nth, count))
        counts[line.raw] -= new != line.raw
    return tuple(made)


def _without_duplicates(state: MountState, kept: PageLine, others: Sequence[PageLine]) -> Group | None:
    """Return the edits that leave one of lines that say the same, with the oldest date and all links."""
    raw = kept.raw
    days = [line.day for line in (kept, *others) if line.day is not None]
    if kept.day is None and days:
        return None
    if kept.day is not None and min(days) < kept.day:
        raw = _STAMP_DAY.sub(f"({min(days)}", raw, count=1)
    for target in (target for line in others for target in _LINK.findall(_end(line.raw))):
        if target not in raw:
            raw = f"{raw.rstrip()} {target}"
    why = "The same statement stands in two places; the other one stays."
    edits = []
    for path in dict.fromkeys([*(line.path for line in others), kept.path]):
        going = [line for line in others if line.path == path]
        changes: list[tuple[PageLine, str | None]] = [(line, None) for line in going]
        is_changed = path == kept.path and raw != kept.raw
        made = line_changes(state, path, [*changes, *([(kept, raw)] if is_changed else [])])
        if path == kept.path and not is_changed:
            made = (*made, EditChange("need", old=kept.raw))
        removed = tuple(line.reference for line in going)
        twins = (kept.reference,) * len(going)
        edits.append(FileEdit("duplicate", path, state.pages[path].version, made, removed, twins, why))
    return tuple(edits)


def _end(raw: str) -> str:
    """Return the links that end a line."""
    return raw[len(without_links(raw)) :]


def _without_superseded(state: MountState, newer: PageLine, older: PageLine) -> Group:
    why = f"A newer statement of {newer.day} gives another value: {newer.text}"
    changes = line_changes(state, older.path, [(older, None)])
    going = FileEdit(
        "superseded", older.path, older.version, changes, (older.reference,), (newer.reference,), why
    )
    return _needing(going, newer)


def _needing(edit: FileEdit, line: PageLine) -> Group:
    """Return an edit as a group that can be applied only while a line stands."""
    need = (EditChange("need", old=line.raw),)
    if line.path == edit.path:
        return (replace(edit, changes=(*edit.changes, *need)),)
    return edit, FileEdit(edit.kind, line.path, line.version, need, why=edit.why)


def _ticked(state: MountState, done: PageLine, task: PageLine) -> Group:
    new = task.raw.replace("[ ]", "[x]", 1)
    target = f"[[{state.pages[done.path].target}]]"
    if done.path != task.path and target not in new:
        new = f"{new.rstrip()} {target}"
    changes = line_changes(state, task.path, [(task, new)])
    is_below_kind = stands_for_kind(task.heading) and f"## {task.heading}\n" in state.pages[task.path].text
    if is_statement_file(task.path) and is_below_kind:
        changes = (*changes, EditChange("done", new, heading=task.heading))
    why = f"It is done: {done.text}"
    edit = FileEdit("task_done", task.path, task.version, changes, (), (done.reference,), why)
    return _needing(edit, done)


def _archived(state: MountState, lines: Sequence[PageLine]) -> Group | None:
    page = state.pages[lines[0].path]
    archive = f"{state.mount}/archive/{page.stem}-{state.today.year}.md"
    version = state.pages[archive].version if archive in state.pages else None
    why = "These tasks have been done for 90 days; the archive keeps them word for word."
    changes = line_changes(state, page.path, [(line, None) for line in lines])
    added = tuple(
        EditChange("add", new=line.raw, title=f"Done in {state.today.year} and before") for line in lines
    )
    removed = tuple(line.reference for line in lines)
    kept = (archive,) * len(removed)
    return (
        FileEdit("archive", page.path, page.version, changes, removed, kept, why),
        FileEdit("archive", archive, version, added, (), (), why),
    )


def _followed(state: MountState, signal: Signal) -> Group | None:
    reference, place = signal.places
    path, _, rest = reference.rpartition("@")
    start = int(rest.partition(":")[2].partition("-")[0])
    page, raw = state.pages[path], signal.link[0]
    line, nth, count = _line_at(page.text, start)
    new_link = _new_link(page, raw, state.pages[place])
    if new_link is None:
        return None
    change = EditChange("line", line, line.replace(raw, new_link), nth, count)
    why = f"The file that the link names stands at {place} now."
    return (FileEdit("moved_link", path, page.version, (change,), (), (place,), why),)


def _line_at(text: str, place: int) -> tuple[str, int, int]:
    """Return the line that a place is in, its number among equal ones, and how many equal ones there are."""
    at, found, seen = 0, "", 0
    lines = [line.group() for line in LINE.finditer(text)]
    for line in lines:
        if at <= place < at + len(line):
            found = line.rstrip("\r\n")
            break
        at += len(line)
    before = 0
    for line in lines:
        if before >= at:
            break
        seen += line.rstrip("\r\n") == found
        before += len(line)
    return found, seen, sum(line.rstrip("\r\n") == found for line in lines)


def _new_link(page: DreamPage, raw: str, target: DreamPage) -> str | None:
    """Return a link with another target; None if its form is not a plain one."""
    wiki = re.fullmatch(r"(!?\[\[)([^\[\]\n|#]+)(#[^\[\]\n|]*)?(\|[^\[\]\n|]*)?(\]\])", raw)
    if wiki is not None:
        return f"{wiki[1]}{target.target}{wiki[3] or ''}{wiki[4] or ''}{wiki[5]}"
    markdown_link = re.fullmatch(r"(\[[^\[\]\n]*\]\()([^()\s#]+)(#[^()\s]*)?(\))", raw)
    if markdown_link is None:
        return None
    folder = parse(page.path).relative.split("/")[:-1]
    place = parse(target.path).relative.split("/")
    while folder and len(place) > 1 and folder[0] == place[0]:
        folder, place = folder[1:], place[1:]
    written = _NOT_PLAIN.sub(lambda found: quote(found[0]), "/".join(place))
    return f"{markdown_link[1]}{'../' * len(folder)}{written}{markdown_link[3] or ''}{markdown_link[4]}"


def _linked(state: MountState, signal: Signal) -> Group | None:
    [line], [place] = signal.lines, signal.places
    page = state.pages[place]
    if mount_of(place) != state.mount or line.raw.count("[[") >= MAX_LINKS_A_LINE:
        return None
    changes = line_changes(state, line.path, [(line, f"{line.raw.rstrip()} [[{page.target}]]")])
    why = f"The line names {signal.note}, which has a page."
    return (FileEdit("link", line.path, line.version, changes, (), (place,), why),)


def _split(state: MountState, page: DreamPage) -> Group:
    """Return a page cut at its headings of level 2: each section is a page, and the page leads to them."""
    heads = [heading for heading in page.document.headings if heading.level == 2]
    folder = page.path.removesuffix(".md")
    hub = [page.text[: heads[0].start]]
    made: list[FileEdit] = []
    why = f"The page has {len(page.text):,} characters; its sections become pages, and no word is changed."
    taken = set(state.pages)
    for place, heading in enumerate(heads):
        end = heads[place + 1].start if place + 1 < len(heads) else len(page.text)
        section = page.text[heading.start : end]
        if len(section) < LEAST_SECTION_CHARS:
            hub.append(section)
            continue
        slug = _SLUG.sub("-", heading.title.casefold()).strip("-")[:60] or "section"
        path = next(
            name
            for n in range(1, 1000)
            if (name := f"{folder}/{slug}{'' if n == 1 else f'-{n}'}.md") not in taken
        )
        taken.add(path)
        made.append(FileEdit("split", path, None, (EditChange("text", new=section),), why=why))
        first = section.splitlines(keepends=True)[0].rstrip("\r\n")
        target = path.removeprefix(f"{state.mount}/").removesuffix(".md")
        hub.append(f"{first}\n\n[[{target}]]\n\n")
    change = EditChange("text", old=page.text[:200], new="".join(hub).rstrip("\n") + "\n")
    return (
        FileEdit("split", page.path, page.version, (change,), (), tuple(edit.path for edit in made), why),
        *made,
    )


def _filed(signal: Signal) -> Group | None:
    statement, entry = signal.statement, signal.entry
    if statement is None or entry is None:
        return None
    place = destination(statement.kind, None, statement.text)
    change = EditChange(
        "file",
        new=statement.text,
        title=place.title,
        heading=place.heading,
        kind=statement.kind,
        day=entry.said_at.date().isoformat(),
        source=signal.places[0],
    )
    why = f"It was said on {change.day}, and no page says it."
    return (FileEdit("journal", place.path, None, (change,), (), (signal.places[0],), why),)
