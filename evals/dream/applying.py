"""Dirt in the memory of a running service, and dreams until nothing more is proposed: all of it is applied."""

import asyncio
import re
from collections import Counter

from memex.api.dreams import Dreams
from memex.api.memex import UserMemory
from memex.errors import Overloaded
from memex.service.dreams.results import DreamResult

MAX_DREAMS = 100
PATIENCE = 10  # tries of one dream on a machine that has too much to do
SAID_AGAIN = "user/notes-9.md"
EACH = 5  # of the statements of a memory, one in so many is said twice
_STAMPED = re.compile(r"^- (?:\[.\] )?\S.*\(\d{4}-\d\d-\d\d\).*$", re.MULTILINE)


async def say_twice(memory: UserMemory) -> None:
    """Write some statements of a memory once more, word for word and with their day, into another page."""
    said: list[str] = []
    for file in (await memory.list("user/")).files:
        said += _STAMPED.findall((await memory.read(file.path)).content)
    again = "\n".join(said[::EACH])
    await memory.write(SAID_AGAIN, f"# Notes\n\n## Notes\n\n{again}\n")


async def dream_until_none(dreams: Dreams) -> Counter[str]:
    """Apply what dreams propose until nothing more comes; return how many groups were applied by kind, or held."""
    done: Counter[str] = Counter()
    for _ in range(MAX_DREAMS):
        proposal = (await _run(dreams)).proposal
        if proposal is None:
            break
        decided = await dreams.decide(proposal.proposal_id, "apply")
        kinds = {group.group: group.kind for group in proposal.groups}
        applied = [kinds[group.group] for group in decided.groups if group.state == "applied"]
        done.update(applied)
        if not applied:
            done.update(f"held: {group.kind}" for group in proposal.groups if group.state == "held")
            break
    return done


async def _run(dreams: Dreams) -> DreamResult:
    """Dream, and once more where the machine had so much to do that the dream did not end in its time."""
    for _ in range(PATIENCE - 1):
        try:
            return await dreams.run("user")
        except Overloaded:
            await asyncio.sleep(60.0)
    return await dreams.run("user")
