"""Short corrections, such as `No, it is at 4 pm.`, which say at most of what they speak. Pure.

Such a sentence opens as a correction and names one value, beside which it says nothing. It puts right the statement
that it follows, or that a topic names, as in `Correction about the rent: it is 800 euros.`, if this has one value
of that kind.
"""

import re
from dataclasses import dataclass

from memex.subagent.statements.comparison.corrections import DATE_BESIDE
from memex.subagent.statements.comparison.values import Value, values_of
from memex.subagent.statements.days.dating import without_dates
from memex.subagent.statements.subjects import APOSTROPHES

MAX_CHARS = 80

_OPENING = re.compile(
    r"\W*(?:(?:(?P<no>no|nope|nah|nein|non)|(?P<meant>i (?:meant|mean)|make (?:that|it)|ich meinte|je voulais dire"
    r"|quise decir)|(?P<led>sorry|wait|oops|actually|(?:small |quick )?correction|moment|ups|korrektur"
    r"|entschuldigung|pardon|désolée?|perdón|corrección)|oh)\b[ ,.:;!…–—-]*)*"
    r"(?:(?:about|regarding|zu|zum|zur|über|sur|à propos de|sobre) (?P<topic>[^:]{2,60}): ?)?"
    r"(?:(?:not|nicht|pas|no) (?P<wrong>[^,]{1,40}?)(?:,|,? (?:but|sondern|mais|sino)) (?=\S))?",
    re.IGNORECASE,
)
_JOINING = re.compile(
    r"(?P<said>(?:(?:it|that|he|she|(?:his|her|its|the) name)(?:'s| is| was)|(?:it|that) should be"
    r"|(?:er|sie|es) (?:ist|heißt)|c'est|(?:il|elle) s'appelle|es|se llama)(?: called| named)? ?)?"
    r"(?:(?:at|on|in|by|for|um|am|im|à|le|a las|el) )?(?:the )?",
    re.IGNORECASE,
)
_MARK = re.compile(r"[^\w\s']")


@dataclass(frozen=True, slots=True)
class ShortCorrection:
    """The right value of a correction.

    Attributes:
        value: the value as it stands in the sentence.
        right: the value as it is written.
        wrong: the words of the wrong value; none if the sentence does not name it.
        topic: the words that say of what the sentence speaks; "" if none do.
    """

    value: Value
    right: str
    wrong: frozenset[str] = frozenset()
    topic: str = ""

    def is_about(self, stored: str) -> bool:
        """Return whether a statement holds a value of the kind that is put right."""
        return any(value.kind == self.value.kind for value in values_of(stored))

    def applied_to(self, stored: str) -> str | None:
        """Return a statement with its one value of the kind put right; None for none, several, or this one."""
        # A number without a unit may be meant for any day, time or amount.
        is_any = self.value.kind == "number"
        fitting = [
            value
            for value in values_of(stored)
            if value.kind == self.value.kind or (is_any and value.sort != "name")
        ]
        if [value.kind for value in fitting] != [self.value.kind] or fitting[0].form == self.value.form:
            return None
        start = fitting[0].start
        end = start + len(_written(fitting[0], stored))
        if not self.wrong <= _words(stored[start:end]):
            return None
        return stored[:start] + self.right + DATE_BESIDE.sub("", stored[end:])


def short_correction(text: str) -> ShortCorrection | None:
    """Return what a sentence puts right that says no more than the right value; None for any other sentence."""
    plain = " ".join(without_dates(text).translate(APOSTROPHES).split())
    opening = _OPENING.match(plain) if len(plain) <= MAX_CHARS else None
    if opening is None:
        return None
    joining = _JOINING.match(plain, opening.end())
    found = [value for value in values_of(plain) if value.start >= opening.end()]
    if (
        joining is None
        or [value.start for value in found] != [joining.end()]
        or plain[found[0].end :].strip(" .!")
    ):
        return None
    value = found[0]
    is_parted = opening["meant"] or joining["said"] or _MARK.search(opening[0])  # unlike `Wait 5 minutes.`
    opens = any(opening.group("no", "meant", "wrong"))
    if value.sort != "name" or joining["said"]:  # `Sorry, Anna.` may be said to her
        opens = opens or opening["led"] is not None
    if not (is_parted and opens):
        return None
    wrong, topic = opening["wrong"] or "", opening["topic"] or ""
    return ShortCorrection(value, _written(value, plain), _words(wrong), topic)


def _written(value: Value, text: str) -> str:
    """Return a value as it is written, without the full stop of a sentence behind it, as in `on 5 May.`."""
    return text[value.start : value.end].rstrip(".")


def _words(text: str) -> frozenset[str]:
    return frozenset(re.findall(r"\w+", text.casefold()))
