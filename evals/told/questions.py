"""The texts that people told a memory, and the questions about them."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ToldQuestion:
    """A question, and the pieces of evidence that answer it: sentences that somebody said."""

    group: str
    text: str
    evidence: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ToldChat:
    """The texts that a user tells memory, in their order, and the questions that are asked afterwards."""

    user_id: str
    texts: tuple[str, ...]
    questions: tuple[ToldQuestion, ...]
