"""A bundle as a file: a zip of JSON and Markdown that says the same in the same bytes.

    call.json              the format, the version of Memex, the call with the operations inside it, the scopes
    prompts/<sha256>.md    the prompts that requests to models held
    scopes/<n>.jsonl       the revisions of the n-th scope, one a line
    statements/<n>.jsonl   what became of lines of its pages, if anything is known of them
    rivals/<n>.jsonl       which statements contradict older ones, if any does
    tombstones/<n>.jsonl   what was forgotten and replaced, by digests, if anything was
    repeats/<n>.jsonl      when texts of its journal were told again, if any was
    texts.jsonl            revisions that came after the states, such as those that the call wrote

A file that comes from elsewhere is judged before anything of it is used: its size, what it unpacks to, its members
and their form. Whether its texts are those that were stored, replay finds out by their digests.
"""

import io
import json
import re
import stat
import zipfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from pydantic import AfterValidator, AwareDatetime, BaseModel, ConfigDict, Field, ValidationError

from memex.errors import LimitExceeded, Refused, ValidationFailed
from memex.service.log.replay.bundle import Bundle
from memex.service.log.replay.logged_snapshots import states
from memex.service.log.replay.rerun import LoggedCall
from memex.service.tools.tool import MAX_VERSION, check_storable
from memex.sources.zips import BROKEN, IS_ENCRYPTED, METHODS
from memex.store.access import Channel
from memex.store.log.operations import MAX_INNER
from memex.store.paths import check_id, check_slug, check_tool_call_id, parse
from memex.store.records import Operation, Status
from memex.store.upkeep.reindex import check_language
from memex.store.upkeep.restore import StoredRevision, StoredScope
from memex.store.upkeep.restored_lines import StoredLine, StoredRepeat, StoredRival, StoredTombstone
from memex.store.writes.edits import MAX_FILE_BYTES, Origin

FORMAT = 1
MAX_BYTES = 128 << 20  # of the file
MAX_UNPACKED_BYTES = 256 << 20
MAX_MEMBERS = 5_000

CALL, TEXTS = "call.json", "texts.jsonl"
EXPORT_HINT = "Export the call again: `memex files export --call ID --to FILE`."

_PROMPT = re.compile(r"prompts/([0-9a-f]{64})\.md")
_ENTRY = b"PK\x01\x02"  # begins each entry of a zip's directory
_EPOCH = (1980, 1, 1, 0, 0, 0)  # the first moment that a zip can name

M = TypeVar("M", bound=BaseModel)


class _Strict(BaseModel):
    model_config = ConfigDict(
        extra="forbid",
        strict=True,
        frozen=True,
        from_attributes=True,
        allow_inf_nan=False,
        ser_json_bytes="hex",
        val_json_bytes="hex",
    )


def _utc(time: datetime) -> datetime:
    try:
        return time.astimezone(UTC)
    except OverflowError:
        raise ValueError("the time is beyond the years that there are") from None


def _by(check: Callable[[str], str]) -> AfterValidator:
    """Return a check of ours as one of pydantic's, which names the place."""

    def checked(value: str) -> str:
        try:
            return check(value)
        except Refused as error:
            raise ValueError(error.message) from None

    return AfterValidator(checked)


Text = Annotated[str, AfterValidator(check_storable)]
UserId = Annotated[str, _by(lambda user: check_id(user, "user id"))]
Sha256 = Annotated[bytes, Field(min_length=32, max_length=32)]
Time = Annotated[AwareDatetime, AfterValidator(_utc)]
Number = Annotated[int, Field(ge=1, lt=1 << 62)]
Key = Annotated[bytes, Field(min_length=16, max_length=16)]
Place = Annotated[int, Field(ge=0, le=MAX_FILE_BYTES)]
Version = Annotated[int, Field(ge=1, le=MAX_VERSION)]
State = dict[str, Annotated[int, Field(ge=0, lt=1 << 62)]]


DAYS = r"^[\[(](\d{4}-\d\d-\d\d)?,(\d{4}-\d\d-\d\d)?[\])]$"  # a `daterange`
_OF_ENTRY = Field(exclude_if=lambda value: value is None)  # earlier versions know no journal


class _Principal(_Strict):
    role: Literal["agent", "admin"]
    user: UserId | None = None
    project: Annotated[str, _by(check_slug)] | None = None
    channel: Channel | None = None


class _Inner(_Strict):
    attempt: int
    kind: Text
    status: Status
    request: dict[str, Any]
    response: Any
    state: State | None
    engine: Text
    error_code: Text | None
    started_at: Time
    duration_ms: float
    ordinal: int
    model: Text | None
    usage: dict[str, Any] | None
    prompt_sha256: Sha256 | None
    now: Time | None
    request_sha256: Sha256 | None
    result_sha256: Sha256 | None
    told_sha256: Sha256 | None = None  # bundles of older versions have none


class _Operation(_Inner):
    tool_call_id: Annotated[str, _by(check_tool_call_id)]
    principal: _Principal
    response: dict[str, Any]
    config: dict[str, Any] | None
    now: Time
    request_sha256: Sha256
    result_sha256: Sha256
    saw: tuple[Text, ...]
    inner: Annotated[tuple[_Inner, ...], Field(max_length=MAX_INNER)]


class _Scope(_Strict):
    mount: str
    key: str
    language: Annotated[str, _by(check_language)]
    rev: Annotated[int, Field(ge=0, lt=1 << 62)]
    members: tuple[UserId, ...]


class _Call(_Strict):
    format: Literal[1]
    memex: Text
    operation: _Operation
    scopes: tuple[_Scope, ...]


class _Format(BaseModel):
    format: int


class _Revision(_Strict):
    file_id: Number
    version: Version
    rev: Number
    rev_end: Number | None
    path: str
    content: Text
    operation: Literal["create", "write", "patch", "move", "delete", "restore", "revert"]
    deleted: bool
    counterpart: Text | None
    reason: Text | None
    actor: Text | None
    channel: Channel
    tool_call_id: Text
    created_at: Time
    sha256: Sha256 | None
    origin: Annotated[Origin | None, _OF_ENTRY] = None
    said_at: Annotated[Time | None, _OF_ENTRY] = None
    about: Annotated[Annotated[str, _by(check_slug)] | None, _OF_ENTRY] = None
    valid: Annotated[Annotated[str, Field(pattern=DAYS)] | None, _OF_ENTRY] = None


class _Statement(_Strict):
    file_id: Number
    line_key: Key
    entry_owner: UserId | None
    entry_path: Text
    start_char: Place
    end_char: Place
    state: Literal["in_force", "replaced", "closed", "forgotten", "removed", "put_back"]
    rev: Number
    rev_end: Number | None
    held_in: Text | None
    newer: Text | None
    tool_call_id: Text
    changed_at: Time
    said_on: date | None
    accepted_at: Time | None


class _Rival(_Strict):
    older_kind: Literal["user", "shared", "project"]
    older_owner: Text
    older_path: Text
    older_key: Key
    older_start: Place
    older_end: Place
    newer_kind: Literal["user", "shared", "project"]
    newer_owner: Text
    newer_path: Text
    newer_key: Key
    newer_start: Place
    newer_end: Place
    is_settled: bool
    rev: Number
    rev_end: Number | None
    tool_call_id: Text


class _Tombstone(_Strict):
    line_key: Key
    strength: Literal["replaced", "forgotten"]
    salt: Key
    value_digests: tuple[Key, ...]
    value_sizes: tuple[Place, ...]
    word_digests: tuple[Key, ...]
    ended_at: Time
    rev: Number
    rev_end: Number | None
    tool_call_id: Text
    lifted_in: Text | None


class _Repeat(_Strict):
    path: Text
    said_at: Time
    tool_call_id: Text
    taken_back_in: Text | None


class _Named(_Strict):
    revision: Text
    content: Text


def pack_bundle(bundle: Bundle) -> bytes:
    """Return a bundle as the bytes of a zip: of the same call the same, with one version of Memex and of zlib.

    Raises:
        LimitExceeded: it is larger than `read` takes.
    """
    buffer = io.BytesIO()
    size_bytes = 0
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in _members(bundle):
            size_bytes += len(content)
            if size_bytes > MAX_UNPACKED_BYTES:
                raise _too_large()
            info = zipfile.ZipInfo(name, _EPOCH)
            info.create_system = 3  # Unix, wherever this runs
            info.compress_type = zipfile.ZIP_DEFLATED
            info.external_attr = (stat.S_IFREG | 0o644) << 16
            archive.writestr(info, content)
        if len(archive.infolist()) > MAX_MEMBERS:
            raise _too_large()
    if buffer.tell() > MAX_BYTES:
        raise _too_large()
    return buffer.getvalue()


def write(bundle: Bundle, path: Path) -> int:
    """Write a bundle to a file that is not there yet, and return how many bytes it has.

    Raises:
        ValidationFailed: something is there, or nothing can be written there.
        LimitExceeded: it is larger than `read` takes.
    """
    content = pack_bundle(bundle)
    try:
        with path.open("xb") as file:
            file.write(content)
    except FileExistsError:
        raise ValidationFailed(f"{path} is there already.", hint="Name another, or remove it.") from None
    except OSError as error:
        raise ValidationFailed(
            f"Cannot write {path}: {error.strerror}.", hint="Name a file in a folder that can be written to."
        ) from None
    return len(content)


def read(source: Path | bytes) -> Bundle:
    """Return the bundle that a file holds.

    Raises:
        ValidationFailed: there is no such file, or it is no bundle that this version reads; says what is wrong.
        LimitExceeded: it has over 128 MiB or 5,000 members, or unpacks to over 256 MiB.
    """
    members = _unpack(source if isinstance(source, bytes) else _content(source))
    if CALL not in members:
        raise _malformed(f"it has no {CALL}")
    made_as = _parse(_Format, members[CALL], CALL).format
    if made_as != FORMAT:
        raise ValidationFailed(
            f"The bundle has format {made_as}, and this version of Memex reads {FORMAT}.",
            hint="Use the version of Memex that exported it, or a newer one.",
        )
    call = _parse(_Call, members.pop(CALL), CALL)
    _check_mounts(call)
    texts = {named.revision: named.content for named in _lines(_Named, members, TEXTS)}
    scopes = tuple(_read_scope(scope, members, number) for number, scope in enumerate(call.scopes, start=1))
    prompts = {}
    for name, content in members.items():
        if (match := _PROMPT.fullmatch(name)) is None:
            raise _malformed(f"nothing is known of {name[:100]!r}")
        prompts[bytes.fromhex(match[1])] = _decode(content, name)
    return Bundle(call.memex, LoggedCall(_operation(call.operation), prompts), scopes, texts)


def _members(bundle: Bundle) -> Iterator[tuple[str, bytes]]:
    """Yield the files of a bundle by name, in their order."""
    given = {"format": FORMAT, "memex": bundle.memex, "operation": bundle.operation, "scopes": bundle.scopes}
    call = _Call.model_validate(given)
    told = json.dumps(call.model_dump(mode="json"), ensure_ascii=False, indent=1, sort_keys=True)
    yield CALL, f"{told}\n".encode()
    for sha256, text in sorted(bundle.logged.prompts.items()):
        yield f"prompts/{sha256.hex()}.md", text.encode()
    for number, scope in enumerate(bundle.scopes, start=1):
        yield f"scopes/{number}.jsonl", _jsonl(_Revision, scope.revisions)
        if scope.statements:
            yield f"statements/{number}.jsonl", _jsonl(_Statement, scope.statements)
        if scope.rivals:
            yield f"rivals/{number}.jsonl", _jsonl(_Rival, scope.rivals)
        if scope.tombstones:
            yield f"tombstones/{number}.jsonl", _jsonl(_Tombstone, scope.tombstones)
        if scope.repeats:
            yield f"repeats/{number}.jsonl", _jsonl(_Repeat, scope.repeats)
    named = [{"revision": revision, "content": text} for revision, text in sorted(bundle.texts.items())]
    yield TEXTS, _jsonl(_Named, named)


def _jsonl(model: type[BaseModel], records: Iterable[Any]) -> bytes:
    """Return records as lines of JSON, by the fields that the model has."""
    return "".join(f"{model.model_validate(record).model_dump_json()}\n" for record in records).encode()


def _content(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(MAX_BYTES + 1)
    except OSError as error:
        raise ValidationFailed(
            f"There is no bundle at {path}: {error.strerror}.",
            hint="Name a file that `memex files export --call` made.",
        ) from None


def _unpack(content: bytes) -> dict[str, bytes]:
    """Return the members of a zip by name; none is read before all of them are known to fit."""
    if len(content) > MAX_BYTES or content.count(_ENTRY) > MAX_MEMBERS:  # before a list of them is made
        raise _too_large()
    try:
        archive = zipfile.ZipFile(io.BytesIO(content))
    except BROKEN:
        raise _malformed("it is no zip that can be read") from None
    with archive:
        listed = archive.infolist()
        if len(listed) > MAX_MEMBERS or sum(info.file_size for info in listed) > MAX_UNPACKED_BYTES:
            raise _too_large()
        if len({info.filename for info in listed}) < len(listed):
            raise _malformed("two of its files have one name")
        return {info.filename: _member(archive, info) for info in listed}


def _member(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> bytes:
    if info.flag_bits & IS_ENCRYPTED or info.compress_type not in METHODS:
        raise _malformed(f"{info.filename[:100]!r} is encrypted, or packed in an unusual way")
    try:
        with archive.open(info) as member:
            content = member.read(info.file_size + 1)  # more than it says is read of none
        if len(content) != info.file_size:
            raise zipfile.BadZipFile(info.filename)
    except BROKEN:
        raise _malformed(f"{info.filename[:100]!r} cannot be unpacked") from None
    return content


def _lines(model: type[M], members: dict[str, bytes], name: str) -> list[M]:
    """Take a file of JSON lines out of a bundle's, if it is there."""
    return [
        _parse(model, line, f"{name}, line {number}")
        for number, line in enumerate(members.pop(name, b"").split(b"\n"), start=1)
        if line
    ]


def _parse(model: type[M], content: bytes, where: str) -> M:
    try:
        return model.model_validate_json(content)
    except ValidationError as error:
        problem = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(map(str, problem["loc"]))[:100]
        raise _malformed(f"{where}{': ' if place else ''}{place}: {problem['msg'][:200]}") from None


def _decode(content: bytes, name: str) -> str:
    try:
        return content.decode()
    except UnicodeDecodeError:
        raise _malformed(f"{name} is not UTF-8") from None


def _operation(told: _Operation) -> Operation:
    user_id = told.principal.user or ""
    ids: dict[str, Any] = {"operation_id": 0, "tool_call_id": told.tool_call_id, "user_id": user_id}
    inner = tuple(Operation(**ids, **_fields(part), principal={}) for part in told.inner)
    return Operation(**ids | _fields(told) | {"principal": told.principal.model_dump(), "inner": inner})


def _fields(told: BaseModel) -> dict[str, Any]:
    return {name: getattr(told, name) for name in type(told).model_fields}


def _read_scope(told: _Scope, members: dict[str, bytes], number: int) -> StoredScope:
    """Take the files of a scope out of a bundle's; bundles of earlier versions tell of no lines."""
    name, of_lines, of_repeats, of_rivals, of_tombstones = (
        f"{folder}/{number}.jsonl" for folder in ("scopes", "statements", "repeats", "rivals", "tombstones")
    )
    scope = _scope(told, _lines(_Revision, members, name), name)
    statements = _lines(_Statement, members, of_lines)
    rivals = _lines(_Rival, members, of_rivals)
    _check_changes(told, statements, of_lines)
    _check_changes(told, rivals, of_rivals)
    tombstones = _lines(_Tombstone, members, of_tombstones)
    _check_changes(told, tombstones, of_tombstones)
    if any(len(tombstone.value_digests) != len(tombstone.value_sizes) for tombstone in tombstones):
        raise _malformed(f"{of_tombstones} has digests without sizes")
    repeats = _lines(_Repeat, members, of_repeats)
    if len({(repeat.path, repeat.tool_call_id) for repeat in repeats}) < len(repeats):
        raise _malformed(f"{of_repeats} says twice that a call told a text")
    return replace(
        scope,
        statements=tuple(StoredLine(**_fields(statement)) for statement in statements),
        repeats=tuple(StoredRepeat(**_fields(repeat)) for repeat in repeats),
        rivals=tuple(StoredRival(**_fields(rival)) for rival in rivals),
        tombstones=tuple(StoredTombstone(**_fields(tombstone)) for tombstone in tombstones),
    )


def _scope(told: _Scope, lines: Sequence[_Revision], name: str) -> StoredScope:
    """Return a scope, of which nothing can break a table that it is put into."""
    scope = StoredScope(**_fields(told), revisions=tuple(StoredRevision(**_fields(line)) for line in lines))
    names = {(revision.path, revision.version) for revision in lines}
    changes = {(revision.file_id, revision.rev) for revision in lines}
    files = [revision.file_id for revision in lines if revision.rev_end is None]
    paths = [revision.path for revision in lines if revision.rev_end is None and not revision.deleted]
    if (
        min(len(names), len(changes)) < len(lines)
        or len(set(files)) < len(files)
        or len(set(paths)) < len(paths)
    ):
        raise _malformed(f"{name} holds two revisions where one can be")
    _check_changes(told, lines, name)
    for number, revision in enumerate(lines, start=1):
        where = f"{name}, line {number}"
        if revision.deleted and revision.content:
            raise _malformed(f"{where}: a deletion has a text")
        _check_path(f"{told.mount}/{revision.path}", where)
    return scope


def _check_changes(
    told: _Scope, lines: Sequence[_Revision | _Statement | _Rival | _Tombstone], name: str
) -> None:
    for number, one in enumerate(lines, start=1):
        if one.rev > told.rev or (one.rev_end is not None and not one.rev < one.rev_end <= told.rev):
            raise _malformed(f"{name}, line {number}: its changes are not those of the scope")


def _check_path(path: str, where: str) -> None:
    try:
        is_clean = str(parse(path)) == path
    except Refused:
        is_clean = False
    if not is_clean:
        raise _malformed(f"{where}: its path is none")


def _check_mounts(call: _Call) -> None:
    """Refuse scopes that are not those of the call: each once, a user's under the name of who called."""
    for scope in call.scopes:
        slug = scope.mount.removeprefix("projects/")
        keys = {"user": call.operation.principal.user, "shared": "", f"projects/{slug}": slug}
        if scope.mount not in keys or scope.key != keys[scope.mount]:
            raise _malformed(f"{CALL}: {scope.mount[:100]!r} is no scope of the call")
        _check_path(f"{scope.mount}/a", CALL)
    revs = {scope.mount: scope.rev for scope in call.scopes}
    if len(revs) < len(call.scopes):
        raise _malformed(f"{CALL}: two scopes are one")
    for state in states(_operation(call.operation)):
        for mount, rev in state.items():
            if rev > revs.get(mount, -1):
                raise _malformed(f"{CALL}: the call saw more of {mount[:100]!r} than is there")


def _malformed(what: str) -> ValidationFailed:
    return ValidationFailed(f"This is no bundle of a call that can be read: {what}.", hint=EXPORT_HINT)


def _too_large() -> LimitExceeded:
    return LimitExceeded(
        f"A bundle has at most {MAX_BYTES >> 20} MiB and {MAX_MEMBERS:,} files, "
        f"and unpacks to at most {MAX_UNPACKED_BYTES >> 20} MiB.",
        hint="Replay the call where it was made.",
        limit_bytes=MAX_UNPACKED_BYTES,
    )
