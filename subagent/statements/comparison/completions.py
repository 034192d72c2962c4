"""The test whether a statement says that a task is done, in words of its own. Pure.

`I booked the flights`, `The flights are booked` and `Done booking the flights` say that `Book the flights` is
done. A task that is closed by mistake is forgotten, so the verb, and all words of the thing, have to be the same
on both sides. At most one side says when. What was only begun, tried, planned or done in part has other words.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from memex.subagent.statements.comparison.asides import are_asides, comes_again, rest_of
from memex.subagent.statements.days.dating import without_dates
from memex.subagent.statements.subjects import normal_form, plain_form
from memex.tables import load_tables

MAX_CHARS = 160  # a longer statement says more than that something is done
MAX_THING_WORDS = 12

_WORD = re.compile(r"[a-z]+(?:-[a-z]+)*")
_VOWEL_Y = re.compile(r"[^aeiou]y$")
_MORE = re.compile(r"[,;:!?]|\.\s| - |\b(?:but|and then|because|although|though|if|unless|except)\b")


def is_completion(text: str, task: str) -> bool:
    """Tell whether a statement says that a task is done, and nothing else.

    Args:
        text: the statement, in English; of other languages none is one.
        task: an open task, as it is stored.
    """
    if max(len(text), len(task)) > MAX_CHARS or not (asked := _task_of(task)):
        return False
    plain = _plain(text)
    return any(
        _is_same_thing(asked.thing, thing, is_passive=is_passive)
        for verb, thing, is_passive in _said_done(plain, asked.particle)
        if verb in _forms(asked.verb)
    ) or any(_is_same_thing(asked.thing, thing) for thing in _gerunds(plain, asked))


def base_form(word: str) -> str:
    """Return the base form of an irregular past form, such as `write` of `written`; any other word as it is."""
    return _load().base_forms.get(word.casefold(), word)


@dataclass(frozen=True, slots=True)
class _Task:
    """A task: its verb in the base form, a particle such as `up`, and the words of the thing and of when."""

    verb: str
    particle: str
    thing: tuple[str, ...]


def _task_of(text: str) -> _Task | None:
    """Return a task; None if it is none of one verb and a thing, or comes again and again."""
    plain, tables = _plain(text), _load()
    for _ in range(4):
        lead_in = tables.task_lead_in.match(plain)
        if lead_in is None:
            break
        plain = plain[lead_in.end() :]
    if _MORE.search(plain):
        return None
    verb, _, rest = plain.partition(" ")
    words = _words(rest)
    particle = words[0] if words and words[0] in tables.particles and len(words) > 1 else ""
    thing = words[1:] if particle else words
    if not _WORD.fullmatch(verb) or not 0 < len(thing) <= MAX_THING_WORDS or comes_again(thing):
        return None
    return _Task(verb, particle, thing)


def _said_done(plain: str, particle: str) -> list[tuple[str, tuple[str, ...], bool]]:
    """Return the verbs of a statement that something was done, each with the words of the thing and of when.

    The third value is whether the verb is passive, as in `The flights are booked`.
    """
    tables, found = _load(), []
    if _MORE.search(_bare(plain)):
        return []
    lead_in = tables.done_lead_in.match(plain)
    verb, _, rest = plain[lead_in.end() if lead_in else 0 :].partition(" ")
    found.append((verb, rest, False))
    for passive in tables.passive.finditer(plain):
        verb, _, rest = plain[passive.end() :].partition(" ")
        before = plain[lead_in.end() if lead_in else 0 : passive.start()]
        found.append((verb, f"{before} {rest}", True))
    return [
        (verb, thing, is_passive)
        for verb, rest, is_passive in found
        if (thing := _without_particle(_words(rest), particle)) is not None
    ]


def _gerunds(plain: str, task: _Task) -> list[tuple[str, ...]]:
    """Return the words of what a statement says is done, if it names the verb as in `booking`."""
    lead_in = _load().gerund_lead_in.match(plain)
    if lead_in is None or _MORE.search(_bare(plain)):
        return []
    verb, _, rest = plain[lead_in.end() :].partition(" ")
    if verb not in _gerunds_of(task.verb):
        return []
    thing = _without_particle(_words(rest), task.particle)
    return [] if thing is None else [thing]


def _bare(plain: str) -> str:
    """Return a statement without the marks behind the words that may stand before it."""
    lead_in = _load().done_lead_in.match(plain)
    return plain[lead_in.end() :] if lead_in else plain


def _without_particle(words: tuple[str, ...], particle: str) -> tuple[str, ...] | None:
    """Return words without the particle of a verb, wherever it stands; None if it is absent."""
    if not particle:
        return words
    return words[: words.index(particle)] + words[words.index(particle) + 1 :] if particle in words else None


def _is_same_thing(asked: tuple[str, ...], done: tuple[str, ...], *, is_passive: bool = False) -> bool:
    """Tell whether a task and what is done are about one thing; at most one of them says when.

    What is done was done before: `The flights are booked on Friday` says when they will be.
    """
    tables = _load()
    later = rest_of(asked, done)
    if later is not None and _is_tail(later, done):
        when = {done[place] for place in later}
        return tables.not_yet.isdisjoint(when) and (not is_passive or when <= tables.passive_when)
    left = rest_of(done, asked) if done else None
    return left is not None and _is_tail(left, asked)


def _is_tail(places: Sequence[int], words: Sequence[str]) -> bool:
    """Tell whether the words that are left over stand together at the end, and say when something is."""
    is_last = list(places) == list(range(len(words) - len(places), len(words)))
    return is_last and are_asides(words, places, may_repeat=False)


def _words(text: str) -> tuple[str, ...]:
    articles = _load().articles
    return tuple(word for word in normal_form(text) if word not in articles) if text.strip() else ()


def _plain(text: str) -> str:
    return plain_form(without_dates(text)).casefold()


def _forms(verb: str) -> frozenset[str]:
    """Return the past forms of a verb."""
    if verb in _load().irregular:
        return _load().irregular[verb]
    if verb.endswith("e"):
        return frozenset({f"{verb}d"})
    return frozenset({f"{verb[:-1]}ied" if _VOWEL_Y.search(verb) else f"{verb}ed"})


def _gerunds_of(verb: str) -> frozenset[str]:
    """Return the forms of a verb such as `booking`."""
    stem = verb.removesuffix("e") if not verb.endswith("ee") else verb
    return frozenset({f"{stem}ing", f"{verb}{verb[-1]}ing"})


@dataclass(frozen=True, slots=True)
class _Tables:
    task_lead_in: re.Pattern[str]
    done_lead_in: re.Pattern[str]
    gerund_lead_in: re.Pattern[str]
    passive: re.Pattern[str]
    particles: frozenset[str]
    articles: frozenset[str]
    not_yet: frozenset[str]
    passive_when: frozenset[str]
    irregular: Mapping[str, frozenset[str]]
    base_forms: Mapping[str, str]


@cache
def _load() -> _Tables:
    data = load_tables("memex.subagent.statements.comparison", "completions.yaml")
    return _Tables(
        re.compile(data["task_lead_in"]),
        re.compile(data["done_lead_in"]),
        re.compile(data["gerund_lead_in"]),
        re.compile(data["passive"]),
        frozenset(data["particles"]),
        frozenset(data["articles"]),
        frozenset(data["not_yet"]),
        frozenset(data["passive_when"]),
        {base: frozenset(past) for base, *past in data["irregular"]},
        {form: base for base, *past in data["irregular"] for form in past},
    )
