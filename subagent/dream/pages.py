"""The pages of a mount as a dream reads them: their lines, with what each says and where it stands."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from functools import cached_property

from memex.store import links, markdown
from memex.store.markdown import MarkdownDocument
from memex.store.paths import parse
from memex.store.records import Tombstone
from memex.subagent.remember.filing.items import list_items
from memex.subagent.statements.bullets import ITEM, STAMP, parse_bullet
from memex.subagent.statements.language import StatementKind
from memex.subagent.statements.paraphrase import literal_form, paraphrase_form
from memex.subagent.statements.places import mount_of

LINE = re.compile(r"[^\r\n]*(?:\r\n?|\n)|[^\r\n]+")
_LINKS = re.compile(r"(?<![ \t])(?:[ \t]++\[\[[^\[\]\n]++\]\])++[ \t]*+")  # that follow each other
_TITLE = re.compile(r"^# (?P<title>\S.*)$", re.MULTILINE)
_DEFINITION = re.compile(r"^ {0,3}\[[^\]\n]+\]:", re.MULTILINE)
ALL = -1  # before the first change of a mount
ERASED = "█"  # what stands for words that were erased


@dataclass(frozen=True, slots=True)
class PageLine:
    """A list item of one line: where it stands, and what it says.

    Attributes:
        path: of its page, virtual.
        version: of the page.
        start: where the line begins.
        raw: the line without its end.
        text: the statement, without marker, box, stamp and the links at its end.
        kind: what it is, by its page and its heading.
        heading: next above it.
        box: the mark in its box; None without one.
        day: on which it was said, if its stamp says so.
        due: when it is due.
        subject: what it says something about, if that has one value at a time.
        nth: its place among the equal lines of its page, from 0.
    """

    path: str
    version: int
    start: int
    raw: str
    text: str
    kind: StatementKind
    heading: str
    box: str | None
    day: date | None
    due: date | None
    subject: str | None
    nth: int

    @property
    def reference(self) -> str:
        """The line as `path@version:start-end`."""
        return f"{self.path}@{self.version}:{self.start}-{self.start + len(self.raw)}"

    @property
    def form(self) -> tuple[str, ...]:
        """The words by which it is nearly the same as another one."""
        return paraphrase_form(self.text)

    @property
    def literal(self) -> tuple[str, ...]:
        """The words by which another line may stand for it when it goes."""
        return literal_form(self.text)

    @property
    def is_open(self) -> bool:
        """Return whether it is a task with a box that is not ticked."""
        return self.box == " "

    @property
    def is_done(self) -> bool:
        """Return whether it says that something is done."""
        return self.box in ("x", "X") or (self.box is None and self.kind == "done")

    @property
    def is_nested(self) -> bool:
        """Return whether it stands below another item, which says what it is about."""
        return self.raw[:1].isspace()

    @property
    def is_listed(self) -> bool:
        """Return whether its order among others may say something."""
        marker = ITEM.match(self.raw)
        return marker is not None and marker[2][0].isdigit()


@dataclass(frozen=True)
class DreamPage:
    """A page of a mount. `changed` is the last change of its mount in which somebody wrote it; 0: dreams alone."""

    path: str
    version: int
    text: str
    file_id: int = 0
    changed: int = 1
    done_before: frozenset[str] = frozenset()  # lines that had a ticked box long ago

    @cached_property
    def document(self) -> MarkdownDocument:
        """Its structure."""
        return markdown.parse(self.text)

    @cached_property
    def link_keys(self) -> frozenset[str]:
        """The keys of what its links name."""
        found = links.parse(self.text, parse(self.path).relative, self.document)
        return frozenset(key for link in found for key in link.targets)

    @cached_property
    def title(self) -> str:
        """Its first heading of level 1; "" without one."""
        found = _TITLE.search(self.text)
        return found["title"][0] + found["title"][1:].rstrip(" \t#") if found else ""

    @property
    def stem(self) -> str:
        """The name of its file without the ending."""
        return self.path.rpartition("/")[2].removesuffix(".md")

    @property
    def target(self) -> str:
        """The name of the page in a link of its mount."""
        return self.path.removeprefix(f"{mount_of(self.path)}/").removesuffix(".md")

    @property
    def has_front_matter(self) -> bool:
        """Return whether it begins with front matter."""
        return markdown.body_start(self.text) > 0

    @property
    def has_definitions(self) -> bool:
        """Return whether links or footnotes are defined anywhere in it."""
        return _DEFINITION.search(self.text) is not None

    @cached_property
    def lines(self) -> tuple[PageLine, ...]:
        """Its list items of one line, with nothing nested below them."""
        return tuple(self._lines())

    def _lines(self) -> Iterator[PageLine]:
        counted: dict[str, int] = {}
        places = {}
        at = 0
        for whole in LINE.findall(self.text):
            bare = whole.rstrip("\r\n")
            places[at] = bare, counted.get(bare, 0)
            counted[bare] = counted.get(bare, 0) + 1
            at += len(whole)
        for item in list_items(self.text, self.document, self.path):
            raw, nth = places.get(item.start, ("", 0))
            is_whole = self.text[item.start : item.end].strip("\r\n") == raw
            if not raw or not is_whole or ERASED in raw:
                continue
            marker = ITEM.match(raw)
            said = parse_bullet(without_links(raw) if not STAMP.search(raw) else raw)
            yield PageLine(
                self.path,
                self.version,
                item.start,
                raw,
                said,
                item.kind,
                item.heading,
                marker[3] if marker else None,
                item.day,
                item.due,
                item.subject,
                nth,
            )


@dataclass(frozen=True, slots=True)
class UnfiledEntry:
    """An entry of the journal of which no statement was ever made."""

    path: str
    version: int
    text: str
    said_at: datetime


@dataclass(frozen=True)
class MountState:
    """A mount in one state, as a dream reads it.

    Attributes:
        mount: user, shared or projects/<slug>.
        rev: the number of its last change.
        pages: by path.
        today: the day of the dream.
        since: signals count only where a page changed after this change; `ALL` for all.
        known_keys: keys of links that lead to other mounts, to which a link may lead as well.
        moved: where a file stands now, by a key that it had once; only keys of one file.
        entries: of the journal, if it is the user's mount.
        tombstones: what was forgotten or replaced.
        past_lines: of older versions of its pages.
    """

    mount: str
    rev: int
    pages: Mapping[str, DreamPage]
    today: date
    since: int = ALL
    known_keys: frozenset[str] = frozenset()
    moved: Mapping[str, str] = field(default_factory=dict)
    entries: Sequence[UnfiledEntry] = ()
    tombstones: Sequence[Tombstone] = ()
    past_lines: Sequence[str] = ()

    @cached_property
    def lines(self) -> tuple[PageLine, ...]:
        """All lines, by page and place."""
        return tuple(line for page in self.pages.values() for line in page.lines)

    def ever_said(self, text: str) -> bool:
        """Return whether a page says a statement, or once said it."""
        return paraphrase_form(text) in self._forms or " ".join(text.casefold().split()) in self._words

    @cached_property
    def _forms(self) -> frozenset[tuple[str, ...]]:
        past = (paraphrase_form(parse_bullet(without_links(line))) for line in self.past_lines)
        return frozenset((*(line.form for line in self.lines), *past))

    @cached_property
    def _words(self) -> str:
        texts = [*(page.text for page in self.pages.values()), *self.past_lines]
        return "\n".join(" ".join(text.casefold().split()) for text in texts)

    @property
    def project(self) -> str | None:
        """The slug of the project whose mount it is."""
        return self.mount.removeprefix("projects/") if self.mount.startswith("projects/") else None

    def is_new(self, *paths: str) -> bool:
        """Return whether one of these pages changed since the last dream, by somebody else."""
        return any(self.pages[path].changed > self.since for path in paths if path in self.pages)


def without_links(line: str) -> str:
    """Return a line without the links that end it, such as `buy oil [[boats/heron]]`."""
    last = None
    for found in _LINKS.finditer(line):
        last = found
    return line[: last.start()] if last is not None and last.end() == len(line) else line
