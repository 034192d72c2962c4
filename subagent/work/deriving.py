"""The observations of messages, as they are stored. Pure: a process may do it.

Each message is read by itself, so that reading on gives what reading anew would give. Only what begins and ends a
session depends on its other messages: its summary and its follow-ups are made anew whenever it goes on.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace

from memex.store.work.records import NewObservation, PendingWords, UnderivedMessage
from memex.subagent.work.records import Observation
from memex.subagent.work.turns import (
    LEAST_WORDS,
    ObservedSpan,
    SessionTurn,
    answer_lines,
    observe,
    summarize,
)

LAST_TURNS = 4  # of a session, whose answers are quoted
HEAD_LINES = 2  # of an answer before the last one
_AFTER_ALL = 1 << 30  # the number and the position of words that stand in: behind all messages
# Places in a message, behind all that it says by itself.
FOLLOW_UPS_FROM, SUMMARY_AT, ANSWER_FROM = 10_000, 20_000, 30_000


def derive(messages: Sequence[UnderivedMessage]) -> list[NewObservation]:
    """Return what the messages of conversations say; `messages` are in the order of their conversations."""
    found: list[NewObservation] = []
    by_session: defaultdict[int, list[UnderivedMessage]] = defaultdict(list)
    for message in messages:
        by_session[message.conversation_no].append(message)
    for said in by_session.values():
        for message in said:
            if message.is_new:
                found += _numbered(message, observe(_turn(message)), 0)
        found += _ends(said)
    return found


def derive_pending(words: Sequence[PendingWords]) -> list[Observation]:
    """Return what words say that stand in for messages, which no transcript has yet."""
    turns = [
        (word, SessionTurn(word.role, word.text, human_authored=word.role == "user", is_last=True))
        for word in words
    ]
    return [
        Observation(
            span.kind,
            " ".join(one.text[span.start : span.end].split()),
            span.who,
            span.is_firm,
            span.confidence,
            one.at,
            one.conversation_id,
            _AFTER_ALL,
            span.start,
            span.end,
            _AFTER_ALL,
            one.label,
            event_no=one.event_no,
        )
        for one, turn in turns
        for span in (*observe(turn), *answer_lines(turn))
    ]


def _ends(said: Sequence[UnderivedMessage]) -> Iterator[NewObservation]:
    """Yield the summary of a session, its last answer, and what that leaves."""
    on_path = [message for message in said if message.on_path]
    first = next((message for message in on_path if _turn(message).who == "human"), None)
    last = next((message for message in reversed(on_path) if _turn(message).who == "agent"), None)
    if last is not None:
        spans = observe(replace(_turn(last), is_last=True))
        yield from _numbered(last, [span for span in spans if span.kind == "follow_up"], FOLLOW_UPS_FROM)
    for place, report in enumerate(_reports(on_path)):
        lines = answer_lines(_turn(report))
        yield from _numbered(report, lines if place == 0 else lines[:HEAD_LINES], ANSWER_FROM)
    for message in (first, last):
        summary = summarize(_turn(message)) if message is not None else None
        if message is not None and summary is not None:
            yield from _numbered(message, [summary], SUMMARY_AT)


def _reports(on_path: Sequence[UnderivedMessage]) -> list[UnderivedMessage]:
    """Return the agent's answers in the last turns of a session, the newest first; a few words are no answer."""
    found: list[UnderivedMessage] = []
    asked, is_answer = 0, True
    for message in reversed(on_path):
        who = _turn(message).who
        if who == "human":
            asked, is_answer = asked + 1, True
        elif who == "agent" and is_answer and asked < LAST_TURNS:
            is_answer = False
            if len(message.text.split()) > LEAST_WORDS:
                found.append(message)
    return found


def _turn(message: UnderivedMessage) -> SessionTurn:
    return SessionTurn(
        message.role,
        message.text,
        part=message.part,
        author=message.author,
        human_authored=message.human_authored,
    )


def _numbered(
    message: UnderivedMessage, spans: Sequence[ObservedSpan], first: int
) -> Iterator[NewObservation]:
    for place, span in enumerate(spans, start=first):
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
        )
