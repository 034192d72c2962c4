"""Read exports and transcripts here, and put their conversations into a Memex, here or elsewhere."""

import asyncio
import hashlib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from memex.api.ingest.batches import IngestBatch, parts_of, storable
from memex.api.ingest.report import IngestReport
from memex.api.protocol import CallsOperations
from memex.call_context import CallContext
from memex.errors import NothingRead
from memex.service.conversations.exported import exported_conversations, is_own_export
from memex.service.conversations.lines import MAX_PLACE_CHARS, is_bookmark, to_lines
from memex.sources.conversations.places import Found, survey
from memex.sources.conversations.reader import ResumingReader
from memex.sources.conversations.reading import read
from memex.sources.conversations.records import (
    Bookmark,
    Include,
    LeftOut,
    ReadReport,
)
from memex.sources.zips import BROKEN

FILES_A_REQUEST = 100  # whose digests are compared at once
BLOCK_BYTES = 1 << 20

Document = dict[str, Any]
Progress = Callable[[int], None]  # called with the number of messages that were read since


@dataclass(frozen=True, slots=True)
class IngestOptions:
    """Options of an import of conversations.

    Attributes:
        label: the name of the source; by default the format of each file.
        include: what is read beside what people and assistants said.
        again: bring conversations back that were deleted.
        reparse: put in also what is stored as it was read; a newer reader does so by itself.
        dry_run: read, and put nothing in.
    """

    label: str | None = None
    include: Include = field(default_factory=Include)
    again: bool = False
    reparse: bool = False
    dry_run: bool = False


class Ingest:
    """Puts the conversations of files in, one file after the other, and reports what became of them.

    A run that was cut off is finished by the same run again: what is stored is known, and changes nothing.

    `progress` is told how many messages were read, and `on_files` how many files are done, and of how many.
    """

    def __init__(
        self,
        api: CallsOperations,
        context: CallContext,
        options: IngestOptions,
        progress: Progress = lambda _: None,
        on_files: Callable[[int, int], None] = lambda _done, _total: None,
    ) -> None:
        self._api = api
        self._context = context
        self._options = options
        self._progress = progress
        self._on_files = on_files
        self._speaking: set[str] = set()  # formats of which a file has messages
        self._silent: list[tuple[str, str, NothingRead]] = []
        self._unwanted: set[str] = set()  # long conversations of which further parts are not sent
        self._begun: dict[str, int] = {}  # long conversations that were known: how many messages are new
        self._unread: set[str] = set()  # formats of which a file was not read again
        self._removed: Counter[str] = Counter()  # conversations that were removed, by format
        self._left_out: defaultdict[str, Counter[str]] = defaultdict(
            Counter
        )  # of the files so far, by format
        self._stored: dict[str, Document] = {}  # the last source that was stored with a file, by format
        self.report = IngestReport()

    async def run(self, paths: Sequence[Path]) -> IngestReport:
        """Put in what files, folders and zips hold, and return what became of it.

        What cannot be read is noted in the report, and the rest is stored.

        Raises:
            Unavailable, LimitExceeded: nothing more can be stored now; what was stored before stays.
        """
        exports = [path for path in paths if await asyncio.to_thread(is_own_export, path)]
        for path in exports:
            await self._add_export(path)
        with ExitStack() as stack:
            others = [path for path in paths if path not in exports]
            found = await asyncio.to_thread(stack.enter_context, survey(others))
            for skip in found.skips:
                self.report.add_skip(skip)
            self.report.warnings += found.warnings
            for start in range(0, len(found.found), FILES_A_REQUEST):
                await self._add_files(found.found[start : start + FILES_A_REQUEST], len(found.found))
        await self._tell_left_out()
        self._judge_silent()
        self.report.changes["grown"] += len(self._begun)  # those that were not read to their end
        # Of files that were not read again nobody can tell which of their conversations were removed.
        removed = sum(self._removed[kind] for kind in self._unread)
        self.report.changes["removed"] = max(self.report.changes["removed"], removed)
        return self.report

    async def _add_files(self, files: Sequence[Found], total: int) -> None:
        """Read those of some files that were not read to their end before, as they are now."""
        digests = [await asyncio.to_thread(_digest_of, file, self._options) for file in files]
        known: set[str] = set()
        bookmarks: Mapping[str, Document] = {}
        if not (self._options.again or self._options.reparse):
            asked = [made for made in digests if made is not None]
            source = {"kind": files[0].reader.kind, "files": asked}
            answer = await self._api.call(self._context, "conversation_wanted", {"source": source})
            known, bookmarks = set(answer["known_files"]), answer["bookmarks"]
            self._removed.update(
                {kind: count - self._removed[kind] for kind, count in answer["removed"].items()}
            )
        for file, digest in zip(files, digests, strict=True):
            if digest is not None and digest["sha256"] in known:
                self.report.files += 1
                self.report.unchanged_files += 1
                self._unread.add(file.reader.kind)
            else:
                bookmark = bookmarks.get(digest["lineage"]) if digest and digest["lineage"] else None
                await self._add_file(file, digest, Bookmark(**bookmark) if bookmark else None)
            self._on_files(self.report.files, total)

    async def _add_file(self, found: Found, digest: Document | None, bookmark: Bookmark | None) -> None:
        told = ReadReport()
        name = found.source.file.name
        batches = self._batches(found, told, bookmark)
        last: IngestBatch | None = None
        pending = asyncio.create_task(asyncio.to_thread(next, batches, None))
        while (batch := await pending) is not None:
            # The next conversations are read while these are stored; the last ones wait for the end of the file.
            pending = asyncio.create_task(asyncio.to_thread(next, batches, None))
            try:
                if last is not None:
                    await self._put(last)
            except BaseException:
                await asyncio.wait([pending])
                raise
            last = batch
        is_whole = not told.incomplete and (not told.damaged or told.bookmark is not None)
        files = [_marked(digest, told.bookmark)] if digest is not None and is_whole else []
        try:
            if bookmark is None:
                told.require_something(name, found.reader.label)
            if last is None and files:
                last = IngestBatch(self._source(found, "", told))
            if last is not None:
                await self._put(last, files)
            self._speaking.add(found.reader.kind)
        except NothingRead as error:
            self._silent.append((found.reader.kind, name, error))
        self.report.add_read(found.reader, name, told)
        self._left_out[found.reader.kind].update(told.left_out)

    async def _tell_left_out(self) -> None:
        """Store what was left out of the files that came after the last conversation of their source."""
        for kind, source in self._stored.items():
            if source["skipped"] != self._left_out[kind]:
                told = source | {"skipped": dict(self._left_out[kind])}
                await self._api.call(
                    self._context, "conversation_put", {"again": False}, lines=to_lines([told])
                )

    def _judge_silent(self) -> None:
        """Note the files without a message: an error, unless others of their format have messages.

        Among the transcripts of an agent there are always sessions in which nobody said a word.
        """
        for kind, name, error in self._silent:
            if kind in self._speaking:
                self.report.add_skip(LeftOut("nothing_said", name, error.message))
            else:
                self.report.add_failure(name, error)

    async def _add_export(self, path: Path) -> None:
        """Put conversations in that `memex conversations export` wrote, a source after the other."""
        self.report.files += 1
        batch: IngestBatch | None = None
        lines = exported_conversations(path)
        try:
            for number, source, parts in lines:
                if not parts:
                    place = f"{path.name}#{number}"
                    self.report.add_skip(LeftOut("damaged", place, "It is no conversation."))
                for part in parts:
                    chars = sum(len(message["text"]) for message in part["messages"])
                    if batch is not None and (batch.source != source or not batch.has_room(part, chars)):
                        await self._put(batch)
                        batch = None
                    batch = batch or IngestBatch(source)
                    batch.add(part, chars)
                    self._count(len(part["messages"]))
        except OSError as error:
            self.report.add_skip(
                LeftOut("unreadable", path.name, f"It cannot be read on: {error.strerror or error}.")
            )
        if batch is not None:
            await self._put(batch)

    def _count(self, messages: int) -> None:
        self.report.messages_read += messages
        self._progress(messages)

    def _batches(self, found: Found, report: ReadReport, bookmark: Bookmark | None) -> Iterator[IngestBatch]:
        batch: IngestBatch | None = None
        for conversation in read(found, self._options.include, report, bookmark):
            account = storable(conversation.account or "")[:200]
            if not conversation.key:
                report.damage("no_id", found.source.file.name, "A conversation has no id.")
                continue
            for part, chars in parts_of(conversation, report):
                if batch is not None and (
                    batch.source["account"] != account or not batch.has_room(part, chars)
                ):
                    yield batch
                    batch = None
                if batch is None:
                    batch = IngestBatch(self._source(found, account, report))
                batch.add(part, chars)
                self._count(len(part["messages"]))
        if batch is not None:
            batch.source |= self._source(found, batch.source["account"], report)
            yield batch

    def _source(self, found: Found, account: str, report: ReadReport) -> Document:
        reader = found.reader
        return {
            "kind": reader.kind,
            "label": self._options.label or reader.kind,
            "account": account,
            "reader_version": reader.version,
            "skipped": dict(self._left_out[reader.kind] + report.left_out),
            "place": storable(found.source.file.name)[:MAX_PLACE_CHARS],
        }

    async def _put(self, batch: IngestBatch, files: Sequence[Document] = ()) -> None:
        """Store those conversations of a batch that are not stored as they were read; `files` end with it."""
        whole = [
            conversation
            for conversation in batch.conversations
            if not conversation["is_continued"] and conversation["sha256"] is not None
        ]
        wanted = {conversation["id"] for conversation in batch.conversations} - self._unwanted
        if whole and not self._options.reparse:
            asked = {
                "source": batch.source | {"skipped": {}},
                "conversations": [
                    {"id": conversation["id"], "sha256": conversation["sha256"]} for conversation in whole
                ],
            }
            missing = (await self._api.call(self._context, "conversation_wanted", asked))["wanted"]
            known = {conversation["id"] for conversation in whole} - set(missing)
            self._unwanted |= {
                conversation["id"]
                for conversation in whole
                if conversation["id"] in known and not conversation["is_complete"]
            }
            wanted -= known
        self.report.changes["unchanged"] += len(whole) - sum(
            conversation["id"] in wanted for conversation in whole
        )
        sent = [conversation for conversation in batch.conversations if conversation["id"] in wanted]
        if self._options.dry_run:
            self.report.changes["created"] += sum(not conversation["is_continued"] for conversation in sent)
            return
        if not sent and not files:
            return
        source = batch.source | {"files": list(files)}
        lines = to_lines([source, *sent])
        done = await self._api.call(
            self._context, "conversation_put", {"again": self._options.again}, lines=lines
        )
        for conversation, stored in zip(sent, done["conversations"], strict=True):
            self._count_change(conversation, stored)
        self.report.messages_added += done["messages_added"]
        self.report.secrets += done["secrets_count"]
        self.report.forgotten += done.get("forgotten_count", 0)
        for line in done.get("forgotten", ()):
            place = f"{line['conversation']}: {line['message']}, line {line['line']}"
            self.report.add_place(place, "forgotten", "says what was asked to be forgotten")
        for reason, name in (("repeated_turn", "repeated"), ("shorter_copy", "shorter_copies")):
            if count := done.get(name, 0):
                self.report.skipped[reason] += count
                self._left_out[batch.source["kind"]][reason] += count
        if files:
            self._stored[source["kind"]] = source

    def _count_change(self, part: Document, stored: Document) -> None:
        """Count what became of a conversation; of a long one that was known, its last part tells."""
        name = part["id"]
        if name in self._begun:
            self._begun[name] += stored["added"]
            if part["is_complete"]:
                self.report.changes["grown" if self._begun.pop(name) else "unchanged"] += 1
        elif not part["is_continued"] and not part["is_complete"] and stored["change"] == "grown":
            self._begun[name] = stored["added"]
        elif not part["is_continued"]:
            self.report.changes[stored["change"]] += 1


def _marked(digest: Document, bookmark: Bookmark | None) -> Document:
    """Return the digests of a file that was read to its end, with where to read on."""
    mark = asdict(bookmark) if bookmark else None
    return digest | {"bookmark": mark if is_bookmark(mark) else None}


def _digest_of(found: Found, options: IngestOptions) -> Document | None:
    """Return digests of a file and of how it is read; None for one that cannot be read.

    The `lineage` is of the first line alone, which stays while the file grows; None if the file does not just grow.
    """
    reader = found.reader
    how = f"{reader.kind} {reader.version} {options.label} {options.include}".encode()
    digest, lineage = hashlib.sha256(how), None
    try:
        with found.source.file.open() as stream:
            while block := stream.read(BLOCK_BYTES):
                if lineage is None:
                    lineage = hashlib.sha256(how + block.partition(b"\n")[0])
                digest.update(block)
    except BROKEN:
        return None  # the reader says why
    grows = lineage is not None and isinstance(reader, ResumingReader)
    return {"sha256": digest.hexdigest(), "lineage": lineage.hexdigest() if lineage and grows else None}
