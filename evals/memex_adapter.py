"""Memex, as evals ask it: through its service in this process, over throw-away tenants."""

import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from memex.errors import MemexError
from memex.evals.adapter import Placed, Recalled, Remembered, Source, Usage
from memex.evals.fixtures.placement import PlacedState, place_state
from memex.evals.recordings import current_playback, current_recording, is_stale
from memex.service.chunk_embedding import backfill
from memex.service.conversations import putting
from memex.service.conversations.putting import ConversationInput, SourceInput
from memex.service.distil import distil as distilling
from memex.service.evals.states import State
from memex.service.log.call_list import read_attempts
from memex.service.log.operations import InnerResult
from memex.service.log.replay.rerun import load_call
from memex.service.service import Caller, Service
from memex.store.entry_path import FOLDER
from memex.store.log.operations import MODEL_REQUEST
from memex.store.memory import Memory
from memex.subagent.model import recorded
from memex.subagent.model.recorded import Recording

PAGE_SIZE = 1_000  # files of a list
MAX_SHOWN_OMITTED = 5
TRACED = ("status", "writes", "skipped", "replaced", "rivals", "candidates")  # of what remembering answers


class MemexAdapter:
    """Memex as a service that can be measured."""

    name = "memex"

    def __init__(self, service: Service) -> None:
        self._service = service

    @asynccontextmanager
    async def place(self, state: State) -> AsyncIterator["MemexPlaced"]:
        """Put a state into a throw-away tenant; see `placing.place_state`."""
        async with place_state(self._service.database, state) as place:
            yield MemexPlaced(self._service, state, place)


class MemexPlaced(Placed):
    """Memex over a state."""

    def __init__(self, service: Service, state: State, place: PlacedState) -> None:
        self._service = service
        self._callers = place.callers
        self._calls = 0
        self._texts = {
            (user, path, 1): content
            for user in state.manifest.users
            for path, content in state.seen_by(user).items()
        }

    async def remember(self, user: str, text: str, *, project: str | None, now: datetime) -> Remembered:
        """Run memory_remember."""
        done = await self._call(user, "memory_remember", {"text": text, "project": project}, now)
        if done.error is not None:
            return Remembered(error=done.error, seconds=done.seconds, usage=done.usage, trace=done.trace)
        result = done.result
        return Remembered(
            status=result["status"],
            skipped=tuple(
                (text[skip["start"] : skip["end"]].strip(), skip["reason"]) for skip in result["skipped"]
            ),
            seconds=done.seconds,
            usage=done.usage,
            trace=done.trace | {name: result[name] for name in TRACED},
        )

    async def context(
        self, user: str, query: str, *, budget: int, project: str | None, max_hops: int, now: datetime
    ) -> Recalled:
        """Run memory_context, over texts that are embedded if the service compares meaning."""
        await self._embed()
        arguments = {"query": query, "budget": budget, "project": project, "max_hops": max_hops}
        done = await self._call(user, "memory_context", arguments, now)
        if done.error is not None:
            return Recalled(error=done.error, seconds=done.seconds, usage=done.usage, trace=done.trace)
        result = done.result
        omitted = result["omitted"] | {"best": result["omitted"]["best"][:MAX_SHOWN_OMITTED]}
        kept = {name: result[name] for name in ("context", "sources", "budget", "state")}
        return Recalled(
            context=result["context"],
            sources=tuple([await self._source(user, source) for source in result["sources"]]),
            seconds=done.seconds,
            usage=done.usage,
            trace=done.trace | kept | {"omitted": omitted},
        )

    async def files(self, user: str) -> Mapping[str, str]:
        """Return the files that the user may read, without the entries of the journal."""
        return await self._below(user, "")

    async def journal(self, user: str) -> Mapping[str, str]:
        """Return the entries of the user's journal; words of statements that no page holds any more are blank."""
        entries = await self._below(user, f"user/{FOLDER}/")
        access = self._callers[user].access
        async with self._service.database.transaction(access) as connection:
            stated = await Memory(connection, access).entry_statements(list(entries))
        for statement in stated:
            if not statement.is_in_force:
                text, blank = entries[statement.path], " " * (statement.end_char - statement.start_char)
                entries[statement.path] = f"{text[: statement.start_char]}{blank}{text[statement.end_char :]}"
        return entries

    async def _below(self, user: str, prefix: str) -> dict[str, str]:
        found: dict[str, str] = {}
        cursor = None
        while True:
            arguments = {"prefix": prefix, "limit": PAGE_SIZE, "cursor": cursor}
            page = await self._service.execute(self._callers[user], "memory_list", arguments)
            for file in page["files"]:
                found[file["path"]] = await self._text(user, file["path"], file["version"])
            cursor = page["next_cursor"]
            if cursor is None:
                return found

    async def write(self, user: str, path: str, content: str, *, now: datetime) -> None:
        """Run memory_write over whatever stands there."""
        arguments = {"path": path, "content": content, "overwrite": True}
        await self._service.execute(self._callers[user], "memory_write", arguments, now=now)

    async def distil(
        self,
        user: str,
        messages: Sequence[tuple[str, datetime]],
        *,
        project: str | None,
        now: datetime,
        is_again: bool,
    ) -> None:
        """Put what a user said into a conversation, as far as it is new, and distil it.

        Args:
            user: who said it.
            messages: all that was said in the conversation, each with its time.
            project: that the conversation is about.
            now: the clock.
            is_again: also read what was distilled before.
        """
        said = [
            {"id": str(place), "role": "user", "text": text, "said_at": at}
            for place, (text, at) in enumerate(messages)
        ]
        document = {"id": f"of-{project}", "title": "", "messages": said}
        conversation = ConversationInput.model_validate(document, strict=False)
        caller = self._callers[user]
        done = await putting.put(self._service, caller, SourceInput(kind="eval"), [conversation])
        given = {"conversation": done.conversations[0].id, "project": project}
        await distilling.distil(self._service, caller, given | {"apply": True, "again": is_again}, now=now)

    async def _embed(self) -> None:
        """Embed what is new: the service's own job leaves out tenants that are thrown away."""
        if self._service.embedder is not None:
            scopes = {scope.scope_id for caller in self._callers.values() for scope in caller.access.scopes}
            await backfill(self._service.database, self._service.embedder, scope_ids=sorted(scopes))

    async def _source(self, user: str, source: dict[str, Any]) -> Source:
        content = await self._text(user, source["path"], source["version"])
        passages = tuple(content[span["start"] : span["end"]] for span in source["spans"])
        return Source(source["path"], source["reason"], passages)

    async def _text(self, user: str, path: str, version: int) -> str:
        known = self._texts.get((user, path, version))
        if known is None:
            arguments = {"path": path, "version": version}
            read = await self._service.execute(self._callers[user], "memory_read", arguments)
            known = self._texts[user, path, version] = str(read["content"])
        return known

    async def _call(self, user: str, tool: str, arguments: dict[str, Any], now: datetime) -> "_CallResult":
        """Run a tool by a clock, and look up in the log what it took."""
        self._calls += (
            1  # the paths of entries are made of ids, and the same calls shall make the same prompts
        )
        caller, call_id = self._callers[user], f"eval_{self._calls}"
        result: dict[str, Any] = {}
        error: str | None = None
        started = time.perf_counter()
        try:
            result = await self._service.execute(caller, tool, arguments, tool_call_id=call_id, now=now)
        except MemexError as refused:
            error = refused.code
        return await self._read_outcome(caller, call_id, result, error, time.perf_counter() - started)

    async def _read_outcome(
        self, caller: Caller, call_id: str, result: dict[str, Any], error: str | None, seconds: float
    ) -> "_CallResult":
        [logged, *_] = await read_attempts(self._service, caller, call_id)
        requests = [operation for operation in logged.inner if operation.tool == MODEL_REQUEST]
        if (tape := current_recording.get()) is not None and (
            kept := await self._read_recording(caller, call_id)
        ):
            tape.calls.append(kept)
        usage = Usage()
        for request in requests:
            usage = usage.plus(_request_usage(request))
        trace = {
            "tool_call_id": call_id,
            "error": error,
            "planner": result.get("planner"),
            "degraded": result.get("degraded"),
            "ms": round(1000 * seconds, 1),
            "inner": [_inner_trace(operation) for operation in logged.inner],
        }
        if (played := current_playback.get()) is not None and error is None:
            last = played.calls[played.place - 1] if 0 < played.place <= len(played.calls) else None
            trace["stale"] = is_stale(last, [operation.request for operation in requests]) or None
        said = {name: value for name, value in trace.items() if value is not None}
        return _CallResult(result, error, seconds, usage, said)

    async def _read_recording(self, caller: Caller, call_id: str) -> Recording | None:
        """Return a model's part in a call, as the log has it."""
        async with self._service.database.transaction(caller.access) as connection:
            logged = await load_call(connection, caller.access, call_id)
        return recorded.recording_of(logged.operation, {})


@dataclass(frozen=True, slots=True)
class _CallResult:
    """A call that ended."""

    result: dict[str, Any]
    error: str | None
    seconds: float
    usage: Usage
    trace: dict[str, Any]


def _request_usage(request: InnerResult) -> Usage:
    used = request.usage or {}
    return Usage(
        requests=used.get("requests", 1),
        input_tokens=used.get("input_tokens", 0),
        output_tokens=used.get("output_tokens", 0),
        usd=used.get("usd"),
    )


def _inner_trace(one: InnerResult) -> dict[str, Any]:
    """Return an operation inside a call as a run keeps it: what it was, what was asked, and what a model said."""
    kept: dict[str, Any] = {"tool": one.tool, "ms": round(one.duration_ms, 1)}
    if one.error_code:
        kept["error"] = one.error_code
    if one.tool == MODEL_REQUEST:
        return kept | {"model": one.model, "usage": one.usage, "response": one.response}
    return kept | {"request": one.request}
