"""Questions about oneself, such as where one works: the statements about the user that answer them.

A question and its answer seldom share a word: `What do I do for a living?` is answered by `I am a gardener`.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import yaml

from memex.store.search.bm25 import Query
from memex.subagent.context.lists import statements_of_kinds
from memex.subagent.context.statements import StatementUnit
from memex.subagent.memory_tools import MemoryTools
from memex.subagent.statements.bullets import parse_bullet
from memex.subagent.statements.language import StatementKind
from memex.subagent.statements.own_names import names_in
from memex.subagent.statements.subjects import APOSTROPHES, is_personal
from memex.subagent.statements.topics import is_about

MAX_ANSWERS = 8
MAX_CHARS = 600  # of a question or a statement that are looked at
KINDS: tuple[StatementKind, ...] = ("profile", "preference", "constraint", "note")

_MY = r"(?:my|our|mein\w*|unser\w*|mon|ma|mes|notre|nos|mis?|nuestr[oa]s?)"
_CALLED = r"(?i:(?:is |was |called |named |is called |heißt |ist |s'appelle |est |se llama |es )?)"
_NAME = r"[A-ZÀ-Þ][a-zà-ÿ]+"
_WORD = re.compile(r"[^\W\d_]+")
_USER = re.compile(
    r"^(?:she|he|they|sie|er|elle|il|ella|él)\b"
    r"|\b(?:the user|der nutzer|die nutzerin|l'utilisat\w+|el usuario|la usuaria)\b|"
    r"\b(?:i|i'm|im|i've|ive|me|my|we|our|us|ich|mich|mir|mein\w*|wir|uns\w*|je|j'\w+|moi|mon|ma|mes|on|nous|notre|nos"
    r"|yo|mi|mis|me|nosotros|nuestr[oa]s?)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class SelfTopic:
    """Something that people ask about themselves.

    Attributes:
        name: the name of the topic.
        ask: finds the topic in a question.
        say: finds what answers in a statement; None for all that the profile says.
        is_shared: what is said of others answers too, such as what the family does not eat.
    """

    name: str
    ask: re.Pattern[str]
    say: re.Pattern[str] | None
    is_shared: bool


@dataclass(frozen=True, slots=True)
class _Kin:
    """Words for somebody close to the user.

    Attributes:
        ask: finds him in a question, behind a word such as `my`.
        called: finds his name behind or before such a word in a statement.
    """

    ask: re.Pattern[str]
    called: re.Pattern[str]

    def names_in(self, text: str) -> list[str]:
        """Return the names that a statement gives him."""
        return [match[1] or match[2] for match in self.called.finditer(text)]

    @classmethod
    def of(cls, words: str) -> "_Kin":
        """Return the words of one alternative after the other, such as `sister|hermana`."""
        return cls(
            re.compile(rf"\b{_MY} (?:\w+ )?(?:{words})\b", re.IGNORECASE),
            re.compile(
                rf"(?i:\b(?:{words})\b),? {_CALLED}({_NAME})"
                rf"|({_NAME})(?:,|(?i: is| ist| est| es)) (?i:{_MY}|\w+'s|her|his|sein\w*|ihr\w*|sa|son|su)"
                rf" (?i:(?:\w+ )?(?:{words}))\b"
            ),
        )


def topics_of(question: str) -> list[SelfTopic]:
    """Return what a question asks about the user."""
    plain = _plain(question)
    return [topic for topic in _load() if topic.ask.search(plain)]


def asks_for_oneself(question: str) -> bool:
    """Return whether a question asks about the user, or about somebody whom he calls `my sister` or the like."""
    return bool(topics_of(question) or _kin_of(question))


def asks_for_all(question: str) -> bool:
    """Return whether a question asks for all that is known about the user."""
    return any(topic.say is None for topic in topics_of(question))


async def statements_about_user(question: str, query: Query, tools: MemoryTools) -> list[StatementUnit]:
    """Return the statements about the user, or about people close to him, that answer a question."""
    units = await statements_of_kinds(KINDS, query, tools)
    topics, kin = topics_of(question), _kin_of(question)
    if not kin:
        return _about_topics(units, topics)
    names = {name for one in kin for unit in units for name in one.names_in(unit.candidate.text[:MAX_CHARS])}
    found = [unit for unit in units if names and not names.isdisjoint(_WORD.findall(unit.candidate.text))]
    found.sort(key=lambda unit: unit.order, reverse=True)
    found.sort(key=lambda unit: _is_topic(unit, topics), reverse=True)
    return found[:MAX_ANSWERS]


def _about_topics(units: Sequence[StatementUnit], topics: Sequence[SelfTopic]) -> list[StatementUnit]:
    """Return the statements about the user himself, those of the profile first, then the newest."""
    profile = "\n".join(unit.candidate.text for unit in units if unit.kind == "profile")
    names = names_in(profile)
    found = [unit for unit in units if _answers(unit, topics, names)]
    found.sort(key=lambda unit: unit.order, reverse=True)
    found.sort(key=lambda unit: unit.kind != "profile")
    return found if any(topic.say is None for topic in topics) else found[:MAX_ANSWERS]


def _is_topic(unit: StatementUnit, topics: Sequence[SelfTopic]) -> bool:
    text = _plain(parse_bullet(unit.candidate.text))
    return any(topic.say is not None and topic.say.search(text) for topic in topics)


def _answers(unit: StatementUnit, topics: Sequence[SelfTopic], names: frozenset[str]) -> bool:
    if unit.kind == "profile" and any(topic.say is None for topic in topics):
        return True
    text = _plain(parse_bullet(unit.candidate.text))
    said = [topic for topic in topics if topic.say is not None and topic.say.search(text)]
    return any(topic.is_shared for topic in said) or (bool(said) and _is_own(unit, text, names))


def _is_own(unit: StatementUnit, text: str, names: frozenset[str]) -> bool:
    """Return whether a statement, whose text is given, is about the user."""
    is_own = unit.kind == "profile" or is_personal(text) or _USER.search(text) is not None
    return is_own or any(is_about(text, {name}) for name in names)


def _plain(text: str) -> str:
    return " ".join(text[:MAX_CHARS].translate(APOSTROPHES).split())


def _kin_of(question: str) -> list[_Kin]:
    plain = _plain(question)
    return [one for one in _load_kin() if one.ask.search(plain)]


@cache
def _load_kin() -> tuple[_Kin, ...]:
    return tuple(_Kin.of(words) for words in _read()["kin"])


@cache
def _load() -> tuple[SelfTopic, ...]:
    return tuple(
        SelfTopic(
            row["name"],
            _any(row["ask"]),
            _any(row["say"]) if "say" in row else None,
            row.get("is_shared", False),
        )
        for row in _read()["topics"]
    )


@cache
def _read() -> dict[str, Any]:
    text = (files("memex.subagent.context") / "oneself.yaml").read_text(encoding="utf-8")
    data: dict[str, Any] = yaml.safe_load(text)
    return data


def _any(patterns: Sequence[str]) -> re.Pattern[str]:
    return re.compile("|".join(patterns), re.IGNORECASE)
