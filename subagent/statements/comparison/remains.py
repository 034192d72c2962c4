"""The remains of a statement in a tombstone, and texts that say it again: in other words, or in disguise. Pure.

Values are compared as letters and digits in a row, so `415-555-0132`, `(415) 555 0132` and `4155550132` are
one, and as whole words, so `4417` does not stand in `44170`. Numbers in words are read as `text_to_num` reads
them. Letters of other scripts count as the Latin letters that they look like where a word, or the text around it,
is Latin.
"""

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from text_to_num import alpha2digit  # type: ignore[import-untyped]  # without types

from memex.store.records import Remains, Span, Tombstone, salted_digest
from memex.store.search.analyzer import Analyzer
from memex.store.upkeep.words.lookalikes import LATIN_LETTER, LOOKALIKES, OTHER_LETTER
from memex.subagent.statements.comparison.holders import is_about_another
from memex.subagent.statements.comparison.values import values_of
from memex.subagent.statements.days.dating import without_dates
from memex.subagent.statements.forgetting import known_sentences
from memex.subagent.statements.words import LineWords
from memex.subagent.text_cache import cached_for_short_texts

LANGUAGES = ("en", "de", "fr", "es")  # in which numbers in words are read
MAX_READ_CHARS = 2_000  # of a sentence
MAX_WORDS = 24  # of a statement, that tell its property
MIN_NAME_CHARS = 3  # of a name; a shorter one is a title, such as `Dr`
MAX_NAME_TOKENS = 4
DISTINCT_CHARS = 4  # of values, from which on they tell by themselves what is meant
PROPERTY_SHARE = 0.5  # of the words of the property, beside the values
SAID_SHARE = 0.75  # of the words of a statement without a value
LOOSE_SHARE = 0.6

_TOKEN = re.compile(r"[^\W_]+")
_GROUPED = re.compile(r"\+?\(?\d{2,5}\)?(?:[ ./-]\d{2,7}){1,5}(?![\w-])")  # such as the number of a telephone
# Parts of words that a number in words has; most texts have none, and are not read for numbers.
_NUMBER_WORD = re.compile(
    r"(?:\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|[a-z]+teen|hundred|dix|onze|uno|diez|once)"
    r"|ty|thousand|million|zwei|drei|vier|fünf|sech|sieb|acht|neun|zehn|elf|zwölf|zig|hundert|tausend|deux|trois|quatre"
    r"|cinq|sept|huit|neuf|douze|treize|vingt|trente|cent|mil|dos|tres|cuatro|cinco|seis|siete|ocho|nueve|doce)\b",
    re.IGNORECASE,
)
_KEPT_SORTS = frozenset({"name", "code", "number", "money"})
# A digit in the place of the letter that it looks like, as in `T0m`.
_DIGIT_IN_WORD = re.compile(r"(?<=[^\W\d_])[01](?=[^\W\d_])|\b[01](?=[^\W\d_]{2})")
_LETTERS = {"0": "o", "1": "l"}
_FOREIGN_NUMBER = re.compile(r"(?<!\w)(?:(?![0-9])\d)+(?!\w)")  # a whole one


class Echo(NamedTuple):
    """A sentence that says what was taken out.

    Attributes:
        span: of the sentence.
        tombstone: of what it says.
        is_outright: it has the words of the property too; else the values alone.
        is_disguised: characters that nobody sees or types make it look like another text.
    """

    span: Span
    tombstone: Tombstone
    is_outright: bool
    is_disguised: bool


@dataclass(frozen=True)
class _Sentence:
    """A sentence, in the forms in which tombstones are compared with it."""

    text: str
    analyzer: Analyzer

    @cached_property
    def folded(self) -> str:
        return folded(self.text[:MAX_READ_CHARS])

    @cached_property
    def words(self) -> frozenset[str]:
        return frozenset(self.analyzer.lexemes(self.folded))

    @cached_property
    def readings(self) -> list[list[str]]:
        """The tokens of the text; also with numbers in words as digits, and with letters for digits in words."""
        plain = self.folded
        texts = [plain, _DIGIT_IN_WORD.sub(lambda found: _LETTERS[found[0]], plain)]
        if _NUMBER_WORD.search(plain):
            texts += [alpha2digit(plain, language, threshold=0) for language in LANGUAGES]
        return [_TOKEN.findall(text.casefold()) for text in dict.fromkeys(texts)]

    def forms(self, size: int) -> set[str]:
        """Return the runs of whole tokens that have so many characters."""
        found = set()
        for tokens in self.readings:
            for at in range(len(tokens)):
                run = ""
                for token in tokens[at:]:
                    run += token
                    if len(run) >= size:
                        break
                if len(run) == size:
                    found.add(run)
        return found

    @cached_property
    def is_disguised(self) -> bool:
        plain = unicodedata.normalize("NFC", self.text[:MAX_READ_CHARS])
        plain = _FOREIGN_NUMBER.sub(lambda found: _with_digits(found[0]), plain)  # no disguise
        is_marked = any(unicodedata.category(char) == "Cf" for char in plain)
        return is_marked or _TOKEN.findall(plain.casefold()) != _TOKEN.findall(self.folded.casefold())


def remains_of(statement: str, analyzer: Analyzer) -> Remains:
    """Return what a tombstone keeps of a statement, as digests."""
    text = folded(without_dates(statement)[:MAX_READ_CHARS])
    forms = {value_form(found[0]) for found in _GROUPED.finditer(text)}
    rest = _GROUPED.sub(lambda found: " " * len(found[0]), text)
    for value in values_of(rest):
        said = rest[value.start : value.end]
        form = value_form(said if value.sort in ("name", "code") else value.form)
        if value.sort in _KEPT_SORTS and (len(form) >= MIN_NAME_CHARS or form.isdecimal()):
            forms.add(form)
            rest = f"{rest[: value.start]}{' ' * len(said)}{rest[value.end :]}"
    words = list(dict.fromkeys(analyzer.lexemes(rest)))
    return Remains(tuple(sorted(forms)), tuple(words[:MAX_WORDS]))


def value_form(value: str) -> str:
    """Return the form by which a value is compared: its letters and digits in a row."""
    return "".join(_TOKEN.findall(folded(value).casefold()))


def folded(text: str) -> str:
    """Return a text without characters that nobody sees, and with plain letters and digits for others alike."""
    plain = unicodedata.normalize("NFKC", text)
    plain = _with_digits("".join(char for char in plain if unicodedata.category(char) != "Cf"))
    if not OTHER_LETTER.search(plain):
        return plain
    is_latin = len(LATIN_LETTER.findall(plain)) > len(OTHER_LETTER.findall(plain))

    def latin(match: re.Match[str]) -> str:
        word = match[0].translate(LOOKALIKES)
        is_whole = OTHER_LETTER.search(word) is None
        return word if LATIN_LETTER.search(match[0]) or (is_latin and is_whole) else match[0]

    return _TOKEN.sub(latin, plain)


def _with_digits(text: str) -> str:
    return text if text.isascii() else "".join(str(unicodedata.decimal(char, char)) for char in text)


def may_echo(text: str, tombstone: Tombstone, analyzer: Analyzer) -> bool:
    """Return whether a text has so many words of a property that a sentence may say outright what is gone."""
    if not tombstone.words:
        return True
    shared = len(tombstone.words & _digests(text, tombstone.salt, analyzer))
    return shared >= (PROPERTY_SHARE if tombstone.values else SAID_SHARE) * len(tombstone.words)


@cached_for_short_texts(entries=16_384)
def _digests(text: str, salt: bytes, analyzer: Analyzer) -> frozenset[bytes]:
    return frozenset(salted_digest(salt, word) for word in LineWords(text).count(analyzer).frequencies)


def find_echoes(text: str, tombstones: Sequence[Tombstone], analyzer: Analyzer) -> list[Echo]:
    """Return the sentences that say what was taken out, each once; those of what was forgotten first.

    Args:
        text: the whole text.
        tombstones: that stand.
        analyzer: makes lexemes.
    """
    if not tombstones:
        return []
    found: list[Echo] = []
    ordered = sorted(tombstones, key=lambda tombstone: tombstone.strength != "forgotten")
    for span in known_sentences(text):
        sentence = _Sentence(text[slice(*span)], analyzer)
        said = ((tombstone, _says(sentence, tombstone)) for tombstone in ordered)
        echoes = [Echo(span, one, is_outright, False) for one, is_outright in said if is_outright is not None]
        if echoes:
            best = next((echo for echo in echoes if echo.is_outright), echoes[0])
            found.append(best._replace(is_disguised=sentence.is_disguised))
    return found


def _says(sentence: _Sentence, tombstone: Tombstone) -> bool | None:
    """Return whether a sentence says outright what was taken out; None if it does not say it at all."""
    for size, digest in tombstone.values:
        if all(tombstone.digest(form) != digest for form in sentence.forms(size)):
            return None
    words = tombstone.words
    shared = len(words & {tombstone.digest(word) for word in sentence.words}) / len(words) if words else 1.0
    if not tombstone.values:
        return True if shared >= SAID_SHARE else False if shared >= LOOSE_SHARE else None
    if shared >= PROPERTY_SHARE:
        return True
    is_distinct = sum(size for size, _ in tombstone.values) >= DISTINCT_CHARS
    is_other = is_about_another(sentence.text) and not _begins_with_value(sentence, tombstone)
    return False if is_distinct and not is_other else None


def _begins_with_value(sentence: _Sentence, tombstone: Tombstone) -> bool:
    """Tell whether a sentence is about somebody whom the forgotten statement named too."""
    digests = {digest for _, digest in tombstone.values}
    starts = (
        "".join(tokens[:count]) for tokens in sentence.readings for count in range(1, MAX_NAME_TOKENS + 1)
    )
    return any(tombstone.digest(start) in digests for start in starts)
