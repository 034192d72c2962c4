"""Words that are to be erased, told by salted digests of their normal form, and the places of them in a text. Pure.

The normal form of words is their letters and digits one after the other, in NFKC, without case, accents kept, and
without what nobody sees; in a word that looks Latin, letters that only look so count as Latin ones. So spaces,
line ends, punctuation and marks of Markdown between two words make no difference. Words are found where they begin
and end with a word, also if letters of theirs are written in the way of addresses, HTML or JSON, such as
`M%C3%BCller` and `M&uuml;ller`. A ledger of digests finds them in a database that was restored, and does not say
what they are.
"""

import hashlib
import html
import json
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, Self
from urllib.parse import unquote

from memex.store.paths import UNSEEN
from memex.store.records import Span
from memex.store.search.analyzer import MARKS, UNSPACED
from memex.store.upkeep.words.lookalikes import LOOKALIKES, to_latin

FILLER = "█"
MIN_CHARS = 3  # of the normal form: less stands in too many places
SALT_BYTES = 32
DIGEST_BYTES = 16
# The values of these say what a row of the log is, and no word that was told is among them.
CODES = frozenset(
    {"status", "state", "kind", "tool", "operation", "role", "channel", "mode", "decision", "planner"}
)
TERMS = frozenset({"terms", "borrowed"})  # words of the index, by which a search found something
SAID = frozenset({"text", "content", "query", "reason"})  # arguments of calls that hold what was said

_WORD = re.compile(rf"[{UNSPACED}]|[^\W_{UNSPACED}](?:[^\W_{UNSPACED}]|[{MARKS}{UNSEEN}])*+")
_UNSEEN_CHARS = re.compile(f"[{UNSEEN}]")
_FILLED = re.compile(r"[^\r\n]")
_ENCODED = re.compile(  # a character as addresses, HTML and JSON can write it
    r"%[0-7][0-9A-Fa-f]|%[C-Fc-f][0-9A-Fa-f](?:%[89ABab][0-9A-Fa-f]){1,3}"
    r"|&(?:#\d{1,7}|#[xX][0-9A-Fa-f]{1,6}|[A-Za-z]{2,31}\d{0,2});|\\u[0-9A-Fa-f]{4}"
)


@dataclass(frozen=True, slots=True)
class ErasedWords:
    """Words that are to be erased.

    Attributes:
        salt: 32 random bytes, the key of all digests.
        digests: BLAKE2b of each normal form, 16 bytes, by its length in characters.
        whole: digests of the names of files and calls of which every word goes; see `is_whole`.
        known: the normal forms, where they are known: most texts hold none of them, and are not hashed.
        mark: the filler begins with it, where there is room.
    """

    salt: bytes
    digests: Mapping[int, frozenset[bytes]]
    whole: frozenset[bytes] = frozenset()
    known: frozenset[str] | None = None
    mark: str = ""

    @classmethod
    def of(cls, texts: Iterable[str], salt: bytes, whole: Iterable[str] = (), mark: str = "") -> Self:
        """Return the words of some texts, leaving out those that are too short to be looked for."""
        known = frozenset(form for form in map(normal_form, texts) if len(form) >= MIN_CHARS)
        digests: dict[int, frozenset[bytes]] = {}
        for form in known:
            digests[len(form)] = digests.get(len(form), frozenset()) | {_digest(form, salt)}
        return cls(salt, digests, frozenset(_digest(name, salt) for name in whole), known, mark)

    @classmethod
    def load(cls, entry: Mapping[str, Any]) -> Self:
        """Return the words of an entry of the ledger; raises KeyError, TypeError or ValueError if it is none."""
        return cls(
            bytes.fromhex(entry["salt"]),
            {int(length): frozenset(map(bytes.fromhex, some)) for length, some in entry["digests"].items()},
            frozenset(map(bytes.fromhex, entry["whole"])),
        )

    def dump(self) -> dict[str, Any]:
        """Return the words as an entry of the ledger has them."""
        return {
            "salt": self.salt.hex(),
            "digests": {
                str(length): sorted(map(bytes.hex, some)) for length, some in sorted(self.digests.items())
            },
            "whole": sorted(map(bytes.hex, self.whole)),
        }

    def is_whole(self, name: str) -> bool:
        """Return whether every word goes of a file, `file:kind:key/relative path`, or a call, `call:id`."""
        return bool(self.whole) and _digest(name, self.salt) in self.whole

    def spans(self, text: str) -> list[Span]:
        """Return where the words stand in a text, in order and apart from each other."""
        found = self._plain_spans(text)
        if _ENCODED.search(text):
            decoded, starts = _decoded(text)
            found += [(starts[start], starts[end]) for start, end in self._plain_spans(decoded)]
        return list(_merged(sorted(found)))

    def _plain_spans(self, text: str) -> list[Span]:
        if self.known is not None:
            letters = (
                _letters(text) if text.isascii() else _letters(text) + _letters(text.translate(LOOKALIKES))
            )
            if not any(_letters(form) in letters for form in self.known):
                return []
        words = [(found, form) for found in _WORD.finditer(text) if (form := _form(found[0]))]
        joined = "".join(form for _, form in words)
        ends = list(accumulate(len(form) for _, form in words))
        last_word = {end: number for number, end in enumerate(ends)}
        found: list[Span] = []
        for length, wanted in self.digests.items():
            for first, begin in enumerate((0, *ends[:-1])):
                last = last_word.get(begin + length)
                if last is not None and _digest(joined[begin : begin + length], self.salt) in wanted:
                    found.append((words[first][0].start(), words[last][0].end()))
        return found

    def fill(self, text: str) -> str:
        """Return a text with a filler of as many code points in the place of the words; lines stay lines."""
        for start, end in reversed(self.spans(text)):
            text = text[:start] + blank(text[start:end], self.mark) + text[end:]
        if text[:1] in ("{", "[") and "\\" in text:  # JSON, in which a letter can be written in another way
            try:
                told = json.loads(text)
            except ValueError:
                return text
            if (filled := self.fill_value(told)) != told:
                return json.dumps(filled, ensure_ascii=False)
        return text

    def fill_value(self, value: Any, *, whole: bool = False, without_terms: bool = False) -> Any:
        """Return a JSON value with its texts filled; names of members and codes stay.

        With `whole`, every word of the members that hold what was said is filled. `without_terms` leaves out all
        words of the index, whose stems are no words that can be compared.
        """
        options = {"whole": whole, "without_terms": without_terms}
        if isinstance(value, str):
            return self.fill(value)
        if isinstance(value, list):
            return [self.fill_value(item, **options) for item in value]
        if not isinstance(value, dict):
            return value
        filled: dict[str, Any] = {}
        for name, item in value.items():
            made: Any
            if isinstance(item, str) and (name in CODES or (whole and name in SAID)):
                made = item if name in CODES else blank(item)
            elif name in TERMS and isinstance(item, dict):
                is_held = without_terms or any(map(self.spans, item))
                made = {} if is_held else item
            else:
                made = self.fill_value(item, **options)
            filled[name if name.isidentifier() else self.fill(name)] = made
        return filled


def normal_form(text: str) -> str:
    """Return the letters and digits of a text by which it is the same as another one."""
    return "".join(_form(found[0]) for found in _WORD.finditer(text))


def blank(text: str, mark: str = "") -> str:
    """Return a filler of as many code points, with the line ends where they were; it begins with the mark."""
    filled = _FILLED.sub(FILLER, text)
    return mark + filled[len(mark) :] if mark and filled.startswith(FILLER * len(mark)) else filled


def is_erased(text: str) -> bool:
    """Return whether nothing but a filler is left of a text."""
    return FILLER in text and _WORD.search(text) is None


def _form(word: str) -> str:
    if word.isascii():
        return word.lower()
    return to_latin(unicodedata.normalize("NFKC", _UNSEEN_CHARS.sub("", word))).casefold()


def _decoded(text: str) -> tuple[str, list[int]]:
    """Return a text with letters that are written in another way as they are, and where each was; and the end."""
    parts: list[str] = []
    starts: list[int] = []
    at = 0
    for found in _ENCODED.finditer(text):
        letters = _letters_of(found[0])
        parts += text[at : found.start()], letters
        starts += [*range(at, found.start()), *[found.start()] * len(letters)]
        at = found.end()
    return "".join(parts) + text[at:], [*starts, *range(at, len(text) + 1)]


def _letters_of(code: str) -> str:
    if code.startswith("%"):
        return unquote(code, errors="replace")
    return html.unescape(code) if code.startswith("&") else json.loads(f'"{code}"')


def _letters(text: str) -> str:
    """Return the normal form of a text without its marks, which takes a tenth of the time."""
    return "".join(filter(str.isalnum, unicodedata.normalize("NFKC", text).casefold()))


def _digest(text: str, salt: bytes) -> bytes:
    encoded = text.encode("utf-8", "surrogatepass")
    return hashlib.blake2b(encoded, key=salt, digest_size=DIGEST_BYTES).digest()


def _merged(spans: Iterable[Span]) -> Iterator[Span]:
    """Yield sorted spans, those as one that touch."""
    start = end = -1
    for begins, ends in spans:
        if begins > end:
            if end >= 0:
                yield start, end
            start, end = begins, ends
        end = max(end, ends)
    if end >= 0:
        yield start, end
