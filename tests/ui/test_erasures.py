"""The pages that erase a user: what exactly is removed, the name typed once more, and the receipt."""

import asyncio

from tests.ui.conftest import Site

from memex.api.remote import RemoteMemex
from memex.call_context import CallContext


def test_a_user_is_erased_once_the_name_is_typed(site: Site) -> None:
    """The page counts what goes; another name removes nothing; the receipt stays, and the user is gone."""
    alice, admin = site.api(bound_to="alice"), site.visitor("admin")
    alice.put("/v1/file", params={"path": "user/tea.md"}, content="# quetzalcoatl\n").raise_for_status()
    person = admin.get("/ui/people/user", params={"user": "alice"})
    asked = admin.get("/ui/people/erase", params={"user": "alice"})
    wrong = admin.post("/ui/people/erase", {"user": "alice", "name": "Alice"})
    still = alice.get("/v1/file", params={"path": "user/tea.md"})

    erased = admin.post("/ui/people/erase", {"user": "alice", "name": "alice"})

    assert "/ui/people/erase?user=alice" in person.text
    assert "<dt>Files</dt><dd>1</dd>" in asked.text
    assert "<dt>Keys</dt><dd>1</dd>" in asked.text
    assert (wrong.status_code, still.status_code) == (422, 200)
    assert "Nothing was removed." in wrong.text
    assert erased.status_code == 303
    receipt = admin.get(erased.headers["location"])
    assert "was erased" in receipt.text
    assert "<dt>Files</dt><dd>1</dd>" in receipt.text
    assert alice.get("/v1/file", params={"path": "user/tea.md"}).status_code == 401
    assert "alice" not in admin.get("/ui/people").text.partition("<section")[2]
    assert admin.get("/ui/people/erase", params={"user": "alice"}).status_code == 422


def test_who_looks_at_the_memory_that_is_erased_looks_at_nobodys_then(site: Site) -> None:
    """The session of an administrator who looks at the user goes on, and names the user no more."""
    site.api(bound_to="alice").put("/v1/file", params={"path": "user/tea.md"}, content="# Tea\n")
    admin = site.visitor("admin")
    admin.get("/ui/people")
    admin.post("/ui/as-user", {"user": "alice"})
    admin.get("/ui/people/erase", params={"user": "alice"})

    erased = admin.post("/ui/people/erase", {"user": "alice", "name": "alice"})

    assert erased.status_code == 303
    assert admin.get(erased.headers["location"]).status_code == 200
    assert "alice" not in admin.get("/ui/memory").text


def test_python_erases_over_http(site: Site) -> None:
    """What would be removed, the receipt and its list, and the health, as the API in this process gives them."""
    site.api(bound_to="alice").put("/v1/file", params={"path": "user/tea.md"}, content="# Tea\n")

    async def work() -> tuple[dict[str, object], ...]:
        async with RemoteMemex(site.served.url, site.key("admin")) as remote:
            counted = await remote.call(CallContext(None), "user_erase", {"user": "alice", "dry_run": True})
            done = await remote.call(CallContext(None), "user_erase", {"user": "alice"})
            listed = await remote.call(CallContext(None), "erasure_list", {"limit": 5})
            return counted, done, listed, await remote.call(CallContext(None), "health_show")

    counted, done, listed, health = asyncio.run(work())

    assert (counted["status"], done["status"]) == ("dry_run", "erased")
    assert listed["erasures"] == [done]
    assert health["ok"] is True
