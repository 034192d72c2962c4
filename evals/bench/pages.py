"""The time that the service works for each page of the web UI, and the bytes that a browser loads for it."""

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, nullcontext
from dataclasses import dataclass, field

import httpx2
from rich.table import Table

from memex.evals.bench.felt.measuring import quantiles
from memex.evals.bench.tools import Clock
from memex.evals.bench.workbench import Bench, console
from memex.http.app import create_app
from memex.store.identity import sessions
from memex.store.identity.authentication import Principal
from memex.ui.security import COOKIE

FILES = 10_000
CALLS_A_ROUND = 20
USER = "pages"
SHOWN = 100  # the number of the file that is shown: five sections and twenty links
FILE = f"user/notes/{SHOWN:06}.md"
HOST = "http://127.0.0.1"
LINK = re.compile(r'(?:href|src)="(/ui/static/[^"]+)"')
AIM_FIRST_PAGE_KB, AIM_SCRIPTS_KB = 120, 60
AIM_CALLS_MS = 60


@dataclass(frozen=True, slots=True)
class MeasuredPage:
    """A page that is measured.

    Attributes:
        label: what it is called in the table.
        path: its address; `{query}` stands for words that some file has.
        aim_ms: how long the service may work for it; None without an aim.
    """

    label: str
    path: str
    aim_ms: int | None = None


PAGES = (
    MeasuredPage("memory, the list", "/ui/memory", 60),
    MeasuredPage("memory, a folder", "/ui/memory?folder=user/notes/", 60),
    MeasuredPage("a file", f"/ui/memory/file?path={FILE}", 40),
    MeasuredPage("versions of a file", f"/ui/memory/versions?path={FILE}"),
    MeasuredPage("who wrote a file", f"/ui/memory/blame?path={FILE}"),
    MeasuredPage("search", "/ui/search?query={query}"),
    MeasuredPage("review", "/ui/review"),
    MeasuredPage("people", "/ui/people"),
    MeasuredPage("health", "/ui/health"),
)


@dataclass(slots=True)
class PageFigures:
    """The times of one page, a sample a request, in milliseconds; and its bytes."""

    wall_ms: list[float] = field(default_factory=list)
    python_ms: list[float] = field(default_factory=list)
    backend_ms: list[float] = field(default_factory=list)
    size_bytes: int = 0

    def row(self, page: MeasuredPage) -> list[str]:
        """Return a row of the table."""
        wall = [f"{ms:.1f}" for ms in quantiles(self.wall_ms)]
        cpu = [f"{quantiles(samples)[0]:.1f}" for samples in (self.python_ms, self.backend_ms)]
        aim = "–" if page.aim_ms is None else str(page.aim_ms)
        return [page.label, *wall, *cpu, aim, f"{self.size_bytes / 1_000:.1f}"]


@dataclass(frozen=True, slots=True)
class FirstLoad:
    """The bytes that a browser with an empty cache loads: the first page, its style, scripts and icon.

    Attributes:
        total_bytes: all of it; style, scripts and icon as they are sent, compressed.
        script_bytes: the scripts of it.
    """

    total_bytes: int
    script_bytes: int


async def bench_pages(bench: Bench, *, rounds: int, files: int = FILES) -> None:
    """Measure each page over a memory of many files, and what a browser loads for the first one."""
    figures, load = await measure_pages(bench, rounds=rounds, files=files)
    table = new_table(f"pages of the web UI, {files:,} files")
    for page, found in figures.items():
        table.add_row(*found.row(page))
    console.print(table)
    console.print(
        f"first page with everything: {load.total_bytes / 1_000:.1f} KB (aim {AIM_FIRST_PAGE_KB}), "
        f"scripts {load.script_bytes / 1_000:.1f} KB compressed (aim {AIM_SCRIPTS_KB})\n"
    )


async def measure_pages(
    bench: Bench, *, rounds: int, files: int, calls: int = CALLS_A_ROUND
) -> tuple[dict[MeasuredPage, PageFigures], FirstLoad]:
    """Fill a memory, and ask for each page `calls` times in each round."""
    written = [bench.text.file(sections=1) for _ in range(files)]
    links = "\n".join(f"- [[notes/{number:06}]]" for number in range(20))
    written[SHOWN] = f"{bench.text.file()}\n{links}\n"
    caller = await bench.caller(USER)
    await bench.fill(caller, written)
    await bench.merge(caller)
    await bench.vacuum()
    figures = {page: PageFigures() for page in PAGES}
    async with signed_in(bench, USER) as client:
        for _ in range(rounds):
            for page, found in figures.items():  # in turns, so that noise meets all alike
                addresses = [page.path.format(query=bench.text.query(written)) for _ in range(calls)]
                await measure_page(bench, client, addresses, found)
        return figures, await _first_load(client)


async def measure_page(
    bench: Bench, client: httpx2.AsyncClient, addresses: list[str], figures: PageFigures
) -> None:
    """Ask for pages, and add what each took."""
    clock = Clock(bench.backend_pid)
    for address in addresses:
        clock.lap()
        response = await client.get(address)
        wall_ms, python_ms, backend_ms = clock.lap()
        response.raise_for_status()
        figures.wall_ms.append(wall_ms)
        figures.python_ms.append(python_ms)
        figures.backend_ms.append(backend_ms)
        figures.size_bytes = max(figures.size_bytes, len(response.content))


async def _first_load(client: httpx2.AsyncClient) -> FirstLoad:
    page = await client.get("/ui/memory")
    loaded = {name: await _sent_bytes(client, name) for name in dict.fromkeys(LINK.findall(page.text))}
    return FirstLoad(
        total_bytes=len(page.content) + sum(loaded.values()),
        script_bytes=sum(size for name, size in loaded.items() if name.endswith(".js")),
    )


async def _sent_bytes(client: httpx2.AsyncClient, address: str) -> int:
    """Return the bytes of a file as they are sent, compressed."""
    response = await client.get(address)
    response.raise_for_status()
    return int(response.headers["content-length"])


@asynccontextmanager
async def signed_in(bench: Bench, user: str | None) -> AsyncIterator[httpx2.AsyncClient]:
    """Give a browser that is signed in as an administrator who looks at a user's memory, or at nobody's."""
    admin = Principal(bench.tenant_id, "admin")
    secret = await sessions.open_session(bench.service.database, admin, user)
    app = create_app(lambda: nullcontext(bench.service))
    async with (
        app.router.lifespan_context(app),
        httpx2.AsyncClient(
            transport=httpx2.ASGITransport(app), base_url=HOST, cookies={COOKIE: secret}
        ) as client,
    ):
        yield client


def new_table(title: str) -> Table:
    """Return an empty table of pages."""
    table = Table(title=title, title_justify="left")
    table.add_column("")
    for name in ("wall p50 ms", "wall p95", "Python CPU p50", "backend CPU p50", "aim p50", "page KB"):
        table.add_column(name, justify="right")
    return table
