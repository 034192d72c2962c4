"""The holder of a liking: the user, or somebody else. Pure."""

import re
from collections.abc import Collection
from functools import cache

from memex.subagent.statements import language
from memex.subagent.statements.subjects import JUDGED_CHARS, plain_form, strip_opening
from memex.tables import load_tables

_NAME_WORD = r"[^\W\d_a-zß-ÿ][\w.'’-]*"
_NAME = rf"{_NAME_WORD}(?:(?: and| und| et| y|,)? {_NAME_WORD}){{0,3}}"
# `Kaffee mag ich nicht`: the verb comes before who likes it.
_FIRST_PERSON = re.compile(r" (?:ich|wir)\b", re.IGNORECASE)


def is_about_another(text: str, own_names: Collection[str] = ()) -> bool:
    """Tell whether a liking is that of somebody else: `Yusuf prefers async reviews`, `My wife hates olives`.

    Args:
        text: a statement of what somebody likes or wants.
        own_names: the words of the user's own name, in lower case.
    """
    plain = strip_opening(language.load("en").lead_in, plain_form(text[:JUDGED_CHARS]))
    found = _others().match(plain)
    if found is None or _FIRST_PERSON.match(plain, found.end()):
        return False
    name = found["name"] or ""
    return not any(word.casefold().strip(".,") in own_names for word in name.split())


@cache
def _others() -> re.Pattern[str]:
    """Return the pattern of somebody who likes something, up to the verb."""
    tables = load_tables("memex.subagent.statements.comparison", "holders.yaml")
    either = {name: f"(?:{'|'.join(words)})" for name, words in tables.items()}
    person = rf"{either['owners']} (?:(?!user\b|team\b)[\w'-]+ ){{0,2}}{either['people']}(?: (?!i\b)[\w'-]+)?"
    return re.compile(
        rf"(?:(?i:{person}|{either['alone']})|(?P<name>(?!{either['no_names']}\b){_NAME}))"
        rf"(?i: {either['adverbs']})*(?i: {either['verbs']}\b)"
    )
