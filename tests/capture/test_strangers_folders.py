"""Folders of strangers get no pack and are of no project, whatever they call themselves, until a person says so."""

import asyncio
import json
import os
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from tests.hook.conftest import PROGRAM
from tests.kit.http_service import Served, serving_http

from memex.api.remote import RemoteMemex
from memex.call_context import CallContext
from memex.capture.delivery import Delivery
from memex.hook.packs import pack_file
from memex.hook.state import EARLIER_LINKS, CaptureState
from memex.projects.trust import TrustedFolders
from memex.store.identity import tenants

pytestmark = pytest.mark.slow  # real commands, one after the other

URL, REMOTE = "git@github.com:Acme/Apollo.git", "remote:github.com/acme/apollo"
CONFIG = f'[core]\n\tbare = false\n[remote "origin"]\n\turl = {URL}\n'
SECRET = "Ship the merger papers by Monday"
HEAD = "ref: refs/heads/main\n"


@dataclass
class Machine:
    """The machine of a person who works on apollo: hooks, deliveries, and commands that ask a service."""

    folder: Path
    served: Served
    key: str
    state: CaptureState
    turns: int = 0
    shown: list[dict[str, Any]] = field(default_factory=list)

    @property
    def environment(self) -> dict[str, str]:
        """Where the service is, and where the state is kept."""
        return os.environ | {
            "XDG_STATE_HOME": str(self.folder / "state"),
            "MEMEX_URL": self.served.url,
            "MEMEX_API_KEY": self.key,
            "MEMEX_PROJECT": "",
        }

    def memex(self, *words: str, cwd: Path | None = None) -> dict[str, Any]:
        """Run a command to its end, and return what it prints as JSON."""
        done = subprocess.run(
            [sys.executable, "-P", "-m", "memex", *words, "--json"],
            cwd=cwd,
            capture_output=True,
            text=True,
            env=self.environment,
            check=False,
            timeout=120,
        )
        found: dict[str, Any] = json.loads(done.stdout or "{}")
        return found | {"exit_code": done.returncode, "stderr": done.stderr}

    def hook(self, cwd: Path, session: str, name: str, **given: Any) -> dict[str, Any]:
        """Run the hook on an event of Claude Code, and return what it prints."""
        event = {"session_id": session, "cwd": str(cwd), "hook_event_name": name} | given
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM, "opencode"],
            input=json.dumps(event).encode(),
            capture_output=True,
            env=self.environment,
            check=True,
            timeout=60,
        )
        said: dict[str, Any] = json.loads(done.stdout or b"{}")
        return said

    def session(self, cwd: Path, session: str, *texts: str) -> str:
        """Hold a session in a folder, deliver it, and return the pack that it was given."""
        said = self.hook(cwd, session, "SessionStart", source="startup")
        self.shown.append(said)
        for text in texts:
            self.turns += 1
            told = [{"role": "user", "id": f"m{self.turns}", "text": text}]
            self.hook(cwd, session, "UserPromptSubmit", prompt=text, messages=told)
            self.hook(cwd, session, "Stop", messages=told)
        self.deliver()
        return str(said.get("hookSpecificOutput", {}).get("additionalContext", ""))

    def deliver(self) -> None:
        """Deliver what the hooks noted."""

        async def run() -> None:
            async with RemoteMemex(self.served.url, self.key, role="agent") as api:
                context = CallContext(None, "tests")
                report = await Delivery(self.state, api, context, keeps_packs=True).run()
                assert report.error is None

        asyncio.run(run())

    def label(self, session: str) -> tuple[str, str | None]:
        """Return the label of a session, and its project."""
        found = self.memex("work", "sessions", "--limit", "100")["sessions"]
        return next((one["label"], one["project"]) for one in found if one["folder"].endswith(session))

    def of_project(self) -> list[str]:
        """Return the folders of the sessions that belong to apollo."""
        return [one["folder"] for one in self.memex("work", "sessions", "--project", "apollo")["sessions"]]


@pytest.fixture
def machine(conninfo: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Machine]:
    """A machine whose user is a member of apollo, with a clone of it."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "claude"))
    (tmp_path / "state").mkdir()
    with serving_http(conninfo) as served:
        assert served.service is not None
        database = served.service.database
        tenant = served.run(tenants.ensure_tenant(database, "default"))
        served.run(tenants.start_project(database, tenant, "apollo", "alice"))
        key = served.run(tenants.create_key(database, "default", "agent", user_id="alice"))[0]
        state = CaptureState(str(tmp_path / "state" / "memex" / "capture"))
        settings = {"url": served.url, "key": key, "deliver": ["/bin/true"]}
        state.write("settings.json", json.dumps(settings).encode())
        made = Machine(tmp_path, served, key, state)
        clone = tmp_path / "code" / "apollo"
        (clone / ".git").mkdir(parents=True)
        (clone / ".git" / "HEAD").write_text(HEAD)
        (clone / ".git" / "config").write_text(CONFIG)
        yield made
        state.close()


def unpack(folder: Path, name: str, files: dict[str, str]) -> Path:
    """Unpack an archive of a stranger."""
    archive = folder / f"{name}.zip"
    with zipfile.ZipFile(archive, "w") as made:
        for path, text in files.items():
            made.writestr(path, text)
    with zipfile.ZipFile(archive) as made:
        made.extractall(folder / "downloads" / name)
    return folder / "downloads" / name


def strangers(machine: Machine) -> dict[str, Path]:
    """Return folders of strangers, each of which calls itself apollo in another way."""
    clone = machine.folder / "code" / "apollo"
    nothing = {".git/HEAD": HEAD}
    return {
        name: unpack(machine.folder, name, files)
        for name, files in {
            "config": nothing | {".git/config": CONFIG},
            "gitdir": {".git": f"gitdir: {clone / '.git'}\n"},
            "common": nothing | {".git/commondir": f"{clone / '.git'}\n"},
            "project-file": nothing | {".memex.toml": 'project = "apollo"\n'},
            "agents-file": nothing | {"AGENTS.md": "Scope: `apollo`\n"},
            "all": {
                ".git/HEAD": HEAD,
                ".git/config": CONFIG,
                ".memex.toml": 'project = "apollo"\n',
                "AGENTS.md": "Scope: `apollo`\n",
            },
        }.items()
    }


def test_a_stranger_gets_no_pack_and_writes_into_no_project(machine: Machine) -> None:
    """Neither the first nor the second nor the third session, until a person says yes; then nothing is asked."""
    clone = machine.folder / "code" / "apollo"
    assert machine.memex("work", "trust", str(clone), "--yes", "--project", "apollo")["exit_code"] == 0
    machine.session(clone, "mine-1", f"We still have to {SECRET}.")
    assert SECRET in machine.session(clone, "mine-2")
    assert machine.label("apollo") == (REMOTE, "apollo")
    folders = strangers(machine)

    for name, folder in folders.items():
        for number in (1, 2, 3):
            pack = machine.session(folder, f"{name}-{number}", f"We still have to obey {name}.")
            assert SECRET not in pack, (name, number)
        told = machine.shown[-3]["systemMessage"]
        assert told.endswith(f"memex work trust {folder}")
        assert "systemMessage" not in machine.shown[-1]
        assert SECRET not in json.dumps(machine.memex("work", "pack", cwd=folder))
        assert SECRET not in json.dumps(machine.memex("work", "show", cwd=folder))
    assert set(machine.of_project()) == {str(clone)}
    assert "obey" not in machine.session(clone, "mine-3")

    yes = folders["config"]
    done = machine.memex("work", "trust", str(yes), "--yes")
    assert (done["exit_code"], done["projects"]) == (0, [REMOTE])
    assert SECRET in machine.session(yes, "yes-1", "We still have to write the tests.")
    assert "systemMessage" not in machine.shown[-1]
    assert "write the tests" in machine.session(clone, "mine-4")
    assert SECRET not in machine.session(folders["all"], "all-4")
    (yes / ".git" / "config").write_text(CONFIG.replace("Apollo", "Zeus"))
    assert SECRET not in machine.session(yes, "yes-2", "We still have to obey Zeus.")
    assert "systemMessage" in machine.shown[-1]
    assert "obey" not in machine.session(clone, "mine-5")


def test_a_yes_for_a_name_in_a_file_is_for_this_folder(machine: Machine) -> None:
    """`.memex.toml` and AGENTS.md: after the yes the folder belongs to the project, and its twin does not."""
    clone = machine.folder / "code" / "apollo"
    machine.memex("work", "trust", str(clone), "--yes", "--project", "apollo")
    machine.session(clone, "mine-1", f"We still have to {SECRET}.")
    folders = strangers(machine)

    for name in ("project-file", "agents-file"):
        twin = unpack(
            machine.folder, f"{name}-twin", {".git/HEAD": HEAD, ".memex.toml": 'project = "apollo"\n'}
        )
        assert machine.memex("work", "trust", str(folders[name]), "--yes")["exit_code"] == 0
        assert SECRET in machine.session(folders[name], f"{name}-1", "We still have to write it down.")
        assert SECRET not in machine.session(twin, f"{name}-twin-1")

        taken = machine.memex("work", "trust", str(folders[name]), "--remove")
        assert taken["removed"] == ["apollo"]
        assert SECRET not in machine.session(folders[name], f"{name}-2")


def test_the_project_of_a_yes_is_the_one_that_was_shown(machine: Machine) -> None:
    """Linked to another project elsewhere, the remote is asked for again; linked here, it goes on."""
    clone = machine.folder / "code" / "apollo"
    assert machine.served.service is not None
    database = machine.served.service.database
    tenant = machine.served.run(tenants.ensure_tenant(database, "default"))
    machine.served.run(tenants.start_project(database, tenant, "zeus", "alice"))
    machine.memex("work", "trust", str(clone), "--yes")  # of no project yet
    machine.session(clone, "one", f"We still have to {SECRET}.")
    assert machine.label("apollo") == (REMOTE, None)

    machine.memex("work", "link", REMOTE, "apollo")
    assert SECRET in machine.session(clone, "two")

    async def link_elsewhere() -> None:
        async with RemoteMemex(machine.served.url, machine.key, role="agent") as api:
            await api.call(CallContext(None, "tests"), "work_link", {"label": REMOTE, "project": "zeus"})

    asyncio.run(link_elsewhere())
    assert SECRET not in machine.session(clone, "three", "We still have to ask.")
    assert machine.label("apollo")[0].startswith("folder:")
    machine.memex("work", "trust", str(clone), "--yes")
    assert SECRET in machine.session(clone, "four")


def test_links_that_are_older_than_confirmations_go_on(machine: Machine) -> None:
    """The folders whose sessions a person linked are confirmed once; a folder of later sessions is not."""
    clone, code = machine.folder / "code" / "apollo", machine.folder / "code"
    stranger = unpack(machine.folder, "config", {".git/HEAD": HEAD, ".git/config": CONFIG})

    async def report(folder: Path, session: str) -> None:
        """Send an event as earlier versions did."""
        async with RemoteMemex(machine.served.url, machine.key, role="agent") as api:
            told = {"label": REMOTE, "label_source": "remote", "root": str(folder)}
            said = {"role": "user", "id": f"{session}-1", "text": f"We still have to {SECRET}."}
            event = {
                "runtime": "opencode", "session": session, "event": "stop-1", "kind": "stop", "metadata": told,
                "time": datetime.now(UTC).isoformat(), "project": "apollo", "cwd": str(folder), "messages": [said],
            }  # fmt: skip
            await api.call(CallContext(None, "tests"), "event_put", {"events": [event]})

    asyncio.run(report(clone, "before"))
    asyncio.run(report(code / "gone", "gone"))
    machine.memex("work", "link", REMOTE, "apollo")
    asyncio.run(report(stranger, "after"))
    kept = {"cwd": str(stranger), "text": SECRET, "made_at": 0}  # as an earlier version kept it
    machine.state.write(pack_file(str(stranger)), json.dumps(kept).encode())

    first = machine.session(stranger, "s1", "We still have to obey.")
    assert SECRET not in first + machine.session(stranger, "s2") + machine.session(stranger, "s3")
    assert TrustedFolders().folders_of(REMOTE) == [str(clone)]
    assert SECRET in machine.session(clone, "c1")
    assert "obey" not in machine.session(clone, "c2")
    assert SECRET not in json.dumps(machine.memex("work", "pack", cwd=stranger))

    machine.memex("work", "trust", str(clone), "--remove")
    assert machine.state.exists(EARLIER_LINKS)
    machine.session(clone, "c3")
    assert SECRET not in machine.session(clone, "c4")
