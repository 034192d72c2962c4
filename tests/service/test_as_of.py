"""Time travel: every reading tool answers at a moment what it answered then, whatever was changed since."""

import random
import uuid
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memex.errors import Refused
from memex.service.service import Caller, Service
from memex.store import tenants

CallerOf = Callable[..., Awaitable[Caller]]
Answer = dict[str, Any]

NAMES = ["a", "b/a", "b/index", "Tea List", "log/0001", "log/0002", "log/0003"]
PATHS = [f"{mount}/{name}.md" for mount in ("user", "projects/apollo") for name in NAMES] + ["shared/a.md"]
WORDS = ["oolong", "tea", "Apollo", "launches", "launching", "GitHub", "the", "naïve", "検索エンジン", "boat"]
LINKS = [
    "[[a]]",
    "[[tea-list|b]]",
    "[[b/a#Part]]",
    "[x](../a.md)",
    "[[apollo/a]]",
    "[[log/0002]]",
    "[[none]]",
]
QUERIES = ["tea", "oolong tea for Apollo", "launch the boat", "github 検索", "naive"]


def text(chance: random.Random) -> str:
    """Return a random file: front matter, sections, links, now and then a long one."""

    def words(count: int) -> str:
        return " ".join(chance.choices([*WORDS, *LINKS], k=count))

    fields = chance.choice(["", "", "pinned: true\n", "tags: [alpha]\n", "date: 2026-11-20\n"])
    parts = [f"---\n{fields}---\n"] if fields else []
    parts.append(chance.choice(["", f"# {words(2)}\n\n"]))
    parts += (f"{words(chance.choice([3, 12, 12, 300]))}\n\n## Part\n\n" for _ in range(chance.randint(0, 3)))
    return "".join(parts)


async def change(service: Service, callers: Sequence[Caller], chance: random.Random) -> None:
    """Do one random write, patch, move, deletion or restore; a refusal changes nothing."""
    path, to = chance.choice(PATHS), chance.choice(PATHS)
    caller = callers[1] if "shared" in path + to else chance.choice(callers)
    tool, arguments = chance.choice(
        [
            ("write", {"content": text(chance), "overwrite": True}),
            ("write", {"content": text(chance), "overwrite": True}),
            ("patch", {"operation": "append", "text": text(chance) or "x"}),
            ("move", {"to": to}),
            ("delete", {}),
            ("restore", {"version": chance.randint(1, 4)}),
        ]
    )
    try:
        await service.execute(caller, f"memory_{tool}", {"path": path, **arguments})
    except Refused:
        return


async def ask(service: Service, caller: Caller, **moment: Any) -> list[Answer]:
    """Return what every reading tool answers; errors by their codes."""
    calls: list[tuple[str, Answer]] = [
        ("memory_list", {}),
        ("memory_list", {"prefix": "user/b", "limit": 1}),
        *(("memory_read", {"path": path}) for path in PATHS),
        *(("memory_links", {"path": path, "depth": 2}) for path in PATHS),
        *(("memory_find", {"query": query, "limit": limit}) for query in QUERIES for limit in (1, 20)),
        ("memory_find", {"query": "tea boat", "prefix": "user/b"}),
        ("memory_find", {"query": "tea boat", "tags": ["Alpha"]}),
        ("memory_find", {"query": "tea boat", "project": "apollo"}),
        *(("memory_context", {"query": query, "max_hops": 2}) for query in QUERIES),
        ("memory_context", {"query": "oolong Apollo", "budget": 700}),
    ]
    answers = []
    for tool, arguments in calls:
        try:
            answer = await service.execute(caller, tool, arguments | moment)
        except Refused as error:
            answer = {"code": error.code}
        answer.pop("tool_call_id", None)
        answers.append({"tool": tool} | arguments | answer)
    return answers


async def members(service: Service, caller_of: CallerOf, user: str) -> list[Caller]:
    """Return an agent of a user and an admin, both of the project apollo, in a tenant of their own."""
    tenant = f"tenant-{user}"
    admin = await caller_of(user, role="admin", tenant=tenant)
    await service.administer(admin, "open", {}, partial(tenants.open_project, slug="apollo"))
    add = partial(tenants.add_member, slug="apollo", user_id=user)
    await service.administer(admin, "add", {}, add)
    return [await caller_of(user, role=role, tenant=tenant) for role in ("agent", "admin")]


async def state_of(service: Service, caller: Caller) -> dict[str, int]:
    """Return the state that memory is in."""
    answer = await service.execute(caller, "memory_context", {"query": "x"})
    state: dict[str, int] = answer["state"]
    return state


@given(seed=st.integers(0, 2**32))
@settings(max_examples=4, deadline=None, suppress_health_check=list(HealthCheck), database=None)
async def test_every_answer_is_given_again(service: Service, caller_of: CallerOf, seed: int) -> None:
    """List, read, links, find and context, byte for byte, by the state of then; the history between is random."""
    chance = random.Random(seed)
    callers = await members(service, caller_of, uuid.uuid4().hex)
    given_then = []
    for steps in (0, 1, 3, 12, 25, 5):
        for _ in range(steps):
            await change(service, callers, chance)
        state = await state_of(service, callers[0])
        given_then.append((state, await ask(service, callers[0])))
    for state, answers in given_then:
        again = await ask(service, callers[0], as_of=state)

        assert again == answers
