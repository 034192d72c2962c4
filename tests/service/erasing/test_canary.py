"""One word stands in more than 40 places, is erased, and stands nowhere: in no table, file, answer or backup."""

import io
import json
import subprocess
import zipfile
from pathlib import Path

import pytest
from psycopg.conninfo import make_conninfo
from tests.conftest import STOCK_BINARIES, CallerOf
from tests.kit.inconsistencies import INCONSISTENCIES
from tests.kit.memory import write
from tests.kit.postgres_servers import LentDatabase, Server
from tests.kit.rows import places, select
from tests.service.erasing.kit import (
    CANARY,
    PLANTED,
    erase,
    person_of,
    plant,
    read_folder,
    verify,
)

from memex.call_context import CallContext
from memex.errors import MemexError
from memex.service.evals.states import load_state
from memex.service.exposition import render_metrics
from memex.service.log.replay.bundle import export_call
from memex.service.log.replay.bundle_archive import pack_bundle
from memex.service.service import Caller, Service
from memex.settings import Settings
from memex.store.database import Database
from memex.store.embedded.home import LEDGER
from memex.store.identity import tenants
from memex.store.identity.authentication import Principal
from memex.wiring import running_service

QUESTIONS = (
    ("find", {"query": "tea tutor boat"}),
    ("context", {"query": "What did I say about my tutor and the tea that I prefer?"}),
    ("read", {"path": "user/preferences.md"}),
    ("read", {"path": "user/links.md"}),
    ("history", {"path": "user/preferences.md"}),
    ("list", {}),
)
# Rows that the kit makes by SQL, and passages of messages, are no files.
NOT_OF_MESSAGES = {
    "a revision without its call in the log",
    "a chunk without a head",
    "postings that are not the merged chunks'",
}
EMBEDDED_BINARIES = Path(__file__).parents[3] / ".venv"


async def answers(service: Service, user_id: str) -> str:
    """Return what a user's agent is told by some calls, without their ids."""
    principal = Principal(await tenants.ensure_tenant(service.database, "default"), "agent")
    told: list[object] = []
    for tool, arguments in QUESTIONS:
        caller = await service.caller(principal, CallContext(user_id), from_cache=True)
        try:
            answer = await service.execute(caller, f"memory_{tool}", dict(arguments))
        except MemexError as error:
            told.append(error.code)
        else:
            told.append({name: value for name, value in answer.items() if name != "tool_call_id"})
    return json.dumps(told, ensure_ascii=False)


@pytest.mark.both_servers
async def test_a_word_stands_nowhere_after_it_is_erased(
    service: Service, caller_of: CallerOf, alice: Caller, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Before, each place holds the word; afterwards no column of any table does, and no file, log or answer."""
    service.erasure_ledger = tmp_path / "ledger.jsonl"
    replica = Service(service.database, max_files=10_000)  # which has kept the rights of its callers
    admin = await caller_of(None, role="admin")
    alice = await plant(service, alice, admin, tmp_path / "cases")
    assert len(PLANTED) > 40
    assert {f"public.{column}" for column in PLANTED} - await places(service.database, CANARY) == set()
    assert CANARY in (await answers(replica, "alice")).lower()
    assert CANARY in read_folder(tmp_path / "cases").lower()
    vectors = "select count(*) from {} where text_sha256 not in (select sha256 from chunk)"
    me = await person_of(service, alice)
    capfd.readouterr()

    receipt = await erase(service, me, text=CANARY, conversations=True)

    assert await places(service.database, CANARY) == set()
    for table in ("token_state", "statement_state", *(["embedding"] if service.database.has_vectors else [])):
        assert await select(service.database, vectors.format(table)) == [(0,)], table
    checked = await verify(service, me, receipt)
    assert (checked.is_known, checked.is_gone, checked.found) == (True, True, {})
    packed = pack_bundle(await export_call(service, me, "asked"))
    zipfile.ZipFile(io.BytesIO(packed)).extractall(tmp_path / "bundle")
    told = [
        await answers(service, "alice"),
        await answers(replica, "alice"),
        receipt.model_dump_json(),
        (await render_metrics(service))[0].decode(),
        read_folder(tmp_path),  # cases with their states, the bundle, and the ledger
        *capfd.readouterr(),  # the log of the process
    ]
    assert [CANARY in one.lower() for one in told] == [False] * len(told)
    assert load_state(next((tmp_path / "cases").glob("*/state.yaml")).parent).files
    for what, statement in INCONSISTENCIES.items():
        if what not in NOT_OF_MESSAGES:
            assert await select(service.database, statement) == [], what


async def test_answers_of_others_are_the_same_bytes(
    service: Service, caller_of: CallerOf, alice: Caller, tmp_path: Path
) -> None:
    """Bob was told the same words: his rows, and what he is answered, are as they were before."""
    admin, bob = await caller_of(None, role="admin"), await caller_of("bob")
    bob = await plant(service, bob, admin, tmp_path / "of-bob", by_sql=False)
    rows_of_bob = "select md5(string_agg(t::text, '|' order by t::text)) from {} t where scope_id = any(%s)"
    tables = ("revision", "chunk", "posting", "link", "statement", "operation")
    scopes = [scope.scope_id for scope in (*bob.access.scopes, *bob.access.documents)]
    alice = await plant(service, alice, admin, tmp_path / "of-alice", by_sql=False)
    told = await answers(service, "bob")
    before = [await select(service.database, rows_of_bob.format(table), scopes) for table in tables]

    await erase(service, await person_of(service, alice), text=CANARY, conversations=True)

    after = [await select(service.database, rows_of_bob.format(table), scopes) for table in tables]
    assert after == before
    assert await answers(service, "bob") == told
    assert CANARY in told.lower()


def run(server: Server, command: str, database: str, folder: Path) -> None:
    """Run a program of the server's own Postgres on a database, as its superuser."""
    own = EMBEDDED_BINARIES.glob("lib/python*/site-packages/*/pginstall/bin")
    programs = next(own) if server.kind == "embedded" else STOCK_BINARIES[0]
    program, *options = command.split()
    options[-1] = options[-1].format(make_conninfo(server.admin, dbname=database))
    done = subprocess.run(
        [str(programs / program), *options], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


async def test_a_restored_database_loses_the_words_before_the_first_answer(
    server: Server, lent: LentDatabase, tmp_path: Path
) -> None:
    """A dump of before the erasure has the words; a service that starts on it with the ledger has them nowhere."""
    target = server.create_empty("memex_erased_again")
    database = await lent.open()
    service = Service(database, max_files=10_000, erasure_ledger=tmp_path / LEDGER)
    tenant = await tenants.ensure_tenant(database, "default")
    alice = await service.caller(Principal(tenant, "agent"), CallContext("alice"), makes_user=True)
    admin = await service.caller(Principal(tenant, "admin"), CallContext(None))
    alice = await plant(service, alice, admin, tmp_path / "cases")
    run(server, "pg_dump --format=custom --file=memex.dump --dbname={}", lent.name, tmp_path)
    receipt = await erase(service, await person_of(service, alice), text=CANARY, conversations=True)
    run(server, "pg_restore --exit-on-error memex.dump --dbname={}", "memex_erased_again", tmp_path)
    restored = await Database.open(target)
    assert len(await places(restored, CANARY)) > 40
    await restored.close()
    settings = Settings.model_construct(
        database_url=target, erasure_ledger=tmp_path / LEDGER, embedder="none"
    )

    elsewhere = Settings.model_construct(
        database_url=server.create("memex_other"), erasure_ledger=tmp_path / LEDGER, embedder="none"
    )
    async with running_service(elsewhere) as other:  # a tenant of the same name, which is another one
        stranger = await other.caller(
            Principal(await tenants.ensure_tenant(other.database, "default"), "agent"), CallContext("alice")
        )
        await write(other, stranger, "user/a.md", f"# {CANARY}\n")
    async with running_service(elsewhere) as other:
        assert "public.revision.content" in await places(other.database, CANARY)
    server.drop("memex_other")
    async with running_service(settings) as again:
        found = await places(again.database, CANARY)
        told = await answers(again, "alice")
        me = await person_of(again, await again.caller(Principal(tenant, "agent"), CallContext("alice")))
        checked = await verify(again, me, receipt)

    server.drop("memex_erased_again")
    assert found == set()
    assert CANARY not in told.lower()
    assert checked.is_gone
