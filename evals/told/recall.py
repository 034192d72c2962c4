"""The sentence of a message that is its piece of evidence, and whether a context holds that piece. Pure.

A piece of evidence is recalled when the context holds the sentence word for word, or when one line of the context
holds 80 % of the content words of the sentence.
"""

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping

import Stemmer  # type: ignore[import-not-found]  # compiled, without types

from memex.evals.plain_analysis import STOP_WORDS, plain_lexemes

HELD_FRACTION = 0.8  # of the content words of a sentence, in one line
MIN_SENTENCE_WORDS = 3
LENGTH_OFFSET = 3  # content words; so that a sentence of one rare word does not win by being short

_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|\n+")
_NO_WORD = re.compile(r"\W+")
_STEMMER = Stemmer.Stemmer("english")


def content_words(text: str) -> list[str]:
    """Return the stems of the words of a text that are no stop words, in their order."""
    return plain_lexemes(text, STOP_WORDS["Postgres"], _STEMMER)


def document_frequencies(texts: Iterable[str]) -> Counter[str]:
    """Return in how many of the texts each content word stands."""
    return Counter(word for text in texts for word in set(content_words(text)))


def key_sentence(message: str, wanted: str, df: Mapping[str, int], count: int) -> str:
    """Return the sentence of a message that shares most rare words with a question and its answer.

    Args:
        message: what was said.
        wanted: the question and its answer.
        df: in how many texts of the chat each content word stands.
        count: how many texts the chat has.
    """
    wanted_words = set(content_words(wanted))

    def score(sentence: str) -> float:
        words = content_words(sentence)
        shared = sum(math.log(1 + count / (1 + df.get(word, 0))) for word in set(words) & wanted_words)
        return shared / math.sqrt(LENGTH_OFFSET + len(words))

    parts = (part.strip() for part in _SENTENCE_END.split(message))
    sentences = [part for part in parts if len(part.split()) >= MIN_SENTENCE_WORDS]
    return max(sentences or [message], key=score)


def is_recalled(context: str, sentence: str) -> bool:
    """Tell whether a context holds a sentence."""
    if _fold(sentence) in _fold(context):
        return True
    wanted = set(content_words(sentence))
    lines = (set(content_words(line)) for line in context.split("\n"))
    return bool(wanted) and any(len(wanted & words) >= HELD_FRACTION * len(wanted) for words in lines)


def _fold(text: str) -> str:
    return _NO_WORD.sub(" ", text.lower()).strip()
