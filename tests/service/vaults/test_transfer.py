"""Import and export over a service: what comes in goes out again, and what cannot is refused alone."""

import io
import json
import os
import tarfile
import tempfile
import unicodedata
import uuid
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.kit.memory import open_project
from tests.kit.property_budget import costly
from tests.kit.zips import exported, zipped

from memex.errors import Forbidden, MemexError, ProjectNotFound, ToolCallConflict, ValidationFailed
from memex.service.log.call_list import read_attempts
from memex.service.service import Caller, Service
from memex.service.vaults.vault_export import ExportResult, export_files
from memex.service.vaults.vault_import import ImportResult, import_vault
from memex.sources.vault import FolderWriter, ZipWriter
from memex.store.writes.edits import MAX_FILE_BYTES

EVAL_DATA = os.environ.get("MEMEX_EVAL_DATA")
CallerOf = Callable[..., Awaitable[Caller]]
Files = Mapping[str, bytes]

NOTES: Files = {
    "index.md": b"# Index\n\nSee [[dendron.topic.links]].\n",
    "dendron.topic.links.md": b"---\r\nid: x\r\n---\r\n# Links\r\n",
    "Daily/bom.markdown": b"\xef\xbb\xbf# BOM\n",
    "Daily/empty.md": b"",
    "Daily/no newline.md": "ü e\u0301 🦊".encode(),
}
BAD: Files = {
    "latin.md": b"caf\xe9",
    "large.md": b"x" * (MAX_FILE_BYTES + 1),
    "ends .md /x.md": b"x",
    "bidi\u202e.md": b"x",
    "sections.md": b"# h\n" * 10_001,
    "nul.md": b"a\0b",
    "x" * 600 + ".md": b"x",
}


async def take(service: Service, caller: Caller, files: Files, **options: Any) -> ImportResult:
    """Import a zip of files."""
    return await import_vault(service, caller, zipped(files), **options)


async def give(
    service: Service, caller: Caller, source: str | None = None, *, all_projects: bool = False
) -> dict[str, bytes]:
    """Return the files that an export holds."""
    buffer = io.BytesIO()
    await export_files(service, caller, ZipWriter(buffer), source=source, all_projects=all_projects)
    return exported(buffer.getvalue())


def under(mount: str, files: Files) -> dict[str, bytes]:
    """Return files by their virtual paths."""
    return {f"{mount}/{name}": content for name, content in files.items()}


@pytest.fixture
async def admin(service: Service, caller_of: CallerOf) -> Caller:
    """An admin who acts for alice; she is a member of apollo, and not of the project gemini."""
    admin = await caller_of(None, role="admin")
    await open_project(service, admin, "apollo", "alice")
    await open_project(service, admin, "gemini")
    return await caller_of("alice", role="admin")


@pytest.fixture
async def alice(admin: Caller, caller_of: CallerOf) -> Caller:
    """An agent that acts for alice."""
    return await caller_of("alice")


async def test_a_vault_comes_back_byte_for_byte(service: Service, alice: Caller, tmp_path: Path) -> None:
    """Into user/ from a zip, out into a folder, and from there into another place."""
    taken = await take(service, alice, NOTES)
    written = await export_files(service, alice, FolderWriter(tmp_path / "out"), source="user")
    again = await import_vault(service, alice, tmp_path / "out", into="projects/apollo/copy/")

    assert taken.created == sorted(under("user", NOTES))
    assert (taken.counts.created, taken.refused, taken.skipped) == (len(NOTES), [], [])
    assert taken.size_bytes == written.size_bytes == sum(map(len, NOTES.values()))
    assert (written.files, written.state["user"]) == (len(NOTES), 1)
    assert again.counts.created == len(NOTES)
    assert await give(service, alice) == under("user", NOTES) | under("projects/apollo/copy", NOTES)


SEGMENT = (
    st.text(st.characters(codec="utf-8", categories=("L", "M", "N", "P", "S")), min_size=1, max_size=12)
    .map(lambda text: text.strip("."))
    .filter(lambda text: text and not set(text) & set("/\\:"))
)
TREES = st.dictionaries(
    st.lists(SEGMENT, min_size=1, max_size=3).map("/".join).map("{}.md".format),
    st.text(st.characters(codec="utf-8", exclude_characters="\0")).map(str.encode),
    max_size=6,
)


@settings(max_examples=costly(), deadline=None, suppress_health_check=list(HealthCheck))
@given(TREES.filter(bool))
async def test_whatever_is_taken_comes_back(service: Service, admin: Caller, files: Files) -> None:
    """Under the same name in NFC; the rest is refused by a code."""
    into = f"user/{uuid.uuid4()}"
    taken = await take(service, admin, files, into=into)
    refused = {one.path for one in taken.refused}

    kept = {
        unicodedata.normalize("NFC", name): content for name, content in files.items() if name not in refused
    }
    assert taken.counts.created == len(kept)
    assert {one.code for one in taken.refused} <= {"INVALID_PATH"}
    assert not kept or await give(service, admin, into) == kept


@pytest.mark.skipif(EVAL_DATA is None, reason="MEMEX_EVAL_DATA is unset")
@pytest.mark.parametrize(
    ("name", "notes"), [pytest.param("dendron-site", 1_016, marks=pytest.mark.slow), ("foam-docs", 86)]
)
async def test_real_vaults_come_back_byte_for_byte(
    service: Service, alice: Caller, name: str, notes: int
) -> None:
    """Every note of them that is not in a hidden folder; the second import changes nothing."""
    with tempfile.TemporaryDirectory() as folder:
        with tarfile.open(Path(str(EVAL_DATA)) / "vaults" / f"{name}.tar.gz") as archive:
            archive.extractall(folder, filter="data")
        taken = await import_vault(service, alice, Path(folder))
        again = await import_vault(service, alice, Path(folder))
        given = await give(service, alice, "user")

        assert (taken.counts.created, taken.refused) == (notes, [])
        assert (again.counts.unchanged, again.counts.created, again.counts.updated) == (notes, 0, 0)
        assert given == {path: (Path(folder) / path).read_bytes() for path in given}
        assert len(given) == notes


async def test_an_import_again_changes_only_what_changed(service: Service, alice: Caller) -> None:
    """What is gone from the vault stays in memory; what stands there already gets no version."""
    await take(service, alice, NOTES)
    newer = {name: content for name, content in NOTES.items() if name != "Daily/empty.md"}
    newer |= {"index.md": b"# Another\n", "new.md": b"new"}

    again = await take(service, alice, newer)

    assert again.created == ["user/new.md"]
    assert again.updated == ["user/index.md"]
    assert again.unchanged == sorted(under("user", newer).keys() - {"user/index.md", "user/new.md"})
    assert await give(service, alice, "user") == {**NOTES, **newer}
    history = await service.execute(alice, "memory_history", {"path": "user/index.md"})
    assert [(one["version"], one["channel"]) for one in history["revisions"]] == [
        (2, "import"),
        (1, "import"),
    ]


async def test_each_batch_is_a_call_that_can_be_reverted(service: Service, alice: Caller) -> None:
    """Up to 100 files a commit, under the import's id and a number."""
    files = {f"{at:03}.md": f"note {at}".encode() for at in range(250)}

    taken = await take(service, alice, files, tool_call_id="mine")
    await service.revert(alice, "mine.2")

    assert taken.calls == ["mine.1", "mine.2", "mine.3"]
    assert set(await give(service, alice, "user")) == {*sorted(files)[:100], *sorted(files)[200:]}


async def test_calls_are_those_that_wrote(service: Service, alice: Caller) -> None:
    """A batch in which all stood already is not named, also when an import is repeated under its id."""
    files = {f"{at:03}.md": f"note {at}".encode() for at in range(150)}
    changed = {**files, "149.md": b"another"}

    first = await take(service, alice, files, tool_call_id="first")
    same = await take(service, alice, files, tool_call_id="same")
    partly = await take(service, alice, changed, tool_call_id="partly")
    repeated = await take(service, alice, changed, tool_call_id="partly")

    assert first.calls == ["first.1", "first.2"]
    assert (same.calls, same.counts.unchanged) == ([], 150)
    assert partly.calls == repeated.calls == ["partly.2"]
    assert repeated.updated == ["user/149.md"]


@pytest.mark.slow
async def test_a_batch_is_bounded_in_characters(service: Service, alice: Caller) -> None:
    """At 4 MiB, so that large files are not all held at once."""
    files = {f"{at}.md": b"x " * (MAX_FILE_BYTES // 2) for at in range(5)}

    taken = await take(service, alice, files)

    assert len(taken.calls) == 2
    assert taken.counts.created == 5


async def test_the_log_names_texts_and_holds_none(service: Service, alice: Caller) -> None:
    """A batch's request says which revision holds each text; the report stands under the import's own id."""
    await take(service, alice, {"a.md": b"a riddle", "b.md": b"\xff"}, tool_call_id="first")
    await take(service, alice, {"a.md": b"a riddle", "c.md": b"another riddle"}, tool_call_id="second")

    [batch] = await read_attempts(service, alice, "second.1")
    [report] = await read_attempts(service, alice, "first")

    assert (batch.tool, batch.status, batch.writes) == ("memory_import", "committed", ["user/c.md@1"])
    assert batch.request == {
        "files": {"user/a.md": {"$text": "user/a.md@1:0-8"}, "user/c.md": {"$text": "user/c.md@1:0-14"}}
    }
    assert (report.status, report.response["calls"]) == ("answered", ["first.1"])
    assert report.response["refused"] == [{"path": "b.md", "code": "VALIDATION_ERROR"}]
    assert report.principal["channel"] == "import"
    assert "riddle" not in json.dumps([one.model_dump() for one in (batch, report)])


async def test_a_dry_run_says_what_would_happen(service: Service, alice: Caller) -> None:
    """In the words of the import itself, and writes nothing but a line of the log."""
    await take(service, alice, {"a.md": b"a", "b.md": b"b"})
    files = {"a.md": b"a", "b.md": b"another", "c.md": b"c", "d.md": b"\xff"}

    foreseen = await take(service, alice, files, dry_run=True, tool_call_id="dry")
    before = await give(service, alice, "user")
    done = await take(service, alice, files)

    lists = {"created", "updated", "unchanged", "refused", "counts", "size_bytes"}
    assert foreseen.model_dump(include=lists) == done.model_dump(include=lists)
    assert (foreseen.dry_run, foreseen.calls) == (True, [])
    assert before == {"a.md": b"a", "b.md": b"b"}
    assert [one.status for one in await read_attempts(service, alice, "dry")] == ["dry_run"]


async def test_an_export_goes_back_to_where_it_was(service: Service, admin: Caller) -> None:
    """Without a folder named, what has the layout of an export is one; with one named it is a vault like any.

    The files of projects go back only if that is asked for.
    """
    files = under("user", NOTES) | under("shared", NOTES) | under("projects/apollo", NOTES)
    for mount in ("user", "shared", "projects/apollo"):
        await take(service, admin, NOTES, into=mount)

    exported = await give(service, admin)
    back = await take(service, admin, exported, projects=True)
    without = await take(service, admin, exported)
    below = await take(service, admin, exported, into="user/backup")

    assert exported == files
    assert back.counts.unchanged == len(files)
    assert (without.counts.unchanged, without.projects) == (
        len(files) - len(NOTES),
        sorted(under("projects/apollo", NOTES)),
    )
    assert below.created == sorted(under("user/backup", files))


async def test_where_the_caller_cannot_write_nothing_is_written(service: Service, alice: Caller) -> None:
    """It is refused as a whole, and logged; by a dry run too."""
    for into, code in {
        "shared": "READ_ONLY_MOUNT",
        "shared/notes/": "READ_ONLY_MOUNT",
        "projects/gemini": "PROJECT_NOT_FOUND",
        "projects/none": "PROJECT_NOT_FOUND",
        "projects": "INVALID_PATH",
        "": "INVALID_PATH",
        "/": "INVALID_PATH",
        "user/../shared": "INVALID_PATH",
        "users/bob": "PHYSICAL_PATH_FORBIDDEN",
        "notes": "UNKNOWN_MOUNT",
    }.items():
        for dry_run in (False, True):
            call = f"{code}-{len(into)}-{dry_run}"
            with pytest.raises(MemexError) as raised:
                await take(service, alice, NOTES, into=into, tool_call_id=call, dry_run=dry_run)

            assert raised.value.code == code
            [logged] = await read_attempts(service, alice, call)
            assert (logged.tool, logged.error_code, logged.writes) == ("memory_import", code, [])
    assert await give(service, alice) == {}


async def test_of_an_export_only_what_may_be_written_is_taken(service: Service, alice: Caller) -> None:
    """An agent's own files go back; those of shared/ and of projects that are not its user's are refused."""
    files = {"user/a.md": b"a", "shared/b.md": b"b", "projects/gemini/c.md": b"c", "projects/d.md": b"d"}

    taken = await take(service, alice, files, projects=True)

    assert taken.created == ["user/a.md"]
    assert {one.path: one.code for one in taken.refused} == {
        "shared/b.md": "READ_ONLY_MOUNT",
        "projects/gemini/c.md": "PROJECT_NOT_FOUND",
        "projects/d.md": "INVALID_PATH",
    }
    assert await give(service, alice) == {"user/a.md": b"a"}


async def test_a_bad_file_costs_only_itself(service: Service, alice: Caller) -> None:
    """Each has its code and a sentence; the rest is written, whatever stood beside it in its batch."""
    taken = await take(service, alice, {**NOTES, **BAD})

    assert taken.created == sorted(under("user", NOTES))
    codes = {one.path: one.code for one in taken.refused}
    assert codes.pop("x" * 511 + "…") == "INVALID_PATH"
    assert codes == {
        "latin.md": "VALIDATION_ERROR",
        "large.md": "FILE_TOO_LARGE",
        "ends .md /x.md": "INVALID_PATH",
        "bidi\u202e.md": "INVALID_PATH",
        "sections.md": "LIMIT_EXCEEDED",
        "nul.md": "VALIDATION_ERROR",
    }
    assert all(one.message.endswith(".") for one in taken.refused)
    assert await give(service, alice, "user") == NOTES


async def test_a_full_scope_takes_what_it_can(service: Service, alice: Caller) -> None:
    """New files beyond the limit are refused, those that stand are still replaced; the same again is a repeat."""
    small = Service(service.database, max_files=120)
    files = {f"{at:03}.md": b"new" for at in range(230)}
    await take(small, alice, {"229.md": b"old"})

    taken = await take(small, alice, files, tool_call_id="full")
    again = await take(small, alice, files, tool_call_id="full")

    assert taken.counts.created == 119
    assert taken.updated == ["user/229.md"]
    assert {one.code for one in taken.refused} == {"LIMIT_EXCEEDED"}
    assert taken.counts.refused == 110
    assert again.model_dump(exclude={"duration_s"}) == taken.model_dump(exclude={"duration_s"})


async def test_an_import_is_done_once_under_an_id(service: Service, alice: Caller) -> None:
    """Sent again it answers the same; one that was cut off goes on; another vault under the id is refused."""
    files = {f"{at:03}.md": b"x" for at in range(150)}
    first = await take(service, alice, files, tool_call_id="once")
    await service.revert(alice, "once.2")
    again = await take(service, alice, files, tool_call_id="once")

    with pytest.raises(ToolCallConflict):
        await take(service, alice, {"other.md": b"x"}, tool_call_id="once")

    assert again.created == first.created
    assert len(await give(service, alice, "user")) == 100
    statuses = [one.status for one in await read_attempts(service, alice, "once.1")]
    assert statuses == ["repeated", "committed"]
    assert [one.status for one in await read_attempts(service, alice, "once")] == [
        "failed",
        "answered",
        "answered",
    ]


async def test_an_id_leaves_room_for_the_number_of_a_batch(service: Service, alice: Caller) -> None:
    """An id of 160 characters is the longest."""
    taken = await take(service, alice, NOTES, tool_call_id="x" * 160)
    with pytest.raises(ValidationFailed, match="160"):
        await take(service, alice, NOTES, tool_call_id="x" * 161)

    assert taken.calls == ["x" * 160 + ".1"]


async def test_a_vault_without_markdown_is_an_error(service: Service, alice: Caller) -> None:
    """It says what is there instead; so is what is no vault at all. Both are logged as failed."""
    with pytest.raises(ValidationFailed, match="holds no Markdown file among its 2 files"):
        await take(service, alice, {"a.txt": b"x", "b.png": b"x", ".hidden.md": b"x"}, tool_call_id="none")
    with pytest.raises(ValidationFailed, match="no zip"):
        await import_vault(service, alice, b"PK", tool_call_id="zip")

    for call in ("none", "zip"):
        assert [one.status for one in await read_attempts(service, alice, call)] == ["failed"]


async def test_progress_is_told(service: Service, alice: Caller, tmp_path: Path) -> None:
    """From nothing to all, by the batch."""
    told: list[tuple[int, int]] = []
    files = {f"{at:03}.md": b"x" for at in range(150)}

    await take(service, alice, files, progress=lambda *at: told.append(at))
    await export_files(service, alice, FolderWriter(tmp_path), progress=lambda *at: told.append(at))

    assert told == [(0, 150), (100, 150), (150, 150), (150, 150), (150, 150)]


async def test_an_export_of_a_folder_is_relative_to_it(service: Service, alice: Caller) -> None:
    """Below a folder, not of names that begin alike; spelled in NFC or not, with a slash or without."""
    await take(service, alice, {"caf\u00e9/a.md": b"a", "caf\u00e9s/b.md": b"b", "caf\u00e9.md": b"c"})

    for source in ("user/caf\u00e9", "user/cafe\u0301/"):
        assert await give(service, alice, source) == {"a.md": b"a"}
    assert set(await give(service, alice, "user")) == {"caf\u00e9/a.md", "caf\u00e9s/b.md", "caf\u00e9.md"}


async def test_an_export_holds_what_its_caller_reads(
    service: Service, admin: Caller, alice: Caller, caller_of: CallerOf
) -> None:
    """Nobody else's files, and a member's projects, for an admin too; an admin who names nobody gets all."""
    bob = await caller_of("bob")
    for caller, into in ((alice, "user"), (bob, "user"), (admin, "shared"), (admin, "projects/gemini")):
        await take(service, caller, {"a.md": into.encode()}, into=into)
    await take(service, alice, {"b.md": b"b"}, into="projects/apollo")

    hers, his = await give(service, alice), await give(service, bob)

    assert hers == {"projects/apollo/b.md": b"b", "shared/a.md": b"shared", "user/a.md": b"user"}
    assert his == {"shared/a.md": b"shared", "user/a.md": b"user"}
    assert await give(service, admin) == hers
    assert await give(service, admin, "projects") == {"apollo/b.md": b"b"}
    everything = await give(service, admin, all_projects=True)
    assert everything == {**hers, "projects/gemini/a.md": b"projects/gemini"}
    nobody = await caller_of(None, role="admin")
    assert set(await give(service, nobody)) == set(everything) - {"user/a.md"}
    with pytest.raises(ProjectNotFound, match="alice is not a member of projects/gemini"):
        await give(service, admin, "projects/gemini")
    with pytest.raises(Forbidden):
        await give(service, alice, all_projects=True)


@pytest.mark.parametrize(
    ("source", "code"),
    [
        ("user/none", "FILE_NOT_FOUND"),
        ("user/a.md", "FILE_NOT_FOUND"),
        ("projects/gemini", "PROJECT_NOT_FOUND"),
        ("", "INVALID_PATH"),
        ("user/..", "INVALID_PATH"),
        ("notes", "UNKNOWN_MOUNT"),
    ],
)
async def test_an_export_of_nothing_is_an_error(
    service: Service, alice: Caller, source: str, code: str
) -> None:
    """And is logged; an empty memory as a whole is an empty export."""
    everything = await give(service, alice)
    await take(service, alice, {"a.md": b"a"})
    with pytest.raises(MemexError):
        await export_files(service, alice, ZipWriter(io.BytesIO()), source=source, tool_call_id="x")

    assert everything == {}
    assert [one.error_code for one in await read_attempts(service, alice, "x")] == [code]


async def test_what_the_folder_cannot_hold_is_reported(
    service: Service, alice: Caller, tmp_path: Path
) -> None:
    """A file and a folder of one name may both stand in memory; a zip holds both, a folder the first."""
    for path in ("user/a.md", "user/a.md/b.md"):
        await service.execute(alice, "memory_write", {"path": path, "content": path})

    done = await export_files(service, alice, FolderWriter(tmp_path), tool_call_id="out")

    assert (done.files, [one.path for one in done.refused]) == (1, ["user/a.md/b.md"])
    assert set(await give(service, alice)) == {"user/a.md", "user/a.md/b.md"}
    [logged] = await read_attempts(service, alice, "out")
    assert (logged.tool, logged.status, logged.state) == ("memory_export", "answered", done.state)
    assert ExportResult(**logged.response) == done
