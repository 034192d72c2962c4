"""The pack for a session whose client sends hooks over HTTP: that of its folder, as `memex-hook` gives it."""

from memex.errors import MemexError
from memex.hook.packs import introduced
from memex.service.call import Caller
from memex.service.service import Service
from memex.service.work import packing


async def context_of(service: Service, caller: Caller, cwd: str) -> str:
    """Return the pack of a folder, and before it where it is from, in at most 9,000 bytes; "" if there is none."""
    if not cwd:
        return ""
    try:
        pack = await packing.PACK.call(service, caller, {"cwd": cwd})
    except MemexError:  # such as no project: the event is stored all the same
        return ""
    return introduced(pack.text)
