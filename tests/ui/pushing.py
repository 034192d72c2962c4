"""Documents of a page, pushed as a client pushes them."""

import hashlib
import json
from collections.abc import Mapping

import httpx2


def push_documents(
    api: httpx2.Client,
    files: Mapping[str, str],
    left_out: str,
    *,
    root: str = "repo",
    project: str | None = None,
) -> None:
    """Push the files of a folder as a whole sync, of which one file was left out as a secret."""
    where = {"root": root} | ({"project": project} if project else {})
    digests = {path: hashlib.sha256(text.encode()).hexdigest() for path, text in files.items()}
    ndjson = {"Content-Type": "application/x-ndjson"}
    listed = "".join(json.dumps({"path": path, "sha256": digests[path]}) + "\n" for path in sorted(files))
    compared = api.post("/v1/documents/manifest", params=where, content=listed, headers=ndjson)
    assert compared.is_success, compared.text
    sync = compared.json()["sync"]
    sent = "".join(
        json.dumps({"path": path, "sha256": digests[path], "text": text}) + "\n"
        for path, text in files.items()
    )
    put = api.put("/v1/documents", params=where | {"sync": sync}, content=sent, headers=ndjson)
    assert put.is_success, put.text
    ended = where | {
        "sync": sync,
        "left_out": {"secret": 1},
        "examples": [{"path": left_out, "reason": "secret"}],
        "patterns": ["*.md"],
    }
    done = api.post("/v1/documents/finish", json=ended)
    assert done.is_success, done.text
