"""The texts of spans of stored versions, as far as possible from passages that were read with their texts."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from memex.errors import ValidationFailed, VersionNotFound
from memex.store.access import Access, Scope
from memex.store.database import Statement
from memex.store.paths import parse
from memex.store.records import FilePassages, Reference, check_text
from memex.store.snapshot.reader import SnapshotReader


class SpanReader:
    """Reads spans in one snapshot."""

    def __init__(self, reader: SnapshotReader, access: Access) -> None:
        self._reader = reader
        self._access = access
        self._texts: dict[Reference, str] = {}

    def keep_passages(self, files: Iterable[FilePassages]) -> None:
        """Keep the texts of passages that were read with them."""
        for file in files:
            path, version = file.path, file.version
            for span, _, _, text in file.passages:
                if text is not None:
                    self._texts[Reference(path, version, span)] = text

    async def read(
        self, references: Sequence[Reference], statement: Callable[[Sequence[Scope]], Statement]
    ) -> list[str]:
        """Return the texts of spans, in their order.

        Args:
            references: the spans.
            statement: gives the name of the statement that reads spans, and its parameters for the scopes of spans.

        Raises:
            VersionNotFound: a path never had that version, or it is a deletion.
            ValidationFailed: a span does not lie in its text.
        """
        known = [self._texts.get(reference) for reference in references]
        unknown = [reference for reference, text in zip(references, known, strict=True) if text is None]
        read = iter(await self._stored(unknown, statement) if unknown else ())
        return [next(read) if text is None else text for text in known]

    async def _stored(
        self, references: Sequence[Reference], statement: Callable[[Sequence[Scope]], Statement]
    ) -> list[str]:
        parsed = [parse(reference.path) for reference in references]
        name, parameters = statement([self._access.scope_of(path) for path in parsed])
        columns = {
            "paths": [path.relative for path in parsed],
            "versions": [reference.version for reference in references],
            "starts": [reference.span[0] for reference in references],
            "ends": [reference.span[1] for reference in references],
        }
        [rows] = await self._reader.rows((name, parameters | columns))
        found = {place: stored for place, *stored in rows}
        return [_text(reference, found.get(place)) for place, reference in enumerate(references, start=1)]


def _text(reference: Reference, stored: Sequence[Any] | None) -> str:
    """Return the text of a span from the size of the whole text, whether it is a deletion, and the span's text."""
    size_chars, is_deleted, text = stored or (0, True, "")
    if is_deleted:
        raise VersionNotFound(
            f"{reference.path} has no text in version {reference.version}.", path=reference.path
        )
    start, end = reference.span
    if not 0 <= start <= end <= size_chars:
        raise ValidationFailed(f"{reference} does not lie in its {size_chars:,} characters.")
    if text is None:
        check_text(f"{reference.path}@{reference.version}", ())
    return str(text)
