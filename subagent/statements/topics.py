"""The topics of statements, as headings for them: names and things that occur in several statements. Pure.

No list of names is needed. A word is a name if it begins with a capital letter within a sentence, and a thing if
it stands behind a word such as `the` or `my`, and is the last word of its phrase. German, which writes every noun
with a capital, has its things among the names.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from heapq import heapify, heappop, heappush

from memex.subagent.statements.places import stands_for_kind
from memex.subagent.statements.subjects import APOSTROPHES, JUDGED_CHARS
from memex.subagent.text_cache import cached_for_short_texts
from memex.tables import load_tables

# So many statements about one topic get a heading of their own: fewer headings help a reader more.
LEAST_STATEMENTS = 3
MAX_HEADING_WORDS = 4  # a longer heading is a sentence, and no topic

_TOKEN = re.compile(r"\[\[[^\]]*\]\]|\S+://\S+|\S+@\S+|[^\W\d_]\w*(?:['-]\w+)*|[^\s\w]+|\S")
_ELISION = re.compile(r"([ldjqcnmts]|qu|jusqu|lorsqu)'(?=\w{2})", re.IGNORECASE)
_SENTENCE_END = re.compile(r"[.!?…:(\"“«\[]")
_EARLY_WORDS = 10
_NAME, _THING = 5, 3  # what a name and a thing among the first words of a statement speak for a heading
_LATER_SHARE = 60  # percent


@dataclass(frozen=True, slots=True)
class Mention:
    """A word of a statement that may be what it is about.

    Attributes:
        key: by which it is compared.
        word: as it is written.
        place: the number of words before it.
        is_name: it begins with a capital letter within a sentence.
        is_thing: it ends a phrase such as `the roof`, or begins one such as `practice is` or `Car:`.
        is_noun: it is one of both, or stands at the head of a sentence.
    """

    key: str
    word: str
    place: int
    is_name: bool
    is_thing: bool
    is_noun: bool


@cached_for_short_texts(entries=1 << 13)
def mentions(text: str) -> tuple[Mention, ...]:
    """Return the words of a statement that may be what it is about, in their order."""
    tokens, tables = _tokens(text[:JUDGED_CHARS].translate(APOSTROPHES)), _load()
    found = []
    for place, token in enumerate(tokens):
        if token.key in tables.no_topic or len(token.key) < 2 or not token.is_word:
            continue
        before = [earlier.key for earlier in tokens[max(0, place - 2) : place]]
        following = tokens[place + 1] if place + 1 < len(tokens) else _END
        is_thing = _is_thing(token, before, following, tables)
        is_name = token.word[0].isupper() and not token.is_head
        is_noun = is_thing or is_name or token.is_head
        found.append(Mention(_singular(token.key), token.word, place, is_name, is_thing, is_noun))
    return tuple(found)


def heading_keys(heading: str) -> frozenset[str]:
    """Return the keys of the words of a heading; none of a heading that names no topic."""
    keys = frozenset(mention.key for mention in mentions(heading))
    return keys if len(keys) <= MAX_HEADING_WORDS else frozenset()


def is_about(text: str, keys: Collection[str]) -> bool:
    """Return whether a statement names what a heading says: all of its words, and one of them as a noun."""
    found = [mention for mention in mentions(text) if mention.key in keys]
    return len({mention.key for mention in found}) == len(keys) and any(one.is_noun for one in found)


def headings_by_key(headings: Iterable[str]) -> dict[str, list[tuple[str, frozenset[str]]]]:
    """Return headings that name a topic, with their keys, each by one of its keys."""
    found: dict[str, list[tuple[str, frozenset[str]]]] = {}
    for heading in headings:
        if keys := heading_keys(heading):
            found.setdefault(min(keys), []).append((heading, keys))
    return found


def heading_for(text: str, by_key: Mapping[str, Sequence[tuple[str, frozenset[str]]]]) -> str | None:
    """Return the heading that a statement belongs under: the one with most words, then the one named first."""
    places = {mention.key: mention.place for mention in reversed(mentions(text))}
    fitting = [
        (-len(keys), min(places[key] for key in keys), heading)
        for named in places
        for heading, keys in by_key.get(named, ())
        if keys <= places.keys() and is_about(text, keys)
    ]
    return min(fitting)[2] if fitting else None


def new_headings(
    texts: Sequence[str], fresh: Collection[int], *, taken: Collection[str] = (), own: Collection[str] = ()
) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Yield the headings that statements without one deserve, each with the numbers of its statements.

    Args:
        texts: the statements.
        fresh: the numbers of those that are new; without one of them there is no heading.
        taken: headings that have another meaning.
        own: keys of the user's own name, which is no topic in his own memory.
    """
    pool = _TopicPool.of(texts, fresh, own)
    waiting = set(fresh)
    refused = {" ".join(taken_heading.split()).casefold() for taken_heading in taken}
    for key in pool.best_first():
        heading, members = pool.heading(key), tuple(sorted(pool.members[key]))
        is_taken = heading.casefold() in refused or stands_for_kind(heading)
        if not is_taken and not waiting.isdisjoint(members):
            waiting.difference_update(members)
            pool.drop(members)
            yield heading, members


@dataclass(slots=True)
class _TopicPool:
    """Statements without a heading, by the keys of what they may be about."""

    weights: list[dict[str, int]]
    spellings: dict[str, Counter[str]]
    members: dict[str, set[int]] = field(default_factory=dict)
    totals: Counter[str] = field(default_factory=Counter)

    @classmethod
    def of(cls, texts: Sequence[str], fresh: Iterable[int], own: Collection[str]) -> "_TopicPool":
        """Return statements with the names and the things in them that some of them, the fresh ones, name."""
        wanted = {mention.key for number in fresh for mention in mentions(texts[number])}
        named = [[mention for mention in mentions(text) if mention.key in wanted] for text in texts]
        names, things = Counter[str](), Counter[str]()
        spellings: dict[str, Counter[str]] = {}
        for statement in filter(None, named):
            names.update({mention.key for mention in statement if mention.is_name})
            things.update({mention.key for mention in statement if mention.is_thing})
            for mention in statement:
                spellings.setdefault(mention.key, Counter())[mention.word] += 1
        is_name = {key for key in names if key not in own and _is_mostly_capital(spellings[key])}
        is_thing = {key for key, count in things.items() if count >= 2 and key not in own}
        pool = cls([_weights(statement, is_name, is_thing) for statement in named], spellings)
        for number, weights in enumerate(pool.weights):
            for key, weight in weights.items():
                pool.members.setdefault(key, set()).add(number)
                pool.totals[key] += weight
        return pool

    def best_first(self) -> Iterator[str]:
        """Yield the keys of enough statements, the one that speaks for most first, also while statements go."""
        waiting = [(-total, key) for key, total in self.totals.items()]
        heapify(waiting)
        while waiting:
            total, key = heappop(waiting)
            if len(self.members[key]) < LEAST_STATEMENTS:
                continue
            if -total != self.totals[key]:  # some of its statements went: it may not be the best any more
                heappush(waiting, (-self.totals[key], key))
                continue
            yield key

    def drop(self, members: Iterable[int]) -> None:
        """Take statements that have a heading now out of the pool."""
        for number in members:
            for key, weight in self.weights[number].items():
                self.members[key].discard(number)
                self.totals[key] -= weight

    def heading(self, key: str) -> str:
        """Return a key as a heading, spelled as it is most."""
        ranked = sorted(self.spellings[key].items(), key=lambda item: (-item[1], item[0].isupper(), item[0]))
        capital = [word for word, _ in ranked if word[0].isupper()]
        word = (capital or [ranked[0][0]])[0]
        return word[0].upper() + word[1:]


@dataclass(frozen=True, slots=True)
class _Token:
    word: str
    key: str
    is_word: bool
    is_head: bool  # nothing of its sentence stands before it


_END = _Token("", "", False, False)


@dataclass(frozen=True, slots=True)
class _TopicTables:
    determiners: frozenset[str]
    verbs: frozenset[str]
    no_topic: frozenset[str]  # all of them, and what is no word: it also ends a noun phrase


def _tokens(text: str) -> list[_Token]:
    tokens, is_head = [], True
    for found in _TOKEN.findall(text):
        if not found[0].isalpha() or "://" in found or "@" in found:
            tokens.append(_Token(found, "", False, is_head))
            is_head = is_head or _SENTENCE_END.search(found) is not None
            continue
        part = found
        if elided := _ELISION.match(found):
            tokens.append(_Token(elided[0], elided[0].casefold(), True, is_head))
            part = found[elided.end() :]
        word = part[:-2] if part.endswith(("'s", "'S")) and part.casefold() not in _load().no_topic else part
        tokens.append(_Token(word, word.casefold(), True, is_head))
        is_head = False
    return tokens


def _is_thing(token: _Token, before: Sequence[str], after: _Token, tables: _TopicTables) -> bool:
    """Return whether a word ends a phrase such as `the roof`, or is the head of `practice is` or `car:`."""
    if after.key not in tables.no_topic:
        return False
    if token.is_head:
        return after.key in tables.verbs or after.word.startswith(":")
    if before and before[-1] in tables.determiners:
        return True
    return len(before) == 2 and before[0] in tables.determiners and before[1] not in tables.no_topic


def _weights(statement: Sequence[Mention], names: Collection[str], things: Collection[str]) -> dict[str, int]:
    """Return how much each key speaks for a heading above a statement."""
    found: dict[str, int] = {}
    for mention in statement:
        if mention.key not in names and not (mention.key in things and mention.is_noun):
            continue
        weight = 20 * (_NAME if mention.key in names else _THING)
        if mention.place >= _EARLY_WORDS:
            weight = weight * _LATER_SHARE // 100
        found[mention.key] = max(weight, found.get(mention.key, 0))
    return found


def _is_mostly_capital(spellings: Mapping[str, int]) -> bool:
    """Return whether a word is written with a capital letter in a third of its places: chats are typed hastily."""
    capital = sum(count for word, count in spellings.items() if word[0].isupper())
    return capital * 3 >= sum(spellings.values())


def _singular(key: str) -> str:
    return key[:-1] if len(key) > 4 and key.endswith("s") and not key.endswith("ss") else key


@cache
def _load() -> _TopicTables:
    tables = load_tables("memex.subagent.statements", "topics.yaml")
    words = {name: frozenset(value.split()) for name, value in tables.items()}
    ends = frozenset[str]().union(*words.values(), {""})
    return _TopicTables(words["determiners"], words["verbs"], ends)
