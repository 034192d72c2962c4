"""The delivery of captured events: transcripts are read on, events are posted, and the spool is empty again.

One process at a time delivers, and ends with its work. A delivery that is cut off is finished by the next one: the
events that it took wait in a file of their own, and what was stored before is known and changes nothing.
"""

import json
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from memex.api.ingest.ingest import Ingest, IngestOptions
from memex.api.protocol import CallsOperations
from memex.api.work.places import linked_projects
from memex.call_context import CallContext
from memex.capture.earlier_links import confirm_earlier_links
from memex.capture.transcripts import command_outcomes, readable_transcript, says_off
from memex.errors import FileTooLarge, MemexError, SecretRefused, Unavailable, ValidationFailed
from memex.hook.packs import PACK_FILE, pack_file, pack_query
from memex.hook.state import (
    DELIVERED,
    DELIVERY_LOCK,
    SETTINGS,
    SPOOL,
    TRANSCRIPTS,
    CaptureState,
    real_path,
)
from memex.projects.detection import VARIABLE, DetectedProject, detect_project
from memex.store.text_pool.portions import portions

TAKEN = "spool.taken"  # what a delivery works on
MAX_EVENTS, MAX_BATCH_BYTES = 500, 4 << 20
MAX_SPOOL_BYTES = 256 << 20
MAX_PACKS = 50  # kept on disk

Event = dict[str, Any]


@dataclass(slots=True)
class DeliveryReport:
    """The results of a delivery.

    Attributes:
        refused: events that the service does not take, such as those with a malformed field.
        unreadable: lines of the spool that are no events, as a full disk leaves them.
        foreign: transcripts that are none of the client's own, and were not read.
        error: the code of what stopped the delivery; the events wait for the next one.
    """

    events: int = 0
    added: int = 0
    messages_added: int = 0
    refused: int = 0
    unreadable: int = 0
    foreign: int = 0
    packs: int = 0
    error: str | None = None
    folders: dict[str, Event] = field(default_factory=dict)

    def document(self) -> dict[str, Any]:
        """Return the report as JSON."""
        return {name: value for name, value in asdict(self).items() if name != "folders"}


class Delivery:
    """Delivers what the spool holds.

    With `keeps_packs` it puts together what the next session of a folder is given.
    """

    def __init__(
        self,
        state: CaptureState,
        api: CallsOperations,
        context: CallContext,
        *,
        keeps_packs: bool = False,
    ) -> None:
        self._state, self._api, self._context, self._keeps_packs = state, api, context, keeps_packs
        self._links: Mapping[str, str] | None = None
        self.report = DeliveryReport()

    async def run(self, lock: int | None = None) -> DeliveryReport:
        """Deliver until the spool is empty, unless another process delivers; return what was done.

        A `lock` of deliveries that is held already is given back.
        """
        while lock is not None or is_waiting(self._state):
            if lock is None and (lock := self._state.lock(DELIVERY_LOCK)) is None:
                return self.report
            try:
                await self._deliver_all()
            except (MemexError, OSError) as error:
                self.report.error = error.code if isinstance(error, MemexError) else type(error).__name__
            finally:
                told = self.report.document() | {"at": int(time.time())}
                with suppress(OSError):  # a full disk
                    self._state.write(DELIVERED, json.dumps(told).encode())
                os.close(lock)
                lock = None
            if self.report.error is not None:
                break
        return self.report

    async def _deliver_all(self) -> None:
        if self._keeps_packs:
            await confirm_earlier_links(self._state, self._api, self._context)
            self._links = linked_projects(await self._api.call(self._context, "work_labels"))
        while self._state.exists(TAKEN) or self._state.take(TAKEN):
            off = set(self._state.sessions_off())
            events = self._wanted([event for event in self._taken() if _key(event) not in off])
            if paths := self._transcripts(events):
                sizes = {path: _size_of(path) for path in paths}
                await self._read(paths)
                self._note_read(events, sizes)
            _add_outcomes(events)
            _leave_prompts_to_transcripts(events)
            self._add_projects(events)
            for batch in portions(events, lambda event: len(json.dumps(event)), MAX_BATCH_BYTES, MAX_EVENTS):
                await self._post(batch)
            self.report.events += len(events)
            self._state.remove(TAKEN)
        await self._keep_packs()

    def _taken(self) -> Iterator[Event]:
        for line in self._state.read(TAKEN, MAX_SPOOL_BYTES).splitlines():
            try:
                event = json.loads(line)
            except (ValueError, RecursionError):
                event = None
            if _is_event(event):
                yield event
            else:
                self.report.unreadable += 1

    def _wanted(self, events: Sequence[Event]) -> list[Event]:
        """Return the events of sessions that a person did not turn off; a transcript says that of a fork."""
        paths = {(_key(event), event["runtime"], event.get("transcript") or "") for event in events}
        off = set()
        for key, runtime, path in paths:
            file = readable_transcript(runtime, path)
            if file is not None and says_off(file):
                self._state.turn_off(key, "a prompt said so")
                off.add(key)
        return [event for event in events if _key(event) not in off]

    async def _read(self, paths: Sequence[Path]) -> None:
        """Read transcripts; where one holds a secret that is refused, one by one, so that it keeps no other out."""
        try:
            read = await Ingest(self._api, self._context, IngestOptions()).run(paths)
        except SecretRefused:  # the words stay out; that something happened is stored
            if len(paths) > 1:
                for path in paths:
                    await self._read([path])
            return
        self.report.messages_added += read.messages_added

    def _transcripts(self, events: Sequence[Event]) -> list[Path]:
        """Return the files that may be read, each once; count those that may not."""
        named = {(event["runtime"], event.get("transcript") or ""): None for event in events}
        for event in events:  # what grew since it was read, such as by a session that was killed
            grown = self._state.grown_transcripts(event["cwd"]) if event.get("cwd") else []
            named |= {(event["runtime"], path): None for path in grown}
        paths: dict[Path, None] = {}
        for runtime, path in named:
            found = readable_transcript(runtime, path)
            if found is not None:
                paths[found] = None
            elif path and os.path.exists(path):  # noqa: PTH110 - a path that is too long is none
                self.report.foreign += 1
        return list(paths)

    def _note_read(self, events: Sequence[Event], sizes: Mapping[Path, int]) -> None:
        """Note to which size the transcripts of each folder were read."""
        read: dict[str, dict[str, int]] = {}
        for event in events:
            path = readable_transcript(event["runtime"], event.get("transcript") or "")
            if path is not None and path in sizes and event.get("cwd"):
                read.setdefault(real_path(event["cwd"]), {})[str(path)] = sizes[path]
        for folder, known in self._state.read_json(TRANSCRIPTS).items():
            grown = {path: sizes[Path(path)] for path in known if Path(path) in sizes}
            read.setdefault(folder, {}).update(grown) if grown else None
        if read:
            self._state.note_transcripts(read)

    async def _post(self, events: Sequence[Event]) -> None:
        """Post events; where the service refuses them, one by one, so that a malformed one keeps no other out."""
        sent = [{name: value for name, value in event.items() if name != "transcript"} for event in events]
        try:
            done = await self._api.call(self._context, "event_put", {"events": sent})
        except Unavailable:
            raise
        except (ValidationFailed, FileTooLarge):
            if len(events) == 1:
                self.report.refused += 1
                return
            for event in events:
                await self._post([event])
            return
        self.report.added += sum(event["change"] == "added" for event in done["events"])
        self.report.messages_added += done["messages_added"]
        for event in events:
            if event.get("cwd"):
                self.report.folders[event["cwd"]] = dict(event)

    async def _keep_packs(self) -> None:
        """Put together what the next session in each folder is given, for a time when no service answers."""
        if not self._keeps_packs or not self._state.exists(SETTINGS):
            return
        for cwd in self.report.folders:
            if self._is_left_out(cwd):
                continue
            event = self.report.folders[cwd]
            is_named = (event.get("metadata") or {}).get("label_source") == "environment"
            # The folder itself: a turn may have changed another repository.
            found = self._detect(cwd, str(event.get("project") or "") if is_named else "")
            asked = {name: value for name, value in pack_query(cwd, found).items() if value}
            try:
                pack = await self._api.call(self._context, "work_context", asked)
            except Unavailable:
                raise
            except MemexError:  # such as no project, or several: there is nothing to give
                continue
            self._keep_pack(cwd, found.label if found else "", pack)
        self._drop_old_packs()

    def _add_projects(self, events: Sequence[Event]) -> None:
        """Say of events to which project they belong, as their folder, their repository or the user says."""
        for event in events:
            if not event.get("cwd"):
                continue
            paths = [path for tool in event.get("tools") or [] for path in tool.get("paths") or []]
            if (found := self._detect(event["cwd"], event.get("project") or "", paths)) is not None:
                event["project"] = found.name
                event["metadata"] = (event.get("metadata") or {}) | found.metadata()

    def _detect(self, cwd: str, project: str, paths: Sequence[str] = ()) -> DetectedProject | None:
        return detect_project(
            Path(cwd), environment={VARIABLE: project}, changed_paths=paths, links=self._links
        )

    def _is_left_out(self, cwd: str) -> bool:
        """Return whether a person has left the folder out, maybe since its events were noted."""
        here = Path(os.path.realpath(cwd))
        return any(here.is_relative_to(folder) for folder in self._state.folders_off())

    def _keep_pack(self, cwd: str, label: str, pack: Mapping[str, Any]) -> None:
        kept = {"cwd": os.path.realpath(cwd), "label": label, "text": pack.get("text") or ""}
        kept["made_at"] = int(time.time())
        self._state.write(pack_file(cwd), json.dumps(kept).encode())
        self.report.packs += 1

    def _drop_old_packs(self) -> None:
        packs = [name for name in self._state.files() if name.startswith(PACK_FILE)]
        packs.sort(key=lambda name: self._state.age_s(name) or 0.0)
        for name in packs[MAX_PACKS:]:
            self._state.remove(name)


def _size_of(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _key(event: Event) -> str:
    """Return what names a session that is turned off."""
    return f"{event['runtime']} {event['session']}"


def _leave_prompts_to_transcripts(events: Sequence[Event]) -> None:
    """Take the words of prompts out where there is a transcript by now: it says whether a program sent them."""
    for event in events:
        if event["kind"] == "prompt" and readable_transcript(event["runtime"], event.get("transcript") or ""):
            event["messages"] = []


def _add_outcomes(events: Sequence[Event]) -> None:
    """Say of commands how they ended, where the event does not say it and the transcript does."""
    by_path: dict[str, dict[str, dict[str, Any]]] = {}
    for event in events:
        tools, path = event.get("tools") or [], event.get("transcript") or ""
        if event["runtime"] != "codex_cli" or not any(tool.get("ok") is None for tool in tools):
            continue
        if path not in by_path:
            file = readable_transcript(event["runtime"], path)
            by_path[path] = command_outcomes(file) if file is not None else {}
        outcome = by_path[path].get(str(event["event"]).removeprefix("tool-"), {})
        event["tools"] = [tool | outcome if tool.get("ok") is None else tool for tool in tools]


def is_waiting(state: CaptureState) -> bool:
    """Return whether there are events to deliver."""
    return state.exists(SPOOL) or state.exists(TAKEN)


def _is_event(given: Any) -> bool:
    """Return whether a line holds an event whose parts can be read here; what they say, the service checks."""
    if not isinstance(given, dict) or not {"runtime", "session", "event", "kind", "time"} <= given.keys():
        return False
    texts = ("runtime", "session", "event", "kind", "time", "project", "cwd", "transcript")
    tools = given.get("tools") or []
    return (
        all(isinstance(given.get(name) or "", str) for name in texts)
        and isinstance(given.get("metadata") or {}, dict)
        and isinstance(tools, list)
        and all(isinstance(tool, dict) and _are_texts(tool.get("paths") or []) for tool in tools)
    )


def _are_texts(given: Any) -> bool:
    return isinstance(given, list) and all(isinstance(folder, str) for folder in given)
