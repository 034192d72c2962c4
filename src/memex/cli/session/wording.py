"""Advice about an error for a person at the command line, by the error's code and data.

The hints of the service are for programs and models, which call tools and routes with JSON arguments. They stay
where no words stand here.
"""

from collections.abc import Callable, Mapping
from typing import Any

from memex.cli.session.near_users import suggest_users
from memex.cli.session.session import CommandSession
from memex.errors import MemexError, NotFound, ProjectNotFound, WorkItemNotFound
from memex.store.near import did_you_mean

Case = tuple[str, str | None]  # the code of an error, and the `reason` in its details
Words = Callable[[CommandSession, Mapping[str, Any]], str]

# Where a command acts as the user's agent, and an administrator may do more.
AS_ADMIN: dict[Case, str] = {
    ("READ_ONLY_MOUNT", None): "Add --as-admin to write to shared/ as an administrator.",
    ("PROJECT_NOT_FOUND", None): (
        "Create it with `memex projects create SLUG`, add the user with `memex projects add SLUG USER`, or use "
        "--as-admin."
    ),
    ("OPERATION_NOT_FOUND", None): (
        "See the newest calls with `memex log`. Add --as-admin for calls of administrators."
    ),
}
WORDS: dict[Case, str | Words] = {
    ("FILE_NOT_FOUND", None): lambda session, _: (
        f"List the files with `{session.command('list')}`, or search with `{session.command('find')}`."
    ),
    ("VERSION_NOT_FOUND", None): lambda session, details: (
        f"See the versions with `{session.command('history', details.get('path', 'PATH'))}`."
    ),
    ("OPERATION_NOT_FOUND", None): lambda session, _: (
        f"See the newest calls with `{session.command('log')}`."
    ),
    ("OPERATION_NOT_FOUND", "not_given_up"): "See those that were with `memex service queue list`.",
    ("CONVERSATION_NOT_FOUND", None): lambda session, _: (
        f"See the conversations with `{session.command('conversations', 'timeline')}`."
    ),
    ("CONVERSATION_NOT_FOUND", "message"): lambda session, details: (
        f"See its messages with `{session.command('conversations', 'thread', details['conversation'])}`."
    ),
    ("DOCUMENT_NOT_FOUND", None): lambda session, _: (
        f"See what was pushed with `{session.command('docs', 'status')}`."
    ),
    ("LINE_NOT_FOUND", None): lambda session, _: (
        f"List the lines that can be put back with `{session.command('removed')}`."
    ),
    ("WORK_ITEM_NOT_FOUND", None): lambda session, _: (
        f"See the ids with `{session.command('work', 'open')}`."
    ),
    ("PROJECT_NOT_FOUND", "tenant"): "List the projects with `memex projects list`.",
    ("PROJECT_NOT_FOUND", "label"): lambda _, details: (
        f"Name their label with --project: {', '.join(details['labels'])}. To make them part of a project: "
        "`memex work link LABEL SLUG`."
    ),
    ("FILE_EXISTS", None): (
        "Add --base-version to replace it, --overwrite to replace any, or use another path."
    ),
    ("TOOL_CALL_CONFLICT", None): "Use another --tool-call-id for another call.",
    ("RATE_LIMITED", "queue_full"): "Wait until some are done, or leave out --no-wait.",
    ("VALIDATION_ERROR", "arguments"): "Add --help to see the options.",
    ("VALIDATION_ERROR", "cursor"): "Give --cursor as it was printed.",
    ("VALIDATION_ERROR", "dry_run_queued"): "Leave out --dry-run or --no-wait.",
    ("VALIDATION_ERROR", "no_queue"): "Leave out --no-wait; `memex doctor` says what a queue needs.",
    ("VALIDATION_ERROR", "no_user"): "Name the user with --user, or use a key that is bound to a user.",
    ("VALIDATION_ERROR", "project_not_searched"): (
        "Name it with --project: a search without one covers the user's first 20 projects."
    ),
}


async def put_in_words(session: CommandSession, error: MemexError) -> None:
    """Give an error the words of the command line, where it has some, and name a user who may have been meant."""
    case = (error.code, error.details.get("reason"))
    words = (AS_ADMIN.get(case) if session.role == "agent" else None) or WORDS.get(case)
    if words is not None:
        hint = words if isinstance(words, str) else words(session, error.details)
        error.hint = did_you_mean(error.details.get("did_you_mean", [])) + hint
    error.message = error.message.removeprefix(f"{error.details.get('tool')}: ")
    if isinstance(error, NotFound) and not isinstance(error, (ProjectNotFound, WorkItemNotFound)):
        error.hint = " ".join(filter(None, (await suggest_users(session), error.hint)))
