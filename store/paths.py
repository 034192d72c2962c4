r"""The one gate for virtual paths and ids. Pure.

A virtual path is `user/…`, `shared/…` or `projects/<slug>/…`. It never names a tenant or a user, so there is
nothing in it to forge. The gate brings its input to Unicode NFC first, then judges and returns that form: two
spellings of one text are one path. It decodes nothing: `%2e%2e` is an ordinary name. Case is kept.

Refused anywhere are backslashes, control characters, lone surrogates, line and paragraph separators,
bidirectional controls, and every character that shows as nothing. The last are Unicode's
Default_Ignorable_Code_Point and the interlinear annotation marks: soft hyphen, zero-width space and joiners,
U+FEFF, Hangul fillers, variation selectors, tags. So the joiner of compound emoji is refused too, and the
selector that colours a plain symbol: two paths that look the same must not be two files. New files have no empty
Braille pattern either, and lie in no folder of version control; those that an earlier version stored at such a
path can be read, moved and deleted.
"""

import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from memex.errors import InvalidId, InvalidPath, PhysicalPathForbidden, UnknownMount, ValidationFailed
from memex.store.near import did_you_mean, near_names

Mount = Literal["user", "shared", "project"]

EMPTY_BRAILLE = "\u2800"
MAX_PATH_CHARS = 512
MAX_DOCUMENT_PATH_CHARS = 1_000
MAX_SEGMENTS = 16
MAX_ID_CHARS = 200

_MOUNTS: dict[str, Mount] = {"user": "user", "shared": "shared", "projects": "project"}

_TURNS = r"\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"
_NOTHING = (
    r"\u00ad\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200d\u2060-\u2065\u206a-\u206f\u3164"
    r"\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
UNSEEN = _TURNS + _NOTHING  # for a set of characters in a pattern: what nobody sees in a text
FORBIDDEN = re.compile(  # in a path; the name of the group says what it is
    r"(?P<backslash>\\)"
    r"|(?P<control_character>[\x00-\x1f\x7f-\x9f])"
    r"|(?P<lone_surrogate>[\ud800-\udfff])"
    r"|(?P<line_separator>[\u2028\u2029])"
    rf"|(?P<bidirectional_control>[{_TURNS}])"
    rf"|(?P<character_that_shows_as_nothing>[{_NOTHING}\u2800])"
)
# A folder of version control holds addresses and keys, and settings that run programs. Windows finds one by
# its short name, with dots and spaces behind it, and with a stream: `GIT~1`, `.git. `, `.git::$INDEX_ALLOCATION`.
_HISTORY = re.compile(r"(?:\.(?:git|hg|svn|jj)|(?:git|hg|svn|jj)~[0-9]+)[. ]*(?::.*)?", re.IGNORECASE)
_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff\u2028\u2029]")


@dataclass(frozen=True, slots=True)
class VirtualPath:
    """A file's path behind the gate: `relative` stands under the mount, or under the project's slug."""

    mount: Mount
    project: str | None
    relative: str

    def __str__(self) -> str:
        return f"{self.mount_name}/{self.relative}"

    @property
    def mount_name(self) -> str:
        """The virtual name of its mount: `user`, `shared` or `projects/<slug>`."""
        return self.mount if self.project is None else f"projects/{self.project}"

    @property
    def name(self) -> str:
        """Its last segment, the file name."""
        return self.relative.rpartition("/")[2]


@dataclass(frozen=True, slots=True)
class Prefix:
    """The limit of a listing: paths of the mount and project that begin with `relative` there.

    `mount` None is everything; mount `project` with `project` None is every project. `relative` is a literal
    beginning of a string, not a folder: `no` matches `notes.md` and `now/plan.md`.
    """

    mount: Mount | None
    project: str | None
    relative: str


@lru_cache(maxsize=4_096)  # one call of a tool parses the same paths several times
def parse(path: str) -> VirtualPath:
    """Return the virtual path of a file, in NFC.

    Raises:
        PhysicalPathForbidden: it begins with `users/` or `tenants/`.
        UnknownMount: its first segment is no mount.
        InvalidPath: it breaks another rule; the message names the rule.
    """
    mount, segments = _split(path)
    for segment in segments:
        _check_segment(segment)
    if mount == "project":
        if len(segments) < 2:
            raise InvalidPath("The path names no file: write projects/<slug>/<file>.")
        return VirtualPath(mount, segments[0], "/".join(segments[1:]))
    if not segments:
        raise InvalidPath(f"The path names a mount, not a file: write {mount}/<file>.")
    return VirtualPath(mount, None, "/".join(segments))


def parse_new(path: str) -> VirtualPath:
    """Return the virtual path of a file that may be made, under the rules of `parse` and those for new files.

    Raises:
        InvalidPath: also if it leads into a folder of version control, or holds an empty Braille pattern.
    """
    parsed = parse(path)
    if EMPTY_BRAILLE in path:
        raise InvalidPath(f"The path holds a character that shows as nothing ({code_point(EMPTY_BRAILLE)}).")
    for segment in path.split("/"):
        if is_history(segment):
            raise InvalidPath(f"The segment '{segment}' is a folder of version control on some system.")
    return parsed


def parse_prefix(prefix: str) -> Prefix:
    """Return what `prefix` limits a listing to, under the rules of `parse`; its last segment may be partial.

    `""` is everything. A mount or project stands for all that is in it, with or without a slash at its end:
    `user`, `projects`, `projects/apollo`. Below that a prefix is a literal beginning, so its last segment may
    be empty or end with a space or dot; `.` and `..` are refused there too.

    Raises:
        PhysicalPathForbidden: it begins with `users` or `tenants`.
        UnknownMount: its first segment is no mount.
        InvalidPath: it breaks another rule; the message names the rule.
    """
    if prefix == "":
        return Prefix(None, None, "")
    mount, segments = _split(prefix)
    project = None
    if mount == "project" and segments not in ([], [""]):
        project, *segments = segments
        _check_segment(project)
    for segment in segments[:-1]:
        _check_segment(segment)
    for segment in segments[-1:]:
        _check_beginning(segment)
    return Prefix(mount, project, "/".join(segments))


def is_history(segment: str) -> bool:
    """Return whether a segment of a path means a folder of version control on any system."""
    return _HISTORY.fullmatch(segment) is not None


def document_path_fault(path: str) -> str | None:
    """Return what is wrong with the path of a document within its root; None if nothing is."""
    segments = path.split("/")
    if not path or len(path) > MAX_DOCUMENT_PATH_CHARS:
        return f"must have 1 to {MAX_DOCUMENT_PATH_CHARS:,} characters"
    if fault := FORBIDDEN.search(path):
        return f"holds a {(fault.lastgroup or '').replace('_', ' ')}"
    if any(segment in ("", ".", "..") for segment in segments):
        return "must be relative, with no empty part, and no part . or .."
    if any(map(is_history, segments)):
        return "leads into a folder of version control"
    return None


def check_id(value: str, what: str) -> str:
    """Return `value`, the id of a user or actor, unchanged: 1 to 200 printable characters.

    It is never normalised or folded; slashes, quotes, `%` and `..` are data like any other. Outer spaces are
    refused, because a header loses them and would name another user.

    Raises:
        ValidationFailed: it is empty, too long, holds an unprintable character, or begins or ends with a space;
            names `what`.
    """
    if not 1 <= len(value) <= MAX_ID_CHARS:
        raise ValidationFailed(f"{what} must have 1 to {MAX_ID_CHARS} characters; this has {len(value)}.")
    if fault := _UNPRINTABLE.search(value):
        raise ValidationFailed(f"{what} must be printable; it holds {code_point(fault[0])}.")
    if value != value.strip():
        raise ValidationFailed(f"{what} must not begin or end with a space.")
    return value


def check_new_id(value: str, what: str) -> str:
    """Return the id of a new user or project unchanged, if it looks like no other spelling of itself.

    Ids that exist are not checked: they stay usable.

    Raises:
        InvalidId: it is not in Unicode NFC, or has a character that shows as nothing or changes the direction.
    """
    if value.isascii():
        return value
    if unicodedata.normalize("NFC", value) != value:
        raise InvalidId(f"{what} must be in Unicode NFC.")
    for fault in FORBIDDEN.finditer(value):
        if fault.lastgroup != "backslash":
            kind = str(fault.lastgroup).replace("_", " ")
            raise InvalidId(f"{what} must hold no {kind}; it holds {code_point(fault[0])}.")
    return value


def check_slug(value: str) -> str:
    """Return `value`, a project's slug, unchanged: an id that is also one clean path segment in NFC.

    Raises:
        InvalidId: as `check_new_id`.
        ValidationFailed: it is no such slug; the message says why.
    """
    check_id(value, "slug")
    check_new_id(value, "slug")
    if "/" in value:
        raise ValidationFailed("slug must be one segment of a path; it holds a slash.")
    try:
        _check_characters(value)
        _check_segment(value)
    except InvalidPath as error:
        raise ValidationFailed(f"slug must be a clean segment of a path. {error.message}") from error
    return value


def check_tool_call_id(value: str) -> str:
    """Return `value`, a tool call's id, unchanged: 1 to 200 printable characters without white space.

    Raises:
        ValidationFailed: it is no such id; the message says why.
    """
    check_id(value, "tool_call_id")
    for character in value:
        if character.isspace():
            raise ValidationFailed(
                f"tool_call_id must hold no white space; it holds {code_point(character)}."
            )
    return value


def _split(path: str) -> tuple[Mount, list[str]]:
    """Return the mount and the segments after it, unchecked but for their characters and number."""
    # Four is the longest canonical decomposition of a character, so what is longer than this is too long in
    # NFC as well, and normalising it would be work for nothing.
    if len(path) <= 4 * MAX_PATH_CHARS:
        path = unicodedata.normalize("NFC", path)
    if not 1 <= len(path) <= MAX_PATH_CHARS:
        raise InvalidPath(f"A path must have 1 to {MAX_PATH_CHARS} characters; this has {len(path)}.")
    _check_characters(path)
    first, *segments = path.split("/")
    if len(segments) >= MAX_SEGMENTS:
        raise InvalidPath(f"A path must have at most {MAX_SEGMENTS} segments; this has {len(segments) + 1}.")
    _check_segment(first)
    return _mount(first), segments


def _mount(segment: str) -> Mount:
    if segment in ("users", "tenants"):
        raise PhysicalPathForbidden(f"A path cannot begin with {segment}/.")
    if segment in _MOUNTS:
        return _MOUNTS[segment]
    raise UnknownMount(
        f"There is no mount '{segment}'; a path begins with user/, shared/ or projects/<slug>/.",
        hint=_mount_hint(segment),
    )


def _mount_hint(segment: str) -> str:
    """Return what was probably meant by the first segment of a path that is no mount."""
    if segment.lower() in _MOUNTS:
        return f"Mounts are lower case: write {segment.lower()}/…"
    if segment.endswith(".md"):
        return f"Did you mean user/{segment}?"
    return did_you_mean([f"{mount}/…" for mount in near_names(segment, _MOUNTS, most=1)]).strip()


def _check_characters(path: str) -> None:
    for fault in FORBIDDEN.finditer(path):
        if fault[0] != EMPTY_BRAILLE:
            kind = str(fault.lastgroup).replace("_", " ")
            raise InvalidPath(f"The path holds a {kind} ({code_point(fault[0])}).")


def _check_segment(segment: str) -> None:
    _check_beginning(segment)
    if segment == "":
        raise InvalidPath(
            "The path has an empty segment: it begins or ends with a slash, or has two in a row."
        )
    if segment[-1].isspace():
        raise InvalidPath(f"The segment '{segment}' ends with a space ({code_point(segment[-1])}).")
    if segment[-1] == ".":
        raise InvalidPath(f"The segment '{segment}' ends with a dot.")


def _check_beginning(segment: str) -> None:
    """Refuse what no segment may begin with, and what a partial segment may not be either."""
    if segment in (".", ".."):
        raise InvalidPath(f"The path has a segment '{segment}'; paths are never relative.")
    if segment[:1].isspace():
        raise InvalidPath(f"The segment '{segment}' begins with a space ({code_point(segment[0])}).")


def code_point(character: str) -> str:
    """Return the code point of a character, such as `U+202E`."""
    return f"U+{ord(character):04X}"
