"""Text to lexemes: what search sees of a document and of a query, the same on every server.

In the application and not in Postgres, whose dictionaries differ between versions. What it depends on
outside this file is named by `Analyzer.engine`.
"""

import re
import threading
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from itertools import islice, pairwise

import Stemmer  # type: ignore[import-not-found]  # compiled, without types

from memex.store.search.words.data import WordKind, surplus_words, word_kind
from memex.tables import parse_tables

ANALYZER_VERSION = 2
MAX_LEXEME_CHARS = 64
LANGUAGES = ("neutral", *Stemmer.algorithms())

# A word that is longer or of more parts is not an identifier but data, such as base64.
_MAX_WORD_CHARS = 256
_MAX_PARTS = 16
# Words kept with their lexemes: some 10 MB, and nearly every word of a running text.
_MAX_KNOWN_WORDS = 1 << 15
_MAX_KNOWN_CHARS = 32

# Scripts written without spaces, or whose words are compounds: Thai to Khmer, kana, Han, Hangul.
UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u3005-\u3007\u3040-\u318f\u31f0-\u31ff\u3400-\u4dbf"
    "\u4e00-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff"
)
# Combining marks are letters to a reader and not to `\w`; joiners and soft hyphens are nothing to either.
MARKS = "".join(char for char in map(chr, range(0x300, 0x10000)) if unicodedata.category(char)[0] == "M")
_JOINERS = "\u00ad\u200c\u200d"
# Accents of Latin, Greek and Cyrillic, points of Hebrew and Arabic. In other scripts marks are vowels.
_ACCENT = re.compile(
    "[\u0300-\u036f\u0483-\u0487\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06ed"
    "\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe00-\ufe0f\ufe20-\ufe2f]"
)
_NO_JOINERS = str.maketrans(dict.fromkeys(_JOINERS))
_STROKED = str.maketrans({"ø": "o", "đ": "d", "ł": "l", "ħ": "h", "ı": "i", "æ": "ae", "œ": "oe", "þ": "th"})

# A compound of letters and hyphens is one word, `de-stress`; dates, numbers and longer chains are several.
# Possessive, since no shorter match could go on with a hyphen: most words are tried as a compound first.
_COMPOUND = r"[^\W\d_]{1,24}+(?:[-\u2010\u2011][^\W\d_]{1,24}){1,3}(?![\w'’-])"
_DATE = r"(?<![\w-])[0-9]{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])(?![\w-])"
_WORD = re.compile(
    rf"(?=[^\W_])(?:{_DATE}|{_COMPOUND}|[^\W_][\w{MARKS}{_JOINERS}]*+(?:['’][sS](?!['’]?\w))?)"
)
_HYPHEN = re.compile(r"[-\u2010\u2011]")
_RUN = re.compile(rf"([{UNSPACED}]+)|[^{UNSPACED}]+")
_UNSPACED_CHAR = re.compile(rf"[{UNSPACED}]")
_PIECE = re.compile(rf"[^\W_][\w{MARKS}]*")
_PART_BOUNDARY = re.compile(
    r"_+"
    r"|(?<=[a-zß-öø-ÿ])(?=[A-Z])"  # camel|Case
    r"|(?<=[A-Z])(?=[A-Z](?!s(?![a-z]))[a-z])"  # HTTP|Server, but URLs is one
    r"|(?<=[^\W\d_]{2})(?=\d)|(?<=\d)(?=[^\W\d_]{2})"  # python|3, 10|am, but not e29b
)


@dataclass(frozen=True, slots=True)
class SearchLanguage:
    """The tables that search has for a language beside its stemmer: `languages/<name>.yaml`.

    Attributes:
        stop_words: words that are left out of the index.
        light_words: words that count less in a query.
        irregular: forms that no rule leads back, with their base forms.
        months: their twelve names, or none.
    """

    stop_words: frozenset[str] = frozenset()
    light_words: frozenset[str] = frozenset()
    irregular: Mapping[str, str] = field(default_factory=dict)
    months: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Token:
    """A lexeme and the span of the text that it was made from."""

    lexeme: str
    start: int
    end: int


class Analyzer:
    """Turns text of one language into lexemes; may be shared by threads.

    Words are folded (NFKC, case, accents) and stemmed; stop words go. An identifier or a compound gives its
    parts and itself as a whole, so that `github` finds `GitHub`, `get_user` finds `getUser`, and `email` finds
    `e-mail`; a date `2023-05-08` gives its month and day as one says them too. Scripts without spaces give pairs
    of characters. A text of stop words alone has no lexemes, and finds nothing.
    """

    def __init__(self, language: str = "english") -> None:
        """Make the analyzer of `language`: a Snowball algorithm, or `neutral` for no stemming.

        Raises:
            ValueError: no such language; the message lists them.
        """
        if language not in LANGUAGES:
            raise ValueError(f"no analyzer for {language!r}; there are: {', '.join(LANGUAGES)}")
        self.language = language
        known = load_language(language)
        self._stop_words, self._irregular, self._months = known.stop_words, known.irregular, known.months
        # Accents are part of other languages' endings: their stemmers need them. In English they are loans.
        self._stems_folded = language in {"english", "neutral"}
        self._stemmer = None if language == "neutral" else Stemmer.Stemmer(language, 0)
        self._stemmer_lock = threading.Lock()  # a stemmer keeps its state inside
        self._words = _Words(self._analyse)
        self.light_lexemes = frozenset(
            lexeme for word in sorted(known.light_words) for lexeme in self.lexemes(word)
        )

    @property
    def engine(self) -> str:
        """The name of all that lexemes depend on; two analyzers of the same engine agree on every text."""
        return (
            f"analyzer-{ANALYZER_VERSION}/{self.language}/snowball-{Stemmer.version()}"
            f"/unicode-{unicodedata.unidata_version}"
        )

    def lexemes(self, text: str) -> list[str]:
        """Return the lexemes of `text` in order, with repeats."""
        words = self._words
        return [lexeme for word in _WORD.findall(text) for lexeme in words[word].lexemes]

    def passage_lexemes(self, text: str) -> list[str]:
        """Return the lexemes by which a passage is found: all, unless it consists of data; see `words.data`."""
        words = [(word, self._words[word]) for word in _WORD.findall(text)]
        surplus = surplus_words((word, analysed.kind) for word, analysed in words)
        return [lexeme for word, analysed in words if word not in surplus for lexeme in analysed.lexemes]

    def tokens(self, text: str) -> list[Token]:
        """Return the lexemes of `text` with their spans in it; a whole identifier follows its parts."""
        return [
            Token(token.lexeme, match.start() + token.start, match.start() + token.end)
            for match in _WORD.finditer(text)
            for token in self._words[match[0]].tokens
        ]

    def places(self, text: str, wanted: frozenset[str]) -> list[tuple[int, int, str]]:
        """Return where the wanted lexemes stand in `text`: start, end, lexeme; in order."""
        words = self._words
        found: list[tuple[int, int, str]] = []
        for match in _WORD.finditer(text):
            word = words[match[0]]
            if not wanted.isdisjoint(word.lexemes):
                start = match.start()
                found += (
                    (start + token.start, start + token.end, token.lexeme)
                    for token in word.tokens
                    if token.lexeme in wanted
                )
        return sorted(found)

    def _analyse(self, word: str) -> tuple[Token, ...]:
        """Return the tokens of one match of `_WORD`, with spans in the word."""
        if word[0].isdigit() and len(word) == 10 and word.count("-") == 2:
            return tuple(self._date(word))
        if _HYPHEN.search(word):
            return tuple(self._compound(word))
        if len(word) > 2 and word[-2] in "'’":
            word = word[:-2]
        tokens: list[Token] = []
        for run in _RUN.finditer(word):
            tokens += _pairs(run[0], run.start()) if run[1] else self._identifier(run[0], run.start())
        return tuple(tokens)

    def _date(self, word: str) -> Iterator[Token]:
        """Yield year, month and day of `2023-05-08` as they stand, and then 8 and May."""
        for start, end in ((0, 4), (5, 7), (8, 10)):
            yield Token(word[start:end], start, end)
        if word[8] == "0":
            yield Token(word[9], 8, 10)
        if self._months:
            yield from self._normal(self._months[int(word[5:7]) - 1], 5, 7)

    def _compound(self, word: str) -> Iterator[Token]:
        """Yield the tokens of the parts of a word with hyphens, and of the word written without them."""
        start = 0
        for part in _HYPHEN.split(word):
            for token in self._words[part].tokens:
                yield Token(token.lexeme, start + token.start, start + token.end)
            start += len(part) + 1
        if not _UNSPACED_CHAR.search(word):
            yield from self._normal(_HYPHEN.sub("", word), 0, len(word))

    def _identifier(self, word: str, start: int) -> Iterator[Token]:
        end = start + len(word)
        if len(word) > _MAX_WORD_CHARS:
            yield from self._normal(word[:MAX_LEXEME_CHARS], start, end)
            return
        parts = list(_parts(word))
        if 1 < len(parts) <= _MAX_PARTS:
            for part_start, part_end in parts:
                yield from self._normal(word[part_start:part_end], start + part_start, start + part_end)
        if parts:
            yield from self._normal(word.replace("_", ""), start, end)

    def _normal(self, word: str, start: int, end: int) -> Iterator[Token]:
        if word.isascii():
            pieces = [word.lower()]
        else:
            folded = _fold_case(word)
            # A compatibility character may stand for several words: ½ is 1⁄2.
            found = _PIECE.finditer(_fold_accents(folded) if self._stems_folded else folded)
            pieces = [piece[0] for piece in islice(found, _MAX_PARTS)]
        for piece in pieces:
            if _fold_accents(piece) not in self._stop_words:
                base = self._irregular.get(piece, piece)
                yield Token(self._stem(base)[:MAX_LEXEME_CHARS], start, end)

    def _stem(self, word: str) -> str:
        if self._stemmer is None:
            return word
        with self._stemmer_lock:
            stem: str = self._stemmer.stemWord(word)
        return (stem if self._stems_folded else _fold_accents(stem)) or word


@cache
def analyzer_of(language: str) -> Analyzer:
    """Return the one analyzer of a language that this process has; raises as `Analyzer`."""
    return Analyzer(language)


@cache
def load_language(name: str) -> SearchLanguage:
    """Return what search knows of a language; of most that Snowball stems, nothing beside its stemmer."""
    file = files("memex.store.search") / "languages" / f"{name}.yaml"
    if not file.is_file():
        return SearchLanguage()
    tables = parse_tables(file.read_text(encoding="utf-8"))
    return SearchLanguage(
        stop_words=frozenset(_fold_accents(_fold_case(word)) for word in tables["stop_words"].split()),
        light_words=frozenset(tables.get("light_words", "").split()),
        irregular={
            form: base for base, forms in tables.get("irregular", {}).items() for form in forms.split()
        },
        months=tuple(tables.get("months", "").split()),
    )


@dataclass(frozen=True, slots=True)
class _AnalysedWord:
    """The analysis of a match of `_WORD`: its tokens, their lexemes alone, and what the word looks like."""

    tokens: tuple[Token, ...]
    lexemes: tuple[str, ...]
    kind: WordKind


class _Words(dict[str, _AnalysedWord]):
    """Words as they were analysed, remembered: a text repeats its words."""

    def __init__(self, analyse: Callable[[str], tuple[Token, ...]]) -> None:
        super().__init__()
        self._analyse = analyse

    def __missing__(self, word: str) -> _AnalysedWord:
        tokens = self._analyse(word)
        analysed = _AnalysedWord(tokens, tuple(token.lexeme for token in tokens), word_kind(word))
        if len(word) <= _MAX_KNOWN_CHARS:
            if len(self) >= _MAX_KNOWN_WORDS:
                self.clear()
            self[word] = analysed
        return analysed


def _parts(word: str) -> Iterator[tuple[int, int]]:
    start = 0
    for boundary in _PART_BOUNDARY.finditer(word):
        if start < boundary.start():
            yield start, boundary.start()
        start = boundary.end()
    if start < len(word):
        yield start, len(word)


def _pairs(run: str, start: int) -> Iterator[Token]:
    """Yield each pair of neighbours in a run without spaces, or its only character."""
    text = unicodedata.normalize("NFKC", run).translate(_NO_JOINERS)
    end = start + len(run)
    if len(text) == 1:
        yield Token(text, start, end)
    for index, (first, second) in enumerate(pairwise(text), start):
        # Where normalising moved characters, the run is as exact as a span can be.
        span = (index, index + 2) if len(text) == len(run) else (start, end)
        yield Token(first + second, *span)


def _fold_case(word: str) -> str:
    folded = unicodedata.normalize("NFKC", word).translate(_NO_JOINERS).casefold()
    return unicodedata.normalize("NFKC", folded)


def _fold_accents(word: str) -> str:
    if word.isascii():
        return word
    bare = _ACCENT.sub("", unicodedata.normalize("NFD", word))
    return unicodedata.normalize("NFC", bare).translate(_STROKED)
