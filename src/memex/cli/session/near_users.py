"""Users who have files, for a person who may have mistyped one."""

from memex.call_context import CallContext
from memex.cli.output import program_name
from memex.cli.session.session import ACTOR, CommandSession
from memex.errors import MemexError
from memex.store.near import did_you_mean, near_names

MAX_USERS = 1_000  # that are compared with a mistyped one


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
    near = did_you_mean([f"--user {name}" for name in near_names(session.user, with_files)])
    whom = near.rstrip() or f"`{program_name()} users` lists the users who have some."
    return f"The user {session.user} has no files. {whom}"
