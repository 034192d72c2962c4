"""Rollouts of Codex: JSON lines, a file a session or several files that continue one another."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import PurePosixPath
from typing import Any

from memex.sources.conversations.cleaning import (
    clean,
    clean_branch,
    clean_folder,
    clean_title,
    last_folder,
    parse_time,
    string,
)
from memex.sources.conversations.files import ExportFile, JsonLines, Position
from memex.sources.conversations.formats.codex_lines import (
    Form,
    Line,
    is_known,
    is_needed,
    kind_left_out,
    said_in,
    unwrap,
)
from memex.sources.conversations.reader import FileHead, FileLink, ReadableFile, make_bookmark
from memex.sources.conversations.records import Bookmark, Include, ReadConversation, ReadMessage, ReadReport

TITLE_CHARS = 80
MAX_FILES = 200  # that continue one another
_UUID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_ENVELOPES = ("session_meta", "response_item", "request_item", "event_msg", "turn_context", "compacted")


class Codex:
    """The reader of Codex's rollouts."""

    kind = "codex_cli"
    version = 3
    label = "Codex rollouts"
    export_hint = "Codex: give the folder ~/.codex/sessions, or a file in it (.jsonl or .jsonl.zst)."

    def recognises(self, head: FileHead) -> bool:
        """Return whether lines are envelopes of Codex, its bare items of 2025, or those of `codex exec --json`."""
        return any(_is_ours(line) for line in head.objects[:5])

    def read(self, source: ReadableFile, include: Include, report: ReadReport) -> Iterator[ReadConversation]:
        """Yield the one conversation of a file, with the part of older files that it continues."""
        chain = _chain(source, include, report)
        thread = _survey(chain, include, _Thread())
        if thread.is_subagent and not include.sidechains:
            report.skip("sidechain", source.file.name, "A subagent wrote the whole file.")
            return
        yield self._conversation(chain, thread, _Progress(), include, report)

    def read_on(
        self, source: ReadableFile, bookmark: Bookmark, include: Include, report: ReadReport
    ) -> ReadConversation | None:
        """Return what was added; None where something was taken back or repeated, or the form is another."""
        start = Position(bookmark.offset, bookmark.line)
        chain = [_Segment(JsonLines(source.file, partial(is_needed, include=include), start, kind_left_out))]
        thread, progress = _resumed(bookmark.state)
        forms = thread.forms()
        _survey(chain, include, thread)
        if thread.breaks or thread.forms() != forms:
            return None
        return self._conversation(chain, thread, progress, include, report)

    def _conversation(
        self,
        chain: "list[_Segment]",
        thread: "_Thread",
        progress: "_Progress",
        include: Include,
        report: ReadReport,
    ) -> ReadConversation:
        name = chain[-1].lines.file.name
        return ReadConversation(
            key=clean(thread.id or "") or rollout_id(name),
            title=thread.title or thread.first_words,
            project=last_folder(thread.folder),
            started_at=parse_time(thread.first_time),
            updated_at=parse_time(thread.last_time),
            messages=_messages(self, chain, thread, progress, include, report),
            continues=progress.is_resumed,
            folder=clean_folder(thread.folder),
            branch=thread.branch,
            forked_from=thread.forked_from,
        )

    def link(self, head: FileHead) -> FileLink:
        """Return the id of a rollout, which its name holds, that of its thread, and what it continues."""
        first = next(iter(head.objects), {})
        kind, payload = unwrap(first)
        thread = string(payload.get("id")) if kind == "session_meta" else None
        base, start = _base_in(first) or (None, 0)
        return FileLink((rollout_id(head.name), *filter(None, (thread,))), base, start)

    def superseded(self, links: Mapping[str, FileLink]) -> dict[str, str]:
        """Return packed files beside their plain twins, and older files of a thread that a newer one continues."""
        left_out = {
            name: "packed_twin" for name in links if name.removesuffix(".zst") in links.keys() - {name}
        }
        threads: dict[str, dict[str, FileLink]] = {}
        for name, link in links.items():
            if name not in left_out and len(link.ids) > 1:
                threads.setdefault(link.ids[1], {})[name] = link
        for files in threads.values():
            own = {file_id for link in files.values() for file_id in link.ids}
            newest = max((link.start for link in files.values() if link.continues in own), default=0)
            left_out |= {
                name: "continued_in_another_file" for name, link in files.items() if link.start < newest
            }
        return left_out


def rollout_id(name: str) -> str:
    """Return the id in the name of a rollout; the whole name without its ending if there is none."""
    stem = PurePosixPath(name).name.removesuffix(".zst").removesuffix(".jsonl")
    return found[-1] if (found := _UUID.findall(stem)) else stem


def _is_ours(line: dict[str, Any]) -> bool:
    kind, payload = line.get("type"), line.get("payload")
    if kind in _ENVELOPES and (isinstance(payload, dict) or "payload" in line):
        return True
    if "record_type" in line or (kind is None and "id" in line and ("instructions" in line or "git" in line)):
        return True
    return isinstance(kind, str) and kind.startswith(("thread.started", "turn.started"))


@dataclass(slots=True)
class _Segment:
    """A file of a thread, up to a line of it.

    Attributes:
        end: the ordinal before which the thread left this file; None for the newest file.
    """

    lines: JsonLines
    end: int | None = None

    def read(self, report: ReadReport | None = None) -> Iterator[dict[str, Any]]:
        for line in self.lines.objects(report):
            ordinal = line.get("ordinal")
            if (
                self.end is not None
                and (ordinal if isinstance(ordinal, int) else self.lines.number - 1) >= self.end
            ):
                break
            yield line


def _chain(source: ReadableFile, include: Include, report: ReadReport) -> list[_Segment]:
    """Return the files of a thread, the oldest first."""
    needed = partial(is_needed, include=include)
    chain = [_Segment(JsonLines(source.file, needed, kind_of=kind_left_out))]
    seen = {source.file.name}
    while (base := _base(chain[-1].lines.file)) is not None:
        thread, end = base
        if (limit := chain[-1].end) is not None:
            end = min(end, limit)
        named = source.beside(thread)
        file = _before(end, [file for file in named if file.name not in seen])
        if file is None or len(chain) == MAX_FILES:
            reason = "history_cycle" if named else "history_missing"
            report.skip(
                reason,
                chain[-1].lines.file.name,
                f"The file continues thread {thread}, which cannot be read on.",
            )
            break
        seen.add(file.name)
        chain.append(_Segment(JsonLines(file, needed, kind_of=kind_left_out), end))
    return chain[::-1]


def _before(end: int, files: list[ExportFile]) -> ExportFile | None:
    """Return the file in which an ordinal stands: a thread that was taken back has several of the same id."""
    starts = [(base[1] if (base := _base(file)) else 0, file) for file in files]
    return max((found for found in starts if found[0] < end), key=lambda found: found[0], default=(0, None))[
        1
    ]


def _base(file: ExportFile) -> tuple[str, int] | None:
    """Return which thread a file continues, and up to which ordinal."""
    line = next(JsonLines(file).objects(), None)
    return _base_in(line) if line is not None else None


def _base_in(line: dict[str, Any]) -> tuple[str, int] | None:
    payload = line.get("payload")
    if line.get("type") != "session_meta" or not isinstance(payload, dict):
        return None
    base = payload.get("history_base")
    if not isinstance(base, dict):
        return None
    thread, end = base.get("thread_id"), base.get("end_ordinal_exclusive")
    return (thread, end) if isinstance(thread, str) and isinstance(end, int) else None


@dataclass(slots=True)
class _Spoken:
    """Counts of messages in each form, and of those that the person took back. Both readings count alike.

    Attributes:
        counts: messages by form and role.
        turns: by form, the counts before each message of the person.
        gone: by form, the counts between which everything was taken back.
    """

    counts: Counter[tuple[Form, str]] = field(default_factory=Counter)
    turns: dict[Form, list[Counter[tuple[Form, str]]]] = field(default_factory=dict)
    gone: dict[Form, list[tuple[Counter[tuple[Form, str]], Counter[tuple[Form, str]]]]] = field(
        default_factory=dict
    )
    _seen: set[int] = field(default_factory=set)

    def count(self, line: Line, form: Form, time: object) -> bool:
        """Count a message; return whether it is new: older versions repeat the whole history when they resume."""
        if line.item_id is not None or isinstance(time, str | int | float):
            mark = hash(line.item_id or (form, line.role, line.text, time))
            if mark in self._seen:
                return False
            self._seen.add(mark)
        self.counts[form, line.role] += 1
        return True

    def roll_back(self, turns: int) -> None:
        for form, starts in self.turns.items():
            if turns > 0 and (taken := starts[-turns:]):
                del starts[-turns:]
                self.gone.setdefault(form, []).append((taken[0], self.counts.copy()))


@dataclass(slots=True)
class _Thread:
    """The facts that the first reading of a thread finds out.

    Attributes:
        breaks: how often a history was repeated or something taken back.
    """

    id: str | None = None
    title: str | None = None
    first_words: str | None = None
    folder: str | None = None
    branch: str = ""
    forked_from: str = ""
    is_paginated: bool = False
    is_subagent: bool = False
    first_time: object = None
    last_time: object = None
    breaks: int = 0
    spoken: _Spoken = field(default_factory=_Spoken)

    def state(self) -> dict[str, Any]:
        """Return what is needed to read on, as JSON."""
        state = {name: getattr(self, name) for name in _KEPT}
        times = [time if isinstance(time, str) else None for time in (self.first_time, self.last_time)]
        counts = [[form, role, count] for (form, role), count in self.spoken.counts.items()]
        return {**state, "first_time": times[0], "last_time": times[1], "counts": counts}

    def forms(self) -> dict[str, Form]:
        """Return the form in which the words of each role are read."""
        return {role: self.form_of(role) for role in ("user", "assistant")}

    @property
    def form(self) -> Form:
        """Return the form in which the words of the person are read, decided once for the whole thread."""
        if self.is_paginated:
            return "items"
        for form in ("events", "items"):
            if self.spoken.counts[form, "user"]:
                return form
        return "responses"

    def form_of(self, role: str) -> Form:
        """Return the form in which the words of a role are read; answers may stand in another than questions."""
        if role == "user" or self.is_paginated or self.spoken.counts[self.form, role]:
            return self.form
        return "events" if self.spoken.counts["events", role] else "responses"

    def is_gone(self, form: Form, role: str, number: int) -> bool:
        """Return whether the person took back the message of this number."""
        return any(
            start[form, role] < number <= end[form, role]
            for start, end in self.spoken.gone.get(self.form, ())
        )


_KEPT = ("id", "title", "first_words", "folder", "branch", "forked_from", "is_paginated", "is_subagent")


@dataclass(slots=True)
class _Progress:
    """The state of the second reading of a thread at a line.

    Attributes:
        others: parts without words, by kind.
        previous: the newest message.
        standing: the newest message that was not taken back.
    """

    spoken: _Spoken = field(default_factory=_Spoken)
    others: Counter[str] = field(default_factory=Counter)
    model: str | None = None
    previous: str | None = None
    standing: str | None = None
    is_resumed: bool = False

    def state(self) -> dict[str, Any]:
        """Return what is needed to read on, as JSON; the counts are those of the thread."""
        kept = [self.model, self.previous, self.standing]
        return {"others": dict(self.others), "kept": kept}


def _resumed(state: dict[str, Any]) -> tuple[_Thread, _Progress]:
    """Return a thread of which a part was read before, and how far."""
    about, progress = state["thread"], state["progress"]
    counts = Counter({(form, role): count for form, role, count in about["counts"]})
    kept = {name: about[name] for name in (*_KEPT, "first_time", "last_time")}
    model, previous, standing = progress["kept"]
    others = Counter[str](progress["others"])
    return (
        _Thread(**kept, spoken=_Spoken(counts.copy())),
        _Progress(_Spoken(counts), others, model, previous, standing, is_resumed=True),
    )


def _survey(chain: list[_Segment], include: Include, thread: _Thread) -> _Thread:
    for segment in chain:
        is_new = True
        for line in segment.read():
            kind, payload = unwrap(line)
            if (time := line.get("timestamp")) is not None:
                thread.first_time = time if thread.first_time is None else thread.first_time
                thread.last_time = time
            if kind == "session_meta":
                if is_new:
                    _take_meta(thread, payload)
                is_new = False
                thread.breaks += 1
            elif kind == "thread.started" and isinstance(payload.get("thread_id"), str):
                thread.id = payload["thread_id"]
            elif kind == "event_msg" and payload.get("type") == "thread_name_updated":
                thread.title = clean_title(payload.get("thread_name")) or thread.title
            elif kind == "event_msg" and payload.get("type") == "thread_rolled_back":
                turns = payload.get("num_turns")
                thread.spoken.roll_back(turns if isinstance(turns, int) else 0)
                thread.breaks += 1
            elif (said := said_in(kind, payload, include)) is not None:
                _hear(thread, said, line.get("timestamp"))
    return thread


def _take_meta(thread: _Thread, meta: dict[str, Any]) -> None:
    """Take what the head of a file says; of several files the newest comes last and counts."""
    if isinstance(meta.get("id"), str):
        thread.id = meta["id"]
    if isinstance(meta.get("cwd"), str):
        thread.folder = meta["cwd"]
    if isinstance(git := meta.get("git"), dict):
        thread.branch = clean_branch(git.get("branch"))
    thread.forked_from = clean(string(meta.get("forked_from_id")) or "")
    origin = meta.get("source")
    thread.is_subagent = isinstance(origin, dict) and "subagent" in origin
    thread.is_paginated = meta.get("history_mode") == "paginated"


def _hear(thread: _Thread, said: Line, time: object) -> None:
    if said.form is None or not clean(said.text):
        return
    if said.role == "user":
        if thread.first_words is None:
            thread.first_words = clean_title(said.text, TITLE_CHARS)
        before = thread.spoken.counts.copy()
        if thread.spoken.count(said, said.form, time):
            thread.spoken.turns.setdefault(said.form, []).append(before)
    else:
        thread.spoken.count(said, said.form, time)


def _messages(
    reader: Codex,
    chain: list[_Segment],
    thread: _Thread,
    progress: _Progress,
    include: Include,
    report: ReadReport,
) -> Iterator[ReadMessage]:
    """Yield the messages of a thread; after the last one, set the bookmark."""
    spoken, others = progress.spoken, progress.others
    is_on_path = True
    forms = thread.forms()
    for segment in chain:
        for line in segment.read(report):
            kind, payload = unwrap(line)
            if (unknown := is_known(kind, payload)) is not None:
                report.unknown[unknown[:80]] += 1
                continue
            report.known += 1
            if kind == "turn_context":
                progress.model = string(payload.get("model")) or progress.model
            if (said := said_in(kind, payload, include)) is None or not (text := clean(said.text)):
                continue
            time = line.get("timestamp")
            if said.form is None:
                others[said.part] += 1
                key = said.item_id or f"{said.part}:{others[said.part]}"
            elif said.form != forms[said.role] or not spoken.count(said, said.form, time):
                continue
            else:
                number = spoken.counts[said.form, said.role]
                key = said.item_id or f"{said.role}:{number}"
                is_on_path = not thread.is_gone(said.form, said.role, number)
            yield ReadMessage(
                key=key,
                parent=progress.standing if is_on_path else progress.previous,
                role=said.role,
                text=text,
                part=said.part,
                author="subagent" if thread.is_subagent else said.name,
                at=parse_time(time),
                model=progress.model if said.role == "assistant" else None,
                human_authored=said.role == "user" and not thread.is_subagent,
                on_path=is_on_path,
                origin=segment.lines.place,
            )
            if said.part == "message":
                progress.previous = key
                progress.standing = key if is_on_path else progress.standing
    state = {"thread": thread.state(), "progress": progress.state()}
    report.bookmark = make_bookmark(reader, chain[-1].lines, include, state)
