"""The results of the search for a context: the passages that may answer, and the pool of their lines."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf, nextafter
from operator import attrgetter

from memex.store.records import FilePassages, NearSpan, Reference, Span
from memex.store.search.bm25 import Query
from memex.store.search.confidence import best_line
from memex.subagent.context.evidence import ScoredPassage
from memex.subagent.context.pool import ContextLine, waiting_lines
from memex.subagent.context.selection import POOL_CHARS, CandidatePassage
from memex.subagent.judgement import ENGLISH, Judgement, judge


@dataclass(frozen=True, slots=True)
class Candidates:
    """The passages that may answer a query.

    Attributes:
        query: the query as search weighed it.
        pinned: the passages of pinned files, which come first, in their order.
        ranked: the best other passages, in any order.
        unread: passages that rank below all others and were not read.
        similarity: the highest MaxSim of passages whose lines were not compared; None if there are none.
        is_of_days: whether the search was narrowed to days that the query names.
        language: of memory.
        beside: the entries of the journal around those that were found.
        near: the passages that search compared in meaning: none while too few of them are embedded, and None if it
            searched by words alone.
        first: the passage that search ranked first.
        paths: the files of the ranked passages.
    """

    query: Query
    pinned: Sequence[CandidatePassage]
    ranked: Sequence[CandidatePassage]
    unread: Sequence[Reference]
    similarity: float | None = None
    is_of_days: bool = False
    language: str = ENGLISH
    beside: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    near: Sequence[NearSpan] | None = None
    first: Reference | None = None
    paths: Sequence[str] = ()

    @property
    def is_compared(self) -> bool:
        """Return whether the search compared meaning too."""
        return self.near is not None

    def nearness(self) -> dict[str, float]:
        """Return how much nearer each file is to the query than the last one by vector: a difference of cosines."""
        distances = [(span.path, span.distance) for span in self.near or () if span.distance is not None]
        last = max((distance for _, distance in distances), default=0.0)
        found: dict[str, float] = {}
        for path, distance in distances:
            found[path] = max(found.get(path, 0.0), last - distance)
        return found

    def led_by_first(self, lines: list[ContextLine]) -> list[ContextLine]:
        """Return lines, best first, with the best one of the passage that search ranked first before all others."""
        if self.first is None:
            return lines
        path, _, (start, end) = self.first
        for place, line in enumerate(lines):
            first, last = line.candidate.reference.span
            if line.candidate.reference.path == path and first < end and start < last:
                leading = line._replace(score=nextafter(lines[0].score, inf))
                return [leading, *lines[:place], *lines[place + 1 :]]
        return lines

    def judge(self, question: str, lines: Sequence[ContextLine], *, words: int, is_intent: bool) -> Judgement:
        """Return how sure it is that one of the lines answers the question; see `judgement.judge`.

        Args:
            question: as it was asked.
            lines: of memory.
            words: of the question, stop words not counted.
            is_intent: the question asks for a list.
        """
        found: list[tuple[float, float | None]] = []
        if self.is_compared:
            found = [(line.share, line.similarity) for line in lines]
        else:  # by words, the lines of a passage say together that it answers
            best = max([passage.value for passage in self.ranked], default=0) / max(self.query.most, 1)
            found = [(max([line.share for line in lines], default=0.0), None), (min(1.0, best), None)]
        if self.similarity is not None:
            found.append((0.0, self.similarity))
        return judge(
            question,
            self.query,
            best_line(found, self.query.chunks, words=words),
            is_of_days=self.is_of_days,
            is_intent=is_intent,
            language=self.language,
            is_embedded=not (self.is_compared and waiting_lines(lines)),
        )


@dataclass(frozen=True, slots=True)
class LinePool:
    """The lines among which a context chooses.

    Attributes:
        survey: the passages that they stand in.
        lines: of memory, the best first.
        judgement: how sure it is that memory answers.
        is_shown_whole: the memory is so small that all lines are shown that fit.
        is_list: the question asks for a list, and the lines begin with it.
        best: the best score by rules, where a list or a model's picks have changed scores.
        included: the lines of what was found beside memory, the best first.
    """

    survey: Candidates
    lines: Sequence[ContextLine]
    judgement: Judgement
    is_shown_whole: bool = False
    is_list: bool = False
    best: float | None = None
    included: Sequence[ContextLine] = ()


def pinned_passages(file: FilePassages, room: int) -> list[ScoredPassage]:
    """Return a pinned file as passages: all of it, or what fits of its beginning and one passage more."""
    spans: list[tuple[Span, tuple[str, ...]]]
    if file.size_chars - file.body_start <= room:
        spans = [((file.body_start, file.size_chars), ())]
    else:
        spans = [(passage.span, passage.heading) for passage in file.passages]
        spans = spans[: 1 + sum(span[1] - file.body_start <= room for span, _ in spans)]
    return [
        ScoredPassage(Reference(file.path, file.version, span), heading, 0, "pinned")
        for span, heading in spans
        if span[0] < span[1]
    ]


def split_by_value(
    worths: Iterable[ScoredPassage], chars: int
) -> tuple[list[ScoredPassage], list[ScoredPassage]]:
    """Return the passages that are read for a context, at least one, and the others.

    Those that are worth most come first, up to so many characters. What was told beside a match comes behind them,
    while all together hold no more than is ever read.
    """
    read, unread = list[ScoredPassage](), list[ScoredPassage]()
    used = 0
    most = {False: chars, True: max(chars, POOL_CHARS[-1])}
    for worth in sorted(worths, key=attrgetter("order", "reference")):  # ties by path and place
        start, end = worth.reference.span
        after = used + end - start
        if after <= most[worth.order[0]] or not read:
            read.append(worth)
            used = after
        else:
            unread.append(worth)
    return read, unread
