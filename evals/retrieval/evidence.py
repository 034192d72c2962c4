"""Measures which evidence of a question a context holds. Pure."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from memex.evals.retrieval.render import Span
from memex.evals.retrieval.runs import EvidenceRecall
from memex.evals.retrieval.suites import ExpectedEvidence, Question


def measure_recall(question: Question, answer: Mapping[str, Any], files: Mapping[str, str]) -> EvidenceRecall:
    """Return how much of a question's evidence an answer of memory_context holds.

    Args:
        question: the question that was asked.
        answer: the result of the tool.
        files: the texts of the files that the spans of the answer name, by path.
    """
    spans: defaultdict[str, list[Span]] = defaultdict(list)
    for source in answer["sources"]:
        spans[source["path"]] += [(span["start"], span["end"]) for span in source["spans"]]
    shares = [
        _share_held(piece, answer["context"], spans.get(piece.path, ()), files) for piece in question.evidence
    ]
    return EvidenceRecall(
        found=sum(share == 1 for share in shares),
        evidence=len(shares),
        coverage=sum(shares) / len(shares),
        used_chars=answer["budget"]["used"],
    )


def _share_held(
    evidence: ExpectedEvidence, context: str, spans: Sequence[Span], files: Mapping[str, str]
) -> float:
    """Return the share of one piece of evidence that is held: 0 or 1, except for a span."""
    if evidence.text is not None:
        return float(evidence.text in context)
    if evidence.span is None or not spans:
        return float(bool(spans))
    text = files[evidence.path]
    # Between two passages that follow each other may stand white space that neither holds.
    wanted = [at for at in range(*evidence.span) if not text[at].isspace()]
    held = sum(any(start <= at < end for start, end in spans) for at in wanted)
    return held / len(wanted)
