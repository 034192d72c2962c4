"""Output of commands: styled text on a terminal, plain text in a pipe, or one JSON document.

Text from memory never reaches the terminal unchanged: control characters are replaced by visible symbols, and
markup is not interpreted.
"""

import json
import re
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TextIO

import typer

from memex.errors import MemexError, error_document

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.text import Text
    from rich.tree import Tree

# All control characters but line ends and tabs. The last two ranges are marks that make a terminal show text in
# another order than it is stored in.
_CONTROL = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\u202a-\u202e\u2066-\u2069\U000e0000-\U000e007f]"
)
_HIGH_CONTROL = re.compile("[\x7f-\x9f\ud800-\udfff\u202a-\u202e\u2066-\u2069\U000e0000-\U000e007f]")
_LONE_RETURN = re.compile(r"\r(?!\n)")

GAP = 2  # between the columns of a table
MIN_CUT_WIDTH = 6  # the least that a cut cell keeps: `user/…`
MIN_FOLDED_WIDTH = 16

StyledText = str | tuple[str, str]  # a text, or a text and its style


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table. On a narrow terminal, columns with `cut` are shortened first; others fold their lines.

    A `whole` column is neither cut nor folded: a number without its last digits would be another number. Its name
    may break between words. `cell` names the field of a record that stands there, or returns the cell of a record;
    by default the field is called as the column.
    """

    name: str
    style: str = ""
    align: Literal["left", "right"] = "left"
    cut: bool = False
    whole: bool = False
    cell: "str | Callable[[Any], Any]" = ""

    def cell_of(self, record: Any) -> Any:
        """Return what stands there for a record; nothing for None."""
        value = self.cell(record) if callable(self.cell) else record[self.cell or self.name]
        return "" if value is None else value


def numbers(name: str, cell: str | Callable[[Any], Any] = "") -> Column:
    """Return a column of whole numbers, such as `1,234`."""
    shown = Column(name, cell=cell).cell_of
    return Column(name, align="right", whole=True, cell=lambda row: f"{shown(row):,}")


def times(name: str, cell: str, style: str = "", *, whole: bool = False) -> Column:
    """Return a column of times of the API in a readable form; nothing for None."""
    return Column(name, style, whole=whole, cell=lambda row: format_time(row[cell]) if row[cell] else "")


@dataclass(frozen=True, slots=True)
class Branch:
    """A line of a tree, and the lines below it."""

    parts: tuple[StyledText, ...]
    below: tuple["Branch", ...] = ()


def make_printable(text: str) -> str:
    """Return a text without control sequences: `␛[31m` is shown instead of making a line red."""
    return _CONTROL.sub(_picture, text.replace("\r\n", "\n"))


def format_time(iso: str) -> str:
    """Return a time of the API in a readable form, in the local time zone."""
    return f"{datetime.fromisoformat(iso).astimezone():%Y-%m-%d %H:%M:%S}"


def shorten(text: str, max_chars: int) -> str:
    """Return the beginning of a text on one line."""
    line = " ".join(text.split())
    return line if len(line) <= max_chars else f"{line[: max_chars - 1].rstrip()}…"


def why_chosen(source: Mapping[str, Any]) -> str:
    """Return in words why a source of a context was chosen: the reasons of its spans, and what links to it."""
    reasons = ", ".join(dict.fromkeys(span.get("why") or source["reason"] for span in source["spans"]))
    return f"{reasons} from {source['linked_from']}" if source["linked_from"] else reasons


def format_count(number: int, noun: str, plural: str | None = None) -> str:
    """Return a number with its noun: `1 file`, `2 files`, `2 entries`."""
    return f"{number:,} {noun if number == 1 else plural or f'{noun}s'}"


def show_embedded(screen: "Screen", vectors: dict[str, Any] | None) -> None:
    """Show how many passages have a vector; nothing without an embedder."""
    if vectors is not None:
        said = f"{vectors['embedded']:,} of {vectors['passages']:,} passages embedded by {vectors['model']}"
        screen.line((said, "dim"))


def to_json(document: Any, *, indent: int | None = None) -> str:
    """Return a JSON document; characters that control a terminal or that UTF-8 cannot hold are escaped."""
    text = json.dumps(document, ensure_ascii=False, indent=indent)
    return _HIGH_CONTROL.sub(_escape, text)


def program_name() -> str:
    """Return how to call this program from the current folder: `memex` if the shell finds it by that name."""
    called = Path(sys.argv[0])
    if called.name != "memex" or not called.is_file():
        return "memex"  # run as a module or by a test: no better name is known
    found = shutil.which("memex")
    if found is not None and Path(found).samefile(called):
        return "memex"
    try:
        below = called.absolute().relative_to(Path.cwd())
    except ValueError:
        return str(called.absolute())
    return str(below) if len(below.parts) > 1 else f"./{below}"


class Screen:
    """Standard output or standard error, as a command writes to it."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self.is_terminal = stream.isatty()

    def line(self, *parts: StyledText) -> None:
        """Print one line, or several if a part has line ends; the terminal folds long lines."""
        if self.is_terminal:
            self._show(_styled_text(parts), soft_wrap=True)
        else:
            print("".join(_make_harmless(part)[0] for part in parts), file=self._stream)

    def degraded(self, answer: dict[str, Any]) -> None:
        """Print that an answer lacks a part, if it does."""
        if answer.get("degraded"):
            self.line(
                (
                    f"Degraded: {answer['degraded']}; `memex service health` says what does not answer.",
                    "yellow",
                )
            )

    def writes(self, written: Sequence[dict[str, Any]]) -> None:
        """Print what a call wrote: each file with its version, the reason if one is given, and the change."""
        for write in written:
            self.line()
            reason = f"  {write['reason']}" if write.get("reason") else ""
            self.line((write["path"], "bold"), f"  version {write['version']}", (reason, "dim"))
            self.diff(write["diff"])

    def fact(self, name: str, *parts: StyledText) -> None:
        """Print a line of the facts at the end of an answer."""
        self.line((f"{name:9}", "dim"), *parts)

    def paragraph(self, *parts: StyledText, indent: int = 2) -> None:
        """Print an indented text; on a terminal it breaks between words."""
        if self.is_terminal:
            from rich.padding import Padding

            self._show(Padding(_styled_text(parts), (0, 0, 0, indent)))
        else:
            self.line(" " * indent, *parts)

    def table(self, columns: Sequence[Column], rows: Sequence[Sequence[Any]]) -> None:
        """Print rows below the names of their columns; in a pipe nothing is folded or cut.

        A cell is a `StyledText`, or anything that is shown as its `str`.
        """
        cells = [[_on_one_line(cell) for cell in row] for row in rows]
        if not self.is_terminal:
            self._plain_table(columns, [[text for text, _ in row] for row in cells])
            return
        widths = _fit_columns(columns, [[text for text, _ in row] for row in cells], self._console.width)
        if widths is None:
            self._blocks(columns, cells)
            return
        from rich.table import Table

        table = Table(box=None, pad_edge=False, padding=(0, GAP, 0, 0), header_style="dim")
        for column, width in zip(columns, widths, strict=True):
            table.add_column(
                column.name, style=column.style, justify=column.align, width=width, overflow="fold"
            )
        for row in cells:
            table.add_row(*map(_table_cell, columns, row))
        self._show(table)

    def records(
        self, records: Sequence[Any], columns: Sequence[Column], nothing: str = "", cursor: str | None = None
    ) -> None:
        """Print a row for each record, and how to see the next ones; without records what `nothing` says."""
        if records:
            self.table(columns, [[column.cell_of(record) for column in columns] for record in records])
            self.more(cursor)
        else:
            self.line((nothing, "dim"))

    def tree(self, root: Branch) -> None:
        """Print a tree; on a terminal long lines break, in a pipe they stay whole."""
        if self.is_terminal:
            self._show(_rich_tree(root))
        else:
            for guide, branch in _guided(root):
                self.line((guide, "dim"), *map(_on_one_line, branch.parts))

    def markdown(self, text: str) -> None:
        """Print formatted Markdown; links show their targets."""
        from rich.markdown import Markdown

        self._show(Markdown(make_printable(text), hyperlinks=False))

    def diff(self, text: str) -> None:
        """Print a unified diff in its usual colours."""
        for line in make_printable(text).split("\n")[:-1]:
            style = "bold" if line.startswith(("--- ", "+++ ")) else _DIFF_STYLES.get(line[:1], "")
            self.line((line, style))

    def more(self, cursor: str | None) -> None:
        """Print on stderr how to see the next results, if there are more."""
        if cursor is not None:
            Screen(sys.stderr).line((f"There is more: --cursor {cursor}", "dim"))

    def text(self, text: str) -> None:
        """Print a text of memory with hidden characters as in a context: a pipe may end at a terminal."""
        from memex.store.writes.hidden_characters import reveal_hidden

        self.raw(_LONE_RETURN.sub("⟨U+000D⟩", reveal_hidden(text)))

    def raw(self, text: str) -> None:
        """Print the bytes of a text unchanged, and nothing else."""
        self._stream.flush()
        self._stream.buffer.write(text.encode())
        self._stream.flush()

    def json(self, document: Any) -> None:
        """Print one JSON document: indented on a terminal, otherwise on one line."""
        self.raw(to_json(document, indent=2 if self.is_terminal else None) + "\n")

    def _plain_table(self, columns: Sequence[Column], rows: Sequence[Sequence[str]]) -> None:
        table = [[column.name for column in columns], *rows]
        widths = [max(len(row[at]) for row in table) for at in range(len(columns))]
        for row in table:
            cells = [
                cell.rjust(width) if column.align == "right" else cell.ljust(width)
                for cell, width, column in zip(row, widths, columns, strict=True)
            ]
            self.line("  ".join(cells).rstrip())

    def _blocks(self, columns: Sequence[Column], rows: Sequence[Sequence[tuple[str, str]]]) -> None:
        """Print each row as lines with a name and a value, for a screen that is too narrow for a table."""
        longest = max(len(column.name) for column in columns)
        for number, row in enumerate(rows):
            if number:
                self.line()
            for column, (text, style) in zip(columns, row, strict=True):
                if text:
                    self.line((f"{column.name:{longest}}  ", "dim"), (text, style or column.style))

    def _show(self, shown: "RenderableType", *, soft_wrap: bool = False) -> None:
        self._console.print(shown, soft_wrap=soft_wrap, markup=False, highlight=False, emoji=False)

    @cached_property
    def _console(self) -> "Console":
        from rich.console import Console

        return Console(file=self._stream, markup=False, highlight=False, emoji=False)


@dataclass(frozen=True, slots=True)
class CommandOutput:
    """The result of a command: a JSON document, and a function that shows it to a person.

    `on_stderr` is for commands that wrote bytes to stdout already. The command ends with `exit_code`. A result that
    `is_empty` may be that of a mistyped user; `note` says so, for a person alone.
    """

    document: Any
    show: Callable[[Screen], None]
    on_stderr: bool = False
    exit_code: int = 0
    is_empty: bool = False
    note: str = ""


def print_output(shown: CommandOutput, *, as_json: bool) -> None:
    """Print the result of a command, and exit with its exit code if that is not 0."""
    screen = Screen(sys.stderr if shown.on_stderr else sys.stdout)
    if as_json:
        screen.json(shown.document)
    else:
        shown.show(screen)
        if shown.note:
            Screen(sys.stderr).line((shown.note, "dim"))
    if shown.exit_code:
        raise typer.Exit(shown.exit_code)


@contextmanager
def report_errors(*, as_json: bool) -> Iterator[None]:
    """Print a MemexError on stderr, as text or as one last line of JSON, and exit with 1."""
    try:
        yield
    except MemexError as error:
        screen = Screen(sys.stderr)
        if as_json:
            screen.raw(to_json(error_document(error) | error.details) + "\n")
        else:
            screen.line(("error ", "red"), (error.code, "bold red"), f": {error.message}")
            if error.hint:
                screen.line((error.hint, "dim"))
        raise typer.Exit(1) from None


_DIFF_STYLES = {"+": "green", "-": "red", "@": "cyan", "\\": "dim"}


def _styled_text(parts: Sequence[StyledText]) -> "Text":
    from rich.text import Text

    styled = Text()
    for part in parts:
        styled.append(*_make_harmless(part))
    return styled


def _rich_tree(root: Branch) -> "Tree":
    from rich.tree import Tree

    tree = Tree(_styled_text(list(map(_on_one_line, root.parts))), guide_style="dim")
    tree.children = [_rich_tree(branch) for branch in root.below]
    return tree


def _guided(root: Branch, guide: str = "", indent: str = "") -> Iterator[tuple[str, Branch]]:
    """Yield each branch in order, with the guide lines in front of it."""
    yield guide, root
    for place, branch in enumerate(root.below, start=1):
        is_last = place == len(root.below)
        yield from _guided(
            branch, indent + ("└── " if is_last else "├── "), indent + ("    " if is_last else "│   ")
        )


def _fit_columns(
    columns: Sequence[Column], rows: Sequence[Sequence[str]], max_width: int
) -> list[int] | None:
    """Return the width of each column within a total width; None if the columns do not fit.

    First the names of whole columns break; then columns with `cut` become narrower, then other columns down to
    their longest word, then within words.
    """
    texts = [[column.name, *(row[at] for row in rows)] for at, column in enumerate(columns)]
    widths = [max(1, _longest(lines)) for lines in texts]
    words = [_longest([word for line in lines for word in line.split()]) for lines in texts]
    room = max_width - GAP * (len(columns) - 1)
    whole = [at for at, column in enumerate(columns) if column.whole]
    _narrow(widths, {at: max(1, _longest([*columns[at].name.split(), *texts[at][1:]])) for at in whole}, room)
    for rank, floors in enumerate(([MIN_CUT_WIDTH] * len(columns), words, [MIN_FOLDED_WIDTH] * len(columns))):
        giving = [at for at, column in enumerate(columns) if not column.whole and column.cut is (rank == 0)]
        least = {at: max(floors[at], _longest([columns[at].name])) for at in giving}
        _narrow(widths, least, room)
    return widths if sum(widths) <= room else None


def _narrow(widths: list[int], least: Mapping[int, int], room: int) -> None:
    """Narrow the columns that are furthest above their least width, until all columns fit."""
    while sum(widths) > room:
        above = {at: widths[at] - floor for at, floor in least.items() if widths[at] > floor}
        if not above:
            return
        widths[max(above, key=above.__getitem__)] -= 1


def _longest(texts: Sequence[str]) -> int:
    from rich.cells import cell_len

    return max(map(cell_len, texts), default=0)


def _table_cell(column: Column, cell: tuple[str, str]) -> "Text":
    text = _styled_text([cell])
    if column.cut:
        text.no_wrap, text.overflow = True, "ellipsis"
    return text


def _make_harmless(part: StyledText) -> tuple[str, str]:
    text, style = part if isinstance(part, tuple) else (part, "")
    return make_printable(text), style


def _on_one_line(cell: Any) -> tuple[str, str]:
    text, style = _make_harmless(cell if isinstance(cell, tuple) else str(cell))
    return text.replace("\n", " "), style


def _escape(match: re.Match[str]) -> str:
    code = ord(match[0])
    return f"\\u{code:04x}" if code <= 0xFFFF else json.dumps(match[0])[1:-1]


def _picture(match: re.Match[str]) -> str:
    code = ord(match[0])
    if code < 0x20:
        return chr(0x2400 + code)
    return "\N{SYMBOL FOR DELETE}" if code == 0x7F else "\N{REPLACEMENT CHARACTER}"
