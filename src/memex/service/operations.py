"""The functions that run the operations of `memex.routes` in this process, by the same names."""

from collections.abc import Awaitable, Callable
from inspect import signature
from typing import Any

from pydantic import BaseModel

from memex.errors import ValidationFailed
from memex.service.call import Caller
from memex.service.choice import CallerChoice
from memex.service.conversations import operations as conversations
from memex.service.documents import operations as documents
from memex.service.dreams import operations as dreams
from memex.service.erasing.erase import ERASE, VERIFY
from memex.service.evals import case_requests
from memex.service.evals.call_cases import CaseChoice
from memex.service.health.health import read_health
from memex.service.identity import erasures, keys, quotas, users
from memex.service.identity.quotas import QuotaLimits
from memex.service.identity.rate_limits import text_bytes
from memex.service.journal.marking import without_forgotten
from memex.service.journal.reading import READ_JOURNAL
from memex.service.log import exposure, queue
from memex.service.log.blame import BLAME
from memex.service.log.call_list import CallQuery, list_calls, read_attempts
from memex.service.log.replay.counterfactual import ReplayChange
from memex.service.log.replay.requests import ReplayableKind, replay_call, replay_changed, replayable
from memex.service.log.revert_all import REVERT_ALL
from memex.service.operation import RunsOnLines, RunsOperation
from memex.service.projects import administration
from memex.service.projects.init_project import INIT_PROJECT
from memex.service.review.deciding import decide
from memex.service.review.items import ItemDecision
from memex.service.review.waiting import REVIEW
from memex.service.search.changes import CHANGES
from memex.service.search.explanation import explain_search
from memex.service.search.topics import TOPICS
from memex.service.secrets import policies, scan
from memex.service.secrets.policies import SecretPoliciesChange
from memex.service.service import Service
from memex.service.tools.prompt_block import PROMPT_BLOCK
from memex.service.tools.tool import is_storable
from memex.service.vaults.browsing import BROWSE
from memex.service.work import operations as work

Answer = BaseModel | dict[str, Any]


def _named(
    run: Callable[..., Awaitable[Answer]], *, takes_id: bool = False, **chosen: type[CallerChoice]
) -> RunsOperation[Answer]:
    """Return what runs a function that takes the arguments by their names, and the others as a choice."""
    names = signature(run).parameters

    async def named(
        service: Service, caller: Caller, given: dict[str, Any], *, tool_call_id: str | None
    ) -> Answer:
        own = given
        for name, kind in chosen.items():
            own = {argument: given[argument] for argument in given if argument in names}
            own[name] = kind.of(**{argument: given[argument] for argument in given if argument not in names})
        return await run(service, caller, **own, **({"tool_call_id": tool_call_id} if takes_id else {}))

    return named


async def _operation(service: Service, caller: Caller, tool_call_id: str) -> Answer:
    attempts = await read_attempts(service, caller, tool_call_id)
    return {"attempts": [attempt.model_dump(mode="json") for attempt in attempts]}


async def _revert(
    service: Service, caller: Caller, given: dict[str, Any], *, tool_call_id: str | None
) -> Answer:
    return await service.revert(
        caller, given["tool_call_id"], reason=given.get("reason"), tool_call_id=tool_call_id
    )


async def _replayable(
    service: Service, caller: Caller, tool: ReplayableKind = "all", degraded: bool = False, **more: Any
) -> Answer:
    return {"calls": await replayable(service, caller, which=tool, only_degraded=degraded, **more)}


async def _replay(service: Service, caller: Caller, tool_call_id: str, **changes: Any) -> Answer:
    change = ReplayChange.of(**changes)
    if change.named:
        return await replay_changed(service, caller, tool_call_id, change)
    return await replay_call(service, caller, tool_call_id)


async def _catalogue(service: Service, caller: Caller, max_chars: int) -> Answer:
    return {"catalogue": await service.catalogue(caller, max_chars=max_chars)}


async def _decide(
    service: Service, caller: Caller, decisions: list[dict[str, Any]], tool_call_id: str | None
) -> Answer:
    chosen = [ItemDecision(**decision) for decision in decisions]
    return await decide(service, caller, chosen, tool_call_id=tool_call_id)


OPERATIONS: dict[str, RunsOperation[Answer]] = {
    **documents.OPERATIONS,
    **conversations.OPERATIONS,
    **work.OPERATIONS,
    **dreams.OPERATIONS,
    **{operation.name: operation.call for operation in (BLAME, BROWSE, CHANGES, INIT_PROJECT, PROMPT_BLOCK)},
    **{
        operation.name: operation.call
        for operation in (ERASE, READ_JOURNAL, REVERT_ALL, REVIEW, TOPICS, VERIFY)
    },
    "erasure_list": _named(erasures.list_erasures),
    "eval_case_draft": _named(case_requests.draft_case, choice=CaseChoice),
    "eval_case_keep": _named(case_requests.keep_case, choice=CaseChoice),
    "health_show": _named(read_health),
    "key_create": _named(keys.create_key),
    "key_list": _named(keys.list_keys),
    "key_revoke": _named(keys.revoke_key),
    "memory_catalogue": _named(_catalogue),
    "memory_find_explain": explain_search,
    "memory_operation": _named(_operation),
    "memory_operations": _named(list_calls, query=CallQuery),
    "memory_replay": _named(_replay),
    "memory_replayable": _named(_replayable),
    "memory_revert": _revert,
    "project_close": _named(administration.close_project),
    "project_list": _named(administration.list_projects),
    "project_member_add": _named(administration.add_member),
    "project_member_remove": _named(administration.remove_member),
    "project_open": _named(administration.open_project),
    "queue_list": _named(queue.list_queued_calls),
    "queue_retry": _named(queue.retry_call),
    "queue_retry_all": _named(queue.retry_all),
    "quota_list": _named(quotas.list_quotas),
    "quota_set": _named(quotas.set_quota, limits=QuotaLimits),
    "review_decide": _named(_decide, takes_id=True),
    "secrets_scan": _named(scan.scan),
    "secrets_set": _named(policies.set_policies, change=SecretPoliciesChange),
    "secrets_show": _named(policies.show_policies),
    "seen_calls": _named(exposure.calls_that_saw),
    "seen_revisions": _named(exposure.revisions_seen),
    "spending_show": _named(Service.spending),
    "user_erase": _named(erasures.erase_user),
    "user_list": _named(users.list_users),
    "user_read": _named(users.read_user),
}
# Those that take JSON lines besides.
ON_LINES: dict[str, RunsOnLines[Answer]] = documents.ON_LINES | conversations.ON_LINES
# Those that store what they are given: each counts as one write with its bytes. Tools, imports of notes, events
# and distilling count by themselves, as they do not all come through here.
WRITING = frozenset(
    (
        *("conversation_delete", "conversation_put"),
        *("document_manifest", "document_put", "document_remove", "document_watch"),
        *(
            "dream_choose",
            "dream_decide",
            "dream_run",
            "eval_case_keep",
            "memory_revert",
            "memory_revert_all",
            "project_init",
            "review_decide",
        ),
        *("work_link", "work_mark", "work_policy", "work_read_from", "work_rebuild", "work_repair"),
        "work_stop_reading",
    )
)


async def run_operation(
    service: Service,
    caller: Caller,
    name: str,
    given: dict[str, Any],
    lines: bytes | None = None,
    *,
    tool_call_id: str | None,
) -> Answer:
    """Return the result of an operation by its name.

    An absent argument means its default; `lines` are the JSON lines of an operation that takes them.

    Raises:
        RateLimited: the caller wrote too much lately.
        ValidationFailed: the database could not hold an argument.
        MemexError: what the operation raises.
    """
    texts = [value for value in given.values() if isinstance(value, str)]
    if not all(map(is_storable, texts)):
        raise ValidationFailed("An argument holds a NUL character or a lone surrogate.")
    if name in WRITING:
        size_bytes = text_bytes(given) if lines is None else len(lines)
        service.rate_limits.count_write(caller, 1, size_bytes)
    if lines is not None:
        done = await ON_LINES[name](service, caller, given, lines, tool_call_id=tool_call_id)
    else:
        done = await OPERATIONS[name](service, caller, given, tool_call_id=tool_call_id)
    return await without_forgotten(service.database, caller, done, own_id=tool_call_id)
