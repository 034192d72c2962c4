"""The places of statements and secrets in a file. Pure, and run in the text pool for long files."""

import re
from base64 import b32encode
from dataclasses import dataclass
from datetime import date
from hashlib import blake2b

from memex.store.entry_path import is_entry_at
from memex.store.records import Span
from memex.subagent.remember.filing.handles import handle_of
from memex.subagent.statements.bullets import parse_bullet, still_true_day
from memex.subagent.statements.forgetting import all_sentences
from memex.subagent.statements.secrets.finding import FoundSecret, find_secrets, redact

MAX_SECRETS = 100  # of one file
SHOWN_CHARS = 400  # of the line of a secret

_LINE = re.compile(r"[^\r\n]+")


@dataclass(frozen=True, slots=True)
class StandingStatement:
    """A statement of a file: its text, where its line stands, and when a person last said that it holds."""

    text: str
    span: Span
    still_true: date | None


@dataclass(frozen=True, slots=True)
class StandingSecret:
    """A secret of a file: an id that holds nothing of it, its place and kind, and its line without secrets."""

    id: str
    span: Span
    kind: str
    line: str


@dataclass(frozen=True, slots=True)
class Wanted:
    """The statements and secrets to look for in a file.

    Attributes:
        handles: those of statements that may have to go.
        texts: newer statements, without which the older ones do not wait.
        has_flag: whether a call stored something there that looks like a secret.
    """

    handles: frozenset[str]
    texts: frozenset[str]
    has_flag: bool


@dataclass(frozen=True, slots=True)
class FoundInFile:
    """The findings in a file: statements by their handles, the texts that stand, and secrets."""

    statements: dict[str, StandingStatement]
    texts: frozenset[str]
    secrets: list[StandingSecret]


def look_into(path: str, content: str, wanted: Wanted) -> FoundInFile:
    """Return what of `wanted` stands in a file."""
    statements, texts = dict[str, StandingStatement](), set[str]()
    if is_entry_at(path):
        for start, end in all_sentences(content) if wanted.handles else ():
            said = content[start:end]
            if (handle := handle_of(path, said)) in wanted.handles:
                statements.setdefault(handle, StandingStatement(said, (start, end), None))
        texts = {text for text in wanted.texts if text in content}
        secrets = secrets_of(path, content) if wanted.has_flag else []
        return FoundInFile(statements, frozenset(texts), secrets)
    has_statements = bool(wanted.handles or wanted.texts)
    for line in _LINE.finditer(content) if has_statements else ():
        text = parse_bullet(line[0])
        texts.add(text)
        if wanted.handles and (handle := handle_of(path, text)) in wanted.handles:
            place = (line.start(), line.end())
            statements.setdefault(handle, StandingStatement(text, place, still_true_day(line[0])))
    return FoundInFile(statements, wanted.texts & texts, secrets_of(path, content) if wanted.has_flag else [])


def secrets_of(path: str, content: str) -> list[StandingSecret]:
    """Return the first secrets of a file.

    The id of a secret stays the same while its line does. It is a digest of the line without the secret, so nobody
    can guess the secret from it.
    """
    found = find_secrets(content)[:MAX_SECRETS]
    stored, seen = [], dict[str, int]()
    for secret in found:
        line = _line_without_secrets(content, secret, found)
        seen[line] = seen.get(line, 0) + 1
        named = f"{path}\n{secret.kind}\n{line}\n{seen[line]}".encode()
        digest = b32encode(blake2b(named, digest_size=10).digest()).decode().lower()
        stored.append(
            StandingSecret(f"secret:{digest}", (secret.start, secret.end), secret.kind, line[:SHOWN_CHARS])
        )
    return stored


def without_secrets(path: str, content: str, ids: frozenset[str]) -> str:
    """Return a file with a mark in the place of the secrets with these ids."""
    chosen = [secret for secret in secrets_of(path, content) if secret.id in ids]
    return redact(content, [FoundSecret(*place.span, place.kind) for place in chosen])


def _line_without_secrets(content: str, secret: FoundSecret, found: list[FoundSecret]) -> str:
    start = content.rfind("\n", 0, secret.start) + 1
    end = content.find("\n", secret.end)
    end = len(content) if end < 0 else end
    inside = [
        FoundSecret(
            max(found_secret.start, start) - start, min(found_secret.end, end) - start, found_secret.kind
        )
        for found_secret in found
        if found_secret.start < end and found_secret.end > start
    ]
    return redact(content[start:end], inside).strip()
