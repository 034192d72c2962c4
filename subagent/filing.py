"""Where statements are filed, and how they are put into a Markdown file: one bullet each, with its date. Pure.

Work goes to the project that it belongs to, when there is one. What is personal does not: preferences and
profile facts stay under `user/` even then, and so does what somebody says of himself, for the members of a
project read all of its files.

    - I prefer tea over coffee. (2026-11-22) [[people/alice]]
"""

import datetime
import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Literal

from memex.store import markdown
from memex.store.markdown import Document
from memex.subagent import language, segments
from memex.subagent.statements import KINDS, Kind, Statement, claim, is_bare, is_personal, key, normal_form

_PERSONAL: frozenset[Kind] = frozenset({"preference", "profile"})
_PERSONAL_IN_FIRST_PERSON: frozenset[Kind] = frozenset({"note", "objective", "pending", "done"})
_PLACES: dict[Kind, tuple[str, str, str]] = {
    "profile": ("profile.md", "Profile", "About me"),
    "preference": ("preferences.md", "Preferences", "Likes and wishes"),
    "decision": ("decisions.md", "Decisions and constraints", "Decisions"),
    "constraint": ("decisions.md", "Decisions and constraints", "Constraints"),
    "objective": ("goals.md", "Goals", "Objectives"),
    "definition_of_done": ("goals.md", "Goals", "Definition of done"),
    "pending": ("tasks.md", "Tasks", "To do"),
    "done": ("tasks.md", "Tasks", "Done"),
    "blocker": ("tasks.md", "Tasks", "Blocked"),
    "note": ("notes.md", "Notes", "Notes"),
}
# Where a task is known already: one that is done may come up again.
_SAME_TASK: dict[Kind, tuple[Kind, ...]] = {
    "pending": ("pending", "blocker"),
    "done": ("done",),
    "blocker": ("blocker",),
}
_KIND_OF_HEADING: dict[str, Kind] = {_PLACES[kind][2].casefold(): kind for kind in KINDS}

_LINE = re.compile(r"[^\r\n]*(?:\r\n?|\n|\Z)")
_ITEM = re.compile(r"([ \t]*)([-*+]|\d{1,9}[.)])(?:[ \t]+(?:\[([ xX])\][ \t]+)?|$)")
_STAMP = re.compile(r"(?:^|[ \t]+)\((\d{4}-\d\d-\d\d)\)(?:[ \t]+\[\[[^\[\]\n]+\]\])*[ \t]*$")
_LINE_END = re.compile(r"\r\n?|\n")
_HTML_OPENING = re.compile(r"\s*(<!--|<\?|<!\[cdata\[|<!|<script|<pre|<style|<textarea)", re.IGNORECASE)
_HTML_CLOSINGS = {
    "<!--": "-->",
    "<?": "?>",
    "<![cdata[": "]]>",
    "<!": ">",
    "<script": "</script>",
    "<pre": "</pre>",
    "<style": "</style>",
    "<textarea": "</textarea>",
}
_FENCE = re.compile(r"[ \t]*(`{3,}(?=[^`]*$)|~{3,})")
_CONTENT_LINE = re.compile(r"[ \t]*[^\s]")
_TEXT_LINE = re.compile(r"(?![ \t]*(?:[-*+]|\d{1,9}[.)])[ \t])[ \t]*[^\s]")
_QUOTE = re.compile(r"(?:[ \t]*>)+[ \t]?")
# What at the head of a bullet would be a heading, a quote, a list, a rule or a table and no text.
_STRUCTURE = re.compile(r"(?:#{1,6}(?=[ \t]|$)|>|[-*+](?=[ \t]|$)|(?:[-*_=][ \t]*){3,}$|\[[ xX]\](?=[ \t]))")
_NUMBERED = re.compile(r"(\d{1,9})(?=\\*[.)](?:[ \t]|$))")
_ESCAPED = re.compile(r"\\(?=#{1,6}(?:[ \t]|$)|>|[-*+](?:[ \t]|$)|(?:[-*_=][ \t]*){3,}$|\[[ xX]\][ \t])")
_ESCAPED_NUMBER = re.compile(r"(\d{1,9})\\(?=\\*[.)](?:[ \t]|$))")


@dataclass(frozen=True, slots=True)
class Destination:
    """Where statements of a kind are filed: a virtual path, the title of a new file there, a heading in it."""

    path: str
    title: str
    heading: str


@dataclass(frozen=True, slots=True)
class Entry:
    """A statement to file; `links` are targets such as `people/alice`."""

    statement: Statement
    heading: str
    date: datetime.date
    links: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of an entry; `replaced` is the text of the bullet that it superseded.

    `overtaken`: a later entry of the same call takes its place, and it is not filed.
    """

    action: Literal["added", "duplicate", "superseded", "overtaken"]
    replaced: str | None = None


@dataclass(frozen=True, slots=True)
class Revised:
    """A file's new content, and one outcome an entry, in their order."""

    content: str
    outcomes: tuple[Outcome, ...]


def destination(kind: Kind, project: str | None, text: str = "") -> Destination:
    """Return where a statement is filed.

    Args:
        kind: what it is.
        project: the slug of the project that it was made in.
        text: the statement; without it, where those of its kind go that are not about the user himself.
    """
    name, title, heading = _PLACES[kind]
    is_own = kind in _PERSONAL or (kind in _PERSONAL_IN_FIRST_PERSON and is_personal(text))
    folder = "user" if project is None or is_own else f"projects/{project}"
    return Destination(f"{folder}/{name}", title, heading)


def bullet(entry: Entry) -> str:
    r"""Return an entry as a list item, its lines ended by `\n` but for the last.

    Date and links end the text; before code or a list they end its first line. Code that is left open is closed.
    """
    stamp = " ".join([f"({entry.date.isoformat()})", *(f"[[{target}]]" for target in entry.links)])
    first, *rest = entry.statement.text.split("\n")
    if _FENCE.match(first):
        lines = [stamp, first, *rest]
    elif any(_FENCE.match(line) or _ITEM.match(line) for line in rest):
        lines = [f"{_escaped(first)} {stamp}", *rest]
    else:
        lines = [_escaped(first), *rest]
        lines[-1] += f" {stamp}"
    if marker := _open_fence(entry.statement.text):
        lines.append(marker)
    return "\n".join([f"- {lines[0]}", *(f"  {line}" if line else "" for line in lines[1:])])


def bullet_text(item: str) -> str:
    """Return the statement in a list item as `bullet` wrote it: without marker, box, date and links.

    Any other text comes back as it is, without outer space and date.
    """
    lines = _LINE_END.split(item.strip("\r\n"))
    marker = _ITEM.match(lines[0])
    indent = len(marker[1]) + len(marker[2]) + 1 if marker else 0
    first = lines[0][marker.end() :] if marker else lines[0].strip()
    rest = [line[min(indent, len(line) - len(line.lstrip(" \t"))) :] for line in lines[1:]]
    while rest and not rest[-1].strip():
        rest.pop()
    if rest and _STAMP.search(rest[-1]):
        rest[-1] = _STAMP.sub("", rest[-1])
    else:
        first = _STAMP.sub("", first)
    return "\n".join(filter(None, [_unescaped(first), "\n".join(rest)])).strip()


def _escaped(line: str) -> str:
    if _STRUCTURE.match(line.lstrip("\\")):
        return f"\\{line}"
    return _NUMBERED.sub(r"\1\\", line, count=1) if _NUMBERED.match(line) else line


def _unescaped(line: str) -> str:
    bare = line.lstrip("\\")
    if len(bare) < len(line) and _ESCAPED.match("\\" + bare):
        return line[1:]
    return _ESCAPED_NUMBER.sub(r"\1", line, count=1) if _ESCAPED_NUMBER.match(line) else line


def revise(content: str | None, entries: Sequence[Entry], *, title: str) -> Revised:
    """Return a file with entries put in, each under its heading, and what became of each.

    - A statement that a bullet or a line of prose anywhere in the file makes already is a duplicate.
    - One with the key of a bullet takes that bullet's place, date and all, unless the bullet says more than
      that; what is nested below stays. Where several have that key, the last one counts.
    - One that denies what a bullet says word for word takes its place too, and the other way round.
    - A task that is done takes the pending bullet of that task away; a task that was done may come up again.
    - Of several entries that would replace each other the last one is filed, the others are overtaken.
    - Anything else is added behind the last line under its heading, before the next heading of any level; a
      heading that is missing is added at the end of the file.

    Entries act one after the other. To play them again, on whatever day, changes nothing.
    Every other character of the file is kept.

    Args:
        content: the file as it is; None or without text for a new one.
        entries: what to file.
        title: the heading of level 1 of a new file.
    """
    page = _Page.of(content or "", title)
    outcomes = tuple(page.put(put) for put in _in_turn(entries))
    changed = page.content()
    return Revised((content or "") if changed is None else changed, outcomes)


@dataclass(slots=True)
class _Put:
    """An entry, and what the later entries of its call make of it.

    `is_overtaken` when one takes its place, which has its text as `instead_of`; `is_reopened` when its task is
    done here and comes up again there.
    """

    entry: Entry
    kind: Kind
    form: tuple[str, ...]
    topic: str | None
    is_overtaken: bool = False
    instead_of: str | None = None
    is_reopened: bool = False

    @classmethod
    def of(cls, entry: Entry) -> "_Put":
        """Return an entry by itself."""
        kind, form = _kind_under(entry.heading), normal_form(entry.statement.text)
        return cls(entry, kind, form, _topic(kind, entry.statement.text, form))

    def outcome(self) -> Outcome:
        """Return what becomes of it when nothing in the file gives way to it."""
        return Outcome("superseded", self.instead_of) if self.instead_of else Outcome("added")


def _in_turn(entries: Sequence[Entry]) -> list[_Put]:
    """Return entries with what those of one call make of each other."""
    puts = [_Put.of(entry) for entry in entries]
    later: dict[object, dict[tuple[str, ...], _Put]] = {}
    for put in reversed(puts):
        taking = next(_taking(put, later), None)
        if taking is not None:
            put.is_overtaken, taking.instead_of = True, put.entry.statement.text
        put.is_reopened = put.kind == "done" and f"pending {put.topic}" in later
        for name in _names(put.kind, put.topic, put.form):
            later.setdefault(name, {}).setdefault(put.form, put)
    return puts


def _taking(put: _Put, later: Mapping[object, Mapping[tuple[str, ...], _Put]]) -> Iterator[_Put]:
    """Yield the later entries that take an entry's place."""
    if put.kind in _SAME_TASK:
        if put.kind == "pending":
            yield from later.get(f"done {put.topic}", {}).values()
        return
    yield from later.get(_contrary(put.form), {}).values()
    if put.topic is not None and is_bare(put.entry.statement.text):
        yield from (other for form, other in later.get(put.topic, {}).items() if form != put.form)


def _names(kind: Kind, topic: str | None, form: tuple[str, ...]) -> Iterator[object]:
    """Yield what a statement is found by when another may take its place."""
    if kind in _SAME_TASK:
        yield f"{kind} {topic}"
        return
    yield claim(form)
    if topic is not None:
        yield topic


def _contrary(form: tuple[str, ...]) -> tuple[str, bool]:
    """Return the claim of a statement that says the opposite."""
    words, is_denied = claim(form)
    return words, not is_denied


@dataclass(slots=True, eq=False)
class _Bullet:
    """A list item of the file, or a new one, as the entries change it; spans are of whole lines."""

    text: str
    form: tuple[str, ...]
    topic: str | None
    kind: Kind
    heading: str
    entry: Entry | None = None
    is_gone: bool = False
    form_before: tuple[str, ...] | None = None  # None for a new one
    marker: str = "- "
    start: int = 0
    own_end: int = 0  # behind its statement; what is nested below it follows
    end: int = 0
    children: str = ""  # of the bullet whose place a new one takes in another section


_Bullets = dict[_Bullet, None]  # an ordered set


@dataclass(slots=True)
class _Page:
    """A file while entries are put into it."""

    text: str
    title: str
    document: Document
    line_ending: str
    bullets: list[_Bullet] = field(default_factory=list)
    added: list[_Bullet] = field(default_factory=list)
    by_form: dict[tuple[str, ...], _Bullets] = field(default_factory=dict)
    by_name: dict[object, _Bullets] = field(default_factory=dict)
    prose: set[tuple[str, ...]] = field(default_factory=set)

    @classmethod
    def of(cls, text: str, title: str) -> "_Page":
        """Return a file with all that it says already."""
        document, line_ending = markdown.parse(text), _line_ending(text)
        if closing := _closing(text, document):
            text = f"{text}{'' if text.endswith(line_ending) else line_ending}{closing}"
            document = markdown.parse(text)
        page = cls(text, title, document, line_ending)
        for item in _items(text, page.document):
            page.bullets.append(item)
            page._know(item)
        page.prose.update(normal_form(line) for line in _prose(text, page.document))
        return page

    def put(self, put: _Put) -> Outcome:
        """File one entry and say what became of it."""
        if put.is_overtaken:
            return Outcome("overtaken")
        pending = self.by_name.get(f"pending {put.topic}") if put.kind == "done" else None
        if pending and not put.is_reopened:
            return self._finish(put, list(pending))
        if put.kind in _SAME_TASK:
            return self._add_task(put)
        if self.by_form.get(put.form):
            return Outcome("duplicate")
        if contrary := self.by_name.get(_contrary(put.form)):
            return self._supersede(next(reversed(contrary)), put)
        if put.form in self.prose:
            return Outcome("duplicate")
        older = [item for item in self.by_name.get(put.topic, ()) if is_bare(item.text)] if put.topic else []
        if older:
            return self._supersede(older[-1], put)
        self._add(put)
        return put.outcome()

    def _add_task(self, put: _Put) -> Outcome:
        if self._is_known_task(put):
            return Outcome("duplicate")
        self._add(put)
        return put.outcome()

    def _is_known_task(self, put: _Put) -> bool:
        same = _SAME_TASK[put.kind]
        return (
            put.form in self.prose
            or any(self.by_name.get(f"{kind} {put.topic}") for kind in same)
            or any(
                item.kind in same or item.kind not in _SAME_TASK for item in self.by_form.get(put.form, ())
            )
        )

    def _supersede(self, older: _Bullet, put: _Put) -> Outcome:
        replaced = older.text
        self._forget(older)
        older.text, older.form, older.topic, older.entry = (
            put.entry.statement.text,
            put.form,
            put.topic,
            put.entry,
        )
        self._know(older)
        return Outcome("superseded", replaced)

    def _finish(self, put: _Put, pending: list[_Bullet]) -> Outcome:
        """Take pending bullets away and put the one that says that the task is done, unless it is there."""
        for item in pending:
            self._forget(item)
            item.is_gone = True
        children = "".join(self.text[item.own_end : item.end] for item in pending)
        if children or not self._is_known_task(put):
            self._add(put, children)
        return Outcome("superseded", pending[-1].text)

    def _add(self, put: _Put, children: str = "") -> None:
        entry = put.entry
        item = _Bullet(
            entry.statement.text, put.form, put.topic, put.kind, entry.heading, entry, children=children
        )
        self.added.append(item)
        self._know(item)

    def _know(self, item: _Bullet) -> None:
        self.by_form.setdefault(item.form, {})[item] = None
        for name in _names(item.kind, item.topic, item.form):
            self.by_name.setdefault(name, {})[item] = None

    def _forget(self, item: _Bullet) -> None:
        del self.by_form[item.form][item]
        for name in _names(item.kind, item.topic, item.form):
            del self.by_name[name][item]

    def content(self) -> str | None:
        """Return the file with all that was put in; None when nothing was."""
        changes = sorted([*self._changes(), *self._additions()], key=lambda change: change[:2])
        if not changes:
            return None
        parts, at = [], 0
        for start, end, text in changes:
            parts += [self.text[at:start], text]
            at = end
        return "".join([*parts, self.text[at:]])

    def _changes(self) -> Iterator[tuple[int, int, str]]:
        for item in self.bullets:
            if item.is_gone:
                yield item.start, item.end, self._gap(item.start, item.end)
            elif item.entry is not None and item.form != item.form_before:
                yield item.start, item.own_end, self._lines(item) + self._gap(item.start, item.own_end)

    def _gap(self, start: int, end: int) -> str:
        """Return a line ending if text would run into a bullet when the code between them goes."""
        is_code = _FENCE.search(self.text, start, end) is not None
        return self.line_ending if is_code and _TEXT_LINE.match(self.text, end) else ""

    def _lines(self, item: _Bullet) -> str:
        assert item.entry is not None  # noqa: S101  # only what an entry wrote is written
        first, *rest = bullet(item.entry).split("\n")
        indent = " " * (len(item.marker.expandtabs(4)) - len(item.marker.lstrip()) + _width(item.marker) - 2)
        lines = [item.marker + first[2:], *(indent + line if line else "" for line in rest)]
        children = item.children
        if children and children[-1] not in "\r\n":
            children += self.line_ending
        return "".join(line + self.line_ending for line in lines) + children

    def _additions(self) -> Iterator[tuple[int, int, str]]:
        """Yield what goes in under each heading, and at the end the headings that the file lacks."""
        by_heading: dict[str, list[_Bullet]] = {}
        for item in self.added:
            if not item.is_gone:
                by_heading.setdefault(" ".join(item.heading.split()), []).append(item)
        missing = []
        for heading, items in by_heading.items():
            span = self._own_part(heading)
            if span is None:
                missing.append((heading, items))
            else:
                yield self._under(span, items)
        if missing:
            yield self._at_end(missing)

    def _own_part(self, heading: str) -> tuple[int, int] | None:
        """Return where the text under a heading begins, and where the next heading of any level does.

        A file may be titled as its section is: the section is meant.
        """
        title = markdown.plain_title(heading).casefold()
        headings = self.document.headings
        named = [place for place, one in enumerate(headings) if one.title.casefold() == title]
        if not named:
            return None
        place = next((place for place in named if headings[place].level > 1), named[0])
        following = headings[place + 1 : place + 2]
        return headings[place].end, following[0].start if following else len(self.text)

    def _under(self, span: tuple[int, int], items: list[_Bullet]) -> tuple[int, int, str]:
        start, end = span
        point = start + len(self.text[start:end].rstrip())
        if point > start:
            point = _LINE.match(self.text, point).end()  # type: ignore[union-attr]  # it matches anywhere
        last = next((block for block in reversed(self.document.blocks) if block.start < point), None)
        lines = "".join(map(self._lines, items))
        before = "" if point == 0 or self.text[point - 1] in "\r\n" else self.line_ending
        if last is None or last.kind != "bullet_list" or last.end <= start:
            before += self.line_ending
        after = self.line_ending if _CONTENT_LINE.match(self.text, point) else ""
        return point, point, before + lines + after

    def _at_end(self, sections: list[tuple[str, list[_Bullet]]]) -> tuple[int, int, str]:
        written = self.text.rstrip("\r\n")
        has_body = bool(self.text[self.document.body_start :].strip())
        parts = [] if has_body or self.document.headings else [f"# {self.title}"]
        for heading, items in sections:
            parts += [f"## {heading}", "".join(map(self._lines, items)).removesuffix(self.line_ending)]
        breaks = self.text[len(written) :].count("\n")
        before = self.line_ending * (max(0, 2 - breaks) if written.strip("\ufeff") else 0)
        blank = self.line_ending * 2
        return len(self.text), len(self.text), before + blank.join(parts) + self.line_ending


def _topic(kind: Kind, text: str, form: tuple[str, ...]) -> str | None:
    """Return a statement's key; of a task also when it is too long to have one."""
    topic = key(kind, text)
    return " ".join(form) if topic is None and kind in _SAME_TASK else topic


def _kind_under(heading: str) -> Kind:
    """Return what a bullet under a heading is: the file says it when it is read again, and nothing else does."""
    return _KIND_OF_HEADING.get(" ".join(heading.split()).casefold(), "note")


def _line_ending(text: str) -> str:
    first = text.find("\n")
    return "\r\n" if first > 0 and text[first - 1] == "\r" else "\n"


def _width(marker: str) -> int:
    """Return how far the text of an item stands from its marker's first character, without a box."""
    return len(marker.split(maxsplit=1)[0]) + 1


def _closing(text: str, document: Document) -> str:
    """Return what closes a last block that would take in all that is put behind it; mostly nothing."""
    last = document.blocks[-1] if document.blocks else None
    if last is None or last.kind not in {"fence", "html_block"}:
        return ""
    block = text[last.start : last.end]
    if last.kind == "fence":
        return _open_fence(block)
    opening = _HTML_OPENING.match(block)
    closing = _HTML_CLOSINGS.get(opening[1].casefold()) if opening else None
    return "" if closing is None or closing in block.casefold() else closing


def _open_fence(text: str) -> str:
    """Return the marker of a fence that the text opens and does not close."""
    marker = ""
    for line in _LINE_END.split(text):
        if not marker:
            fence = _FENCE.match(line)
            marker = fence[1] if fence else ""
        elif len(line.strip()) >= len(marker) and not line.strip().strip(marker[0]):
            marker = ""
    return marker


def _items(text: str, document: Document) -> Iterator[_Bullet]:
    """Yield the list items of the top-level lists, nested ones too."""
    starts = [heading.start for heading in document.headings]
    for block in document.blocks:
        if block.kind not in {"bullet_list", "ordered_list"}:
            continue
        index = bisect_right(starts, block.start) - 1
        heading = document.headings[index].title if index >= 0 else ""
        kind = _kind_under(heading)
        lines = _list_lines(text, block.start, block.end, document)
        at = 0
        while at < len(lines):
            marker = lines[at].marker
            if marker is None:
                at += 1
                continue
            own, whole = _extent(lines, at, marker)
            item_text = bullet_text(text[lines[at].start : lines[own - 1].end])
            item_kind: Kind = kind if marker[3] is None else "pending" if marker[3] == " " else "done"
            form = normal_form(item_text)
            yield _Bullet(
                item_text,
                form,
                _topic(item_kind, item_text, form),
                item_kind,
                heading,
                form_before=form,
                marker=marker[0] or "- ",
                start=lines[at].start,
                own_end=lines[own - 1].end,
                end=lines[whole - 1].end,
            )
            at = own


@dataclass(frozen=True, slots=True)
class _Line:
    """A line of a list; `marker` when an item begins in it."""

    start: int
    end: int
    marker: re.Match[str] | None
    is_blank: bool
    is_code: bool
    is_stamped: bool


def _list_lines(text: str, start: int, end: int, document: Document) -> list[_Line]:
    fences = document.fences
    fence = bisect_right(fences, (start, start))
    lines = []
    while start < end:
        line_end = _LINE.match(text, start).end()  # type: ignore[union-attr]  # it matches anywhere
        while fence < len(fences) and fences[fence][1] <= start:
            fence += 1
        is_code = fence < len(fences) and fences[fence][0] <= start
        line = text[start:line_end].rstrip("\r\n")
        # An item may open with a fence: then its first line is both.
        may_begin = not is_code or fences[fence][0] == start
        lines.append(
            _Line(
                start,
                line_end,
                _ITEM.match(line) if may_begin else None,
                not line.strip(),
                is_code,
                _STAMP.search(line) is not None,
            )
        )
        start = line_end
    return lines


def _extent(lines: Sequence[_Line], at: int, marker: re.Match[str]) -> tuple[int, int]:
    """Return behind which line the statement of an item ends, and behind which the item with what it nests.

    A statement ends before a blank line, before nested items unless it introduces them with a colon, and
    behind its date, which is the last one where its own words hold one; but code goes on.
    """
    indent = len(marker[1].expandtabs(4)) + 1
    first = _STAMP.sub("", marker.string)
    is_stamped, is_opener = first != marker.string, first.rstrip().endswith(":")
    if is_stamped:
        run = takewhile(lambda line: line.marker is None and not line.is_blank, lines[at + 1 :])
        is_stamped = not any(line.is_stamped for line in run)
    own = whole = at + 1
    is_own = True
    for index in range(at + 1, len(lines)):
        line = lines[index]
        is_nested = line.marker is not None and len(line.marker[1].expandtabs(4)) >= indent
        if line.marker is not None and not is_nested:
            break
        goes_on = not line.is_blank and (is_opener or not (is_nested or is_stamped))
        is_own = is_own and (line.is_code or goes_on)
        own = index + 1 if is_own else own
        whole = whole if line.is_blank and not line.is_code else index + 1
    return own, max(own, whole)


def _prose(text: str, document: Document) -> Iterator[str]:
    """Yield the lines of the paragraphs and quotes, their sentences, and each of them whole."""
    tables = language.load("en")
    for block in document.blocks:
        if block.kind not in {"paragraph", "blockquote"}:
            continue
        lines = [_QUOTE.sub("", line, count=1) for line in text[block.start : block.end].splitlines()]
        yield "\n".join(lines)
        for line in lines:
            spans = list(segments.sentences(line, tables))
            yield from (line[start:end] for start, end in spans)
            if len(spans) > 1:
                yield line
