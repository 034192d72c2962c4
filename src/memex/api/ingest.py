"""Read exports and transcripts here, and put their conversations into a Memex, here or elsewhere."""

import asyncio
import hashlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from memex.api.conversations import ConversationsApi
from memex.call_context import CallContext
from memex.errors import MemexError, NothingRead
from memex.service.conversations.exported import exported_conversations, is_own_export
from memex.service.conversations.putting import (
    MAX_ID_CHARS,
    MAX_TEXT_CHARS,
    MAX_TITLE_CHARS,
    is_bookmark,
    to_lines,
)
from memex.sources.conversations.cleaning import derived_key
from memex.sources.conversations.places import Found, survey
from memex.sources.conversations.reader import Reader, ResumingReader
from memex.sources.conversations.reading import read
from memex.sources.conversations.records import (
    Bookmark,
    Include,
    LeftOut,
    ReadConversation,
    ReadMessage,
    ReadReport,
)
from memex.sources.zips import BROKEN
from memex.subagent.secrets.finding import find_secrets, redact

MAX_BATCH_MESSAGES = 1_000
MAX_BATCH_CHARS = 1 << 20  # of a request: in UTF-8 and JSON at most 6 MiB, and one longer message
MAX_BATCH_CONVERSATIONS = 500
FILES_A_REQUEST = 100  # whose digests are compared at once
BLOCK_BYTES = 1 << 20
MAX_NAMED = 100  # unreadable lines and skipped places that a report names

Document = dict[str, Any]
Progress = Callable[[int], None]  # called with the number of messages that were read since


@dataclass(frozen=True, slots=True)
class IngestOptions:
    """How conversations are put in.

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


@dataclass(slots=True)
class IngestReport:
    """What became of an import.

    Attributes:
        changes: how many conversations were created, have grown, are unchanged or were removed before.
        messages_read: the messages of the files.
        messages_added: those that are new.
        secrets: how often a text looked like a secret.
        skipped: what was left out, how often by reason.
        unknown: lines of a type that the reader does not know, by format and type.
        candidates: texts that an export offers as memory, by kind. They are not imported.
        places: the first lines that cannot be read, and the first things that were left out, each with its place.
        failed: files that could not be read, with code, message and hint.
        warnings: what a person should look at.
        files: how many files were recognised.
        unchanged_files: those that are as they were when they were read before; they were not read again.
    """

    changes: Counter[str] = field(default_factory=Counter)
    messages_read: int = 0
    messages_added: int = 0
    secrets: int = 0
    skipped: Counter[str] = field(default_factory=Counter)
    unknown: Counter[str] = field(default_factory=Counter)
    candidates: Counter[str] = field(default_factory=Counter)
    places: list[Document] = field(default_factory=list)
    failed: list[Document] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    files: int = 0
    unchanged_files: int = 0

    def document(self) -> Document:
        """Return the report as JSON."""
        counted = {name: self.changes[name] for name in ("created", "grown", "unchanged", "removed")}
        return {
            "files": self.files,
            "unchanged_files": self.unchanged_files,
            "conversations": counted,
            "messages_read": self.messages_read,
            "messages_added": self.messages_added,
            "secrets": self.secrets,
            "skipped": dict(self.skipped),
            "unknown": dict(self.unknown),
            "candidates": dict(self.candidates),
            "places": self.places,
            "failed": self.failed,
            "warnings": self.warnings,
        }

    def add_skip(self, skip: LeftOut) -> None:
        """Note something that is not read."""
        self.skipped[skip.reason] += 1
        if len(self.places) < MAX_NAMED:
            self.places.append({"place": skip.place, "reason": skip.reason, "detail": skip.detail})

    def add_failure(self, name: str, error: MemexError) -> None:
        """Note a file that could not be read."""
        self.failed.append({"file": name, "code": error.code, "message": error.message, "hint": error.hint})

    def add_read(self, reader: Reader, name: str, told: ReadReport) -> None:
        """Add what a reader tells of a file."""
        self.files += 1
        self.skipped.update(told.skipped)
        self.candidates.update(told.candidates)
        self.unknown.update({f"{reader.kind}: {kind}": count for kind, count in told.unknown.items()})
        for one in (*told.unreadable, *told.skips):
            if len(self.places) < MAX_NAMED:
                self.places.append({"place": one.place, "reason": one.reason, "detail": one.detail})
        if told.is_drifted:
            self.warnings.append(
                f"{name}: most lines are of a type that the reader {reader.kind} (version {reader.version}) does "
                "not know. The format has probably changed; look for a newer version of Memex."
            )


@dataclass(slots=True)
class _Batch:
    """Conversations of one request, or parts of them."""

    source: Document
    conversations: list[Document] = field(default_factory=list)
    messages: int = 0
    chars: int = 0

    def has_room(self, part: Document, chars: int) -> bool:
        """Return whether a part fits too; one alone always does."""
        if not self.conversations:
            return True
        return (
            self.messages + len(part["messages"]) <= MAX_BATCH_MESSAGES
            and self.chars + chars <= MAX_BATCH_CHARS
            and len(self.conversations) < MAX_BATCH_CONVERSATIONS
        )

    def add(self, part: Document, chars: int) -> None:
        """Add a part."""
        self.conversations.append(part)
        self.messages += len(part["messages"])
        self.chars += chars


class Ingest:
    """Puts the conversations of files in, one file after the other, and reports what became of them.

    A run that was cut off is finished by the same run again: what is stored is known, and changes nothing.

    Args:
        api: of the Memex that stores them.
        context: for whom.
        options: how.
        progress: is told how many messages were read.
    """

    def __init__(
        self,
        api: ConversationsApi,
        context: CallContext,
        options: IngestOptions,
        progress: Progress = lambda _: None,
    ) -> None:
        self._api = api
        self._context = context
        self._options = options
        self._progress = progress
        self._speaking: set[str] = set()  # formats of which a file has messages
        self._silent: list[tuple[str, str, NothingRead]] = []
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
            for start in range(0, len(found.found), FILES_A_REQUEST):
                await self._add_files(found.found[start : start + FILES_A_REQUEST])
        self._judge_silent()
        return self.report

    async def _add_files(self, files: Sequence[Found]) -> None:
        """Read those of some files that were not read to their end before, as they are now."""
        digests = [await asyncio.to_thread(_digest_of, one, self._options) for one in files]
        known: set[str] = set()
        bookmarks: Mapping[str, Document] = {}
        if not (self._options.again or self._options.reparse):
            asked = [one for one in digests if one is not None]
            source = {"kind": files[0].reader.kind, "files": asked}
            answer = await self._api.wanted(self._context, {"source": source})
            known, bookmarks = set(answer["known_files"]), answer["bookmarks"]
        for one, digest in zip(files, digests, strict=True):
            if digest is not None and digest["sha256"] in known:
                self.report.files += 1
                self.report.unchanged_files += 1
            else:
                bookmark = bookmarks.get(digest["lineage"]) if digest and digest["lineage"] else None
                await self._add_file(one, digest, Bookmark(**bookmark) if bookmark else None)

    async def _add_file(self, found: Found, digest: Document | None, bookmark: Bookmark | None) -> None:
        told = ReadReport()
        name = found.source.file.name
        batches = self._batches(found, told, bookmark)
        pending = asyncio.create_task(asyncio.to_thread(next, batches, None))
        while (batch := await pending) is not None:
            # The next conversations are read while these are stored.
            pending = asyncio.create_task(asyncio.to_thread(next, batches, None))
            try:
                await self._put(batch)
            except BaseException:
                await asyncio.wait([pending])
                raise
        try:
            if bookmark is None:
                told.require_something(name, found.reader.label)
            is_whole = not told.incomplete and (not told.damaged or told.bookmark is not None)
            if digest is not None and is_whole and not self._options.dry_run:
                mark = asdict(told.bookmark) if told.bookmark else None
                marked = digest | {"bookmark": mark if is_bookmark(mark) else None}
                source = self._source(found.reader, "", told) | {"files": [marked]}
                await self._api.put(self._context, to_lines([source]))
            self._speaking.add(found.reader.kind)
        except NothingRead as error:
            self._silent.append((found.reader.kind, name, error))
        self.report.add_read(found.reader, name, told)

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
        batch: _Batch | None = None
        lines = exported_conversations(path, max_messages=MAX_BATCH_MESSAGES, max_chars=MAX_BATCH_CHARS)
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
                    batch = batch or _Batch(source)
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

    def _batches(self, found: Found, report: ReadReport, bookmark: Bookmark | None) -> Iterator[_Batch]:
        batch: _Batch | None = None
        for conversation in read(found, self._options.include, report, bookmark):
            account = _storable(conversation.account or "")[:200]
            if not conversation.key:
                report.damage("no_id", found.source.file.name, "A conversation has no id.")
                continue
            for part, chars in _parts(conversation, report):
                if batch is not None and (
                    batch.source["account"] != account or not batch.has_room(part, chars)
                ):
                    yield batch
                    batch = None
                if batch is None:
                    batch = _Batch(self._source(found.reader, account, report))
                batch.add(part, chars)
                self._count(len(part["messages"]))
        if batch is not None:
            batch.source["skipped"] = dict(report.skipped)
            yield batch

    def _source(self, reader: Reader, account: str, report: ReadReport) -> Document:
        return {
            "kind": reader.kind,
            "label": self._options.label or reader.kind,
            "account": account,
            "reader_version": reader.version,
            "skipped": dict(report.skipped),
        }

    async def _put(self, batch: _Batch) -> None:
        """Store those conversations of a batch that are not stored as they were read."""
        whole = [
            one
            for one in batch.conversations
            if one["is_complete"] and not one["is_continued"] and one["sha256"] is not None
        ]
        wanted = {one["id"] for one in batch.conversations}
        if whole and not self._options.reparse:
            asked = {
                "source": batch.source | {"skipped": {}},
                "conversations": [{"id": one["id"], "sha256": one["sha256"]} for one in whole],
            }
            missing = (await self._api.wanted(self._context, asked))["wanted"]
            wanted -= {one["id"] for one in whole} - set(missing)
        self.report.changes["unchanged"] += len(whole) - sum(one["id"] in wanted for one in whole)
        sent = [one for one in batch.conversations if one["id"] in wanted]
        if not sent:
            return
        if self._options.dry_run:
            self.report.changes["created"] += sum(not one["is_continued"] for one in sent)
            return
        done = await self._api.put(self._context, to_lines([batch.source, *sent]), again=self._options.again)
        for one, stored in zip(sent, done["conversations"], strict=True):
            if not one["is_continued"]:
                self.report.changes[stored["change"]] += 1
        self.report.messages_added += done["messages_added"]
        self.report.secrets += done["secrets_count"]


def _parts(conversation: ReadConversation, report: ReadReport) -> Iterator[tuple[Document, int]]:
    """Yield a conversation as parts of requests, with the number of characters of each; most have one part.

    The digest of the last part is of the whole conversation. It is made of texts without secrets: a short secret
    could be guessed from a digest of the rest.
    """
    digest = hashlib.sha256()
    messages: list[Document] = []
    chars, is_continued = 0, conversation.continues
    for whole in conversation.messages:
        for message in _pieces(whole):
            if messages and (
                len(messages) >= MAX_BATCH_MESSAGES or chars + len(message["text"]) > MAX_BATCH_CHARS
            ):
                yield (
                    _part(conversation, messages, digest.hexdigest(), is_continued, is_complete=False),
                    chars,
                )
                messages, chars, is_continued = [], 0, True
            messages.append(message)
            chars += len(message["text"])
            text = redact(message["text"], find_secrets(message["text"]))
            named = f"{message['id']}\x1f{message['on_path']}\x1f{message['role']}\x1f{text}\x1e"
            digest.update(named.encode("utf-8", "surrogatepass"))
    if messages:
        is_complete = conversation.key not in report.incomplete
        yield _part(conversation, messages, digest.hexdigest(), is_continued, is_complete=is_complete), chars


def _part(
    conversation: ReadConversation,
    messages: list[Document],
    sha256: str,
    is_continued: bool,
    *,
    is_complete: bool,
) -> Document:
    started_at, last_at = conversation.started_at, conversation.updated_at
    return {
        "id": _storable_id(conversation.key),
        "title": _storable(conversation.title or "")[:MAX_TITLE_CHARS],
        "project": _storable(conversation.project or "")[:200],
        "started_at": started_at.isoformat() if started_at else None,
        "last_at": last_at.isoformat() if last_at else None,
        "sha256": sha256,
        "is_continued": is_continued,
        "is_complete": is_complete,
        "messages": messages,
    }


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


def _pieces(message: ReadMessage) -> Iterator[Document]:
    """Yield a message, or one of over a MiB in several."""
    for place, start in enumerate(range(0, len(message.text), MAX_TEXT_CHARS), start=1):
        yield {
            "id": _storable_id(message.key if place == 1 else f"{message.key}/piece:{place}"),
            "role": message.role,
            "text": message.text[start : start + MAX_TEXT_CHARS],
            "parent": _storable_id(message.parent) if message.parent is not None else None,
            "part": message.part,
            "author": _storable(message.author)[:200] if message.author else None,
            "said_at": message.at.isoformat() if message.at else None,
            "model": _storable(message.model)[:200] if message.model else None,
            "human_authored": message.human_authored,
            "on_path": message.on_path,
            "origin": _storable(message.origin)[:1_000],
        }


def _storable(text: str) -> str:
    """Return a text with other characters where it has some that cannot be stored: NUL and lone surrogates."""
    return text.replace("\0", "\ufffd").encode("utf-8", "replace").decode()


def _storable_id(key: str) -> str:
    """Return an id that can be stored; a digest of one that is too long."""
    text = _storable(key)
    return text if len(text) <= MAX_ID_CHARS else derived_key(text)
