"""Requests to forget something: where a text asks memory for it, and by which words what is meant is found. Pure.

Only the user's own words ask: not a quotation, code, a pasted document, or the turn of somebody else.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from memex.store.records import Span
from memex.subagent.statements import language, segments, sentences
from memex.subagent.statements.extraction import fact_after_order
from memex.subagent.statements.named import named_thing
from memex.subagent.statements.rule_table import RuleTable
from memex.subagent.statements.secrets.finding import PLACEHOLDER
from memex.subagent.statements.subjects import APOSTROPHES, QUOTED
from memex.subagent.text_cache import cached_for_texts

MAX_KEPT_CHARS = 2_000_000  # of texts whose sentences are kept
MAX_RETRACTING = 2  # sentences of a text that takes something back
MAX_REQUEST_CHARS = 600  # a longer text is a document and asks for nothing
# What stands behind it is what to forget, whatever its words are: so the command `memex forget` asks.
_NAMED_OUTRIGHT = re.compile(r"\s*forget this: ", re.IGNORECASE)

_TABLE = RuleTable("forgetting.yaml")
_FORGET = re.compile(r"\b(?:forget|forgot|vergiss|vergess|oubli|olvid)", re.IGNORECASE)
# `Forget that …` states what is meant, up to the end of the clause.
_STATED = re.compile(
    r"\b(?:forget|vergiss|vergessen|oublie|oubliez|olvida|olvide),?\s+"
    r"(?:(?:please|bitte|s'il te plaît|por favor),?\s+)?(?:that\s+|dass\s+|que\s+|qu')"
    r"(?:(?:i|we)(?: ever| have|'ve)? (?:told|said to|mentioned to) you(?: that)? )?"
    r"(?P<clause>(?:[^,;!?.\n]|[,.](?=\w)){1,300}?)"
    r"(?=\s*(?:,? (?:please|bitte|ok(?:ay)?)\b\s*)?(?:[,.](?!\w)|[;!?\n]|$))",
    re.IGNORECASE,
)
_TAIL = re.compile(
    r"(?:[^\w\"”»)\]]+(?:please|pls|plz|thanks|thank you|thx|now|again|for good|for ever|forever|entirely"
    r"|completely|every single thing|all of it|the (?:whole )?lot|would you|ok(?:ay)?|bitte|wieder|danke|merci"
    r"|stp|svp|s'il (?:te|vous) pla[iî]t|por favor|porfa|gracias))*"
    r"[^\w\"”»)\]]*$",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class ForgetRequest:
    """A request to forget something.

    Attributes:
        text: the sentence that asks.
        start: where it begins in the input.
        end: where it ends.
        topic: the words of the sentence that say what is meant.
        beside: those of the sentences beside it, as people ask in two steps.
        stated: the clause of `Forget that …`, which states what is meant; "" if there is none.
        named: the name or the identifier that is to be forgotten, whatever is said of it; "" if there is none.
        is_bare: it means what was told last.
        is_outright: it is `Forget this: …`, behind which all words say what is meant.
        is_addressed: it is one to memory, and no order about what stands in a file, a table or a list.
        is_several: more than one statement is meant.
        is_everything: it names nothing in particular.
        is_past: it means what holds no more, as in `Forget my old address`.
    """

    text: str
    start: int
    end: int
    topic: str
    beside: str
    is_several: bool
    is_everything: bool
    is_past: bool = False
    stated: str = ""
    named: str = ""
    is_bare: bool = False
    is_outright: bool = False
    is_addressed: bool = True


def find_forget_request(text: str) -> ForgetRequest | None:
    """Return the first request to forget something in a text; None if there is none."""
    if len(text) > MAX_REQUEST_CHARS:
        return None
    sentences = _with_retraction(text, list(own_sentences(text)))
    for place, (start, end) in enumerate(sentences):
        sentence = text[start:end]
        is_bare = len(sentences) == 1 and _TABLE.pattern("bare").search(_bared(sentence)) is not None
        named = "" if is_bare else _named(sentence)
        if named or is_bare or _asks(sentence):
            asked = _request(text, sentences, place)
            is_outright = _NAMED_OUTRIGHT.match(_plain(sentence)) is not None
            return replace(asked, named=named, is_bare=is_bare, is_outright=is_outright)
    return None


def _with_retraction(text: str, sentences: list[Span]) -> list[Span]:
    """Return sentences of which two are one, as in `My age? I made it up`, which together take something back."""
    if len(sentences) == MAX_RETRACTING:
        whole = sentences[0][0], sentences[-1][1]
        if _retracted(_plain(text[slice(*whole)])) is not None:
            return [whole]
    return sentences


def sounds_like_request(text: str) -> bool:
    """Tell whether a text has the words of a request to forget, also where it is none, as in `don't forget`."""
    if len(text) > MAX_REQUEST_CHARS:
        return False
    plain = " ".join(text.translate(APOSTROPHES).split())
    is_reminder = (
        _TABLE.pattern("no_requests").search(plain) is not None and _FORGET.search(plain) is not None
    )
    return is_reminder or any(
        pattern.search(plain) for pattern in map(_TABLE.pattern, ("requests", "everything"))
    )


def own_sentences(text: str) -> Iterator[tuple[int, int]]:
    """Yield where the sentences stand that may ask memory for something: no quotation, code, or turn of a talk."""
    for piece in segments.split_segments(text, language.load("en")):
        if piece.role not in ("prose", "item"):
            continue
        if ">" in text[text.rfind("\n", 0, piece.start) + 1 : piece.start]:
            continue  # a quotation
        yield from _sentences(piece)


def all_sentences(text: str) -> list[tuple[int, int]]:
    """Return where the sentences of a text stand, whoever says them."""
    pieces = segments.split_segments(text, language.load("en"))
    return [sentence for piece in pieces for sentence in _sentences(piece)]


@cached_for_texts(max_chars=MAX_KEPT_CHARS)
def known_sentences(text: str) -> tuple[tuple[int, int], ...]:
    """Return what `all_sentences` does, kept for texts that are read again and again."""
    return tuple(all_sentences(text))


def _sentences(piece: segments.Segment) -> Iterator[tuple[int, int]]:
    places = piece.places()
    for start, end in sentences.split_sentences(piece.text, language.load("en")):
        yield places.of(start), places.end_of(end)


def _plain(sentence: str) -> str:
    return " ".join(sentence.translate(APOSTROPHES).split())


def _bared(sentence: str) -> str:
    """Return a sentence without thanks, marks and the like at its end."""
    return _TAIL.sub("", _plain(sentence))


def _named(sentence: str) -> str:
    """Return the name or identifier that a sentence asks to forget; "" if it names none, or asks nothing."""
    plain = _plain(sentence)
    if (outright := _NAMED_OUTRIGHT.match(plain)) and PLACEHOLDER.fullmatch(plain, outright.end()):
        return plain[outright.end() :]
    found = _TABLE.pattern("named").search(_bared(sentence))
    return named_thing(next(filter(None, found.groups()))) or "" if found else ""


def _is_addressed(sentence: str) -> bool:
    """Tell whether a request is one to memory, and no order about what stands somewhere else."""
    plain = _plain(sentence)
    is_elsewhere = (
        _TABLE.pattern("elsewhere").search(plain) is not None and _NAMED_OUTRIGHT.match(plain) is None
    )
    return not is_elsewhere or _TABLE.pattern("addressed").search(plain) is not None


def _asks(sentence: str) -> bool:
    """Tell whether a sentence asks memory to forget something."""
    plain = QUOTED.sub(" ", _plain(sentence))
    if _NAMED_OUTRIGHT.match(plain):
        return True
    is_asked = _TABLE.pattern("requests").search(plain) is not None or _retracted(plain) is not None
    return is_asked and _TABLE.pattern("no_requests").search(plain) is None


def _retracted(plain: str) -> str | None:
    """Return what a sentence takes back that was said about it; None if it takes nothing back."""
    found = _TABLE.pattern("retractions").search(plain)
    return next(filter(None, found.groups())) if found else None


def _request(text: str, sentences: Sequence[tuple[int, int]], place: int) -> ForgetRequest:
    start, end = sentences[place]
    sentence = text[start:end].strip()
    others = " ".join(text[first:last] for at, (first, last) in enumerate(sentences) if at != place)
    stated = _STATED.search(" ".join(sentence.translate(APOSTROPHES).split()))
    fact = fact_after_order(sentence)
    if fact is not None and sentence[:fact].rstrip().endswith(",") and (not stated or stated.end() <= fact):
        sentence, end = sentence[:fact].rstrip(" ,"), start + fact
    return ForgetRequest(
        text=sentence,
        start=start,
        end=end,
        topic=_topic(_retracted(_plain(sentence)) or sentence),
        beside=_topic(others),
        is_several=_TABLE.pattern("several").search(sentence.translate(APOSTROPHES)) is not None,
        is_everything=_TABLE.pattern("everything").search(sentence.translate(APOSTROPHES)) is not None,
        is_past=calls_past(sentence),
        stated=stated["clause"] if stated else "",
        is_addressed=_is_addressed(sentence),
    )


def _topic(text: str) -> str:
    """Return the words of a text without those by which people ask to forget, and that it holds no more."""
    asked = _TABLE.pattern("request_words").sub(" ", text.translate(APOSTROPHES))
    return " ".join(_TABLE.pattern("past").sub(" ", asked).split())


def calls_past(text: str) -> bool:
    """Return whether a text calls something old, former or earlier."""
    return _TABLE.pattern("past").search(text) is not None
