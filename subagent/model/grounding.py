"""The check whether a statement stands on a text: its numbers and names, and most of its other words. Pure.

A model may put a name in for `she` and a date for `tomorrow`, and knows both from the text and the clock. What
comes from nowhere is invented.
"""

import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from functools import cache

from memex.store.search.analyzer import LANGUAGES, Analyzer, load_language
from memex.subagent.model.said_numbers import join_grouped_digits, plain_numbers, said_numbers, scaled_in_full
from memex.subagent.statements.days.mentions import find_days, names_weekday

WORDS_FRACTION = 0.6  # of the words of a statement that are not names, the text must hold this fraction
MAX_DAYS = 400  # from the clock, of a date that a word such as `tomorrow` stands for
MAX_NAMED = 5  # words that a problem names
MIN_STEM_CHARS = 4  # of a name that has another ending here than there
MAX_ENDING_CHARS = 3

_TOKEN = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_NUMBER = re.compile(r"\d+")
_ISO_DATE = re.compile(r"(?<!\d)(\d{4})-(\d\d)-(\d\d)(?!\d)")
_SENTENCE_END = frozenset(".!?:;。！？\n-*+")
_OPENING = frozenset("\"'“”„‘’«»([*_`")  # may stand between the end of a sentence and the next word
_POSSESSIVE = re.compile(r"['’]s$")
_ALWAYS_GROUNDED = frozenset({"user", "users", "user's", "i", "i'm", "i've", "i'd", "i'll"})
_DAYS = frozenset(
    {"monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"}
    | {"montag", "dienstag", "mittwoch", "donnerstag", "freitag", "samstag", "sonnabend", "sonntag"}
    | {"lundi", "mardi", "mercredi", "jeudi", "vendredi", "samedi", "dimanche"}
)
# A time that is told from today.
_RELATIVE = re.compile(
    r"\b(?:today|tonight|tomorrow|yesterday|weeks?|months?|years?|days?|weekend|ago|next|last"
    r"|this (?:morning|evening)"
    r"|heute|morgen|übermorgen|gestern|vorgestern|wochen?|monate?n?|jahre?n?|tage?n?|nächste\w*|letzte\w*|vor"
    r"|aujourd'hui|demain|hier|semaines?|mois|ans?|années?|jours?|prochaine?|dernier|dernière"
    r"|hoy|mañana|ayer|semanas?|mes|meses|años?|días?|próxim[oa]|pasad[oa]"
    r"|oggi|domani|ieri|settiman[ae]|mes[ei]|ann[io]|giorn[io]|hoje|amanhã|ontem|vandaag|gisteren"
    r"|сегодня|завтра|вчера|недел\w+|месяц\w*|год\w*|dzisiaj|jutro|wczoraj)\b"
    r"|今日|明日|昨日|今天|明天|昨天|来週|先週|今週|来月|先月|오늘|내일|어제",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Grounding:
    """The words, lexemes and numbers that a statement may be made of.

    Attributes:
        words: the words of the text, case folded.
        lexemes: the lexemes of the text.
        numbers: in the text, in figures, without zeros before them.
    """

    words: frozenset[str]
    lexemes: frozenset[str]
    numbers: frozenset[str]

    @classmethod
    def of(cls, texts: Iterable[str], analyzer: Analyzer) -> "Grounding":
        """Return what texts give."""
        text = "\n".join(texts)
        words = {word.casefold() for word in _TOKEN.findall(text)}
        return cls(
            words=frozenset(words | {_POSSESSIVE.sub("", word) for word in words}),
            lexemes=frozenset(analyzer.lexemes(text)),
            numbers=frozenset(said_numbers(text)),
        )

    def __or__(self, other: "Grounding") -> "Grounding":
        """Return what both give."""
        return Grounding(self.words | other.words, self.lexemes | other.lexemes, self.numbers | other.numbers)

    def missing(self, statement: str, analyzer: Analyzer, *, today: date, nearby_text: str) -> list[str]:
        """Return what of a statement comes from nowhere: numbers and names, or its words if they are too many.

        Args:
            statement: to judge.
            analyzer: as of the ground.
            today: the day of the call.
            nearby_text: the text around its evidence; where that tells a time from today, dates near it are free.
        """
        free = set(_date_numbers(statement, today, is_relative=_RELATIVE.search(nearby_text) is not None))
        free |= _numbers_of_days(statement, nearby_text, today)
        names = (name for name in _names(statement) if not self._has_name(name))
        named = [*self._missing_numbers(statement, free), *names]
        if named:
            return list(dict.fromkeys(named))[:MAX_NAMED]
        words = ((token.lexeme, statement[token.start : token.end]) for token in analyzer.tokens(statement))
        lexemes = {lexeme: word for lexeme, word in words if not _NUMBER.search(word)}
        strange = [
            word
            for lexeme, word in lexemes.items()
            if lexeme not in self.lexemes and not self._is_free(word.casefold())
        ]
        known = len(lexemes) - len(strange)
        return strange[:MAX_NAMED] if lexemes and known < WORDS_FRACTION * len(lexemes) else []

    def _missing_numbers(self, statement: str, free: Collection[str]) -> list[str]:
        """Return the numbers that are not said, in the reading of the statement that has fewest of them."""
        readings = (statement, scaled_in_full(statement))
        missing = [
            [
                n
                for n in plain_numbers(join_grouped_digits(reading))
                if n not in self.numbers and n not in free
            ]
            for reading in readings
        ]
        return min(missing, key=len)

    def _has_name(self, name: str) -> bool:
        word = _POSSESSIVE.sub("", name.casefold())
        if word in self.words or self._is_free(word):
            return True
        # Names have endings in many languages: `Berlin` is `Berlins`, and `в Берлине` is Берлин.
        return any(
            min(len(word), len(known)) >= MIN_STEM_CHARS
            and abs(len(word) - len(known)) <= MAX_ENDING_CHARS
            and (word.startswith(known) or known.startswith(word))
            for known in self.words
        )

    def _is_free(self, word: str) -> bool:
        return word in _ALWAYS_GROUNDED or (word in _months() | _DAYS)


def _date_numbers(statement: str, today: date, *, is_relative: bool) -> Iterator[str]:
    """Yield the numbers of dates that follow from the clock."""
    dates = [_date(*match.groups()) for match in _ISO_DATE.finditer(statement)]
    tokens = [token.casefold() for token in _TOKEN.findall(statement)]
    months = [place for place, token in enumerate(tokens) if token in _months()]
    if months or any(dates):
        yield from (str(today.year + years) for years in (-1, 0, 1))
    if not is_relative:
        return
    for found in dates:
        if found is not None and abs((found - today).days) <= MAX_DAYS:
            yield from (str(found.year), str(found.month), str(found.day))
    for place in months:
        yield from (
            number for token in tokens[max(0, place - 1) : place + 2] for number in plain_numbers(token)
        )


def _names(statement: str) -> Iterator[str]:
    """Yield the words with a capital letter that do not begin a sentence, and those with one inside."""
    for match in _TOKEN.finditer(statement):
        word = match[0]
        is_inside = any(char.isupper() for char in word[1:]) and any(char.islower() for char in word)
        if is_inside or (word[0].isupper() and not _begins_sentence(statement, match.start())):
            yield word


def _begins_sentence(text: str, place: int) -> bool:
    """Return whether only space and opening marks stand between a word and the end of a sentence."""
    for at in range(place - 1, -1, -1):
        if text[at] in _SENTENCE_END:
            return True
        if not (text[at].isspace() or text[at] in _OPENING):
            return False
    return True


def _numbers_of_days(statement: str, nearby_text: str, today: date) -> set[str]:
    """Return the numbers of the days of a statement that the text near its evidence names in another way."""
    named = {
        mention.days.first
        for mention in find_days(nearby_text, today)
        if mention.days.first == mention.days.last
    }
    near = (today + timedelta(days=days) for days in range(-7, 8))
    named |= {day for day in near if names_weekday(nearby_text, day, day.weekday())}
    said = {mention.days.first for mention in find_days(statement, today)} & named
    return {str(number) for day in said for number in (day.year, day.month, day.day)}


def _date(year: str, month: str, day: str) -> date | None:
    try:
        return date(int(year), int(month), int(day))
    except ValueError:
        return None


@cache
def _months() -> frozenset[str]:
    """The names of the months in every language that search knows them of."""
    return frozenset(month.casefold() for name in LANGUAGES for month in load_language(name).months)
