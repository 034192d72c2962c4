"""Make the pictures of the documentation: `make screenshots` serves the sample memory and writes docs/images.

A new picture is a line of SHOTS. An administrator who looks at the memory of its user opens its address.
"""

import asyncio
import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx2
import structlog
from playwright.sync_api import Browser, Page, ViewportSize
from tests.kit import clusters
from tests.kit.http_service import Served, serving_http
from tests.ui.browser import chromium

from memex.api.local import LocalMemex
from memex.call_context import CallContext
from memex.service import demo
from memex.service.service import Service
from memex.store.embedded import server as embedded
from memex.store.identity import authentication, tenants
from memex.store.log.hours import sum_hours
from memex.store.migrate import migrate

IMAGES = Path(__file__).parents[2] / "docs" / "images"
MAX_BYTES = 150_000
TENANT, USER = "home", "nora"
WIDE: ViewportSize = {"width": 1200, "height": 760}
PLAN = "user/projects/heron/plan.md"


@dataclass(frozen=True)
class Shot:
    """A picture of a page: its file is `name`.png."""

    name: str
    address: str
    user: str = USER


SHOTS = (
    Shot("first-minute", "/ui/memory", user="somebody-new"),
    Shot("connect", "/ui/memory/connect?client=cursor"),
    Shot("edit", f"/ui/memory/edit?path={PLAN}"),
    Shot("saved", f"/ui/memory/file?path={PLAN}&notice=saved&call=paint-the-oars"),
    Shot("why", "/ui/calls?tool=memory_context"),
    Shot("folder", "/ui/memory?folder=user/projects/heron/"),
    Shot("blame", f"/ui/memory/blame?path={PLAN}"),
    Shot("search", "/ui/search?query=When+does+Heron+sail"),
    Shot("search-why", f"/ui/search?query=When+does+Heron+sail+south&why={PLAN}"),
    Shot("ask", "/ui/ask?query=When+does+Heron+sail&budget=1500"),
    Shot("health", "/ui/health"),
    Shot("calls", "/ui/calls"),
    Shot("call", "/ui/calls/call?id=why-oil"),
    Shot("replay", "/ui/calls/replay?id=why-oil"),
    Shot("compare", "/ui/calls/compare?id=why-oil&budget=700"),
    Shot("case", "/ui/calls/case?id=why-oil"),
    Shot("revert", "/ui/calls/revert?id=paint-the-oars"),
)


def main(names: list[str]) -> None:
    """Make all pictures, or those of some names; a picture over 150 KB is an error."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING))
    IMAGES.mkdir(exist_ok=True)
    with served_sample() as served, chromium() as browser:
        admin = served.run(make_memory(served))
        for shot in SHOTS:
            if not names or shot.name in names:
                picture = take(browser, served.url, admin, shot)
                if len(picture) > MAX_BYTES:
                    sys.exit(f"{shot.name}: {len(picture):,} bytes are more than {MAX_BYTES:,}")
                (IMAGES / f"{shot.name}.png").write_bytes(picture)
                print(f"docs/images/{shot.name}.png  {len(picture):,} bytes")  # noqa: T201


@contextmanager
def served_sample() -> Iterator[Served]:
    """A Memex of its own, which ends with the pictures."""
    with clusters.reachable_folder("memex-pictures-") as folder, embedded.start(folder / "data") as lease:
        asyncio.run(migrate(lease.conninfo, superuser=lease.admin_conninfo))
        with serving_http(lease.conninfo) as served, httpx2.Client(base_url=served.url) as client:
            client.get("/healthz")
            yield served


async def make_memory(served: Served) -> str:
    """Load the sample memory, change and ask something, and return the key of an administrator."""
    service = served.service
    assert service is not None
    secret, _ = await tenants.create_key(service.database, TENANT, "admin", label="pictures")
    memex, context = await opened(service, secret)
    await demo.load_sample(*await memex.caller(context, "demo_load"))
    plan = await memex.execute(context, "memory_read", {"path": PLAN})
    changed = plan["content"].rstrip("\n") + "\n- Paint the oars red.\n"
    change = {"path": PLAN, "content": changed, "base_version": plan["version"], "reason": "Nora said so"}
    await memex.execute(context.under("paint-the-oars"), "memory_write", change)
    for call_id, question in (
        ("fetch-the-mast", "When can I fetch the new mast?"),
        ("why-oil", "Why does the hull get oil and not varnish?"),
    ):
        asked = {"query": question, "budget": 4_000}
        await memex.execute(context.under(call_id), "memory_context", asked)
    await sum_hours(service.database, datetime.now(UTC) - timedelta(hours=1))
    return secret


async def opened(service: Service, secret: str) -> tuple[LocalMemex, CallContext]:
    """Return the API as the holder of a key calls it for the user."""
    principal = await authentication.authenticate(service.database, secret)
    return LocalMemex(service, principal, role="admin"), CallContext(user_id=USER, actor="assistant")


def take(browser: Browser, url: str, key: str, shot: Shot) -> bytes:
    """Return a picture of a page, as PNG."""
    context = browser.new_context(base_url=url, color_scheme="light", viewport=WIDE)
    try:
        page = context.new_page()
        sign_in(page, key, shot.user)
        page.goto(shot.address)
        page.wait_for_load_state("networkidle")
        return page.screenshot()
    finally:
        context.close()


def sign_in(page: Page, key: str, user: str = USER) -> None:
    """Sign in as an administrator who looks at the memory of the user."""
    page.goto("/ui")
    page.fill("#key", key)
    page.get_by_role("button", name="Sign in").click()
    page.locator("details.account summary").click()
    page.fill("#as-user-name", user)
    page.locator(".account-menu").get_by_role("button", name="Show").click()
    page.locator(".as-user").wait_for()


if __name__ == "__main__":
    main(sys.argv[1:])
