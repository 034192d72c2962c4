"""Find the secrets of a whole text, before it is cut into statements or chunks, and replace them. Pure.

Two kinds of rules look for them: forms that tell by themselves what they are (`forms.py`), and words that name a
secret with the value that follows (`statement.py`). Lines that hold none of those words are passed over.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from memex.store.records import Span
from memex.subagent.statements.extraction import extract_statements
from memex.subagent.statements.secrets.clues import ALL_MARKS, CLUES_OF_MARKS, Clue
from memex.subagent.statements.secrets.forms import end_of_line, find_forms
from memex.subagent.statements.secrets.marks import to_small
from memex.subagent.statements.secrets.statement import WordEnds, find_values, holds_secret
from memex.subagent.statements.secrets.statement import find_secrets as find_secrets_in_statement

MAX_PASSES = 4  # over a text that holds secrets
MAX_JUDGED_CHARS = 500  # of a value: what it is shows at its beginning, and a word may be as long as the text
SHORT_LINE_CHARS = 60  # a value may stand in the line behind one that is no longer
KINDS = {
    "password": "password",
    "code": "pin",
    "key": "key",
    "bare": "pin",
    "login": "password",
    "account": "password",
}
PLACEHOLDER = re.compile(r"\[secret: [a-z][a-z -]{0,40}\]")

# Parts of other words so often that a line counts only if they begin a word: `history`, `still`, `important`.
_BEGINNINGS = frozenset(
    ("tor", "tan", "pin", "till", "shed", "seed", "flat", "vault", "piso", "pw", "psw", "lock")
)
# A password has a digit or a sign, or stands behind a verb. A code has a digit.
_MAY_HOLD = re.compile(
    r"\d|[:=→#&*^~]|\b(?:is|are|ist|sind|est|sont|es|son|lautet|lauten|heißt)\b", re.IGNORECASE
)
_DIGIT = re.compile(r"\d\D{0,3}\d|\d[A-Z]")
# The value that a name of these has may be a word. The others are names of codes and locks.
_MAY_BE_WORD = Clue.PASSWORD | Clue.LOGIN | Clue.CODE_WORD | Clue.PERSONAL
_NAMES = _MAY_BE_WORD | Clue.NAME | Clue.LOCK
_EIGHT_DIGITS = re.compile(r"\d{4}[ -]?\d{4}")
_CARD_DIGITS = re.compile(r"\d{4}[ -]?\d{4}[ -]?\d{4}|3[47]\d\d[ -]?\d{6}")
_CODE = re.compile(
    r"[()\[\]{}<>|]|^\$\w|=>|::|->|^/|^[\w-]+\.[a-z_.]+$|^[a-z]+/[a-z.+-]+$|^[A-Za-z][a-z]+(?:[A-Z][a-z]+)+$|^[A-Z]{2,4}\d{3}$"
)
_NAME_ONLY = re.compile(r"[A-Za-zÀ-ÿ_.-]+")
_EXAMPLE = re.compile(
    r"(?:my|your|the|a|an|some|new|old|hashed|plain|client|app|user|db|jwt|api|access|refresh|secure|strong|super)?"
    r"[_. -]?(?:pass|secret|token|key|word|example|changeme|placeholder|xxx|hidden|redacted|null|none|true|false)"
    r"[\w!.-]*|[xX*.…•_-]+|1Password|TODO|TBD|FIXME",
    re.IGNORECASE,
)
_TRAILING = "\"'`*),.;:!?»”’"


@dataclass(frozen=True, slots=True, order=True)
class FoundSecret:
    """From where to where a secret reaches in a text, and its kind. It never holds the secret itself."""

    start: int
    end: int
    kind: str


@dataclass(frozen=True, slots=True)
class SecretPlace:
    """The place of a secret, for people: line and column count from 1."""

    line: int
    column: int
    kind: str


def find_secrets(text: str) -> list[FoundSecret]:
    """Return the secrets of a text in their order; those that overlap are one."""
    small = to_small(text)
    found = [FoundSecret(start, end, kind) for kind, start, end in find_forms(text, small)]
    found += _named(text, small)
    if not found:
        return []
    placeholders = [match.span() for match in PLACEHOLDER.finditer(text)]
    return [
        secret
        for secret in _merged(found)
        if not any(a <= secret.start and secret.end <= b for a, b in placeholders)
    ]


def find_told_secrets(text: str) -> list[FoundSecret]:
    """Return the secrets of a text that is told: also those that only the statements of the text show.

    Such is a value that stands alone behind the sentence or heading that names it. A rule may find one of several
    values of a sentence, so the text is read again without those that were found.
    """
    found = _find_told(text)
    for _ in range(MAX_PASSES if found else 0):
        more = _find_told(_blanked(text, found))
        if not more:
            break
        found = _merged([*found, *more])
    return found


def _find_told(text: str) -> list[FoundSecret]:
    found = find_secrets(text)
    if not _holds_name(to_small(text)) and not holds_secret(text):
        return found
    reading = extract_statements(text)
    shown = [
        FoundSecret(span.start, span.end, "password") for span in reading.skipped if span.reason == "secret"
    ]
    for statement in reading.statements:
        shown += [
            FoundSecret(statement.start + start, statement.start + end, "password")
            for start, end in find_secrets_in_statement(text[statement.start : statement.end])
        ]
    known = sorted(
        [(secret.start, secret.end) for secret in found] + [m.span() for m in PLACEHOLDER.finditer(text)]
    )
    return _merged([*found, *(secret for secret in shown if not _overlaps(secret, known))])


def redact(text: str, found: Sequence[FoundSecret]) -> str:
    """Return a text with `[secret: kind]` in the place of each secret."""
    parts, end = [], 0
    for secret in found:
        parts += [text[end : secret.start], _mark(secret)]
        end = secret.end
    return "".join([*parts, text[end:]])


def place_before(at: int, found: Sequence[FoundSecret]) -> int:
    """Return where a place of a redacted text stood before; of one within a mark, where the secret ends."""
    longer = 0
    for secret in found:
        start, mark = secret.start + longer, len(_mark(secret))
        if at <= start:
            break
        if at < start + mark:
            return secret.end
        longer += mark - (secret.end - secret.start)
    return at - longer


def _mark(secret: FoundSecret) -> str:
    return f"[secret: {secret.kind}]"


def places(text: str, found: Iterable[FoundSecret]) -> list[SecretPlace]:
    """Return where secrets stand by line and column."""
    found = list(found)
    starts = [0, *(match.end() for match in re.finditer("\n", text))] if found else []
    lines = [bisect_right(starts, secret.start) for secret in found]
    return [
        SecretPlace(line, one.start - starts[line - 1] + 1, one.kind)
        for line, one in zip(lines, found, strict=True)
    ]


def _blanked(text: str, found: Sequence[FoundSecret]) -> str:
    parts, end = [], 0
    for secret in found:
        parts += [text[end : secret.start], " " * (secret.end - secret.start)]
        end = secret.end
    return "".join([*parts, text[end:]])


def _overlaps(one: FoundSecret, spans: Sequence[Span]) -> bool:
    """Return whether a secret overlaps one of some spans, which are in order and disjoint."""
    place = bisect_left(spans, one.end, key=lambda span: span[0])
    return place > 0 and one.start < spans[place - 1][1]


def _named(text: str, small: str) -> Iterator[FoundSecret]:
    for start, end in _lines_to_read(text, small):
        line = text[start:end]
        words = WordEnds(line)
        for kind, *span in find_values(line):
            begin, last = _trimmed(words, *span)
            value = line[begin : min(last, begin + MAX_JUDGED_CHARS)]
            if value and not _is_code(value, kind):
                yield FoundSecret(start + begin, start + last, KINDS.get(kind, kind))


def _lines_to_read(text: str, small: str) -> Iterator[tuple[int, int]]:
    """Yield the lines that hold a name of a secret and may hold its value; short ones with the line behind them."""
    for start, has_value in sorted(_lines_with_words(text, small).items()):
        end = end_of_line(text, start)
        if end - start <= SHORT_LINE_CHARS and end < len(text):
            following = end_of_line(text, end + 1)
            end = following if following - end <= SHORT_LINE_CHARS else end
        if has_value.search(text, start, end):
            yield start, end


def _holds_name(small: str) -> bool:
    return any(CLUES_OF_MARKS[index] & _NAMES for index, _, _ in ALL_MARKS.find(small))


def _lines_with_words(text: str, small: str) -> dict[int, re.Pattern[str]]:
    """Return where the lines begin that hold a name of a secret, and what they hold if its value is there too."""
    read: dict[int, re.Pattern[str]] = {}
    line_start, line_end = 0, -1
    for index, at, _ in ALL_MARKS.find(small):
        clues = CLUES_OF_MARKS[index]
        if not clues & _NAMES:
            continue
        if at > line_end:
            line_start, line_end = text.rfind("\n", 0, at) + 1, end_of_line(text, at)
        is_password = bool(clues & _MAY_BE_WORD)
        if read.get(line_start) is _MAY_HOLD or (not is_password and line_start in read):
            continue
        if ALL_MARKS.marks[index] in _BEGINNINGS and text[at - 1 : at].isalpha():
            continue
        read[line_start] = _MAY_HOLD if is_password else _DIGIT
    line_end = -1
    for card in _CARD_DIGITS.finditer(text) if _EIGHT_DIGITS.search(text) else ():
        if card.start() > line_end:  # looked for once a line: a line may hold a million digits
            line_start, line_end = text.rfind("\n", 0, card.start()) + 1, end_of_line(text, card.start())
            read.setdefault(line_start, _DIGIT)
    return read


def _trimmed(words: WordEnds, start: int, end: int) -> tuple[int, int]:
    """Return where a value stands, to the end of its word and without the marks around it."""
    line = words.text
    end = end if line[end - 1 : end].isspace() else words.of(end)
    while end > start and line[end - 1] in _TRAILING and not _is_sign_of(line, start, end):
        end -= 1
    while start < end and line[start] in "\"'`*( \t\n":
        start += 1
    return start, end


def _is_sign_of(line: str, start: int, end: int) -> bool:
    """Return whether the last character may be one of the password: a `!` or `?` that no sentence follows."""
    return line[end - 1] in "!?*" and end - start > 5


def _is_code(value: str, kind: str) -> bool:
    """Return whether a value is a part of a program, a bare name or an example, and no secret."""
    if kind in {"code", "bare", "card", "personal"}:
        return False
    if _CODE.search(value) or _EXAMPLE.fullmatch(value):
        return True
    return "_" in value and _NAME_ONLY.fullmatch(value) is not None


def _merged(found: Iterable[FoundSecret]) -> list[FoundSecret]:
    merged: list[FoundSecret] = []
    for secret in sorted(found, key=lambda each: (each.start, -each.end)):
        if merged and secret.start < merged[-1].end:
            last = merged[-1]
            merged[-1] = FoundSecret(last.start, max(last.end, secret.end), last.kind)
        else:
            merged.append(secret)
    return merged
