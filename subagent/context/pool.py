"""One pool of lines: the lines of all passages that may answer, and one score for all of them. Pure.

    score(line) = share(line) + w * share(window) + meaning(line) - typical meaning
    meaning(line) = MaxSim(line) + 0.3 * nearness(entry)

A small context has room for single lines, a large one for what stands around them: w is 1/2 for up to 2,000
characters, and 1 from 4,000 on. The window of a line is the passage that it stands in; of a short entry of the
journal, which says little by itself, it is that entry with those that were told around it on its day. `share` is
what a text scores by BM25, of the most that a text could score for the question: from 0 to 1. What a window scores
holds what links that lead to it are worth, and how near it is in meaning where search compares that. MaxSim
says how near the line itself is (`late_interaction`), where it is embedded by itself and search compares meaning.
The entry that such a line stands in counts by its vector, which says what the whole of a longer text is about: by
how much it is nearer than the last that search compared. What is typical is the median of the compared lines.

The lines of passages that were found beside memory have the same score by words, with the weights that words have
where the passages were found; of a passage of one line both shares are what search gave it, with the words that a
short message borrows from those beside it. They have no MaxSim, and so stand among the lines of memory as typical
ones.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date
from functools import lru_cache, partial
from statistics import median_high
from typing import NamedTuple

from memex.store.entry_path import entries_among, entry_day, is_entry_at
from memex.store.markdown import read_summaries
from memex.store.records import EntryStatement, Reference, Span, Tombstone, maker
from memex.store.search.analyzer import Analyzer
from memex.store.search.bm25 import K1, B, Query, score
from memex.store.search.hybrid.fusion import are_enough
from memex.store.search.hybrid.statement_states import SIMILARITY_SCALE
from memex.store.search.index import text_digest
from memex.subagent.context.lines import MAX_WHOLE_CHARS, split_lines, split_titled_lines
from memex.subagent.context.selection import CandidatePassage
from memex.subagent.context.statements import (
    DatedBullet,
    StatementUnit,
    bullets_in,
    embedded_text,
)
from memex.subagent.included import FoundPassage, FoundSection, IncludedPlace
from memex.subagent.memory_tools import MemoryTools
from memex.subagent.planner import Why
from memex.subagent.statements.comparison.remains import find_echoes, may_echo
from memex.subagent.statements.places import is_statement_file, mount_of
from memex.subagent.statements.words import CountedWords, LineWords
from memex.subagent.text_cache import TextCache

WINDOW = 0.5  # of the share of a line's passage, or of its entry's window; more in large contexts
WHOLE_WINDOW_CHARS = 4_000  # of a context in which a window counts whole
SHORT_ENTRY_CHARS = 300  # an entry that is no longer has a window: it says little without those around it
NEARNESS = (
    0.3  # of how near the entry of a line is by vector; 0.2 and 0.4 bring the same on five chats of BEAM
)
LISTED = 2.0  # more than words and meaning together are worth
LISTED_IN_ORDER = 0.1  # what stands first in a list is worth so much more than the last
MAX_LEAD_IN_CHARS = 60  # of the words that lead to others
NEAR = 0.2  # a MaxSim from which on a line without a word of the question is said to be near in meaning
STOP = 0.1  # of the best line's score: what scores less is not recalled to fill up
POOL_LINES = 400  # the best, among which a context chooses
MAX_KEPT_CHARS = 2_000_000  # of passages whose lines are kept, of each kind, with their words

_WORD = re.compile(r"\w")
_LINE = re.compile(r"[^\n]+")
_LEAD_IN = re.compile(  # `Remind me to`, which says nothing alone; `I play chess and` says something
    r"\s*[^\W\d]+(?:[ ,:]+[^\W\d]+){0,3}(?<!\band)(?<!\bund)(?<!\bbut)(?<!\bet)(?<!\by)[ :]*", re.IGNORECASE
)
EntriesBeside = Mapping[str, Mapping[str, int]]  # see `Memory.entries_beside`
NOTHING_BESIDE: EntriesBeside = {}
_NOTHING: Mapping[str, int] = {}
NOWHERE: Mapping[str, float] = {}


class ContextLine(NamedTuple):  # a call makes a thousand, and a dataclass takes three times as long
    """A line that may be recalled.

    Attributes:
        candidate: it as a passage, with the value of the passage that it stands in.
        unit: the statement that it is: one of a page, or a sentence of an entry that a newer one contradicts.
        score: how well it answers.
        share: its score by words, of the most that the question could score: from 0 to 1.
        similarity: its MaxSim, from -1 to 1; None where it was not compared.
        why: why it may answer: a `Why`, or the reason that a model gave for its pick.
        included: where it stands, if it is no line of memory.
        read: the words of its text, if they are kept.
    """

    candidate: CandidatePassage
    unit: StatementUnit | None = None
    score: float = 0.0
    share: float = 0.0
    similarity: float | None = None
    why: str = "neighbour"
    included: IncludedPlace | None = None
    read: LineWords | None = None

    @property
    def words(self) -> LineWords:
        """The words of its text."""
        return self.read or LineWords(self.candidate.text)

    @property
    def reference(self) -> Reference:
        """Its path, version and span."""
        return self.candidate.reference

    @property
    def day(self) -> date | None:
        """The day on which it was said, if it is a statement, a told line, or one of a conversation."""
        if self.unit is not None:
            return self.unit.day
        if self.included is not None:
            said_at = self.included.passage.details.get("said_at")
            return date.fromisoformat(said_at[:10]) if said_at else None
        path = self.reference.path
        return entry_day(path.removeprefix("user/")) if is_entry_at(path) else None

    @property
    def is_of_page(self) -> bool:
        """Whether it is a statement of a page."""
        return self.unit is not None and not is_entry_at(self.reference.path)

    @property
    def is_whole_passage(self) -> bool:
        """Whether it is all that a passage beside memory says, so that search has scored this very line."""
        return self.included is not None and self.candidate.text == self.included.passage.text.strip()

    @property
    def is_waiting(self) -> bool:
        """Whether it was told, no word of the question speaks for it, and it is to be embedded, but is not yet."""
        is_whole = self.read is not None and len(self.candidate.text) <= MAX_WHOLE_CHARS  # others never are
        is_told = is_entry_at(self.reference.path) and self.included is None
        return is_told and is_whole and self.similarity is None and not self.share

    @property
    def embedded_text(self) -> str:
        """The text by which it is embedded; see `embedded_lines`."""
        one = self.candidate
        if not self.is_of_page:
            return one.text
        return embedded_text(one.heading[-1] if one.heading else "", one.text)


_make_line, _make_passage, _make_reference = maker(ContextLine), maker(CandidatePassage), maker(Reference)


def embedded_lines(path: str, content: str) -> Iterator[tuple[int, str]]:
    """Yield where each line of a file begins that is embedded by itself, and its text: statements, and told words.

    Args:
        path: virtual.
        content: the whole file.
    """
    if is_statement_file(path):
        for bullet in bullets_in(content):
            yield bullet.span[0], embedded_text(bullet.title, content[slice(*bullet.span)])
    elif is_entry_at(path):
        for start, end in split_lines(content):
            yield start, content[start:end]


def lines_of(
    passages: Iterable[CandidatePassage], stated: Iterable[EntryStatement] = ()
) -> list[ContextLine]:
    """Return the lines of passages, each once, with the values of their passages.

    What a page said of words of the journal, and does not say any more, is no line, and no part of one.

    Args:
        passages: with their texts, in any order.
        stated: the statements that were made from entries among them.
    """
    gone: dict[str, list[Span]] = {}
    for statement in stated:
        if not statement.is_in_force:
            gone.setdefault(statement.path, []).append((statement.start_char, statement.end_char))
    found: dict[Reference, ContextLine] = {}
    for passage in passages:
        for line in _split(passage, gone.get(passage.reference.path, ())):
            candidate = line.candidate
            known = found.setdefault(candidate.reference, line)
            if known.candidate.value < candidate.value:
                found[candidate.reference] = line
    return list(found.values())


def in_force(lines: list[ContextLine], out_of_time: Collection[str]) -> list[ContextLine]:
    """Return lines without those of files and entries that do not hold on the day of the question."""
    return [line for line in lines if line.reference.path not in out_of_time] if out_of_time else lines


def standing(lines: list[ContextLine], tools: MemoryTools) -> list[ContextLine]:
    """Return the lines that hold on the day of the question, without what was forgotten."""
    return without_forgotten(in_force(lines, tools.out_of_time), tools.forgotten, tools.analyzer)


def without_forgotten(
    lines: list[ContextLine], tombstones: Sequence[Tombstone], analyzer: Analyzer
) -> list[ContextLine]:
    """Return lines without what was forgotten, by whatever way it came back; of an entry the rest of a line stays.

    What was found beside memory was said by the user, or to him, before: it is left out by its values alone.
    """
    forgotten = [tombstone for tombstone in tombstones if tombstone.strength == "forgotten"]
    if not forgotten:
        return lines
    kept: list[ContextLine] = []
    for line in lines:
        text, is_beside = line.candidate.text, line.included is not None
        mount = "user" if is_beside else mount_of(line.reference.path)
        own = [tombstone for tombstone in forgotten if tombstone.mount == mount]
        if not is_beside:
            own = [tombstone for tombstone in own if may_echo(text, tombstone, analyzer)]
        gone = [echo.span for echo in find_echoes(text, own, analyzer) if echo.is_outright or is_beside]
        if gone and not is_beside and is_entry_at(line.reference.path):
            kept += [part_of(line, span) for span in left_of(text, (0, len(text)), gone)]
        elif not gone:
            kept.append(line)
    return kept


def pinned_left(
    pinned: Sequence[CandidatePassage], tombstones: Sequence[Tombstone], analyzer: Analyzer
) -> Sequence[CandidatePassage]:
    """Return what is left of pinned passages without the lines that say what was forgotten."""
    if not any(tombstone.strength == "forgotten" for tombstone in tombstones):
        return pinned
    left: list[CandidatePassage] = []
    for passage in pinned:
        (path, version, (first, _)), text = passage.reference, passage.text
        spans = [line.span() for line in _LINE.finditer(text)]
        lines = [
            ContextLine(passage._replace(reference=Reference(path, version, span), text=text[slice(*span)]))
            for span in spans
        ]
        kept = {line.reference.span for line in without_forgotten(lines, tombstones, analyzer)}
        for start, end in left_of(text, (0, len(text)), [span for span in spans if span not in kept]):
            reference = Reference(path, version, (first + start, first + end))
            left.append(passage._replace(reference=reference, text=text[start:end]))
    return left


def _split(passage: CandidatePassage, gone: Sequence[Span]) -> Iterator[ContextLine]:
    (path, version, (first, _)), text, value, reason, linked_from, above = passage
    gone = [(start - first, end - first) for start, end in gone]
    is_entry = is_entry_at(path)
    cut = _CUT[is_statement_file(path), first == 0 and not is_entry]
    for line, said, bullet, titles, words in cut(text):
        if bullet is not None:
            heading = (bullet.title,) if bullet.title else above[-1:]
        else:
            heading = (*above, *titles) if titles and not is_entry else above
        for start, end in left_of(text, line, gone) if gone else (line,):
            piece = text[start:end] if gone else said
            reference = _make_reference((path, version, (first + start, first + end)))
            candidate = _make_passage((reference, piece, value, reason, linked_from, heading))
            unit = None
            if bullet is not None:
                unit = StatementUnit(candidate, bullet.day, due=bullet.due, still_true=bullet.still_true)
            yield _make_line((candidate, unit, 0.0, 0.0, None, "neighbour", None, None if gone else words))


def left_of(text: str, line: Span, gone: Iterable[Span]) -> Iterator[Span]:
    """Yield what is left of a text outside some spans: pieces that hold words, without the space around them.

    A few words that only lead to such a span, such as `Goal:`, are not left.

    Args:
        text: of which a line is a part.
        line: the span of the line.
        gone: the spans, in any order.
    """
    at, end = line
    within = sorted(span for span in gone if span[0] < end and at < span[1])
    if not within:
        yield line
        return
    for start, stop in within:
        if start - at > MAX_LEAD_IN_CHARS or not _LEAD_IN.fullmatch(text, at, max(at, start)):
            yield from _piece(text, at, start)
        at = max(at, stop)
    yield from _piece(text, at, end)


def _piece(text: str, start: int, end: int) -> Iterator[Span]:
    said = text[start:end]
    if _WORD.search(said):
        yield start + len(said) - len(said.lstrip()), start + len(said.rstrip())


class _CutLine(NamedTuple):
    """A line of a passage: its span there, its text, the bullet that it is, the titles above it, and its words."""

    span: Span
    text: str
    bullet: DatedBullet | None
    titles: tuple[str, ...]
    words: LineWords


def _cut(text: str, *, is_page: bool, is_front: bool) -> tuple[_CutLine, ...]:
    """Return the lines of the text of a passage, of a page of statements or not, and from its beginning or not."""
    return tuple(
        [
            _CutLine(span, said := text[slice(*span)], bullet, titles, LineWords(said))
            for span, bullet, titles in _spans(text, is_page, is_front)
        ]
    )


_CUT = {
    (is_page, is_front): TextCache(
        partial(_cut, is_page=is_page, is_front=is_front), max_chars=MAX_KEPT_CHARS
    )
    for is_page in (False, True)
    for is_front in (False, True)
}


def _spans(
    text: str, is_page: bool, is_front: bool
) -> Iterator[tuple[Span, DatedBullet | None, tuple[str, ...]]]:
    at = 0
    if is_front:
        summaries, at = read_summaries(text)
        for start, end in summaries:
            yield from _between(text, start, end)
    for bullet in bullets_in(text) if is_page else ():
        if bullet.span[0] < at:
            continue
        yield from _between(text, at, bullet.span[0])
        yield bullet.span, bullet, ()
        at = bullet.end
    yield from _between(text, at, len(text))


def _between(text: str, start: int, end: int) -> Iterator[tuple[Span, None, tuple[str, ...]]]:
    for (first, last), titles in split_titled_lines(text[start:end]):
        yield (start + first, start + last), None, titles


def entries_of(passages: Iterable[CandidatePassage]) -> list[str]:
    """Return the entries of the journal among the files of passages, each once, in order."""
    return entries_among(passage.reference.path for passage in passages)


def window_weight(budget: int) -> float:
    """Return what the share of a line's window counts in a context of so many characters: from 1/2 to 1."""
    return min(1.0, max(WINDOW, budget / WHOLE_WINDOW_CHARS))


def score_lines(
    lines: Sequence[ContextLine],
    query: Query,
    analyzer: Analyzer,
    beside: EntriesBeside = NOTHING_BESIDE,
    *,
    weight: float = WINDOW,
) -> list[ContextLine]:
    """Return the best lines, best first; ties by what their passages are worth, path and place.

    Args:
        lines: with the values of their passages.
        query: as search weighed it.
        analyzer: makes the lexemes of a line.
        beside: the entries of the journal that were told around those of the lines.
        weight: what the share of a window counts; see `window_weight`.
    """
    held, lengths = _words_of_query(lines, query, analyzer)
    mean = sum(lengths) / max(1, len(lengths))
    by_line = replace(query, c2=K1 * (1 - B), c3=K1 * B / max(mean, 1.0))
    of_entries = _window_scores(lines, held, lengths, query, beside)
    most = max(query.most, 1)
    scored: list[tuple[float, int, str, Span, int, int]] = []  # sorts as `best_first`
    for place, line in enumerate(lines):
        (path, _, span), _, value, _, _, _ = line.candidate
        own = score(by_line, held[place], lengths[place]) if held[place] else 0
        if line.included is not None and line.is_whole_passage:
            own = value
        window = own if line.unit is not None and line.is_of_page else value
        if of_entries:
            window = of_entries.get(path, window)
        scored.append((-(own + weight * window) / most, -value, path, span, place, own))
    best: list[ContextLine] = []
    for score_below_zero, _, _, _, place, own in sorted(scored)[:POOL_LINES]:
        line = lines[place]
        candidate, unit, _, _, similarity, _, included, read = line
        why: Why = "words" if own > 0 else "neighbour"
        if candidate.reason != "match":
            why = _why(line, why)
        fields = candidate, unit, -score_below_zero, own / most, similarity, why, included, read
        best.append(_make_line(fields))
    return best


def _words_of_query(
    lines: Iterable[ContextLine], query: Query, analyzer: Analyzer
) -> tuple[list[Mapping[str, int]], list[int]]:
    """Return how often each lexeme of a query stands in each line, and the length of each in lexemes.

    The titles above a line count as a part of it, where they are no kinds of statements.
    """
    wanted = frozenset(query.lexemes)
    of_titles: dict[tuple[str, ...], CountedWords] = {}
    held: list[Mapping[str, int]] = []
    lengths: list[int] = []
    for line in lines:
        frequencies, length = (line.read or line.words).count(analyzer)
        shared = wanted & frequencies.keys()
        own = {lexeme: frequencies[lexeme] for lexeme in shared} if shared else _NOTHING
        titles = line.candidate.heading
        if titles and (line.unit is None or not line.is_of_page):
            above = of_titles.get(titles)
            if above is None:
                found = _count_titles(titles, analyzer)
                of_query = {lexeme: found.frequencies[lexeme] for lexeme in wanted & found.frequencies.keys()}
                above = of_titles[titles] = CountedWords(of_query, found.length)
            if above.frequencies:
                own = dict(own)
                _add(own, above.frequencies)
            length += above.length
        held.append(own)
        lengths.append(length)
    return held, lengths


@lru_cache(maxsize=4_096)
def _count_titles(titles: tuple[str, ...], analyzer: Analyzer) -> CountedWords:
    found = Counter(analyzer.lexemes("\n".join(titles)))
    return CountedWords(found, found.total())


def _window_scores(
    lines: Sequence[ContextLine],
    held: Sequence[Mapping[str, int]],
    lengths: Sequence[int],
    query: Query,
    beside: EntriesBeside,
) -> dict[str, int]:
    """Return what each short entry of the journal scores together with those that were told around it, by path.

    Of an entry that was not found, which holds no word of the query or few, only the length counts.
    """
    own: dict[str, dict[str, int]] = {}
    lexemes: dict[str, int] = {}
    chars: dict[str, int] = {}  # up to the last line: of a long entry, a part may have been read
    values: dict[str, int] = {}
    for line, frequencies, length in zip(lines, held, lengths, strict=True):
        path, _, span = line.candidate.reference
        if is_entry_at(path):
            _add(own.setdefault(path, {}), frequencies)
            lexemes[path] = lexemes.get(path, 0) + length
            chars[path] = max(chars.get(path, 0), span[1])
            values[path] = line.candidate.value
    if not own:
        return {}
    by_char = sum(lexemes.values()) / max(1, sum(chars.values()))
    around: dict[str, dict[str, int]] = {}
    for path, others in beside.items():
        around.setdefault(path, {}).update(others)
        for other in others:
            around.setdefault(other, {}).setdefault(path, 0)
    windows = {path: dict(own[path]) for path in own if chars[path] <= SHORT_ENTRY_CHARS}
    window_lengths: dict[str, float] = {path: lexemes[path] for path in windows}
    for path, window in windows.items():
        for other, size_chars in around.get(path, {}).items():
            _add(window, own.get(other, {}))
            window_lengths[path] += lexemes.get(other, size_chars * by_char)
    longer = sum(window_lengths.values()) / max(1, sum([lexemes[path] for path in windows]))
    by_window = replace(query, c3=query.c3 / max(1.0, longer))
    return {
        path: score(by_window, window, round(window_lengths[path]))
        + max(0, values[path] - score(query, own[path], lexemes[path]))
        for path, window in windows.items()
    }


def _add(counts: dict[str, int], more: Mapping[str, int]) -> None:
    for lexeme, count in more.items():  # `Counter.update` takes longer than the rest of a context's windows
        counts[lexeme] = counts.get(lexeme, 0) + count


async def add_meaning(
    question: str, lines: Sequence[ContextLine], tools: MemoryTools, near: Mapping[str, float] = NOWHERE
) -> list[ContextLine]:
    """Return lines, best first, with what they mean in their scores: MaxSim above what is typical, and nearness.

    A line that is not embedded counts as typical, so that it stands among the others by its words; and the more
    such lines there are, the less meaning counts.

    Args:
        question: as it was asked.
        lines: with their scores by words.
        tools: compare the lines.
        near: how much nearer an entry is by vector than the last one that search compared, by path.
    """
    found = await tools.similarities(question, [text_digest(line.embedded_text) for line in lines])
    with_words = {line.reference.path for line in lines if line.share}
    lines = [
        line._replace(why=_why(line, "meaning"))
        if line.candidate.value > 0 and line.reference.path not in with_words
        else line
        for line in lines
    ]
    meant = [
        None if similar is None else similar / SIMILARITY_SCALE + _nearness(line, near)
        for line, similar in zip(lines, found, strict=True)
    ]
    if not (weight := _weight_of_meaning(lines, found)):
        return list(lines)
    typical = median_high(value for value in meant if value is not None)
    return best_first(
        line
        if value is None or similar is None
        else line._replace(
            score=line.score + weight * (value - typical),
            similarity=similar / SIMILARITY_SCALE,
            why=_why(line, "meaning") if similar >= NEAR * SIMILARITY_SCALE and not line.share else line.why,
        )
        for line, value, similar in zip(lines, meant, found, strict=True)
    )


def _weight_of_meaning(lines: Sequence[ContextLine], found: Sequence[int | None]) -> float:
    """Return the share of told lines that are embedded, which code never is; 0 while whole texts wait for it."""
    paths = [line.candidate.reference.path for line in lines]
    known = {path for path, similar in zip(paths, found, strict=True) if similar is not None}
    told = [path for path, one in zip(paths, lines, strict=True) if one.unit is not None or is_entry_at(path)]
    if not are_enough(sum([path in known for path in told]), len(told)):
        return 0.0
    embedded = len(found) - found.count(None)
    return embedded / max(1, embedded, len(told))


def waiting_lines(lines: Sequence[ContextLine]) -> list[ContextLine]:
    """Return the lines that nothing can judge yet: those of a told text of which no line is embedded so far."""
    embedded = {line.reference.path for line in lines if line.similarity is not None}
    return [line for line in lines if line.is_waiting and line.reference.path not in embedded]


def _nearness(line: ContextLine, near: Mapping[str, float]) -> float:
    """Return what the vector of a line's entry is worth; a statement of a page stands for itself."""
    return 0.0 if line.is_of_page else NEARNESS * near.get(line.reference.path, 0.0)


def included_lines(
    included: Iterable[FoundSection], query: Query, analyzer: Analyzer, *, weight: float = WINDOW
) -> list[ContextLine]:
    """Return the lines of passages that were found beside memory, best first.

    Args:
        included: the passages, with the query as the search of their kind weighed it.
        query: as the search of memory weighed it, for passages of which nobody knows the other.
        analyzer: makes the lexemes of a line.
        weight: as of `score_lines`.
    """
    found: list[ContextLine] = []
    for section in included:
        lines = [
            line._replace(included=IncludedPlace(section, passage))
            for passage in section.passages
            for line in lines_of([_candidate(section, passage)])
        ]
        scored = score_lines(lines, section.query or query, analyzer, weight=weight)
        found += [line._replace(why=section.reason) for line in scored]
    return best_first(found)


def _candidate(section: FoundSection, passage: FoundPassage) -> CandidatePassage:
    above = passage.heading[:-1] if passage.text.startswith("#") else passage.heading
    return CandidatePassage(passage.reference, passage.text, passage.score, section.reason, None, above)


def without_score(lines: Sequence[ContextLine]) -> list[ContextLine]:
    """Return lines in their order, with scores below those of all others."""
    return [
        line._replace(score=-place / len(lines), why=_why(line, "recent"))
        for place, line in enumerate(lines, start=1)
    ]


def _why(line: ContextLine, own: Why) -> Why:
    """Return what led to the file of a line, or, if search found the file, what the line has of its own."""
    reason = line.candidate.reason
    if reason == "link" or reason == "backlink" or reason == "neighbour":  # noqa: PLR1714  # mypy narrows no `in`
        return reason
    return "recent" if reason == "recent" and own == "neighbour" else own


def with_listed(lines: Sequence[ContextLine], listed: Sequence[StatementUnit]) -> list[ContextLine]:
    """Return lines, best first, with the statements of a list that a question asks for, in the order of the list.

    To be in the list is worth more than all words and any meaning that a line may share with the question.
    """
    merged = {line.reference: line for line in lines}
    for place, unit in enumerate(listed):
        known = merged.get(unit.reference)
        score = LISTED + LISTED_IN_ORDER * (1 - place / len(listed))
        if known is None or known.score < score:
            own = unit if is_statement_file(unit.reference.path) else None
            why = known.why if known and (known.share or (known.similarity or 0) >= NEAR) else "list"
            merged[unit.reference] = ContextLine(unit.candidate, known.unit if known else own, score, why=why)
    return best_first(merged.values())


def part_of(line: ContextLine, span: Span) -> ContextLine:
    """Return a part of a line, by its span in the text of the line."""
    path, version, (first, _) = line.reference
    reference = Reference(path, version, (first + span[0], first + span[1]))
    return line._replace(
        candidate=line.candidate._replace(reference=reference, text=line.candidate.text[slice(*span)]),
        read=None,
    )


def first_chars(lines: list[ContextLine], chars: int) -> list[ContextLine]:
    """Return the first lines, as many as hold so many characters."""
    for count, line in enumerate(lines, start=1):
        chars -= len(line.candidate.text)
        if chars <= 0:
            return lines[:count]
    return lines


def best_first(lines: Iterable[ContextLine]) -> list[ContextLine]:
    """Return lines in the order of their scores, the best first; ties by their passages, path and place."""
    return sorted(
        lines,
        key=lambda line: (
            -line.score,
            -line.candidate.value,
            (reference := line.candidate.reference).path,
            reference.span,
        ),
    )
