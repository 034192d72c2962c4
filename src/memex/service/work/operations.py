"""The operations on work."""

from typing import Any

from memex.service.call import Caller
from memex.service.operation import RunsOperation
from memex.service.service import Service
from memex.service.work.asking import CHANGES, CHECK, SHOW
from memex.service.work.deciding import MARK, REBUILD
from memex.service.work.health import HEALTH, POLICY, REPAIR
from memex.service.work.labels import LABELS, LINK
from memex.service.work.packing import PACK
from memex.service.work.provenance import PROVENANCE
from memex.service.work.reading import READ_FROM, READINGS, ReadFromResult
from memex.service.work.sessions import RESOLVE, SESSIONS


async def _stop_reading(
    service: Service, caller: Caller, given: dict[str, Any], *, tool_call_id: str | None = None
) -> ReadFromResult:
    return await READ_FROM.call(service, caller, given | {"remove": True}, tool_call_id=tool_call_id)


OPERATIONS: dict[str, RunsOperation[Any]] = {
    **{
        operation.name: operation.call
        for operation in (CHANGES, CHECK, SHOW, PACK, PROVENANCE, RESOLVE, SESSIONS, REBUILD)
    },
    **{
        operation.name: operation.call
        for operation in (LABELS, LINK, MARK, READ_FROM, READINGS, HEALTH, REPAIR, POLICY)
    },
    "work_stop_reading": _stop_reading,
}
