"""The parts that a person pasted into a message: letters, logs, traces of errors and commands. Pure."""

import re
from collections.abc import Iterator, Sequence
from itertools import takewhile

from memex.store.records import Span

MAX_LINE_CHARS = 200  # of a line that are looked at
MAX_LETTER_LINES = 200  # between the salutation and the closing words
MAX_HEAD_LINES = 10  # of a mail

_SALUTATION = re.compile(
    r"(?:dear|hello|hi|hey|good (?:morning|afternoon|evening)|sehr geehrte[rs]?|liebe[rs]?|hallo|guten tag)"
    r"\b[^.?!:;]{0,60},?$",
    re.IGNORECASE,
)
_CLOSING = re.compile(
    r"(?:(?:kind|best|warm|many) (?:regards|wishes)|regards|best|cheers|sincerely|yours (?:sincerely|faithfully)"
    r"|yours|mit freundlichen grüßen|(?:viele|liebe|beste|freundliche) grüße|gruß|lg|vg|mfg)[,.!]?$",
    re.IGNORECASE,
)
_SENT_FROM = re.compile(r"(?:from|sent|to|cc|subject|von|gesendet|an|betreff): \S", re.IGNORECASE)
_SUBJECT = re.compile(r"(?:subject|betreff): ", re.IGNORECASE)
_MACHINE_LINE = re.compile(
    r"(?:\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d"  # a time at the start of a line of a log
    r"|(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec) {1,2}\d{1,2} \d\d:\d\d:\d\d "
    r"|\[?(?-i:ERROR|WARN|WARNING|INFO|DEBUG|TRACE|FATAL|CRITICAL)\b\]?[:\t ] ?[\w.\[/-]{1,80}[:\]]"
    r"|traceback \(most recent call last\)"
    r'|file "[^"]{1,150}", line \d'
    r"|at [\w.$<>]{1,120}\([^()]{0,60}\)$"
    r"|(?:[a-z]\w{0,60}\.){0,6}[a-z]\w{0,60}(?:error|exception): "
    r"|npm err!"
    r"|(?:\$|❯|➜) [a-z./~]"  # the prompt of a shell
    r"|ps [a-z]:\\"
    r"|[\w.-]{1,32}@[\w.-]{1,60}:[^\s$#]{0,100}[$#] )",
    re.IGNORECASE,
)


def find_pasted(text: str) -> list[Span]:
    """Return where letters and lines of logs, errors and commands stand in a text: in order and disjoint.

    A letter has a salutation on a line of its own and, later, closing words on a line of their own; it ends with
    the paragraph of its closing words, which holds the name of its sender. A line of the head of a mail may take
    the place of the salutation; a mail with a whole head needs no closing words.
    """
    lines = list(_lines(text))
    pasted: list[Span] = []
    for start, end in sorted(
        [*_letters(lines), *(span for span, line in lines if _MACHINE_LINE.match(line))]
    ):
        if not pasted or start >= pasted[-1][1]:
            pasted.append((start, end))
    return pasted


def _lines(text: str) -> Iterator[tuple[Span, str]]:
    start = 0
    for line in text.splitlines(keepends=True):
        yield (start, start + len(line)), line.strip()[:MAX_LINE_CHARS]
        start += len(line)


def _letters(lines: Sequence[tuple[Span, str]]) -> Iterator[Span]:
    opened: int | None = None
    at = 0
    while at < len(lines):
        line = lines[at][1]
        if opened is not None and at - opened > MAX_LETTER_LINES:
            opened = None
        if opened is None and (_SALUTATION.match(line) or _SENT_FROM.match(line)):
            opened = at
        elif opened is not None and _CLOSING.match(line):
            while at + 1 < len(lines) and lines[at + 1][1]:
                at += 1
            yield lines[opened][0][0], lines[at][0][1]
            opened = None
        at += 1
    if opened is not None and _is_head([line for _, line in lines[opened : opened + MAX_HEAD_LINES]]):
        yield lines[opened][0][0], lines[-1][0][1]


def _is_head(lines: Sequence[str]) -> bool:
    """Return whether a mail begins here: several lines of a head, with a subject or an address."""
    head = list(takewhile(_SENT_FROM.match, lines))
    return len(head) > 1 and any("@" in line or _SUBJECT.match(line) for line in head)
