"""The JSON operations over HTTP: by name the method, the path, and where the arguments go.

The service runs the operations of the same names (`memex.service.operations`). This module imports none of it, so a
command that asks a service starts at once.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal


@dataclass(frozen=True, slots=True)
class Route:
    """The route of an operation, below /v1 and below /v1/admin.

    An argument goes to its place in the path; or else to the query of a GET or DELETE, and of a request whose body
    is JSON lines; or else to the JSON body.

    Attributes:
        method: of HTTP.
        path: as FastAPI has it.
        role: `admin` for an operation that only admins have.
        names: the names of arguments, by their names in the path, where the two differ.
        prefix: what is left out of an argument of the path, where it begins so, such as the folder of a reference.
        query: the arguments that go to the query, and not to the body.
        omits_absent: whether the path lacks the segment of an argument that is absent.
        is_repeatable: whether a request may arrive twice.
        is_long: whether an answer may take half an hour.
        is_identified: whether a client makes a tool call id for a call that has none.
    """

    method: Literal["GET", "POST", "PUT", "DELETE"]
    path: str
    role: Literal["admin"] | None = None
    names: Mapping[str, str] = field(default_factory=dict)
    prefix: str = ""
    query: tuple[str, ...] = ()
    omits_absent: bool = False
    is_repeatable: bool = True
    is_long: bool = False
    is_identified: bool = True


_MEMORY = {
    "memory_blame": Route("GET", "/blame"),
    "memory_browse": Route("GET", "/folders"),
    "memory_catalogue": Route("GET", "/catalogue"),
    "memory_changes": Route("GET", "/changes"),
    "memory_find_explain": Route("POST", "/files:explain-find"),
    "memory_journal": Route("GET", "/journal"),
    "memory_topics": Route("GET", "/topics"),
    "project_init": Route("POST", "/projects"),
    "prompt_block": Route("GET", "/prompt-block"),
    "review_decide": Route("POST", "/review"),
    "review_list": Route("GET", "/review"),
}
_DREAMS = {
    "dream_choose": Route("PUT", "/dreams/choices"),
    "dream_decide": Route("POST", "/dreams/{proposal_id}/decide", is_long=True),
    "dream_list": Route("GET", "/dreams"),
    "dream_report": Route("GET", "/dreams/report"),
    "dream_run": Route("POST", "/dreams", is_long=True),
    "dream_show": Route("GET", "/dreams/{proposal_id}"),
}
_ERASURES = {
    "erasure_verify": Route("POST", "/erasures/verify", is_long=True),
    "memory_erase": Route("POST", "/erasures", is_long=True),
}
_CALLS = {
    "eval_case_draft": Route("POST", "/operations/{tool_call_id:path}/case/draft"),
    "eval_case_keep": Route("POST", "/evals/cases/{tool_call_id:path}", role="admin", is_repeatable=False),
    "memory_operation": Route("GET", "/operations/{tool_call_id:path}"),
    "memory_operations": Route("GET", "/operations"),
    "memory_replay": Route("POST", "/operations/{tool_call_id:path}/replay"),
    "memory_replayable": Route("GET", "/replayable"),
    "memory_revert": Route("POST", "/operations/{tool_call_id:path}/revert"),
    "memory_revert_all": Route("POST", "/operations/revert"),
    "queue_list": Route("GET", "/queue"),
    "queue_retry": Route("POST", "/queue/{tool_call_id:path}/retry", role="admin", is_repeatable=False),
    "queue_retry_all": Route("POST", "/queue/retry", role="admin", is_repeatable=False),
    "seen_calls": Route("GET", "/seen/calls"),
    "seen_revisions": Route("GET", "/seen/revisions"),
}
_DOCUMENTS = {
    "document_find": Route("POST", "/documents/find"),
    "document_finish": Route("POST", "/documents/finish"),
    "document_list": Route("GET", "/documents"),
    "document_manifest": Route("POST", "/documents/manifest", is_long=True),
    "document_put": Route("PUT", "/documents", is_long=True),
    "document_read": Route("GET", "/documents/text"),
    "document_remove": Route("DELETE", "/documents/roots/{root}", is_long=True),
    "document_request_sync": Route("POST", "/documents/sync"),
    "document_roots": Route("GET", "/documents/roots"),
    "document_watch": Route("POST", "/documents/watch"),
}
_CONVERSATIONS = {
    "conversation_backfill": Route("POST", "/conversations/backfill"),
    "conversation_delete": Route("POST", "/conversations/delete"),
    "conversation_distil": Route(
        "POST",
        "/conversations/{conversation_id}/distil",
        names={"conversation_id": "conversation"},
        omits_absent=True,
    ),
    "conversation_find": Route("POST", "/conversations/find"),
    "conversation_list": Route("GET", "/conversations"),
    "conversation_put": Route("POST", "/conversations", is_long=True),
    "conversation_read": Route(
        "GET",
        "/conversations/{conversation_id}",
        names={"conversation_id": "reference"},
        prefix="conversations/",
    ),
    "conversation_sources": Route("GET", "/sources"),
    # A call without an id of its own is not logged.
    "conversation_wanted": Route("POST", "/conversations/wanted", is_identified=False),
    "event_heard": Route("GET", "/events/heard"),
    "event_put": Route("POST", "/events"),
    "evidence_read": Route("GET", "/evidence"),
}
_ITEM = {"item_id": "id"}
_WORK = {
    "work_changes": Route("GET", "/work/changes"),
    "work_check": Route("GET", "/work/check"),
    "work_context": Route("GET", "/work/pack"),
    "work_health": Route("GET", "/work/health"),
    "work_labels": Route("GET", "/work/labels"),
    "work_link": Route("POST", "/work/labels"),
    "work_mark": Route("POST", "/work/items/{item_id}", names=_ITEM),
    "work_policy": Route("POST", "/work/policies"),
    "work_provenance": Route("GET", "/work/items/{item_id}", names=_ITEM),
    "work_read_from": Route("PUT", "/projects/{slug}/reads/{other}", names={"slug": "project"}),
    "work_readings": Route("GET", "/projects/{slug}/reads", names={"slug": "project"}),
    "work_rebuild": Route("POST", "/work/rebuild"),
    "work_repair": Route("POST", "/work/repairs"),
    "work_resolve": Route("POST", "/work/resolve"),
    "work_sessions": Route("GET", "/work/sessions"),
    "work_show": Route("GET", "/work"),
    "work_stop_reading": Route("DELETE", "/projects/{slug}/reads/{other}", names={"slug": "project"}),
}
_TENANT = {
    "erasure_list": Route("GET", "/erasures", role="admin"),
    "health_show": Route("GET", "/health", role="admin"),
    "key_create": Route("POST", "/keys", role="admin", is_repeatable=False),
    "key_list": Route("GET", "/keys", role="admin"),
    "key_revoke": Route("DELETE", "/keys/{key_id}", role="admin"),
    "project_close": Route("DELETE", "/projects/{slug}", role="admin"),
    "project_list": Route("GET", "/projects", role="admin"),
    "project_member_add": Route("PUT", "/projects/{slug}/members/{user:path}", role="admin"),
    "project_member_remove": Route("DELETE", "/projects/{slug}/members/{user:path}", role="admin"),
    "project_open": Route("PUT", "/projects/{slug}", role="admin"),
    "quota_list": Route("GET", "/quotas", role="admin"),
    "quota_set": Route("PUT", "/quotas", role="admin", query=("kind", "name")),
    "secrets_scan": Route("GET", "/secrets/scan", role="admin"),
    "secrets_set": Route("PUT", "/secrets", role="admin"),
    "secrets_show": Route("GET", "/secrets", role="admin"),
    "spending_show": Route("GET", "/spend", role="admin"),
    "user_erase": Route("DELETE", "/users/{user:path}", role="admin", is_long=True),
    "user_list": Route("GET", "/users", role="admin"),
    "user_read": Route("GET", "/users/{user:path}", role="admin"),
}
ROUTES: dict[str, Route] = (
    _MEMORY | _DREAMS | _ERASURES | _CALLS | _DOCUMENTS | _CONVERSATIONS | _WORK | _TENANT
)
