"""Find what must not happen in a history: all functions are pure.

`find_anomalies` returns nothing if each acknowledged operation took effect once, each refused one did not, each
answer shows what stood at one moment between request and answer, and one order explains all of them.
"""

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from tests.faults.checker.history import Anomaly, File, History, Operation, Revision, Seen
from tests.faults.checker.order import find_cycles


def find_anomalies(history: History) -> list[Anomaly]:
    """Return everything in a history that must not happen."""
    stored = Stored(history.revisions)
    acknowledged = [one for one in history.operations if one.outcome == "acknowledged"]
    return [
        *_changed_answers(history.operations),
        *_gaps(stored),
        *_wrong_writers(history, stored),
        *(anomaly for one in acknowledged for anomaly in _of_write(one, stored)),
        *(anomaly for one in acknowledged for anomaly in _of_read(one, stored)),
        *_missed_files(history.operations, stored),
        *_wrong_lines(history, stored),
        *find_cycles(history),
    ]


@dataclass(frozen=True)
class Stored:
    """The revisions at the end, by what they are looked up by."""

    revisions: tuple[Revision, ...]

    @cached_property
    def by_place(self) -> dict[tuple[File, int], Revision]:
        """By file and version."""
        return {(one.file, one.version): one for one in self.revisions}

    @cached_property
    def by_call(self) -> dict[str, list[Revision]]:
        """By the call that wrote them."""
        return _grouped(self.revisions, "call_id")

    @cached_property
    def by_scope(self) -> dict[str, list[Revision]]:
        """By scope."""
        return _grouped(self.revisions, "scope")

    @cached_property
    def by_file(self) -> dict[File, list[Revision]]:
        """By path, in the order in which they were written."""
        return _grouped(self.revisions, "file")

    @cached_property
    def chains(self) -> dict[tuple[str, int], list[Revision]]:
        """By file through all its moves, in the order in which they were written."""
        return _grouped(self.revisions, "identity")

    def at(self, seen: Seen) -> Revision | None:
        """Return the revision that an answer names, None if there is none with its text."""
        found = self.by_place.get((seen.file, seen.version))
        return found if found and seen.sha256 in (None, found.sha256) else None

    def before(self, revision: Revision) -> Revision | None:
        """Return what stood at the place of a revision until it was written."""
        earlier = (one for one in self.by_file[revision.file] if one.rev < revision.rev)
        last = max(earlier, key=lambda one: one.rev, default=None)
        return last if last and last.stood_at(revision.rev - 1) else None


def _grouped(revisions: Iterable[Revision], name: str) -> dict:  # type: ignore[type-arg]
    groups = defaultdict(list)
    for one in sorted(revisions, key=lambda one: one.rev):
        groups[getattr(one, name)].append(one)
    return groups


def _changed_answers(operations: Iterable[Operation]) -> Iterator[Anomaly]:
    """A call that is sent again under its id gets the answer that it got before."""
    for one in operations:
        if len(set(one.answers)) > 1:
            yield Anomaly("changed answer", f"{one.call_id} was answered in {len(set(one.answers))} ways.")


def _gaps(stored: Stored) -> Iterator[Anomaly]:
    """The changes of a scope and the versions of a path are counted without a gap, and no file has two heads."""
    for one in stored.revisions:
        if hashlib.sha256(one.content.encode()).hexdigest() != one.sha256:
            yield Anomaly("damaged text", f"The text of {one.name} has another digest.")
    for scope, revisions in stored.by_scope.items():
        revs = {one.rev for one in revisions}
        if missing := set(range(1, max(revs) + 1)) - revs:
            yield Anomaly("gap", f"{scope} has no change {min(missing)}.")
    for chain in stored.chains.values():
        for one, following in zip(chain, [*chain[1:], None], strict=True):
            if one.rev_end != (following.rev if following else None):
                yield Anomaly(
                    "fork", f"{one.name} ends at {one.rev_end}, and the next revision is not of that change."
                )
    for one, version in _expected_versions(stored):
        if one.version != version:
            yield Anomaly("gap", f"{one.name} should be version {version}.")


def _expected_versions(stored: Stored) -> Iterator[tuple[Revision, int]]:
    """Yield each revision with its version: one more than that of its file before, and than all of its path."""
    before = {
        following: one.version for chain in stored.chains.values() for one, following in pairwise(chain)
    }
    for revisions in stored.by_file.values():
        highest = 0
        for one in revisions:
            yield one, 1 + max(highest, before.get(one, 0))
            highest = max(highest, one.version)


def _wrong_writers(history: History, stored: Stored) -> Iterator[Anomaly]:
    """A call takes effect in one change of each scope, and only if it was made and not refused."""
    operations = {one.call_id: one for one in history.operations}
    for call_id, revisions in stored.by_call.items():
        changes = {(one.scope, one.rev) for one in revisions}
        if len({scope for scope, _ in changes}) < len(changes):
            yield Anomaly("doubled write", f"{call_id} made the changes {sorted(changes)}.")
        if call_id in history.earlier:
            continue
        if call_id not in operations:
            yield Anomaly("phantom write", f"Nobody sent {call_id}, which wrote {revisions[0].name}.")
        elif operations[call_id].outcome == "refused":
            yield Anomaly(
                "refused write", f"{call_id} was refused and wrote {revisions[0].name} all the same."
            )


def _of_write(one: Operation, stored: Stored) -> Iterator[Anomaly]:
    """What the answer names is stored, nothing else is, and it follows what the call had seen."""
    for seen in one.wrote:
        revision = stored.at(seen)
        if revision is None or revision.call_id != one.call_id:
            yield Anomaly("lost write", f"{one.call_id} was told that it wrote {_name(seen)}.")
    told = {(seen.file, seen.version) for seen in one.wrote}
    for revision in stored.by_call.get(one.call_id, []):
        if (revision.file, revision.version) not in told:
            yield Anomaly("untold write", f"{one.call_id} was not told that it wrote {revision.name}.")
        if one.state is not None and one.state.get(revision.scope) != revision.rev - 1:
            yield Anomaly(
                "lost update", f"{one.call_id} wrote {revision.name} without having seen the change before."
            )
    for seen in one.replaced:
        for revision in stored.by_call.get(one.call_id, []):
            before = stored.before(revision)
            if revision.file == seen.file and (before is None or before.version != seen.version):
                yield Anomaly(
                    "lost update", f"{one.call_id} replaced {before and before.name}, not {_name(seen)}."
                )


def _of_read(one: Operation, stored: Stored) -> Iterator[Anomaly]:
    """An answer shows committed texts of the moment that the log names, and a search finds all of them."""
    state = one.state or {}
    for seen in one.read:
        revision = stored.at(seen)
        if revision is None or revision.deleted:
            yield Anomaly("dirty read", f"{one.call_id} was shown {_name(seen)}, which was never committed.")
        elif revision.scope in state and not revision.stood_at(state[revision.scope]):
            yield Anomaly("torn read", f"{one.call_id} was shown {_name(seen)}, which did not stand then.")
    if one.search is None or not one.search.scopes <= state.keys():
        return
    standing = {
        revision.file
        for scope in one.search.scopes
        for revision in stored.by_scope.get(scope, [])
        if one.search.word in revision.content and revision.stood_at(state[scope])
    }
    if standing != one.search.found:
        differing = sorted(standing ^ one.search.found)
        yield Anomaly(
            "wrong search", f"{one.call_id} searched {one.search.word}, and was wrong about {differing}."
        )


def _missed_files(operations: Iterable[Operation], stored: Stored) -> Iterator[Anomaly]:
    """A file that stood from before a request until after its answer is found."""
    by_call = {one.call_id: one for one in operations}
    closers = {(one.scope, one.rev): by_call.get(one.call_id) for one in stored.revisions}
    for one in by_call.values():
        for revision in (revision for file in one.absent for revision in stored.by_file.get(file, [])):
            writer, closer = (
                by_call.get(revision.call_id),
                closers.get((revision.scope, revision.rev_end or 0)),
            )
            stood_before = writer is not None and writer.end is not None and writer.end < one.start
            stood_after = revision.rev_end is None or (
                closer and one.end is not None and one.end < closer.start
            )
            if not revision.deleted and stood_before and stood_after:
                yield Anomaly(
                    "stale read", f"{one.call_id} did not find {revision.name}, which stood all the time."
                )


def _wrong_lines(history: History, stored: Stored) -> Iterator[Anomaly]:
    """A word is written once into each file, and an operation that only adds keeps all lines that stood there."""
    by_call = {one.call_id: one for one in history.operations}
    for chain in stored.chains.values():
        for before, after in zip([None, *chain], chain, strict=False):
            one = by_call.get(after.call_id)
            if one is None or after.deleted:
                continue
            if one.word is not None and (count := after.content.count(one.word)) != 1:
                yield Anomaly("doubled write", f"{after.name} holds the word of {one.call_id} {count} times.")
            lost = set(before.content.splitlines() if before else ()) - set(after.content.splitlines())
            if one.keeps_lines and lost:
                yield Anomaly(
                    "lost update", f"{after.name} lost {min(lost)!r}, which {one.call_id} had to keep."
                )


def _name(seen: Seen) -> str:
    return f"{'/'.join(seen.file)}@{seen.version}"
