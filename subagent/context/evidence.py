"""The evidence for passages of memory: the words of a query, links from what matches, and neighbours.

Everything is in the units of search's scores, as integers. A passage is worth what it scored itself, and more when
a link leads to it or when it stands in a file that matches well.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import isqrt
from typing import NamedTuple

from memex.store.entry_path import entries_among, is_entry_at
from memex.store.memory import Memory
from memex.store.records import FilePassages, Hit, NearLink, NearSpan, Passage, Reference, maker
from memex.store.search import series
from memex.store.search.bm25 import Query
from memex.store.snapshot.reads import Reads
from memex.subagent.context.selection import CandidatePassage, read_chars, value_for_length
from memex.subagent.memory_tools import MAX_PINNED, MemoryTools
from memex.subagent.planner import ContextRequest, RecallReason
from memex.subagent.statements.places import is_statement_file

POOL_FILES = 100  # that a query finds at most: a told message is a file of its own; more brought nothing
ENTRIES = 24  # of the journal, the best, beside which others are looked at; 60 bring less than a point
WINDOWED = 60  # entries, the best, that have a window; all 100 bring no more
REACH = 2  # entries on either side of one that are its window
SEEDS = 16  # files, the best, whose neighbours are looked at
SEED_PASSAGES = 4  # of each, those that score highest
SOURCES = 8  # files of one hop whose links are followed; of the first also all passages are looked at
TARGETS = 16  # files that links of one hop lead to
BACK_SOURCES = 4  # files whose backlinks are followed
SHORT_CHARS = 600  # a file that is no longer is read with those beside it in its series
WHOLE_CHARS = 2_600  # a file that is no longer is one passage
FRONT_CHARS = 2_000  # front matter that is no longer is looked at: a summary in it is a line

# In hundredths of a value that is handed on:
LINK_SHARE = 75  # by a passage to the files that its links lead to
BACK_SHARE = 30  # by a file to those that link to it
SERIES_SHARE = {1: 50, 2: 25}  # by a short file to those beside it in a numbered series, by distance
NEIGHBOUR_SHARE = 30  # by a file's best passage to the ones before and after it
FILE_SHARE = 10  # by a file's best passage to all others


class ReachedFile(NamedTuple):  # a call makes hundreds, and a dataclass takes three times as long
    """A file that another leads to: what that is worth, from where, to which heading, and how."""

    path: str
    bonus: int
    linked_from: str
    heading: str | None = None
    reason: RecallReason = "link"


class ScoredPassage(NamedTuple):  # as `ReachedFile`
    """A passage and what recalling it is worth; its text has not been read yet.

    Passages are read by `order`: behind what was told beside a match, or not; then minus the value for the length.
    """

    reference: Reference
    heading: tuple[str, ...]
    value: int
    reason: RecallReason
    linked_from: str | None = None
    order: tuple[bool, int] = (False, 0)

    def candidate(self, text: str) -> CandidatePassage:
        """Return it with its text, without white space at the end; a heading in it is not said again."""
        text = text.rstrip()
        path, version, (start, _) = self.reference
        reference = _make_reference((path, version, (start, start + len(text))))
        above = self.heading[:-1] if text.startswith("#") else self.heading
        return _make_passage((reference, text, self.value, self.reason, self.linked_from, above))


_make_passage, _make_reference = maker(CandidatePassage), maker(Reference)
_make_scored = maker(ScoredPassage)


@dataclass(slots=True)
class Evidence:
    """The files that may be recalled for a query, with the query as search weighed it.

    `first` is the passage that search ranked first, and `beside` names the entries around those found. `similarity`
    is the highest MaxSim of files not embedded line by line. `is_of_days` and `near` are those of `SearchResult`.
    """

    query: Query
    files: dict[str, FilePassages] = field(default_factory=dict)
    targets: dict[str, ReachedFile] = field(default_factory=dict)
    matched: set[str] = field(default_factory=set)
    similarity: float | None = None
    is_of_days: bool = False
    beside: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    near: Sequence[NearSpan] | None = None
    first: Reference | None = None

    def scored_passages(self, whole_chars: int) -> list[ScoredPassage]:
        """Return every passage that is worth anything; a file of at most `whole_chars` is one."""
        found: list[ScoredPassage] = []
        for path in self.files:
            self._add_of_file(found, path, whole_chars)
        return found

    def value(self, path: str) -> int:
        """Return what the best passage of a file is worth."""
        own = max([passage.score for passage in self.files[path].passages], default=0)
        return own + (self.targets[path].bonus if path in self.targets else 0)

    def linked_passage(self, path: str) -> Reference:
        """Return the passage of a file that a link means."""
        file = self.files[path]
        passage = _linked_passage(file, self.targets[path].heading)
        return Reference(path, file.version, passage.span)

    def _add_of_file(self, found: list[ScoredPassage], path: str, whole_chars: int) -> None:
        """Add the passages of a file that are worth anything."""
        file, target = self.files[path], self.targets.get(path)
        reason: RecallReason = "match"
        source = None
        if target is not None and path not in self.matched:
            reason, source = target.reason, target.linked_from
        version, passages = file.version, file.passages
        top, is_beside = self.value(path), reason == "neighbour"
        is_whole = file.size_chars - file.body_start <= whole_chars
        start = 0 if file.body_start <= FRONT_CHARS else file.body_start
        end = file.size_chars if is_whole else file.body_start
        if top and start < end:  # all of a short file, and else its front matter
            order = is_beside, -value_for_length(top, end - start)
            reference = Reference(file.path, version, (start, end))
            found.append(ScoredPassage(reference, (), top, reason, source, order))
        if is_whole:
            return
        best = passages.index(_linked_passage(file, target.heading if target else None))
        near, far = top * NEIGHBOUR_SHARE // 100, top * FILE_SHARE // 100
        for at, (span, heading, score, _) in enumerate(passages):
            if at == best:
                value = score + (target.bonus if target else 0)
            else:
                value = score + (near if at == 0 or -1 <= at - best <= 1 else far)
            if value and span[0] < span[1]:
                reference = _make_reference((path, version, span))
                order = is_beside, -value_for_length(value, span[1] - span[0])
                found.append(_make_scored((reference, heading, value, reason, source, order)))


async def gather_evidence(request: ContextRequest, tools: MemoryTools) -> Evidence:
    """Return what memory holds about a query, following links from what matches, as far as the request says."""
    evidence = await _find_matches(request, tools)
    frontier = list(evidence.files)[:SOURCES]
    backward = frontier[:BACK_SOURCES] if request.max_hops else []
    texts = _found_texts(frontier, evidence) if request.max_hops else {}
    if tools.held is not None:
        reads = await _reads_of_matches(evidence, frontier, tools.held)
        await tools.read_ahead(replace(reads, near=texts, back=backward))
    await _add_passages(frontier, evidence, tools)
    await _add_neighbours(evidence, tools)
    left: set[str] = set()
    for hop in range(request.max_hops):
        if hop:
            texts = await _link_texts([path for path in frontier if path not in left], evidence, tools)
            await tools.read_ahead(Reads(near=texts))
        if not texts:
            break
        left |= texts.keys()
        targets = _files_linked_to(evidence, await tools.near_links(texts))
        if hop == 0:
            back = _files_linking_here(evidence, await tools.back_links(backward))
            targets = _best_reached_files(
                {path: _stronger(back.get(path), targets.get(path)) for path in back | targets}
            )
        await _add_reached_files(targets, evidence, tools)
        frontier = [path for path in targets if path in evidence.files][:SOURCES]
    return evidence


async def _reads_of_matches(evidence: Evidence, frontier: Sequence[str], memory: Memory) -> Reads:
    """Return what is read of files that match, of those beside them, and of those that every context looks at."""
    beside = [path for path in _find_neighbours(evidence) if path not in evidence.files]
    pinned = await memory.pinned(limit=MAX_PINNED)
    return Reads(
        passages=[(evidence.query, paths) for paths in (frontier, beside, pinned) if paths],
        beside=_windowed(evidence),
        reach=REACH,
    )


async def _find_matches(request: ContextRequest, tools: MemoryTools) -> Evidence:
    """Return what matches: as many files as hold what is read, since the lines of all are compared."""
    chars = read_chars(request.budget)
    found = await tools.find(request.query, limit=POOL_FILES, passages=SEED_PASSAGES, chars=chars)
    evidence = Evidence(
        found.query,
        similarity=max(_of_passages(found.hits), default=None),
        is_of_days=found.is_of_days,
        near=found.near,
        first=next((Reference(hit.path, hit.version, hit.span) for hit in found.hits), None),
    )
    for hit in found.hits:
        if hit.file is not None:
            evidence.files[hit.path] = hit.file
            evidence.matched.add(hit.path)
    return evidence


def _of_passages(hits: Iterable[Hit]) -> Iterator[float]:
    """Yield the MaxSim of files that were compared by their passages alone."""
    for hit in hits:
        is_by_line = is_entry_at(hit.path) or is_statement_file(hit.path)
        if hit.match.interaction is not None and not is_by_line:
            yield hit.match.interaction


def _is_short(file: FilePassages | None) -> bool:
    return file is not None and file.size_chars - file.body_start <= SHORT_CHARS


def _find_neighbours(evidence: Evidence) -> dict[str, ReachedFile]:
    """Return the places beside short files in a numbered series: the turns before and after one that matches."""
    found: dict[str, ReachedFile] = {}
    for path in list(evidence.files)[:SEEDS]:
        if not _is_short(evidence.files[path]):
            continue
        for distance, beside in series.neighbours(path, max(SERIES_SHARE)).items():
            bonus = evidence.value(path) * SERIES_SHARE[abs(distance)] // 100
            found[beside] = _stronger(found.get(beside), ReachedFile(beside, bonus, path, reason="neighbour"))
    return found


def _windowed(evidence: Evidence) -> list[str]:
    return entries_among(evidence.files)[:WINDOWED]


async def _entries_beside(evidence: Evidence, tools: MemoryTools) -> dict[str, ReachedFile]:
    """Note which entries were told around those that match; return those around the ones that match best."""
    entries = _windowed(evidence)
    evidence.beside = await tools.entries_beside(entries, reach=REACH) if entries else {}
    best = frozenset(list(evidence.files)[:ENTRIES])
    near = [(path, beside) for path, around in evidence.beside.items() if path in best for beside in around]
    return {beside: ReachedFile(beside, 1, path, reason="neighbour") for path, beside in near}


async def _add_neighbours(evidence: Evidence, tools: MemoryTools) -> None:
    """Add the files beside short ones, those that are short too: in a numbered series, and in the journal."""
    found = _find_neighbours(evidence) | await _entries_beside(evidence, tools)
    await _add_passages([path for path in found if path not in evidence.files], evidence, tools)
    _record_reached_files(
        {path: one for path, one in found.items() if _is_short(evidence.files.get(path))}, evidence
    )


async def _add_reached_files(
    targets: Mapping[str, ReachedFile], evidence: Evidence, tools: MemoryTools
) -> None:
    """Look at files that others lead to, and note the best that leads to each."""
    if new := [path for path in targets if path not in evidence.files]:
        await _add_passages(new, evidence, tools)
    _record_reached_files(targets, evidence)


def _record_reached_files(targets: Mapping[str, ReachedFile], evidence: Evidence) -> None:
    for path, target in targets.items():
        if path in evidence.files:
            evidence.targets[path] = _stronger(evidence.targets.get(path), target)


def _stronger(known: ReachedFile | None, other: ReachedFile | None) -> ReachedFile:
    """Return the target that is worth more, the first when neither is."""
    if known is None or (other is not None and known.bonus < other.bonus):
        known = other
    if known is None:
        raise ValueError("no target at all")
    return known


async def _add_passages(paths: Sequence[str], evidence: Evidence, tools: MemoryTools) -> None:
    """Add the first passages of files to those that search found in them."""
    for file in await tools.passages(evidence.query, paths) if paths else []:
        known = evidence.files.get(file.path)
        evidence.files[file.path] = file if known is None else _with_passages(file, known.passages)


def _with_passages(file: FilePassages, known: Sequence[Passage]) -> FilePassages:
    """Return a file with other passages of it, which go before its own of the same span; in their order."""
    by_span = {passage.span: passage for passage in (*file.passages, *known)}
    passages = tuple([by_span[span] for span in sorted(by_span)])
    return FilePassages(file.path, file.version, file.size_chars, file.body_start, passages)


async def _link_texts(paths: Sequence[str], evidence: Evidence, tools: MemoryTools) -> dict[str, str]:
    """Return what of files speaks for them: the passages that search found, or the one that a link means."""
    led_to = {path: evidence.linked_passage(path) for path in paths if path not in evidence.matched}
    read = dict(zip(led_to, await tools.read(list(led_to.values())), strict=True))
    return {path: read.get(path) or text for path, text in _found_texts(paths, evidence).items()}


def _found_texts(paths: Iterable[str], evidence: Evidence) -> dict[str, str]:
    """Return the passages of files that search found, whose texts are known."""
    found = {path: evidence.files[path].passages for path in paths}
    return {
        path: "\n".join([passage.text for passage in passages if passage.text])
        for path, passages in found.items()
    }


def _files_linked_to(evidence: Evidence, links: Sequence[NearLink]) -> dict[str, ReachedFile]:
    """Return the files that links lead to, the most valuable first: a file's links share what it is worth."""
    counts = Counter([link.source for link in links])
    bonuses = {
        source: evidence.value(source) * LINK_SHARE // isqrt(count * 10_000)
        for source, count in counts.items()
    }
    found: dict[str, ReachedFile] = {}
    for link in links:
        if link.target != link.source:
            target = ReachedFile(link.target, bonuses[link.source], link.source, link.heading)
            found[link.target] = _stronger(found.get(link.target), target)
    return _best_reached_files(found)


def _files_linking_here(evidence: Evidence, links: Sequence[NearLink]) -> dict[str, ReachedFile]:
    """Return the files that link to what matches: they share what that is worth, so a hub's get little."""
    counts = Counter([link.target for link in links])
    bonuses = {
        target: evidence.value(target) * BACK_SHARE // isqrt(count * 10_000)
        for target, count in counts.items()
    }
    found: dict[str, ReachedFile] = {}
    for link in links:
        target = ReachedFile(link.source, bonuses[link.target], link.target, reason="backlink")
        found[link.source] = _stronger(found.get(link.source), target)
    return found


def _best_reached_files(targets: Mapping[str, ReachedFile]) -> dict[str, ReachedFile]:
    ranked = sorted(targets.values(), key=lambda target: (-target.bonus, target.path))
    return {target.path: target for target in ranked[:TARGETS]}


def _linked_passage(file: FilePassages, heading: str | None) -> Passage:
    """Return the passage that a link means: the first under its heading, else the one that scores highest."""
    if heading is not None:
        for passage in file.passages:
            if passage.heading and passage.heading[-1].casefold() == heading.casefold():
                return passage
    return max(file.passages, key=lambda passage: passage.score)
