"""Packs over HTTP: the ETag is the hash, and a pack that is known comes without its text."""

import httpx2
from tests.http.conftest import KeyOf
from tests.kit.http_service import Served
from tests.mcp.test_work import LABEL, report


def test_a_known_pack_is_not_sent_again(served: Served, key_of: KeyOf) -> None:
    """By `If-None-Match` the answer is 304, by `known_hash` it has no text; another budget has its own size."""
    report(served, key_of, "alice", LABEL)
    headers = {"Authorization": f"Bearer {key_of(bound_to='alice', tenant='home')}"}
    address = f"{served.url}/v1/work/pack"
    first = httpx2.get(address, params={"cwd": "/code/0/src"}, headers=headers)
    etag = first.headers["ETag"]
    unchanged = httpx2.get(
        address, params={"label": LABEL}, headers=headers | {"If-None-Match": f'W/"x", {etag}'}
    )
    known = httpx2.get(address, params={"label": LABEL, "known_hash": first.json()["hash"]}, headers=headers)
    full = httpx2.get(address, params={"label": LABEL, "budget": "full"}, headers=headers)
    odd = httpx2.get(address, params={"budget": "huge"}, headers=headers)

    assert etag == f'"{first.json()["hash"]}"'
    assert "build part 0." in first.json()["text"]
    assert (unchanged.status_code, unchanged.content) == (304, b"")
    assert (known.json()["not_modified"], known.json()["text"]) == (True, "")
    assert (full.json()["size"], full.json()["budget"]) == ("full", 3600)
    assert odd.status_code == 422
