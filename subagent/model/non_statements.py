"""The parts of a text that state nothing, as the rules read them: a model's edits may not rest on them. Pure."""

from dataclasses import dataclass

from memex.store.records import Span
from memex.subagent.model.quotes import QuoteFinder
from memex.subagent.statements.extraction import SkippedSpan, extract_statements, find_attacks
from memex.subagent.statements.forgetting import own_sentences, sounds_like_request


@dataclass(frozen=True, slots=True)
class NonStatements:
    """The parts of a text that state nothing: `barred` is no evidence at all, `orders` are to be done once.

    `reminders` sound like requests to forget, and the rules carry out none of them.
    """

    barred: tuple[SkippedSpan, ...]
    orders: tuple[Span, ...]
    reminders: tuple[Span, ...]

    @classmethod
    def of(cls, text: str) -> "NonStatements":
        """Return what the rules hear: the assistant, attacks, questions, orders; those in quotes are barred."""
        quotes = QuoteFinder(text)
        barred = [SkippedSpan(start, end, "instruction") for start, end in find_attacks(text)]
        orders = []
        for skip in extract_statements(text).skipped:
            span = skip.start, skip.end
            if skip.reason == "instruction" and not quotes.is_quoted(span):
                orders.append(span)
            elif skip.reason in {"assistant", "question", "instruction"}:
                barred.append(skip)
        reminders = (span for span in own_sentences(text) if sounds_like_request(text[slice(*span)]))
        return cls(tuple(barred), tuple(orders), tuple(reminders))
