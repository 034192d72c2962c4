"""Files as MCP resources: a virtual path behind `memex://`, each segment percent-encoded."""

from typing import Any
from urllib.parse import quote, unquote

from mcp import types
from memex.errors import InvalidPath

SCHEME = "memex://"
MARKDOWN, PLAIN = "text/markdown", "text/plain"
CONVERSATIONS, WORK = "conversations/", "work/"
HINT = "A file's address is memex:// before its path, such as memex://user/profile.md, percent-encoded."

TEMPLATES = (
    types.ResourceTemplate(
        name="user",
        title="The user's own notes",
        uri_template="memex://user/{+path}",
        description="A file below user/.",
        mime_type=MARKDOWN,
    ),
    types.ResourceTemplate(
        name="shared",
        title="Notes shared with everybody",
        uri_template="memex://shared/{+path}",
        description="A file below shared/.",
        mime_type=MARKDOWN,
    ),
    types.ResourceTemplate(
        name="project",
        title="A project's notes",
        uri_template="memex://projects/{slug}/{+path}",
        description="A file of a project that the user is a member of.",
        mime_type=MARKDOWN,
    ),
)
CONVERSATION_TEMPLATES = (
    types.ResourceTemplate(
        name="conversation",
        title="An imported conversation",
        uri_template="memex://conversations/{id}",
        description="The first 100 messages of a conversation.",
        mime_type=PLAIN,
    ),
    types.ResourceTemplate(
        name="message",
        title="A message of an imported conversation",
        uri_template="memex://conversations/{id}/{number}",
        description="A message with those around it.",
        mime_type=PLAIN,
    ),
)
WORK_TEMPLATES = (
    types.ResourceTemplate(
        name="work",
        title="Where the work of a project stands",
        uri_template="memex://work/{project}",
        description="The pack of a project, or of a label of sessions.",
        mime_type=PLAIN,
    ),
)


def uri_of(path: str) -> str:
    """Return the address of a virtual path: `memex://user/caf%C3%A9.md`."""
    return SCHEME + "/".join(quote(segment, safe="") for segment in path.split("/"))


def path_of(uri: str) -> str:
    """Return the path that an address names, decoded once; the service checks whether it is one.

    Raises:
        InvalidPath: the address is none of ours.
    """
    path = uri.removeprefix(SCHEME)
    if path == uri:
        raise InvalidPath(f"{uri[:100]!r} is no address of a file here.", hint=HINT)
    if "?" in path or "#" in path:
        raise InvalidPath("The address has a query or a fragment.", hint=HINT)
    try:
        return unquote(path, errors="strict")
    except UnicodeDecodeError:
        raise InvalidPath("The address is not UTF-8.", hint=HINT) from None


def to_resource(file: dict[str, Any]) -> types.Resource:
    """Return a file of `memory_list` as a resource."""
    return types.Resource(
        uri=uri_of(file["path"]),
        name=file["path"],
        title=file["title"],
        mime_type=MARKDOWN,
        annotations=types.Annotations(last_modified=file["updated_at"]),
    )
