"""A line that was taken out of a page, and how it is put back there. Pure."""

from dataclasses import dataclass
from typing import Literal

from memex.store import markdown
from memex.store.records import Span
from memex.store.statement_lines import standing_lines
from memex.store.writes.edits import Revised
from memex.subagent.remember.filing import layout
from memex.subagent.remember.filing.file_revision import FileRevision
from memex.subagent.remember.filing.items import ListItem, line_end, list_items
from memex.subagent.statements.bullets import parse_bullet
from memex.subagent.statements.places import general_heading, kind_of_item, stands_for_kind
from memex.subagent.statements.subjects import normal_form

Outcome = Literal["put_back", "stands"]


@dataclass(frozen=True, slots=True)
class HeldLine:
    """A line as a page held it: its lines of Markdown, the heading next above it, and the title of the page."""

    lines: tuple[str, ...]
    heading: str
    title: str


def held_line(path: str, content: str, span: Span) -> HeldLine:
    """Return the line of a page in which a span stands, with the lines that belong to its list item.

    What is nested below it is a line of its own, and is none of it.
    """
    document = markdown.parse(content)
    item = next(
        (
            list_item
            for list_item in list_items(content, document, path)
            if list_item.start <= span[0] < list_item.own_end
        ),
        None,
    )
    above = [heading for heading in document.headings if heading.end <= span[0]]
    start = content.rfind("\n", 0, span[0]) + 1 if item is None else item.start
    end = line_end(content, span[0]) if item is None else item.own_end
    first, *rest = content[start:end].rstrip().splitlines()
    indent = len(first) - len(first.lstrip())
    lines = (first[indent:], *(line[min(indent, len(line) - len(line.lstrip())) :] for line in rest))
    title = next((heading.title for heading in document.headings if heading.level == 1), "")
    return HeldLine(lines, above[-1].title if above else "", title)


@dataclass(frozen=True, slots=True)
class PuttingBack:
    """Puts a line back into a page, as data that can be called; see `tasks.Filing`.

    It stands under its heading again. If the page has that heading no more, it stands under the general heading of
    a page of statements, and at the end of any other page. A heading that says what kind of statement it is, such
    as `Done`, is made again.

    Attributes:
        path: of the page.
        held: the line.
        key: of the line; see `statement_lines.line_key`.
        has_page: whether the page stood when it was looked for. If it stands there no more, nothing is done.
    """

    path: str
    held: HeldLine
    key: bytes
    has_page: bool

    def __call__(self, content: str | None) -> Revised:
        """Return the page with the line; no text if the page went away meanwhile."""
        if content is None and self.has_page:
            return Revised(None, None)
        if content is not None and self.key in standing_lines(content):
            return Revised(content, "stands")
        text = content or self._new_page()
        return Revised(self._added(text), "put_back")

    def _new_page(self) -> str:
        held = self.held
        section = f"\n## {held.heading}\n" if held.heading and held.heading != held.title else ""
        return f"# {held.title}\n{section}" if held.title else section.lstrip()

    def _added(self, text: str) -> str:
        page = FileRevision.of(text, self.held.title, self.path, matches_paraphrases=False)
        heading = self._heading(page)
        if heading is None:
            return self._at_end(page)
        said = parse_bullet("\n".join(self.held.lines))
        lines = "".join(line + page.line_ending for line in self.held.lines)
        kind = kind_of_item(heading, self.path, None)
        page.added.append(ListItem(said, normal_form(said), None, kind, heading, lines=lines))
        return page.content() or text

    def _heading(self, page: FileRevision) -> str | None:
        general, heading = general_heading(self.path), self.held.heading
        if heading and layout.own_part(page.document, len(page.text), heading, general) is not None:
            return heading
        return heading if general is not None and stands_for_kind(heading) else general

    def _at_end(self, page: FileRevision) -> str:
        body = page.text.rstrip("\r\n")
        last = page.document.blocks[-1] if page.document.blocks else None
        is_list = last is not None and last.kind in {"bullet_list", "ordered_list"}
        gap = page.line_ending * (1 if is_list else 2) if body else ""
        return body + gap + "".join(line + page.line_ending for line in self.held.lines)
