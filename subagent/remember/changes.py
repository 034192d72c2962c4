"""What the new statements of one call change: which stored statements they replace, close or contradict."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import date

from memex.store.search.analyzer import Analyzer
from memex.subagent.planner import Addition, FiledStatement, Removal, Rivalry
from memex.subagent.remember.related import RelatedFiles
from memex.subagent.statements.places import mount_of
from memex.subagent.statements.relations import Relation, StatementView, compare, decide, view
from memex.subagent.statements.subjects import normal_form


@dataclass(slots=True)
class Changes:
    """The changes of one call so far; `day` is the one on which its text was said.

    A statement that is replaced in the file to which the new one goes gives its place to it. One in another file
    is taken out there. A rival stays where it is.
    """

    day: date
    removals: list[Removal] = field(default_factory=list)
    rivals: list[Rivalry] = field(default_factory=list)
    _gone: set[tuple[str, str]] = field(default_factory=set)

    def take(self, add: Addition, about: RelatedFiles, analyzer: Analyzer) -> Addition:
        """Note what a new statement changes, and return its addition, which may replace a stored statement."""
        form = normal_form(add.statement.text)
        stored = [one for one in about.stored if (one.path, one.text) not in self._gone]
        same = [one for one in stored if normal_form(one.text) == form]
        found = _relation(add, [one for one in stored if one not in same], about, analyzer)
        if found is None:
            return add
        relation, older = found
        if same and not self._say_again(same, older):
            return add
        if relation.outcome == "rival" or older.day > self.day:
            self.rivals.append(Rivalry(add.statement, older))
            return add
        self._gone.add((older.path, older.text))
        if older.path == add.path:
            return replace(add, replaces=older.text)
        self.removals.append(Removal(older.path, add.statement, older.text))
        return add

    def _say_again(self, same: Sequence[FiledStatement], other: FiledStatement) -> bool:
        """Take out a stored statement that is said again, so that it is stored as the newest.

        That is done only if a statement that contradicts it was stored after it; else it is a duplicate.
        """
        if any(one.order > other.order for one in same):
            return False
        self.removals += [Removal(one.path, None, one.text) for one in same]
        self._gone.update((one.path, one.text) for one in same)
        return True


def _relation(
    add: Addition, stored: Sequence[FiledStatement], about: RelatedFiles, analyzer: Analyzer
) -> tuple[Relation, FiledStatement] | None:
    """Return what a new statement makes of a stored one, and which one that is."""
    new, mount = view(add.statement.text, add.statement.kind, analyzer), mount_of(add.path)
    by_view: dict[StatementView, FiledStatement] = {}
    for one in stored:
        older = view(one.text, one.kind, analyzer)
        if (
            older not in by_view or mount_of(one.path) == mount
        ):  # one that stands twice is changed in its scope
            by_view[older] = one
    relation = decide(
        new,
        [
            compare(new, older, about.weights, is_same_scope=mount_of(one.path) == mount)
            for older, one in by_view.items()
        ],
    )
    return None if relation is None else (relation, by_view[relation.older])
