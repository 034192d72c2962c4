"""The sentences of a piece of text. Pure, total, linear."""

import re
from collections.abc import Iterator

from memex.subagent.statements.language import LanguageTables

# A line at least so long was probably wrapped, and its sentence goes on in the next one.
_WRAPPED_CHARS = 60
# A line that had room for so many more characters than its next word was broken on purpose.
_ROOM_CHARS = 10
# No text is wrapped at more: who breaks such lines means it.
MAX_WIDTH = 100
_MAX_ABBREVIATION_CHARS = 3

_ITEM_BELOW = re.compile(r"\n[ \t]*(?:[-*+•]|\d{1,3}[.)])[ \t]")
# A pair that opens and closes again soon; a sentence does not end inside one.
_PAIRED = re.compile(
    r'"[^"\n]{1,400}"|“[^“”]{1,400}”|„[^„“”]{1,400}[“”]|«[^«»]{1,400}»|\([^()]{1,400}\)|`[^`\n]{1,400}`|「[^「」]{1,400}」'
)
# A run of marks is looked at from its first one only.
_END = re.compile(
    r"(?:(?<![.!?])[.!?]++|(?<![。！？؟۔।])[。！？؟۔।]++)[\"'”’»)\]」』）*_]*+(?=\s|$)|[。！？]+[」』”’）]*|\n"
)
_WORD_BEFORE = re.compile(r"[^\s(\[\"“'‘]+$")
_WORD_AFTER = re.compile(r"\s*[\"“'‘(\[*_]*([^\W_]+(?:['’]\w+)?|\S)")
# The first number of a list, at the head of a line or behind a colon; and what follows a mark inside such a list.
_FIRST_NUMBER = re.compile(r"(?:^|\n[ \t]*|[:：]\s*)1[.)]\s")
_NEXT_NUMBER = re.compile(r"\s+\d{1,2}[.)]\s")
_LIST_CHARS = 600  # so far back the first number of a list is looked for
_WITHOUT_VOWEL = re.compile(r"(?!hmm|brr|pst|psst|grr|pfff)[bcdfghjklmnpqrstvwxz]{3,5}")
_BEFORE_ORDINAL = re.compile(
    r"\b(?:im|am|der|dem|den|die|das|vom|zum|beim|jede[nrs]?|ab|bis|seit)\s$", re.IGNORECASE
)
_DAY = re.compile(r"\d{1,2}\.(?:0?[1-9]|1[0-2])")
_ACRONYM = re.compile(r"(?:[^\W\d_]\.)*[^\W\d_]$")
_ORDINAL_FOLLOWER = re.compile(
    r"(?:jan|feb|mär|mar|apr|mai|may|jun|jul|aug|sep|okt|oct|nov|dez|dec)\w*$", re.IGNORECASE
)


def split_sentences(text: str, language: LanguageTables) -> Iterator[tuple[int, int]]:
    """Yield the spans of the sentences of a paragraph, outer space cut."""
    paired = [match.span() for match in _PAIRED.finditer(text)]
    pair, start = 0, 0
    width = max((len(line) for line in text.split("\n")), default=0)
    for end in _END.finditer(text):
        while pair < len(paired) and paired[pair][1] < end.end():
            pair += 1
        is_inside = pair < len(paired) and paired[pair][0] < end.start() and end.end() < paired[pair][1]
        if is_inside or not _ends_sentence(text, start, end, width, language):
            continue
        yield from _trim(text, start, end.end())
        start = end.end()
    yield from _trim(text, start, len(text))


def _trim(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    sentence = text[start:end]
    bare = sentence.strip()
    if bare:
        start += len(sentence) - len(sentence.lstrip())
        yield start, start + len(bare)


def _ends_sentence(text: str, start: int, end: re.Match[str], width: int, language: LanguageTables) -> bool:
    mark = end[0]
    if _ITEM_BELOW.match(text, end.end() - (mark == "\n")):
        return False
    if _NEXT_NUMBER.match(text, end.end()) and _is_in_list(text, start, end.start()):
        return False
    after_match = _WORD_AFTER.match(text, end.end())
    if after_match is None:
        return True
    after = after_match[1]
    if mark == "\n":
        return _line_ends_sentence(text, end.start(), after, width, language)
    if mark[0] not in ".!?":
        return True
    is_line_end = text.startswith("\n", end.end())
    if not is_line_end and _carries_on(text, end, after, language):
        return False
    if mark.startswith(".."):
        return False
    return mark[0] != "." or _stop_ends_sentence(text, start, end.start(), after, language)


def _carries_on(text: str, end: re.Match[str], after: str, language: LanguageTables) -> bool:
    """Return whether a word carries a sentence on behind a mark: `Yahoo! is`, `the dept. of`."""
    if not after[0].islower() or after.casefold() not in language.continuations:
        return False
    word = _WORD_BEFORE.search(text, max(0, end.start() - 40), end.start())
    is_short = word is not None and len(word[0]) <= _MAX_ABBREVIATION_CHARS
    return text[end.end() : end.end() + 2] != " (" and (end[0] != "." or is_short)


def _line_ends_sentence(text: str, at: int, after: str, width: int, language: LanguageTables) -> bool:
    """Return whether the line before `at` ends its sentence: the next one begins anew or had room there."""
    line_start = text.rfind("\n", 0, at) + 1
    is_open = language.open_end.search(text, max(line_start, at - 40), at) is not None
    if after[0].islower() and (is_open or after.casefold() in language.continuations):
        return False
    if width > MAX_WIDTH:
        return True
    if at - line_start >= _WRAPPED_CHARS:
        return False
    return not after[0].islower() or (
        after.casefold() in language.sentence_openers or at - line_start + len(after) < width - _ROOM_CHARS
    )


def _stop_ends_sentence(text: str, start: int, at: int, after: str, language: LanguageTables) -> bool:
    """Return whether the full stop at `at` is more than the end of an abbreviation, initial or ordinal."""
    match = _WORD_BEFORE.search(text, max(start, at - 40), at)
    word = match[0].casefold() if match else ""
    opens = after.casefold() in language.sentence_openers and after[0].isupper()
    if word in language.abbreviations or word.rpartition("-")[2] in language.abbreviations:
        return False
    if word in language.abbreviations_at_end or _ACRONYM.fullmatch(word):
        return opens
    if word in language.abbreviations_before_number:
        goes_on = after[0].islower() and len(word) >= _MAX_ABBREVIATION_CHARS
        return not (after[0].isdecimal() or (goes_on and after.casefold() not in language.sentence_openers))
    if word.endswith(("str", "nr")) and (after[0].isdecimal() or after[0].islower()):
        return False
    if word.isdecimal() and len(word) <= 2:
        if _is_marker(text, start, at - len(word)) or _ORDINAL_FOLLOWER.match(after):
            return False
        return opens or _BEFORE_ORDINAL.search(text, max(start, at - 12), at - len(word)) is None
    if after[0].islower() and _DAY.fullmatch(word):
        return False
    if after[0].islower() and after.casefold() not in language.sentence_openers:
        return _WITHOUT_VOWEL.fullmatch(word) is None
    return True


def _is_in_list(text: str, start: int, at: int) -> bool:
    """Return whether a numbered list began in this sentence."""
    return _FIRST_NUMBER.search(text, max(start, at - _LIST_CHARS), at) is not None


def _is_marker(text: str, start: int, at: int) -> bool:
    """Return whether the number at `at` is one of a list: `To renew it: 1. pay 2. wait`."""
    before = text[max(start, at - _LIST_CHARS) : at].rstrip(" \t")
    return before == "" or before[-1] in ":：\n" or _is_in_list(text, start, at)
