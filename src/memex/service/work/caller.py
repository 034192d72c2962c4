"""The caller of a call that notes something beside conversations."""

from memex.service.call import Caller
from memex.service.service import Service


async def with_conversations(service: Service, caller: Caller) -> Caller:
    """Return the caller with a scope of conversations, which is made if there is none yet."""
    return Caller(caller.principal, await service.identities.open_conversations(caller))
