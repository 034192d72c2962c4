"""A folder is made equal to its documents, by syncs that may be interrupted, and by single files."""

import asyncio
import random
from typing import Any

import pytest
from tests.conftest import CallerOf
from tests.kit.documents import current, digest, listed, push, scope_of, sent, stored
from tests.kit.inconsistencies import INCONSISTENCIES
from tests.kit.memory import open_project
from tests.kit.rows import select

from memex.errors import (
    DocumentNotFound,
    Forbidden,
    InvalidPath,
    LimitExceeded,
    MostlyGone,
    ProjectNotFound,
    SyncInProgress,
    SyncSuperseded,
    ValidationFailed,
)
from memex.service.call import Caller
from memex.service.conversations.lines import to_lines
from memex.service.documents import pushing, reading, watching
from memex.service.documents.lines import check_document_path
from memex.service.service import Service
from memex.store.database import rows
from memex.store.documents.records import DocumentLimits
from memex.store.paths import parse_new
from memex.store.upkeep import reindex

NAMED: dict[str, Any] = {"root": "repo"}
FOLDER = {
    "README.md": "# Shop\n\nA shop for oolong.\n\n## Deploy\n\nRun the kestrel script.\n",
    "docs/adr/0001-queue.md": "---\ntags: [adr]\n---\n# Queue\n\nWe chose Postgres for the queue.\n",
    "config.yaml": "service:\n  port: 8630\n",
    "empty.md": "",
}


async def put(service: Service, caller: Caller, *files: dict[str, Any], **more: Any) -> list[Any]:
    """Send files of the root, and return what became of each."""
    return (await pushing.PUT.call(service, caller, NAMED | more, to_lines(files))).files


async def found(service: Service, caller: Caller, query: str, **more: Any) -> list[str]:
    """Return the paths that a query finds."""
    hits = (await reading.FIND.call(service, caller, {"query": query} | more)).hits
    return [hit.document.path for hit in hits]


async def test_a_folder_is_mirrored_and_found(service: Service, alice: Caller) -> None:
    """What was pushed is listed, read as it is, and found with its heading; a second push sends nothing."""
    done = await push(service, alice, FOLDER)
    again = await pushing.COMPARE.call(service, await current(service, alice), NAMED, listed(FOLDER))
    alice = await current(service, alice)

    assert (done.state, done.documents, done.removed) == ("complete", 4, 0)
    assert (again.wanted, again.gone, again.unchanged) == ([], [], 4)
    assert await stored(service, alice) == FOLDER
    [hit] = (await reading.FIND.call(service, alice, {"query": "kestrel"})).hits
    assert hit.document.reference == "documents/user/repo/README.md"
    assert (hit.heading, hit.text) == (["Shop", "Deploy"], "## Deploy\n\nRun the kestrel script.")
    assert await found(service, alice, "queue", tags=["ADR"]) == ["docs/adr/0001-queue.md"]
    assert await found(service, alice, "queue", tags=["other"]) == []
    assert await found(service, alice, "port", prefix="docs/") == []
    [root] = (await reading.ROOTS.call(service, alice, {})).roots
    assert (root.documents, root.state, root.owner, root.may_change) == (4, "syncing", "alice", True)


async def test_random_changes_are_reconciled(service: Service, alice: Caller) -> None:
    """After each of many changes of a folder, a sync makes texts, index and counts equal to the folder."""
    chance = random.Random(22)
    words = ["oolong", "kestrel", "queue", "lantern", "gravel", "harbor", "violet"]
    folder = {f"docs/{number}.md": f"# {number}\n\n{chance.choice(words)}\n" for number in range(12)}
    for step in range(40):
        path = chance.choice(sorted(folder))
        match chance.choice(("create", "edit", "move", "empty", "delete", "swap")):
            case "create":
                folder[f"new/{step}.txt"] = " ".join(chance.choices(words, k=5))
            case "edit":
                folder[path] += f"\n## More {step}\n\n{chance.choice(words)}\r\n"
            case "move":
                folder[f"moved/{step}{path[path.rfind('.') :]}"] = folder.pop(path)
            case "empty":
                folder[path] = ""
            case "delete" if len(folder) > 4:
                del folder[path]
            case "swap":
                other = chance.choice(sorted(folder))
                folder[path], folder[other] = folder[other], folder[path]
        if chance.random() < 0.3:
            continue  # changes come together
        done = await push(service, alice, folder, batch=3)
        assert done.documents == len(folder)
    await push(service, alice, folder)
    alice = await current(service, alice)

    assert await stored(service, alice) == folder
    for word in words:
        holding = {path for path, text in folder.items() if word in text}
        assert set(await found(service, alice, word, limit=100)) == holding, word
    for what, statement in INCONSISTENCIES.items():
        assert await select(service.database, statement) == [], what
    await assert_index_is_as_made_anew(service, alice)


async def assert_index_is_as_made_anew(service: Service, caller: Caller) -> None:
    """The chunks, postings and counts are those that a rebuild makes."""
    access, scope = await scope_of(service, caller)

    async def state() -> list[Any]:
        async with service.database.transaction(access) as connection:
            chunk = await connection.execute(
                b"select document.path, start_char, end_char, heading_path, chunk.sha256"
                b" from chunk join document on document_id = file_id and document.scope_id = chunk.scope_id"
                b" order by path, start_char"
            )
            counts = await connection.execute(b"select n, total_length from scope_stat order by n, scope_id")
            root = await connection.execute(b"select documents, text_bytes, passages from document_root")
            held = await connection.execute(
                b"select count(*) as documents, sum(octet_length(text)) as text_bytes,"
                b" sum(passages) as passages from document"
            )
            found = [await one.fetchall() for one in (chunk, counts, root, held)]
            assert found[2] == found[3]
            return found

    before = await state()
    await reindex.rebuild(service.database, scope.scope_id)

    assert await state() == before


async def test_a_rename_keeps_tags_and_sends_no_text(service: Service, alice: Caller) -> None:
    """A moved file keeps the tags that the client gave; the old path may hold another text at once."""
    await put(service, alice, *sent({"old.md": "# Oolong\n"}, tags=["drink"]))
    done = await put(
        service,
        alice,
        *sent({"old.md": "# Kestrel\n"}),
        {"path": "new.md", "sha256": digest("# Oolong\n"), "renamed_from": "old.md"},
    )
    alice = await current(service, alice)

    assert [one.change for one in done] == ["created", "renamed"]
    assert await stored(service, alice) == {"old.md": "# Kestrel\n", "new.md": "# Oolong\n"}
    assert await found(service, alice, "drink") == ["new.md"]
    assert await found(service, alice, "kestrel") == ["old.md"]
    [lost] = await put(
        service, alice, {"path": "x.md", "sha256": digest("gone"), "renamed_from": "nowhere.md"}
    )
    assert (lost.change, lost.code) == ("refused", "TEXT_WANTED")


async def test_a_file_that_does_not_fit_is_refused_alone(service: Service, alice: Caller) -> None:
    """A wrong digest, a NUL, a secret: the file is left out with a code, and the others are stored."""
    secret = "aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY\n"
    await put(service, alice, *sent({"keys.txt": "nothing yet heron"}))
    done = await put(
        service,
        alice,
        {"path": "grown.md", "sha256": digest("half"), "text": "half and more"},
        *sent(
            {
                "binary.md": "\0\1",
                "keys.txt": secret,
                "kept.md": "kept kestrel",
                "big.txt": "x" * ((1 << 20) + 1),
            }
        ),
    )
    alice = await current(service, alice)

    assert [(one.path, one.change, one.code) for one in done] == [
        ("grown.md", "refused", "DIGEST_MISMATCH"),
        ("binary.md", "refused", "VALIDATION_ERROR"),
        ("keys.txt", "refused", "SECRET_REFUSED"),
        ("kept.md", "created", None),
        ("big.txt", "refused", "LIMIT_EXCEEDED"),
    ]
    assert await stored(service, alice) == {"kept.md": "kept kestrel"}
    assert await found(service, alice, "heron") == []  # the text before the secret went too


async def test_half_of_a_root_does_not_go_unasked(service: Service, alice: Caller) -> None:
    """A folder that has lost more than half of its files is not followed, unless that is meant."""
    await push(service, alice, FOLDER)
    with pytest.raises(MostlyGone) as refused:
        await push(service, alice, {"README.md": FOLDER["README.md"]})
    alice = await current(service, alice)

    assert (refused.value.details["gone"], refused.value.details["stored"]) == (3, 4)
    assert await stored(service, alice) == FOLDER
    with pytest.raises(MostlyGone):
        await put(service, alice, *({"path": path, "is_removed": True} for path in sorted(FOLDER)[:3]))
    done = await push(service, alice, {"README.md": FOLDER["README.md"]}, prune=True)
    assert (done.removed, done.documents) == (3, 1)
    assert await found(service, alice, "queue port") == []


async def test_pages_of_a_manifest_are_compared_each_by_itself(service: Service, alice: Caller) -> None:
    """What a page lacks within its bounds is gone; a file of a later page is not."""
    await push(service, alice, FOLDER)
    kept = {path: text for path, text in FOLDER.items() if path != "docs/adr/0001-queue.md"}
    paths = sorted(kept)
    first = await pushing.COMPARE.call(
        service, alice, NAMED | {"until": paths[1]}, listed({path: kept[path] for path in paths[:2]})
    )
    second = await pushing.COMPARE.call(
        service,
        alice,
        NAMED | {"sync": first.sync, "after": paths[1]},
        listed({path: kept[path] for path in paths[2:]}),
    )

    assert (first.gone, first.unchanged) == ([], 2)
    assert (second.gone, second.unchanged) == (["docs/adr/0001-queue.md"], 1)
    done = await pushing.FINISH.call(service, await current(service, alice), NAMED | {"sync": first.sync})
    assert (done.removed, done.documents, done.state) == (1, 3, "complete")


async def test_an_interrupted_sync_is_finished_by_the_next(service: Service, alice: Caller) -> None:
    """A client that dies between two batches leaves `syncing`; the next sync asks only for the rest."""
    compared = await pushing.COMPARE.call(service, alice, NAMED | {"client": "one"}, listed(FOLDER))
    await put(service, alice, *sent({"README.md": FOLDER["README.md"]}), sync=compared.sync)
    alice = await current(service, alice)

    [root] = (await reading.ROOTS.call(service, alice, {})).roots
    assert (root.state, root.documents, root.completed_at) == ("syncing", 1, None)
    with pytest.raises(SyncInProgress) as busy:
        await pushing.COMPARE.call(service, alice, NAMED | {"client": "two"}, listed(FOLDER))
    assert 0 < busy.value.details["retry_after_s"] <= 60
    after = await pushing.COMPARE.call(service, alice, NAMED | {"client": "one"}, listed(FOLDER))
    assert [one.path for one in after.wanted] == sorted(set(FOLDER) - {"README.md"})
    with pytest.raises(SyncSuperseded):  # what the dead client may still send
        await put(service, alice, *sent({"README.md": "older"}), sync=compared.sync)
    with pytest.raises(SyncSuperseded):
        await pushing.FINISH.call(service, alice, NAMED | {"sync": compared.sync})
    assert (await push(service, alice, FOLDER, client="one")).state == "complete"


async def test_two_clients_at_once_leave_one_whole_mirror(service: Service, alice: Caller) -> None:
    """Requests for the same files at the same moment: each file is as one of them sent it, with its index."""
    await put(service, alice, *sent({"a.md": "before"}))
    alice = await current(service, alice)
    folders = [{f"{name}.md": f"# {name}\n\n{word}\n" for name in "abcdef"} for word in ("lantern", "gravel")]
    await asyncio.gather(*(put(service, alice, *sent(folder)) for folder in folders * 2))

    held = await stored(service, alice)
    words = {path: text.split()[-1] for path, text in held.items()}
    for word in ("lantern", "gravel"):
        assert set(await found(service, alice, word)) == {path for path in held if words[path] == word}
    assert held in folders
    assert await found(service, alice, "before") == []
    for what, statement in INCONSISTENCIES.items():
        assert await select(service.database, statement) == [], what


async def test_only_the_owner_and_admins_change_a_root(service: Service, caller_of: CallerOf) -> None:
    """Members of a project read each other's roots; who does not own one neither pushes to it nor removes it."""
    admin = await caller_of(None, role="admin")
    await open_project(service, admin, "apollo", "alice", "bob")
    alice, bob = await caller_of("alice"), await caller_of("bob")
    await push(service, alice, FOLDER, project="apollo")
    bob, dave = await current(service, bob), await caller_of("dave")
    named = NAMED | {"project": "apollo"}

    assert await stored(service, bob, project="apollo") == FOLDER
    [shown] = (await reading.ROOTS.call(service, bob, {})).roots
    assert (shown.owner, shown.may_change) == ("alice", False)
    for attempt in (
        lambda: pushing.COMPARE.call(service, bob, named, listed({})),
        lambda: pushing.PUT.call(service, bob, named, to_lines(sent({"README.md": "mine"}))),
        lambda: pushing.FINISH.call(service, bob, named | {"sync": shown.sync}),
        lambda: pushing.REMOVE.call(service, bob, named),
        lambda: watching.WATCH.call(service, bob, named),
    ):
        with pytest.raises(Forbidden):
            await attempt()
    for stranger in (
        lambda: pushing.COMPARE.call(service, dave, named, listed({})),
        lambda: reading.READ.call(service, dave, named | {"path": "README.md"}),
        lambda: watching.WATCH.call(service, dave, named),
        lambda: watching.REQUEST_SYNC.call(service, dave, {"project": "apollo"}),
    ):
        with pytest.raises(ProjectNotFound):
            await stranger()
    assert await found(service, dave, "kestrel") == []
    await push(service, await current(service, admin), {**FOLDER, "more.md": "more"}, project="apollo")
    [shown] = (await reading.ROOTS.call(service, bob, {"project": "apollo"})).roots
    assert (shown.owner, shown.documents) == ("alice", 5)
    removed = await pushing.REMOVE.call(service, await current(service, admin), named)
    assert removed.documents == 5


async def test_a_root_takes_no_file_while_it_is_removed(service: Service, alice: Caller) -> None:
    """Neither of a sync nor a single one; whatever comes first, no document is left without its root."""
    folder = {f"{number}.md": f"kestrel {number}" for number in range(60)}
    await push(service, alice, folder)
    caller, single = await current(service, alice), to_lines(sent({"late.md": "late"}))
    for number in range(10):
        results = await asyncio.gather(
            pushing.REMOVE.call(service, caller, {"root": "repo"}),
            *(pushing.PUT.call(service, caller, {"root": "repo"}, single) for _ in range(3)),
            push(service, caller, folder) if number % 2 else asyncio.sleep(0),
            return_exceptions=True,
        )
        for one in results:
            if isinstance(one, BaseException):
                assert isinstance(one, SyncSuperseded | SyncInProgress | DocumentNotFound), one
        for what, statement in INCONSISTENCIES.items():
            assert await select(service.database, statement) == [], what
        roots = await select(service.database, "select name, state, documents from document_root")
        held = await select(service.database, "select count(*) as n from document")
        assert held[0][0] == sum(documents for _, _, documents in roots)
        await push(service, caller, folder, prune=True)
    async with service.database.maintenance() as connection:
        await connection.execute("update document_root set state = 'removing'")
    with pytest.raises(SyncSuperseded):
        await pushing.PUT.call(service, caller, {"root": "repo"}, single)


async def test_a_removed_root_leaves_no_word(service: Service, alice: Caller) -> None:
    """After a root is removed, its words stand in no row of any table."""
    canary = "quetzalcoatl"
    big = {f"{number}.md": f"# {canary}\n\n{canary} {number}\n" for number in range(40)}
    await push(service, alice, big | {"edited.md": f"{canary} before"})
    await push(service, alice, big | {"edited.md": "after", "notes.yaml": f"{canary}: 1\n"}, batch=7)
    alice = await current(service, alice)
    counted = await pushing.REMOVE.call(service, alice, NAMED | {"dry_run": True})
    removed = await pushing.REMOVE.call(service, alice, NAMED)

    assert (counted.documents, removed.documents, removed.passages) == (42, 42, counted.passages)
    with pytest.raises(DocumentNotFound):
        await pushing.REMOVE.call(service, alice, NAMED)
    async with service.database.maintenance() as connection:
        tables = await rows(connection, "health/table_sizes")
        assert tables
        cursor = await connection.execute(
            b"select table_name from information_schema.tables"
            b" where table_schema = 'public' and table_type = 'BASE TABLE'"
        )
        for table in [one["table_name"] for one in await cursor.fetchall()]:
            held = await connection.execute(
                f"select count(*) as n from {table} t where t::text like '%{canary}%'".encode()  # noqa: S608
            )
            [row] = await held.fetchall()
            assert row["n"] == 0, table


async def test_too_much_is_refused_whole(service: Service, alice: Caller) -> None:
    """Nothing of a request is stored that would exceed a limit, and malformed lines are named."""
    service.document_limits = DocumentLimits(documents=2, text_bytes=20)
    await put(service, alice, *sent({"a.md": "a"}))
    for too_many in ({"b.md": "b", "c.md": "c"}, {"b.md": "b" * 30}):
        with pytest.raises(LimitExceeded):
            await put(service, alice, *sent(too_many))
    for body, said in (
        (to_lines([{"path": "../x", "sha256": digest(""), "text": ""}]), "Line 1: path"),
        (to_lines(sent({"a.md": "a"})) * 2, "Line 2: the path comes twice"),
        (b'{"path": "a.md"}\n', "Line 1: a file has one of"),
        (b"[]\n", "Line 1"),
        (b"", "no file"),
    ):
        with pytest.raises(ValidationFailed, match=said):
            await pushing.PUT.call(service, alice, NAMED, body)
    for lines, said in (
        (listed({"b": "", "c": ""}) + listed({"a": ""}), "Line 3: the path does not come behind"),
        (b'{"path": "a", "sha256": "00"}', "Line 1: sha256 is malformed"),
        (b"x", "Line 1: it is no object"),
        (to_lines([{"path": "/etc/passwd", "sha256": digest("")}]), "Line 1: must be relative"),
    ):
        with pytest.raises(ValidationFailed, match=said):
            await pushing.COMPARE.call(service, alice, NAMED, lines)
    assert await stored(service, await current(service, alice)) == {"a.md": "a"}


def test_paths_that_hide_something_are_refused() -> None:
    """What nobody sees in a name, and the folders of version control, which hold addresses and keys."""
    for path in (
        "a\u200b.md",
        "a\u202egnp.md",
        "a\u2028b.md",
        ".git/config",
        "sub/.GIT/config",
        ".hg/hgrc",
        ".svn/x",
        "\u2800.md",
        ".gi\u200ct/config",
        ".git./config",
        "sub/.git /config",
        "GIT~1/config",
        ".git::$INDEX_ALLOCATION/config",
        ".Git. .:x/config",
        "docs/.git",
    ):
        with pytest.raises(ValueError, match=r"holds a|version control"):
            check_document_path(path)
        with pytest.raises(InvalidPath):
            parse_new(f"user/{path}")
    for path in (
        "docs/git/config.md",
        ".github/x.md",
        ".gitignore",
        "git~a.md",
        "x.git/a.md",
        ".git-notes.md",
    ):
        assert check_document_path(path) == path
        assert parse_new(f"user/{path}").relative == path
