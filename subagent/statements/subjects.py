"""The subject of a statement, its normal form, and whether the statement is about the user. Pure."""

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache

from memex.store.citations.syntax import without_citations
from memex.store.search.analyzer import analyzer_of
from memex.subagent.statements import language
from memex.subagent.statements.language import LanguageTables, StatementKind, SubjectRule
from memex.subagent.text_cache import cached_for_short_texts

# A sentence is judged by its head, so that a text without full stops costs no more than another.
JUDGED_CHARS = 400
_MAX_SUBJECT_CHARS = 300

APOSTROPHES = str.maketrans({"’": "'", "‘": "'", "ʼ": "'", "“": '"', "”": '"', "：": ":", "，": ","})
QUOTED = re.compile(r'"[^"\n]{1,300}"|“[^”]{1,300}”|„[^“”]{1,300}[“”]|«[^»]{1,300}»')
_EMPHASIS = re.compile(r"(?<!\w)[*_~]{1,3}|[*_~]{1,3}(?!\w)|`")
_CLOSING_MARKS = r"[\s.!…;,\"')\]\U0001f000-\U0001faff\u2600-\u27bf\ufe0f\u200d:)(]"
CLOSING = re.compile(rf"(?<!{_CLOSING_MARKS}){_CLOSING_MARKS}++$")
_OPENING = re.compile(r"^[\s\"'(\[\U0001f000-\U0001faff\u2600-\u27bf\ufe0f\u200d>•-]+")
_STRIPPED = ".,;:!?…\"'()[]{}*_`“”‘’«»„。！？、，；：؟،؛|"
_PLAIN_WORD = re.compile(r"[a-z]+")
_GROUPED_NUMBER = re.compile(r"[-+]?[$€£¥]?\d{1,3}(?:,\d{3})+(?:\.\d+)?%?")
_FENCE = re.compile(r"^[ \t]*(?:`{3,}|~{3,})", re.MULTILINE)
CLOSING_FENCE = re.compile(r"\n[ \t]*(?:`{3,}|~{3,})[ \t]*\Z")


def subject_of(kind: StatementKind, text: str) -> str | None:
    """Return what a statement says something about; None when nothing that has one value at a time.

    A newer statement with the same key replaces the older one. The key of a task is the task itself, so that
    `Done: write the docs` finds `I need to write the docs`.
    """
    return _short_subject(kind, text) if len(text) <= _MAX_SUBJECT_CHARS else None


@lru_cache(maxsize=8_192)
def _short_subject(kind: StatementKind, text: str) -> str | None:
    tables = language.load("en")
    plain = strip_opening(tables.lead_ins, plain_form(text))
    if kind in {"pending", "done", "blocker"}:
        return _task_subject(plain, tables)
    rule = _subject_rule(plain, tables)
    if rule is None or tables.not_exclusive.search(plain) or tables.no_change.search(plain_form(text)):
        return None
    match = rule.match.match(plain)
    about = " ".join(filter(None, (match[group] for group in rule.groups))) if match else ""
    return f"{rule.topic}: {_word_set(tables.trailing.sub('', about), tables)}"


def is_replaceable(text: str) -> bool:
    """Return whether a statement with a key says nothing besides, so that a newer one may take its place."""
    tables = language.load("en")
    plain = strip_opening(tables.lead_ins, plain_form(text))
    rule = _subject_rule(plain, tables)
    return rule is not None and (rule.is_whole or not ("\n" in text or tables.more.search(plain)))


def is_personal(text: str) -> bool:
    """Return whether a statement is about the user, what is his, or an allergy; not what he says of work."""
    tables = language.load("en")
    head = strip_opening(tables.fillers, plain_form(text[:JUDGED_CHARS]))
    if is_of_allergy(text) or (tables.private.search(head) and tables.oneself.search(head)):
        return True
    if tables.personal.match(strip_opening(tables.lead_ins, head)) is None:
        return False
    return tables.work.search(head) is None or tables.private.search(head) is not None


def is_of_allergy(text: str) -> bool:
    """Return whether a statement names an allergy, whoever has it."""
    return language.load("en").allergy.search(plain_form(text[:JUDGED_CHARS])) is not None


def claim_of(form: tuple[str, ...]) -> tuple[str, bool]:
    """Return what a statement in normal form affirms or takes back, and whether it takes it back."""
    words = " ".join(form)
    return _short_claim(words) if len(words) <= _MAX_SUBJECT_CHARS else _claim(words)


@lru_cache(maxsize=8_192)
def _short_claim(words: str) -> tuple[str, bool]:
    return _claim(words)


def _claim(words: str) -> tuple[str, bool]:
    tables = language.load("en")
    affirmed = tables.negations.sub("", words) if tables.denial.match(words) else words
    # Without the mark of the third person: `does not live` denies `lives`.
    return " ".join(word.removesuffix("s") for word in affirmed.split()), affirmed != words


@cached_for_short_texts(entries=8_192)
def normal_form(text: str) -> tuple[str, ...]:
    """Return the words of a statement, equal for exact and near duplicates.

    Case, punctuation, articles, intensifiers, spelling variants, contractions and citations at its end say
    nothing.
    Everything else counts: order, numbers, units, dates, names, negation; and of code every character.
    """
    tables = language.load("en")
    text = without_citations(text)
    fence = _FENCE.search(text)
    # A closing fence may be left out at the end of a text, and says nothing.
    code = (CLOSING_FENCE.sub("", text[fence.start() :]),) if fence else ()
    prose = text[: fence.start()] if fence else text
    plain = " ".join(prose.translate(APOSTROPHES).split())
    words = _tokens(strip_opening(tables.fillers, plain), tables) or _tokens(plain, tables)
    # Of articles alone, or of marks alone, all counts.
    return (*(words or [plain.casefold().strip(_STRIPPED + " ") or plain]), *code)


def plain_form(head: str) -> str:
    """Return a sentence's head as patterns expect it."""
    text = _EMPHASIS.sub("", " ".join(head.translate(APOSTROPHES).split()))
    return _OPENING.sub("", CLOSING.sub("", text))


def strip_opening(opening: re.Pattern[str], plain: str) -> str:
    """Return a sentence without up to four openings, such as `Well, ` or `I think `; never an empty one."""
    for _ in range(4):
        match = opening.match(plain)
        if match is None or match.end() == len(plain):
            break
        plain = plain[match.end() :]
    return plain


def _subject_rule(plain: str, tables: LanguageTables) -> SubjectRule | None:
    fitting = tables.any_key.match(plain)
    return tables.keys[fitting.lastindex - 1] if fitting and fitting.lastindex else None


def _task_subject(plain: str, tables: LanguageTables) -> str | None:
    task = plain.casefold()
    while (match := tables.task_lead_ins.match(task)) and match.end() < len(task):
        task = task[match.end() :]
    words = _tokens(task, tables)
    return f"task: {' '.join(_stem_words(words))}" if words else None


def _word_set(text: str, tables: LanguageTables) -> str:
    """Return the words of a text, stemmed and without order; who owns it is kept."""
    words = {"user" if word in {"my", "user's"} else word for word in _tokens(text, tables)}
    return " ".join(sorted(set(_stem_words(word.removesuffix("'s") for word in words))))


def _stem_words(words: Iterator[str] | list[str]) -> Iterator[str]:
    return (_stem(word) for word in words)


@lru_cache(maxsize=1 << 14)
def _stem(word: str) -> str:
    if not _PLAIN_WORD.fullmatch(word):
        return word
    return next(iter(analyzer_of("english").lexemes(word)), word)


def _tokens(text: str, tables: LanguageTables) -> list[str]:
    words: list[str] = []
    for token in unicodedata.normalize("NFKC", text).casefold().split():
        word = token.strip(_STRIPPED)
        if word in tables.stop_words or not word:
            continue
        if word in tables.contractions:
            words += tables.contractions[word].split()
        elif _GROUPED_NUMBER.fullmatch(word):
            words.append(word.replace(",", ""))
        else:
            words.append(tables.spellings.get(word, word))
    return words
