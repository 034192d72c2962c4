"""A Markdown file while statements are put into it and taken out of it. Pure."""

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from memex.store import markdown
from memex.store.citations.syntax import find_citations, without_citations
from memex.store.markdown import MarkdownDocument
from memex.store.records import Span
from memex.subagent.remember.filing import layout
from memex.subagent.remember.filing.entries import (
    SAME_TASK,
    EntryOutcome,
    PlannedEntry,
    entry_subject,
    lookup_keys,
    opposite_claim,
)
from memex.subagent.remember.filing.items import ListItem, line_end, list_items, prose_parts, prose_sentences
from memex.subagent.remember.filing.sections import heading_for, index_headings, leaves_heading
from memex.subagent.statements import paraphrase
from memex.subagent.statements.bullets import cite, escape_line, render_bullet
from memex.subagent.statements.comparison.conjuncts import readings_of, rest_beside
from memex.subagent.statements.comparison.values import may_take_place
from memex.subagent.statements.places import DONE_HEADING, general_heading, section_rank, stands_for_kind
from memex.subagent.statements.subjects import is_replaceable, normal_form, subject_of

_CONTENT_LINE = re.compile(r"[ \t]*[^\s]")
_FULL_STOP = re.compile(r"[.!?。！？][\"'”’»)\]]*$")

_Change = tuple[int, int, str]  # a span of the text, and what stands there instead
_Items = dict[ListItem, None]  # an ordered set


@dataclass
class FileRevision:
    """A file while entries are put into it."""

    text: str
    title: str
    path: str
    document: MarkdownDocument
    line_ending: str
    matches_paraphrases: bool
    items: list[ListItem] = field(default_factory=list)
    added: list[ListItem] = field(default_factory=list)
    by_normal_form: dict[tuple[str, ...], _Items] = field(default_factory=dict)
    by_name: dict[object, _Items] = field(default_factory=dict)
    by_paraphrase: dict[tuple[str, ...], _Items] = field(default_factory=dict)
    prose: set[tuple[str, ...]] = field(default_factory=set)
    prose_paraphrases: set[tuple[str, ...]] = field(default_factory=set)
    rewritten: list[_Change] = field(default_factory=list)

    @classmethod
    def of(cls, text: str, title: str, path: str, *, matches_paraphrases: bool) -> "FileRevision":
        """Return a file with all that it says already."""
        document, line_ending = markdown.parse(text), layout.line_ending(text)
        if closing := layout.closing_lines(text, document):
            text = f"{text}{'' if text.endswith(line_ending) else line_ending}{closing}"
            document = markdown.parse(text)
        page = cls(text, title, path, document, line_ending, matches_paraphrases)
        for item in list_items(text, page.document, path):
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
        for item in self.by_normal_form.get(planned.normal_form, ()):
            if item.is_redated_by(planned.entry):
                return self._supersede(item, planned)
        if planned.kind == "done" and not planned.is_reopened and (pending := self._pending(planned)):
            return self._finish(planned, pending)
        if planned.kind in SAME_TASK:
            return self._add_task(planned)
        if self.by_normal_form.get(planned.normal_form):
            return self._duplicate(planned)
        if denied := self.by_name.get(opposite_claim(planned.normal_form)):
            return self._supersede(next(reversed(denied)), planned)
        if planned.normal_form in self.prose or self._is_paraphrase_known(planned):
            return EntryOutcome("duplicate")
        named = self.by_name.get(planned.subject or None, ())
        older = [
            item
            for item in named
            if is_replaceable(item.text) and may_take_place(planned.entry.statement.text, item.text)
        ]
        if older:
            return self._supersede(older[-1], planned)
        replaced = self._replace_fact(planned) if planned.subject else None
        self._add(planned)
        return EntryOutcome("superseded", replaced) if replaced else planned.outcome()

    def _pending(self, planned: PlannedEntry) -> list[ListItem]:
        """Return the pending bullets of a task that were there when it was said to be done."""
        return [
            item
            for item in self.by_name.get(f"pending {planned.subject}", ())
            if not item.resists(planned.entry)
        ]

    def _duplicate(self, planned: PlannedEntry) -> EntryOutcome:
        """Return that the file says it; the last bullet that does gets the citation of the new statement."""
        same = [*self.by_normal_form.get(planned.normal_form, ())]
        if not same:
            return EntryOutcome("duplicate")
        return EntryOutcome("duplicate", cited=same[-1].cite(planned.entry), known=same[-1].text)

    def remove(self, text: str, keeps: str = "") -> EntryOutcome:
        """Take a statement out, but what else it says, and say what became of it."""
        item = self._find_item(text)
        if item is None:
            return self._remove_prose(text, keeps)
        if item.is_later:
            return EntryOutcome("overtaken")
        if keeps:
            return EntryOutcome("removed", text) if self._keep(item, keeps) else EntryOutcome("nested")
        if self._nests(item):
            return EntryOutcome("nested")
        self._unindex_item(item)
        item.is_gone = True
        return EntryOutcome("removed", item.text)

    def finish(self, line: str) -> None:
        """Move the task of a ticked line to what is done, unless something stands below it."""
        found = (item for item in self.items if self.text[item.start : item.own_end].rstrip("\r\n") == line)
        if (item := next(found, None)) is not None:
            self._keep(item, item.text)

    def _replace(self, planned: PlannedEntry, text: str) -> EntryOutcome | None:
        """Put an entry in the place of a text; None when that is not there, or says the same."""
        older, keeps = self._find_item(text), planned.entry.keeps
        if older is None:
            return None if planned.entry.cited or keeps else self._rewrite_prose(planned, text)
        if older.resists(planned.entry):
            return None
        if keeps:
            if not self._keep(older, keeps):
                return None
            if not (self.by_normal_form.get(planned.normal_form) or planned.normal_form in self.prose):
                self._add(planned)
            return EntryOutcome("superseded", text)
        is_moved = older.kind != planned.kind and bool({older.kind, planned.kind} & SAME_TASK.keys())
        if is_moved:
            return self._finish(planned, [older])
        if older.normal_form == planned.normal_form or (
            self.matches_paraphrases and paraphrase.are_paraphrases(older.text, planned.entry.statement.text)
        ):
            return None
        if not (self.by_normal_form.get(planned.normal_form) or planned.normal_form in self.prose):
            return self._supersede(older, planned)
        if self._nests(older):
            return None
        self._unindex_item(older)
        older.is_gone = True
        return EntryOutcome("superseded", older.text)

    def _replace_fact(self, planned: PlannedEntry) -> str | None:
        """Take the fact with the subject of an entry out of the last bullet that joins it to others.

        Return the bullet as it was; None if none joins such a fact to others that may stay.
        """
        text = planned.entry.statement.text
        for item in reversed(self.joined_facts.get(planned.subject or "", ())):
            older = item.text
            if item.is_gone or item.resists(planned.entry):
                continue
            same = {
                fact
                for fact in readings_of(older)[1:]
                if subject_of(item.kind, fact) == planned.subject and may_take_place(text, fact)
            }
            rest = rest_beside(older, same.__contains__) if same else ""
            if rest and self._keep(item, rest):
                return older
        return None

    @cached_property
    def joined_facts(self) -> dict[str, list[ListItem]]:
        """The bullets of the file that join facts, by the subject of each fact."""
        found: dict[str, list[ListItem]] = {}
        for item in self.items:
            for fact in readings_of(item.text)[1:] if item.kind not in SAME_TASK else ():
                if subject := subject_of(item.kind, fact):
                    found.setdefault(subject, []).append(item)
        return found

    def _keep(self, item: ListItem, rest: str) -> bool:
        """Leave of a bullet what else it says, with its date and links; all of a task that is done stays, as done.

        False if its text does not stand in its line as it is.
        """
        lines = item.lines or (self.text[item.start : item.own_end] if item.entry is None else "")
        if lines.count(item.text) != 1 or self._nests(item):
            return False
        self._unindex_item(item)
        if rest == item.text:
            ticked = lines.replace("[ ]", "[x]", 1)
            item.is_gone, item.kind = True, "done"
            item = ListItem(
                item.text, item.normal_form, item.subject, "done", DONE_HEADING, lines=self._ended(ticked)
            )
            self.added.append(item)
        else:
            item.lines, item.text = lines.replace(item.text, rest, 1), rest
            item.normal_form = normal_form(rest)
            item.subject = entry_subject(item.kind, rest, item.normal_form)
        self._index_item(item)
        return True

    def _find_item(self, text: str) -> ListItem | None:
        """Return the last bullet that makes a statement, one that makes it in these very words before others.

        A text that ends with citations means a bullet that has exactly these.
        """
        found, wanted = list(self.by_normal_form.get(normal_form(text), ())), without_citations(text)
        if wanted != text:
            cited = find_citations(text)
            found = [item for item in found if find_citations(self.text[item.start : item.own_end]) == cited]
        return next((item for item in reversed(found) if item.text == wanted), found[-1] if found else None)

    def _nests(self, item: ListItem) -> bool:
        """Return whether something stands below a bullet."""
        below = item.own_end != item.end and self._rendered(item.own_end, item.end).strip()
        return bool(item.children) or bool(below)

    def _add_task(self, planned: PlannedEntry) -> EntryOutcome:
        if self._is_known(planned) or self._is_paraphrase_known(planned):
            return self._duplicate(planned)
        done = self.by_name.get(f"done {planned.subject}", ()) if planned.kind == "pending" else ()
        if any(item.resists(planned.entry) for item in done):
            return EntryOutcome("overtaken")
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
        same = SAME_TASK.get(planned.kind)
        return form in self.prose_paraphrases or any(
            item.kind in same if same else item.kind not in SAME_TASK
            for item in self.by_paraphrase.get(form, ())
        )

    def _supersede(self, older: ListItem, planned: PlannedEntry) -> EntryOutcome:
        """Put an entry in the place of a bullet, unless that was said later."""
        if older.resists(planned.entry):
            return EntryOutcome("overtaken", older.text if planned.entry.cited else None)
        replaced = older.text
        is_filed = general_heading(self.path) is not None and not self._nests(older)
        if is_filed and leaves_heading(older.heading, older.text, planned.entry.statement.text):
            self._unindex_item(older)
            older.is_gone = True
            self._add(planned)
            return EntryOutcome("superseded", replaced)
        older.day, older.due = planned.entry.date, planned.entry.due
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
            entry.date,
            entry.due,
            entry=entry,
            marker=layout.BOXES.get(planned.kind, "- "),
            children=parents,
        )
        self.added.append(item)
        self._index_item(item)

    def _index_item(self, item: ListItem) -> None:
        self.by_normal_form.setdefault(item.normal_form, {})[item] = None
        for name in lookup_keys(item.kind, item.subject, item.normal_form):
            self.by_name.setdefault(name, {})[item] = None
        if self.matches_paraphrases:
            self.by_paraphrase.setdefault(paraphrase.paraphrase_form(item.text), {})[item] = None

    def _unindex_item(self, item: ListItem) -> None:
        del self.by_normal_form[item.normal_form][item]
        for name in lookup_keys(item.kind, item.subject, item.normal_form):
            del self.by_name[name][item]
        if self.matches_paraphrases:
            del self.by_paraphrase[paraphrase.paraphrase_form(item.text)][item]

    def _index_prose(self, line: str) -> None:
        self.prose.add(normal_form(line))
        if self.matches_paraphrases:
            self.prose_paraphrases.add(paraphrase.paraphrase_form(line))

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

    def _remove_prose(self, text: str, keeps: str) -> EntryOutcome:
        span = self._prose_span(text)
        if span is None:
            return EntryOutcome("absent")
        start, end = span
        line = self.text.rfind("\n", 0, start) + 1, line_end(self.text, end)
        if keeps:
            change = start, end, keeps
        elif self.text[slice(*line)].strip() == text.strip():
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
        """Return whether headings, lists, code and front matter stay what they are; a paragraph may go."""
        start, end, text = change
        after = markdown.parse(self.text[:start] + text + self.text[end:])
        return layout.structure(after) == layout.structure(self.document)

    def _rewrite(self, change: _Change) -> None:
        self.rewritten.append(change)
        self.prose.discard(normal_form(self.text[change[0] : change[1]]))
        self.prose_paraphrases.discard(paraphrase.paraphrase_form(self.text[change[0] : change[1]]))

    def group(self) -> None:
        """Put the new statements of the general heading under the headings that they name."""
        general = general_heading(self.path)
        if general is None:
            return
        index = index_headings(heading.title for heading in self.document.headings if heading.level == 2)
        for item in self.added:
            if not item.is_gone and layout.is_same(item.heading, general):
                item.heading = heading_for(item.text, index) or item.heading

    def _ended(self, lines: str) -> str:
        """Return lines, the last of them ended."""
        return lines if lines.endswith(("\n", "\r")) else lines + self.line_ending

    def content(self) -> str | None:
        """Return the file with all that was put in; None when nothing was."""
        emptied = list(self._emptied())
        changes = [*self._changes(0, len(self.text)), *self.rewritten, *self._additions(emptied), *emptied]
        text = self._applied(changes, 0, len(self.text)) if changes else None
        if text is not None and layout.kept_end(self.text, emptied) < len(self.text):
            return text.rstrip("\r\n") + self.line_ending
        return text

    def _rendered(self, start: int, end: int) -> str:
        """Return a part of the file with what is changed in it."""
        return self._applied(list(self._changes(start, end)), start, end)

    def _applied(self, changes: Sequence[_Change], start: int, end: int) -> str:
        parts, at = [], start
        for first, last, text in sorted(changes, key=layout.change_order):
            if first >= at:
                parts += [self.text[at:first], text]
                at = last
        return "".join([*parts, self.text[at:end]])

    def _changes(self, start: int, end: int) -> Iterator[_Change]:
        """Yield what becomes of the bullets in a part of the file."""
        starts = [bisect_left(self.items, place, key=lambda item: item.start) for place in (start, end)]
        for item in self.items[slice(*starts)]:
            if item.is_gone:
                yield item.start, item.end, layout.gap(self.text, item.start, item.end, self.line_ending)
            elif item.is_changed or item.lines:
                gap = layout.gap(self.text, item.start, item.own_end, self.line_ending)
                yield item.start, item.own_end, self._lines(item) + gap
            elif item.cited:
                yield item.start, item.own_end, cite(self.text[item.start : item.own_end], item.cited)

    def _lines(self, item: ListItem) -> str:
        if item.lines:
            return item.lines
        entry = item.entry
        assert entry is not None  # noqa: S101  # only what an entry wrote is written
        first, *rest = render_bullet(entry.statement.text, entry.date, entry.links, due=entry.due).split("\n")
        indent = " " * (
            len(item.marker.expandtabs(4)) - len(item.marker.lstrip()) + layout.width(item.marker) - 2
        )
        lines = [item.marker + first[2:], *(indent + line if line else "" for line in rest)]
        lines = cite("\n".join(lines), item.cited).split("\n")
        children = "".join(self._rendered(parent.own_end, parent.end) for parent in item.children)
        if children and children[-1] not in "\r\n":
            children += self.line_ending
        return "".join(line + self.line_ending for line in lines) + children

    def _additions(self, emptied: Sequence[_Change]) -> Iterator[_Change]:
        """Yield what goes in under each heading, and at the end the headings that the file lacks."""
        by_heading: dict[str, list[ListItem]] = {}
        for item in self.added:
            if not item.is_gone:
                by_heading.setdefault(" ".join(item.heading.split()), []).append(item)
        missing: dict[int, list[tuple[str, list[ListItem]]]] = {}
        for heading, under in by_heading.items():
            span = self._own_part(heading)
            if span is None:
                missing.setdefault(self._place_of(heading), []).append((heading, under))
            else:
                yield self._under(span, under)
        for point, sections in missing.items():
            sections.sort(key=lambda section: section_rank(section[0], self.path))
            kept = self.text[: layout.kept_end(self.text, emptied)]
            yield self._at_end(sections, kept) if point == len(self.text) else self._before(point, sections)

    def _place_of(self, heading: str) -> int:
        """Return where a new heading goes: before the first one that stands for a later kind, or at the end."""
        rank = section_rank(heading, self.path)
        later = (
            later_heading
            for later_heading in self.document.headings
            if later_heading.level == 2 and section_rank(later_heading.title, self.path) > rank
        )
        return (
            next((later_heading.start for later_heading in later), len(self.text))
            if general_heading(self.path)
            else len(self.text)
        )

    def _before(self, point: int, sections: list[tuple[str, list[ListItem]]]) -> _Change:
        gap = "" if self.text[:point].endswith(self.line_ending * 2) or not point else self.line_ending
        parts = [
            f"## {heading}{self.line_ending * 2}{''.join(map(self._lines, under))}"
            for heading, under in sections
        ]
        return point, point, gap + "".join(part + self.line_ending for part in parts)

    def _emptied(self) -> Iterator[_Change]:
        """Yield away the headings, of one word or of a kind, from under which the last statement went."""
        if general_heading(self.path) is None:
            return
        filled = {" ".join(item.heading.split()).casefold() for item in self.added if not item.is_gone}
        gone = [item.start for item in self.items if item.is_gone]
        for heading, (start, end) in layout.sections(self.document, len(self.text)):
            may_go = len(heading.title.split()) == 1 or stands_for_kind(heading.title)
            is_touched = bisect_left(gone, start) < bisect_left(gone, end)
            is_free = heading.level == 2 and heading.title.casefold() not in filled
            if may_go and is_touched and is_free and not self._rendered(start, end).strip():
                yield heading.start, end, ""

    def _own_part(self, heading: str) -> Span | None:
        """Return where the text under a heading begins, and where the next heading of any level does."""
        return layout.own_part(self.document, len(self.text), heading, general_heading(self.path))

    def _under(self, span: tuple[int, int], under: list[ListItem]) -> _Change:
        start, end = span
        if (
            later := layout.place_before_later(self.items, start, end, {item.day for item in under})
        ) is not None:
            return later, later, "".join(map(self._lines, under))
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

    def _at_end(self, sections: list[tuple[str, list[ListItem]]], kept: str) -> _Change:
        written = kept.rstrip("\r\n")
        has_body = bool(self.text[self.document.body_start :].strip())
        parts = [] if has_body or self.document.headings else [f"# {self.title}"]
        for heading, under in sections:
            parts += [f"## {heading}", "".join(map(self._lines, under)).removesuffix(self.line_ending)]
        breaks = kept[len(written) :].count("\n")
        before = self.line_ending * (max(0, 2 - breaks) if written.strip("\ufeff") else 0)
        blank = self.line_ending * 2
        return len(self.text), len(self.text), before + blank.join(parts) + self.line_ending
