"""Sessions of coding agents over three days: what the pack of the fourth says, and what it costs the model.

The conversations and the expectations of `three_days.yaml` were written before anybody looked at the rules.
"""

import json
import os
import shutil
import statistics
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.capture.clients import ScriptedClient
from tests.conftest import CallerOf
from tests.hook.conftest import PROGRAM
from tests.kit.model_server import ModelServer

from memex.api.ingest.ingest import Ingest, IngestOptions
from memex.api.local import LocalMemex
from memex.call_context import CallContext
from memex.capture.delivery import Delivery
from memex.errors import ProjectNotFound
from memex.hook.events import RUNTIMES, UnknownEvent
from memex.hook.main import run
from memex.hook.packs import INTRODUCTION
from memex.hook.state import CaptureState
from memex.projects.trust import TrustedFolders
from memex.service.conversations import reading
from memex.service.service import Service
from memex.settings import Settings
from memex.store.conversations.records import make_conversation_id
from memex.store.identity import tenants
from memex.store.identity.authentication import Principal
from memex.wiring import running_service

SCRIPT: dict[str, dict[str, Any]] = yaml.safe_load(
    Path(__file__).with_name("three_days.yaml").read_text("utf-8")
)
TASKS: list[dict[str, str]] = yaml.safe_load(Path(__file__).with_name("ten_tasks.yaml").read_text("utf-8"))
HEADINGS = {
    "objective": ("Objective",),
    "constraint": ("Constraints",),
    "decision": ("Decisions",),
    "open": ("Open work",),
    "blocker": ("Blockers",),
    "definition": ("Not met yet of the definition of done",),
    "left": ("Left by an agent before the last session, done or not",),
    "resume": ("Resume",),
}


@dataclass
class Workplace:
    """The machine of a developer, on which hooks run and deliveries follow them.

    Attributes:
        given: what the hooks print, by session: the text that is added to the context of the model.
    """

    folder: Path
    api: LocalMemex
    context: CallContext
    monkeypatch: pytest.MonkeyPatch
    given: dict[str, list[str]] = field(default_factory=dict)

    @property
    def environment(self) -> dict[str, str]:
        """Where the clients and the hook keep what is theirs."""
        return {
            "XDG_STATE_HOME": str(self.folder / "state"),
            "CLAUDE_CONFIG_DIR": str(self.folder / "claude-code"),
            "CODEX_HOME": str(self.folder / "codex"),
            "MEMEX_PROJECT": "",
        }

    def turn_on(self) -> None:
        """Turn capture on; deliveries are started by the test."""
        state = self.folder / "state" / "memex" / "capture"
        state.mkdir(parents=True, mode=0o700)
        (state / "settings.json").write_text('{"deliver": ["/bin/true"]}')

    def client(self, name: str, session: str, at: datetime, repository: str) -> ScriptedClient:
        """Return a client in a repository, whose remote the developer has confirmed."""
        folder = self.folder / "code" / repository
        (folder / ".git").mkdir(parents=True, exist_ok=True)
        (folder / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
        remote = f'[remote "origin"]\n\turl = https://example.test/acme/{repository}.git\n'
        (folder / ".git" / "config").write_text(remote)
        TrustedFolders().add(folder.resolve(), f"remote:example.test/acme/{repository}", "")
        return ScriptedClient(name, self.folder / name, folder, session, at)

    async def play(self, client: ScriptedClient, turns: Sequence[Mapping[str, Any]]) -> None:
        """Run a session: each event goes to the hook, and what ends a turn or a session is delivered."""
        for event in client.play(turns):
            at = f"{client.at:%Y-%m-%dT%H:%M:%S}Z"
            self.monkeypatch.setattr("memex.hook.events._now", lambda at=at: at)
            printed = b""
            with suppress(UnknownEvent):  # of a tool that only reads, and of a subagent
                printed = run([client.name, json.dumps(event)])
            if printed:
                self.given.setdefault(client.session, []).append(added_context(printed))
            if event["hook_event_name"] in ("Stop", "SessionEnd"):
                await self.deliver()

    async def pack(self, client: ScriptedClient) -> str:
        """Return the pack of the repository of a client as it is now; "" if nothing is known of it."""
        asked = {"cwd": str(client.folder), "repository": str(client.folder.resolve()), "branch": "main"}
        try:
            return str((await self.api.call(self.context, "work_context", asked))["text"])
        except ProjectNotFound:
            return ""

    async def deliver(self) -> None:
        """Deliver what the hooks noted."""
        folder = self.folder / "state" / "memex" / "capture"
        if not folder.exists():
            return
        state = CaptureState(str(folder))
        try:
            report = await Delivery(state, self.api, self.context, keeps_packs=True).run()
        finally:
            state.close()
        left_out = {name: report.document()[name] for name in ("refused", "unreadable", "foreign", "error")}
        assert left_out == {"refused": 0, "unreadable": 0, "foreign": 0, "error": None}


async def workplace_of(service: Service, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Workplace:
    """Return the machine of a developer on which capture is not turned on yet."""
    principal = Principal(await tenants.ensure_tenant(service.database, "default"), "agent")
    context = CallContext(user_id="ann", actor="tests")
    await service.caller(principal, context, makes_user=True)
    api = LocalMemex(service, principal, role="agent")
    made = Workplace(folder, api, context, monkeypatch)
    for name, value in made.environment.items():
        monkeypatch.setenv(name, value)
    return made


def added_context(printed: bytes) -> str:
    """Return what a hook adds to the context of the model; nothing else may be printed."""
    output = json.loads(printed)
    assert set(output) == {"hookSpecificOutput"}
    assert set(output["hookSpecificOutput"]) == {"hookEventName", "additionalContext"}
    text = output["hookSpecificOutput"]["additionalContext"]
    assert isinstance(text, str)
    return text


def sections(pack: str) -> dict[str, str]:
    """Return the lines of a pack by their headings."""
    found: dict[str, list[str]] = {}
    heading = ""
    for line in pack.splitlines():
        if line.startswith("["):
            heading = line.partition("] ")[2]
        elif line.startswith("- "):
            found.setdefault(heading, []).append(line)
    return {name: "\n".join(lines) for name, lines in found.items()}


def holds(pack: str, expected: Mapping[str, str]) -> bool:
    """Return whether a pack says what is expected."""
    where = expected.get("in") or expected["not_in"]
    told = sections(pack)
    text = pack if where == "anywhere" else "\n".join(told.get(one, "") for one in HEADINGS[where])
    return (expected["text"].casefold() in text.casefold()) == ("in" in expected)


def started(workplace: Workplace, client: ScriptedClient) -> str:
    """Start a session with the program itself, and return what it adds to the context of the model."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, client.name],
        input=json.dumps(client.start()).encode(),
        capture_output=True,
        env=os.environ | workplace.environment,
        check=True,
    )
    return added_context(done.stdout)


@pytest.mark.slow
async def test_the_pack_of_the_fourth_day_says_where_work_stands(
    service: Service, caller_of: CallerOf, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two clients work in a repository each for three days; a later import of their transcripts adds nothing."""
    workplace = await workplace_of(service, tmp_path, monkeypatch)
    workplace.turn_on()
    sessions = [(name, one) for name, script in SCRIPT.items() for one in script["sessions"]]
    for name, one in sorted(sessions, key=lambda each: each[1]["at"]):
        repository = one.get("repository", SCRIPT[name]["repository"])
        await workplace.play(workplace.client(name, one["id"], one["at"], repository), one["turns"])

    missed = []
    for name, script in SCRIPT.items():
        newest = max(one["at"] for one in script["sessions"])
        fourth = workplace.client(name, "fourth", newest + timedelta(days=1), script["repository"])
        pack = started(workplace, fourth)
        missed += [(name, one["text"]) for one in script["expected"] if not holds(pack, one)]
    assert sum(len(script["expected"]) for script in SCRIPT.values()) == 40
    assert missed == []

    shutil.copytree(tmp_path / "codex", tmp_path / "moved")  # read from the start, as no bookmark names it
    folders = [tmp_path / "claude-code" / "projects", tmp_path / "codex" / "sessions", tmp_path / "moved"]
    report = await Ingest(workplace.api, workplace.context, IngestOptions()).run(folders)
    assert report.messages_added == 0
    ann = await caller_of("ann")
    for name, one in sessions:
        thread = await reading.READ.call(
            service, ann, {"reference": make_conversation_id(RUNTIMES[name], "", one["id"])}
        )
        said = [text for turn in one["turns"] for text in (turn["user"], turn["agent"])]
        assert [message.text for message in thread.messages] == said


@pytest.mark.slow
async def test_capture_adds_the_pack_to_a_task_and_nothing_else(
    conninfo: str, model_server: ModelServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ten tasks, with capture and without: what the model reads more is one pack; Memex asks no model."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    monkeypatch.setenv("OPENAI_BASE_URL", model_server.url)
    settings = Settings(database_url=conninfo, model="openai:m")
    added: dict[str, list[int]] = {"off": [], "on": []}
    packs = []
    async with running_service(settings) as service:
        for capture, characters in added.items():
            workplace = await workplace_of(service, tmp_path / capture, monkeypatch)
            if capture == "on":
                workplace.turn_on()
            for number, task in enumerate(TASKS):
                at = datetime(2026, 2, 2, 9 + number, tzinfo=UTC)
                client = workplace.client(task["client"], f"{capture}-{number}", at, "shop")
                pack = await workplace.pack(client) if capture == "on" else ""
                turn = {"user": task["user"], "does": [{"run": task["run"]}], "agent": task["agent"]}
                await workplace.play(client, [turn])
                given = workplace.given.get(client.session, [])
                assert [text.partition("\n")[2] for text in given] == ([pack] if pack else [])
                assert all(text.startswith(INTRODUCTION) for text in given)
                characters.append(sum(len(text) for text in given))
                packs.append(len(pack))

    assert added["off"] == [0] * len(TASKS)
    introduction = len(
        f"{INTRODUCTION} The service was not asked: this was put together less than a minute ago.\n"
    )
    assert statistics.median(added["on"]) <= statistics.median(packs[len(TASKS) :]) + introduction
    assert model_server.requests == []
