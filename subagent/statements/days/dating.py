"""The days of a statement: when it is due, and its text with the dates of the days that it names. Pure."""

import re
from datetime import date

from memex.subagent.statements.days.mentions import DayMention, find_days, last_day, stands_behind
from memex.subagent.statements.language import StatementKind
from memex.subagent.text_cache import cached_for_short_texts

OPEN_KINDS: frozenset[StatementKind] = frozenset({"pending", "blocker", "objective", "definition_of_done"})
_NEVER_DUE: frozenset[StatementKind] = frozenset({"done", "profile", "preference"})
_WRITTEN = re.compile(r"(?<=\w) \((?:\d{4}-\d\d-\d\d(?: … \d{4}-\d\d-\d\d)?|\d{4}(?:-\d\d)?)\)", re.ASCII)
_CLOSE = 12  # characters between a weekday and the date that belongs to it


def due_day(text: str, kind: StatementKind, day: date) -> date | None:
    """Return the day on which a statement is due that was said on `day`; None if it names none.

    A task is due on the day that it names, and anything else only if it says so, such as `deadline 5 May`. Of a
    week or a month the last day counts.
    """
    if kind in _NEVER_DUE:
        return None
    mention = _due_mention(text, kind, find_days(text, day), day)
    return last_day(text, mention) if mention else None


def with_dates(text: str, kind: StatementKind, day: date) -> str:
    """Return a statement with a date behind each time that is counted from the day on which it was said.

    `Dentist tomorrow at 9` becomes `Dentist tomorrow (2026-11-24) at 9`. The day itself and the due day are left
    out, because the stamp names them.
    """
    mentions = find_days(text, day)
    due = None if kind in _NEVER_DUE else _due_mention(text, kind, mentions, day)
    for mention in reversed(mentions):
        if mention is not due and _needs_date(text, mention, mentions, kind, day):
            text = f"{text[: mention.end]} ({mention.written}){text[mention.end :]}"
    return text


@cached_for_short_texts(entries=8_192)
def without_dates(text: str) -> str:
    """Return a statement without the dates that `with_dates` may have put into it."""
    return _WRITTEN.sub("", text)


def _due_mention(text: str, kind: StatementKind, mentions: list[DayMention], day: date) -> DayMention | None:
    """Return the day among those of a statement on which it is due."""
    ahead = [mention for mention in mentions if mention.days.last >= day or mention.form == "date"]
    said = [mention for mention in ahead if _is_said_due(text, mention, kind)]
    if said:
        return said[0]
    if kind not in OPEN_KINDS or is_past(text, mentions):
        return None
    return next((mention for mention in ahead if mention.days.last >= day), None)


def _is_said_due(text: str, mention: DayMention, kind: StatementKind) -> bool:
    """Return whether the words around a day say that something is due on it."""
    tables = mention.tables
    if tables.due_behind.match(text, mention.end) or stands_behind(tables.due_noun, text, mention.start):
        return True
    if kind in OPEN_KINDS and stands_behind(tables.until, text, mention.start):
        return True
    is_due = stands_behind(tables.due, text, mention.start)
    return is_due and (kind in OPEN_KINDS or not is_past(text, [mention]))


def _needs_date(
    text: str, mention: DayMention, mentions: list[DayMention], kind: StatementKind, day: date
) -> bool:
    """Return whether a date belongs behind the name of a day."""
    is_today = mention.days.first <= day <= mention.days.last
    if mention.form == "date" or is_today or _has_date(mention, mentions):
        return False
    if "\n" in text[mention.end :][:1]:  # at the end of a line, a date would be taken for its stamp
        return False
    is_ahead = mention.days.first > day
    if mention.is_bare:
        return not is_past(text, [mention]) and (kind in OPEN_KINDS or _is_future(text, mention))
    is_span = text[mention.start : mention.end].casefold().startswith(("in ", "dans ", "en ", "within "))
    return not (is_ahead and is_span and is_past(text, [mention]) and not _is_future(text, mention))


def _has_date(mention: DayMention, mentions: list[DayMention]) -> bool:
    """Return whether a date stands beside the name of a day: `Friday, 4 December`."""
    return any(
        day_mention.form == "date"
        and (0 <= day_mention.start - mention.end <= _CLOSE or 0 <= mention.start - day_mention.end <= 2)
        for day_mention in mentions
    )


def is_past(text: str, mentions: list[DayMention]) -> bool:
    """Return whether a statement tells of the past, in the languages of the days that it names."""
    return any(mention.tables.past.search(text) for mention in mentions) and not any(
        _is_future(text, mention) for mention in mentions
    )


def _is_future(text: str, mention: DayMention) -> bool:
    return mention.tables.future.search(text) is not None
