"""Hints for a person at the command line: they name commands and options, and what may have been mistyped.

The service writes its hints for programs and models, which call tools and routes with JSON arguments.
"""

import re
from collections.abc import Callable

from memex.call_context import CallContext
from memex.cli.output import program_name
from memex.cli.session.session import ACTOR, CommandSession
from memex.errors import MemexError, NotFound, ProjectNotFound, WorkItemNotFound

# What to do about an error of a command that acts as the user's agent, where an administrator may do more; by code.
AS_ADMIN_HINTS = {
    "READ_ONLY_MOUNT": "Add --as-admin to write to shared/ as an administrator.",
    "PROJECT_NOT_FOUND": "Create it with `memex projects create SLUG`, add the user with "
    "`memex projects add SLUG USER`, or use --as-admin.",
    "OPERATION_NOT_FOUND": "See the newest calls with `memex log`. Add --as-admin for calls of administrators.",
}
MAX_USERS = 1_000  # that are compared with a mistyped one

# What a hint of the service says, and what a person types instead. `<memex …>` is a command for the session's user.
PHRASES: tuple[tuple[str, str], ...] = (
    (r"\bmemory_(list|find)\b", r"`<memex \1>`"),
    (r"\bmemory_(history|read)\b", r"`<memex \1 PATH>`"),
    (r"GET /v1/\S+ or `memex log`", r"`<memex log>`"),
    (r"GET /v1/\S+ or (`memex [^`]+`)", r"\1"),
    (r"Send context\.userId \(or the header Memex-User\)", "Name the user with --user"),
    (r"Name the user in the context: userId\.", "Name the user with --user."),
    (r"a new tool_call_id for a new request", "another --tool-call-id for another call"),
    (r"Name it as project:", "Name it with --project:"),
    (
        r"Send base_version to replace that version, overwrite: true",
        "Add --base-version to replace it, --overwrite",
    ),
    (r"Name their label as the project:", "Name their label with --project:"),
    (r"Leave dry_run or wait out\.", "Leave out --dry-run or --no-wait."),
    (r"Leave wait out, or send true;", "Leave out --no-wait;"),
    (r"send the text with wait\.", "leave out --no-wait."),
    (r"Send next_cursor of the last answer as it came, or no cursor\.", "Give --cursor as it was printed."),
    (r"The arguments are: [^.]*\.", "Add --help to see the options."),
)


def for_people(hint: str, command: Callable[..., str], path: str = "PATH") -> str:
    """Return a hint in the words of the command line.

    Args:
        hint: as the service gave it.
        command: makes the shell line of a command from its words, as `CommandSession.command` does.
        path: the file that the hint is about.
    """
    for phrase, typed in PHRASES:
        hint = re.sub(phrase, typed, hint)

    def typed_out(found: re.Match[str]) -> str:
        return command(*(path if word == "PATH" else word for word in found[1].split()))

    return re.sub(r"<memex ([^>]+)>", typed_out, hint)


async def mend_hint(session: CommandSession, error: MemexError) -> None:
    """Give an error of the service the words for a person at the command line."""
    if session.role == "agent" and error.code in AS_ADMIN_HINTS and "labels" not in error.details:
        error.hint = _did_you_mean(error.details.get("did_you_mean", [])) + AS_ADMIN_HINTS[error.code]
    error.message = re.sub(r"^memory_[a-z]+: ", "", error.message)
    error.hint = for_people(error.hint, session.command, str(error.details.get("path", "PATH")))
    if isinstance(error, NotFound) and not isinstance(error, (ProjectNotFound, WorkItemNotFound)):
        error.hint = " ".join(filter(None, (await suggest_users(session), error.hint)))


async def suggest_users(session: CommandSession) -> str:
    """Return whom the user of this command may have meant; "" if this user has files, or nobody has.

    Only an administrator learns the names of other users; of more than 1,000 users none is named.
    """
    is_administrator = session.role == "agent" or session.as_admin
    if not is_administrator or session.user is None:
        return ""
    try:
        everyone = CallContext(None, ACTOR, channel="user")
        listed = await session.api.call(everyone, "user_list", {"limit": MAX_USERS})
    except MemexError:
        return ""
    with_files = [user["user"] for user in listed["users"] if user["files"]]
    if session.user in with_files or not with_files or listed["next_cursor"] is not None:
        return ""
    return f"The user {session.user} has no files. {_whom(session.user, with_files)}"


def _whom(user: str, with_files: list[str]) -> str:
    """Return how to name a user who has files."""
    from memex.store.near import near_names

    near = _did_you_mean([f"--user {name}" for name in near_names(user, with_files)])
    return near.rstrip() or f"`{program_name()} users` lists the users who have some."


def _did_you_mean(names: list[str]) -> str:
    from memex.store.near import did_you_mean

    return did_you_mean(names)
