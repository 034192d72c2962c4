"""The names in a request to forget: a person, or an identifier such as an address, a number or a version. Pure.

A name is looked for word by word, and an identifier as a whole: `+43 660 1234567` is not in `+43 660 12345678`, and
`ana@example.org` is not in `diana@example.org`.
"""

import re
import unicodedata
from functools import cache
from itertools import takewhile

from memex.subagent.statements.secrets.finding import PLACEHOLDER
from memex.tables import load_tables

MAX_NAME_WORDS = 4
GROUP_DIGITS = (3, 4)  # as people write long numbers
MIN_NUMBER_DIGITS = 4  # of an identifier that is compared by its digits alone, such as that of a telephone

NAME_TABLES = ("particles", "no_names", "owners", "places", "generic")

_ARTICLES = frozenset(
    {"the", "where", "der", "die", "das", "den", "dem", "le", "la", "les", "el", "los", "las"}
)

_TOKEN = re.compile(r"[^\s\"“”„«»‘()\[\]{}<>,;!?]+")
_EDGE = ".:'’*_`-"
_IDENTIFIER = re.compile(r"[^\W_]+(?:[@._/:+~-][^\W_]*)*[@\d._/:][\w@./:+~-]*|\+?\(?\d[\d ()./-]*\d")
_NUMBER = re.compile(r"(?<![\w.-])\+?\d(?:[ ()/-]{0,2}\d)+(?![\w]|[-.]\w)")
_SPELLED = re.compile(
    r"([\w.+-]+) (?:at|\(at\)|\[at\]) ([\w-]+(?: (?:dot|punkt|point|punto) [\w-]+)+)", re.IGNORECASE
)
_DOT = re.compile(r" (?:dot|punkt|point|punto) ", re.IGNORECASE)
_CODE = re.compile(r"[A-Za-z]{1,5}[ -]?\d{3,}|[A-Za-z]{1,5}\d{2,}[A-Za-z]{0,3}")  # such as a licence plate
_PLATE = re.compile(r"[A-Z]{1,2} \d{3,}")
_NO_DIGIT = re.compile(r"\D")
_QUOTED = re.compile(r'"([^"\n]{1,100})"|“([^”\n]{1,100})”|„([^“”\n]{1,100})[“”]|«\s*([^»\n]{1,100}?)\s*»')


def named_thing(words: str) -> str | None:
    """Return what the object of a request to forget names; None if it describes something in other words.

    Args:
        words: what stands behind `forget` or `forget everything about`.
    """
    words = words.strip().strip(_EDGE)
    if spelled := _SPELLED.fullmatch(words):  # `ana at example dot org`
        return f"{spelled[1]}@{_DOT.sub('.', spelled[2])}"
    if PLACEHOLDER.fullmatch(words):
        return words
    if quoted := _QUOTED.fullmatch(words):
        return str(next(filter(None, quoted.groups())))
    if _IDENTIFIER.fullmatch(words) or _PLATE.fullmatch(words):
        return words
    parts = words.split()
    if not 0 < len(parts) <= MAX_NAME_WORDS:
        return None
    if _IDENTIFIER.fullmatch(parts[-1]) and _are_plain(parts[:-1]):
        return parts[-1]  # `the number 48213`
    if len(parts) > 2 and parts[0].casefold() in _tables()["owners"]:  # `my colleague Fergus`
        own = list(takewhile(lambda part: part[0].isupper(), reversed(parts)))[::-1]
        return " ".join(own) if 0 < len(own) < len(parts) - 1 else None
    own = [part for part in parts if part.casefold() not in _tables()["particles"]]
    if not own or any(_is_no_name(part) for part in own):
        return None
    return words if len(parts) == 1 or all(part[0].isupper() for part in own) else None


def names(thing: str, text: str) -> bool:
    """Return whether a text holds a name or an identifier as a whole, in whatever case and spacing."""
    if PLACEHOLDER.fullmatch(thing):
        return thing in text
    digits = _NO_DIGIT.sub("", thing)
    if len(digits) >= MIN_NUMBER_DIGITS and _NUMBER.fullmatch(thing.strip(" (")):
        return any(_NO_DIGIT.sub("", found[0]) == digits for found in _NUMBER.finditer(text))
    if _CODE.fullmatch(thing):
        parts = [re.escape(part) for part in re.findall(r"[A-Za-z]+|\d+", thing)]
        return re.search(rf"(?<![\w.-]){'[ -]?'.join(parts)}(?![\w]|[-.]\w)", text, re.IGNORECASE) is not None
    wanted, said = _forms(thing), _forms(text)
    width = len(wanted)
    return width > 0 and any(
        said[at : at + width] == wanted
        or (said[at : at + width - 1] == wanted[:-1] and said[at + width - 1] == f"{wanted[-1]}s")
        for at in range(len(said) - width + 1)
    )


def spellings(thing: str) -> str:
    """Return a name or an identifier, and of a long number also groups of its digits, by which it is found."""
    digits = _NO_DIGIT.sub("", thing)
    if len(digits) <= GROUP_DIGITS[-1] or not _NUMBER.fullmatch(thing.strip(" (")):
        return thing
    groups = (digits[at : at + size] for size in GROUP_DIGITS for at in range(len(digits) - size + 1))
    return " ".join((thing, *dict.fromkeys(groups)))


def names_part(thing: str, text: str) -> bool:
    """Return whether a text holds a part of a name as a whole, such as the first name of somebody."""
    parts = {form for form in _forms(thing) if len(form) > 1} - _tables()["particles"] - _ARTICLES
    return not parts.isdisjoint(_forms(text))


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
