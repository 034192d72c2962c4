"""Forgetting: which statements of pages, and which sentences of the journal, a request means beyond doubt."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date

from memex.errors import FileNotFound
from memex.store.entry_path import FOLDER
from memex.store.records import Reference, Span
from memex.store.search.analyzer import Analyzer
from memex.store.statement_lines import line_key
from memex.store.text_pool import offload
from memex.store.writes.statements import FiledLine
from memex.subagent.memory_tools import MemoryTools
from memex.subagent.planner import FiledStatement, RememberPlan, RememberRequest, Removal
from memex.subagent.remember.mounts import is_writable
from memex.subagent.remember.related import stored_statements
from memex.subagent.remember.told_sentences import ENTRIES, MAX_READ_CHARS, find_told, is_later
from memex.subagent.statements.comparison.asides import are_asides, rest_of
from memex.subagent.statements.comparison.conjuncts import meant_part, readings_of
from memex.subagent.statements.comparison.relations import statement_weights
from memex.subagent.statements.comparison.values import Value, values_of
from memex.subagent.statements.courtesy import is_courtesy
from memex.subagent.statements.days.dating import without_dates
from memex.subagent.statements.extraction import Extraction, SkippedSpan, Statement
from memex.subagent.statements.forgetting import ForgetRequest, all_sentences, calls_past
from memex.subagent.statements.named import (
    content_of,
    is_small_name,
    is_written_large,
    joined_things,
    names,
    names_part,
    spellings,
    thing_of,
    without_article,
)
from memex.subagent.statements.paraphrase import paraphrase_form
from memex.subagent.statements.referring import refers_back
from memex.subagent.statements.secrets.finding import PLACEHOLDER
from memex.subagent.statements.subjects import normal_form

HITS = 8
PASSAGES = 8
MAX_TOPIC_CHARS = 1_000
MAX_REMOVED = 5  # statements that one request takes out
MAX_NAMED = 50  # those that name what is to be forgotten, or that `everything about …` means
MAX_PASSAGES = 24  # of a page, where all that is meant is looked for
MAX_ENTRIES = 1_000  # of a day, among which the last one is looked for
MAX_CANDIDATES = 5
MIN_SHARED = 3.5  # idf of the words that the request shares with what it means
# `Forget that …` states what is meant: of its words at most so many may be missing in the statement, and it has to
# say more than this of what the statement says.
MISSING_SHARE = 0.25
SAID_SHARE = 0.5
MIN_CLAUSE_WORDS = 2  # of a clause that states what is meant
LEAD = 1.3  # by so many times the best is ahead of the second, if one statement is meant

_NEGATION = frozenset(
    {"not", "never", "no", "nicht", "nie", "kein", "keine", "keinen", "ne", "pas", "jamais", "nunca"}
)


@dataclass(frozen=True, slots=True)
class ForgetPlan:
    """The statements to take out, or those that may be meant if that is not beyond doubt.

    Attributes:
        removals: statements of pages.
        words: sentences of journal entries of which no page has a statement.
        candidates: statements and sentences that may be meant, where a name or what was told last says which.
        fitting: how many of these there are; the candidates are the first.
        named: the names or identifiers of which all statements go; none if a request describes what it means.
    """

    removals: tuple[Removal, ...] = ()
    words: tuple[FiledStatement, ...] = ()
    candidates: tuple[FiledStatement, ...] = ()
    fitting: int = 0
    named: tuple[str, ...] = ()

    @property
    def texts(self) -> list[str]:
        """The texts that are taken out."""
        return [*(removal.removes for removal in self.removals), *(word.text for word in self.words)]


@dataclass(frozen=True, slots=True)
class _Match:
    stored: FiledStatement  # of a page; else the first sentence of the journal that says it
    shared: float
    words: frozenset[str]
    shares_name: bool
    is_other_value: bool  # the request names a number, date or the like, and the statement another one
    is_past: bool = False  # a page said it, and does not any more; or a newer statement contradicts it
    told: tuple[FiledStatement, ...] = ()  # the sentences of the journal that say it

    def is_writable(self, project: str | None) -> bool:
        return is_writable(self.stored.path, project)


async def plan_forgetting(request: ForgetRequest, said: RememberRequest, tools: MemoryTools) -> ForgetPlan:
    """Return what a request to forget takes out of memory.

    Args:
        request: the request.
        said: the text that it stands in; what was said later than that is not meant.
        tools: searches memory.
    """
    plan = await _plan_meant(request, said, tools)
    return await _with_what_refers_back(plan, request, said, tools) if plan.texts and said.is_kept else plan


async def _plan_meant(request: ForgetRequest, said: RememberRequest, tools: MemoryTools) -> ForgetPlan:
    """Return what takes out the statements that a request names or describes."""
    project, day, has_journal = said.project, said.day, said.is_kept
    if request.is_everything:
        return ForgetPlan()
    if request.is_bare:
        return await _plan_last(request, said, tools)
    is_past = request.is_past
    if request.named and not is_past:
        return await _plan_named(request, said, tools)
    meant: list[_Match] = []
    matches: list[_Match] = []
    if request.stated:
        for stated in _pools(await _find_matches(request.stated, day, tools, has_journal=has_journal)):
            named = [match for match in stated if _lefts(match.stored.text, request.stated)]
            is_meant = len(named) == 1 and _says(named[0].stored.text, request.stated)
            if is_meant and named[0].is_writable(project):
                return _taking_out(request, named, request.stated, tools.analyzer)
    # People ask in two steps too: `Keith's wife told me. Wipe that please.`
    focus = frozenset(tools.analyzer.lexemes(_said_of(" ".join(request.focus[:1]))))
    for topic in dict.fromkeys((*request.focus, request.topic, f"{request.topic} {request.beside}")):
        found = await _find_matches(topic, day, tools, has_journal=has_journal, is_whole=request.is_several)
        # `Forget this: I prefer old cheese.` names what holds.
        is_past = is_past and not any(_says_what_is_old(request, match, tools.analyzer) for match in found)
        for matches in await _past_pools(found, tools) if is_past else _pools(found):
            meant = _said_outright(request, matches)
            if request.is_several:
                meant = meant or _about(topic, matches, tools)
            thing = content_of(topic) if request.is_outright else thing_of(topic)
            thing = thing or (_said_of(topic) if topic in request.focus else "")
            meant = meant or _meant(matches, is_several=request.is_several) or _only(thing, matches, tools)
            if topic not in request.focus and focus and not request.stated:
                # Other clauses say why; that they share words alone does not say that it is meant.
                meant = [match for match in meant if not focus.isdisjoint(match.words)]
            if request.stated:
                meant = [match for match in meant if _states(topic, match.stored.text, tools.analyzer)]
            if meant:
                break
        if meant:
            break
    if is_past and not all(match.is_past for match in meant):
        meant = []  # what holds is not what was meant, or nobody told memory that it holds no more
    whole = request.focus[-1] if topic in request.focus and not request.is_several else topic
    is_other = any(_names_another(request, whole, match.stored.text, tools.analyzer) for match in meant)
    if not (meant and _is_sure(request) and _are_writable(meant, said)) or is_other:
        return ForgetPlan()
    return _taking_out(request, meant, "" if is_past else topic, tools.analyzer)


async def _plan_named(request: ForgetRequest, said: RememberRequest, tools: MemoryTools) -> ForgetPlan:
    """Return what takes out all that has a name; of a list of names, if nothing has it whole, all that has any."""
    whole = await _plan_name(request, said, tools)
    things = () if whole.texts else joined_things(request.named)
    plans = [await _plan_name(replace(request, named=thing), said, tools) for thing in things]
    if not plans:
        return whole
    removals = list(dict.fromkeys(removal for plan in plans for removal in plan.removals))
    keys = Counter((removal.path, removal.removes) for removal in removals)
    # A statement of which two names mean two parts may say of a third what nobody asks to forget.
    once = tuple(removal for removal in removals if keys[removal.path, removal.removes] == 1)
    words = tuple(dict.fromkeys(word for plan in plans for word in plan.words))
    taken = {removal.removes for removal in once} | {word.text for word in words}
    asked = [one for plan in plans for one in plan.candidates if one.text not in taken]
    return ForgetPlan(
        once,
        words,
        tuple(dict.fromkeys(asked))[:MAX_CANDIDATES],
        fitting=sum(plan.fitting for plan in plans),
        named=tuple(name for plan in plans for name in plan.named),
    )


async def _plan_name(request: ForgetRequest, said: RememberRequest, tools: MemoryTools) -> ForgetPlan:
    """Return what takes out all that names what a request names, or the candidates about which the caller is asked.

    The caller is asked about statements that only share a word with the name, about all statements where the text
    says more, since it may be an order such as `Forget Python. Use Rust.`, and about secrets: marks look alike.
    An article before the name says that one statement is meant, if none has the name with the article. What is
    typed in small letters, such as `mila novak`, is a name where memory writes it as one.
    """
    asked = spellings(request.named)
    found = await _find_matches(asked, said.day, tools, has_journal=said.is_kept, is_whole=True)
    named, most = _naming(request.named, found), MAX_NAMED
    if not named and (thing := without_article(request.named)) != request.named:
        request, most = replace(request, named=thing), 1
        named = _naming(thing, found)
    meant = [match for match in named if not match.is_past] or named
    others = [match for match in found if match not in named and names_part(request.named, match.stored.text)]
    is_sure = _is_sure(request) and is_courtesy(request.beside) and len(meant) <= most
    if is_small_name(request.named):
        is_sure = is_sure and all(is_written_large(request.named, match.stored.text) for match in meant)
    if meant and is_sure and _are_writable(meant, said):
        taken = _taking_out(request, meant, request.named, tools.analyzer)
        asked_about = _asking(others)
        return replace(
            taken, candidates=asked_about.candidates, fitting=asked_about.fitting, named=(request.named,)
        )
    return _asking(meant or others)


def _naming(thing: str, found: Sequence[_Match]) -> list[_Match]:
    """Return the statements that hold a name or an identifier; those with other accents, if none has the same."""
    named = [match for match in found if names(thing, match.stored.text)]
    return named or [match for match in found if names(thing, match.stored.text, is_folded=True)]


async def _plan_last(request: ForgetRequest, said: RememberRequest, tools: MemoryTools) -> ForgetPlan:
    """Return what takes out all that the entry of the day states that was told last; nothing without a journal."""
    listed = await tools.list_files(f"user/{FOLDER}/{said.day.isoformat()}/", limit=MAX_ENTRIES)
    told = sorted(file.path for file in listed if not is_later(file.path, said.day, said.moment))
    if not told:
        return ForgetPlan()
    entry = await tools.read_file(told[-1])
    lines = {
        statement.line_key
        for statement in await tools.entry_statements([entry.virtual_path])
        if statement.is_in_force
    }
    spans = await offload.run_on(entry.content, all_sentences, entry.content)
    meant: dict[FiledStatement, _Match] = {}
    for start, end in spans[:MAX_NAMED]:
        for match in await _find_matches(entry.content[start:end], said.day, tools, has_journal=said.is_kept):
            is_told = any(sentence.path == entry.virtual_path for sentence in match.told)
            if is_told or line_key(match.stored.text) in lines:
                meant.setdefault(match.stored, match)
    is_sure = len(spans) <= MAX_REMOVED and _are_writable(meant.values(), said)
    found = list(meant.values())
    return _taking_out(request, found, "", tools.analyzer) if is_sure else _asking(found)


async def _with_what_refers_back(
    plan: ForgetPlan, request: ForgetRequest, said: RememberRequest, tools: MemoryTools
) -> ForgetPlan:
    """Return a plan that also takes the sentences right behind those forgotten that speak of the same by a pronoun.

    Left behind, `He lives in Kassel now` would be read as said of somebody else.
    """
    gone = await forgotten_words(plan.removals, plan.words, tools)
    more = plan
    for path, spans in gone.spans.items():
        try:
            entry = await tools.read_file(path)
        except FileNotFound:  # the entry was deleted, and the page that was made from it stands
            continue
        if entry.size_chars > MAX_READ_CHARS:
            continue
        for start, end in await offload.run_on(entry.content, _refer_back, entry.content, spans):
            text = entry.content[start:end]
            behind = [
                match
                for match in await _find_matches(text, said.day, tools, has_journal=True)
                if normal_form(without_dates(match.stored.text)) == normal_form(text)
            ]
            taken = _taking_out(request, behind, "", tools.analyzer)
            more = replace(
                more,
                removals=tuple(dict.fromkeys((*more.removals, *taken.removals))),
                words=tuple(dict.fromkeys((*more.words, *taken.words))),
            )
    return more


def _refer_back(content: str, gone: Sequence[Span]) -> list[Span]:
    """Return the sentences behind some words of a paragraph, as long as they speak of these by a pronoun."""
    found: list[Span] = []
    is_behind, before = False, 0
    for start, end in all_sentences(content):
        if any(start < last and first < end for first, last in gone):
            is_behind = True
        elif is_behind := (
            is_behind and "\n\n" not in content[before:start] and refers_back(content[start:end])
        ):
            found.append((start, end))
        before = end
    return found


def _said_of(topic: str) -> str:
    """Return the words of a topic that say of what it is, in whatever language: no stop words."""
    return " ".join(word for word in content_of(topic).split() if not is_courtesy(word))


def _is_sure(request: ForgetRequest) -> bool:
    """Tell whether a request is one to memory, and about no secret, whose mark is that of other secrets too."""
    return request.is_addressed and PLACEHOLDER.search(request.text) is None


def _asking(meant: Sequence[_Match]) -> ForgetPlan:
    return ForgetPlan(
        candidates=tuple([match.stored for match in meant[:MAX_CANDIDATES]]), fitting=len(meant)
    )


def _are_writable(meant: Iterable[_Match], said: RememberRequest) -> bool:
    return all(match.is_writable(said.project) for match in meant)


def _pools(matches: Sequence[_Match]) -> list[list[_Match]]:
    """Return the matches among which the meant ones are looked for, one list after the other.

    What a page said before, and does not any more, counts only where nothing else is meant.
    """
    standing = [match for match in matches if not match.is_past]
    return [standing] if len(standing) == len(matches) else [standing, list(matches)]


def _says_what_is_old(request: ForgetRequest, match: _Match, analyzer: Analyzer) -> bool:
    """Tell whether a request has all words of a statement that calls something old itself."""
    said = set(analyzer.lexemes(without_dates(match.stored.text)))
    return calls_past(match.stored.text) and said <= set(analyzer.lexemes(request.text))


async def _past_pools(matches: Sequence[_Match], tools: MemoryTools) -> list[list[_Match]]:
    """Return the matches that hold no more, also where a newer one contradicts them, and then all matches."""
    paths = {place.path for match in matches for place in (match.stored, *match.told)}
    older = {(rival.path, rival.line_key) for rival in await tools.rivals(sorted(paths))} if paths else set()
    marked = [
        replace(match, is_past=True)
        if any((place.path, line_key(place.text)) in older for place in (match.stored, *match.told))
        else match
        for match in matches
    ]
    return [[match for match in marked if match.is_past], marked]


@dataclass(frozen=True, slots=True)
class ForgottenWords:
    """The words of the caller's journal that are forgotten, by entry; and what stays of their statements."""

    spans: Mapping[str, Sequence[Span]] = field(default_factory=dict)
    kept: tuple[FiledLine, ...] = ()


async def forgotten_words(
    removals: Sequence[Removal], told: Sequence[FiledStatement], tools: MemoryTools
) -> ForgottenWords:
    """Return the words of the caller's journal that are forgotten.

    Args:
        removals: those that are forgotten take the words with them from which they were made.
        told: sentences of entries that are forgotten themselves.
        tools: reads memory.
    """
    forgotten = {
        (removal.path, line_key(removal.removes)): removal for removal in removals if removal.is_forgotten
    }
    by_key = {key: removal for (_, key), removal in forgotten.items()}
    found: dict[str, list[Span]] = {}
    kept = []
    for source in await tools.statement_sources(list(forgotten)) if forgotten else ():
        start, end = source.start_char, source.end_char
        removal = by_key[source.line_key]
        if removal.part:
            at = (await tools.read_file(source.path)).content.find(removal.part, start, end)
            if at >= 0:
                kept.append(FiledLine(removal.path, removal.keeps, (start, end), entry=source.path))
                start, end = at, at + len(removal.part)
        found.setdefault(source.path, []).append((start, end))
    for sentence in told:
        if sentence.reference is not None:
            found.setdefault(sentence.path, []).append(sentence.reference.span)
    return ForgottenWords(found, tuple(kept))


def _taking_out(
    request: ForgetRequest, meant: Sequence[_Match], asked: str, analyzer: Analyzer
) -> ForgetPlan:
    """Return what takes statements out; of one that joins facts, those alone that have the words that are asked."""
    statement = Statement("note", request.text, request.start, request.end)

    def words(text: str) -> frozenset[str]:
        return frozenset(analyzer.lexemes(text))

    def span_in(text: str) -> Span | None:
        part = meant_part(text, words(content_of(asked)), words)
        left = f"{text[: part[0]]}{text[part[1] :]}" if part else ""
        return None if request.named and names(request.named, left, is_folded=True) else part

    def removal(stored: FiledStatement) -> Removal:
        taken = Removal(stored.path, statement, stored.text, is_forgotten=True)
        if stored.reference is None or (part := span_in(stored.text)) is None:
            return taken
        text, (start, end) = stored.text, part
        return replace(taken, keeps=text[:start] + text[end:], part=text[start:end])

    def narrowed(told: FiledStatement) -> FiledStatement:
        if told.reference is None or (part := span_in(told.text)) is None:
            return told
        path, version, (at, _) = told.reference
        place = Reference(path, version, (at + part[0], at + part[1]))
        return replace(told, text=told.text[slice(*part)], reference=place)

    return ForgetPlan(
        tuple(removal(match.stored) for match in meant if match.stored not in match.told),
        tuple(narrowed(told) for match in meant for told in match.told),
    )


def stated_beside(
    reading: Extraction, request: ForgetRequest, plan: ForgetPlan, analyzer: Analyzer
) -> Extraction:
    """Return what a text states beside a request to forget.

    A statement that shares a word with the request, or with what the request means, repeats what shall be
    forgotten, and is skipped. If the request says itself what it means, or stands before the statement, a statement
    is kept that says more: one of a sure kind, or a note with a name or number of its own.
    """
    forgotten = " ".join(
        [request.text, *(plan.texts or [candidate.text for candidate in plan.candidates[:1]])]
    )
    named, values = set(analyzer.lexemes(forgotten)), {value.form for value in values_of(forgotten)}

    def is_beside(start: int, end: int) -> bool:
        return end <= request.start or start >= request.end

    def repeats(one: Statement) -> bool:
        said = set(analyzer.lexemes(one.text))
        says_more = one.kind != "note" or any(value.form not in values for value in values_of(one.text))
        if says_more and (request.stated or one.start >= request.end):
            return len(said - named) <= MISSING_SHARE * len(said)
        return not named.isdisjoint(said)

    kept = [
        statement
        for statement in reading.statements
        if is_beside(statement.start, statement.end) and not repeats(statement)
    ]
    dropped = [
        SkippedSpan(statement.start, statement.end, "forget")
        for statement in reading.statements
        if is_beside(statement.start, statement.end) and statement not in kept
    ]
    skipped = [span for span in reading.skipped if is_beside(span.start, span.end)]
    asked = SkippedSpan(request.start, request.end, "forget")
    return Extraction(tuple(kept), tuple(sorted([*skipped, *dropped, asked], key=lambda skip: skip.start)))


def with_forgetting(
    plan: RememberPlan, request: ForgetRequest, forgetting: ForgetPlan, analyzer: Analyzer
) -> RememberPlan:
    """Return a plan for the whole of a text, with what a request to forget in it takes out.

    Nothing else is taken out for the request, and no statement takes the place of what is forgotten.
    """
    stated = Extraction(tuple(add.statement for add in plan.adds), plan.skipped)
    reading = stated_beside(stated, request, forgetting, analyzer)
    gone = {(removal.path, removal.removes) for removal in forgetting.removals}
    return replace(
        plan,
        adds=tuple(
            replace(add, replaces=None) if (add.path, add.replaces) in gone else add
            for add in plan.adds
            if add.statement in reading.statements
        ),
        skipped=reading.skipped,
        removals=(
            *(
                removal
                for removal in plan.removals
                if (removal.path, removal.removes) not in gone and not _is_of(removal.statement, request)
            ),
            *forgetting.removals,
        ),
        candidates=tuple(dict.fromkeys([*forgetting.candidates, *plan.candidates]))[:MAX_CANDIDATES],
        fitting=forgetting.fitting,
        forgotten=forgetting.words,
        named=forgetting.named,
    )


def _is_of(statement: Statement | None, request: ForgetRequest) -> bool:
    """Tell whether a statement stands in a request to forget, or across one of its ends."""
    return statement is not None and statement.start < request.end and request.start < statement.end


async def _find_matches(
    topic: str, day: date, tools: MemoryTools, *, has_journal: bool, is_whole: bool = False
) -> list[_Match]:
    """Return what was stored until a day and shares words with a topic, the best first.

    With `is_whole`, more is looked at than one request takes out, so that nothing is left behind unseen. Sentences
    of the journal that say the same as a statement of a page, or as each other, are one with it.
    """
    topic = topic[:MAX_TOPIC_CHARS]
    if not topic.strip():
        return []
    hits, passages = (2 * MAX_NAMED, MAX_PASSAGES) if is_whole else (HITS, PASSAGES)
    found = await tools.find(topic, limit=hits, passages=passages, entries=False)
    weights = statement_weights(found.query)
    matches = [
        _match(topic, stored, weights, tools.analyzer)
        for stored in dict.fromkeys(stored_statements(found.hits))
    ]
    by_form = {_form(match.stored.text): at for at, match in reversed(list(enumerate(matches)))}
    for told in await find_told(topic, tools, max(hits, ENTRIES)) if has_journal else ():
        sentence = told.sentence
        if sentence.day > day:
            continue
        at = by_form.setdefault(_form(sentence.text), len(matches))
        if at == len(matches):
            matches.append(replace(_match(topic, sentence, weights, tools.analyzer), is_past=told.is_past))
        known = matches[at]
        matches[at] = replace(known, told=(*known.told, sentence), is_past=known.is_past and told.is_past)
    return sorted((match for match in matches if match.stored.day <= day), key=lambda match: -match.shared)


def _match(topic: str, stored: FiledStatement, weights: Mapping[str, float], analyzer: Analyzer) -> _Match:
    words = frozenset(analyzer.lexemes(stored.text)) & weights.keys()
    names = " ".join(value.form for value in values_of(stored.text) if value.sort in ("name", "code"))
    is_other_value = _differs(values_of(topic), values_of(stored.text))
    shares_name = not words.isdisjoint(analyzer.lexemes(names))
    shared = math.fsum(weights[word] for word in words)
    return _Match(stored, shared, words, shares_name, is_other_value)


def _says(stored: str, clause: str) -> bool:
    """Tell whether a statement says what a clause says, and besides at most when or how often it is."""
    return any(are_asides(said, left, may_repeat=True) for said, left in _lefts(stored, clause))


def _lefts(stored: str, clause: str) -> list[tuple[tuple[str, ...], list[int]]]:
    """Return which words of a statement, or of a fact that it joins, a clause does not say, by reading."""
    asked = _form(clause)
    if len(asked) < MIN_CLAUSE_WORDS:
        return []
    # The verb of a German clause stands at its end, and that of a sentence in its second place.
    forms = (asked, *(asked[:at] + asked[-1:] + asked[at:-1] for at in range(1, len(asked) - 1)))
    said = [_form(reading) for reading in readings_of(stored)]
    return [(one, left) for one in said for form in forms if (left := rest_of(form, one)) is not None]


def _form(text: str) -> tuple[str, ...]:
    return paraphrase_form(without_dates(text))


def _states(topic: str, stored: str, analyzer: Analyzer) -> bool:
    """Tell whether the words of a request state what a statement says, or a fact that it joins, in full."""
    return any(_states_fact(topic, reading, analyzer) for reading in readings_of(stored))


def _states_fact(topic: str, stored: str, analyzer: Analyzer) -> bool:
    """Tell whether the words of a request state a fact, of the same person and in full."""
    if _NEGATION.isdisjoint(_form(topic)) != _NEGATION.isdisjoint(_form(stored)):
        return False
    asked, said = set(analyzer.lexemes(topic)), set(analyzer.lexemes(without_dates(stored)))
    common = len(asked & said)
    return len(asked) - common <= MISSING_SHARE * len(asked) and common > SAID_SHARE * len(said)


def _differs(asked: Sequence[Value], stated: Sequence[Value]) -> bool:
    """Tell whether a request and a statement hold values of one kind, and none in common."""
    for kind in {value.kind for value in asked if value.sort != "name"}:
        forms = {value.form for value in stated if value.kind == kind}
        if forms and forms.isdisjoint(value.form for value in asked if value.kind == kind):
            return True
    return False


def _names_another(request: ForgetRequest, topic: str, stored: str, analyzer: Analyzer) -> bool:
    """Tell whether a request names what a statement does not: `the parcel for Bruno`, of one for Lina.

    It does by a name or a number that the statement lacks, or by a quarter of the words that state what is meant.
    """
    asked, said = set(analyzer.lexemes(content_of(topic))), set(analyzer.lexemes(stored))
    named = {
        lexeme
        for value in values_of(topic)
        if value.sort in ("name", "code", "number", "money")
        for lexeme in analyzer.lexemes(topic[value.start : value.end])
    }
    is_stated = request.is_outright or bool(request.stated)
    return not said.issuperset(asked & named) or (
        is_stated and len(asked - said) >= MISSING_SHARE * len(asked)
    )


def _said_outright(request: ForgetRequest, matches: Sequence[_Match]) -> list[_Match]:
    """Return the statements with which the request ends, word for word."""
    asked = normal_form(request.text)
    formed = [(match, normal_form(without_dates(match.stored.text))) for match in matches]
    said = [(match, len(form)) for match, form in formed if len(form) > 1 and asked[-len(form) :] == form]
    longest = max((words for _, words in said), default=0)
    return [match for match, words in said if words == longest][:MAX_REMOVED]


def _about(topic: str, matches: Sequence[_Match], tools: MemoryTools) -> list[_Match]:
    """Return the statements that hold all words of `everything about …`; none if others hold some of them."""
    asked = set(tools.analyzer.lexemes(content_of(topic)))
    some = [match for match in matches if not asked.isdisjoint(match.words)]
    is_whole = all(asked <= match.words and not match.is_other_value for match in some)
    return some if is_whole and len(some) <= MAX_NAMED else []


def _only(thing: str, matches: Sequence[_Match], tools: MemoryTools) -> list[_Match]:
    """Return the one statement that has all words of a thing, if no other has any."""
    asked = set(tools.analyzer.lexemes(thing))
    some = [match for match in matches if not asked.isdisjoint(match.words)]
    is_whole = len(some) == 1 and bool(asked) and asked <= set(tools.analyzer.lexemes(some[0].stored.text))
    return some if is_whole and not some[0].is_other_value else []


def _meant(matches: Sequence[_Match], *, is_several: bool) -> list[_Match]:
    """Return the statements that are meant beyond doubt; none if there is doubt.

    The best one is meant if it shares two words that the request names, or a name that no other statement has,
    and if it is clearly ahead of the second.
    """
    if not matches or matches[0].shared < MIN_SHARED:
        return []
    best = matches[0]
    if best.is_other_value:
        return []
    with_word = {word: [match for match in matches if word in match.words] for word in best.words}
    rarest = min(with_word.values(), key=len)
    if is_several:  # what shares another word may be meant as well
        is_whole = len(rarest) > 1 or len(matches) == 1
        return (
            [match for match in rarest if not match.is_other_value]
            if is_whole and len(rarest) <= MAX_REMOVED
            else []
        )
    is_clear = len(matches) == 1 or best.shared >= LEAD * matches[1].shared
    return [best] if is_clear and (len(best.words) > 1 or (len(rarest) == 1 and best.shares_name)) else []
