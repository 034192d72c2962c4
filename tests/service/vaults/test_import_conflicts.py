"""What an import does not replace: files of memory that are newer than those of the vault. And its undoing."""

import io
import os
import time
import zipfile
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.kit.memory import open_project
from tests.kit.zips import unzipped, zipped

from memex.errors import (
    FileExists,
    InvalidPath,
    LimitExceeded,
    OperationNotFound,
    ToolCallConflict,
    ValidationFailed,
    VersionConflict,
)
from memex.service.log.call_list import read_attempts
from memex.service.service import Caller, Service
from memex.service.vaults import vault_import
from memex.service.vaults.transfer_report import ImportResult
from memex.service.vaults.vault_export import export_files
from memex.service.vaults.vault_import import import_vault
from memex.sources.manifest import MANIFEST_NAME, ExportManifest, parse_manifest
from memex.sources.vault import FolderWriter, ZipWriter
from memex.store.writes import loaded
from memex.store.writes.draft import Draft

CallerOf = Callable[..., Awaitable[Caller]]
PATH = "user/a.md"
OLD, NEW, OTHER = "old text\n", "new text\n", "other text\n"


@pytest.fixture
async def alice(caller_of: CallerOf) -> Caller:
    """An agent that acts for alice."""
    return await caller_of("alice")


async def write(service: Service, caller: Caller, content: str, path: str = PATH) -> None:
    """Write a file as the agent does, in place of any."""
    await service.execute(caller, "memory_write", {"path": path, "content": content, "overwrite": True})


async def read(service: Service, caller: Caller, path: str = PATH) -> str:
    """Return the text of a file."""
    return str((await service.execute(caller, "memory_read", {"path": path}))["content"])


async def export(service: Service, caller: Caller, source: str | None = None) -> bytes:
    """Return the zip of an export."""
    buffer = io.BytesIO()
    await export_files(service, caller, ZipWriter(buffer), source=source)
    return buffer.getvalue()


async def take(service: Service, caller: Caller, source: bytes | Path, **options: Any) -> ImportResult:
    """Import a vault."""
    return await import_vault(service, caller, source, **options)


def edited(archive: bytes, name: str, content: str) -> bytes:
    """Return an export of which one file was changed outside of memory."""
    return zipped({**unzipped(archive), name: content.encode()})


def dated(name: str, content: str, at: datetime) -> bytes:
    """Return a zip of a file that was written at a time."""
    buffer = io.BytesIO()
    writer = ZipWriter(buffer)
    writer.add(name, content.encode(), at)
    writer.close()
    return buffer.getvalue()


async def test_an_export_does_not_roll_memory_back(service: Service, alice: Caller) -> None:
    """A file that changed since is kept and named with its version, also by a dry run; --replace replaces it."""
    await write(service, alice, OLD)
    archive = await export(service, alice)
    await write(service, alice, NEW)

    foreseen = await take(service, alice, archive, dry_run=True)
    taken = await take(service, alice, archive)
    kept_text = await read(service, alice)
    replaced = await take(service, alice, archive, replace=True)

    [kept] = taken.kept
    assert (kept.path, kept.version, kept.deleted, kept.code) == (PATH, 2, False, "VERSION_CONFLICT")
    assert kept.message == ("Version 1 was exported, and memory has a newer state: version 2.")
    assert datetime.fromisoformat(kept.updated_at) <= datetime.now(UTC)
    assert (taken.counts.kept, taken.calls, taken.size_bytes, kept_text) == (1, [], 0, NEW)
    assert foreseen.kept == taken.kept
    assert (replaced.updated, replaced.kept, await read(service, alice)) == ([PATH], [], OLD)


async def test_an_export_that_was_edited_goes_back(service: Service, alice: Caller) -> None:
    """If memory did not change the file since, even to a text that it held before; else it is kept."""
    await write(service, alice, OLD)
    await write(service, alice, NEW)
    archive = await export(service, alice)

    back = await take(service, alice, edited(archive, PATH, OLD))
    other = await take(service, alice, edited(archive, PATH, OTHER))

    assert back.updated == [PATH]
    assert [one.version for one in other.kept] == [3]
    assert await read(service, alice) == OLD


async def test_what_was_deleted_or_moved_since_does_not_come_back(service: Service, alice: Caller) -> None:
    """Forgetting is a newer state too; --replace brings the files back."""
    for path in ("user/gone.md", "user/moved.md", "user/stays.md"):
        await write(service, alice, path, path)
    archive = await export(service, alice)
    await service.execute(alice, "memory_delete", {"path": "user/gone.md"})
    await service.execute(alice, "memory_move", {"path": "user/moved.md", "to": "user/there.md"})

    taken = await take(service, alice, archive)
    brought = await take(service, alice, archive, replace=True)

    assert [(one.path, one.deleted) for one in taken.kept] == [
        ("user/gone.md", True),
        ("user/moved.md", True),
    ]
    assert "deleted in version 2" in taken.kept[0].message
    assert "moved away after version 1" in taken.kept[1].message
    assert taken.unchanged == ["user/stays.md"]
    assert brought.created == ["user/gone.md", "user/moved.md"]


async def test_without_a_manifest_an_earlier_text_is_known(service: Service, alice: Caller) -> None:
    """By its digest: whatever the clocks say, and in a zip that says no times."""
    await take(service, alice, zipped({"a.md": OLD.encode()}))
    await take(service, alice, zipped({"a.md": NEW.encode()}))

    taken = await take(service, alice, zipped({"a.md": OLD.encode()}))

    assert [one.message for one in taken.kept] == [
        "Memory held this text before, and has a newer state: version 2."
    ]
    assert await read(service, alice) == NEW


async def test_a_file_of_memory_itself_is_not_replaced(service: Service, alice: Caller) -> None:
    """A vault that was never there replaces no text of an agent, but one of an earlier import."""
    await write(service, alice, NEW)
    await take(service, alice, zipped({"b.md": OLD.encode()}))

    taken = await take(service, alice, zipped({"a.md": OTHER.encode(), "b.md": OTHER.encode()}))
    await write(service, alice, NEW, "user/b.md")
    again = await take(service, alice, zipped({"b.md": OLD.encode() + b"more"}))

    assert [one.path for one in taken.kept] == [PATH]
    assert taken.updated == ["user/b.md"]
    assert [one.path for one in again.kept] == ["user/b.md"]


@pytest.mark.parametrize(("ago", "is_kept"), [(timedelta(days=1), True), (timedelta(0), False)])
async def test_an_older_file_of_a_vault_is_not_taken(
    service: Service, alice: Caller, ago: timedelta, is_kept: bool, tmp_path: Path
) -> None:
    """An old backup over a newer import, from a zip and from a folder; a newer file is."""
    at = datetime.now(UTC) - ago
    await take(service, alice, zipped({"a.md": OLD.encode(), "b.md": OLD.encode()}))
    (tmp_path / "b.md").write_text(OTHER)
    os.utime(tmp_path / "b.md", (at.timestamp(), at.timestamp()))

    by_zip = await take(service, alice, dated("a.md", OTHER, at))
    by_folder = await take(service, alice, tmp_path)

    assert [bool(one.kept) for one in (by_zip, by_folder)] == [is_kept] * 2
    assert [bool(one.updated) for one in (by_zip, by_folder)] == [not is_kept] * 2


async def test_versions_of_another_memory_are_not_compared(
    service: Service, alice: Caller, caller_of: CallerOf
) -> None:
    """An export of alice in the memory of bob: the moment of the export decides, and who wrote there."""
    bob = await caller_of("bob")
    await write(service, alice, OLD)
    early = await export(service, alice)
    await write(service, alice, NEW)
    await write(service, bob, OTHER, "user/b.md")
    await write(service, alice, OLD, "user/b.md")
    late = await export(service, alice)

    first = await take(service, bob, late)
    second = await take(service, bob, early)

    assert first.created == [PATH]
    assert [one.path for one in first.kept] == ["user/b.md"]
    assert [one.message for one in second.kept] == [
        "Memory has changed the file since the export: version 1."
    ]
    assert await read(service, bob) == NEW


async def test_a_manifest_that_lies_replaces_nothing_of_an_agent(service: Service, alice: Caller) -> None:
    """Neither a version that is not the text's nor a moment in the future makes a file newer."""
    await write(service, alice, OLD)
    archive = await export(service, alice)
    await write(service, alice, NEW)
    manifest = parse_manifest(unzipped(archive)[MANIFEST_NAME])
    future = datetime(2999, 1, 1, tzinfo=UTC)
    for version in (2, 3, 2**31 - 1):
        files = {PATH: type(manifest.files[PATH])(version, manifest.files[PATH].sha256)}
        lie = ExportManifest(future, "", files).render()
        taken = await take(service, alice, zipped({PATH: OTHER.encode(), MANIFEST_NAME: lie}))
        assert [one.path for one in taken.kept] == [PATH]

    assert await read(service, alice) == NEW


@pytest.mark.parametrize("source", ["user/notes", "user"])
async def test_an_export_of_a_folder_goes_back_there(service: Service, alice: Caller, source: str) -> None:
    """Without a folder named, its manifest says where it was; a new file beside goes there too."""
    await write(service, alice, OLD, "user/notes/a.md")
    archive = edited(await export(service, alice, source), "new.md", NEW)

    taken = await take(service, alice, archive)

    assert (taken.created, taken.unchanged) == ([f"{source}/new.md"], ["user/notes/a.md"])


async def test_a_stray_file_beside_an_export_does_not_move_it(service: Service, alice: Caller) -> None:
    """It is refused alone: the mounts stay mounts."""
    await write(service, alice, OLD)
    archive = edited(await export(service, alice), "README.md", NEW)

    taken = await take(service, alice, archive)

    assert ([one.path for one in taken.refused], taken.unchanged) == (["README.md"], [PATH])
    assert [one.code for one in taken.refused] == ["UNKNOWN_MOUNT"]


async def test_the_folder_of_a_manifest_gives_no_right(service: Service, caller_of: CallerOf) -> None:
    """It is a path like any: refused, or a project that nobody asked for."""
    for source in (
        "",
        "shared",
        "projects/apollo",
        "projects/gemini",
        "users/bob",
        "../x",
        "\0",
        "user",
    ):
        admin = await caller_of(None, role="admin")
        await open_project(service, admin, "apollo", "alice")
        await open_project(service, admin, "gemini")
        alice = await caller_of("alice")
        manifest = ExportManifest(datetime.now(UTC), source, {}).render()

        taken = await take(service, alice, zipped({"x.md": b"x", MANIFEST_NAME: manifest}))

        assert taken.created == (["user/x.md"] if source == "user" else [])
        assert len(taken.refused) + len(taken.projects) == (source != "user")


async def test_a_project_is_imported_only_if_asked(service: Service, caller_of: CallerOf) -> None:
    """By the option, or by naming the project; a member's newer text is kept even then."""
    admin = await caller_of(None, role="admin")
    await open_project(service, admin, "apollo", "alice")
    alice = await caller_of("alice")
    plan, todo = "projects/apollo/plan.md", "projects/apollo/todo.md"
    for path in (plan, todo, PATH):
        await write(service, alice, OLD, path)
    archive, folder = await export(service, alice), await export(service, alice, "projects/apollo")
    await write(service, alice, NEW, plan)
    await service.execute(alice, "memory_delete", {"path": todo})

    by_default = [await take(service, alice, one) for one in (archive, folder)]
    asked = await take(service, alice, archive, projects=True)
    named = await take(service, alice, folder, into="projects/apollo", replace=True)

    assert [one.projects for one in by_default] == [[plan, todo]] * 2
    assert [one.unchanged for one in by_default] == [[PATH], []]
    assert ([one.path for one in asked.kept], asked.projects) == ([plan, todo], [])
    assert (named.created, named.updated) == ([todo], [plan])


async def test_what_may_not_be_written_is_refused_only_if_it_differs(
    service: Service, caller_of: CallerOf
) -> None:
    """An agent's own export goes back without a refusal, with the files of shared/ that it read."""
    admin, alice = await caller_of(None, role="admin"), await caller_of("alice")
    await write(service, admin, OLD, "shared/a.md")
    await write(service, admin, OLD, "shared/b.md")
    archive = await export(service, alice)
    await write(service, admin, NEW, "shared/b.md")

    taken = await take(service, alice, edited(archive, "shared/c.md", "caf"), tool_call_id="own")
    await write(service, admin, NEW, "shared/a.md")
    again = await take(service, alice, edited(archive, "shared/c.md", "caf"), tool_call_id="own")

    assert taken.unchanged == ["shared/a.md"]
    assert {one.path: one.code for one in taken.refused} == dict.fromkeys(
        ("shared/b.md", "shared/c.md"), "READ_ONLY_MOUNT"
    )
    assert again.counts.refused == 3


async def test_an_import_is_undone_by_its_id(service: Service, alice: Caller) -> None:
    """All batches at once, what it replaced too; the undoing is undone as any call."""
    files = {f"{at:03}.md": f"note {at}".encode() for at in range(250)}
    await take(service, alice, zipped({"000.md": b"before"}))
    taken = await take(service, alice, zipped(files), tool_call_id="whole", replace=True)
    undone = await service.revert(alice, "whole", tool_call_id="undo")
    after = await service.execute(alice, "memory_list", {"limit": 500})
    text = await read(service, alice, "user/000.md")
    await service.revert(alice, "undo")

    assert len(taken.calls) == 3
    assert len(undone["writes"]) == 250
    assert ([file["path"] for file in after["files"]], text) == (["user/000.md"], "before")
    assert await read(service, alice, "user/249.md") == "note 249"


async def test_an_import_that_did_not_end_is_undone_by_its_id(
    service: Service, alice: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As far as it came; and of imports with similar ids each alone."""
    files = {f"{at:03}.md": f"note {at}".encode() for at in range(150)}
    commit, done = Draft.commit, []

    async def fail_second(draft: Draft, *arguments: Any) -> Any:
        done.append(1)
        if len(done) == 2:
            raise RuntimeError("cut off")
        return await commit(draft, *arguments)

    monkeypatch.setattr(Draft, "commit", fail_second)
    with pytest.raises(RuntimeError):
        await take(service, alice, zipped(files), tool_call_id="x")
    monkeypatch.undo()
    await take(service, alice, zipped({"b.md": b"b"}), tool_call_id="x.y")
    await take(service, alice, zipped({"c.md": b"c"}), tool_call_id="xx")

    undone = await service.revert(alice, "x")

    assert [write["path"] for write in undone["writes"]] == [f"user/{at:03}.md" for at in range(100)]
    listed = await service.execute(alice, "memory_list", {"limit": 500})
    assert [file["path"] for file in listed["files"]] == ["user/b.md", "user/c.md"]


async def test_an_import_that_wrote_nothing_cannot_be_undone(
    service: Service, alice: Caller, caller_of: CallerOf
) -> None:
    """Nor one of another user, nor a dry run, nor by a pattern."""
    await take(service, alice, zipped({"a.md": b"a"}), tool_call_id="wrote")
    await take(service, alice, zipped({"a.md": b"a"}), tool_call_id="same")
    await take(service, alice, zipped({"b.md": b"b"}), tool_call_id="dry", dry_run=True)
    bob = await caller_of("bob")

    for caller, call in ((alice, "same"), (alice, "dry"), (alice, "wrot"), (alice, "wrot%"), (bob, "wrote")):
        with pytest.raises(OperationNotFound):
            await service.revert(caller, call)


async def test_an_import_that_is_too_large_is_undone_batch_by_batch(
    service: Service, alice: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At once an undo holds a bounded amount of text; the error says how to go on."""
    files = {f"{at:03}.md": f"note {at}".encode() for at in range(150)}
    taken = await take(service, alice, zipped(files), tool_call_id="large")
    monkeypatch.setattr(loaded, "MAX_UNDONE_CHARS", 1_000)

    with pytest.raises(LimitExceeded, match="1,000 are undone at once"):
        await service.revert(alice, "large")
    for call in taken.calls:
        await service.revert(alice, call)

    assert (await service.execute(alice, "memory_list", {}))["files"] == []


async def test_undoing_after_a_change_is_refused_as_a_whole(service: Service, alice: Caller) -> None:
    """It names the file, and changes nothing."""
    await take(service, alice, zipped({"a.md": b"a", "b.md": b"b"}), tool_call_id="first")
    await write(service, alice, NEW)

    with pytest.raises(VersionConflict) as raised:
        await service.revert(alice, "first")

    assert raised.value.details["path"] == PATH
    assert await read(service, alice, "user/b.md") == "b"


async def test_a_write_at_the_same_moment_is_not_lost(
    service: Service, alice: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file that an agent writes between the look and the commit is kept, and one that it makes too."""
    await take(service, alice, zipped({"a.md": OLD.encode()}))
    read_histories, is_first = vault_import.read_histories, [True]

    async def then_write(*arguments: Any) -> Any:
        found = await read_histories(*arguments)
        if is_first.pop() if is_first else False:
            await write(service, alice, NEW)
            await write(service, alice, NEW, "user/b.md")
        return found

    monkeypatch.setattr(vault_import, "read_histories", then_write)

    taken = await take(service, alice, zipped({"a.md": OTHER.encode(), "b.md": OTHER.encode(), "c.md": b"c"}))

    assert ([one.path for one in taken.kept], taken.created) == ([PATH, "user/b.md"], ["user/c.md"])
    assert [await read(service, alice, path) for path in (PATH, "user/b.md")] == [NEW, NEW]


async def test_a_file_that_is_always_written_ends_the_import(
    service: Service, alice: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a conflict, after five attempts, and not with a loop."""
    read_histories, looks = vault_import.read_histories, []

    async def then_write(*arguments: Any) -> Any:
        found = await read_histories(*arguments)
        looks.append(1)
        await write(service, alice, f"{time.monotonic_ns()}")
        return found

    monkeypatch.setattr(vault_import, "read_histories", then_write)

    with pytest.raises((VersionConflict, FileExists)):
        await take(service, alice, zipped({"a.md": OTHER.encode()}), replace=True)

    assert len(looks) == vault_import.MAX_ATTEMPTS


async def test_a_repeat_answers_what_was_kept_then(service: Service, alice: Caller) -> None:
    """Under the same id, whatever memory holds now; with --replace it is another request."""
    await write(service, alice, NEW)
    archive = zipped({"a.md": OTHER.encode(), "b.md": b"b"})
    first = await take(service, alice, archive, tool_call_id="once")
    await service.execute(alice, "memory_delete", {"path": PATH})

    again = await take(service, alice, archive, tool_call_id="once")

    assert again.model_dump(exclude={"duration_s"}) == first.model_dump(exclude={"duration_s"})
    with pytest.raises(ToolCallConflict):
        await take(service, alice, archive, tool_call_id="once", replace=True)


async def test_the_log_names_what_was_kept(service: Service, alice: Caller) -> None:
    """In the report and in the batch, without a text."""
    await write(service, alice, NEW)
    await take(service, alice, zipped({"a.md": b"a riddle"}), tool_call_id="logged")

    [report] = await read_attempts(service, alice, "logged")
    [batch] = await read_attempts(service, alice, "logged.1")

    assert report.response["kept"] == [{"path": PATH, "version": 1}]
    assert (batch.status, batch.writes) == ("committed", [])
    assert "riddle" not in f"{report} {batch}"


async def test_an_export_to_a_folder_says_its_versions_too(
    service: Service, alice: Caller, tmp_path: Path
) -> None:
    """Exported, changed in memory, imported: the folder is known as well as the zip."""
    await write(service, alice, OLD)
    await export_files(service, alice, FolderWriter(tmp_path))
    (tmp_path / PATH).write_text(OTHER)
    edited_alone = await take(service, alice, tmp_path)
    await write(service, alice, NEW)
    both = await take(service, alice, tmp_path, replace=False)

    assert edited_alone.updated == [PATH]
    assert [one.version for one in both.kept] == [3]
    assert (tmp_path / MANIFEST_NAME).exists()


async def test_a_file_of_the_name_of_the_manifest_is_not_exported(service: Service, alice: Caller) -> None:
    """It is named as refused; the manifest is the export's own."""
    await write(service, alice, OLD, f"user/{MANIFEST_NAME}")
    buffer = io.BytesIO()

    done = await export_files(service, alice, ZipWriter(buffer), source="user")

    assert ([one.path for one in done.refused], done.files) == ([MANIFEST_NAME], 0)
    with zipfile.ZipFile(buffer) as archive:
        assert archive.namelist() == [MANIFEST_NAME]


async def test_a_hostile_archive_touches_nothing_but_the_users_files(
    service: Service, caller_of: CallerOf
) -> None:
    """Names that lead elsewhere, also into the files of others; each is refused or left out, and named."""
    admin = await caller_of(None, role="admin")
    await open_project(service, admin, "gemini")
    alice, bob = await caller_of("alice"), await caller_of("bob")
    await write(service, bob, OLD)
    names = (
        "user/../shared/a.md",
        "../user/a.md",
        "/user/a.md",
        "users/bob/a.md",
        "tenants/1/a.md",
        "projects/gemini/a.md",
        "projects/../user/a.md",
        "projects/a.md",
        "shared/a.md",
        "USER/a.md",
        "user//a.md",
        "user/./a.md",
        "user/a\\b.md",
        "user/\u202ea.md",
        "user/\ufeffa.md",
        "user/ a.md",
        "user/" + "x" * 600 + ".md",
        "user/" + "d/" * 20 + "a.md",
    )
    manifest = ExportManifest(datetime.now(UTC), "", {}).render()
    archive = zipped({**dict.fromkeys(names, b"hostile"), "user/good.md": b"", MANIFEST_NAME: manifest})

    for options in ({}, {"projects": True, "replace": True}):
        taken = await take(service, alice, archive, **options)
        left_out = len(taken.refused) + len(taken.projects)
        assert (left_out, taken.created + taken.unchanged) == (len(names), ["user/good.md"])

    assert await read(service, alice, "user/good.md") == ""
    assert await read(service, bob) == OLD
    everything = await service.execute(admin, "memory_list", {})
    assert everything["files"] == []


async def test_names_that_differ_in_case_are_two_files(
    service: Service, alice: Caller, tmp_path: Path
) -> None:
    """Both go in and come out of a zip; a folder that cannot hold both names the other one."""
    files = {"A.md": b"upper", "a.md": b"lower", "dir/x.md": b"1", "DIR/x.md": b"2"}

    taken = await take(service, alice, zipped(files))
    archive = await export(service, alice, "user")
    again = await take(service, alice, archive, into="user")

    assert (taken.counts.created, again.counts.unchanged) == (4, 4)
    assert {name: content for name, content in unzipped(archive).items() if name in files} == files


async def test_an_empty_archive_is_refused(service: Service, alice: Caller, tmp_path: Path) -> None:
    """Of 0 bytes, without a member, with folders alone, and of hidden files alone."""
    folders = io.BytesIO()
    with zipfile.ZipFile(folders, "w") as archive:
        archive.writestr("user/", b"")
    (tmp_path / "empty.zip").write_bytes(b"")

    for source in (b"", tmp_path / "empty.zip", zipped({}), folders.getvalue(), zipped({".git/a.md": b"x"})):
        with pytest.raises(ValidationFailed):
            await take(service, alice, source)


async def test_the_export_of_an_empty_memory_goes_back(service: Service, alice: Caller) -> None:
    """There is nothing to do, and no error."""
    taken = await take(service, alice, await export(service, alice))

    assert (taken.counts.created, taken.calls, taken.hidden) == (0, [], [])


async def test_members_that_share_their_bytes_are_no_bomb(service: Service, alice: Caller) -> None:
    """A zip whose entries all point to one member is refused member by member; no more than one is taken."""
    archive = bytearray(zipped({f"{at}.md": b"x" * 1000 for at in range(3)}))
    first = archive.index(b"PK\x01\x02")
    for entry in (archive.index(b"PK\x01\x02", first + 4), archive.rindex(b"PK\x01\x02")):
        archive[entry + 42 : entry + 46] = bytes(4)  # the place of its header: that of the first member

    taken = await take(service, alice, bytes(archive))

    assert len(taken.created) <= 1
    assert {one.code for one in taken.refused} == {"VALIDATION_ERROR"}


async def test_folders_of_version_control_stay_out_and_what_stands_there_stays_usable(
    service: Service, alice: Caller
) -> None:
    """An import leaves them out, or refuses a disguised one alone; a file of an earlier version can be read."""
    vault = {
        ".git/config.md": b"a",
        ".obsidian/app.md": b"b",
        "git~1/c.md": b"c",
        "d\u2800.md": b"d",
        "e.md": b"e",
    }
    done = await import_vault(service, alice, zipped(vault))

    assert (done.created, sorted(done.hidden)) == (["user/e.md"], [".git", ".obsidian"])
    assert [(one.path, one.code) for one in done.refused] == [
        ("d\u2800.md", "INVALID_PATH"),
        ("git~1/c.md", "INVALID_PATH"),
    ]
    for old, at in (("user/old.md", ".git/old.md"), ("user/other.md", "\u2800.md")):
        with pytest.raises(InvalidPath):
            await write(service, alice, "kestrel", f"user/{at}")
        await write(service, alice, f"The kestrel of {old}.", old)
        async with service.database.maintenance() as connection:
            where = [at, at.lower(), old.removeprefix("user/")]
            await connection.execute("update revision set path = %s, path_key = %s where path = %s", where)

    listed = await service.execute(alice, "memory_list", {})
    found = await service.execute(alice, "memory_find", {"query": "kestrel"})
    told = await service.execute(alice, "memory_context", {"query": "kestrel"})
    exported = await export_files(service, alice, ZipWriter(buffer := io.BytesIO()), source="user")
    with pytest.raises(InvalidPath):
        await service.execute(alice, "memory_move", {"path": "user/e.md", "to": "user/.git/e.md"})
    moved = await service.execute(alice, "memory_move", {"path": "user/.git/old.md", "to": "user/old.md"})
    removed = await service.execute(alice, "memory_delete", {"path": "user/\u2800.md"})

    assert {"user/.git/old.md", "user/\u2800.md"} <= {one["path"] for one in listed["files"]}
    assert {hit["path"] for hit in found["hits"]} == {"user/.git/old.md", "user/\u2800.md"}
    assert {source["path"] for source in told["sources"]} >= {"user/.git/old.md", "user/\u2800.md"}
    assert (exported.files, exported.refused) == (3, [])
    assert ".git/old.md" in zipfile.ZipFile(buffer).namelist()
    assert (moved["path"], removed["path"]) == ("user/old.md", "user/\u2800.md")
