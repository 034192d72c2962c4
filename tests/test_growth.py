"""No text of a caller takes a time that grows faster than its length, whatever it is made of."""

import re
import time
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from typing import Any

import pytest
from tests.kit.growth import LINEAR, growth
from tests.kit.patterns import UsedPattern, all_patterns
from tests.kit.property_budget import sampled, scaled
from tests.kit.pumping import slowest_text

from memex.store.markdown import describe, parse
from memex.store.paths import MAX_DOCUMENT_PATH_CHARS, MAX_ID_CHARS
from memex.store.search.analyzer import analyzer_of
from memex.store.search.dates import parse_days
from memex.store.search.index import index
from memex.store.search.snippet import snippet
from memex.store.writes.derivation import check_marks
from memex.subagent.statements import language
from memex.subagent.statements.comparison.putting_right import MAX_CHARS
from memex.subagent.statements.comparison.work_forms import MAX_FORM_CHARS
from memex.subagent.statements.extraction import extract_statements
from memex.subagent.statements.forgetting import MAX_REQUEST_CHARS, find_forget_request
from memex.subagent.statements.subjects import JUDGED_CHARS
from memex.subagent.work.turns import SessionTurn, observe

# Patterns that may take longer than linear time, and what bounds the texts that they look at.
BOUNDED = {
    ("setup.jsontext", "_COMMENT"): "a settings file on the machine of who runs the command",
    ("store.search.snippet", "_TAG_OR_COMMENT"): "a text that ends with the end of a comment, or is empty",
    ("subagent.statements.days.mentions", ""): "what may stand behind a day is matched at its end alone",
    (
        "subagent.statements.secrets.statement",
        "_TOKENS",
    ): "4,000 characters for the head of a token",
    ("subagent.statements.secrets.lock_codes", "_AFTER_VERB"): "90 characters on each side of a lock",
    ("subagent.statements.secrets.lock_codes", "_LABELLED"): "90 characters on each side of a lock",
    ("subagent.statements.comparison.values", "_SENTENCE_START"): "40 characters before a name",
    ("subagent.statements.extraction", "_QUESTION"): "the last 20 characters of a sentence",
    ("subagent.statements.rule_table", ""): f"a text of at most {MAX_REQUEST_CHARS} characters",
    ("subagent.statements.language", ""): f"the first {JUDGED_CHARS} characters of a sentence",
    ("subagent.statements.secrets.statement", "_LONE_VALUE"): "a sentence of at most 80 characters",
    ("subagent.statements.sentences", "_WORD_BEFORE"): "40 characters before the end of a sentence",
    ("subagent.work.ending.evidence", ""): "a command of at most 2,000 characters",
    (
        "subagent.statements.comparison.work_forms",
        "_BEFORE",
    ): f"the first {MAX_FORM_CHARS} characters of an item",
    (
        "subagent.statements.comparison.work_forms",
        "_REPLACED",
    ): f"the first {MAX_FORM_CHARS} characters of an item",
    (
        "subagent.work.rules",
        "",
    ): f"the first {JUDGED_CHARS} characters of a clause, or four times as many of a sentence",
    ("subagent.work.clauses", "_QUESTION"): "the last 12 characters of a clause",
    ("subagent.statements.comparison.holders", ""): f"the first {JUDGED_CHARS} characters of a sentence",
    (
        "subagent.statements.comparison.holders",
        "_OWNED",
    ): f"the first {JUDGED_CHARS} characters of a sentence",
    (
        "subagent.statements.comparison.putting_right",
        "",
    ): f"the first {2 * MAX_CHARS} characters of a sentence",
    ("service.log.revert_all", "_BATCH"): f"the id of a call, of at most {MAX_ID_CHARS} characters",
    ("mirror.rules", ""): f"a path of at most {MAX_DOCUMENT_PATH_CHARS} characters",
}
BOUNDED |= {
    ("subagent.statements.secrets.statement", f"_{kind}_VALUE"): "130 characters behind the name of a secret"
    for kind in ("ACCOUNT", "BARE", "CODE", "KEY", "LOGIN", "PASSWORD")
}
# Patterns of a language that see a statement of any length.
OF_WHOLE_STATEMENTS = {
    "any_key": "match",
    "denial": "match",
    "fillers": "match",
    "label": "match",
    "lead_ins": "match",
    "more": "search",
    "negations": "finditer",
    "no_change": "search",
    "not_exclusive": "search",
    "task_lead_ins": "match",
}

SHARES = 4  # of the patterns, of which each takes some 7 s
SIZE = 20_000  # characters; four times as many take about four times as long
MAX_SECONDS = 4.0  # for 80,000 characters, of which the slowest took 2 on a quiet machine
SECONDS_A_CHARACTER = 5e-6  # what takes less is fast, whatever its growth seems to be
SEEDS = (
    *(
        ".",
        "?",
        "。",
        "…",
        " ",
        "\t",
        "\n",
        "\r",
        "\u00a0",
        "1",
        "=",
        ":",
        "a",
        "😀",
        "\\",
        "-",
        "~",
        "_",
        "*",
    ),
    *(
        "# ",
        "- ",
        "* ",
        "1. ",
        "> ",
        ">",
        "[",
        "]",
        "](",
        "[[",
        "[a](",
        "<",
        "<!--",
        '"',
        "'",
        "`",
        "` ",
        "|",
    ),
    *(
        "a\n\n",
        "> > ",
        ">>>>>>> a\n",
        "- - ",
        "a: &a [*a]\n",
        "{a: ",
        "- [",
        "|a",
        "a|b\n",
        "<a ",
        "](b) ",
        "**a *b ",
    ),
    *("a.a.a.", "Anna. ", ", ", "please ", "Forget my ", "3 May ", "x=y ", "a@", "http://", "-----BEGIN "),
)
ENGLISH = analyzer_of("english")
READERS: dict[str, Callable[[str], Any]] = {
    "check_marks": lambda text: check_marks("user/notes.md", text.replace("#", "x")),
    # Of front matter, 64 KiB are read.
    "describe": lambda text: describe("notes.md", f"---\n{text[: len(text) // 2]}\n---\nText.\n"),
    "extract_statements": extract_statements,
    "find_forget_request": find_forget_request,
    "index": lambda text: index("user/notes.md", text, [], ENGLISH),
    "observe": lambda text: observe(SessionTurn("user", text, human_authored=True)),
    "parse": parse,
    "parse_days": lambda text: parse_days(text, datetime(2027, 5, 1, tzinfo=UTC)),
    "snippet": lambda text: snippet(text, ["anna"], ENGLISH, max_chars=200),
}


def _is_bounded(used: UsedPattern) -> bool:
    return (used.module, used.name) in BOUNDED


@pytest.mark.slow
@pytest.mark.parametrize("share", range(SHARES))
def test_each_pattern_takes_linear_time(share: int) -> None:
    """A pattern that is no linear one is named above, with what bounds the texts that it sees."""
    free = [one for one in all_patterns() if not _is_bounded(one)][share::SHARES]

    found = {
        (one.module, one.name, one.text): slowest
        for one in sampled(free, 5)
        if (slowest := slowest_text(one.compiled, one.methods))
    }
    assert not found


def test_patterns_of_whole_statements_take_linear_time() -> None:
    """A statement may be as long as its text, and most patterns of a language see only its first characters."""
    tables = language.load("en")

    for name, method in sampled(list(OF_WHOLE_STATEMENTS.items()), 4):
        pattern: re.Pattern[str] = getattr(tables, name)
        assert slowest_text(pattern, (method,)) is None, name


@pytest.mark.slow
@pytest.mark.parametrize("name", READERS)
def test_hostile_text_is_read_in_linear_time(name: str) -> None:
    """Marks, spaces, brackets or words that repeat take no longer than their number says."""
    for seed in sampled(SEEDS, 5):
        for end in ("", "x"):
            assert _growth(READERS[name], seed, end) < LINEAR, (seed, end)


def _growth(read: Callable[[str], Any], seed: str, end: str) -> float:
    """Return how many times longer four times the text takes; 0 if even the longer one takes hardly any time."""

    def reading(size: int) -> Callable[[], Any]:
        return partial(read, (seed * size)[:size] + end)

    size = scaled(SIZE)
    started = time.process_time()
    reading(4 * size)()
    taken_s = time.process_time() - started
    assert taken_s < MAX_SECONDS, (seed, end)
    return growth(reading, SIZE) if taken_s > 4 * size * SECONDS_A_CHARACTER else 0.0


@pytest.mark.parametrize(("start", "unit"), [("", "a ist bis a "), ("Wir sollen ", "mein unser ")])
def test_sentence_takes_no_time_that_doubles_with_each_word(start: str, unit: str) -> None:
    """A sentence is judged by its first characters, and these take a few milliseconds."""
    sentence = (start + unit * JUDGED_CHARS)[:JUDGED_CHARS]
    extract_statements("The tables are loaded.")

    started = time.process_time()
    extract_statements(sentence)
    assert time.process_time() - started < 0.2
