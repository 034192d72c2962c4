"""Holders: who likes something, the user or somebody else, and whose thing a statement is about. Pure."""

import re
from collections.abc import Collection
from functools import cache

from memex.subagent.statements import language
from memex.subagent.statements.rule_table import RuleTable
from memex.subagent.statements.subjects import JUDGED_CHARS, plain_form, strip_opening
from memex.subagent.text_cache import cached_for_short_texts

_TABLE = RuleTable("comparison", "holders.yaml")
_NAME_WORD = r"[^\W\d_a-zß-ÿ][\w.'’-]*"
_NAME = rf"{_NAME_WORD}(?:(?: and| und| et| y|,)? {_NAME_WORD}){{0,3}}"
_THING = r"(?=[ ](?P<{}>[^\W\d_][\w-]*))"
_OWNED = re.compile(
    r"\b(?:(?P<own>my|our|mein\w{0,2}|unser\w{0,2}|mon|ma|mes|notre|nos|mi|mis|nuestr[oa]s?)|(?P<other>[\w-]+)['’]s)"
    rf"{_THING.format('owned')}"
    r"|\b(?P<thing>[^\W\d_][\w-]*) (?:of|de|von) (?:(?:the|la|le|el|der|dem) )?(?P<of>[^\W\d_][\w-]*)"
    # `the import of the old list of boats` is of the boats too
    r"(?=(?: [\w-]+){0,3}? (?:of|de|von) (?:(?:the|la|le|el|der|dem) )?(?P<of_that>[^\W\d_][\w-]*))?",
    re.IGNORECASE,
)
_NO_OWNERS = frozenset(
    ["it", "that", "this", "what", "who", "where", "here", "there", "how", "let", "he", "she"]
)
# `Kaffee mag ich nicht`: the verb comes before who likes it.
_FIRST_PERSON = re.compile(r" (?:ich|wir)\b", re.IGNORECASE)
_THIRD_PERSON = re.compile(r"(?:he|she|they|er|sie|il|elle|ils|elles|él|ella|ell[oa]s)\b", re.IGNORECASE)
_FIRST_DOER = re.compile(r"(?:i|we|ich|wir|je|j['’]|nous|yo|nosotr[oa]s)\b", re.IGNORECASE)


def is_about_another(text: str, own_names: Collection[str] = ()) -> bool:
    """Tell whether a liking is that of somebody else: `Yusuf prefers async reviews`, `My wife hates olives`.

    Args:
        text: a statement of what somebody likes or wants.
        own_names: the words of the user's own name, in lower case.
    """
    plain = strip_opening(language.load("en").lead_ins, plain_form(text[:JUDGED_CHARS]))
    found = _others().match(plain)
    if found is None or _FIRST_PERSON.match(plain, found.end()):
        return False
    name = found["name"] or ""
    return not any(word.casefold().strip(".,") in own_names for word in name.split())


def is_of_another(one: str, other: str) -> bool:
    """Tell whether two statements are of two holders: `my email`, `Bob's email`; `I work`, `my brother works`."""
    mine, theirs = _holders(one), _holders(other)
    if any(mine[thing].isdisjoint(theirs[thing]) for thing in mine.keys() & theirs.keys()):
        return True
    return {_doer(one), _doer(other)} == {"user", "person"}


@cached_for_short_texts(entries=8_192)
def _doer(text: str) -> str:
    """Return who a statement begins with: the user, a person of the user's, or "" for anything else."""
    plain = strip_opening(language.load("en").lead_ins, plain_form(text[:JUDGED_CHARS]))
    if _FIRST_DOER.match(plain):
        return "user"
    return "person" if _THIRD_PERSON.match(plain) or _person().match(plain) else ""


@cached_for_short_texts(entries=8_192)
def _holders(text: str) -> dict[str, set[str]]:
    """Return whose things a statement names, by the thing; "" is the user."""
    found: dict[str, set[str]] = {}
    for match in _OWNED.finditer(text[:JUDGED_CHARS]):
        owner = "" if match["own"] else (match["other"] or match["of"]).casefold()
        if owner not in _NO_OWNERS:
            owners = found.setdefault((match["owned"] or match["thing"]).casefold(), set())
            owners.update((owner, match["of_that"].casefold()) if match["of_that"] else (owner,))
    return found


def _somebody() -> str:
    """Return a pattern of a person of somebody's, such as `my brother`."""
    owners, people = map(_TABLE.joined, ("owners", "people"))
    return rf"(?:{owners}) (?:(?!user\b|team\b)[\w'-]+ ){{0,2}}(?:{people})"


@cache
def _person() -> re.Pattern[str]:
    """Return the pattern of such a person, and of no other one besides."""
    return re.compile(rf"{_somebody()}\b(?! (?:and|und|et|y)\b)", re.IGNORECASE)


@cache
def _others() -> re.Pattern[str]:
    """Return the pattern of somebody who likes something, up to the verb."""
    alone, no_names, adverbs, verbs = map(_TABLE.joined, ("alone", "no_names", "adverbs", "verbs"))
    return re.compile(
        rf"(?:(?i:{_somebody()}(?: (?!i\b)[\w'-]+)?|{alone})|(?P<name>(?!(?:{no_names})\b){_NAME}))"
        rf"(?i: (?:{adverbs}))*(?i: (?:{verbs})\b)"
    )
