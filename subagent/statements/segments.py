"""A text as pieces: paragraphs, list items, code, headings and turns of a transcript, and their sentences.

One pass over the lines, no parser: text for memory is often not quite Markdown. Pure, total, linear.
"""

import re
from bisect import bisect_right
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Literal

from memex.subagent.statements.bullets import FENCE
from memex.subagent.statements.language import LanguageTables, StatementKind
from memex.subagent.statements.sentences import MAX_WIDTH

Role = Literal["prose", "item", "turn", "code", "heading", "assistant", "system", "rule"]

_MAX_LABEL_CHARS = 60

_LINE = re.compile(r"([^\r\n]*)(\r\n?|\n|\Z)")
_QUOTE = re.compile(r"(?: {0,3}> ?)+")
_KEY_BLOCK = re.compile(r"-----BEGIN [A-Z ]{0,40}-----")
_KEY_LINE = re.compile(r"[\w+/=-]*$|[\w-]{1,40}: ")
_KEY_BLOCK_END = "-----END "
# The text of a heading, one group, and the marks that may close it: each run of them is read once.
HEADING_TITLE = r"((?:[^ \t#\n]++|[ \t#]++(?!$))*+)[ \t#]*+$"
_HEADING = re.compile(rf" {{0,3}}(#{{1,6}})(?:[ \t]++|$){HEADING_TITLE}")
_UNDERLINE = re.compile(r" {0,3}(=+|-{2,})[ \t]*$")
_RULE = re.compile(r" {0,3}(?:[-*_=~][ \t]*){3,}$")
_ITEM = re.compile(r"([ \t]*)([-*+•‣–]|\d{1,3}[.)])(?:[ \t]+|$)(?:\[([ xX])\][ \t]+)?")
_BOX = re.compile(r"([ \t]*)(\[([ xX])\])[ \t]+(?=\S)")
_TURN = re.compile(
    r"(?:[\[(]?(?:(?:\d{4}-\d\d-\d\d|\d{1,2}[./]\d{1,2}[./]?(?:\d{2,4})?)[ T,]*)?"
    r"\d{1,2}[:.h]\d\d(?::\d\d)?(?: ?[AaPp][Mm])?[\])]?[ -]*)?"
    r"\*{0,2}(?P<name>[^\W\d_][\w.'’-]{0,30}(?: [A-Z][\w.'’-]{0,30})?)\*{0,2}[ ]?[:：]\*{0,2}(?:\s+|$)"
)
# `AI Ravi: draft by Monday` and `Action for Ravi: …` in minutes: a task, and whose it is.
_ACTION_ITEM = re.compile(
    r"(?:AI|ACTION|Action|A\.I\.|TODO|Todo|ToDo)(?: for| item)?[ -]+"
    r"(?=@?[A-ZÀ-Þ][\w.'’-]{0,30}(?: [A-Z][\w.'’-]{0,30})?[:,] )"
)
_TAG = re.compile(
    r"\s*(?:<\|?/?(system|assistant|im_start|instructions?)\b[^>\n]{0,80}>|\[/?(INST)\])", re.IGNORECASE
)
_MARKUP = re.compile(r"[*_`#]+")
_TITLE_NUMBER = re.compile(r"^[\W\d]+|(?<!\W)\W++$")


@dataclass(frozen=True, slots=True)
class Segment:
    """A run of lines of one sort.

    `text` has the container's marks cut from each line, and line feeds between lines; `starts` says where
    each of its lines begins in the input. `kind` is what the place says of it, by a heading, a label or a box
    to tick; it is `firm` for list items, and for prose only a hint.
    """

    role: Role
    text: str
    starts: tuple[int, ...]
    kind: StatementKind | None = None
    is_firm: bool = False

    @property
    def start(self) -> int:
        """The place in the input where the segment begins."""
        return self.starts[0]

    def places(self) -> "OffsetMap":
        """Return the map from its text to the input."""
        lengths = [len(line) + 1 for line in self.text.split("\n")]
        return OffsetMap(self.starts, tuple(accumulate(lengths[:-1], initial=0)))


@dataclass(frozen=True, slots=True)
class OffsetMap:
    """The places in the input of the characters of a piece."""

    starts: tuple[int, ...]
    offsets: tuple[int, ...]

    def of(self, offset: int) -> int:
        """Return the place in the input of an offset in the piece's text."""
        line = bisect_right(self.offsets, offset) - 1
        return self.starts[line] + offset - self.offsets[line]

    def end_of(self, offset: int) -> int:
        """Return the place in the input after the character before `offset`."""
        return self.of(offset - 1) + 1


@dataclass(slots=True)
class _OpenSegment:
    """A piece that more lines may join."""

    role: Role
    lines: list[str]
    starts: list[int]
    kind: StatementKind | None
    is_firm: bool
    indent: int = 0

    def close(self) -> Segment:
        return Segment(self.role, "\n".join(self.lines), tuple(self.starts), self.kind, self.is_firm)


@dataclass(slots=True)
class _Label:
    """A line such as `Decisions:` in force for what follows; indent -1 outside lists."""

    kind: StatementKind | None
    indent: int
    is_followed_by_blank: bool = False


@dataclass(slots=True)
class _Scanner:
    """The state between lines."""

    language: LanguageTables
    pieces: list[Segment] = field(default_factory=list)
    open: _OpenSegment | None = None
    fence: str = ""
    headings: list[tuple[int, StatementKind | None]] = field(default_factory=list)
    labels: list[_Label] = field(default_factory=list)
    has_list: bool = False  # since the last heading
    speaker: Role | None = None
    tag: str = ""
    is_key_block: bool = False
    ends_turns: bool = False  # each line stands alone, and only one has a speaker
    is_dialogue: bool = False  # somewhere in it a user speaks

    def close(self) -> None:
        if self.open is not None:
            self.pieces.append(self.open.close())
            self.open = None

    def begin(
        self, role: Role, line: str, start: int, kind: StatementKind | None, *, is_firm: bool
    ) -> _OpenSegment:
        self.close()
        self.open = _OpenSegment(role, [line], [start], kind, is_firm)
        return self.open

    def line(self, line: str, start: int, following: str) -> None:
        """Take the next line; `following` is the next one that is not blank."""
        if not self.fence:
            quote = _QUOTE.match(line)
            if quote:
                line, start = line[quote.end() :], start + quote.end()
        if self.fence:
            self._inside_fence(line, start)
        elif self.is_key_block and self._takes_key_line(line, start):
            return
        elif self.speaker is not None and not self._is_turn(line):
            self._inside_turn(line, start)
        elif self.tag:
            self._inside_tag(line, start)
        elif not line.strip():
            if not self._awaits_list(following):
                self._blank()
        elif fence := FENCE.match(line):
            self.fence = fence[1]
            indent = _indent(line)
            self.begin("code", line[indent:], start + indent, self._hint(), is_firm=False).indent = indent
        elif _KEY_BLOCK.search(line):
            indent = _indent(line)
            self.begin("code", line[indent:], start + indent, None, is_firm=False).indent = indent
            self.is_key_block = _KEY_BLOCK_END not in line
        elif not self._structure(line, start):
            self._content(line, start, following)

    def _inside_fence(self, line: str, start: int) -> None:
        assert self.open is not None  # noqa: S101  # a fence is open
        bare = line.strip()
        indent = min(self.open.indent, _indent(line))
        self.open.lines.append(line[indent:])
        self.open.starts.append(start + indent)
        if len(bare) >= len(self.fence) and bare == self.fence[0] * len(bare):
            self.fence = ""
            self.close()

    def _takes_key_line(self, line: str, start: int) -> bool:
        """Take a line of a key in PEM or PGP form, which is one piece; say whether it was one."""
        is_end = _KEY_BLOCK_END in line
        self.is_key_block = not is_end and _KEY_LINE.match(line.strip()) is not None
        if is_end or self.is_key_block:
            self._join(line, start)
        if not self.is_key_block:
            self.close()
        return is_end or self.is_key_block

    def _inside_turn(self, line: str, start: int) -> None:
        if self.speaker == "system" and not line.strip():
            self.speaker = None
            self._blank()
        elif line.strip() and self.open is not None and self.open.role == self.speaker:
            self.open.lines.append(line)
            self.open.starts.append(start)
        elif line.strip():
            self.begin(self.speaker or "assistant", line, start, None, is_firm=False)

    def _inside_tag(self, line: str, start: int) -> None:
        assert self.open is not None  # noqa: S101  # its first line opened one
        self.open.lines.append(line)
        self.open.starts.append(start)
        if self.tag in line.casefold():
            self.tag = ""
            self.close()

    def _blank(self) -> None:
        self.close()
        for label in self.labels:
            label.is_followed_by_blank = True

    def _structure(self, line: str, start: int) -> bool:
        """Take a heading, an underline or a rule; say whether the line was one."""
        if heading := _HEADING.match(line):
            self._heading(len(heading[1]), heading[2])
            self.begin("heading", line, start, None, is_firm=False)
            self.close()
            return True
        if self.open is not None and self.open.role == "prose" and len(self.open.lines) == 1:
            underline = _UNDERLINE.match(line)
            if underline:
                self._heading(1 if underline[1][0] == "=" else 2, self.open.lines[0])
                self.open.role = "heading"
                self._join(line, start)
                self.close()
                return True
        if _RULE.match(line):
            self.begin("rule", line, start, None, is_firm=False)
            self.close()
            return True
        return False

    def _heading(self, level: int, title: str) -> None:
        while self.headings and self.headings[-1][0] >= level:
            self.headings.pop()
        inherited = self.headings[-1][1] if self.headings else None
        self.headings.append((level, label_kind(title, self.language) or inherited))
        self.labels.clear()
        self.has_list = False

    def _content(self, line: str, start: int, following: str) -> None:
        item = _ITEM.match(line) or _BOX.match(line)
        if item and self._may_begin_item(item):
            self._item(item, line, start, following)
            return
        if (
            self._action_item(line.lstrip(" \t"), start + _indent(line))
            or self._opens_tag(line, start)
            or self._takes_turn(line, start)
        ):
            return
        if self.open is not None and self.open.role == "turn" and self.ends_turns:
            self.close()
        if self._is_labelled(line):
            self.close()
        if self.open is not None and self.open.role in {"prose", "item", "turn"}:
            bare = line.lstrip(" \t")
            if not self._label_line(bare, start + len(line) - len(bare), -1, following):
                self._join(line, start)
            return
        bare = line.lstrip(" \t")
        self._paragraph(bare, start + len(line) - len(bare), following)

    def _action_item(self, text: str, start: int) -> bool:
        """Take a line of minutes that gives somebody a task; say whether it was one."""
        label = _ACTION_ITEM.match(text)
        if label is None:
            return False
        self.begin("item", text[label.end() :], start + label.end(), "pending", is_firm=True)
        self.close()
        return True

    def _may_begin_item(self, item: re.Match[str]) -> bool:
        # As in CommonMark: a wrapped line that begins with a number is no item, unless the number is 1.
        is_number = item[2][0].isdigit()
        return not (is_number and self.open is not None and self.open.role == "prose" and item[2][:-1] != "1")

    def _item(self, item: re.Match[str], line: str, start: int, following: str) -> None:
        if self._joins_list(item, line, start):
            return
        indent = len(item[1].expandtabs(4))
        self.labels = [label for label in self.labels if label.indent < indent]
        self.has_list = True
        text, text_start = line[item.end() :], start + item.end()
        if self._action_item(text, text_start) or self._label_line(text, text_start, indent, following):
            return
        kind = self.labels[-1].kind if self.labels else self._heading_kind()
        if item[3] and kind in {None, "pending", "done", "blocker", "note"}:
            kind = "pending" if item[3] == " " else "done"
        if kind is None and self._takes_turn(text, text_start, is_item=True):
            return
        self.begin("item", text, text_start, kind, is_firm=kind is not None).indent = item.end()

    def _joins_list(self, item: re.Match[str], line: str, start: int) -> bool:
        """Return whether the item belongs to a sentence that a list completes: `My languages are:`."""
        opened = self.open
        if opened is None or opened.role not in {"prose", "item"}:
            return False
        if len(opened.lines) == 1 and not self._opens_list(opened.lines[0], item[2]):
            return False
        if len(opened.lines) > 1 and not _ITEM.match(opened.lines[1]):
            return False
        indent = len(item[1])
        if opened.role == "item" and indent < 1:
            return False
        cut = min(indent, opened.indent)
        opened.lines.append(line[cut:])
        opened.starts.append(start + cut)
        return True

    def _awaits_list(self, following: str) -> bool:
        """Return whether a numbered list of the open sentence begins, or goes on, behind blank lines."""
        item, opened = _ITEM.match(following), self.open
        if item is None or not item[2][0].isdigit() or opened is None or opened.role not in {"prose", "item"}:
            return False
        if len(opened.lines) == 1:
            return item[2] in {"1.", "1)"} and self._is_process(opened.lines[0])
        return item[2][:-1] != "1" and _ITEM.match(opened.lines[1]) is not None

    def _opens_list(self, line: str, marker: str) -> bool:
        """Return whether a line and the list below it are one statement: `My languages are:`."""
        if self.language.list_opener.search(line[-200:]):
            return True
        return marker in {"1.", "1)"} and self._is_process(line)

    def _is_process(self, line: str) -> bool:
        bare = line.strip()
        return (
            bare.endswith((":", "：", ":**", "**:")) and self.language.process.search(bare[:200]) is not None
        )

    def _label_line(self, text: str, start: int, indent: int, following: str) -> bool:
        """Take a line that only names what follows; say whether it was one."""
        bare = text.strip()
        if len(bare) > _MAX_LABEL_CHARS or self.language.list_opener.search(bare):
            return False
        match = self.language.label_line.fullmatch(bare)
        item = _ITEM.match(following)
        if match is None and item is not None and item[2] in {"1.", "1)"} and self._is_process(bare):
            return False
        is_title = bare.endswith((":", "：", ":**", "**:")) and item is not None
        if match is None and not is_title:
            return False
        kind = self.language.labels[match["label"].casefold()] if match else None
        self.labels = [label for label in self.labels if label.indent < indent]
        self.labels.append(_Label(kind, indent))
        self.begin("heading", text, start, None, is_firm=False)
        self.close()
        return True

    def _opens_tag(self, line: str, start: int) -> bool:
        tag = _TAG.match(line)
        if tag is None:
            return False
        name = (tag[1] or tag[2]).casefold()
        closing = {"im_start": "<|im_end|>", "inst": "[/inst]"}.get(name, f"</{name}>")
        self.begin("system", line, start, None, is_firm=False)
        if closing not in line.casefold():
            self.tag = closing
        else:
            self.close()
        return True

    def _is_turn(self, line: str) -> bool:
        turn = _TURN.match(line.lstrip())
        return turn is not None and turn["name"].casefold() not in self.language.labels

    def _is_labelled(self, line: str) -> bool:
        """Return whether a line, not indented, says behind a label what it is, as `Decision: we stay.` does."""
        turn = _TURN.match(line)
        return turn is not None and turn["name"].casefold() in self.language.labels and turn.end() < len(line)

    def _takes_turn(self, line: str, start: int, *, is_item: bool = False) -> bool:
        """Take the first line of a speaker's turn; say whether it was one."""
        bare = line.lstrip()
        turn = _TURN.match(bare)
        if turn is None:
            return False
        start += len(line) - len(bare)
        name = turn["name"].casefold()
        role = self.language.roles.get(name)
        if role is None and self.is_dialogue and not is_item:
            role = self.language.roles_in_dialogue.get(name)
        self.speaker = None
        if role == "user":
            self.labels.clear()
            self.close()
            if bare[turn.end() :]:
                self._paragraph(bare[turn.end() :], start + turn.end(), "")
            return True
        if role in {"assistant", "system"}:
            self.speaker = "assistant" if role == "assistant" else "system"
            self.begin(self.speaker, bare, start, None, is_firm=False)
            return True
        if name in self.language.labels or not turn["name"][0].isupper() or turn.end() == len(bare):
            return False
        self.begin("turn", bare, start, self._hint(), is_firm=False)
        return True

    def _paragraph(self, line: str, start: int, following: str) -> None:
        if self._label_line(line, start, -1, following):
            return
        in_force = [label for label in self.labels if label.indent < 0 and not label.is_followed_by_blank]
        self.labels = in_force
        kind = in_force[-1].kind if in_force else self._hint()
        self.begin("prose", line, start, kind, is_firm=bool(in_force and kind))

    def _join(self, line: str, start: int) -> None:
        assert self.open is not None  # noqa: S101  # the caller saw it
        cut = min(_indent(line), self.open.indent) if self.open.role == "item" else _indent(line)
        self.open.lines.append(line[cut:])
        self.open.starts.append(start + cut)

    def _hint(self) -> StatementKind | None:
        """Return what prose or code here probably is: below the list of a heading it is something else."""
        if self.labels and self.labels[-1].kind is not None:
            return self.labels[-1].kind
        return None if self.has_list else self._heading_kind()

    def _heading_kind(self) -> StatementKind | None:
        return self.headings[-1][1] if self.headings else None


def split_segments(text: str, language: LanguageTables) -> list[Segment]:
    """Return the pieces of a text in order; blank lines and empty items are in none."""
    lines = [(match[1], match.start()) for match in _LINE.finditer(text) if match[0]]
    scanner = _Scanner(language, is_dialogue=any(_is_user_turn(line, language) for line, _ in lines))
    turns = sum(_TURN.match(line.lstrip()) is not None for line, _ in lines)
    scanner.ends_turns = turns < 2 and any(len(line) > MAX_WIDTH for line, _ in lines)
    following = _following(lines)
    for (line, start), after in zip(lines, following, strict=True):
        bom = 1 if start == 0 and line.startswith("\ufeff") else 0
        scanner.line(line[bom:], start + bom, after)
    scanner.close()
    return [piece for piece in scanner.pieces if piece.text.strip()]


def speech_start(turn: str) -> int:
    """Return where behind the speaker's name his words begin."""
    match = _TURN.match(turn)
    return match.end() if match else 0


def _is_user_turn(line: str, language: LanguageTables) -> bool:
    turn = _TURN.match(_QUOTE.sub("", line, count=1).lstrip())
    return turn is not None and language.roles.get(turn["name"].casefold()) == "user"


def _following(lines: list[tuple[str, int]]) -> list[str]:
    """Return for each line the next one that is not blank, quote marks cut."""
    following, after = [], ""
    for line, _ in reversed(lines):
        following.append(after)
        quote = _QUOTE.match(line)
        bare = line[quote.end() :] if quote else line
        after = bare if bare.strip() else after
    return following[::-1]


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" \t"))


def label_kind(title: str, language: LanguageTables) -> StatementKind | None:
    """Return the kind that a heading gives to what stands under it."""
    bare = _TITLE_NUMBER.sub("", _MARKUP.sub("", title)).strip()
    match = language.label_line.fullmatch(bare + ":") if len(bare) <= _MAX_LABEL_CHARS else None
    return language.labels[match["label"].casefold()] if match else None
