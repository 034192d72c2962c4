"""The statements of a file that cite messages, with the lines in which they stand. Pure."""

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256

from memex.store import markdown
from memex.store.citations.syntax import CitedPlace, find_citations, without_any_citation, without_citations
from memex.subagent.remember.filing.items import list_items
from memex.subagent.statements.subjects import normal_form


@dataclass(frozen=True, slots=True)
class CitingStatement:
    """A statement that cites messages: a list item, or a line that is none.

    Attributes:
        first_line: the number of its first line in the file, from 1.
        last_line: that of its last line.
        text: the statement, without its date and its citations.
        places: the messages that it cites, in order.
    """

    first_line: int
    last_line: int
    text: str
    places: tuple[CitedPlace, ...]

    @property
    def digest(self) -> bytes:
        """By what the provenance knows the statement."""
        return statement_digest(self.text)


def statement_digest(text: str) -> bytes:
    """Return by what a statement is known in the provenance: the digest of its normal form."""
    return sha256("\x1f".join(normal_form(text)).encode("utf-8", "surrogatepass")).digest()


def citing_statements(content: str, path: str) -> list[CitingStatement]:
    """Return the statements of a file that cite messages, in their order."""
    if not find_citations(content):
        return []
    found = [*_citing_items(content, path)]
    items = {number for item in found for number in range(item.first_line, item.last_line + 1)}
    for number, line in enumerate(content.split("\n"), start=1):
        if number not in items and (places := find_citations(line)):
            text = without_any_citation(without_citations(line)).strip()
            found.append(CitingStatement(number, number, text, tuple(places)))
    return sorted(found, key=lambda citation: citation.first_line)


def _citing_items(content: str, path: str) -> Iterator[CitingStatement]:
    line_starts = [found.end() for found in re.finditer("\n", content)]
    for item in list_items(content, markdown.parse(content), path):
        lines = content[item.start : item.own_end]
        if places := find_citations(lines):
            first = bisect_right(line_starts, item.start) + 1
            last = first + lines.rstrip("\n").count("\n")
            yield CitingStatement(first, last, item.text, tuple(places))
