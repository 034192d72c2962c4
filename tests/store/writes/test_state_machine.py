"""Operations in any order leave what a model of a few lines says: a dict of files."""

import asyncio
import itertools
from collections.abc import Callable, Coroutine, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, NamedTuple, TypeVar

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from tests.kit.memory import open_project
from tests.kit.postgres_servers import LentDatabase
from tests.kit.property_budget import costly
from tests.kit.states import standing_at
from tests.kit.words import word_of
from tests.kit.zips import zipped

from memex.call_context import CallContext
from memex.errors import (
    FileExists,
    FileNotFound,
    MemexError,
    ValidationFailed,
    VersionConflict,
    VersionNotFound,
)
from memex.service.service import Caller, Service
from memex.service.vaults.vault_import import import_vault
from memex.store.database import Database
from memex.store.identity import tenants
from memex.store.identity.authentication import Principal
from memex.store.memory import Memory
from memex.store.records import Revision

T = TypeVar("T")

STEPS = 40
MOUNTS = ("user", "projects/apollo")
PATHS = [f"{mount}/{name}.md" for mount in MOUNTS for name in "abcd"]
paths = st.sampled_from(PATHS)


class File(NamedTuple):
    """A file: its number, which stays when it moves within its mount, its version, and its text."""

    number: int
    version: int
    text: str


@dataclass
class Model:
    """What memory should hold: files by path, versions by path, the states passed through, and the last change."""

    files: dict[str, File] = field(default_factory=dict)
    highest: dict[str, int] = field(default_factory=dict)
    named: dict[str, str] = field(default_factory=dict)  # path@version: text
    texts_after: dict[tuple[str, int], dict[str, str]] = field(default_factory=dict)  # mount, rev
    revs: dict[str, int] = field(default_factory=lambda: dict.fromkeys(MOUNTS, 0))
    before: dict[str, File | None] = field(default_factory=dict)  # of the paths of the last change
    made: int = 0

    def put(self, path: str, text: str, file: File | None) -> int:
        """Store a text, of a new file or as the next version of one; return its version."""
        if file is None:
            self.made += 1
        number, last, _ = file or (self.made, 0, "")
        self.files[path] = File(number, self.name(path, text, last), text)
        return self.files[path].version

    def remove(self, path: str) -> int:
        """Delete a file; return the version of its deletion."""
        return self.name(path, "", self.files.pop(path).version)

    def move(self, path: str, to: str) -> int:
        """Move a file, into another mount as a new one; return its version at the new place."""
        file = self.files.pop(path)
        if mount_of(path) == mount_of(to):
            return self.put(to, file.text, file)
        self.name(path, "", file.version)
        return self.put(to, file.text, None)

    def name(self, path: str, text: str, last: int = 0) -> int:
        """Give a text the next version of a path."""
        version = 1 + max(last, self.highest.get(path, 0))
        self.highest[path] = version
        self.named[f"{path}@{version}"] = text
        return version

    def passed(self, before: dict[str, File], *changed: str) -> None:
        """Count a change of the mounts of these paths."""
        self.before = {path: before.get(path) for path in changed}
        for mount in {mount_of(path) for path in changed}:
            self.revs[mount] += 1
            self.texts_after[mount, self.revs[mount]] = {
                path: file.text for path, file in self.files.items() if mount_of(path) == mount
            }

    def undo(self) -> None:
        """Undo the last change."""
        before, undone, changed = dict(self.files), self.before, list(self.before)
        gone = {path: self.files[path] for path in changed if undone[path] is None and path in self.files}
        for path, file in undone.items():
            if file is None:
                continue
            moved = next((one for one in gone if gone[one].number == file.number), None)
            if moved is not None:  # back within its mount, with its history
                del gone[moved]
                self.move(moved, path)
            else:
                self.put(path, file.text, self.files.get(path, file._replace(version=0)))
        for path in gone:
            self.remove(path)
        self.passed(before, *changed)


class Memories(RuleBasedStateMachine):
    """Does each operation in memory and in the model. Each run has a tenant of its own."""

    tenants = itertools.count()

    def __init__(self, run: Callable[[Coroutine[Any, Any, Any]], Any], service: Service) -> None:
        super().__init__()
        self.run, self.service, self.model = run, service, Model()
        self.alice = run(_member_of_a_new_tenant(service, f"tenant-{next(self.tenants)}"))
        self.calls = itertools.count(1)
        self.last_call: str | None = None

    def execute(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """Run a tool under an id of its own."""
        self.call = f"call-{next(self.calls)}"
        answer: dict[str, Any] = self.run(
            self.service.execute(self.alice, f"memory_{tool}", arguments, tool_call_id=self.call)
        )
        return answer

    def refuse(self, error: type[MemexError], tool: str, **arguments: Any) -> None:
        """Run a tool that refuses."""
        with pytest.raises(error):
            self.execute(tool, **arguments)

    def changed(self, before: dict[str, File], *changed: str) -> None:
        """Take over a change of the model that memory has made too."""
        self.model.passed(before, *changed)
        self.last_call = self.call

    def new_text(self) -> str:
        """Return a line with a word that no other text has."""
        return f"{word_of(next(self.calls))}\n"

    @rule(path=paths, base=st.sampled_from([None, "present", 0, 1]))
    def write(self, path: str, base: int | str | None) -> None:
        """Write a whole file, on a version or on none."""
        here, highest = self.model.files.get(path), self.model.highest.get(path)
        version = (here.version if here else highest or 1) if base == "present" else base
        text = self.new_text()
        arguments = {"path": path, "content": text, "base_version": version}
        if not version:
            error = FileExists if here else None
        elif here is None:
            error = VersionConflict if highest else FileNotFound
        else:
            error = None if version == here.version else VersionConflict
        if error is not None:
            self.refuse(error, "write", **arguments)
            return
        before = dict(self.model.files)
        assert self.execute("write", **arguments)["version"] == self.model.put(path, text, here)
        self.changed(before, path)

    @rule(path=paths)
    def overwrite(self, path: str) -> None:
        """Write a whole file over whatever stands there."""
        before, text = dict(self.model.files), self.new_text()
        answer = self.execute("write", path=path, content=text, overwrite=True)
        assert answer["version"] == self.model.put(path, text, before.get(path))
        self.changed(before, path)

    @rule(path=paths)
    def append(self, path: str) -> None:
        """Add a line."""
        before, text = dict(self.model.files), self.new_text()
        arguments = {"path": path, "operation": "append", "text": text}
        if (here := before.get(path)) is None:
            self.refuse(FileNotFound, "patch", **arguments)
            return
        assert self.execute("patch", **arguments)["version"] == self.model.put(path, here.text + text, here)
        self.changed(before, path)

    @rule(path=paths, to=paths)
    def move(self, path: str, to: str) -> None:
        """Move a file."""
        before = dict(self.model.files)
        if path not in before:
            self.refuse(FileNotFound, "move", path=path, to=to)
        elif path == to:
            self.refuse(ValidationFailed, "move", path=path, to=to)
        elif to in before:
            self.refuse(FileExists, "move", path=path, to=to)
        else:
            assert self.execute("move", path=path, to=to)["version"] == self.model.move(path, to)
            self.changed(before, path, to)

    @rule(path=paths)
    def delete(self, path: str) -> None:
        """Delete a file."""
        before = dict(self.model.files)
        if path not in before:
            self.refuse(FileNotFound, "delete", path=path)
            return
        assert self.execute("delete", path=path)["version"] == self.model.remove(path)
        self.changed(before, path)

    @rule(path=paths, version=st.integers(1, 6))
    def restore(self, path: str, version: int) -> None:
        """Put an earlier version of a path back."""
        before, old = dict(self.model.files), self.model.named.get(f"{path}@{version}")
        here = before.get(path)
        if not old:
            error = VersionNotFound if old is None else ValidationFailed
            self.refuse(error, "restore", path=path, version=version)
            return
        answer = self.execute("restore", path=path, version=version)
        if here and here.text == old:
            assert answer["version"] == here.version
        else:
            assert answer["version"] == self.model.put(path, old, here)
            self.changed(before, path)

    @precondition(lambda self: self.last_call is not None)
    @rule()
    def revert(self) -> None:
        """Undo the last change, which may be an undo itself."""
        self.call = f"call-{next(self.calls)}"
        answer = self.run(self.service.revert(self.alice, self.last_call, tool_call_id=self.call))
        self.model.undo()
        self.last_call = self.call
        for one in answer["writes"]:
            standing = self.model.files.get(one["path"])
            assert self.model.named[f"{one['path']}@{one['version']}"] == (standing.text if standing else "")

    @rule(names=st.sets(st.sampled_from("abcd"), min_size=1))
    def import_files(self, names: set[str]) -> None:
        """Import a zip into the project, over what stands there."""
        before = dict(self.model.files)
        texts = {f"projects/apollo/{name}.md": self.new_text() for name in sorted(names)}
        archive = zipped({path.rpartition("/")[2]: text.encode() for path, text in texts.items()})
        done = self.run(import_vault(self.service, self.alice, archive, into="projects/apollo", replace=True))
        for path, text in texts.items():
            self.model.put(path, text, before.get(path))
        assert sorted(done.created) == sorted(path for path in texts if path not in before)
        assert sorted(done.updated) == sorted(path for path in texts if path in before)
        [self.call] = done.calls
        self.changed(before, *texts)

    @precondition(lambda self: self.model.named)
    @rule(data=st.data())
    def find(self, data: st.DataObject) -> None:
        """Search a word that some version held, now and in a state of the past."""
        texts = sorted({text for text in self.model.named.values() if text})
        word = data.draw(st.sampled_from(texts)).split()[-1]
        past = {mount: data.draw(st.integers(0, rev)) for mount, rev in self.model.revs.items()}
        standing = [
            file
            for mount, rev in past.items()
            for file in self.model.texts_after.get((mount, rev), {}).items()
        ]

        now = self.execute("find", query=word)["hits"]
        then = self.execute("find", query=word, as_of=past)["hits"]

        assert {hit["path"] for hit in now} == {
            path for path, file in self.model.files.items() if word in file.text
        }
        assert {hit["path"] for hit in then} == {path for path, text in standing if word in text}

    @invariant()
    def files_are_listed(self) -> None:
        """All files are listed with their versions."""
        listed = self.execute("list")["files"]
        assert [(file["path"], file["version"]) for file in listed] == sorted(
            (path, file.version) for path, file in self.model.files.items()
        )

    def teardown(self) -> None:
        """Every version ever named can be read, every past state by change and by time, and all pages join."""
        self.run(self._check_past())
        for path in PATHS:
            if f"{path}@{self.model.highest.get(path)}" in self.model.named:
                pages = list(self._pages("history", "revisions", path=path))
                assert pages == self.execute("history", path=path, limit=1000)["revisions"]
        assert list(self._pages("list", "files")) == self.execute("list")["files"]

    async def _check_past(self) -> None:
        async with self.service.database.transaction(self.alice.access, snapshot=True) as connection:
            memory = Memory(connection, self.alice.access)
            for name, text in self.model.named.items():
                path, version = name.split("@")
                assert (await memory.read(path, version=int(version))).content == text
            for mount, rev in self.model.revs.items():
                seen: list[Revision] = []
                for past in range(rev + 1):
                    standing = await standing_at(connection, self.alice.access, mount, past)
                    assert _texts(standing) == self.model.texts_after.get((mount, past), {})
                    seen += [revision for revision in standing if revision.rev == past]
                times = [revision.created_at for revision in seen]
                assert times == sorted(times)
                for revision in seen:
                    assert revision in await standing_at(
                        connection, self.alice.access, mount, revision.created_at
                    )
                if times:
                    before = times[0] - timedelta(microseconds=1)
                    assert await standing_at(connection, self.alice.access, mount, before) == []
            for path in self.model.highest:
                versions = {one.version for one in await memory.history(path) if one.virtual_path == path}
                assert versions == {
                    int(name.split("@")[1]) for name in self.model.named if name.startswith(f"{path}@")
                }

    def _pages(self, tool: str, items: str, **arguments: Any) -> Iterator[dict[str, Any]]:
        cursor = None
        while True:
            page = self.execute(tool, limit=2, cursor=cursor, **arguments)
            yield from page[items]
            if (cursor := page["next_cursor"]) is None:
                return


def test_random_operations_leave_what_the_model_says(lent: LentDatabase) -> None:
    """Files, versions, past states, searches, and refusals with their reasons."""
    with closing(asyncio.new_event_loop()) as loop:
        database = loop.run_until_complete(Database.open(lent.conninfo, max_connections=5))
        service = Service(database, max_files=10_000)
        try:
            run_state_machine_as_test(
                lambda: Memories(loop.run_until_complete, service),
                settings=settings(max_examples=4 * costly(), stateful_step_count=STEPS, deadline=None),
            )
        finally:
            loop.run_until_complete(database.close())


async def _member_of_a_new_tenant(service: Service, tenant: str) -> Caller:
    """Return alice, a member of the project apollo of a tenant that has nothing else."""
    tenant_id = await tenants.ensure_tenant(service.database, tenant)

    async def caller(role: Any, user_id: str | None) -> Caller:
        principal = Principal(tenant_id, role)
        context = CallContext(user_id=user_id, actor="tests")
        return await service.caller(principal, context, makes_user=True)

    await open_project(service, await caller("admin", None), "apollo", "alice")
    return await caller("agent", "alice")


def mount_of(path: str) -> str:
    """Return the mount of a path."""
    return path.rpartition("/")[0]


def _texts(revisions: Any) -> dict[str, str]:
    return {revision.virtual_path: revision.content for revision in revisions}
