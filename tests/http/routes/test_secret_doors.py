"""Every kind of secret, at every door, under every policy: what comes out where."""

import io
import random
import zipfile
from typing import Any

from httpx2 import Client
from tests.kit.zips import zipped

from memex.evals.secrets.samples import Sample, samples

POLICIES = ("redact", "flag", "refuse", "off")
ACTIONS = {"redact": "redacted", "flag": "flagged", "refuse": "refused"}
TABLES = ("operation", "revision", "chunk", "link")


def one_of_each_kind() -> list[Sample]:
    """Return a sample of each kind that tells its kind in one line or more."""
    chosen: dict[str, Sample] = {}
    for sample in samples():
        chosen.setdefault(sample.kind, sample)
    return list(chosen.values())


def execute(client: Client, tool: str, call: str, **arguments: Any) -> Any:
    """Run a tool."""
    body = {"context": {"toolCallId": call}, "arguments": arguments}
    return client.post(f"/v1/tools/{tool}/execute", json=body)


def dump(served: Any) -> str:
    """Return all rows that hold texts or calls."""

    async def read() -> str:
        held = ""
        async with served.service.database.maintenance() as connection:
            for table in TABLES:
                statement = f"select coalesce(string_agg(t::text, ' '), '') as all from {table} t"  # noqa: S608
                [row] = await (await connection.execute(statement.encode())).fetchall()
                held += row["all"]
        return held

    text: str = served.run(read())
    return text.replace("\\\\", "\\").replace('\\"', '"').replace('""', '"')


def leaked(kinds: list[Sample], text: str) -> list[str]:
    """Return the kinds of which a piece is in a text; a pin of four digits may stand there by chance."""
    return [one.kind for one in kinds if any(piece in text for piece in one.pieces if len(piece) >= 8)]


def test_every_door_treats_every_kind_by_the_policy(client_of: Any, served: Any) -> None:
    """Redacted text is in no table, answer or bundle; flagged text stays as it is; refused text is not stored."""
    admin = client_of("admin", tenant="doors")
    kinds = one_of_each_kind()
    assert len(kinds) >= 40
    for policy in POLICIES:
        user = client_of("agent", bound_to=policy, tenant="doors")
        changed = admin.put("/v1/admin/secrets", json={"remember": policy, "files": policy})
        assert changed.json()["files"] == policy
        texts = {f"{index}.md": f"# Note\n\n{one.text}\n" for index, one in enumerate(kinds)}

        remembered = [
            execute(user, "memory_remember", f"r{index}", text=one.text, wait=index % 2 == 0)
            for index, one in enumerate(kinds[::6])
        ]
        edits = [
            {"kind": "write", "path": f"user/many/{name}", "content": text} for name, text in texts.items()
        ]
        batch = execute(user, "memory_write_many", "many", edits=edits)
        imported = user.post(
            "/v1/import?into=user/in", content=zipped({n: t.encode() for n, t in texts.items()})
        )
        written = execute(user, "memory_write", "w", path="user/w.md", content=texts["0.md"])
        reasons = [
            execute(user, "memory_write", "seed", path="user/s.md", content="tea\n"),
            execute(user, "memory_move", "m", path="user/s.md", to="user/t.md", reason=kinds[1].text),
            execute(user, "memory_delete", "d", path="user/t.md", reason=kinds[2].text),
            execute(user, "memory_restore", "b", path="user/t.md", version=1, reason=kinds[3].text),
            user.post("/v1/operations/seed/revert", json={"reason": kinds[4].text}),
        ]
        failed = execute(user, "memory_write", "f", path="user/f.md", contents=kinds[0].text)

        held = dump(served)
        answers = [*remembered, batch, imported, written, *reasons, failed]
        if policy in ("redact", "refuse"):
            said = " ".join(one.text for one in answers if one.status_code != 200)
            assert leaked(kinds, held + said) == []
        if policy == "redact":
            assert {one["action"] for one in batch.json()["secrets"]} == {"redacted"}
            assert imported.json()["counts"]["created"] == len(kinds)
            bundle = user.get("/v1/operations/many/bundle")
            members = zipfile.ZipFile(io.BytesIO(bundle.content))
            packed = " ".join(members.read(name).decode(errors="replace") for name in members.namelist())
            assert leaked(kinds, packed) == []
        elif policy == "refuse":
            assert {one.json()["code"] for one in (*remembered, batch, written)} == {"SECRET_REFUSED"}
            assert len(imported.json()["refused"]) == len(kinds)
            assert imported.json()["counts"]["created"] == 0
        else:
            stands = {
                name: user.get("/v1/file", params={"path": f"user/{folder}/{name}"}).json()["content"]
                for folder in ("many", "in")
                for name in texts
            }
            assert stands == texts
            found = imported.json()["counts"]["secrets"]
            assert found >= len(kinds) if policy == "flag" else found == 0
            assert ("secrets" in batch.json()) == (policy == "flag")
        served.run(_empty(served, policy))


async def _empty(served: Any, user: str) -> None:
    """Take away what one policy left, so that the next one is looked at alone."""
    async with served.service.database.maintenance() as connection:
        for table in ("operation", "link", "chunk", "revision"):
            statement = f"delete from {table} where scope_id in (select scope_id from scope where key = %s)"  # noqa: S608
            await connection.execute(statement.encode(), [user])


def test_a_changed_policy_holds_for_the_next_call(client_of: Any) -> None:
    """A caller whose rights are kept in memory heeds it too, both ways; agents cannot set it."""
    admin, user = client_of("admin", tenant="p"), client_of("agent", bound_to="ana", tenant="p")
    secret = next(iter(samples())).secret
    outcomes = []
    for index, policy in enumerate(("refuse", "off", "redact", None)):
        admin.put("/v1/admin/secrets", json={"files": policy})
        answer = execute(user, "memory_write", f"c{index}", path=f"user/{index}.md", content=secret)
        outcomes.append([one["action"] for one in answer.json().get("secrets", [])])

    assert outcomes == [["refused"], [], ["redacted"], ["flagged"]]
    assert user.put("/v1/admin/secrets", json={"files": "off"}).status_code == 403
    assert admin.put("/v1/admin/secrets", json={"files": "hide"}).status_code == 422


def test_hidden_characters_of_a_write_are_named(client_of: Any) -> None:
    """The answer says how many there are, and the places and code points of the first ones."""
    user = client_of("agent", bound_to="ana", tenant="h")
    content = "# Tea\n\nab\u202ecd" + "\U000e0041" * 50

    answer = execute(user, "memory_write", "w", path="user/h.md", content=content).json()
    plain = execute(user, "memory_write", "p", path="user/p.md", content="# Tee\n\nمی‌خواهم 👩‍👧\n").json()

    assert answer["hidden_characters"]["count"] == 51
    assert len(answer["hidden_characters"]["first"]) == 20
    assert answer["hidden_characters"]["first"][0] == {
        "argument": "content",
        "line": 3,
        "column": 3,
        "code_point": "U+202E",
    }
    assert "hidden_characters" not in plain


def test_a_scan_finds_what_is_stored(client_of: Any) -> None:
    """Each place once, over all pages, with path, version, line and kind, and nothing of the text."""
    admin = client_of("admin", tenant="s")
    rng = random.Random(3)
    secrets = [one.secret for one in samples() if one.kind == "memex key"][:2]
    for name in ("ana", "bob"):
        user = client_of("agent", bound_to=name, tenant="s")
        execute(user, "memory_write", "old", path="user/k.md", content=f"tea\n{secrets[0]}\n")
        execute(
            user, "memory_write", "new", path="user/k.md", content=f"tea\n\n{secrets[1]}\n", overwrite=True
        )
        execute(user, "memory_write", "plain", path="user/p.md", content=f"tea {rng.random()}")

    heads = admin.get("/v1/admin/secrets/scan", params={"all_users": True})
    history = admin.get("/v1/admin/secrets/scan", params={"all_users": True, "history": True}).json()
    of_ana = admin.get("/v1/admin/secrets/scan", headers={"Memex-User": "ana"}).json()

    assert [
        (one["user"], one["path"], one["version"], one["line"], one["kind"])
        for one in heads.json()["secrets"]
    ] == [
        ("ana", "user/k.md", 2, 3, "memex key"),
        ("bob", "user/k.md", 2, 3, "memex key"),
    ]
    assert [one["version"] for one in history["secrets"]] == [1, 2, 1, 2]
    assert [one["user"] for one in of_ana["secrets"]] == ["ana"]
    assert heads.json()["next_cursor"] is None
    assert not any(secret in heads.text for secret in secrets)
