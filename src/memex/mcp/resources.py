"""Files as MCP resources: a virtual path behind `memex://`, each segment percent-encoded."""

from typing import Any
from urllib.parse import quote, unquote

from mcp import types
from memex.errors import InvalidPath

SCHEME = "memex://"
MARKDOWN, PLAIN = "text/markdown", "text/plain"
CONVERSATIONS, WORK = "conversations/", "work/"
HINT = "A file's address is memex:// before its path, such as memex://user/profile.md, percent-encoded."


def _template(
    name: str, title: str, path: str, description: str, mime_type: str = PLAIN
) -> types.ResourceTemplate:
    return types.ResourceTemplate(
        name=name, title=title, uri_template=SCHEME + path, description=description, mime_type=mime_type
    )


TEMPLATES = (
    _template("user", "The user's own notes", "user/{+path}", "A file below user/.", MARKDOWN),
    _template("shared", "Notes shared with everybody", "shared/{+path}", "A file below shared/.", MARKDOWN),
    _template(
        "project",
        "A project's notes",
        "projects/{slug}/{+path}",
        "A file of a project that the user is a member of.",
        MARKDOWN,
    ),
)
CONVERSATION_TEMPLATES = (
    _template(
        "conversation",
        "An imported conversation",
        "conversations/{id}",
        "The first 100 messages of a conversation.",
    ),
    _template(
        "message",
        "A message of an imported conversation",
        "conversations/{id}/{number}",
        "A message with those around it.",
    ),
)
WORK_TEMPLATES = (
    _template(
        "work",
        "Where the work of a project stands",
        "work/{project}",
        "The pack of a project, or of a label of sessions.",
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
