"""`python -m memex.evals.reading.requests`: how many requests to forget are found, and how many wrongly.

The figures are by round and language. Patterns were written for the first two rounds. Of the third one, those
requests were read that speak of the memory, and what was wrongly taken for a request.
"""

from collections import Counter
from collections.abc import Sequence

from memex.evals.reading.labelled import LabelledSentence, load_sentences
from memex.evals.report.table import Table
from memex.evals.told.measure import to_markdown
from memex.subagent.statements.forgetting import find_forget_request

ROUNDS = {"s": "first", "t": "second", "u": "third"}  # by what the names of files begin with


def table(sentences: Sequence[LabelledSentence]) -> Table:
    """Return how many sentences of each round and language ask to forget, and how many are taken for that."""
    counts = Counter[tuple[str, str, bool, bool]]()
    for sentence in sentences:
        is_found = find_forget_request(sentence.text) is not None
        counts[ROUNDS[sentence.writer[0]], sentence.language, sentence.label == "forget", is_found] += 1
    rows = []
    for round_, language in sorted({key[:2] for key in counts}):
        found, missed, wrong, right = (
            counts[round_, language, asks, is_found]
            for asks, is_found in ((True, True), (True, False), (False, True), (False, False))
        )
        rows.append((round_, language, f"{found} of {found + missed}", f"{wrong} of {wrong + right}"))
    return Table("Requests to forget", ("round", "language", "found", "wrongly found"), tuple(rows))


if __name__ == "__main__":
    print(to_markdown(table(load_sentences())))  # noqa: T201  # its output
