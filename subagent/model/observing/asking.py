"""A model reads consecutive messages of one session and names what they say about work, each with a quotation."""

from collections.abc import Callable, Iterable, Sequence
from typing import Annotated, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from memex.store.text_pool.portions import portions
from memex.subagent.limits import ModelFailure, model_unavailable
from memex.subagent.model.ask import ModelQuestion, ModelSession, ask
from memex.subagent.model.data_blocks import wrap_data
from memex.subagent.model.edits import require_all_keys
from memex.subagent.model.observing.quotations import (
    CheckedAnswer,
    QuotableMessage,
    Quotation,
    check_quotations,
)
from memex.subagent.prompts import Prompt

AGENT = "work_read"
WINDOW_CHARS = 12_000  # of messages that a model is shown at once
WINDOW_MESSAGES = 40
FRAME_CHARS = 100  # around a message
MAX_FOUND = 400  # of one answer; the rest is not looked at
MAX_PROBLEMS = 5

T = TypeVar("T")


class QuotedObservation(BaseModel):
    """Something that a message says about work."""

    model_config = ConfigDict(json_schema_extra=require_all_keys)

    message: Annotated[int, Field(description="The number of the message.")]
    kind: Literal[
        "objective",
        "decision",
        "constraint",
        "pending",
        "done",
        "blocker",
        "definition_of_done",
        "user_request",
        "completion_claim",
    ]
    quotation: Annotated[str, Field(description="The words of the message that say it, copied exactly.")]


class QuotedObservations(BaseModel):
    """What the messages say about work; an empty list if they say nothing."""

    model_config = ConfigDict(json_schema_extra=require_all_keys)

    found: list[QuotedObservation]


def can_show(message: QuotableMessage) -> bool:
    """Return whether a message is short enough to be shown to a model, and says something of its own."""
    return message.has_words and len(message.shown) <= WINDOW_CHARS - FRAME_CHARS


def fill_window(messages: Iterable[T], quotable: Callable[[T], QuotableMessage]) -> list[T]:
    """Return the first messages that a model can be shown at once; at least one, if there is one."""
    windows = portions(
        messages, lambda one: len(quotable(one).shown) + FRAME_CHARS, WINDOW_CHARS, WINDOW_MESSAGES
    )
    return next(windows, [])


async def ask_about(
    messages: Sequence[QuotableMessage], prompt: Prompt, session: ModelSession
) -> CheckedAnswer:
    """Return what a model says of messages, as far as its quotations are right.

    Args:
        messages: consecutive ones of a session, in their order.
        prompt: with the instructions.
        session: the session of the model; the log gets no answer of it.

    Raises:
        ModelUnavailable: it gave no answer, or none of its quotations is right.
    """
    question = ModelQuestion(
        name=AGENT,
        prompt=prompt,
        text=_render(messages),
        output=QuotedObservations,
        check=lambda answer: _problems(answer, messages),
        keeps_answers=False,
    )
    answer = await ask(question, session)
    checked = _checked(answer, messages)
    if answer.found and not checked.count:
        raise model_unavailable(ModelFailure.NOTHING_APPLICABLE)
    return checked


def _checked(answer: QuotedObservations, messages: Sequence[QuotableMessage]) -> CheckedAnswer:
    found = [Quotation(one.message, one.kind, one.quotation) for one in answer.found[:MAX_FOUND]]
    return check_quotations(found, messages)


def _problems(answer: QuotedObservations, messages: Sequence[QuotableMessage]) -> list[str]:
    """Return what is wrong with an answer of which nothing counts; what is wrong in part is left out."""
    if not answer.found or _checked(answer, messages).count:
        return []
    return [
        f"Number {place} of your answer does not count: a quotation is copied exactly from the message that it "
        f"names, 1 to {len(messages)}; of an agent only decision, pending, done, blocker and completion_claim."
        for place, _ in enumerate(answer.found[:MAX_PROBLEMS], start=1)
    ]


def _render(messages: Sequence[QuotableMessage]) -> str:
    parts = [
        f"Message {place}, written by {'the person' if one.who == 'human' else 'the agent'}:\n\n"
        f"{wrap_data('message', one.shown)}"
        for place, one in enumerate(messages, start=1)
    ]
    return "# The messages\n\n" + "\n\n".join(parts)
