"""A tool call: what was requested, the record of what happened, and the answer."""

import hashlib
import json
import time
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from memex.store.records import Status
from memex.store.search.index import ENGINE

# `json.dumps` would make an encoder for each value.
_encode = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode


@dataclass(frozen=True, slots=True)
class InnerOperation:
    """An operation inside a call, as it is logged: texts that revisions hold are references.

    Attributes:
        kind: the tool, such as `memory_find`.
        request: its arguments.
        response: what came back; None when it failed.
        state: the number of changes that it saw of each mount.
        usage: what the request used: requests, tokens, and US dollars if a price is known.
        prompt_sha256: the digest of the prompt with the instructions.
    """

    kind: str
    request: dict[str, Any]
    response: dict[str, Any] | None
    state: dict[str, int] | None
    error_code: str | None
    started_at: datetime
    duration_ms: float
    model: str | None = None
    usage: dict[str, Any] | None = None
    prompt_sha256: bytes | None = None


@dataclass(frozen=True, slots=True)
class CallOutcome:
    """The end of an attempt at a call, as the log has it; `degraded` is the code that its answer bears."""

    status: Status
    error_code: str | None = None
    degraded: str | None = None


@dataclass(frozen=True, slots=True)
class CallRequest:
    """The request of one tool call: what it asks for, by whom and when.

    Attributes:
        tool_call_id: the caller's, or one made for the call.
        tool: such as `memory_write`.
        arguments: as they came; once they are validated, without those at their default.
        principal: who makes the call: role, key, user, actor, project.
        now: the clock, read once for the whole call.
        engine: the versions that must be equal for the same state and request to give the same bytes.
        accepted_id: the operation by which the call was put into the queue, if it comes from there.
    """

    tool_call_id: str
    tool: str
    arguments: dict[str, Any]
    principal: dict[str, Any]
    now: datetime
    engine: str = ENGINE
    accepted_id: int | None = None

    @property
    def request_sha256(self) -> bytes:
        """The digest of tool and arguments in canonical form, which tells a retry from another request."""
        return digest([self.tool, self.arguments])


@dataclass(slots=True)
class CallRecord:
    """The record of a call so far. It grows while the call runs, so that a failed call has a record too.

    Attributes:
        inner: the operations inside the call, in the order in which they ended.
        prompts: the texts of the prompts that they name, by SHA-256; the log keeps each text once.
        config: what the call ran with, such as the embedder.
        outcomes: how the call ended, one for each row of the log; the last one counts.
        is_model_played: whether the answers of its model come from the log, where they were counted.
        is_unlogged: whether the answer has no row in the log, because no space was left for one.
        started_s: when the call began, on the clock of `time.perf_counter`.
        secrets: where secrets stand in the texts that came in, and their kinds; the log keeps them with `config`.
    """

    inner: list[InnerOperation] = field(default_factory=list)
    prompts: dict[bytes, str] = field(default_factory=dict)
    config: dict[str, Any] = field(default_factory=dict)
    outcomes: list[CallOutcome] = field(default_factory=list)
    is_model_played: bool = False
    is_unlogged: bool = False
    started_s: float = field(default_factory=time.perf_counter)
    secrets: list[dict[str, Any]] = field(default_factory=list)

    @property
    def has_asked_model(self) -> bool:
        """Return whether a chat model or an embedder was asked so far."""
        return "embedder" in self.config or any(operation.model is not None for operation in self.inner)

    def restart(self) -> None:
        """Forget what happened so far, because the call is run again from its start; its time goes on."""
        for kept in (self.inner, self.prompts, self.config, self.outcomes):
            kept.clear()
        self.is_unlogged = False


@dataclass(frozen=True, slots=True)
class Call:
    """One tool call: its request, and the record of what happened."""

    request: CallRequest
    record: CallRecord = field(default_factory=CallRecord)

    def with_arguments(self, arguments: dict[str, Any]) -> "Call":
        """Return the call with these arguments in its request; both calls share the record."""
        return replace(self, request=replace(self.request, arguments=arguments))

    def accepted_at(self, moment: datetime) -> "Call":
        """Return the call with the clock of the moment at which it was accepted; both calls share the record."""
        return replace(self, request=replace(self.request, now=moment))


@dataclass(frozen=True, slots=True)
class CallAnswer:
    """The result of a call, and the form in which the log keeps it.

    In `request` and `response` a text that a revision holds is `{"$text": "path@version:start-end"}` and a diff
    `{"$diff": [old reference or null, new reference]}`; `expand` puts the texts back. `config` is what the call
    ran with beside its arguments, such as the planner.
    """

    result: dict[str, Any]
    request: dict[str, Any]
    response: dict[str, Any]
    config: dict[str, Any] | None = None


def digest(value: Any) -> bytes:
    """Return the SHA-256 of a JSON value in canonical form."""
    return text_digest(canonical_json(value))


def canonical_json(value: Any) -> str:
    """Return a value as JSON in canonical form: sorted keys, no spaces, characters as they are."""
    return _encode(value)


def text_digest(text: str) -> bytes:
    """Return the SHA-256 of a text in UTF-8."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
