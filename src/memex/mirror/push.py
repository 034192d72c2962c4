"""A root is made equal to its folder: compared page by page, what is wanted is sent, what is gone removed."""

import asyncio
import json
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from typing import Any

from memex.api.protocol import CallsOperations
from memex.call_context import CallContext
from memex.errors import MostlyGone, SyncSuperseded
from memex.mirror.roots import PushedRoot
from memex.mirror.rules import PATTERNS
from memex.mirror.scan import FolderChanges, FolderScan

PAGE_FILES = 10_000  # of a manifest; its limit is 50,000 lines and 8 MiB
PAGE_BYTES = 7 << 20
BATCH_FILES = 500
IN_FLIGHT = 2
BATCH_BYTES = 3 << 19  # a text of 1 MiB is up to 6 MiB in JSON, and a request may have 8 MiB
ATTEMPTS = 3
MAX_EXAMPLES = 200
MAX_REFUSED = 200
TEXT_WANTED = "TEXT_WANTED"
Line = dict[str, Any]
Progress = Callable[[str, int, int], None]


@dataclass(slots=True)
class PushReport:
    """The results of a push. `refused` lists at most 200 files that the service refused, with the reason."""

    root: str
    project: str | None
    files: int = 0
    created: int = 0
    changed: int = 0
    renamed: int = 0
    removed: int = 0
    unchanged: int = 0
    refused: list[dict[str, str]] = field(default_factory=list)
    refused_files: int = 0
    left_out: dict[str, int] = field(default_factory=dict)
    examples: list[dict[str, str]] = field(default_factory=list)
    documents: int = 0
    passages: int = 0
    duration_s: float = 0.0

    def document(self) -> Line:
        """Return the report as JSON."""
        return asdict(self)

    def add(self, answer: Line) -> None:
        """Count what became of the files of a request."""
        for file in answer["files"]:
            change = file["change"]
            if change == "refused":
                self.refused_files += 1
                if len(self.refused) < MAX_REFUSED:
                    self.refused.append({name: file[name] for name in ("path", "code", "message")})
            else:
                setattr(self, change, getattr(self, change) + 1)
        self.documents = answer["stored"]


class FolderPush:
    """Pushes one folder. Only one of its methods runs at a time."""

    def __init__(
        self,
        api: CallsOperations,
        context: CallContext,
        root: PushedRoot,
        scan: FolderScan,
        *,
        prune: bool = False,
    ) -> None:
        self._api = api
        self._context = context
        self._root = root
        self._scan = scan
        self.prune = prune
        self.stored = 0  # documents when the last sync ended, and how many were removed since
        self._removed = 0
        self._sync: int | None = None  # the number of the last one

    @property
    def _named(self) -> Line:
        return {"root": self._root.name, "project": self._root.project}

    async def sync(self, progress: Progress = lambda _what, _done, _total: None) -> PushReport:
        """Look at the whole folder and make the root equal to it.

        Raises:
            MostlyGone: more than half of the documents are gone, and `prune` is not set; nothing was removed.
            ValidationFailed: the folder is not there, or its `.memex.toml` is broken.
            MemexError: as the service answers; the next sync goes on where this one stopped.
        """
        began_s = time.monotonic()
        looked = 0

        def seen(more: int) -> None:
            nonlocal looked
            looked += more
            progress("Looking", looked, looked + 1)

        await asyncio.to_thread(self._scan.all, seen)
        progress("Looking", looked, looked)
        report = PushReport(self._root.name, self._root.project)
        for attempt in range(1, ATTEMPTS + 1):
            report = PushReport(self._root.name, self._root.project)
            try:
                await self._compare_and_send(report, progress)
                break
            except SyncSuperseded:
                if attempt == ATTEMPTS:
                    raise
        report.duration_s = round(time.monotonic() - began_s, 3)
        return report

    async def send(self, changes: FolderChanges) -> PushReport:
        """Send what changed in the folder since the last look, under the number of the last sync.

        So what was sent by a process that was killed cannot be stored behind a later sync.

        Raises:
            SyncSuperseded: another sync began; one is needed here too.
            MostlyGone: more than half of what the last sync left would be gone; nothing of that was removed.
            MemexError: as the service answers; a sync is needed then.
        """
        began_s = time.monotonic()
        report = PushReport(self._root.name, self._root.project)
        old = {sha256: path for path, sha256 in changes.gone.items()}
        renames: list[Line] = []
        texts: list[str] = []
        for path, (before, now) in changes.written.items():
            if before is None and (source := old.pop(now, None)) is not None:
                renames.append({"path": path, "sha256": now.hex(), "renamed_from": source})
            else:
                texts.append(path)
        moved = {rename["renamed_from"] for rename in renames}
        gone = [path for path in changes.gone if path not in moved]
        is_too_much = bool(gone) and 2 * (self._removed + len(gone)) > self.stored and not self.prune
        late = await self._put_lines(report, renames, self._sync)
        gone += [rename["renamed_from"] for rename in renames if rename["path"] in late]
        await self._put_texts(report, [*texts, *late], self._sync)
        if is_too_much:
            raise MostlyGone(
                f"{self._removed + len(gone):,} of the {self.stored:,} documents of {self._root.shown} are gone: "
                "they were not removed.",
                gone=self._removed + len(gone),
                stored=self.stored,
            )
        await self._put_lines(report, [{"path": path, "is_removed": True} for path in gone], self._sync)
        self._removed += len(gone)
        self.stored += report.created
        report.duration_s = round(time.monotonic() - began_s, 3)
        return report

    async def _compare_and_send(self, report: PushReport, progress: Progress) -> None:
        known = self._scan.known
        report.files, _ = known.count()
        report.left_out, report.examples = known.left_out(), known.examples(MAX_EXAMPLES)
        sync: int | None = None
        after, used, done = "", set[str](), 0

        def sent(more: int) -> None:
            nonlocal done
            done += more
            progress("Pushing", min(done, report.files), report.files)

        while True:
            digests, lines = self._page(after)
            until = max(digests, default="")
            is_last = not known.documents(until, 1)
            asked = self._named | {"client": known.client, "sync": sync, "after": after or None}
            compared = await self._api.call(
                self._context,
                "document_manifest",
                asked | {"until": None if is_last else until},
                lines=lines,
            )
            self._sync = sync = compared["sync"]
            self.stored = compared["stored"]
            report.unchanged += compared["unchanged"]
            sent(compared["unchanged"])
            renames, texts = self._divided(compared["wanted"], digests, used)
            texts += await self._put_lines(report, renames, sync)
            await self._put_texts(report, texts, sync, sent)
            if is_last:
                break
            after = until
        await self._finish(report, sync)
        progress("Pushing", report.files, report.files)

    def _page(self, after: str) -> tuple[dict[str, str], bytes]:
        """Return the digests of the files behind a path, and the same as lines of a manifest."""
        digests: dict[str, str] = {}
        lines: list[bytes] = []
        size_bytes = 0
        for path, sha256, size in self._scan.known.documents(after, PAGE_FILES):
            line = to_line({"path": path, "sha256": sha256.hex(), "size_bytes": size})
            size_bytes += len(line)
            if size_bytes > PAGE_BYTES:
                break
            digests[path] = sha256.hex()
            lines.append(line)
        return digests, b"".join(lines)

    def _divided(
        self, wanted: Iterable[Line], digests: dict[str, str], used: set[str]
    ) -> tuple[list[Line], list[str]]:
        """Return the files that are renamed, and those whose text is sent; `used` are old paths of renames."""
        renames: list[Line] = []
        texts: list[str] = []
        for file in wanted:
            path = file["path"]
            source = next((old for old in file["same_as"] if old not in used and self._is_gone(old)), None)
            if source is None:
                texts.append(path)
            else:
                used.add(source)
                renames.append({"path": path, "sha256": digests[path], "renamed_from": source})
        return renames, texts

    def _is_gone(self, path: str) -> bool:
        known = self._scan.known.find(path)
        return known is None or known.sha256 is None

    def _asked(self, sync: int | None) -> Line:
        return self._named | {"sync": sync, "prune": self.prune}

    async def _put_lines(self, report: PushReport, lines: Sequence[Line], sync: int | None) -> list[str]:
        """Send lines without texts; return the paths of renames whose text is wanted after all."""
        wanted: list[str] = []
        for start in range(0, len(lines), BATCH_FILES):
            batch = b"".join(map(to_line, lines[start : start + BATCH_FILES]))
            answer = await self._api.call(self._context, "document_put", self._asked(sync), lines=batch)
            wanted += [span["path"] for span in answer["files"] if span["code"] == TEXT_WANTED]
            answer["files"] = [span for span in answer["files"] if span["code"] != TEXT_WANTED]
            report.add(answer)
        return wanted

    async def _put_texts(
        self,
        report: PushReport,
        paths: Sequence[str],
        sync: int | None,
        sent: Callable[[int], None] = lambda _files: None,
    ) -> None:
        """Send files with their texts, in batches: one is indexed while another one is read and sent."""
        waiting, reading = iter(paths), asyncio.Lock()

        async def send() -> None:
            while True:
                async with reading:
                    batch = await asyncio.to_thread(self._read_some, waiting)
                if not batch:
                    return
                done = await self._api.call(
                    self._context, "document_put", self._asked(sync), lines=b"".join(batch)
                )
                report.add(done)
                sent(len(batch))

        done = await asyncio.gather(*(send() for _ in range(IN_FLIGHT)), return_exceptions=True)
        for error in done:
            if error is not None:
                raise error

    def _read_some(self, paths: Iterator[str]) -> list[bytes]:
        """Return the next files as lines; one that is gone meanwhile, or is no text any more, is passed over."""
        batch: list[bytes] = []
        size_bytes = 0
        for path in paths:
            read = self._scan.read(path)
            if read is None or read.text is None or read.sha256 is None:
                continue
            changed_at = datetime.fromtimestamp(max(0, min(read.signature.changed_ns // 10**9, 2**33)), UTC)
            batch.append(
                to_line(
                    {
                        "path": path,
                        "sha256": read.sha256.hex(),
                        "text": read.text,
                        "changed_at": changed_at.isoformat(),
                    }
                )
            )
            size_bytes += len(batch[-1])
            if len(batch) == BATCH_FILES or size_bytes > BATCH_BYTES:
                break
        return batch

    async def _finish(self, report: PushReport, sync: int | None) -> None:
        given = {
            "sync": sync,
            "prune": self.prune,
            "left_out": report.left_out,
            "examples": [example for example in report.examples if example["reason"] != "name"],
            "patterns": [*PATTERNS, *self._root.patterns.include],
        }
        while True:
            done = await self._api.call(self._context, "document_finish", self._named | given)
            report.removed += done["removed"]
            if not done["remaining"]:
                break
        report.documents, report.passages = done["documents"], done["passages"]
        self.stored, self._removed = done["documents"], 0


def to_line(document: Line) -> bytes:
    """Return a document of JSON as a line."""
    return json.dumps(document, ensure_ascii=False).encode() + b"\n"
