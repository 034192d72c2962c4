"""The names in a request to forget: a person, or an identifier such as an address, a number or a version. Pure.

A name is looked for word by word, and an identifier as a whole: `+43 660 1234567` is not in `+43 660 12345678`, and
`ana@example.org` is not in `diana@example.org`.
"""

import re
import unicodedata
from functools import cache
from itertools import pairwise, takewhile

from memex.subagent.statements.secrets.finding import PLACEHOLDER
from memex.tables import load_tables

MAX_NAME_WORDS = 4
GROUP_DIGITS = (3, 4)  # as people write long numbers
MIN_PHONE_DIGITS = 8  # of a number that may stand with the code of a country, or without
MAX_GROUPS = 10  # of digits and letters in an identifier, such as that of an account

NAME_TABLES = ("particles", "no_names", "owners", "places", "generic")

_ARTICLES = frozenset(
    {"the", "where", "der", "die", "das", "den", "dem", "le", "la", "les", "el", "los", "las"}
)

_TOKEN = re.compile(r"[^\s\"“”„«»‘()\[\]{}<>,;!?]+")
_EDGE = ".:'’*_`-"
_IDENTIFIER = re.compile(r"[^\W_]+(?:[@._/:+~-][^\W_]*)*[@\d._/:][\w@./:+~-]*|\+?\(?\d[\d ()./-]*\d")
_IS_IDENTIFIER = re.compile(r"\d|\w\.\w")
_SPACE = re.compile(r"[\s=;|\"“”„«»<>\[\]{}]+|,(?!\d)|:(?![/\d])")
_AROUND = "().,:;!?'’‘*_`#~-"
_THOUSANDS = re.compile(r"\d{1,3}(?:[.,'’]\d{3})+")
_GROUPING = re.compile(r"[()‐‑–-]|(?<=\d)/(?=\d)")
_VERSION = re.compile(r"^v(?=\d+\.\d)")
_WEB = re.compile(r"^https?://(?:www\.)?|/$", re.IGNORECASE)
_HOST = re.compile(r"^(?:[a-z]+://)?(?:www\.)?([\w.-]+)(?::\d+)?(?:/.*)?$")
_SPELLED = re.compile(
    r"([\w.+-]+) (?:at|\(at\)|\[at\]) ([\w-]+(?: (?:dot|punkt|point|punto) [\w-]+)+)", re.IGNORECASE
)
_DOT = re.compile(r" (?:dot|punkt|point|punto) ", re.IGNORECASE)
_PLATE = re.compile(r"[A-Z]{1,2} \d{3,}")
_SCHEME = re.compile(r"^(?:mailto|tel):(?=\S)", re.IGNORECASE)
_RELEASE = re.compile(r"v?\d+(?:\.\d+)+")
_AND = re.compile(r",? (?:and|und|et|y|e) (?:a |de )?", re.IGNORECASE)
_LISTED = re.compile(rf"{_AND.pattern}|, ", re.IGNORECASE)
_NO_DIGIT = re.compile(r"\D")
_QUOTED = re.compile(r'"([^"\n]{1,100})"|“([^”\n]{1,100})”|„([^“”\n]{1,100})[“”]|«\s*([^»\n]{1,100}?)\s*»')


def named_thing(words: str) -> str | None:
    """Return what the object of a request to forget names; None if it describes something in other words.

    Args:
        words: what stands behind `forget` or `forget everything about`.
    """
    words = _SCHEME.sub("", words.strip()).strip(_EDGE + "!")
    if spelled := _SPELLED.fullmatch(words):  # `ana at example dot org`
        return f"{spelled[1]}@{_DOT.sub('.', spelled[2])}"
    if PLACEHOLDER.fullmatch(words):
        return words
    if quoted := _QUOTED.fullmatch(words):
        return str(next(filter(None, quoted.groups())))
    if _IDENTIFIER.fullmatch(words) or _PLATE.fullmatch(words):
        return words
    parts = words.split()
    several = joined_things(words)
    if len(several) > 1:
        return words
    if not 0 < len(parts) <= MAX_NAME_WORDS:
        return None
    if _IDENTIFIER.fullmatch(parts[-1]) and _are_plain(parts[:-1]):
        return parts[-1]  # `the number 48213`
    if len(parts) > 2 and parts[0].casefold() in _tables()["owners"]:  # `my colleague Fergus`
        own = list(takewhile(lambda part: part[0].isupper(), reversed(parts)))[::-1]
        return " ".join(own) if 0 < len(own) < len(parts) - 1 else None
    own = [part for part in parts if part.casefold() not in _tables()["particles"]]
    if len(own) > 1 and _RELEASE.fullmatch(own[-1]) and all(part[0].isupper() for part in own[:-1]):
        return words  # `Redis v7.2.4`
    if not own or any(_is_no_name(part) for part in own):
        return None
    is_name = len(parts) == 1 or all(part[0].isupper() for part in own)
    return words if is_name or is_small_name(words) else None


def joined_things(words: str) -> list[str]:
    """Return the names and identifiers that a list joins, `Mila Novak and Tom Reid`.

    There are none if another part is in it, such as the order in `Mila and relax`.
    """
    if _AND.search(words) is None:
        return []
    things = [named_thing(part) for part in _LISTED.split(words)]
    listed = [thing for thing in things if thing and (thing[0].isupper() or _IS_IDENTIFIER.search(thing))]
    return listed if len(listed) == len(things) else []


def is_small_name(words: str) -> bool:
    """Return whether words may be a name that somebody typed in small letters, such as `mila novak`."""
    tables = _tables()
    common = frozenset().union(_ARTICLES, *(tables[name] for name in NAME_TABLES))
    parts = words.split()
    return 1 < len(parts) < MAX_NAME_WORDS and all(
        part.isalpha() and part.islower() and part not in common for part in parts
    )


def is_written_large(thing: str, text: str) -> bool:
    """Return whether a text writes a name with capital letters."""
    parts = [re.escape(part.capitalize()) for part in _without_accents(thing).split()]
    return re.search(rf"\b{' '.join(parts)}\b", _without_accents(text)) is not None


def names(thing: str, text: str, *, is_folded: bool = False) -> bool:
    """Return whether a text holds a name or an identifier as a whole, in whatever case, spacing and grouping.

    With `is_folded`, accents make no difference: people leave them out.
    """
    if PLACEHOLDER.fullmatch(thing):
        return thing in text
    if is_folded:
        thing, text = _without_accents(thing), _without_accents(text)
    wanted, said = _forms(thing), _forms(text)
    width = len(wanted)
    return (_IS_IDENTIFIER.search(thing) is not None and _holds_identifier(thing, text)) or (
        width > 0
        and any(
            said[at : at + width] == wanted
            or (said[at : at + width - 1] == wanted[:-1] and said[at + width - 1] == f"{wanted[-1]}s")
            for at in range(len(said) - width + 1)
        )
    )


def _holds_identifier(thing: str, text: str) -> bool:
    """Return whether some words of a text in a row are an identifier, or an address on the web with this host."""
    wanted = "".join(map(_identifier_form, _words(_WEB.sub("", thing))))
    said = _words(text)
    hosts = {_HOST.sub(r"\1", word.casefold()) for word in said}
    if wanted in hosts or not any(map(str.isdigit, wanted)):
        return wanted in hosts
    forms = [_identifier_form(word) for word in said]
    ends = (range(at + 1, min(at + MAX_GROUPS, len(forms)) + 1) for at in range(len(forms)))
    runs = ("".join(forms[at:end]) for at, each in enumerate(ends) for end in each)
    return any(run == wanted or _is_one_number(run, wanted) for run in runs)


def _words(text: str) -> list[str]:
    plain = unicodedata.normalize("NFKC", text)
    shown = "".join(char for char in plain if unicodedata.category(char) != "Cf")
    return [word for word in (found.strip(_AROUND) for found in _SPACE.split(shown)) if word]


def _identifier_form(word: str) -> str:
    """Return a word without case, and without what groups digits and letters: `A-1234`, `12,500`, `v1.2.3`."""
    if _THOUSANDS.fullmatch(word):
        return _NO_DIGIT.sub("", word)
    return _VERSION.sub("", _GROUPING.sub("", word.casefold()))


def _is_one_number(number: str, other: str) -> bool:
    """Return whether two numbers are one, also where one has the code of the country: `0170 …` and `+49 170 …`."""
    if number.removeprefix("+") == other.removeprefix("+"):
        return True
    national, abroad = (number, other) if other.startswith(("+", "00")) else (other, number)
    if len(national) < MIN_PHONE_DIGITS or not national.startswith("0") or national.startswith("00"):
        return False
    return re.fullmatch(rf"(?:\+|00)[1-9]\d{{0,2}}{re.escape(national[1:])}", abroad) is not None


def spellings(thing: str) -> str:
    """Return a name or an identifier, and the parts of one with digits by which it is found."""
    parts = [part for part in re.findall(r"[^\W\d_]+|\d+", thing) if len(part) > 1]
    if not any(part.isdecimal() for part in parts):
        return thing
    digits = _NO_DIGIT.sub("", thing)
    groups = [digits[at : at + size] for size in GROUP_DIGITS for at in range(len(digits) - size + 1)]
    codes = [
        f"{before}{after}" for before, after in pairwise(parts) if before.isalpha() and after.isdecimal()
    ]
    versions = [f"v{part}" for part in parts[:1] if part.isdecimal()]
    return " ".join((thing, *dict.fromkeys((*parts, *codes, *versions, *groups))))


def names_part(thing: str, text: str) -> bool:
    """Return whether a text holds a part of a name as a whole, such as the first name of somebody."""
    thing, text = _without_accents(thing), _without_accents(text)
    parts = {form for form in _forms(thing) if len(form) > 1} - _tables()["particles"] - _ARTICLES
    return not parts.isdisjoint(_forms(text))


def _without_accents(text: str) -> str:
    return "".join(char for char in unicodedata.normalize("NFKD", text) if unicodedata.category(char) != "Mn")


def without_article(thing: str) -> str:
    """Return a name without the article before it, as in `the Golf`."""
    first, _, rest = thing.partition(" ")
    return rest if rest and first in _ARTICLES else thing


def _forms(text: str) -> list[str]:
    """Return the words of a text by which they are compared: without case, look, and the genitive."""
    plain = "".join(
        char for char in unicodedata.normalize("NFKC", text) if unicodedata.category(char) not in ("Cf", "Mn")
    )
    tokens = (token.strip(_EDGE).casefold() for token in _TOKEN.findall(plain))
    return [token.removesuffix("'s").removesuffix("’s") for token in tokens if token]


def _are_plain(words: list[str]) -> bool:
    """Return whether words say what kind of thing an identifier is, and not when or where something is."""
    return all(word.isalpha() and word.islower() and word not in _tables()["places"] for word in words)


def thing_of(topic: str) -> str:
    """Return the words by which a topic names a thing, as in `my dentist's number`; "" if it names none.

    They stand behind a possessive or an article; a word such as `number` says only what is asked for of the thing.
    """
    tables, words = _tables(), [word.strip(_EDGE + ',!?"') for word in topic.split()]
    before = tables["owners"] | _ARTICLES
    first = next((at for at, word in enumerate(words) if word.casefold() in before), len(words))
    return content_of(without_generic(" ".join(words[first:])))


def without_generic(text: str) -> str:
    """Return the words of a text without those that say what kind of thing is asked for, such as `number`."""
    return " ".join(word for word in text.split() if word.casefold() not in _tables()["generic"])


def content_of(topic: str) -> str:
    """Return the words of a topic without articles, possessives and pronouns."""
    tables = _tables()
    left = tables["particles"] | tables["no_names"] | tables["owners"] | tables["places"]
    return " ".join(word for word in topic.split() if word.casefold().strip(_EDGE) not in left)


def _is_no_name(word: str) -> bool:
    return not word[0].isalpha() or word.casefold().strip(_EDGE) in _tables()["no_names"]


@cache
def _tables() -> dict[str, frozenset[str]]:
    data = load_tables("memex.subagent.statements", "forgetting.yaml")
    return {name: frozenset(data[name].split()) for name in NAME_TABLES}
