"""What speaks for which passage of memory: the words of a query, links from what matches, and neighbours.

Everything is in the units of search's scores, as integers. A passage is worth what it scored itself, and more when
a link leads to it or when it stands in a file that matches well.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import isqrt

from memex.store import series
from memex.store.bm25 import Query
from memex.store.records import NearLink, Passage, Passages, Reference, Span
from memex.store.search import MAX_HITS
from memex.subagent.planner import Reason
from memex.subagent.selection import Candidate
from memex.subagent.tools import MemoryTools

SEEDS = 16  # files that a query finds at least
SEED_CHARS = 600  # of a budget: for so many characters each one file, up to as many as a search gives
FILLED = 2  # what was found holds so many times the budget, or more is looked for
SEED_PASSAGES = 4  # of each, those that score highest
SOURCES = 8  # files of one hop whose links are followed; of the first also all passages are looked at
TARGETS = 16  # files that links of one hop lead to
BACK_SOURCES = 4  # files whose backlinks are followed
SHORT_CHARS = 600  # a file that is no longer is read with those beside it in its series
WHOLE_CHARS = 2_600  # a file that is no longer is one passage

# In hundredths of a value that is handed on:
NEAR_SHARE = 50  # by a passage to the files that its links lead to
FAR_SHARE = 20  # by a file to those that its other links lead to
BACK_SHARE = 30  # by a file to those that link to it
SERIES_SHARE = {1: 50, 2: 25}  # by a short file to those beside it in a numbered series, by distance
NEIGHBOUR_SHARE = 30  # by a file's best passage to the ones before and after it
FILE_SHARE = 10  # by a file's best passage to all others


@dataclass(frozen=True, slots=True)
class Target:
    """A file that another leads to: what that is worth, from where, to which heading, and how."""

    path: str
    bonus: int
    linked_from: str
    heading: str | None = None
    reason: Reason = "link"


@dataclass(frozen=True, slots=True)
class Worth:
    """A passage and what recalling it is worth; its text has not been read yet."""

    reference: Reference
    heading: tuple[str, ...]
    value: int
    reason: Reason
    linked_from: str | None = None

    @property
    def chars(self) -> int:
        """How long it is."""
        return self.reference.span[1] - self.reference.span[0]

    def candidate(self, text: str) -> Candidate:
        """Return it with its text, without white space at the end; a heading in it is not said again."""
        text = text.rstrip()
        start = self.reference.span[0]
        reference = replace(self.reference, span=(start, start + len(text)))
        above = self.heading[:-1] if text.startswith("#") else self.heading
        return Candidate(reference, text, self.value, self.reason, self.linked_from, above)


@dataclass(slots=True)
class Evidence:
    """The files that may be recalled for a query, with the query as search weighed it."""

    query: Query
    files: dict[str, Passages] = field(default_factory=dict)
    targets: dict[str, Target] = field(default_factory=dict)
    matched: set[str] = field(default_factory=set)

    def worths(self, whole_chars: int) -> list[Worth]:
        """Return every passage that is worth anything; a file of at most `whole_chars` is one."""
        return [worth for path in self.files for worth in self._of_file(path, whole_chars)]

    def value(self, path: str) -> int:
        """Return what the best passage of a file is worth."""
        own = max((passage.score for passage in self.files[path].passages), default=0)
        return own + (self.targets[path].bonus if path in self.targets else 0)

    def led_to(self, path: str) -> Reference:
        """Return the passage of a file that a link means."""
        file = self.files[path]
        passage = _led_to(file, self.targets[path].heading)
        return Reference(path, file.version, passage.span)

    def _of_file(self, path: str, whole_chars: int) -> Iterable[Worth]:
        file, target = self.files[path], self.targets.get(path)
        is_match = path in self.matched
        source = None if is_match or target is None else target.linked_from
        for span, heading, value in self._passages(file, target, whole_chars):
            if value and span[0] < span[1]:
                reference = Reference(file.path, file.version, span)
                reason = "match" if is_match or target is None else target.reason
                yield Worth(reference, heading, value, reason, source)

    def _passages(
        self, file: Passages, target: Target | None, whole_chars: int
    ) -> Iterable[tuple[Span, tuple[str, ...], int]]:
        best = _led_to(file, target.heading if target else None)
        top = self.value(file.path)
        if file.size_chars - file.body_start <= whole_chars:
            yield (file.body_start, file.size_chars), (), top
            return
        place = file.passages.index(best)
        for at, passage in enumerate(file.passages):
            if at == place:
                value = passage.score + (target.bonus if target else 0)
            else:
                share = NEIGHBOUR_SHARE if at == 0 or abs(at - place) == 1 else FILE_SHARE
                value = passage.score + top * share // 100
            yield passage.span, passage.heading, value


async def gather(query: str, budget: int, max_hops: int, tools: MemoryTools) -> Evidence:
    """Return what memory holds about a query, following links up to `max_hops` from what matches."""
    evidence = await _found(query, budget, tools)
    frontier = list(evidence.files)[:SOURCES]
    await _look_at(frontier, evidence, tools)
    await _look_beside(evidence, tools)
    left: set[str] = set()
    for hop in range(max_hops):
        texts = await _texts([path for path in frontier if path not in left], evidence, tools)
        if not texts:
            break
        left |= texts.keys()
        targets = _targets(evidence, await tools.near_links(texts))
        if hop == 0:
            back = _sources(evidence, await tools.back_links(frontier[:BACK_SOURCES]))
            targets = _best({path: _stronger(back.get(path), targets.get(path)) for path in back | targets})
        await _add(targets, evidence, tools)
        frontier = [path for path in targets if path in evidence.files][:SOURCES]
    return evidence


async def _found(query: str, budget: int, tools: MemoryTools) -> Evidence:
    """Return what matches: as many files as may fill the budget, also when they are short."""
    seeds = min(max(SEEDS, budget // SEED_CHARS), MAX_HITS)
    found = await tools.find(query, limit=seeds, passages=SEED_PASSAGES)
    chars = sum(_chars(hit.file) for hit in found.hits if hit.file is not None)
    if len(found.hits) == seeds < MAX_HITS and chars < budget * FILLED:
        more = min(MAX_HITS, seeds * budget * FILLED // max(chars, 1) + 1)
        found = await tools.find(query, limit=more, passages=SEED_PASSAGES)
    evidence = Evidence(found.query)
    for hit in found.hits:
        if hit.file is not None:
            evidence.files[hit.path] = hit.file
            evidence.matched.add(hit.path)
    return evidence


def _is_short(file: Passages | None) -> bool:
    return file is not None and file.size_chars - file.body_start <= SHORT_CHARS


def _chars(file: Passages) -> int:
    whole = file.size_chars - file.body_start
    return whole if whole <= WHOLE_CHARS else sum(end - start for start, end in _spans(file))


def _spans(file: Passages) -> list[Span]:
    return [passage.span for passage in file.passages]


async def _look_beside(evidence: Evidence, tools: MemoryTools) -> None:
    """Add the files beside short ones in a numbered series: the turns before and after one that matches."""
    found: dict[str, Target] = {}
    for path in list(evidence.files)[:SEEDS]:
        if not _is_short(evidence.files[path]):
            continue
        for distance, beside in series.neighbours(path, max(SERIES_SHARE)).items():
            bonus = evidence.value(path) * SERIES_SHARE[abs(distance)] // 100
            found[beside] = _stronger(found.get(beside), Target(beside, bonus, path, reason="neighbour"))
    await _look_at([path for path in found if path not in evidence.files], evidence, tools)
    _note({path: one for path, one in found.items() if _is_short(evidence.files.get(path))}, evidence)


async def _add(targets: Mapping[str, Target], evidence: Evidence, tools: MemoryTools) -> None:
    """Look at files that others lead to, and note the best that leads to each."""
    await _look_at([path for path in targets if path not in evidence.files], evidence, tools)
    _note(targets, evidence)


def _note(targets: Mapping[str, Target], evidence: Evidence) -> None:
    for path, target in targets.items():
        if path in evidence.files:
            evidence.targets[path] = _stronger(evidence.targets.get(path), target)


def _stronger(known: Target | None, other: Target | None) -> Target:
    """Return the target that is worth more, the first when neither is."""
    if known is None or (other is not None and known.bonus < other.bonus):
        known = other
    if known is None:
        raise ValueError("no target at all")
    return known


def pinned(file: Passages, room: int) -> list[Worth]:
    """Return a pinned file as passages: all of it, or what fits of its beginning and one passage more."""
    spans: list[tuple[Span, tuple[str, ...]]]
    if file.size_chars - file.body_start <= room:
        spans = [((file.body_start, file.size_chars), ())]
    else:
        spans = [(passage.span, passage.heading) for passage in file.passages]
        spans = spans[: 1 + sum(span[1] - file.body_start <= room for span, _ in spans)]
    return [
        Worth(Reference(file.path, file.version, span), heading, 0, "pinned")
        for span, heading in spans
        if span[0] < span[1]
    ]


async def _look_at(paths: Sequence[str], evidence: Evidence, tools: MemoryTools) -> None:
    """Add the first passages of files to those that search found in them."""
    for file in await tools.passages(evidence.query, paths) if paths else []:
        known = evidence.files.get(file.path)
        passages = {passage.span: passage for passage in (*file.passages, *(known.passages if known else ()))}
        ordered = tuple(sorted(passages.values(), key=lambda passage: passage.span))
        evidence.files[file.path] = replace(file, passages=ordered)


async def _texts(paths: Sequence[str], evidence: Evidence, tools: MemoryTools) -> dict[str, str]:
    """Return what of files speaks for them: the passages that search found, or the one that a link means."""
    led_to = {path: evidence.led_to(path) for path in paths if path not in evidence.matched}
    read = dict(zip(led_to, await tools.read(list(led_to.values())), strict=True))
    return {path: read[path] if path in read else _text(evidence.files[path]) for path in paths}


def _text(file: Passages) -> str:
    return "\n".join(passage.text or "" for passage in file.passages)


def _targets(evidence: Evidence, links: Sequence[NearLink]) -> dict[str, Target]:
    """Return the files that links lead to, the most valuable first: a file's links share what it is worth."""
    counts = Counter((link.source, link.is_near) for link in links)
    found: dict[str, Target] = {}
    for link in links:
        share = NEAR_SHARE if link.is_near else FAR_SHARE
        bonus = evidence.value(link.source) * share // isqrt(counts[link.source, link.is_near] * 10_000)
        if link.target != link.source:
            target = Target(link.target, bonus, link.source, link.heading)
            found[link.target] = _stronger(found.get(link.target), target)
    return _best(found)


def _sources(evidence: Evidence, links: Sequence[NearLink]) -> dict[str, Target]:
    """Return the files that link to what matches: they share what that is worth, so a hub's get little."""
    counts = Counter(link.target for link in links)
    found: dict[str, Target] = {}
    for link in links:
        bonus = evidence.value(link.target) * BACK_SHARE // isqrt(counts[link.target] * 10_000)
        target = Target(link.source, bonus, link.target, reason="backlink")
        found[link.source] = _stronger(found.get(link.source), target)
    return found


def _best(targets: Mapping[str, Target]) -> dict[str, Target]:
    ranked = sorted(targets.values(), key=lambda target: (-target.bonus, target.path))
    return {target.path: target for target in ranked[:TARGETS]}


def _led_to(file: Passages, heading: str | None) -> Passage:
    """Return the passage that a link means: the first under its heading, else the one that scores highest."""
    if heading is not None:
        for passage in file.passages:
            if passage.heading and passage.heading[-1].casefold() == heading.casefold():
                return passage
    return max(file.passages, key=lambda passage: passage.score)
