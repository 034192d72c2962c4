"""The published reference: whole documents under a plain analysis, ranked by the pure functions of `bm25.py`.

The result must agree with the figures that were published with the data, which another implementation computed.
The reference is not Memex's search, which has its own analysis, cuts files into chunks and reads them from
Postgres. The reference shows that the formula, the evidence and the measures are right, before Memex is measured
with them.
"""

import statistics
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import Stemmer  # type: ignore[import-not-found]  # compiled, without types

from memex.evals import metrics
from memex.evals.metrics import EVERYTHING
from memex.evals.plain_analysis import STOP_WORDS, plain_lexemes
from memex.evals.retrieval import datasets
from memex.evals.retrieval.datasets import DatasetQuestion, Turn
from memex.store.search.bm25 import rank, weigh

SUITES = ("locomo", "beam", "beam-500k", "scifact", "cranfield")  # that have published figures
DEPTH = 1_000
TOLERANCE = 0.3  # points: how far a figure may be from the published one


@dataclass(frozen=True, slots=True)
class AnalysisSetting:
    """A list of stop words and the two constants of BM25."""

    stop_list: str
    k1: float = 1.2
    b: float = 0.75

    def __str__(self) -> str:
        return f"{self.stop_list} k1={self.k1} b={self.b}"


LUCENE, POSTGRES = AnalysisSetting("Lucene"), AnalysisSetting("Postgres")
SETTINGS = (
    LUCENE,
    POSTGRES,
    AnalysisSetting("Lucene", 0.9, 0.4),
    AnalysisSetting("Lucene", 1.5),
    AnalysisSetting("Postgres", 0.9, 0.4),
)

_TURNS = ("recall@5", "recall@10", "recall@20", "all@10", "any@10", "mrr@10")
_SESSIONS = ("recall@5", "recall@10", "all@10", "any@10", "mrr@10")
_ABSTRACTS = ("ndcg@10", "recall@100", "map@1000")
_KINDS = ("single-hop", "multi-hop", "temporal", "open-domain")

Row = tuple[str, AnalysisSetting, str, tuple[str, ...], tuple[float, ...]]

# In percent: part, setting, group, measures, figures.
PUBLISHED: tuple[Row, ...] = (
    ("locomo-turns", LUCENE, EVERYTHING, _TURNS, (46.4, 54.1, 62.9, 48.6, 61.2, 39.1)),
    ("locomo-turns", POSTGRES, EVERYTHING, _TURNS, (52.2, 60.6, 66.4, 54.7, 67.8, 45.0)),
    ("locomo-turns", SETTINGS[2], EVERYTHING, _TURNS, (49.3, 56.9, 65.0, 51.0, 64.4, 42.5)),
    ("locomo-turns", SETTINGS[3], EVERYTHING, _TURNS, (45.3, 53.3, 62.2, 48.1, 60.1, 38.2)),
    ("locomo-turns", SETTINGS[4], EVERYTHING, _TURNS, (54.6, 61.4, 67.4, 55.6, 68.7, 47.1)),
    ("locomo-sessions", LUCENE, EVERYTHING, _SESSIONS, (85.0, 92.4, 88.0, 96.1, 77.7)),
    ("locomo-sessions", POSTGRES, EVERYTHING, _SESSIONS, (87.0, 92.8, 88.3, 96.9, 80.7)),
    *(
        (part, setting, kind, ("recall@10",), (figure,))
        for part, setting, figures in (
            ("locomo-turns", LUCENE, (62.9, 27.9, 65.6, 27.6)),
            ("locomo-turns", POSTGRES, (68.7, 36.0, 73.3, 32.4)),
            ("locomo-sessions", LUCENE, (99.5, 79.1, 94.1, 72.0)),
        )
        for kind, figure in zip(_KINDS, figures, strict=True)
    ),
    ("beam-user", LUCENE, "factual", _SESSIONS, (70.2, 76.6, 62.0, 93.0, 77.9)),
    ("beam-user", LUCENE, EVERYTHING, _SESSIONS[:2], (48.9, 57.4)),
    ("beam-user", POSTGRES, "factual", _SESSIONS, (69.3, 78.1, 65.0, 93.0, 79.5)),
    ("beam-user", POSTGRES, EVERYTHING, _SESSIONS[:2], (49.7, 56.8)),
    ("beam-all", LUCENE, "factual", _SESSIONS, (55.7, 67.2, 52.0, 86.0, 58.3)),
    ("beam-all", LUCENE, EVERYTHING, _SESSIONS[:2], (34.4, 42.7)),
    ("beam-all", POSTGRES, "factual", _SESSIONS, (53.0, 65.0, 49.0, 85.0, 50.6)),
    ("beam-all", POSTGRES, EVERYTHING, _SESSIONS[:2], (31.8, 40.7)),
    ("beam-500k-user", LUCENE, "factual", _SESSIONS[:3], (56.0, 58.1, 47.4)),
    ("beam-500k-user", LUCENE, EVERYTHING, _SESSIONS[:2], (43.4, 48.5)),
    ("beam-500k-user", POSTGRES, "factual", _SESSIONS[:3], (56.0, 59.8, 47.4)),
    ("beam-500k-user", POSTGRES, EVERYTHING, _SESSIONS[:2], (43.1, 46.7)),
    ("beam-500k-all", LUCENE, "factual", _SESSIONS[:3], (50.2, 55.5, 47.4)),
    ("beam-500k-all", LUCENE, EVERYTHING, _SESSIONS[:2], (31.8, 40.4)),
    ("beam-500k-all", POSTGRES, "factual", _SESSIONS[:3], (42.3, 52.8, 47.4)),
    ("beam-500k-all", POSTGRES, EVERYTHING, _SESSIONS[:2], (28.7, 37.2)),
    ("scifact", LUCENE, EVERYTHING, _ABSTRACTS, (68.57, 92.09, 64.49)),
    ("scifact", POSTGRES, EVERYTHING, _ABSTRACTS, (68.49, 92.09, 64.03)),
    ("scifact", SETTINGS[3], EVERYTHING, _ABSTRACTS, (68.83, 92.16, 64.87)),
    ("cranfield", LUCENE, EVERYTHING, _ABSTRACTS, (37.52, 73.13, 29.47)),
    ("cranfield", POSTGRES, EVERYTHING, _ABSTRACTS, (38.37, 74.90, 30.42)),
    ("cranfield", SETTINGS[3], EVERYTHING, _ABSTRACTS, (38.09, 73.38, 29.93)),
)


@dataclass(frozen=True, slots=True)
class SearchedDocuments:
    """Documents that are searched together, in their order, by their ids, and the questions about them."""

    documents: Mapping[str, str]
    asked: tuple[DatasetQuestion, ...]


@dataclass(frozen=True, slots=True)
class PublishedFigure:
    """A published figure, and the figure that is computed here, in percent."""

    part: str
    setting: AnalysisSetting
    group: str
    measure: str
    published: float
    found: float

    @property
    def agrees(self) -> bool:
        """Return whether the two figures are within 0.3 points."""
        return abs(self.found - self.published) <= TOLERANCE


def reproduce(root: Path, suites: Sequence[str]) -> list[PublishedFigure]:
    """Return every published figure of these suites, together with the figure that is computed here."""
    figures = []
    for part, searched in _parts(root, suites):
        for setting in SETTINGS:
            rows = [row for row in PUBLISHED if row[:2] == (part, setting)]
            measured = _measure_groups(searched, setting) if rows else {}
            for _, _, group, measures, values in rows:
                for measure, value in zip(measures, values, strict=True):
                    found = 100 * statistics.fmean(scores[measure] for scores in measured[group])
                    figures.append(PublishedFigure(part, setting, group, measure, value, found))
    return figures


def _parts(root: Path, suites: Sequence[str]) -> Iterator[tuple[str, list[SearchedDocuments]]]:
    if "locomo" in suites:
        yield "locomo-sessions", _sessions(root)
        yield "locomo-turns", _turns(root)
    for suite, size in (("beam", "100K"), ("beam-500k", "500K")):
        if suite in suites:
            yield f"{suite}-user", _messages(root, size, ("user",))
            yield f"{suite}-all", _messages(root, size, ("user", "assistant"))
    for name in ("scifact", "cranfield"):
        if name in suites:
            held = datasets.load_corpus(root, name)
            texts = {document.id: f"{document.title} {document.text}" for document in held.documents}
            yield name, [SearchedDocuments(texts, held.asked)]


def _turns(root: Path) -> list[SearchedDocuments]:
    return [
        SearchedDocuments(
            {turn.id: _line(turn) for session in conversation.sessions for turn in session.turns},
            conversation.asked,
        )
        for conversation in datasets.load_conversations(root)
    ]


def _sessions(root: Path) -> list[SearchedDocuments]:
    found = []
    for conversation in datasets.load_conversations(root):
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
            DatasetQuestion(
                question.text, question.kinds, tuple(dict.fromkeys(home[turn] for turn in question.evidence))
            )
            for question in conversation.asked
        ]
        found.append(SearchedDocuments(texts, tuple(asked)))
    return found


def _line(turn: Turn) -> str:
    shown = f" [shares an image: {turn.caption}]" if turn.caption else ""
    return f"{turn.speaker}: {turn.text}{shown}"


def _messages(root: Path, size: str, roles: Sequence[str]) -> list[SearchedDocuments]:
    return [
        SearchedDocuments(
            {
                message.id: f"{message.role}: {message.content}"
                for message in chat.messages
                if message.role in roles
            },
            chat.asked,
        )
        for chat in datasets.load_chats(root, size)
    ]


def _measure_groups(
    searched: Iterable[SearchedDocuments], setting: AnalysisSetting
) -> dict[str, list[dict[str, float]]]:
    """Return the measures of every question, by group."""
    grouped: defaultdict[str, list[dict[str, float]]] = defaultdict(list)
    for searched_set in searched:
        index = _Index(searched_set.documents, setting)
        for asked in searched_set.asked:
            found = index.search(asked.text)
            ranks = [found.get(document) for document in asked.evidence]
            precision = {f"map@{DEPTH}": metrics.average_precision(ranks, DEPTH)}
            for group in (EVERYTHING, *asked.kinds):
                grouped[group].append(metrics.measure_ranking(ranks) | precision)
    return grouped


class _Index:
    """The documents of one collection, as counted words."""

    def __init__(self, documents: Mapping[str, str], setting: AnalysisSetting) -> None:
        self._setting = setting
        self._stemmer = Stemmer.Stemmer("english")
        self._ids = list(documents)
        self._tfs = [Counter(self._lexemes(text)) for text in documents.values()]
        self._lengths = [tfs.total() for tfs in self._tfs]
        self._holding: defaultdict[str, list[int]] = defaultdict(list)
        for at, tfs in enumerate(self._tfs):
            for lexeme in tfs:
                self._holding[lexeme].append(at)

    def search(self, text: str) -> dict[str, int]:
        """Return the ranks of the first `DEPTH` documents; of equal scores, the earlier document comes first."""
        wanted = self._lexemes(text)
        query = weigh(
            wanted,
            n=len(self._ids),
            total_length=sum(self._lengths),
            df={lexeme: len(self._holding[lexeme]) for lexeme in wanted if lexeme in self._holding},
            k1=self._setting.k1,
            b=self._setting.b,
        )
        candidates = {at for lexeme in query.lexemes for at in self._holding[lexeme]}
        ranked = rank(query, ((at, self._tfs[at], self._lengths[at]) for at in candidates))
        return {self._ids[at]: number for number, (at, _) in enumerate(ranked[:DEPTH], start=1)}

    def _lexemes(self, text: str) -> list[str]:
        return plain_lexemes(text, STOP_WORDS[self._setting.stop_list], self._stemmer)
