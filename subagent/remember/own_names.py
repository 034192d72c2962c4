"""The user's own name, by which his letters and likings are told from those of others."""

from memex.subagent.memory_tools import MemoryTools
from memex.subagent.statements.own_names import names_in

PROFILE = "user/profile.md"


async def find_own_names(tools: MemoryTools) -> frozenset[str]:
    """Return the words of the user's name in lower case, as his profile tells it; none if it does not."""
    listed = await tools.list_files(PROFILE, limit=1)
    if not any(file.path == PROFILE for file in listed):
        return frozenset()
    return names_in((await tools.read_file(PROFILE)).content)
