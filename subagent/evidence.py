"""What speaks for which passage of memory: the words of a query, links from what matches, and neighbours.

Everything is in the units of search's scores, as integers. A passage is worth what it scored itself, and more when
a link leads to it or when it stands in a file that matches well.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from math import isqrt

from memex.store.bm25 import Query
from memex.store.records import NearLink, Passage, Passages, Reference, Span
from memex.store.search import MAX_HITS
from memex.subagent.planner import Reason
from memex.subagent.selection import Candidate
from memex.subagent.tools import MemoryTools

SEEDS = 16  # files that a query finds at least
SEED_CHARS = 600  # of a budget: for so many characters each one file, up to as many as a search gives
SEED_PASSAGES = 4  # of each, those that score highest
SOURCES = 8  # files of one hop whose links are followed; of the first also all passages are looked at
TARGETS = 16  # files that links of one hop lead to
WHOLE_CHARS = 2_600  # a file that is no longer is one passage

# In hundredths of a value that is handed on:
NEAR_SHARE = 50  # by a passage to the files that its links lead to
FAR_SHARE = 20  # by a file to those that its other links lead to
NEIGHBOUR_SHARE = 30  # by a file's best passage to the ones before and after it
FILE_SHARE = 10  # by a file's best passage to all others


@dataclass(frozen=True, slots=True)
class Target:
    """A file that a link leads to: what that is worth, from where, and to which heading."""

    path: str
    bonus: int
    linked_from: str
    heading: str | None


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
                yield Worth(reference, heading, value, "match" if is_match else "link", source)

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
    seeds = min(max(SEEDS, budget // SEED_CHARS), MAX_HITS)
    found = await tools.find(query, limit=seeds, passages=SEED_PASSAGES)
    evidence = Evidence(found.query)
    for hit in found.hits:
        if hit.file is not None:
            evidence.files[hit.path] = hit.file
            evidence.matched.add(hit.path)
    frontier = list(evidence.files)[:SOURCES]
    await _look_at(frontier, evidence, tools)
    left: set[str] = set()
    for _ in range(max_hops):
        texts = await _texts([path for path in frontier if path not in left], evidence, tools)
        if not texts:
            break
        left |= texts.keys()
        targets = _targets(evidence, await tools.near_links(texts))
        await _look_at([path for path in targets if path not in evidence.files], evidence, tools)
        for path, target in targets.items():
            known = evidence.targets.get(path)
            if path in evidence.files and (known is None or known.bonus < target.bonus):
                evidence.targets[path] = target
        frontier = [path for path in targets if path in evidence.files][:SOURCES]
    return evidence


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
    counts: dict[tuple[str, bool], int] = {}
    for link in links:
        counts[link.source, link.is_near] = counts.get((link.source, link.is_near), 0) + 1
    found: dict[str, Target] = {}
    for link in links:
        share = NEAR_SHARE if link.is_near else FAR_SHARE
        bonus = evidence.value(link.source) * share // isqrt(counts[link.source, link.is_near] * 10_000)
        known = found.get(link.target)
        if link.target != link.source and (known is None or known.bonus < bonus):
            found[link.target] = Target(link.target, bonus, link.source, link.heading)
    ranked = sorted(found.values(), key=lambda target: (-target.bonus, target.path))
    return {target.path: target for target in ranked[:TARGETS]}


def _led_to(file: Passages, heading: str | None) -> Passage:
    """Return the passage that a link means: the first under its heading, else the one that scores highest."""
    if heading is not None:
        for passage in file.passages:
            if passage.heading and passage.heading[-1].casefold() == heading.casefold():
                return passage
    return max(file.passages, key=lambda passage: passage.score)
