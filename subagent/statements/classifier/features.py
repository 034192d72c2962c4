"""What a linear model sees of a sentence: its words, pairs and parts of them, its beginning and form. Pure.

`linear.py` weighs words and parts of words so that they count the same in a short sentence as in a long one.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from memex.subagent.statements import language
from memex.subagent.statements.chatter import count_points
from memex.subagent.statements.subjects import APOSTROPHES, JUDGED_CHARS, plain_form

PART_LENGTHS = (3, 4, 5)  # characters of a part of a word
WORDS_FROM = (1, 2, 3, 5, 8, 12, 18, 26)  # steps of the length of a sentence
POINTS_FROM = (-4, -2, 0, 1, 2, 3, 4, 5, 6)

_TOKEN = re.compile(r"[^\W_]+(?:'[^\W_]+)?|[^\w\s]")
_EMOJI = re.compile("[\U0001f000-\U0001faff\u2600-\u27bf]")
_CLOCK = re.compile(r"\d[:h.]\d\d|\d ?(?:am|pm|uhr|h\b)", re.IGNORECASE)


def feature_groups(sentence: str, rule: str) -> tuple[Sequence[str], Sequence[str], Sequence[str]]:
    """Return the features of a sentence in three groups: words, parts of words, and form.

    Args:
        sentence: the sentence; what lies behind `JUDGED_CHARS` is not looked at.
        rule: what the rules take the sentence for; "" leaves out what the rules say.
    """
    head = sentence[:JUDGED_CHARS].translate(APOSTROPHES)
    raw = _TOKEN.findall(head)
    tokens = [_shape(token.casefold()) for token in raw]
    words = [token for token in tokens if token[0].isalnum() or token[0] == "#"]
    return (
        [*(f"w {token}" for token in dict.fromkeys(tokens)), *_pairs(tokens)],
        list(dict.fromkeys(part for word in dict.fromkeys(words) for part in _parts(word))),
        [*_form(head, raw, tokens, words), *(_judged(head, rule) if rule else ())],
    )


def _judged(head: str, rule: str) -> Iterator[str]:
    """Yield what the rules say of a sentence: what it is, and what speaks for a lasting fact."""
    yield f"rule {rule}"
    tables = language.load("en")
    points = count_points("note", head, tables.languages_of(plain_form(head)), tables)
    yield from (f"points {least}" for least in POINTS_FROM if points >= least)


def _shape(token: str) -> str:
    """Return a token, or how long a number is."""
    if token.isdigit():
        return "#" * (1 if len(token) < 3 else min(len(token) - 1, 3))
    return "#x" if any(map(str.isdigit, token)) else token


def _pairs(tokens: Sequence[str]) -> Iterator[str]:
    bounded = ("^", *tokens, "$")
    return iter(dict.fromkeys(f"2 {one} {other}" for one, other in pairwise(bounded)))


def _parts(word: str) -> Iterator[str]:
    bounded = f"<{word}>"
    for length in PART_LENGTHS:
        for start in range(len(bounded) - length + 1):
            yield f"c {bounded[start : start + length]}"


def _form(head: str, raw: Sequence[str], tokens: Sequence[str], words: Sequence[str]) -> Iterator[str]:
    """Yield how a sentence begins and ends, how long it is, and what signs it holds."""
    if words:
        yield from (
            f"{place} {word}" for place, word in zip(("first", "second", "third"), words, strict=False)
        )
        yield f"begins {' '.join(words[:2])}"
        yield f"begins3 {' '.join(words[:3])}"
        yield f"last {words[-1]}"
        yield f"ends {tokens[-1]}"
    yield from (f"words {least}" for least in WORDS_FROM if len(words) >= least)
    stripped = head.rstrip()
    capitals = sum(token[0].isupper() for token in raw[1:])
    seen = {
        "digit": any(map(str.isdigit, head)),
        "capital": capitals > 0,
        "capitals": capitals > 1,
        "upper": head[:1].isupper(),
        "full stop": stripped.endswith("."),
        "exclamation": "!" in head,
        "question": "?" in head,
        "asks": stripped.endswith("?"),
        "clock": _CLOCK.search(head) is not None,
        "colon": ":" in head,
        "emoji": _EMOJI.search(head) is not None,
    }
    yield from (f"has {name}" for name, is_there in seen.items() if is_there)
