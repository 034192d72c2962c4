"""Mixed calls at once, by rules and by models, with writes in between, and their replay: `make eval-replay`.

A thousand calls of several users over their own files and a common project are made over one server; then each is
replayed over that one by another process, and a part of them from exported bundles over another server.
"""

import argparse
import asyncio
import json
import logging
import os
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import structlog
from pydantic_ai.exceptions import ModelHTTPError
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.profiles import ModelProfile
from rich.console import Console

from memex.call_context import CallContext
from memex.errors import MemexError
from memex.service.log.replay.bundle import export_call
from memex.service.log.replay.bundle_archive import pack_bundle, read
from memex.service.log.replay.requests import replay_bundle
from memex.service.planners import Planners
from memex.service.service import Caller, Service
from memex.store.database import Database
from memex.store.embedded import server as embedded
from memex.store.identity import tenants
from memex.store.identity.authentication import Principal
from memex.store.migrate import migrate
from memex.store.search.analyzer import Analyzer
from memex.subagent.builtin import BuiltinPlanner
from memex.subagent.model.chat import ChatModel
from memex.subagent.model.planner import ModelPlanner

console = Console(width=110)

USERS = ("ada", "bob", "cleo", "dan")
PROJECT = "apollo"
CONCURRENCY = 8
MAX_SHOWN = 10
WRITES = {"memory_write", "memory_patch", "memory_move", "memory_delete", "memory_write_many"}  # not replayed
PATHS = [f"user/{folder}{name}.md" for folder in ("", "notes/", "people/") for name in "abcdefgh"]
CITIES = ("Oslo", "Berlin", "Lisbon", "Kraków", "東京")
THINGS = ("green tea", "black coffee", "trains", "short answers", "Rust", "the standing desk", "Ünlü kebap")
TOPICS = ("deploys", "the retry budget", "invoices", "parse_config", "OAuth tokens", "the roadmap", "backups")


@dataclass(frozen=True, slots=True)
class MixedCalls:
    """Calls that were made, each with its user, and how many of each tool gave an answer."""

    calls: Sequence[tuple[str, str]]
    tools: Mapping[str, int]


@dataclass(slots=True)
class _RandomModel:
    """A model that does well, or badly, or nothing, the same by its seed."""

    chance: random.Random

    def __call__(self, messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        """Answer a request."""
        draw = self.chance.random()
        if draw < 0.04:
            raise ModelHTTPError(503, "function:mixed")
        if draw < 0.08:
            return ModelResponse(parts=[TextPart("I am not sure what is wanted.")])
        tools = [tool.name for tool in info.function_tools]
        if tools and draw < 0.45:
            return ModelResponse(parts=[self._call(tools) for _ in range(self.chance.randint(1, 3))])
        if "edits" in json.dumps([tool.parameters_json_schema for tool in info.output_tools]):
            answer = self._edits(str(messages[0]))
        else:
            answer = {"lines": [self.chance.randint(1, 8) for _ in range(self.chance.randint(0, 4))]}
        return ModelResponse(parts=[ToolCallPart("answer", answer)])

    def _call(self, tools: Sequence[str]) -> ToolCallPart:
        arguments: dict[str, dict[str, Any]] = {
            "find": {"query": self.chance.choice(THINGS + TOPICS)},
            "read": {"place": self.chance.choice([*PATHS, "1", "2", "user/preferences.md", "user/none.md"])},
            "links": {"place": self.chance.choice([*PATHS, "1"])},
        }
        name = self.chance.choice([tool for tool in tools if tool in arguments] or ["find"])
        return ToolCallPart(name, arguments.get(name, {}))

    def _edits(self, asked: str) -> dict[str, Any]:
        said = [f"I prefer {thing}." for thing in THINGS if f"I prefer {thing}." in asked]
        made = [{"action": "add", "kind": "preference", "statement": text, "evidence": text} for text in said]
        return {"edits": made[: self.chance.randint(0, 2)], "skipped": []}


@dataclass(slots=True)
class _CallGenerator:
    """A generator of calls of the service, one after the other, the same by its seed."""

    chance: random.Random
    made: list[tuple[str, str]] = field(default_factory=list)

    def next(self) -> tuple[str, dict[str, Any]]:
        """Return a tool, and arguments for it."""
        chance = self.chance
        path, thing, topic = chance.choice(PATHS), chance.choice(THINGS), chance.choice(TOPICS)
        text = f"# {topic}\n\nWe spoke about {topic}, see [[{chance.choice('abcdefgh')}]]. {thing} too.\n"
        said = " ".join(
            chance.sample(
                [
                    f"I prefer {thing}.",
                    f"I moved to {chance.choice(CITIES)}.",
                    f"Remember to check {topic} on Friday.",
                    f"{topic} is owned by {chance.choice(USERS).title()}.",
                    "How are you?",
                ],
                k=chance.randint(1, 3),
            )
        )
        budget = chance.choice([200, 600, 2_000, 8_000])
        query = chance.choice(
            [
                f"What about {topic}?",
                f"Do I like {thing}?",
                "Where do I live now?",
                "What is still open?",
                "What is new?",
                "xyzzy",
            ]
        )
        asked = {"query": query, "budget": budget, "max_hops": chance.randint(0, 2)}
        line = {"path": path, "operation": "append", "text": f"{thing} again."}
        whole = {"kind": "write", "path": path, "content": text, "overwrite": True}
        choices: list[tuple[int, str, dict[str, Any]]] = [
            (40, "memory_context", asked),
            (6, "memory_context", asked | {"project": PROJECT}),
            (22, "memory_remember", {"text": said}),
            (6, "memory_remember", {"text": said, "project": PROJECT}),
            (3, "memory_remember", {"text": said, "dry_run": True}),
            (4, "memory_find", {"query": f"{topic} {thing}", "limit": 5}),
            (3, "memory_read", {"path": path}),
            (2, "memory_list", {"prefix": "user/"}),
            (8, "memory_write", {"path": path, "content": text, "overwrite": True}),
            (3, "memory_patch", line),
            (1, "memory_move", {"path": path, "to": chance.choice(PATHS)}),
            (2, "memory_delete", {"path": path}),
            (2, "memory_write_many", {"edits": [whole, {"kind": "patch"} | line]}),
        ]
        [(_, tool, arguments)] = chance.choices(choices, weights=[weight for weight, *_ in choices])
        return tool, arguments


async def make_calls(database: Database, calls: int, *, seed: int = 7) -> MixedCalls:
    """Make calls of several users at once; each that fails is made up for by another.

    Args:
        database: an empty one.
        calls: how many shall give an answer that can be replayed.
        seed: of what is asked, and of what the models do.
    """
    service = Service(database, max_files=10_000)
    callers = await _open_callers(service)
    counted: Counter[str] = Counter()
    answered: list[tuple[str, str]] = []
    numbers = iter(range(10**9))

    async def work(worker: int) -> None:
        day = _CallGenerator(random.Random(seed * 1_000 + worker))  # noqa: S311  # a sample  # a script, not a secret
        while len(answered) < calls:
            number = next(numbers)
            user = day.chance.choice(USERS)
            tool, arguments = day.next()
            asks = _build_service(database, day.chance) if day.chance.random() < 0.5 else service
            with suppress(MemexError):  # a file that is not there, a write that comes too late
                call = f"mixed-{number}"
                await asks.execute(callers[user], tool, arguments, tool_call_id=call)
                if tool not in WRITES:
                    answered.append((user, call))
                    counted[tool] += 1

    await asyncio.gather(*(work(worker) for worker in range(CONCURRENCY)))
    return MixedCalls(answered[:calls], dict(counted))


async def replay_bundles(database: Database, other: Database, calls: Sequence[tuple[str, str]]) -> list[str]:
    """Return what differs when calls are exported from one database and replayed over another."""
    service, elsewhere = Service(database, max_files=10_000), Service(other, max_files=10_000)
    callers = await _open_callers(service)
    different = []
    for user, call in calls:
        bundle = read(pack_bundle(await export_call(service, callers[user], call)))
        result = await replay_bundle(elsewhere, bundle)
        if not result.is_equal:
            different.append(f"{user} {call}: {result.difference}")
    return different


def replay_by_command(conninfo: str) -> dict[str, Any]:
    """Return what `memex log replay` says of every user's calls, in processes of their own."""
    total: dict[str, Any] = {"calls": 0, "equal": 0, "different": [], "refused": []}
    for user in USERS:
        command = [sys.executable, "-m", "memex", "replay", "--user", user, "--limit", "100000", "--json"]
        done = subprocess.run(
            command,
            env=os.environ | {"DATABASE_URL": conninfo},
            capture_output=True,
            text=True,
            check=False,
        )
        if not done.stdout:
            raise RuntimeError(done.stderr)
        for name, value in json.loads(done.stdout).items():
            total[name] += value
    return total


async def _open_callers(service: Service) -> dict[str, Caller]:
    tenant_id = await tenants.ensure_tenant(service.database, "default")
    admin = await service.caller(Principal(tenant_id, "admin"), CallContext(), makes_user=True)
    with suppress(MemexError):  # it is there from an earlier run
        async with service.database.transaction(admin.access) as connection:
            await tenants.open_project(connection, admin.access, PROJECT)
            for user in USERS:
                await tenants.add_member(connection, admin.access, PROJECT, user)
    return {
        user: await service.caller(Principal(tenant_id, "agent"), CallContext(user_id=user), makes_user=True)
        for user in USERS
    }


def _build_service(database: Database, chance: random.Random) -> Service:
    """Return a service with a model of its own; what a model did before plays no part."""
    play = _RandomModel(random.Random(chance.random()))  # noqa: S311  # a sample  # likewise
    profile = ModelProfile(supports_json_schema_output=chance.random() < 0.5)
    chat = ChatModel("function:mixed", lambda: (FunctionModel(play, profile=profile), None))
    mode = chance.choice(["auto", "tools", "single"])
    planner = ModelPlanner(chat, BuiltinPlanner(Analyzer()), mode=mode)  # type: ignore[arg-type]
    return Service(database, max_files=10_000, planning=Planners(planner, planner))


async def _make_and_replay(folder: Path, calls: int, bundles: int, other: str | None) -> bool:
    """Make calls, replay them by the command, and some elsewhere; tell whether all are equal."""
    with embedded.start(folder / "one") as lease:
        await migrate(lease.conninfo, superuser=lease.admin_conninfo)
        database = await Database.open(lease.conninfo, max_connections=12)
        started_s = time.perf_counter()
        made = await make_calls(database, calls)
        tools = ", ".join(f"{number:,} {tool.removeprefix('memory_')}" for tool, number in made.tools.items())
        console.print(f"{len(made.calls):,} calls made in {time.perf_counter() - started_s:.0f} s: {tools}")
        started_s = time.perf_counter()
        total = await asyncio.to_thread(replay_by_command, lease.conninfo)
        console.print(
            f"{total['equal']:,} of {total['calls']:,} equal by another process, "
            f"in {time.perf_counter() - started_s:.0f} s"
        )
        for difference in total["different"][:MAX_SHOWN]:
            console.print(difference["tool_call_id"], difference["tool"], difference["difference"])
        for refusal in total["refused"][:MAX_SHOWN]:
            console.print(refusal)
        chosen = random.Random(1).sample(list(made.calls), k=min(bundles, len(made.calls)))  # noqa: S311  # a sample
        started_s = time.perf_counter()
        with _start_server(folder / "two", other) as (conninfo, admin):
            await migrate(conninfo, superuser=admin)
            elsewhere = await Database.open(conninfo, max_connections=4)
            different = await replay_bundles(database, elsewhere, chosen)
            await elsewhere.close()
        console.print(
            f"{len(chosen) - len(different):,} of {len(chosen):,} equal from bundles over another server, "
            f"in {time.perf_counter() - started_s:.0f} s"
        )
        for told in different[:MAX_SHOWN]:
            console.print(told)
        await database.close()
        return total["equal"] == total["calls"] >= calls and not different


@contextmanager
def _start_server(folder: Path, bin_dir: str | None) -> Iterator[tuple[str, str]]:
    """Another server: of these binaries, or like the first."""
    with embedded.start(folder, bin_dir=Path(bin_dir) if bin_dir else None) as lease:
        yield lease.conninfo, lease.admin_conninfo


def main() -> int:
    """Make calls and replay them; the exit code is 1 when one differs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calls", type=int, default=1_000, help="how many (1,000)")
    parser.add_argument("--bundles", type=int, default=100, help="how many of them from bundles (100)")
    parser.add_argument("--other", metavar="BIN_DIR", help="binaries of the other Postgres")
    options = parser.parse_args()
    # The models fail on purpose, and each failure would be told.
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
    with tempfile.TemporaryDirectory(prefix="memex-mixed-", dir="/var/tmp") as name:
        folder = Path(name)
        folder.chmod(0o755)  # a root's server runs as a user of its own
        is_equal = asyncio.run(_make_and_replay(folder, options.calls, options.bundles, options.other))
    return 0 if is_equal else 1


if __name__ == "__main__":
    sys.exit(main())
