"""The observations of messages, as they are stored. Pure: a process may do it.

Each message is read by itself, so that reading on gives what reading anew would give. Only what begins and ends a
session depends on its other messages: its summary and its follow-ups are made anew whenever it goes on. Where a
chat model has answered about a message, the spans that it named count in place of what is only likely by the rules.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace

from memex.store.work.records import NewObservation, UnderivedMessage
from memex.subagent.work.answers import apply_answer, sum_up
from memex.subagent.work.turns import TELLING_KINDS, ObservedSpan, SessionTurn, observe, summarize

SpanRead = tuple[ObservedSpan, bool]  # and whether a model named it
FOLLOW_UPS_FROM, SUMMARY_AT = 10_000, 20_000  # places in a message, behind all that it says by itself


def derive(messages: Sequence[UnderivedMessage]) -> list[NewObservation]:
    """Return what the messages of conversations say; `messages` are in the order of their conversations."""
    found: list[NewObservation] = []
    by_session: defaultdict[int, list[UnderivedMessage]] = defaultdict(list)
    for message in messages:
        by_session[message.conversation_no].append(message)
    for said in by_session.values():
        for message in said:
            if message.is_new:
                found += _numbered(message, _read(message), 0)
        found += _ends(said)
    return found


def _ends(said: Sequence[UnderivedMessage]) -> Iterator[NewObservation]:
    """Yield the summary of a session, and what its last message leaves."""
    on_path = [message for message in said if message.on_path]
    first = next((message for message in on_path if _turn(message).who == "human"), None)
    last = next((message for message in reversed(on_path) if _turn(message).who == "agent"), None)
    if last is not None:
        yield from _numbered(last, _follow_ups(last), FOLLOW_UPS_FROM)
    for message in (first, last):
        summary = _summary(message) if message is not None else None
        if message is not None and summary is not None:
            yield from _numbered(message, [summary], SUMMARY_AT)


def _read(message: UnderivedMessage) -> list[SpanRead]:
    """Return what a message says by the rules, and by a model where one has answered about it."""
    turn = _turn(message)
    by_rules = observe(turn)
    if message.answer is None or turn.who is None:
        return [(one, False) for one in by_rules]
    return apply_answer(by_rules, message.answer, turn.who, len(turn.text))


def _follow_ups(last: UnderivedMessage) -> list[SpanRead]:
    if last.answer is None:
        spans = observe(replace(_turn(last), is_last=True))
        return [(one, False) for one in spans if one.kind == "follow_up"]
    return [
        (replace(one, kind="follow_up"), by_model)
        for one, by_model in _read(last)
        if one.kind in {"pending", "blocker"}
    ]


def _summary(message: UnderivedMessage) -> SpanRead | None:
    turn = _turn(message)
    if message.answer is not None and turn.who is not None:
        found = sum_up(_read(message), TELLING_KINDS[turn.who])
        if found is not None:
            return found
    summary = summarize(turn)
    return None if summary is None else (summary, False)


def _turn(message: UnderivedMessage) -> SessionTurn:
    return SessionTurn(
        message.role,
        message.text,
        part=message.part,
        author=message.author,
        human_authored=message.human_authored,
    )


def _numbered(message: UnderivedMessage, spans: Sequence[SpanRead], first: int) -> Iterator[NewObservation]:
    for place, (span, by_model) in enumerate(spans, start=first):
        yield NewObservation(
            message.conversation_no,
            message.number,
            place,
            span.kind,
            span.start,
            span.end,
            span.who == "human",
            span.is_firm,
            span.confidence,
            by_model,
        )
