"""Clients over HTTP that write and read at random, send a call again until it is answered, and keep a history."""

import asyncio
import hashlib
import itertools
import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import httpx2
from tests.faults.checker.history import File, Operation, Outcome, Search, Seen
from tests.kit.words import word_of

USERS = ("alice", "bob", "carol", "dave")
PROJECT = "projects/apollo"
NAMES = ("tea", "work", "plan", "garden", "music", "travel")
MOUNTS = ("user", "user", "user", PROJECT)
# How often each kind of operation comes, of 100.
KINDS = {
    "patch": 28,
    "read": 22,
    "write": 13,
    "find": 12,
    "batch": 6,
    "remember": 6,
    "move": 5,
    "restore": 3,
    "delete": 3,
    "revert": 2,
}
ATTEMPT_S = 8.0  # a client waits so long for an answer, and sends the call again
CALL_S = 180.0  # a client sends a call again for so long: on a busy machine faults last longer, too
PAUSES_S = (0.02, 0.3)
MAX_HITS = 50


@dataclass(frozen=True, slots=True)
class Attempt:
    """One request: when it was sent and answered, on the clock of `Load`, and whether it was answered with 200."""

    start: float
    end: float
    is_ok: bool


@dataclass(slots=True)
class Call:
    """A call before it is sent: the tool and its arguments, and what the history says of it."""

    kind: str
    arguments: dict[str, Any]
    files: tuple[File, ...] = ()
    word: str | None = None
    scopes: frozenset[str] = frozenset()


@dataclass
class Load:
    """Clients at work: each of them acts for one of the users, and calls any of the services.

    Attributes:
        urls: of the services.
        key: of an agent.
        count: how many operations all clients do together.
        seed: of all that is done at random.
        operations: the history.
        attempts: all requests that were sent, also those that failed.
        faulty: answers that no client should get, such as an internal error.
    """

    urls: Sequence[str]
    key: str
    count: int
    seed: int
    operations: list[Operation] = field(default_factory=list)
    attempts: list[Attempt] = field(default_factory=list)
    faulty: list[str] = field(default_factory=list)
    on_progress: Callable[[int], None] = lambda _: None

    def __post_init__(self) -> None:
        self._numbers = itertools.count(1)
        self._left = self.count
        self._words: dict[str, list[str]] = {user: [] for user in USERS}
        self._versions: dict[File, int] = {}
        self._committed: dict[str, list[str]] = {user: [] for user in USERS}

    async def run(self, clients: int) -> None:
        """Do all operations with so many clients at once."""
        limits = httpx2.Limits(max_connections=None, max_keepalive_connections=clients * 2)
        headers = {"Authorization": f"Bearer {self.key}"}
        async with (
            httpx2.AsyncClient(headers=headers, limits=limits, timeout=ATTEMPT_S) as http,
            asyncio.TaskGroup() as group,
        ):
            for number in range(clients):
                group.create_task(self._client(http, number))

    async def _client(self, http: httpx2.AsyncClient, number: int) -> None:
        chance = random.Random(f"{self.seed}-{number}")
        user = USERS[number % len(USERS)]
        while self._left > 0:
            self._left -= 1
            call = self._chosen(chance, user, next(self._numbers))
            self.operations.append(await self._done(http, chance, user, call))
            self.on_progress(len(self.operations))

    def _chosen(self, chance: random.Random, user: str, number: int) -> Call:
        [kind] = chance.choices(list(KINDS), list(KINDS.values()))
        mount, name = chance.choice(MOUNTS), chance.choice(NAMES)
        file = (_scope(user, mount), f"{name}.md")
        path, word = f"{mount}/{name}.md", word_of(number)
        version = self._versions.get(file)
        match kind:
            case "write":
                base = {"base_version": version} if version and chance.random() < 0.5 else {"overwrite": True}
                content = f"# {name.title()}\n\n- {word} is what {user} wrote.\n"
                return Call(kind, {"path": path, "content": content, **base}, (file,), word)
            case "patch":
                base = {"base_version": version} if version and chance.random() < 0.2 else {}
                text = f"- {word} was added by {user}."
                return Call(kind, {"path": path, "operation": "append", "text": text, **base}, (file,), word)
            case "move":
                to = chance.choice(NAMES)
                return Call(kind, {"path": path, "to": f"{mount}/{to}.md"}, (file, (file[0], f"{to}.md")))
            case "restore":
                return Call(kind, {"path": path, "version": chance.randint(1, version or 1)}, (file,))
            case "batch":
                other = chance.choice(NAMES)
                line = {"kind": "patch", "operation": "append", "text": f"- {word} in a batch."}
                page = {
                    "kind": "write",
                    "overwrite": True,
                    "content": f"# {other.title()}\n\n- {word} in a batch.\n",
                }
                edits = [line | {"path": f"user/{name}.md"}, page | {"path": f"{PROJECT}/{other}.md"}]
                files = ((_scope(user, "user"), f"{name}.md"), (PROJECT, f"{other}.md"))
                return Call("write_many", {"edits": edits}, files, word)
            case "remember":
                return Call(kind, {"text": f"I hate food {word}."}, (), word)
            case "find":
                known = self._words[user]
                sought = chance.choice(known[-40:]) if known else word
                scopes = frozenset({_scope(user, "user"), PROJECT, "shared"})
                return Call(kind, {"query": sought, "limit": MAX_HITS}, (), sought, scopes)
            case "revert":
                known = self._committed[user]
                return Call(kind, {"reverted": chance.choice(known[-20:])} if known else {"reverted": "none"})
            case _:  # read, delete
                return Call(kind, {"path": path}, (file,))

    async def _done(
        self, http: httpx2.AsyncClient, chance: random.Random, user: str, call: Call
    ) -> Operation:
        """Send a call until it is answered, and return what became of it."""
        call_id = f"{call.kind}-{self.seed}-{next(self._numbers)}"
        is_read = call.kind in ("read", "find")
        start = time.monotonic()
        first, outcome, body = start, "unknown", None
        is_open = False  # whether an earlier attempt may still take effect
        attempt = 0
        while time.monotonic() < first + CALL_S:
            if is_read:  # another attempt is another call
                attempt += 1
                start, sent_id = time.monotonic(), f"{call_id}.{attempt}"
            else:
                sent_id = call_id
            answer = await self._sent(http, chance.choice(self.urls), user, sent_id, call)
            if answer is None:
                is_open = True
            elif answer.status_code == 200:
                outcome, body = "acknowledged", answer.json()
                break
            elif not self._is_passing(answer):
                outcome, body = ("unknown" if is_open and not is_read else "refused"), answer.json()
                break
            await asyncio.sleep(chance.uniform(*PAUSES_S))
        end = time.monotonic() if body is not None else None
        final_id = sent_id if is_read else call_id
        made = _operation(final_id, user, call, start, end, outcome, body or {})  # type: ignore[arg-type]
        self._learn(user, made)
        return made

    async def _sent(
        self, http: httpx2.AsyncClient, url: str, user: str, call_id: str, call: Call
    ) -> httpx2.Response | None:
        start, answer = time.monotonic(), None
        try:
            if call.kind == "revert":
                headers = {"Memex-User": user, "Memex-Tool-Call-Id": call_id}
                reverted = call.arguments["reverted"]
                answer = await http.post(f"{url}/v1/operations/{reverted}/revert", headers=headers)
            else:
                body = {"context": {"userId": user, "toolCallId": call_id}, "arguments": call.arguments}
                answer = await http.post(f"{url}/v1/tools/memory_{call.kind}/execute", json=body)
        except httpx2.TransportError:
            pass
        is_ok = answer is not None and answer.status_code == 200
        self.attempts.append(Attempt(start, time.monotonic(), is_ok))
        return answer

    def _is_passing(self, answer: httpx2.Response) -> bool:
        """Return whether the call may be sent again: an error that passes."""
        problem = answer.json()
        if answer.status_code >= 500 and answer.status_code != 503:
            self.faulty.append(answer.text)
        return answer.status_code in (429, 503) or problem["code"] in ("TOOL_CALL_IN_PROGRESS", "SCOPE_BUSY")

    def _learn(self, user: str, made: Operation) -> None:
        for seen in (*made.read, *made.wrote):
            self._versions[seen.file] = seen.version
        if made.wrote:
            self._committed[user].append(made.call_id)
            if made.word:
                self._words[user].append(made.word)


def _operation(
    call_id: str,
    user: str,
    call: Call,
    start: float,
    end: float | None,
    outcome: Outcome,
    body: dict[str, Any],
) -> Operation:
    made: dict[str, Any] = {}
    is_done = outcome == "acknowledged"
    match call.kind:
        case "read" if is_done:
            sha256 = hashlib.sha256(body["content"].encode()).hexdigest()
            made["read"] = (Seen(_file(user, body["path"]), body["version"], sha256),)
        case "read" if body.get("code") == "FILE_NOT_FOUND":
            made["absent"] = call.files
        case "find" if is_done:
            found = [Seen(_file(user, hit["path"]), hit["version"]) for hit in body["hits"]]
            made["read"] = tuple(found)
            # A statement and the entry that it was made from are one hit, which names both.
            entries = {_file(user, path) for hit in body["hits"] for path in hit.get("entries", ())}
            files = frozenset(seen.file for seen in found) | entries
            made["search"] = Search(call.word or "", call.scopes, files)
        case "write_many" | "remember" | "revert" if is_done:
            named = body["results"] if call.kind == "write_many" else body["writes"]
            wrote = [
                Seen(_file(user, one["path"]), one["version"], one.get("sha256"))
                for one in named
                if one.get("changed", True)
            ]
            if entry := body.get("entry"):
                path, _, version = entry.rpartition("@")
                wrote.append(Seen(_file(user, path), int(version)))
            made["wrote"] = tuple(wrote)
        case _ if is_done:
            seen = Seen(_file(user, body["path"]), body["version"], body.get("sha256"))
            made["wrote" if body.get("changed", True) else "read"] = (seen,)
            if replaced := body.get("replaced_version") or call.arguments.get("base_version"):
                made["replaced"] = (Seen(seen.file, replaced),)
    if call.kind not in ("read", "find"):
        made["word"] = call.word
    return Operation(
        call_id, call.kind, start, end, outcome, keeps_lines=call.kind in ("patch", "remember"), **made
    )


def _scope(user: str, mount: str) -> str:
    return f"user:{user}" if mount == "user" else mount


def _file(user: str, path: str) -> File:
    """Return the scope and the path in it; a project's mount has two parts, `projects/apollo`."""
    mount = path[: path.index("/", len("projects/") if path.startswith("projects/") else 0)]
    return _scope(user, mount), path.removeprefix(f"{mount}/")
