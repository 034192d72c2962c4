"""The state of a mount, as a dream reads it: in two short transactions, with the work on texts between them."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime

from memex.service.service import Service
from memex.store import links
from memex.store.access import Access
from memex.store.dreams.reading import read_known, read_mount, read_moved, read_past
from memex.store.paths import parse
from memex.store.search.analyzer import analyzer_of
from memex.store.text_pool import offload
from memex.subagent.dream.pages import ALL, DreamPage, MountState, UnfiledEntry
from memex.subagent.dream.rules import DreamPlan, Refused, plan_by_rules
from memex.subagent.dream.signals import DONE_LONG, Signal, find_signals, unresolved
from memex.subagent.dream.verify import verify

WORK = 8  # how many times longer a dream works on a text than a call that reads it


async def read_state(
    service: Service, access: Access, mount: str, now: datetime, since: int = ALL
) -> MountState:
    """Return a mount as it stands, of which signals count that came after the change `since`.

    Raises:
        ProjectNotFound, ValidationFailed: the caller reads no such mount.
    """
    scope = access.scope_at(mount)
    async with service.database.transaction(access, snapshot=True) as connection:
        stored = await read_mount(connection, access, scope)
    pages = {
        path: DreamPage(path, page["version"], page["content"], page["file_id"], page["changed"])
        for page in stored.pages
        if (path := scope.virtual(page["path"]))
    }
    entries = [
        UnfiledEntry(scope.virtual(entry["path"]), entry["version"], entry["content"], entry["said_at"])
        for entry in stored.entries
    ]
    state = MountState(
        mount,
        stored.rev,
        pages,
        now.date(),
        since,
        entries=entries,
        tombstones=stored.tombstones,
        past_lines=stored.past_lines,
    )
    keys = sorted(await offload.run(_chars(state), unresolved_keys, pages))
    ticked = {page.file_id: path for path, page in pages.items() if "[x]" in page.text.casefold()}
    async with service.database.transaction(access, snapshot=True) as connection:
        known = await read_known(connection, access, scope, keys) if keys else set()
        moved = await read_moved(connection, scope, keys) if keys else {}
        past = await read_past(connection, scope, list(ticked), now - DONE_LONG) if ticked else {}
    for file_id, text in past.items():
        path = ticked[file_id]
        done = frozenset(line for line in text.splitlines() if "[x]" in line.casefold())
        pages[path] = replace(pages[path], done_before=done)
    return replace(state, known_keys=frozenset(known), moved=moved)


def unresolved_keys(pages: Mapping[str, DreamPage]) -> set[str]:
    """Return the keys of links that lead to no page of these."""
    keys: set[str] = set()
    for path in pages:
        keys |= {*links.path_keys(parse(path).relative), links.key(path)}
    return {key for page in pages.values() for link in unresolved(page, keys) for key in link.targets}


async def signals_of(state: MountState, language: str) -> list[Signal]:
    """Return what may be tidied in a mount."""
    return await offload.run(_chars(state), _signals, state, language)


async def plan_of(state: MountState, refused: Refused, language: str) -> tuple[list[Signal], DreamPlan]:
    """Return what may be tidied, and what the rules make of it, which code has proved to lose nothing.

    Raises:
        UnsafeEdits: it would lose or change something.
    """
    return await offload.run(_chars(state), _plan, state, refused, language)


def _chars(state: MountState) -> int:
    texts = [*(page.text for page in state.pages.values()), *state.past_lines]
    return WORK * sum(map(len, texts))


def _signals(state: MountState, language: str) -> list[Signal]:
    return find_signals(state, analyzer_of(language))


def _plan(state: MountState, refused: Refused, language: str) -> tuple[list[Signal], DreamPlan]:
    signals = _signals(state, language)
    plan = plan_by_rules(state, signals, refused)
    verify(state, plan.groups)
    return signals, plan
