"""Erasing over HTTP: a person who is signed in may, by the secret of the session; an agent's key may not."""

from typing import Any

import httpx2
from tests.http.conftest import ClientOf, KeyOf
from tests.kit.http_service import Served

from memex.service.erasing.erase import EXAMPLE
from memex.service.identity.sessions import sign_in_by_key

WORD = "quetzalcoatl"


def test_a_person_erases_by_the_secret_of_a_session(
    served: Served, key_of: KeyOf, client_of: ClientOf
) -> None:
    """The session's key alone gets FORBIDDEN; the preview, the receipt and its check are for the person."""
    key = key_of(bound_to="nina")
    agent = httpx2.Client(base_url=served.url, headers={"Authorization": f"Bearer {key}"})
    agent.put("/v1/file", params={"path": "user/a.md"}, content=f"I met {WORD}.\n").raise_for_status()
    assert served.service is not None
    secret = served.run(sign_in_by_key(served.service, key))
    person = httpx2.Client(base_url=served.url, headers={"Authorization": f"Bearer {secret}"})

    refused = agent.post("/v1/erasures", json={"text": WORD})
    shown: dict[str, Any] = person.post("/v1/erasures", json={"text": WORD}).json()
    wide = person.post("/v1/erasures", json={"text": WORD, "everywhere": True})
    forged = person.post("/v1/erasures", json={"text": WORD, "confirm": "0.0"})
    done = person.post("/v1/erasures", json={"text": WORD, "confirm": shown["confirm"]}).json()
    again = person.post("/v1/erasures", json={"text": WORD, "confirm": shown["confirm"]}).json()
    checked = person.post("/v1/erasures/verify", json={"receipt": done["receipt"]}).json()

    assert (refused.status_code, refused.json()["code"]) == (403, "FORBIDDEN")
    assert (shown["status"], shown["words"], shown["counts"]["revision"]) == ("preview", [WORD], 1)
    assert (wide.status_code, forged.status_code) == (403, 409)
    assert forged.json()["code"] == "PREVIEW_OUTDATED"
    by = done["receipt"]["by"]
    assert (by["role"], by["channel"]) == ("agent", "user")
    assert again["receipt"] == done["receipt"]
    assert (checked["is_known"], checked["is_gone"]) == (True, True)
    assert WORD not in agent.get("/v1/file", params={"path": "user/a.md"}).text
    for opened in (agent, person):
        opened.close()


def test_the_secret_of_a_session_opens_no_other_route(served: Served, key_of: KeyOf) -> None:
    """It is no key: files, tools and the routes of administrators refuse it."""
    assert served.service is not None
    secret = served.run(sign_in_by_key(served.service, key_of(bound_to="nina")))
    with httpx2.Client(base_url=served.url, headers={"Authorization": f"Bearer {secret}"}) as person:
        for path in ("/v1/files", "/v1/operations", "/v1/admin/erasures"):
            assert person.get(path).status_code == 401, path


def test_what_no_erasure_can_mean_is_refused(client_of: ClientOf) -> None:
    """A NUL, a receipt with a salt or a digest that is none: a 4xx that says so, and never a 5xx."""
    root = client_of("admin")
    named = {"headers": {"Memex-User": "nina"}}
    for name in ("text", "path", "call", "statement", "confirm"):
        body = {"text": "quetzalcoatl"} | {name: "a\0b"} if name == "confirm" else {name: "a\0b"}
        assert root.post("/v1/admin/erasures", json=body, **named).status_code in (400, 422), name
    for part in ({"salt": "00"}, {"digests": {"-1": []}}, {"digests": {"3": ["xyz"]}}, {"erasure_id": "\0"}):
        receipt = EXAMPLE | {"user": "nina"} | part
        refused = root.post("/v1/admin/erasures/verify", json={"receipt": receipt}, **named)
        assert refused.status_code == 422, part
