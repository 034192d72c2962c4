"""Patches of a file's text: append, insert, replace. Pure.

Text is literal: no pattern, no escape. Outside the change a file keeps every character, line endings too.
Headings are those of the Markdown parser; it runs only when a patch needs it, so the commonest patch, an
append to the end of a file, costs string work alone.
"""

import re
from dataclasses import dataclass
from typing import Literal

from memex.errors import PatchAmbiguous, PatchNotFound, ValidationFailed
from memex.store import markdown
from memex.store.markdown import Heading, MarkdownDocument

Operation = Literal["append", "insert", "replace"]

_HEADINGS_NAMED = 100  # in the details of an error; a few of them in its message
_HEADING_CHARS = 200

_LEVELLED = re.compile(r"(#{1,6})[ \t]+(.*)", re.DOTALL)
_UNDERLINE = re.compile(r" {0,3}(?:=+|-+)[ \t]*(?:[\r\n]|$)")
_LINE_REST = re.compile(r"[ \t]*(?:\r\n?|\n)?")


@dataclass(frozen=True, slots=True)
class PatchedText:
    """The new content, and the span in it that is new; before and after the span it is the old content."""

    content: str
    start: int
    end: int


def apply(
    content: str, operation: Operation, text: str, *, heading: str | None = None, match: str | None = None
) -> PatchedText:
    r"""Return `content` with `text` put in.

    - `append`: as lines at the end of the file, or with `heading` after the last line of its section that is
      not blank, so that blank lines before the next heading stay between.
    - `insert`: with `match` directly after that text, adding nothing; with `heading` alone as lines right
      after the heading; with neither as lines at the start of the body, after the front matter.
    - `replace`: in the place of `match`.

    Text put in as lines starts on a line of its own and ends with a line ending; one that is missing is added
    as the file writes it, `\r\n` or `\n`. Before an underlined title, or a line that would underline it,
    a blank line is added too: without it the text would become a title.

    Args:
        content: the file as it is.
        operation: what to do.
        text: the new text; may be empty for `replace` only.
        heading: a heading's title without its markup, or with its level in front, as in `## Goals`. Its
            section reaches to the next heading of the same or a higher level; `match` must stand in it.
        match: exact text that occurs exactly once; occurrences that overlap count.

    Raises:
        PatchNotFound: no such heading or text; `headings` in the details are those that exist.
        PatchAmbiguous: more than one; `occurrences` in the details says how many do not overlap, at least 2.
        ValidationFailed: the arguments do not fit the operation.
    """
    _check_arguments(operation, text, match)
    if match is not None:
        start, end = (0, len(content)) if heading is None else section_span(content, heading)
        found = _find_once(content, match, start, end)
        after = found + len(match)
        return _splice(content, after if operation == "insert" else found, after, text)
    if operation == "append" and heading is None:
        return _add_lines(content, len(content), text)
    document = markdown.parse(content)
    if heading is None:
        point = document.body_start
    else:
        target = _find_heading(document, heading)
        point = target.end
        if operation == "append":
            point = _last_line_end(content, point, markdown.section(document, target, len(content))[1])
    return _add_lines(content, point, text, blank_line_after=_would_be_title(content, point, document))


def _check_arguments(operation: Operation, text: str, match: str | None) -> None:
    if operation == "append" and match is not None:
        raise ValidationFailed(
            "append takes no match: it adds at the end of the file or of a heading's section."
        )
    if operation == "replace" and match is None:
        raise ValidationFailed("replace needs match: the exact text to replace.")
    if match == "":
        raise ValidationFailed("match must not be empty.")
    if operation != "replace" and text == "":
        raise ValidationFailed(f"text must not be empty: {operation} would change nothing.")


def section_span(content: str, heading: str) -> tuple[int, int]:
    """Return where the section under a heading stands, its heading line included.

    Raises:
        PatchNotFound, PatchAmbiguous: no such heading, or more than one.
    """
    document = markdown.parse(content)
    return markdown.section(document, _find_heading(document, heading), len(content))


def _find_heading(document: MarkdownDocument, name: str) -> Heading:
    levelled = _LEVELLED.fullmatch(name.strip())
    level, title = (len(levelled[1]), levelled[2]) if levelled else (None, name.strip())
    found = [
        heading
        for heading in document.headings
        if heading.title.strip() == title and level in (None, heading.level)
    ]
    if len(found) > 1:
        raise PatchAmbiguous(
            f"{len(found)} headings have that title.",
            hint="Name the level too, as in '## Goals', or patch by match with a text that occurs once.",
            occurrences=len(found),
        )
    if not found:
        existing = [
            f"{'#' * h.level} {h.title}"[:_HEADING_CHARS] for h in document.headings[:_HEADINGS_NAMED]
        ]
        named = "; ".join(existing[:10]) or "none"
        raise PatchNotFound(f"No heading has that title. Headings here: {named}.", headings=existing)
    return found[0]


def _find_once(content: str, match: str, start: int, end: int) -> int:
    found = content.find(match, start, end)
    if found < 0:
        where = "file" if (start, end) == (0, len(content)) else "section"
        has_other_endings = "\n" in match and "\r\n" not in match and "\r\n" in content
        raise PatchNotFound(
            f"The text to match does not occur in the {where}.",
            hint=r"Lines of this file end with \r\n; match one line, or write its endings so."
            if has_other_endings
            else "",
        )
    if content.find(match, found + 1, end) >= 0:
        # `count` skips overlaps, and so stays linear where stepping through them would be quadratic.
        occurrences = max(2, content.count(match, start, end))
        raise PatchAmbiguous(f"The text to match occurs {occurrences} times.", occurrences=occurrences)
    return found


def _last_line_end(content: str, start: int, end: int) -> int:
    """Return where the last line that is not blank ends in the span; `start` when all are blank."""
    written = content[start:end].rstrip(" \t\r\n")
    if not written:
        return start
    rest = _LINE_REST.match(content, start + len(written))
    return rest.end() if rest else end


def _would_be_title(content: str, point: int, document: MarkdownDocument) -> bool:
    """Return whether a line put in at `point` would become a title, or a part of one: underlined there."""
    underlined = any(
        heading.start == point and re.search(r"[\r\n].", content[heading.start : heading.end])
        for heading in document.headings
    )
    return underlined or _UNDERLINE.match(content, point) is not None


def _add_lines(content: str, point: int, text: str, *, blank_line_after: bool = False) -> PatchedText:
    first = content.find("\n")
    line_ending = "\r\n" if first > 0 and content[first - 1] == "\r" else "\n"
    if point > 0 and content[point - 1] not in "\r\n":
        text = line_ending + text
    if text[-1] not in "\r\n":
        text += line_ending
    if blank_line_after:
        text += line_ending
    return _splice(content, point, point, text)


def _splice(content: str, start: int, end: int, text: str) -> PatchedText:
    return PatchedText(content[:start] + text + content[end:], start, start + len(text))
