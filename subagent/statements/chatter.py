"""Test whether a short text is small talk: moods, weather, thanks, jokes, remarks on the conversation. Pure.

Each sentence gets points: for numbers, names, dates, events, and words of a durable fact; against moods, the
weather of the moment and words to the assistant. The best sentence decides, and the tone of the others counts too.
A text with the form of a note, of whole sentences with capitals and full stops, is none.
"""

import re
from collections.abc import Iterable, Sequence
from itertools import islice

from memex.subagent.statements.language import LanguagePattern, LanguageTables, StatementKind
from memex.subagent.statements.subjects import JUDGED_CHARS, plain_form

# A longer text says something.
_MAX_CHARS = 300
_CHATTER_AT_MOST = 1.0
_TONE_DIVISOR = 2
_WEAK_KINDS: frozenset[StatementKind] = frozenset({"note", "profile"})

_DIGIT = re.compile(r"\d")
_WORD = re.compile(r"[^\W\d_]{2,}")
# A capital inside a sentence; `I` and what is shouted as a whole is none.
_NAME = re.compile(
    r"(?<=[\w,;:)’'\"] )[«\"(]?(?!I\b)[A-ZÀ-Þ][^\W\d_]*[a-zà-ÿ]\w*|(?<!\w)[A-Z]{2,5}(?!\w)|(?<!\w)[A-Z]\w+['’]s\b"
)
# Small words by which a text shows that it is in a language of the tables; of another one nothing is known.
_KNOWN_LANGUAGE = re.compile(
    r"\b(?:the|and|is|it|i|a|of|to|in|my|me|you|for|that|this|so|not|no|was|off|on|up|at|one|thanks?|haha|lol"
    r"|ich|und|der|die|das|ist|ein|nicht|du|es|mit|so|war|bin|was|je|le|la|les|un|une|et|est|pas|tu|de|mes|que"
    r"|el|y|es|no|qué|muy|los|estoy|con)\b",
    re.IGNORECASE,
)
_OTHER_SCRIPT = re.compile(r"[\u0370-\u1dff\u2c00-\ud7ff\uf900-\uffdc]")
_WHOLE_SENTENCE = re.compile(r"[A-ZÀ-Þ\d\"«„(].{10,}[.?)»”\"]$", re.DOTALL)


def is_chatter(sentences: Sequence[tuple[StatementKind, str]], text: str, tables: LanguageTables) -> bool:
    """Return whether a text is small talk alone.

    Args:
        sentences: all that was found in it to store, with their kinds.
        text: the whole text.
        tables: the tables of the languages.
    """
    if not sentences or len(text) > _MAX_CHARS or tables.keep_request.search(text):
        return False
    is_known = _KNOWN_LANGUAGE.search(text) or any(pattern.regex.search(text) for pattern in tables.chatter)
    if _OTHER_SCRIPT.search(text) or not is_known:
        return False
    if all(_is_note(sentence) for _, sentence in sentences):
        return False
    if any(kind not in _WEAK_KINDS for kind, _ in sentences):
        return False
    languages = tables.languages_of(text)
    points = [_count_points(kind, sentence, languages, tables) for kind, sentence in sentences]
    tone = sum(min(0, score) for score in points)
    return max(points) + tone / _TONE_DIVISOR <= _CHATTER_AT_MOST


def _is_note(sentence: str) -> bool:
    return _WHOLE_SENTENCE.match(sentence) is not None and "!!" not in sentence


def _count_points(
    kind: StatementKind, sentence: str, languages: frozenset[str], tables: LanguageTables
) -> int:
    """Return what speaks for a sentence, less what speaks against it."""
    head = sentence[:JUDGED_CHARS]
    plain = plain_form(head)
    words = plain.split()
    for_it = _count(tables.substance, plain, None, 2)
    against = _count(tables.chatter, head, languages, 3)
    points = 2 * (for_it - against) + (kind == "profile")
    if kind not in _WEAK_KINDS:
        points += 3
    if _WORD.search(plain):
        points += 3 * (_DIGIT.search(plain) is not None)
    points += 2 * (_NAME.search(head) is not None)
    points += 2 * (len(words) > 2 and _count(tables.moment, plain, languages, 1) > 0)
    return points + (len(words) >= 14) - (len(words) <= 2)


def _count(
    patterns: Iterable[LanguagePattern], text: str, languages: frozenset[str] | None, most: int
) -> int:
    """Return how many of the patterns of some languages, or of all, are found in a text, but `most` at most."""
    found = (
        one for one in patterns if (languages is None or one.language in languages) and one.regex.search(text)
    )
    return sum(1 for _ in islice(found, most))
