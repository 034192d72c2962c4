"""A Markdown file under revision: statements are put in, a dated bullet each, and texts taken out. Pure."""

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby

from memex.store import markdown
from memex.store.markdown import MarkdownDocument
from memex.subagent.remember.filing.entries import (
    SAME_TASK,
    Entry,
    EntryOutcome,
    PlannedEntry,
    lookup_keys,
    opposite_claim,
    plan_entries,
)
from memex.subagent.remember.filing.items import ListItem, line_end, list_items, prose_parts, prose_sentences
from memex.subagent.statements import paraphrase
from memex.subagent.statements.bullets import FENCE, escape_line, render_bullet, unclosed_fence
from memex.subagent.statements.subjects import is_replaceable, normal_form

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
_CONTENT_LINE = re.compile(r"[ \t]*[^\s]")
_TEXT_LINE = re.compile(r"(?![ \t]*(?:[-*+]|\d{1,9}[.)])[ \t])[ \t]*[^\s]")
_FULL_STOP = re.compile(r"[.!?。！？][\"'”’»)\]]*$")

_Change = tuple[int, int, str]  # a span of the text, and what stands there instead
_Items = dict[ListItem, None]  # an ordered set


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
    removals: Sequence[str] = (),
    matches_paraphrases: bool = False,
) -> RevisedFile:
    """Return a file with entries put in, each under its heading, and what became of each.

    - A text to take out goes first: a bullet, or a sentence or line of prose that stands there once. What is
      nested below a bullet keeps it.
    - An entry that says what it replaces takes the place of that, date and all, whatever it is about; where it
      does not stand there any more the entry is like any other.
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
        removals: texts of statements to take out.
        matches_paraphrases: a statement in nearly the same words is a duplicate too.
    """
    page = _Page.of(content or "", title, matches_paraphrases=matches_paraphrases)
    removed = tuple(map(page.remove, removals))
    outcomes = tuple(map(page.place, plan_entries(entries)))
    changed = page.content()
    return RevisedFile((content or "") if changed is None else changed, outcomes, removed)


@dataclass(slots=True)
class _Page:
    """A file while entries are put into it."""

    text: str
    title: str
    document: MarkdownDocument
    line_ending: str
    matches_paraphrases: bool
    items: list[ListItem] = field(default_factory=list)
    added: list[ListItem] = field(default_factory=list)
    by_normal_form: dict[tuple[str, ...], _Items] = field(default_factory=dict)
    by_name: dict[object, _Items] = field(default_factory=dict)
    by_rotation: dict[tuple[str, ...], _Items] = field(default_factory=dict)
    prose: set[tuple[str, ...]] = field(default_factory=set)
    prose_by_rotation: dict[tuple[str, ...], set[tuple[str, ...]]] = field(default_factory=dict)
    rewritten: list[_Change] = field(default_factory=list)

    @classmethod
    def of(cls, text: str, title: str, *, matches_paraphrases: bool) -> "_Page":
        """Return a file with all that it says already."""
        document, line_ending = markdown.parse(text), _line_ending(text)
        if closing := _closing_lines(text, document):
            text = f"{text}{'' if text.endswith(line_ending) else line_ending}{closing}"
            document = markdown.parse(text)
        page = cls(text, title, document, line_ending, matches_paraphrases)
        for item in list_items(text, page.document):
            page.items.append(item)
            page._index_item(item)
        for line in prose_parts(text, page.document):
            page._index_prose(line)
        return page

    def place(self, planned: PlannedEntry) -> EntryOutcome:
        """File one entry and say what became of it."""
        if planned.is_overtaken:
            return EntryOutcome("overtaken")
        if planned.replaces is not None and (outcome := self._replace(planned, planned.replaces)):
            return outcome
        pending = self.by_name.get(f"pending {planned.subject}") if planned.kind == "done" else None
        if pending and not planned.is_reopened:
            return self._finish(planned, list(pending))
        if planned.kind in SAME_TASK:
            return self._add_task(planned)
        if self.by_normal_form.get(planned.normal_form):
            return EntryOutcome("duplicate")
        if denied := self.by_name.get(opposite_claim(planned.normal_form)):
            return self._supersede(next(reversed(denied)), planned)
        if planned.normal_form in self.prose or self._is_paraphrase_known(planned):
            return EntryOutcome("duplicate")
        older = (
            [item for item in self.by_name.get(planned.subject, ()) if is_replaceable(item.text)]
            if planned.subject
            else []
        )
        if older:
            return self._supersede(older[-1], planned)
        self._add(planned)
        return planned.outcome()

    def remove(self, text: str) -> EntryOutcome:
        """Take a statement out and say what became of it."""
        item = self._find_item(text)
        if item is None:
            return self._remove_prose(text)
        if self._nests(item):
            return EntryOutcome("nested")
        self._unindex_item(item)
        item.is_gone = True
        return EntryOutcome("removed", item.text)

    def _replace(self, planned: PlannedEntry, text: str) -> EntryOutcome | None:
        """Put an entry in the place of a text; None when that is not there, or says the same."""
        older = self._find_item(text)
        if older is None:
            return self._rewrite_prose(planned, text)
        is_moved = older.kind != planned.kind and bool({older.kind, planned.kind} & SAME_TASK.keys())
        if is_moved:
            return self._finish(planned, [older])
        if older.normal_form == planned.normal_form or (
            self.matches_paraphrases and _texts_are_paraphrases(older.text, planned.entry.statement.text)
        ):
            return None
        if not (self.by_normal_form.get(planned.normal_form) or planned.normal_form in self.prose):
            return self._supersede(older, planned)
        if self._nests(older):
            return None
        self._unindex_item(older)
        older.is_gone = True
        return EntryOutcome("superseded", older.text)

    def _find_item(self, text: str) -> ListItem | None:
        """Return the last bullet that makes a statement, one that makes it in these very words before others."""
        found = list(self.by_normal_form.get(normal_form(text), ()))
        return next((item for item in reversed(found) if item.text == text), found[-1] if found else None)

    def _nests(self, item: ListItem) -> bool:
        """Whether something stands below a bullet."""
        return bool(item.children) or bool(self._rendered(item.own_end, item.end).strip())

    def _add_task(self, planned: PlannedEntry) -> EntryOutcome:
        if self._is_known(planned) or self._is_paraphrase_known(planned):
            return EntryOutcome("duplicate")
        self._add(planned)
        return planned.outcome()

    def _is_known(self, planned: PlannedEntry) -> bool:
        same = SAME_TASK.get(planned.kind, (planned.kind,))
        return (
            planned.normal_form in self.prose
            or any(
                self.by_name.get(f"{kind} {planned.subject}") for kind in same if planned.kind in SAME_TASK
            )
            or any(
                item.kind in same or item.kind not in SAME_TASK
                for item in self.by_normal_form.get(planned.normal_form, ())
            )
        )

    def _is_paraphrase_known(self, planned: PlannedEntry) -> bool:
        if not self.matches_paraphrases:
            return False
        form = paraphrase.paraphrase_form(planned.entry.statement.text)
        key = paraphrase.rotation_key(form)
        same = SAME_TASK.get(planned.kind)
        return any(
            paraphrase.are_paraphrases(form, other) for other in self.prose_by_rotation.get(key, ())
        ) or any(
            paraphrase.are_paraphrases(form, paraphrase.paraphrase_form(item.text))
            for item in self.by_rotation.get(key, ())
            if (item.kind in same if same else item.kind not in SAME_TASK)
        )

    def _supersede(self, older: ListItem, planned: PlannedEntry) -> EntryOutcome:
        replaced = older.text
        self._unindex_item(older)
        older.text, older.normal_form, older.subject, older.entry = (
            planned.entry.statement.text,
            planned.normal_form,
            planned.subject,
            planned.entry,
        )
        self._index_item(older)
        return EntryOutcome("superseded", replaced)

    def _finish(self, planned: PlannedEntry, older: list[ListItem]) -> EntryOutcome:
        """Take bullets away and put the one that stands for them in another section, unless it is there."""
        for item in older:
            self._unindex_item(item)
            item.is_gone = True
        parents = [item for item in older if self._nests(item)]
        if parents or not self._is_known(planned):
            self._add(planned, parents)
        return EntryOutcome("superseded", older[-1].text)

    def _add(self, planned: PlannedEntry, parents: Sequence[ListItem] = ()) -> None:
        entry = planned.entry
        item = ListItem(
            entry.statement.text,
            planned.normal_form,
            planned.subject,
            planned.kind,
            entry.heading,
            entry,
            children=parents,
        )
        self.added.append(item)
        self._index_item(item)

    def _index_item(self, item: ListItem) -> None:
        self.by_normal_form.setdefault(item.normal_form, {})[item] = None
        for name in lookup_keys(item.kind, item.subject, item.normal_form):
            self.by_name.setdefault(name, {})[item] = None
        if self.matches_paraphrases:
            self.by_rotation.setdefault(paraphrase.rotation_key(paraphrase.paraphrase_form(item.text)), {})[
                item
            ] = None

    def _unindex_item(self, item: ListItem) -> None:
        del self.by_normal_form[item.normal_form][item]
        for name in lookup_keys(item.kind, item.subject, item.normal_form):
            del self.by_name[name][item]
        if self.matches_paraphrases:
            del self.by_rotation[paraphrase.rotation_key(paraphrase.paraphrase_form(item.text))][item]

    def _index_prose(self, line: str) -> None:
        self.prose.add(normal_form(line))
        if self.matches_paraphrases:
            form = paraphrase.paraphrase_form(line)
            self.prose_by_rotation.setdefault(paraphrase.rotation_key(form), set()).add(form)

    def _rewrite_prose(self, planned: PlannedEntry, text: str) -> EntryOutcome | None:
        """Put a statement of one line in the place of prose; None when that does not stand there once."""
        span = self._prose_span(text)
        statement = planned.entry.statement.text
        if span is None or "\n" in statement:
            return None
        start, end = span
        if _FULL_STOP.search(text) and not _FULL_STOP.search(statement):
            statement += "."
        is_at_line_start = not self.text[self.text.rfind("\n", 0, start) + 1 : start].strip()
        change = start, end, escape_line(statement) if is_at_line_start else statement
        if not self._keeps_structure(change):
            return None
        self._rewrite(change)
        self._index_prose(statement)
        return EntryOutcome("superseded", text)

    def _remove_prose(self, text: str) -> EntryOutcome:
        span = self._prose_span(text)
        if span is None:
            return EntryOutcome("absent")
        start, end = span
        line = self.text.rfind("\n", 0, start) + 1, line_end(self.text, end)
        if self.text[slice(*line)].strip() == text.strip():
            change = *line, ""
        else:
            space = len(self.text[end : line[1]]) - len(self.text[end : line[1]].lstrip(" \t"))
            change = start, end + space, ""
        if not self._keeps_structure(change):
            return EntryOutcome("absent")
        self._rewrite(change)
        return EntryOutcome("removed", text)

    def _prose_span(self, text: str) -> tuple[int, int] | None:
        """Return where a sentence or a line stands in the prose, if it stands once in the file."""
        wanted = text.strip()
        if not wanted or self.text.count(wanted) != 1:
            return None
        spans = prose_sentences(self.text, self.document, with_lines=True)
        found = (span for span in spans if self.text[slice(*span)] == wanted)
        return next((span for span in found if not self._is_rewritten(span)), None)

    def _is_rewritten(self, span: tuple[int, int]) -> bool:
        return any(start < span[1] and span[0] < end for start, end, _ in self.rewritten)

    def _keeps_structure(self, change: _Change) -> bool:
        """Whether headings, lists, code and front matter stay what they are; a paragraph may go."""
        start, end, text = change
        after = markdown.parse(self.text[:start] + text + self.text[end:])
        return _structure(after) == _structure(self.document)

    def _rewrite(self, change: _Change) -> None:
        self.rewritten.append(change)
        self.prose.discard(normal_form(self.text[change[0] : change[1]]))
        form = paraphrase.paraphrase_form(self.text[change[0] : change[1]])
        self.prose_by_rotation.get(paraphrase.rotation_key(form), set()).discard(form)

    def content(self) -> str | None:
        """Return the file with all that was put in; None when nothing was."""
        changes = [*self._changes(0, len(self.text)), *self.rewritten, *self._additions()]
        return self._applied(changes, 0, len(self.text)) if changes else None

    def _rendered(self, start: int, end: int) -> str:
        """Return a part of the file with what is changed in it."""
        return self._applied(list(self._changes(start, end)), start, end)

    def _applied(self, changes: Sequence[_Change], start: int, end: int) -> str:
        parts, at = [], start
        for first, last, text in sorted(changes, key=_in_order):
            if first >= at:
                parts += [self.text[at:first], text]
                at = last
        return "".join([*parts, self.text[at:end]])

    def _changes(self, start: int, end: int) -> Iterator[_Change]:
        """Yield what becomes of the bullets in a part of the file."""
        starts = [bisect_left(self.items, place, key=lambda item: item.start) for place in (start, end)]
        for item in self.items[slice(*starts)]:
            if item.is_gone:
                yield item.start, item.end, self._gap(item.start, item.end)
            elif item.is_changed:
                yield item.start, item.own_end, self._lines(item) + self._gap(item.start, item.own_end)

    def _gap(self, start: int, end: int) -> str:
        """Return a line ending if text would run into a bullet when the code between them goes."""
        is_code = FENCE.search(self.text, start, end) is not None
        return self.line_ending if is_code and _TEXT_LINE.match(self.text, end) else ""

    def _lines(self, item: ListItem) -> str:
        entry = item.entry
        assert entry is not None  # noqa: S101  # only what an entry wrote is written
        first, *rest = render_bullet(entry.statement.text, entry.date, entry.links).split("\n")
        indent = " " * (len(item.marker.expandtabs(4)) - len(item.marker.lstrip()) + _width(item.marker) - 2)
        lines = [item.marker + first[2:], *(indent + line if line else "" for line in rest)]
        children = "".join(self._rendered(parent.own_end, parent.end) for parent in item.children)
        if children and children[-1] not in "\r\n":
            children += self.line_ending
        return "".join(line + self.line_ending for line in lines) + children

    def _additions(self) -> Iterator[_Change]:
        """Yield what goes in under each heading, and at the end the headings that the file lacks."""
        by_heading: dict[str, list[ListItem]] = {}
        for item in self.added:
            if not item.is_gone:
                by_heading.setdefault(" ".join(item.heading.split()), []).append(item)
        missing = []
        for heading, under in by_heading.items():
            span = self._own_part(heading)
            if span is None:
                missing.append((heading, under))
            else:
                yield self._under(span, under)
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

    def _under(self, span: tuple[int, int], under: list[ListItem]) -> _Change:
        start, end = span
        point = start + len(self.text[start:end].rstrip())
        if point > start:
            point = line_end(self.text, point)
        last = next((block for block in reversed(self.document.blocks) if block.start < point), None)
        lines = "".join(map(self._lines, under))
        before = "" if point == 0 or self.text[point - 1] in "\r\n" else self.line_ending
        if last is None or last.kind != "bullet_list" or last.end <= start:
            before += self.line_ending
        after = self.line_ending if _CONTENT_LINE.match(self.text, point) else ""
        return point, point, before + lines + after

    def _at_end(self, sections: list[tuple[str, list[ListItem]]]) -> _Change:
        written = self.text.rstrip("\r\n")
        has_body = bool(self.text[self.document.body_start :].strip())
        parts = [] if has_body or self.document.headings else [f"# {self.title}"]
        for heading, under in sections:
            parts += [f"## {heading}", "".join(map(self._lines, under)).removesuffix(self.line_ending)]
        breaks = self.text[len(written) :].count("\n")
        before = self.line_ending * (max(0, 2 - breaks) if written.strip("\ufeff") else 0)
        blank = self.line_ending * 2
        return len(self.text), len(self.text), before + blank.join(parts) + self.line_ending


def _in_order(change: _Change) -> tuple[int, bool, int]:
    """Return what changes are sorted by: what is put in first, and what goes before what goes with it."""
    start, end, _ = change
    return start, start < end, -end


def _structure(document: MarkdownDocument) -> tuple[object, ...]:
    """Return what a file is made of beside its paragraphs."""
    kinds = (block.kind for block in document.blocks if block.kind != "paragraph")
    titles = [(one.level, one.title) for one in document.headings]
    return document.front_matter, titles, [kind for kind, _ in groupby(kinds)]


def _texts_are_paraphrases(one: str, other: str) -> bool:
    return paraphrase.are_paraphrases(paraphrase.paraphrase_form(one), paraphrase.paraphrase_form(other))


def _line_ending(text: str) -> str:
    first = text.find("\n")
    return "\r\n" if first > 0 and text[first - 1] == "\r" else "\n"


def _width(marker: str) -> int:
    """Return how far the text of an item stands from its marker's first character, without a box."""
    return len(marker.split(maxsplit=1)[0]) + 1


def _closing_lines(text: str, document: MarkdownDocument) -> str:
    """Return what closes a last block that would take in all that is put behind it; mostly nothing."""
    last = document.blocks[-1] if document.blocks else None
    if last is None or last.kind not in {"fence", "html_block"}:
        return ""
    block = text[last.start : last.end]
    if last.kind == "fence":
        return unclosed_fence(block)
    opening = _HTML_OPENING.match(block)
    closing = _HTML_CLOSINGS.get(opening[1].casefold()) if opening else None
    return "" if closing is None or closing in block.casefold() else closing
