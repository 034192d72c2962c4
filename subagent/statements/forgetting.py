"""Requests to forget something: where a text asks memory for it, and by which words what is meant is found. Pure.

Only the user's own words ask: not a quotation, code, a pasted document, or the turn of somebody else.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from memex.store.records import Span
from memex.store.search.analyzer import Analyzer
from memex.subagent.statements import language, segments, sentences
from memex.subagent.statements.courtesy import is_courtesy
from memex.subagent.statements.extraction import fact_after_order
from memex.subagent.statements.named import content_of, named_thing, without_generic
from memex.subagent.statements.rule_table import RuleTable
from memex.subagent.statements.secrets.finding import PLACEHOLDER
from memex.subagent.statements.subjects import APOSTROPHES, QUOTED
from memex.subagent.text_cache import cached_for_texts

MAX_KEPT_CHARS = 2_000_000  # of texts whose sentences are kept
MAX_RETRACTING = 2  # sentences of a text that takes something back
MAX_REQUEST_CHARS = 600  # a longer text is a document and asks for nothing
# What stands behind it is what to forget, whatever its words are: so the command `memex forget` asks.
_NAMED_OUTRIGHT = re.compile(r"\s*forget this: ", re.IGNORECASE)
_SAYS_WHAT = re.compile(
    r"\b(?:this|that|these|those|dies(?:es)?|das|folgendes|ceci|ça|cela|esto|eso) ?: ", re.IGNORECASE
)

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
_PART = re.compile(
    r"(?:(?<![,;:!?…])[,;:!?…]++|(?<!\.)\.{2,}+|(?<=\w{3})\.)(?=\s)|\s[–—-]\s"
    r"|\s(?=(?:because|since|cos|weil|denn|parce que|car|porque)\b)",
    re.IGNORECASE,
)
# How people name what was told, before they ask in a clause of its own: `That about the loan, lose it`.
_NAMES_FIRST = re.compile(
    r"\W*(?:(?:so|and|listen|look|hm|ok|dis|also|und|et|y) ?,? )?(?:about|that|the|this|those|these|my|what\w*"
    r"|where|everything|das|die|der|den|was|alles|mein\w*|l[ea]s?|l'|ce que|cette|mon|ma|mes|lo|el|mi|all)\b",
    re.IGNORECASE,
)
_POINTS = re.compile(
    r"\b(?:it|that|this|them|those|das|es|die|ça|cela|eso|esto)\b|-(?:le|la|les)\b", re.IGNORECASE
)
_TOLD_BEHIND = re.compile(r"\W*(?:what|whatever|was|wie|wo|dass|ce qu[e']|lo)\b", re.IGNORECASE)
_LANGUAGES = ("english", "german", "french", "spanish")


@dataclass(frozen=True, slots=True)
class ForgetRequest:
    """A request to forget something.

    Attributes:
        text: the sentence that asks.
        start: where it begins in the input.
        end: where it ends.
        topic: the words of the sentence that say what is meant.
        focus: the words that name the object of the asking clause, the narrowest first; empty if nothing does.
        beside: those of the sentences beside it, as people ask in two steps.
        stated: the clause of `Forget that …`, which states what is meant; "" if there is none.
        named: the name or the identifier that is to be forgotten, whatever is said of it; "" if there is none.
        is_bare: it means what was told last.
        is_outright: it is `Forget this: …`, behind which all words say what is meant.
        is_addressed: it is one to memory, and says what is meant: no order about what stands in a file, a table
            or a list, and no word by which a topic is left.
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
    focus: tuple[str, ...] = ()
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
    if _TABLE.pattern("left_alone").search(plain):
        return ""
    found = _TABLE.pattern("named").search(_bared(sentence))
    return named_thing(next(filter(None, found.groups()))) or "" if found else ""


def _is_addressed(sentence: str) -> bool:
    """Tell whether a request is one to memory: no order about something elsewhere, and no change of topic."""
    plain = _plain(sentence)
    if _NAMED_OUTRIGHT.match(plain):
        return True
    if _TABLE.pattern("set_aside").search(plain):
        return False
    is_elsewhere = _TABLE.pattern("elsewhere").search(plain) is not None
    return not is_elsewhere or _TABLE.pattern("addressed").search(plain) is not None


def _asks(sentence: str) -> bool:
    """Tell whether a sentence asks memory to forget something."""
    plain = QUOTED.sub(" ", _plain(sentence))
    if _NAMED_OUTRIGHT.match(plain):
        return True
    is_asked = _TABLE.pattern("requests").search(plain) is not None or _retracted(plain) is not None
    return is_asked and not any(_TABLE.pattern(name).search(plain) for name in ("no_requests", "left_alone"))


def _retracted(plain: str) -> str | None:
    """Return what a sentence takes back that was said about it; None if it takes nothing back."""
    found = _TABLE.pattern("retractions").search(plain)
    return next(filter(None, found.groups())) if found else None


def _request(text: str, sentences: Sequence[tuple[int, int]], place: int) -> ForgetRequest:
    start, end = sentences[place]
    sentence = text[start:end].strip()
    others = " ".join(text[first:last] for at, (first, last) in enumerate(sentences) if at != place)
    before = [_plain(text[first:last]) for first, last in sentences[:place]]
    retracted = _retracted(_plain(sentence))
    stated = _STATED.search(" ".join(sentence.translate(APOSTROPHES).split()))
    focus = (_topic(retracted),) if retracted else _focus(_plain(sentence), before)
    # Of `Forget that, Mila is great` nothing says what is meant: the words behind it are about something else.
    is_told = bool(focus or stated or place) or _SAYS_WHAT.search(_plain(sentence)) is not None
    fact = fact_after_order(sentence)
    if fact is not None and sentence[:fact].rstrip().endswith(",") and (not stated or stated.end() <= fact):
        sentence, end = sentence[:fact].rstrip(" ,"), start + fact
    return ForgetRequest(
        text=sentence,
        start=start,
        end=end,
        topic=_topic(retracted or sentence),
        focus=focus,
        beside=_topic(others),
        is_several=_TABLE.pattern("several").search(sentence.translate(APOSTROPHES)) is not None,
        is_everything=_TABLE.pattern("everything").search(sentence.translate(APOSTROPHES)) is not None,
        is_past=calls_past(sentence),
        stated=stated["clause"] if stated else "",
        is_addressed=is_told and _is_addressed(sentence),
    )


def _focus(sentence: str, before: Sequence[str]) -> tuple[str, ...]:
    """Return the words that name the object of the asking clause, the narrowest first; none if nothing names it.

    They stand in that clause, `delete the story about Bo, he'd mind`, or before it: `The story about Bo, delete
    that`. What stands behind it says why, but for `delete, please, what …`.
    """
    parts = _parts(sentence)
    asking = next((at for at in range(len(parts)) if _asks(" ".join(parts[: at + 1]))), len(parts) - 1)
    own, behind = parts[asking], parts[asking + 1 : asking + 2]
    if _has_content(_topic(own)):
        return (_topic(own),)
    if behind and _POINTS.search(own) is None and _TOLD_BEHIND.match(behind[0]):
        return (_topic(behind[0]),)
    spoken = [
        [part for part in one if _has_content(_topic(part))]
        for one in (parts[:asking], *map(_parts, reversed(before)))
    ]
    spoken = [one for one in spoken if one]
    for named in spoken:
        first = next(
            (part for part in named if _NAMES_FIRST.match(part)), named[0] if len(spoken) == 1 else None
        )
        if first is not None:
            return tuple(dict.fromkeys(_topic(part) for part in (first, " ".join(named))))
    return ()


def _parts(text: str) -> list[str]:
    """Return the clauses of a text, as marks and conjunctions part them."""
    ends = [mark.start() for mark in _PART.finditer(text)]
    return [text[start:end] for start, end in zip([0, *ends], [*ends, len(text)], strict=True)]


def _has_content(topic: str) -> bool:
    """Return whether words say more than stop words do, and than what kind of thing is asked for."""
    return not is_courtesy(without_generic(content_of(topic)), languages=_LANGUAGES)


def _topic(text: str) -> str:
    """Return the words of a text without those by which people ask to forget, and that it holds no more."""
    asked = _TABLE.pattern("request_words").sub(" ", text.translate(APOSTROPHES))
    return " ".join(_TABLE.pattern("past").sub(" ", asked).split())


def is_about(request: ForgetRequest, texts: Sequence[str], analyzer: Analyzer) -> bool:
    """Return whether texts are about the thing that a request names; an address is where somebody lives."""
    named = set(analyzer.lexemes(content_of(request.topic)))
    is_home = _TABLE.pattern("homes").search(request.topic) is not None
    return all(
        (bool(named) and named <= set(analyzer.lexemes(text)))
        or (is_home and _TABLE.pattern("dwelling").search(text) is not None)
        for text in texts
    )


def calls_past(text: str) -> bool:
    """Return whether a text calls something old, former or earlier."""
    return _TABLE.pattern("past").search(text) is not None
