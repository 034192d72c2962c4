"""The test whether two statements say the same in nearly the same words. Pure.

To be wrong here is to lose what was said, so that nothing counts as the same but what cannot differ in meaning:

- who speaks: `The user likes tea` is `I like tea`, and `the user's birthday` is `my birthday`;
- words such as `currently` and `already`, hyphens, `two` for `2`, `on Monday` for `Monday`.

Every other word counts, in its order: `may` and `must`, `work` and `home`, `lived` and `live`, `A over B`.
"""

import re
from itertools import takewhile
from unicodedata import normalize

from memex.subagent.statements.secrets.statement import names_secret
from memex.subagent.statements.subjects import APOSTROPHES, normal_form

_SPEAKER = {"i": "i", "me": "me", "user": "i", "my": "my", "mine": "my", "user's": "my"}
_THIRD_PERSON = {"is": "am", "has": "have", "does": "do"}
_NO_VERBS = frozenset({"always", "sometimes", "perhaps", "nowadays", "besides", "this", "his", "its", "thus"})
_VERB_REACH = 3  # words behind `user` among which his verb stands
_LIGHT = frozenset({"currently", "presently", "now", "already", "indeed"})
_NUMBERS = dict(
    zip(
        ["two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"],
        map(str, range(2, 13)),
        strict=True,
    )
)
_DAY = re.compile(
    r"(?:mon|tues|wednes|thurs|fri|satur|sun)days?|\d[\d.:/-]*(?:st|nd|rd|th)?"
    r"|january|february|march|april|may|june|july|august|september|october|november|december"
)
_HYPHEN = re.compile(r"(?<=[^\W\d_])[-\u2010\u2011](?=[^\W\d_])")
_END_MARK = re.compile(r"(?<=[\w)\"'])\.$|(?<=[^\W\d_]{2})!$")
_CONTRACTED = re.compile(
    r"(?<=\b(?:do|is))n't\b|(?<=\b(?:did|are|was|has))n't\b|(?<=\b(?:does|have|were))n't\b"
)
_THE_USER = re.compile(r"\b[Tt]he (?=user\b)")
_VERB_ENDING = re.compile(r"(?<=[^aeiou])ies$|(?<=ch|sh|ss|zz)es$|(?<=[xo])es$|(?<=[^sui])s$")


def paraphrase_form(text: str) -> tuple[str, ...]:
    """Return the words of a statement by which it is compared."""
    given = [part for word in normal_form(text) for part in _parts(word)]
    words: list[str] = []
    for at, word in enumerate(given):
        if word in _LIGHT or (word == "on" and _DAY.fullmatch(given[at + 1] if at + 1 < len(given) else "")):
            continue
        words.append(_NUMBERS.get(word, word))
    return tuple(_to_first_person(words)) or tuple(given)


def are_paraphrases(one: str, other: str) -> bool:
    """Return whether two texts say the same in nearly the same words."""
    return paraphrase_form(one) == paraphrase_form(other)


def literal_form(text: str) -> tuple[str, ...]:
    """Return the words of a statement as they are written, by which one line may stand for another that goes.

    Only these say nothing: the case of the first letter, a full stop or an exclamation mark behind the last word,
    hyphens between letters, curly quotes, how a letter is composed, `don't` for `do not`, and who speaks. Of code
    and of secrets each character counts.
    """
    if "`" in text or names_secret(text):
        return (text,)
    plain = _END_MARK.sub("", " ".join(normalize("NFC", text).translate(APOSTROPHES).split()))
    plain = _CONTRACTED.sub(" not", plain)
    first, *rest = _HYPHEN.sub(" ", _THE_USER.sub("", plain)).split() or [""]
    if first.isalpha() and (first[1:].islower() or not first[1:]):
        first = first.lower()
    return tuple(_to_first_person(["i" if word == "I" else word for word in (first, *rest)]))


def _parts(word: str) -> list[str]:
    # Code counts character by character.
    return [word] if "\n" in word else _HYPHEN.sub(" ", word).split()


def _to_first_person(words: list[str]) -> list[str]:
    """Return words as the speaker himself says them."""
    said = [_SPEAKER.get(word, word) for word in words]
    for at, word in enumerate(words):
        if word != "user":
            continue
        behind = range(at + 1, min(len(words), at + 1 + _VERB_REACH))
        skipped = len(list(takewhile(lambda place: not _is_verb(words[place]), behind)))
        if skipped < len(behind):
            verb = words[at + 1 + skipped]
            said[at + 1 + skipped] = _THIRD_PERSON.get(verb) or _first_person(verb)
    return said


def _is_verb(word: str) -> bool:
    return word in _THIRD_PERSON or (word not in _NO_VERBS and _first_person(word) != word)


def _first_person(verb: str) -> str:
    ending = _VERB_ENDING.search(verb)
    if ending is None or len(verb) < 4:  # `is`, `as`, `bus`
        return verb
    return verb[: ending.start()] + ("y" if ending[0] == "ies" else "")
