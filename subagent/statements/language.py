"""The tables by which statements are recognized: `languages/<code>.yaml`, read once when first needed.

English ships. Another language is one more file beside it with those of its tables that it adds to, in the shape
that `languages/en.yaml` describes at its head: its labels, rules, greetings and orders are then known too. Every
pattern runs over one sentence of bounded length, brought to a plain form first (`statements.py`).
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cache
from importlib.resources import files
from itertools import groupby
from operator import itemgetter
from typing import Any, Literal, get_args

from memex.tables import parse_tables

StatementKind = Literal[
    "preference",
    "profile",
    "decision",
    "constraint",
    "objective",
    "pending",
    "done",
    "blocker",
    "definition_of_done",
    "note",
]
STATEMENT_KINDS: tuple[StatementKind, ...] = get_args(StatementKind)

# What a sentence is when it is no statement.
NonStatement = Literal["small_talk", "question", "instruction"]

_CAPTURING = re.compile(r"\(\?P<\w+>")
_WORD = re.compile(r"[^\W\d_]+")
_FRAGMENT = re.compile(r"\{([a-z_]+)\}")


# Tables whose patterns are tried only on sentences that may be in their language: they are the costly ones.
_BY_LANGUAGE = ("task", "open_question")
_ANY_LANGUAGE = ""


@dataclass(frozen=True, slots=True)
class LanguagePattern:
    """A pattern of one language; of any, if `language` is empty."""

    regex: re.Pattern[str]
    language: str


@dataclass(frozen=True, slots=True)
class StatementRule:
    """A pattern and what a sentence is that it fits; `language` as in `LanguagePattern`."""

    match: re.Pattern[str]
    verdict: StatementKind | NonStatement
    language: str = _ANY_LANGUAGE


@dataclass(frozen=True, slots=True)
class SubjectRule:
    """A pattern whose groups name what a sentence is about; `topic` sets keys of different rules apart.

    `is_whole` when it reaches to the end of the sentence, so that nothing more can stand in it.
    """

    match: re.Pattern[str]
    topic: str
    groups: tuple[str, ...]
    is_whole: bool


@dataclass(frozen=True, slots=True)
class LanguageTables:
    """The compiled tables of one language; the file says what each holds."""

    labels: Mapping[str, StatementKind | None]
    label: re.Pattern[str]
    label_line: re.Pattern[str]
    list_opener: re.Pattern[str]
    process: re.Pattern[str]
    roles: Mapping[str, str]
    roles_in_dialogue: Mapping[str, str]
    requests: Sequence[tuple[re.Pattern[str], StatementKind | None]]
    fillers: re.Pattern[str]
    lead_ins: re.Pattern[str]
    small_talk: re.Pattern[str]
    rules: Sequence[StatementRule]
    instruction: re.Pattern[str]
    task: Sequence[LanguagePattern]
    list_task: re.Pattern[str]
    order_with_fact: re.Pattern[str]
    correction: re.Pattern[str]
    to_assistant: re.Pattern[str]
    open_question: Sequence[LanguagePattern]
    dangling: re.Pattern[str]
    keys: Sequence[SubjectRule]
    any_key: re.Pattern[str]  # all of `keys` at once; `lastindex` counts from 1 the one that fits first
    trailing: re.Pattern[str]
    not_exclusive: re.Pattern[str]
    more: re.Pattern[str]
    negations: re.Pattern[str]
    denial: re.Pattern[str]
    personal: re.Pattern[str]
    work: re.Pattern[str]
    private: re.Pattern[str]
    oneself: re.Pattern[str]
    addressing: re.Pattern[str]
    unnamed_object: re.Pattern[str]
    allergy: re.Pattern[str]
    task_lead_ins: re.Pattern[str]
    stop_words: frozenset[str]
    spellings: Mapping[str, str]
    contractions: Mapping[str, str]
    abbreviations: frozenset[str]
    abbreviations_at_end: frozenset[str]
    abbreviations_before_number: frozenset[str]
    sentence_openers: frozenset[str]
    continuations: frozenset[str]
    open_end: re.Pattern[str]
    change: re.Pattern[str]
    closing: re.Pattern[str]
    no_change: re.Pattern[str]
    change_words: re.Pattern[str]
    function_words: Mapping[str, frozenset[str]]
    letters: Mapping[str, frozenset[str]]

    def languages_of(self, text: str) -> frozenset[str]:
        """Return the languages that a text may be in, by its small words and letters; all if nothing tells."""
        folded = text.casefold()
        words = set(_WORD.findall(folded))
        found = {code for code, known in self.function_words.items() if not known.isdisjoint(words)}
        found |= {code for code, letters in self.letters.items() if not letters.isdisjoint(folded)}
        return frozenset((found or self.function_words.keys()) | {_ANY_LANGUAGE})

    def is_probably(self, code: str, text: str) -> bool:
        """Tell whether a text has as many small words and letters of a language as of any other."""
        folded = text.casefold()
        words = set(_WORD.findall(folded))
        held = Counter({other: len(known & words) for other, known in self.function_words.items()})
        held.update(other for other, letters in self.letters.items() if not letters.isdisjoint(folded))
        return held[code] == max(held.values(), default=0)


@cache
def load(code: str) -> LanguageTables:
    """Return the tables of a language, such as `en`, with what the files of other languages add."""
    folder = files("memex.subagent.statements") / "languages"
    names = sorted(file.name for file in folder.iterdir() if file.name.endswith(".yaml"))
    names.sort(key=lambda name: name != f"{code}.yaml")  # its own first
    return compile_tables([(folder / name).read_text(encoding="utf-8") for name in names])


def compile_tables(texts: Sequence[str]) -> LanguageTables:
    """Return tables in YAML, compiled: the first one's, and what the others add to them."""
    tables, *others = (_tagged(parse_tables(text)) for text in texts)
    for other in others:
        tables = _merge_tables(tables, other)
    fragments: dict[str, str] = {}
    for name, pattern in tables["fragments"].items():
        fragments[name] = fill_fragments(_join_pattern(pattern), fragments)

    def compiled(pattern: str | Sequence[str]) -> re.Pattern[str]:
        return re.compile(fill_fragments(_join_pattern(pattern), fragments), re.IGNORECASE)

    def by_language(name: str) -> list[LanguagePattern]:
        groups = groupby(tables[name], key=itemgetter("language"))
        return [LanguagePattern(compiled([row["match"] for row in rows]), code) for code, rows in groups]

    labels = {
        label: None if kind == "none" else kind for kind, names in tables["labels"].items() for label in names
    }
    label = _any_of(labels)
    keys = [
        SubjectRule(compiled(pattern), row["topic"], tuple(row.get("about", ())), pattern.endswith("$"))
        for row in tables["keys"]
        for pattern in _list_alternatives(row["match"])
    ]
    rules = sorted(tables["rules"], key=lambda row: not row.get("attack", False))
    made: dict[str, Any] = {name: by_language(name) for name in _BY_LANGUAGE} | {
        "labels": labels,
        "label": compiled(tables["label_forms"]["sentence"].replace("{label}", label)),
        "label_line": compiled(tables["label_forms"]["line"].replace("{label}", label)),
        "roles": _by_name(tables["roles"]),
        "roles_in_dialogue": _by_name(tables["roles_in_dialogue"]),
        "requests": [(compiled(row["match"]), row.get("kind")) for row in tables["requests"]],
        "rules": [
            StatementRule(
                compiled([pattern for row in rows for pattern in _list_alternatives(row["match"])]),
                verdict,
                code,
            )
            for (verdict, code), rows in groupby(rules, key=itemgetter("is", "language"))
        ],
        "keys": keys,
        "any_key": _alternatives([rule.match.pattern for rule in keys]),
        "stop_words": frozenset(tables["stop_words"]) | frozenset(tables["intensifiers"]),
    }
    for table in fields(LanguageTables):
        if table.name not in made:
            given = tables[table.name]
            is_pattern, is_set = table.type == re.Pattern[str], table.type == frozenset[str]
            made[table.name] = compiled(given) if is_pattern else frozenset(given) if is_set else given
    return LanguageTables(**made)


def _tagged(tables: dict[str, Any]) -> dict[str, Any]:
    """Return the tables of one file, with their language beside each pattern that is tried on it alone."""
    code = tables.get("language", _ANY_LANGUAGE)
    tagged = {
        name: [{"match": pattern, "language": code} for pattern in _list_alternatives(tables[name])]
        for name in _BY_LANGUAGE
        if name in tables
    }
    rules = [
        row | {"language": _ANY_LANGUAGE if row.get("attack") else code} for row in tables.get("rules", ())
    ]
    words = {code: frozenset(tables["function_words"])} if "function_words" in tables else {}
    letters = {code: frozenset(tables["letters"])} if "letters" in tables else {}
    own = {"rules": rules, "function_words": words, "letters": letters}
    return {name: table for name, table in tables.items() if name != "language"} | tagged | own


def _by_name(roles: Mapping[str, Sequence[str]]) -> dict[str, str]:
    return {name: role for role, names in roles.items() for name in names}


def _merge_tables(own: Any, more: Any) -> Any:
    """Return a table with another's entries behind its own."""
    if isinstance(own, dict):
        return own | {
            name: _merge_tables(own[name], value) if name in own else value for name, value in more.items()
        }
    return [*_list_alternatives(own), *_list_alternatives(more)]


def fill_fragments(pattern: str, fragments: Mapping[str, str]) -> str:
    """Return a pattern with the fragments in it that it names in braces."""
    return _FRAGMENT.sub(lambda match: f"(?:{fragments[match[1]]})", pattern)


def _alternatives(patterns: Sequence[str]) -> re.Pattern[str]:
    groups = (f"({_CAPTURING.sub('(?:', pattern)})" for pattern in patterns)
    return re.compile("|".join(groups), re.IGNORECASE)


def _list_alternatives(pattern: str | Sequence[str]) -> Sequence[str]:
    return [pattern] if isinstance(pattern, str) else pattern


def _join_pattern(pattern: str | Sequence[str]) -> str:
    return "|".join(_list_alternatives(pattern))


def _any_of(words: Iterable[str]) -> str:
    # The longest first: `done when` before `done`.
    return "|".join(re.escape(word) for word in sorted(words, key=len, reverse=True))
