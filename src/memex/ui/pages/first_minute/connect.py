"""The page that connects a program: two calls to copy, or a client's configuration, with a key filled in."""

from typing import Annotated, Any

from fastapi import Query, Response

from memex.errors import Forbidden, ValidationFailed
from memex.setup.clients import CLIENTS, Client, Connection
from memex.setup.names import NAMES
from memex.ui.page import Page, PageRequest, page_router

router = page_router("/memory/connect")

OWN_PROGRAM = "own"
TITLES = {OWN_PROGRAM: "Your own program"} | NAMES
NO_KEY = "KEY"  # stands where the key belongs


@router.get("")
async def show_connect(page: Page, client: Annotated[str, Query(max_length=100)] = OWN_PROGRAM) -> Response:
    """Return how a program reaches this memory."""
    return _shown(page, client, None)


@router.post("")
async def make_key(page: Page) -> Response:
    """Make a key that is bound to the user, and fill it in. Only this answer holds it."""
    client = _known(page.form.get("client", OWN_PROGRAM))
    if page.session.user_id is None:
        raise ValidationFailed("No user was chosen.", hint="Choose a user in the menu at the top right.")
    if page.session.principal.role != "admin":
        raise Forbidden("Only an administrator makes keys.", hint="Use the key that you signed in with.")
    made = await page.call(
        "key_create", {"role": "agent", "user": page.session.user_id, "label": TITLES[client]}
    )
    return _shown(page, client, made["key"])


def connect_values(page: PageRequest, client: str, key: str | None) -> dict[str, Any]:
    """Return what the template `connect_steps.html` shows."""
    base_url = str(page.request.base_url).rstrip("/")
    chosen = CLIENTS.get(client)
    return {
        "clients": TITLES,
        "client": client,
        "setup": _setup_of(chosen, base_url, key or NO_KEY) if chosen is not None else None,
        "new_key": key,
        "shown_key": key or NO_KEY,
        "base_url": base_url,
    }


def _shown(page: PageRequest, client: str, key: str | None) -> Response:
    return page.render("connect.html", **connect_values(page, _known(client), key))


def _known(client: str) -> str:
    if client not in TITLES:
        raise ValidationFailed(f"No client is called {client[:40]!r}.", hint="Choose one of the list.")
    return client


def _setup_of(client: Client, base_url: str, key: str) -> dict[str, str]:
    """Return the command for a client, or what to write into which file by hand, and what to do next."""
    path = client.file("user") if "user" in client.files else client.file(client.default_scope)
    return {
        "command": f"memex setup {client.name} --scope user --url {base_url} --key {key}",
        "file": _shown_path(str(path), str(path.home())),
        "snippet": client.snippet(Connection(("memex",), {}, base_url, key)).rstrip("\n"),
        "after": client.after,
    }


def _shown_path(path: str, home: str) -> str:
    """Return a path with `~` for the home folder, which has another name on the reader's machine."""
    return f"~{path.removeprefix(home)}" if path.startswith(f"{home}/") else path
