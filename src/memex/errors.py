"""Every error that Memex raises on purpose, as a tree.

    MemexError
    ├── Refused                       another request may succeed
    │   ├── InvalidPath               INVALID_PATH
    │   │   ├── UnknownMount          UNKNOWN_MOUNT
    │   │   └── PhysicalPathForbidden PHYSICAL_PATH_FORBIDDEN
    │   ├── Unauthenticated           UNAUTHENTICATED
    │   ├── Forbidden                 FORBIDDEN
    │   │   ├── AccessChanged         FORBIDDEN
    │   │   └── ReadOnlyMount         READ_ONLY_MOUNT
    │   ├── NotFound
    │   │   ├── FileNotFound          FILE_NOT_FOUND
    │   │   ├── VersionNotFound       VERSION_NOT_FOUND
    │   │   │   └── VersionThinned    VERSION_THINNED
    │   │   ├── ProjectNotFound       PROJECT_NOT_FOUND
    │   │   ├── OperationNotFound     OPERATION_NOT_FOUND
    │   │   ├── ConversationNotFound  CONVERSATION_NOT_FOUND
    │   │   │   └── MessagesErased    MESSAGES_ERASED
    │   │   ├── DocumentNotFound      DOCUMENT_NOT_FOUND
    │   │   ├── LineNotFound          LINE_NOT_FOUND
    │   │   ├── ProposalNotFound      PROPOSAL_NOT_FOUND
    │   │   ├── WorkItemNotFound      WORK_ITEM_NOT_FOUND
    │   │   ├── HandleNotFound        HANDLE_NOT_FOUND
    │   │   └── UnknownTool           UNKNOWN_TOOL
    │   ├── Conflict
    │   │   ├── VersionConflict       VERSION_CONFLICT
    │   │   ├── FileExists            FILE_EXISTS
    │   │   ├── EntryImmutable        ENTRY_IMMUTABLE
    │   │   ├── ToolCallConflict      TOOL_CALL_CONFLICT
    │   │   ├── ToolCallInProgress    TOOL_CALL_IN_PROGRESS
    │   │   ├── ImportInProgress      IMPORT_IN_PROGRESS
    │   │   ├── SyncInProgress        SYNC_IN_PROGRESS
    │   │   ├── SyncSuperseded        SYNC_SUPERSEDED
    │   │   ├── MostlyGone            MOSTLY_GONE
    │   │   ├── ScopeBusy             SCOPE_BUSY
    │   │   ├── UserErased            USER_ERASED
    │   │   │   └── WordsErased       WORDS_ERASED
    │   │   └── PreviewOutdated       PREVIEW_OUTDATED
    │   ├── FileTooLarge              FILE_TOO_LARGE
    │   ├── ValidationFailed          VALIDATION_ERROR
    │   │   ├── InvalidId             INVALID_ID
    │   │   ├── MalformedCursor       VALIDATION_ERROR
    │   │   ├── PatchNotFound         PATCH_NOT_FOUND
    │   │   ├── PatchAmbiguous        PATCH_AMBIGUOUS
    │   │   ├── BudgetTooSmall        BUDGET_TOO_SMALL
    │   │   ├── LimitExceeded         LIMIT_EXCEEDED
    │   │   ├── NothingRead           NOTHING_READ
    │   │   └── SecretRefused         SECRET_REFUSED
    │   ├── QuotaExceeded             QUOTA_EXCEEDED
    │   └── RateLimited               RATE_LIMITED
    └── Unavailable                   the operator must act
        ├── WorkerStartFailed
        ├── StoreUnavailable          STORE_UNAVAILABLE
        │   └── EmbeddedServerError   STORE_UNAVAILABLE
        ├── DiskLow                   DISK_LOW
        ├── Overloaded                OVERLOADED
        ├── SchemaTooNew              SCHEMA_TOO_NEW
        └── ModelUnavailable          MODEL_UNAVAILABLE

Programs compare `code`, never the message. The message says what happened, the hint says what to do next, and
`details` holds the values that a program needs, such as `current_version`.
"""

from typing import Any, ClassVar


class MemexError(Exception):
    """An error of Memex: a stable `code`, a message and a hint for people, and `details` for programs."""

    code: ClassVar[str] = "INTERNAL"
    default_hint: ClassVar[str] = ""

    def __init__(self, message: str, *, hint: str = "", **details: Any) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint or self.default_hint
        self.details: dict[str, Any] = {name: value for name, value in details.items() if value is not None}


class Refused(MemexError):
    """Memex understood the request and refused it; another request may succeed."""


class InvalidPath(Refused):
    """The path is invalid; the message names the rule that it breaks."""

    code = "INVALID_PATH"
    default_hint = "Use a virtual path such as user/notes.md, shared/guide.md or projects/apollo/plan.md."


class UnknownMount(InvalidPath):
    """The path does not begin with a mount: user, shared or projects."""

    code = "UNKNOWN_MOUNT"


class PhysicalPathForbidden(InvalidPath):
    """The path names a user or a tenant, which no path may do."""

    code = "PHYSICAL_PATH_FORBIDDEN"
    default_hint = (
        "A path never names a user or tenant: write user/…; the key and the context say whose it is."
    )


class Unauthenticated(Refused):
    """The request has no key, or its key is unknown or revoked."""

    code = "UNAUTHENTICATED"
    default_hint = (
        "Send a valid key as `Authorization: Bearer …`; make one with `memex keys create --role agent`."
    )


class Forbidden(Refused):
    """The key is valid but does not permit this request."""

    code = "FORBIDDEN"
    default_hint = "Use a key that may do this; an administrator makes one with `memex keys create`."


class AccessChanged(Forbidden):
    """The rights of the caller changed while the call ran; the same call again has the new ones."""

    default_hint = "Send the call again."


class ReadOnlyMount(Forbidden):
    """An agent tried to write to a mount that agents may only read."""

    code = "READ_ONLY_MOUNT"
    default_hint = "Agents write user/… and the projects they are members of; administrators write shared/."


class NotFound(Refused):
    """The thing that the request names does not exist, or this caller may not see it."""


class FileNotFound(NotFound):
    """There is no file at the path now."""

    code = "FILE_NOT_FOUND"
    default_hint = "List the files with memory_list, or search with memory_find."


class VersionNotFound(NotFound):
    """The path has never had this version."""

    code = "VERSION_NOT_FOUND"
    default_hint = "See the versions with memory_history."


class VersionThinned(VersionNotFound):
    """The text of this version is gone, because versions of its age are thinned."""

    code = "VERSION_THINNED"
    default_hint = "Read the last version of that day, which is kept: memory_history lists them."


class ProjectNotFound(NotFound):
    """The project does not exist, or the user is not a member of it."""

    code = "PROJECT_NOT_FOUND"
    default_hint = (
        "Leave the project out, or name one that the user is a member of; an administrator adds members."
    )


class OperationNotFound(NotFound):
    """This caller has no operation with this tool call id."""

    code = "OPERATION_NOT_FOUND"
    default_hint = "See the newest operations with GET /v1/operations or `memex log`."


class ConversationNotFound(NotFound):
    """The user has no conversation with this id, or the conversation has no such message."""

    code = "CONVERSATION_NOT_FOUND"
    default_hint = "See the conversations with GET /v1/conversations or `memex conversations timeline`."


class DocumentNotFound(NotFound):
    """There is no such document, or root of documents, or the caller may not see it."""

    code = "DOCUMENT_NOT_FOUND"
    default_hint = "List documents with GET /v1/documents, and their roots with GET /v1/documents/roots."


class LineNotFound(NotFound):
    """No line with this id was taken out of a file, or it was put back, or the caller may not see it."""

    code = "LINE_NOT_FOUND"
    default_hint = "List the lines that can be put back with memory_removed or `memex removed`."


class ProposalNotFound(NotFound):
    """There is no proposal of a dream with this id in the mounts of the caller."""

    code = "PROPOSAL_NOT_FOUND"
    default_hint = "List the proposals with `memex dream list`."


class WorkItemNotFound(NotFound):
    """The user has no item of work with this id, or the item is over."""

    code = "WORK_ITEM_NOT_FOUND"
    default_hint = "See the ids with GET /v1/projects/{slug}/work or `memex work open`."


class MessagesErased(ConversationNotFound):
    """The messages that a call has read are erased, or are others now."""

    code = "MESSAGES_ERASED"
    default_hint = "What the call wrote is in the history of its files; what it read is gone."


class HandleNotFound(NotFound):
    """None of the handles, which are all that a call names, is that of a statement; `details` holds `handles`."""

    code = "HANDLE_NOT_FOUND"
    default_hint = (
        "Use a handle of `rivals` or `candidates`, as an answer of memory_remember gave it, while the statement "
        "stands as it did; a request to forget in words gives new ones."
    )


class UnknownTool(NotFound):
    """There is no tool with this name."""

    code = "UNKNOWN_TOOL"
    default_hint = "List the tools with GET /v1/tools."


class Conflict(Refused):
    """The request conflicts with the current state."""


class VersionConflict(Conflict):
    """The file has a newer version than the one that the writer read; `details` holds `current_version`."""

    code = "VERSION_CONFLICT"
    default_hint = "Read the file again, apply the change to it, and write with its current version."


class FileExists(Conflict):
    """There is already a file at the path."""

    code = "FILE_EXISTS"
    default_hint = (
        "Send base_version to replace that version, overwrite: true to replace any, or use another path."
    )


class EntryImmutable(Conflict):
    """An entry of the journal is never rewritten or moved, and only memory_remember makes one."""

    code = "ENTRY_IMMUTABLE"
    default_hint = "Remember what is true now, ask memory_remember to forget a part, or delete the entry."


class PlanChanged(Conflict):
    """A dry run showed something else than would be written now; `details` holds `dry_run_id`."""

    code = "PLAN_CHANGED"
    default_hint = "Make the dry run again, look at what it shows now, and write that."


class ToolCallConflict(Conflict):
    """The tool call id was already used for a different request."""

    code = "TOOL_CALL_CONFLICT"
    default_hint = "Use a new tool_call_id for a new request."


class ToolCallInProgress(Conflict):
    """The first call with this id is still running; `details` holds `retry_after_s`."""

    code = "TOOL_CALL_IN_PROGRESS"
    default_hint = "Send the same request again in a moment."


class ImportInProgress(Conflict):
    """Another import of this user is under way; a user has one at a time."""

    code = "IMPORT_IN_PROGRESS"
    default_hint = "Wait until it has ended, or cancel it. Then send the file again."


class SyncInProgress(Conflict):
    """Another client is syncing the same root of documents; `details` holds `retry_after_s`."""

    code = "SYNC_IN_PROGRESS"
    default_hint = "Try again later, or let one client alone push this folder. A root has one sync at a time."


class SyncSuperseded(Conflict):
    """A later sync of the root of documents has begun, or the root is being removed."""

    code = "SYNC_SUPERSEDED"
    default_hint = "Begin a new sync: send the manifest without a number of a sync."


class MostlyGone(Conflict):
    """More than half of the documents of a root would be removed; `details` holds `gone` and `stored`."""

    code = "MOSTLY_GONE"
    default_hint = "Is the folder really as it should be? If so, say that it is meant: `prune`, or `--prune`."


class ScopeBusy(Conflict):
    """Other writes of the same scope did not end in time; `details` holds `retry_after_s`."""

    code = "SCOPE_BUSY"
    default_hint = "Send the same request again in a moment. Nothing of it was written."


class UserErased(Conflict):
    """The user of the call is being erased, or was erased while the call ran.

    `finished_at` in `details` is the time at which the erasure ended; it is missing while the erasure goes on.
    """

    code = "USER_ERASED"
    default_hint = (
        "Nothing of the call was stored. Calls for this user are taken again once the erasure is finished; "
        "`memex users erase` with the same name finishes one that was interrupted."
    )


class WordsErased(UserErased):
    """Words that the call may have read, or have been told, were erased while it ran. Nothing of it is stored."""

    code = "WORDS_ERASED"
    default_hint = "Send the call again if it is still wanted."


class PreviewOutdated(Conflict):
    """What would be erased or undone has changed since the preview, so nothing was."""

    code = "PREVIEW_OUTDATED"
    default_hint = "Look at a new preview, and confirm that one."


class FileTooLarge(Refused):
    """The file is larger than the limit."""

    code = "FILE_TOO_LARGE"
    default_hint = "Split the text over several linked files."


class ValidationFailed(Refused):
    """An argument is invalid; the message says which argument and why."""

    code = "VALIDATION_ERROR"
    default_hint = "Correct what the message names and send the request again."


class InvalidId(ValidationFailed):
    """The id of a new user or project has a character that nobody sees, or is not in Unicode NFC.

    Two ids that look the same would be two memories with the same face.
    """

    code = "INVALID_ID"
    default_hint = "Send the id in Unicode NFC, without invisible characters and changes of direction."


class MalformedCursor(ValidationFailed):
    """The cursor is none that an answer gave."""

    default_hint = "Send next_cursor of the last answer as it came, or no cursor."

    def __init__(self, message: str = "The cursor is malformed.", *, hint: str = "", **details: Any) -> None:
        super().__init__(message, hint=hint, **details | {"reason": "cursor"})


class PatchNotFound(ValidationFailed):
    """The file does not contain the text or heading that the patch names."""

    code = "PATCH_NOT_FOUND"
    default_hint = "Read the file and copy the text or heading exactly."


class PatchAmbiguous(ValidationFailed):
    """The file contains the text or heading that the patch names more than once."""

    code = "PATCH_AMBIGUOUS"
    default_hint = "Name a longer piece of text that occurs exactly once."


class BudgetTooSmall(ValidationFailed):
    """The budget is too small to hold any answer."""

    code = "BUDGET_TOO_SMALL"


class LimitExceeded(ValidationFailed):
    """The request exceeds a limit on number or size."""

    code = "LIMIT_EXCEEDED"
    default_hint = "Ask for less at once, or delete what is no longer needed."


class SecretRefused(ValidationFailed):
    """A text looks like it holds a secret; `details` holds where the `secrets` stand and their kinds."""

    code = "SECRET_REFUSED"
    default_hint = "Take the secret out of the text, and send the rest."


class NothingRead(ValidationFailed):
    """The format of a file is recognised, but the file gives no message; `details` holds its `place`."""

    code = "NOTHING_READ"
    default_hint = "Check that the export is complete; if it is, its format may be newer than this reader."


class QuotaExceeded(Refused):
    """The call would exceed a quota; `details` holds the name of the `quota`, `used` and `limit`."""

    code = "QUOTA_EXCEEDED"


class RateLimited(Refused):
    """A rate limit is reached (`limit` names it), or too many texts of the user wait; see `retry_after_s`."""

    code = "RATE_LIMITED"


class Unavailable(MemexError):
    """Memex cannot answer any request now, or needs a part that is not available."""


class WorkerStartFailed(Unavailable):
    """A worker of the service ended before it took requests, and did not say why."""

    default_hint = "The lines above say why, or the system killed it, for example because memory ran out."


class StoreUnavailable(Unavailable):
    """Memex cannot reach or use the database."""

    code = "STORE_UNAVAILABLE"
    default_hint = (
        "Run `memex doctor` to see what is wrong. If it finds nothing, all connections of the pool may have been "
        "in use: raise MEMEX_MAX_CONNECTIONS."
    )


class EmbeddedServerError(StoreUnavailable):
    """Memex cannot start or use the embedded Postgres; the hint says what to do."""


class DiskLow(Unavailable):
    """The database has too little space left to grow; reading and deleting go on."""

    code = "DISK_LOW"
    default_hint = (
        "Free some space on the disk of the database, or raise MEMEX_MAX_DATABASE_BYTES; `memex doctor` says how "
        "much is left. Reading and deleting go on meanwhile."
    )


class Overloaded(Unavailable):
    """More requests wait than can be answered soon; `details` holds `retry_after_s`."""

    code = "OVERLOADED"
    default_hint = "Send the same request again after the seconds of Retry-After. Nothing of it was done."


class SchemaTooNew(Unavailable):
    """A newer version of Memex has already migrated the database."""

    code = "SCHEMA_TOO_NEW"
    default_hint = "Upgrade Memex here: a newer version has already migrated the database."


class ModelUnavailable(Unavailable):
    """A model gave no usable answer; `details` holds the `reason`, without any text of the model."""

    code = "MODEL_UNAVAILABLE"
    default_hint = "Try again later. Requests that need no model still work."


def error_of(code: str, message: str, *, hint: str = "", **details: Any) -> MemexError:
    """Return the error for a code that another process sent; an unknown code is kept."""
    kind = kinds_by_code().get(code)
    if kind is not None:
        return kind(message, hint=hint, **details)
    unknown = MemexError(message, hint=hint, **details)
    unknown.code = code  # type: ignore[misc]  # sent by a newer version of Memex
    return unknown


def error_document(error: MemexError) -> dict[str, str]:
    """Return what documents tell of an error."""
    return {"code": error.code, "message": error.message, "hint": error.hint}


def kinds_by_code() -> dict[str, type[MemexError]]:
    """Return the error classes by code; if two classes share a code, the one nearer to the root."""
    kinds: dict[str, type[MemexError]] = {}
    level: list[type[MemexError]] = [MemexError]
    while level:
        for kind in level:
            if kind.code != MemexError.code:
                kinds.setdefault(kind.code, kind)
        level = [below for kind in level for below in kind.__subclasses__()]
    return kinds
