"""By what two texts about work are known to mean the same work. Pure.

To be wrong here is to call open work done, so that all words count but those that cannot tell one work from
another: articles, auxiliaries, words that only say that something is over or still open, and the order of the words
where it says nothing. Words that do the same to a thing are one: `add` and `implement`, `remove` and `delete`. A
part of the words never does: `tests` is not `integration tests`.
"""

import re
from collections.abc import Iterator
from functools import cache, lru_cache
from itertools import islice

from memex.store.search.analyzer import analyzer_of
from memex.subagent.statements.rule_table import RuleTable
from memex.subagent.statements.subjects import APOSTROPHES, plain_form

_TABLE = RuleTable("comparison", "work_forms.yaml")
MAX_FORM_CHARS = 600

_TOKEN = re.compile(r"[^\s,;:()\[\]\"“”„«»`*]+")
_TRIMMED = ".!?'…"
_ELIDED = re.compile(r"(?:[ldjnsc]|qu)'(?=\w{2})")
_PLAIN = re.compile(r"[a-z]+")
_GERMAN_PARTICIPLE = re.compile(
    r"(ab|an|auf|aus|ein|um|vor|zu|nach|mit|bei|fest|los|weg|zurück|zusammen|hinzu)?ge(\w{2,}?)(?:t|en)$"
)
_GERMAN_ENDING = re.compile(r"(?<=\w{4})(?:en|et|t|e)$")
_GERMAN_LETTERS = re.compile(r"[äöüß]")
_BEFORE = re.compile(r",? (?:before|bevor) (?:we|i|you|wir|ich)\b.{0,80}$", re.IGNORECASE)
# Where a text goes on with details of what is done or chosen: files, figures, clauses. What begins with a
# preposition, as in `done, for uploads`, limits it, and the words of the second pattern take some of it back.
_DETAILS = re.compile(
    r"\s?\((?=[^()]{0,80}[`/#\d])|:\s|(?:[,;]|\s[–—])\s(?!(?:for|on|in|at|with|to|from|of|as|by|für|auf|bei|mit|im|am)\b)"
    r"|\s(?:in|at|under|into)\s(?=`[^`]{0,80}[./])"
    r"|\s(?:while (?:i|we) (?:was|were) (?:there|at it)|along the way|on the way|as well|nebenbei)\b",
    re.IGNORECASE,
)
_TAKEN_BACK = re.compile(
    r"\b(?:but|except|excluding|only|part(?:ly|ial\w*)|mostly|almost|half|apart|beside\w*|without|not|no|never"
    r"|so far|still|yet|and|or|plus|aber|außer|nur|teil\w*|fast|halb|ohne|nicht|kein\w*|bisher|noch|und|oder)\b"
    r"|n['’]t\b",
    re.IGNORECASE,
)
_MAX_DETAILS = 4
_LIMITED = re.compile(re.sub(r"\|(?:and|or|plus|und|oder)\b", "", _TAKEN_BACK.pattern), re.IGNORECASE)
_PARTS = re.compile(r"[,;:]\s|\s(?:and|or|so|und|oder|et|y)\s", re.IGNORECASE)
_PARTICIPLE = re.compile(r"\w{2,}ed|\w*ge\w{2,}t|\w{3,}iert|(?:be|er|ver|ent|zer|über)\w{3,}t")
LEAST_TOLD = 3  # words of a task which a text names that goes on
_REPLACED = re.compile(
    r"(?:\b(?:instead of|rather than|over|no longer|not|drop(?:ping)?|away from|statt|anstelle von|anstatt"
    r"|nicht mehr|weg von|plutôt que(?: de)?|en vez de|en lugar de|ya no"
    r"|(?:replac|ersetz|rempla[cç]|reempla[zc]|sustitu)\w+) "
    r"|\b(?:(?:move|switch|migrat)\w*|wechsel\w*|pass?\w+|cambi\w+) (?:[^\s,;]+ ){0,3}?(?:from|von|de) "
    r"|\b(?:au lieu|à la place) d(?:e |u |es |')|\bplutôt qu')"
    r"(?:use |using |the |a |an )?([^,.;:()]{2,60}?)"
    r"(?:$|[,.;:()]| because| since| for now| any ?more"
    r"| as | to | with | by | durch | zu | auf | à | par | a | por )",
    re.IGNORECASE,
)
# What a text says is used, or where something is: the last words of it, or those before a purpose or a reason.
_VALUE = re.compile(
    r"\b(?:in|on|at|with|by|via|as|to|us(?:e|es|ing)|keep|take|mit|auf|bei|im|als|per|nehmen|nutzen|verwenden|behalten"
    r"|dans|sur|avec|en|à|gard\w+|utilis\w+|pren\w+|con|usa\w*) (?=(?P<value>[^,.;:()]{2,60}?)"
    r"(?:$|[,.;:()!]| (?:for|next|beside|because|since|so|as|until|and|für|neben|weil|und|pour|et|para|y)\b))",
    re.IGNORECASE,
)
MAX_NAMED = 3  # words of what is chosen, where nothing is said of it


def item_form(kind: str, text: str) -> tuple[str, ...]:
    """Return the words by which a text about work is compared; two of the same form speak of the same work.

    The forms of a task, of what is done, of a blocker and of a point of a definition of done are comparable. An
    empty form is like no other.
    """
    return _form(kind if kind in {"decision", "blocker"} else "pending", text[:MAX_FORM_CHARS])


def without_details(text: str) -> Iterator[str]:
    """Yield a text about what is done or chosen, and again without the details that it goes on with.

    `The tests are written (tests/a.py), all pass` says that `The tests are written`. With words that take something
    back, such as `but not the slow ones`, or that go on with a list, only the whole text is yielded.
    """
    text = text[:MAX_FORM_CHARS]
    yield text
    for match in islice(_DETAILS.finditer(text), _MAX_DETAILS):
        if _TAKEN_BACK.search(text, match.start()) is None:
            yield text[: match.start()]


def tells_of(report: str, task: str, kind: str = "pending") -> bool:
    """Return whether a text about what is done names all of a task and goes on, or names it in short.

    A blocker is named in short alone, by what gives the thing that it waits for: `Anna sent the list`.

    `Failed webhooks are now retried three times` names `Retry failed webhooks`. `Done with the rate limit` is short
    for `Rate limit the login`: all that it names are the first words of the task, and half of them or more. A text
    that takes something back, or whose participles are of other verbs than the task, tells of something else.
    """
    report, task = report[:MAX_FORM_CHARS], task[:MAX_FORM_CHARS]
    wanted, is_task, closing = item_form(kind, task), kind == "pending", _TABLE.words("closing")
    if _LIMITED.search(report) or not _TABLE.words("ordered").isdisjoint(wanted):
        return False
    verbs = {stem for _, stem in _stems(task)}
    for part in _PARTS.split(report) if is_task and len(wanted) >= LEAST_TOLD else ():
        over = {
            stem
            for token, stem in _stems(part)
            if token not in closing and (token in _TABLE.data["irregular"] or _PARTICIPLE.fullmatch(token))
        }
        is_over = over <= verbs if over else not closing.isdisjoint(_tokens(part))
        if is_over and set(item_form("done", part)).issuperset(wanted):
            return True
    said, tokens = item_form("done" if is_task else "blocker", report), list(_tokens(task))
    ends = closing if is_task else _TABLE.words("giving")
    is_short = not ends.isdisjoint(_tokens(report)) and _PARTS.search(task) is None
    if not is_short or not 2 <= len(said) <= len(wanted) <= 2 * len(said):
        return False
    heads = (tokens[:place] for place, token in enumerate(tokens) if token in _TABLE.words("light"))
    return any(item_form(kind, " ".join(head)) == said for head in heads)


def replaced_forms(text: str) -> Iterator[tuple[str, ...]]:
    """Yield the forms of what a decision replaces, such as Postgres in `SQLite instead of Postgres`."""
    for match in _REPLACED.finditer(text[:MAX_FORM_CHARS]):
        if form := item_form("decision", match[1]):
            yield form


def choice_forms(text: str) -> Iterator[tuple[str, ...]]:
    """Yield the forms of what a decision chooses, without what it replaces: with its details, and without them."""
    for each in without_details(_REPLACED.sub(" ", text[:MAX_FORM_CHARS])):
        yield item_form("decision", each)


def value_forms(text: str) -> Iterator[tuple[str, ...]]:
    """Yield the forms of what a decision uses, or of where it puts something, such as a plain csv."""
    for match in _VALUE.finditer(_REPLACED.sub(" ", text[:MAX_FORM_CHARS])):
        if form := item_form("decision", match["value"]):
            yield form


@lru_cache(maxsize=4_096)
def lone_choice(text: str) -> tuple[str, ...]:
    """Return the form of what a decision chooses, if it says neither what for nor of what it is; else none.

    So is `SQLite instead of Postgres`; `items live in SQLite`, `SQLite for the cache` and `print titles` say more.
    """
    dropped = _TABLE.words("light", "closing", "opening", "settling")
    said = _REPLACED.sub(" ", text[:MAX_FORM_CHARS])
    tokens = list(_tokens(said))
    places = [place for place, token in enumerate(tokens) if token not in dropped]
    if "," in said or not 0 < len(places) <= MAX_NAMED or places[-1] - places[0] >= len(places):
        return ()
    lead = tokens[places[0] - 1] if places[0] else ""
    is_led = lead in _TABLE.words("light", "settling") and lead not in _TABLE.words("speaking")
    if not is_led and len(places) > 1 and not any(map(str.isupper, said[1:])):
        return ()
    return item_form("decision", " ".join(tokens[place] for place in places))


@lru_cache(maxsize=16_384)
def _form(kind: str, text: str) -> tuple[str, ...]:
    more = {"blocker": ("blocking", "giving"), "decision": ("settling",)}.get(kind, ())
    dropped, verbs = _TABLE.words("light", "closing", "opening", *more), _TABLE.words("verbs")
    pairs = _stems(_BEFORE.sub("", text) if kind == "pending" else text)
    is_ordered = any(token in _TABLE.words("ordered") for token, _ in pairs)
    stems = [
        stem
        for place, (token, stem) in enumerate(pairs)
        if token not in dropped or (place == 0 and token in verbs and kind == "pending")
    ]
    stems = [stem for stem in stems if stem not in _TABLE.words("generic")] or stems
    return tuple(stems) if is_ordered else tuple(sorted(stems))


@lru_cache(maxsize=16_384)
def _stems(text: str) -> tuple[tuple[str, str], ...]:
    """Return the words of a text, each with what it is compared by."""
    tokens, german = list(_tokens(text)), _TABLE.words("german")
    is_german = any(token in german or _GERMAN_LETTERS.search(token) for token in tokens)
    stems = ((token, _stem(token, is_german=is_german)) for token in _without_not_yet(tokens))
    return tuple((token, _classes().get(stem, stem)) for token, stem in stems)


def _without_not_yet(tokens: list[str]) -> list[str]:
    """Return the words without the denial of `is not documented yet`, which says that it is still to be done."""
    if "yet" in tokens or ("noch" in tokens and "nicht" in tokens):
        return [token for token in tokens if token not in {"not", "nicht"} and not token.endswith("n't")]
    return tokens


def _tokens(text: str) -> Iterator[str]:
    for match in _TOKEN.finditer(plain_form(text.translate(APOSTROPHES)).casefold()):
        token = _ELIDED.sub("", match[0].strip(_TRIMMED))
        if token and any(char.isalnum() for char in token):
            yield token


def _stem(word: str, *, is_german: bool) -> str:
    word = str(_TABLE.data["irregular"].get(word, word)).removesuffix("'s")
    if word in _classes():
        return word
    if (is_german and not word.isascii()) or (is_german and _PLAIN.fullmatch(word)):
        participle = _GERMAN_PARTICIPLE.fullmatch(word)
        bare = f"{participle[1] or ''}{participle[2]}" if participle else word
        return _GERMAN_ENDING.sub("", bare)
    return _english_stem(word) if _PLAIN.fullmatch(word) else word


@cache
def _classes() -> dict[str, str]:
    """Return the words that do the same to a thing, as written and as stems, by what they do."""
    return {
        form: name
        for name, members in _TABLE.data["classes"].items()
        for member in members
        for form in (member, _english_stem(member), _GERMAN_ENDING.sub("", member))
    }


def _english_stem(word: str) -> str:
    return next(iter(analyzer_of("english").lexemes(word)), word)
