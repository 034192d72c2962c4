"""A model chooses statements of messages: it names numbers and kinds, and can neither write nor change a word.

The rules find the statements of a message, and number them. The model sees the whole message, and what the
assistant said before it; an answer is a list of numbers, each with a kind. Words of the assistant have no number.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from memex.subagent.distil.choices import CONTEXT_CHARS, StatementChoices, windows_of
from memex.subagent.distil.reading import MessageReading
from memex.subagent.limits import ModelFailure, model_unavailable
from memex.subagent.model.ask import ModelQuestion, ModelSession, ask
from memex.subagent.model.data_blocks import guard_digits, wrap_data
from memex.subagent.model.edits import MAX_PROBLEMS, require_all_keys
from memex.subagent.prompts import Prompt
from memex.subagent.statements.bullets import UNDATED
from memex.subagent.statements.extraction import Statement
from memex.subagent.statements.language import StatementKind

AGENT = "conversation_distil"
MAX_CHOSEN = 1_000  # of one answer; the rest is not looked at


@dataclass(frozen=True, slots=True)
class ShownMessage:
    """A message that a model is shown: what it states, and the end of what the assistant said before, if it did."""

    reading: MessageReading
    before: str | None = None


class ChosenStatement(BaseModel):
    """A statement that is kept."""

    model_config = ConfigDict(json_schema_extra=require_all_keys)

    number: Annotated[str, Field(description="The number of the statement, such as S3.")]
    kind: Annotated[StatementKind, Field(description="What the statement is.")]


class ChosenStatements(BaseModel):
    """The statements that are kept; all others are left out."""

    model_config = ConfigDict(json_schema_extra=require_all_keys)

    kept: list[ChosenStatement]


async def choose_statements(
    messages: Sequence[ShownMessage], project: str | None, prompt: Prompt, session: ModelSession
) -> StatementChoices:
    """Return which statements of messages a model keeps, by the messages that it was shown.

    Args:
        messages: in the order in which they were said.
        project: the project that the conversations are about, if any.
        prompt: with the instructions.
        session: the session of the model; the log gets no answer of it.

    Raises:
        ModelUnavailable: it gave no answer for some of them, or named no statement that there is.
    """
    before = {message.reading.said.place: message.before for message in messages}
    choices: dict[str, list[tuple[int, int, StatementKind]]] = {}
    is_unfit = False
    for window in windows_of([message.reading for message in messages]):
        shown = _NumberedMessages()
        text = shown.render(window, [before[reading.said.place] for reading in window], project)
        question = ModelQuestion(
            name=AGENT,
            prompt=prompt,
            text=text,
            output=ChosenStatements,
            check=shown.problems,
            keeps_answers=False,
        )
        answer = await ask(question, session)
        choices |= {reading.said.link: [] for reading in window}
        for link, statement, kind in shown.chosen(answer):
            choices[link].append((statement.start, statement.end, kind))
        is_unfit = is_unfit or bool(shown.problems(answer))
    if is_unfit and not any(choices.values()):
        raise model_unavailable(ModelFailure.NOTHING_APPLICABLE)
    return choices


@dataclass(slots=True)
class _NumberedMessages:
    """The statements that a model has been shown at once, each with the name of its message, by their numbers."""

    statements: list[tuple[str, Statement]] = field(default_factory=list)

    def render(
        self, window: Sequence[MessageReading], before: Sequence[str | None], project: str | None
    ) -> str:
        """Return the prompt that shows messages; each statement gets the next number."""
        guard = guard_digits("\n".join(reading.message.text for reading in window))
        about = f"They are about the project {project}.\n\n" if project is not None else ""
        parts = [
            self._message(reading, said_before, guard)
            for reading, said_before in zip(window, before, strict=True)
        ]
        head = f"{about}A statement begins at its number: [{guard} S1] is the first one.\n\n"
        return f"# The messages\n\n{head}" + "\n\n".join(parts)

    def problems(self, answer: ChosenStatements) -> list[str]:
        """Return what is wrong with an answer, in sentences for the model."""
        last = len(self.statements)
        return [
            f"Number {place} of your answer: there is no such statement; there are S1 to S{last}."
            for place, one in enumerate(answer.kept[:MAX_CHOSEN], start=1)
            if self._find(one.number) is None
        ][:MAX_PROBLEMS]

    def chosen(self, answer: ChosenStatements) -> list[tuple[str, Statement, StatementKind]]:
        """Return the statements of an answer, each once, with the names of their messages."""
        found: dict[int, tuple[str, Statement, StatementKind]] = {}
        for one in answer.kept[:MAX_CHOSEN]:
            if (place := self._find(one.number)) is not None:
                found.setdefault(place, (*self.statements[place], one.kind))
        return [found[place] for place in sorted(found)]

    def _find(self, number: str) -> int | None:
        digits = number.strip().strip("[]").split(" ")[-1].removeprefix("S").removeprefix("s")
        if not (digits.isascii() and digits.isdigit() and len(digits) <= len(str(MAX_CHOSEN)) + 1):
            return None
        place = int(digits) - 1
        return place if 0 <= place < len(self.statements) else None

    def _message(self, reading: MessageReading, before: str | None, guard: str) -> str:
        day = reading.said.day
        said = "The person said" if day == UNDATED else f"The person said on {day.isoformat()}, a {day:%A}"
        lines, done, text = [], 0, reading.message.text
        for statement in sorted(reading.statements, key=lambda one: one.start):
            self.statements.append((reading.said.link, statement))
            lines += [text[done : statement.start].strip()]
            lines += [f"[{guard} S{len(self.statements)}] {text[statement.start : statement.end]}"]
            done = statement.end
        lines.append(text[done:].strip())
        shown = wrap_data("person", "\n".join(filter(None, lines)))
        context = wrap_data("assistant", before[-CONTEXT_CHARS:]) if before else ""
        heard = f"The assistant said:\n\n{context}\n\n" if context else ""
        return f"{heard}{said}:\n\n{shown}"
