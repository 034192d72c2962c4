"""Every error that Memex raises on purpose, as a tree.

    MemexError
    ├── Refused                       the caller may mend it
    │   ├── InvalidPath               INVALID_PATH
    │   │   ├── UnknownMount          UNKNOWN_MOUNT
    │   │   └── PhysicalPathForbidden PHYSICAL_PATH_FORBIDDEN
    │   ├── Unauthenticated           UNAUTHENTICATED
    │   ├── Forbidden                 FORBIDDEN
    │   │   └── ReadOnlyMount         READ_ONLY_MOUNT
    │   ├── NotFound
    │   │   ├── FileNotFound          FILE_NOT_FOUND
    │   │   ├── VersionNotFound       VERSION_NOT_FOUND
    │   │   ├── ProjectNotFound       PROJECT_NOT_FOUND
    │   │   ├── OperationNotFound     OPERATION_NOT_FOUND
    │   │   └── UnknownTool           UNKNOWN_TOOL
    │   ├── Conflict
    │   │   ├── VersionConflict       VERSION_CONFLICT
    │   │   ├── FileExists            FILE_EXISTS
    │   │   ├── ToolCallConflict      TOOL_CALL_CONFLICT
    │   │   └── ToolCallInProgress    TOOL_CALL_IN_PROGRESS
    │   ├── FileTooLarge              FILE_TOO_LARGE
    │   ├── ValidationFailed          VALIDATION_ERROR
    │   │   ├── PatchNotFound         PATCH_NOT_FOUND
    │   │   ├── PatchAmbiguous        PATCH_AMBIGUOUS
    │   │   ├── BudgetTooSmall        BUDGET_TOO_SMALL
    │   │   └── LimitExceeded         LIMIT_EXCEEDED
    │   └── RateLimited               RATE_LIMITED
    └── Unavailable                   the operator may mend it
        ├── StoreUnavailable          STORE_UNAVAILABLE
        │   └── EmbeddedServerError   STORE_UNAVAILABLE
        ├── SchemaTooNew              SCHEMA_TOO_NEW
        └── ModelUnavailable          MODEL_UNAVAILABLE

Callers match on `code`, never on the message. The message says what happened, the hint what to do next;
`details` holds the values that a program needs, such as `current_version`.
"""

from typing import Any, ClassVar


class MemexError(Exception):
    """An error with a stable `code`, a message for people, a hint, and `details` for programs."""

    code: ClassVar[str] = "INTERNAL"
    default_hint: ClassVar[str] = ""

    def __init__(self, message: str, *, hint: str = "", **details: Any) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint or self.default_hint
        self.details: dict[str, Any] = {name: value for name, value in details.items() if value is not None}


class Refused(MemexError):
    """The request was understood and refused; another request may succeed."""


class InvalidPath(Refused):
    """A path that the gate does not let through; the message names the rule that it breaks."""

    code = "INVALID_PATH"
    default_hint = "Use a virtual path such as user/notes.md, shared/guide.md or projects/apollo/plan.md."


class UnknownMount(InvalidPath):
    """A path whose first segment is no mount."""

    code = "UNKNOWN_MOUNT"


class PhysicalPathForbidden(InvalidPath):
    """A path that tries to name a user or a tenant."""

    code = "PHYSICAL_PATH_FORBIDDEN"
    default_hint = (
        "A path never names a user or tenant: write user/…; the key and the context say whose it is."
    )


class Unauthenticated(Refused):
    """No key, or one that is unknown or revoked."""

    code = "UNAUTHENTICATED"
    default_hint = (
        "Send a valid key as `Authorization: Bearer …`; make one with `memex keys create --role agent`."
    )


class Forbidden(Refused):
    """The key is valid, and this is not for it."""

    code = "FORBIDDEN"
    default_hint = "Use a key that may do this; an admin makes one with `memex keys create`."


class ReadOnlyMount(Forbidden):
    """An agent wrote to a mount that agents only read."""

    code = "READ_ONLY_MOUNT"
    default_hint = "Agents write user/… and the projects they are members of; shared/ is written by admins."


class NotFound(Refused):
    """What was named is not there, or not for this caller."""


class FileNotFound(NotFound):
    """No file stands at the path now."""

    code = "FILE_NOT_FOUND"
    default_hint = "List the files with memory_list, or search with memory_find."


class VersionNotFound(NotFound):
    """The path never had that version."""

    code = "VERSION_NOT_FOUND"
    default_hint = "See the versions with memory_history."


class ProjectNotFound(NotFound):
    """No such project, or the user is not a member of it."""

    code = "PROJECT_NOT_FOUND"
    default_hint = "Use a project that the user is a member of; an admin adds members."


class OperationNotFound(NotFound):
    """No operation of this caller has that tool call id."""

    code = "OPERATION_NOT_FOUND"
    default_hint = "See the newest operations with GET /v1/operations or `memex log`."


class UnknownTool(NotFound):
    """No tool of that name."""

    code = "UNKNOWN_TOOL"
    default_hint = "GET /v1/tools lists the tools."


class Conflict(Refused):
    """The request does not fit what is there now."""


class VersionConflict(Conflict):
    """Someone wrote after the version that the writer read; `details` hold `current_version`."""

    code = "VERSION_CONFLICT"
    default_hint = "Read the file again, apply the change to it, and write with its current version."


class FileExists(Conflict):
    """A file already stands at the path."""

    code = "FILE_EXISTS"
    default_hint = (
        "Send base_version to replace that version, overwrite: true to replace any, or use another path."
    )


class ToolCallConflict(Conflict):
    """The tool call id was used for another request."""

    code = "TOOL_CALL_CONFLICT"
    default_hint = "Use a new tool_call_id for a new request."


class ToolCallInProgress(Conflict):
    """The first call with this id still runs; `details` hold `retry_after_s`."""

    code = "TOOL_CALL_IN_PROGRESS"
    default_hint = "Send the same request again in a moment."


class FileTooLarge(Refused):
    """A file over the limit of bytes."""

    code = "FILE_TOO_LARGE"
    default_hint = "Split the text over several linked files."


class ValidationFailed(Refused):
    """An argument that does not fit; the message says which and why."""

    code = "VALIDATION_ERROR"
    default_hint = "Correct what the message names and send the request again."


class PatchNotFound(ValidationFailed):
    """The text or heading that a patch names does not stand in the file."""

    code = "PATCH_NOT_FOUND"
    default_hint = "Read the file and copy the text or heading exactly."


class PatchAmbiguous(ValidationFailed):
    """The text or heading that a patch names stands there more than once."""

    code = "PATCH_AMBIGUOUS"
    default_hint = "Name a longer piece of text that occurs exactly once."


class BudgetTooSmall(ValidationFailed):
    """A budget below the smallest that can hold an answer."""

    code = "BUDGET_TOO_SMALL"


class LimitExceeded(ValidationFailed):
    """A limit on number or size was reached."""

    code = "LIMIT_EXCEEDED"
    default_hint = "Ask for less at once, or delete what is no longer needed."


class RateLimited(Refused):
    """Too many requests; `details` hold `retry_after_s`."""

    code = "RATE_LIMITED"


class Unavailable(MemexError):
    """Memex cannot answer now, whatever is asked."""


class StoreUnavailable(Unavailable):
    """The database cannot be reached or used."""

    code = "STORE_UNAVAILABLE"
    default_hint = "Run `memex doctor` to see what is wrong."


class EmbeddedServerError(StoreUnavailable):
    """The embedded Postgres cannot start or be used; the hint says how to go on."""


class SchemaTooNew(Unavailable):
    """The database was migrated by a newer Memex than this one."""

    code = "SCHEMA_TOO_NEW"
    default_hint = "Upgrade this Memex; a newer one has already migrated the database."


class ModelUnavailable(Unavailable):
    """A model did not answer, or not with what was asked for; `details` hold the `reason`, without any text."""

    code = "MODEL_UNAVAILABLE"
    default_hint = "It is tried again later; what needs no model goes on without it."


def error_of(code: str, message: str, *, hint: str = "", **details: Any) -> MemexError:
    """Return the error of a code that another process named; an unknown code is kept."""
    kind = _kinds().get(code)
    if kind is not None:
        return kind(message, hint=hint, **details)
    unknown = MemexError(message, hint=hint, **details)
    unknown.code = code  # type: ignore[misc]  # of a newer Memex
    return unknown


def _kinds() -> dict[str, type[MemexError]]:
    """Return the classes by their codes; of two with one code that which is nearer to the root."""
    kinds: dict[str, type[MemexError]] = {}
    level: list[type[MemexError]] = [MemexError]
    while level:
        for kind in level:
            if kind.code != MemexError.code:
                kinds.setdefault(kind.code, kind)
        level = [below for kind in level for below in kind.__subclasses__()]
    return kinds
