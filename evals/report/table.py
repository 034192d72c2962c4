"""A table of texts, for the terminal and for a page."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Table:
    """A title, the names of the columns, and rows of texts; the first column is text, the others numbers."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
