"""Words of a passage that answer words of a query, by late interaction: for explanations. Pure."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from memex.store.search.hybrid import late_interaction
from memex.subagent.embedders.interface import EmbeddedText

if TYPE_CHECKING:
    from numpy import int32
    from numpy.typing import NDArray

_WORD = re.compile(r"\w+")

Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class WordMatch:
    """A word of a query, the word of a passage that is most similar to it, and how similar it is, from -1 to 1."""

    word: str
    answer: str
    similarity: float


def match_words(query: str, asked: EmbeddedText, passage: str, found: EmbeddedText) -> list[WordMatch]:
    """Return for each word of a query which word of a passage answers it, in the order of the query.

    A word of several word pieces has their mean similarity, and is answered by what is most similar to one of them.
    Signs between words are left out.

    `asked` and `found` are the token states of the query and of the passage, with the spans of their pieces;
    `passage` is the text by which it is indexed.
    """
    if asked.states is None or found.states is None or asked.spans is None or found.spans is None:
        return []
    question = late_interaction.round_states(asked.states)
    if len(question) != len(asked.spans) or not len(question) or not len(found.states):
        return []
    sums = late_interaction.similarities(question, late_interaction.pack_signs(found.states))
    scale = late_interaction.STATE_SCALE * question.shape[1] ** 0.5
    words = []
    for start, end in _words(query):
        pieces = [at for at, span in enumerate(asked.spans) if start <= span[0] < end]
        if pieces:
            answer, similarity = _best(sums, pieces, passage, found.spans)
            words.append(WordMatch(query[start:end], answer, round(similarity / scale, 4)))
    return words


def _best(
    sums: "NDArray[int32]", pieces: Sequence[int], passage: str, spans: Sequence[Span]
) -> tuple[str, float]:
    """Return the word of a passage that answers a word of so many pieces, and the mean of their similarities."""
    best: Any = sums[:, pieces]
    places = best.argmax(axis=0)
    tops = best.max(axis=0)
    start, end = spans[int(places[int(tops.argmax())])]
    around = next((span for span in _words(passage) if span[0] <= start < span[1]), (start, end))
    return passage[slice(*around)], float(tops.mean())


def _words(text: str) -> list[Span]:
    return [match.span() for match in _WORD.finditer(text)]
