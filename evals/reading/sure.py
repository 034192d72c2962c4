"""`python -m memex.evals.reading.sure`: how sure the kinds are whose statements a page holds.

The labelled sentences of `sentences/` are read by the rules. A sentence counts for the first kind that files it.
"""

from collections import Counter

from memex.evals.reading.labelled import load_sentences
from memex.evals.report.table import Table
from memex.evals.told.measure import to_markdown
from memex.subagent.remember.reading import is_sure
from memex.subagent.statements.extraction import extract_statements

LABELS = {
    "profile": "fact",
    "preference": "preference",
    "decision": "decision",
    "constraint": "rule",
    "pending": "task",
    "blocker": "task",
    "done": "done",
    "note": "fact",
}  # the label that means a kind
PASSING = frozenset({"smalltalk", "order", "ask", "forget"})  # labels of what is worth nothing tomorrow
UNFILED = "note"


def count() -> dict[str, Counter[str]]:
    """Return how many sentences of each label each kind takes."""
    found: dict[str, Counter[str]] = {}
    for sentence in load_sentences():
        kinds = [
            statement.kind
            for statement in extract_statements(sentence.text).statements
            if is_sure(statement, None)
        ]
        found.setdefault(kinds[0] if kinds else UNFILED, Counter())[sentence.label] += 1
    return found


def table(found: dict[str, Counter[str]]) -> Table:
    """Return the kinds with their precision: of all that lasts, and of the kind itself."""
    rows = [_row(kind, found[kind]) for kind in LABELS if kind in found and kind != UNFILED]
    filed = Counter[str]()
    for kind, labels in found.items():
        if kind != UNFILED:
            filed += labels
    rows += [_row("all that is filed", filed), _row("what the journal alone keeps", found[UNFILED])]
    return Table(
        "Labelled sentences by kind",
        ("kind", "sentences", "worth keeping, %", "of this kind, %"),
        tuple(rows),
    )


def _row(kind: str, labels: Counter[str]) -> tuple[str, str, str, str]:
    count = labels.total()
    passing = sum(labels[label] for label in PASSING)
    own = f"{100 * labels[LABELS[kind]] / count:.0f}" if kind in LABELS else ""
    return kind, f"{count:,}", f"{100 * (count - passing) / count:.0f}", own


if __name__ == "__main__":
    print(to_markdown(table(count())))  # noqa: T201  # its output
