"""The published reference: whole documents under a plain analysis, ranked by the pure functions of `bm25.py`.

What comes out must agree with the figures that came with the data, made by another implementation. It is no
search of Memex, which has its own analysis, cuts files into chunks and reads them from Postgres: it shows that
formula, evidence and measures are right before those are measured.
"""

import re
import statistics
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import Stemmer  # type: ignore[import-not-found]  # compiled, without types

from memex.evals.retrieval import data, metrics
from memex.evals.retrieval.data import Asked, Turn
from memex.evals.retrieval.runs import EVERYTHING
from memex.store.bm25 import rank, weigh

SUITES = ("locomo", "beam", "scifact", "cranfield")  # that have published figures
DEPTH = 1_000
TOLERANCE = 0.3  # points: how far a figure may be from the published one

# "Lucene" is the list of its StandardAnalyzer, "Postgres" its english.stop, which is Snowball's.
STOP_WORDS = {
    "Lucene": frozenset(
        """
        a an and are as at be but by for if in into is it no not of on or such that the their then there these
        they this to was will with
        """.split()  # noqa: SIM905 (a line a word would be longer than the code)
    ),
    "Postgres": frozenset(
        """
        i me my myself we our ours ourselves you your yours yourself yourselves he him his himself she her hers
        herself it its itself they them their theirs themselves what which who whom this that these those am is
        are was were be been being have has had having do does did doing a an the and but if or because as until
        while of at by for with about against between into through during before after above below to from up
        down in out on off over under again further then once here there when where why how all any both each few
        more most other some such no nor not only own same so than too very s t can will just don should now
        """.split()  # noqa: SIM905 (a line a word would be longer than the code)
    ),
}

_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")

_SHORT = ("recall@5", "recall@10", "all@10", "any@10", "mrr@10")
_TURNS = ("recall@5", "recall@10", "recall@20", "all@10", "any@10", "mrr@10")
_ABSTRACTS = ("ndcg@10", "recall@100", "map@1000")
_KINDS = ("single-hop", "multi-hop", "temporal", "open-domain")

# In percent, by part, stop list and group.
PUBLISHED: dict[tuple[str, str, str], dict[str, float]] = {
    ("locomo-turns", "Lucene", EVERYTHING): dict(
        zip(_TURNS, (46.4, 54.1, 62.9, 48.6, 61.2, 39.1), strict=True)
    ),
    ("locomo-turns", "Postgres", EVERYTHING): dict(
        zip(_TURNS, (52.2, 60.6, 66.4, 54.7, 67.8, 45.0), strict=True)
    ),
    ("locomo-sessions", "Lucene", EVERYTHING): dict(zip(_SHORT, (85.0, 92.4, 88.0, 96.1, 77.7), strict=True)),
    ("locomo-sessions", "Postgres", EVERYTHING): dict(
        zip(_SHORT, (87.0, 92.8, 88.3, 96.9, 80.7), strict=True)
    ),
    ("beam-user", "Lucene", "factual"): dict(zip(_SHORT, (70.2, 76.6, 62.0, 93.0, 77.9), strict=True)),
    ("beam-user", "Lucene", EVERYTHING): {"recall@5": 48.9, "recall@10": 57.4},
    ("beam-user", "Postgres", "factual"): dict(zip(_SHORT, (69.3, 78.1, 65.0, 93.0, 79.5), strict=True)),
    ("beam-user", "Postgres", EVERYTHING): {"recall@5": 49.7, "recall@10": 56.8},
    ("beam-all", "Lucene", "factual"): dict(zip(_SHORT, (55.7, 67.2, 52.0, 86.0, 58.3), strict=True)),
    ("beam-all", "Lucene", EVERYTHING): {"recall@5": 34.4, "recall@10": 42.7},
    ("beam-all", "Postgres", "factual"): dict(zip(_SHORT, (53.0, 65.0, 49.0, 85.0, 50.6), strict=True)),
    ("beam-all", "Postgres", EVERYTHING): {"recall@5": 31.8, "recall@10": 40.7},
    ("scifact", "Lucene", EVERYTHING): dict(zip(_ABSTRACTS, (68.57, 92.09, 64.49), strict=True)),
    ("scifact", "Postgres", EVERYTHING): dict(zip(_ABSTRACTS, (68.49, 92.09, 64.03), strict=True)),
    ("cranfield", "Lucene", EVERYTHING): dict(zip(_ABSTRACTS, (37.52, 73.13, 29.47), strict=True)),
    ("cranfield", "Postgres", EVERYTHING): dict(zip(_ABSTRACTS, (38.37, 74.90, 30.42), strict=True)),
    **{
        ("locomo-turns", stop, kind): {"recall@10": value}
        for stop, values in {"Lucene": (62.9, 27.9, 65.6, 27.6), "Postgres": (68.7, 36.0, 73.3, 32.4)}.items()
        for kind, value in zip(_KINDS, values, strict=True)
    },
    **{
        ("locomo-sessions", "Lucene", kind): {"recall@10": value}
        for kind, value in zip(_KINDS, (99.5, 79.1, 94.1, 72.0), strict=True)
    },
}


@dataclass(frozen=True, slots=True)
class Searched:
    """Documents that are searched together, in their order, by their ids, and what is asked about them."""

    documents: Mapping[str, str]
    asked: tuple[Asked, ...]


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure that was published, and what comes out here, in percent."""

    part: str
    stop_list: str
    group: str
    measure: str
    published: float
    found: float

    @property
    def agrees(self) -> bool:
        """Whether the two are within 0.3 points."""
        return abs(self.found - self.published) <= TOLERANCE


def lexemes(text: str, stop_words: frozenset[str], stemmer: "Stemmer.Stemmer") -> list[str]:
    """Return the words of a text by the plain analysis.

    Lower case; runs of letters and digits, an apostrophe inside; a final 's is cut, and what an apostrophe still
    joins is split; stop words go; then Snowball english.
    """
    words: list[str] = []
    for word in _WORD.findall(text.lower().replace("’", "'")):
        words += word.removesuffix("'s").split("'")
    stems: list[str] = stemmer.stemWords([word for word in words if word not in stop_words])
    return stems


def reproduce(root: Path, suites: Sequence[str]) -> list[Figure]:
    """Return every published figure of these suites beside what comes out here."""
    figures = []
    for part, searched in _parts(root, suites):
        for stop_list in STOP_WORDS:
            grouped = _measured(searched, stop_list)
            for (of, stop, group), published in PUBLISHED.items():
                if (of, stop) == (part, stop_list):
                    for measure, value in published.items():
                        found = 100 * statistics.fmean(one[measure] for one in grouped[group])
                        figures.append(Figure(part, stop, group, measure, value, found))
    return figures


def _parts(root: Path, suites: Sequence[str]) -> Iterator[tuple[str, list[Searched]]]:
    if "locomo" in suites:
        yield "locomo-sessions", _sessions(root)
        yield "locomo-turns", _turns(root)
    if "beam" in suites:
        yield "beam-user", _messages(root, ("user",))
        yield "beam-all", _messages(root, ("user", "assistant"))
    for name in ("scifact", "cranfield"):
        if name in suites:
            held = data.judged(root, name)
            texts = {document.id: f"{document.title} {document.text}" for document in held.documents}
            yield name, [Searched(texts, held.asked)]


def _turns(root: Path) -> list[Searched]:
    return [
        Searched(
            {turn.id: _line(turn) for session in conversation.sessions for turn in session.turns},
            conversation.asked,
        )
        for conversation in data.conversations(root)
    ]


def _sessions(root: Path) -> list[Searched]:
    found = []
    for conversation in data.conversations(root):
        texts = {
            str(number): "\n".join([session.time, *map(_line, session.turns)])
            for number, session in enumerate(conversation.sessions)
        }
        home = {
            turn.id: str(number)
            for number, session in enumerate(conversation.sessions)
            for turn in session.turns
        }
        asked = [
            Asked(one.text, one.kinds, tuple(dict.fromkeys(home[turn] for turn in one.evidence)))
            for one in conversation.asked
        ]
        found.append(Searched(texts, tuple(asked)))
    return found


def _line(turn: Turn) -> str:
    shown = f" [shares an image: {turn.caption}]" if turn.caption else ""
    return f"{turn.speaker}: {turn.text}{shown}"


def _messages(root: Path, roles: Sequence[str]) -> list[Searched]:
    return [
        Searched(
            {
                message.id: f"{message.role}: {message.content}"
                for message in chat.messages
                if message.role in roles
            },
            chat.asked,
        )
        for chat in data.chats(root, "100K")
    ]


def _measured(searched: Iterable[Searched], stop_list: str) -> dict[str, list[dict[str, float]]]:
    """Return the measures of every question, by group."""
    grouped: defaultdict[str, list[dict[str, float]]] = defaultdict(list)
    for one in searched:
        index = _Index(one.documents, STOP_WORDS[stop_list])
        for asked in one.asked:
            found = index.search(asked.text)
            ranks = [found.get(document) for document in asked.evidence]
            precision = {f"map@{DEPTH}": metrics.average_precision(ranks, DEPTH)}
            for group in (EVERYTHING, *asked.kinds):
                grouped[group].append(metrics.of_ranking(ranks) | precision)
    return grouped


class _Index:
    """The documents of one collection as counted words."""

    def __init__(self, documents: Mapping[str, str], stop_words: frozenset[str]) -> None:
        self._stop_words = stop_words
        self._stemmer = Stemmer.Stemmer("english")
        self._ids = list(documents)
        self._tfs = [Counter(self._lexemes(text)) for text in documents.values()]
        self._lengths = [tfs.total() for tfs in self._tfs]
        self._holding: defaultdict[str, list[int]] = defaultdict(list)
        for at, tfs in enumerate(self._tfs):
            for lexeme in tfs:
                self._holding[lexeme].append(at)

    def search(self, text: str) -> dict[str, int]:
        """Return the ranks of the first `DEPTH` documents, ties to the earlier one."""
        wanted = self._lexemes(text)
        query = weigh(
            wanted,
            n=len(self._ids),
            total_length=sum(self._lengths),
            df={lexeme: len(self._holding[lexeme]) for lexeme in wanted if lexeme in self._holding},
        )
        candidates = {at for lexeme in query.lexemes for at in self._holding[lexeme]}
        ranked = rank(query, ((at, self._tfs[at], self._lengths[at]) for at in candidates))
        return {self._ids[at]: number for number, (at, _) in enumerate(ranked[:DEPTH], start=1)}

    def _lexemes(self, text: str) -> list[str]:
        return lexemes(text, self._stop_words, self._stemmer)
