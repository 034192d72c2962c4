"""Published lists of hostile paths, odd strings and injected instructions, as every string of a call."""

import json
import os
import random
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx2
import pytest
from tests.kit.http_service import Served, serving_http

from memex.store.identity import tenants

CORPORA = os.environ.get("MEMEX_EVAL_DATA")
SECRET = "xylophoneorchard"
QUICK_CALLS = 150
FULL_SHARE = 4  # in the full run each line goes through about a quarter of the doors
# Arguments that let a tool come as far as the one that is hostile.
PLAIN: dict[str, Any] = {
    "path": "user/plain.md",
    "to": "user/elsewhere.md",
    "content": "Tea.",
    "text": "I like tea.",
    "query": "tea",
    "operation": "append",
    "operation_id": "00000000-0000-0000-0000-000000000000",
    "version": 1,
    "edits": [{"kind": "write", "path": "user/batch.md", "content": "Tea.", "overwrite": True}],
}
Door = Callable[[str], httpx2.Response]


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for inner in value.values():
            yield from _strings(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _strings(inner)


def hostile_lines(folder: Path) -> list[str]:
    """Return every string of the corpora, each once."""
    lines = list(_strings(json.loads((folder / "paths" / "blns.json").read_text("utf-8"))))
    for file in sorted((folder / "paths").glob("*.txt")):
        lines += file.read_text("utf-8").split("\n")
    for file in sorted((folder / "injection").glob("*.json*")):
        text = file.read_text("utf-8")
        for document in text.splitlines() if file.suffix == ".jsonl" else [text]:
            lines += _strings(json.loads(document))
    return list(dict.fromkeys(lines))


def _is_text(schema: dict[str, Any]) -> bool:
    return any(choice.get("type") == "string" for choice in (schema, *schema.get("anyOf", ())))


def _doors(agent: httpx2.Client, backend: httpx2.Client, admin: httpx2.Client) -> dict[str, Door]:
    """Return all ways in, by name: each string argument of each tool, context, headers, queries and routes."""
    doors: dict[str, Door] = {}
    for tool in agent.get("/v1/tools").json()["tools"]:
        schema = tool["input_schema"]
        needed = {name: PLAIN[name] for name in schema.get("required", ()) if name in PLAIN}
        for name, argument in schema["properties"].items():
            if not _is_text(argument):
                continue

            def by_tool(
                line: str, url: str = _url(tool["name"]), needed: dict[str, Any] = needed, name: str = name
            ) -> httpx2.Response:
                return agent.post(url, json={"arguments": needed | {name: line}})

            doors[f"{tool['name']}.{name}"] = by_tool
    listing = _url("memory_list")
    for field in ("userId", "project", "actor", "toolCallId"):

        def by_context(line: str, field: str = field) -> httpx2.Response:
            return backend.post(
                listing, json={"context": {"userId": "mallory", field: line}, "arguments": {}}
            )

        doors[f"context.{field}"] = by_context
    for header in ("Memex-User", "Memex-Project", "Memex-Actor"):

        def by_header(line: str, header: str = header) -> httpx2.Response:
            sent = "".join(one for one in line if one.isprintable()).strip()[:1_000]  # no client sends others
            return backend.get("/v1/files", headers={"Memex-User": b"mallory", header: sent.encode()})

        doors[f"header {header}"] = by_header
    for route, name in (
        ("/v1/file", "path"),
        ("/v1/files", "prefix"),
        ("/v1/files", "cursor"),
        ("/v1/links", "path"),
        ("/v1/diff", "path"),
        ("/v1/revisions", "path"),
    ):
        doors[f"GET {route}?{name}"] = lambda line, route=route, name=name: agent.get(
            route, params={name: line}
        )
    doors["PUT /v1/file"] = lambda line: agent.put("/v1/file", params={"path": line}, content=line.encode())
    doors["project slug"] = lambda line: admin.put(
        f"/v1/admin/projects/{quote(line, safe='')}", json={"title": line}
    )
    doors["user of a route"] = lambda line: admin.get(f"/v1/admin/users/{quote(line, safe='')}")
    return doors


def _url(tool: str) -> str:
    return f"/v1/tools/{tool}/execute"


def _client(served: Served, role: Any, user: str | None) -> httpx2.Client:
    assert served.service is not None
    made = tenants.create_key(served.service.database, "corpora", role, user_id=user)
    key = served.run(made)[0]
    return httpx2.Client(base_url=served.url, headers={"Authorization": f"Bearer {key}"}, timeout=120)


@pytest.mark.process
@pytest.mark.skipif(CORPORA is None, reason="MEMEX_EVAL_DATA is unset: no hostile corpora")
def test_hostile_strings_through_every_door(conninfo: str, faults: str, figures: list[str]) -> None:
    """Each is done or refused in words, no answer holds anything of another user, whose file stays as it was."""
    assert CORPORA is not None
    lines = hostile_lines(Path(CORPORA))
    statuses: Counter[int] = Counter()
    with serving_http(conninfo) as served:
        alice, mallory = (_client(served, "agent", user) for user in ("alice", "mallory"))
        backend, admin = _client(served, "agent", None), _client(served, "admin", None)
        with alice, mallory, backend, admin:
            alice.put("/v1/file?path=user/secret.md", content=f"# {SECRET}\n").raise_for_status()
            mallory.put("/v1/file?path=user/plain.md", content="# Plain\n").raise_for_status()
            doors = list(_doors(mallory, backend, admin).items())
            pairs = range(len(lines) * len(doors))
            count = len(pairs) // FULL_SHARE if faults == "full" else QUICK_CALLS
            for at in random.Random(count).sample(pairs, count):
                line, (name, door) = lines[at // len(doors)], doors[at % len(doors)]
                answer = door(line)
                statuses[answer.status_code] += 1
                assert answer.status_code < 500, (name, line[:200], answer.text[:300])
                assert SECRET not in answer.text, (name, line[:200])
            kept = alice.get("/v1/file?path=user/secret.md")

    figures.append(
        f"{statuses.total():,} hostile strings through {len(doors)} doors: {dict(sorted(statuses.items()))}"
    )
    assert (kept.json()["content"], kept.json()["version"]) == (f"# {SECRET}\n", 1)
    assert len(doors) > 40
