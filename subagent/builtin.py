"""The built-in planner: it works by rules, without a model or a network, and always gives the same answer."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Any, ClassVar

from memex.store.records import Reference
from memex.store.search.analyzer import Analyzer
from memex.store.search.bm25 import Query
from memex.store.search.confidence import NO_CONFIDENCE, Confidence
from memex.store.search.snippet import window
from memex.store.text_pool import offload
from memex.subagent.context.assembly import SENTENCE, WEAK_SENTENCE, WRAPPER_CHARS, wrapper_chars
from memex.subagent.context.candidates import meaning
from memex.subagent.context.candidates.themed import read_statement_files, themed_statements
from memex.subagent.context.evidence import WHOLE_CHARS, ScoredPassage, gather_evidence, pinned_passages
from memex.subagent.context.expansion import expand, with_synonyms
from memex.subagent.context.intents import intent_of
from memex.subagent.context.lists import listed_statements
from memex.subagent.context.oneself import asks_for_all, asks_for_oneself, statements_about_user
from memex.subagent.context.ranking import rank_statements
from memex.subagent.context.selection import CandidatePassage, Cut, rank, select
from memex.subagent.context.statement_selection import select_mixed
from memex.subagent.context.statements import mark_rivals, split_passages, with_listed
from memex.subagent.judgement import ENGLISH, Judgement, judge
from memex.subagent.memory_tools import MemoryTools
from memex.subagent.planner import (
    BUILTIN,
    PLANNER_VERSION,
    Addition,
    ContextPlan,
    ContextRequest,
    KeptDocument,
    KnownStatement,
    RememberPlan,
    RememberRequest,
)
from memex.subagent.remember import kept_documents
from memex.subagent.remember.changes import Changes
from memex.subagent.remember.file_series import FileSeries, first_file, list_series
from memex.subagent.remember.filing.entries import normal_forms
from memex.subagent.remember.forgetting import ForgetPlan, plan_forgetting, stated_beside
from memex.subagent.remember.mounts import link_target, may_link
from memex.subagent.remember.own_names import find_own_names
from memex.subagent.remember.reading import read_text
from memex.subagent.remember.related import find_related
from memex.subagent.remember.stage import find_replacements
from memex.subagent.statements.bullets import render_bullet
from memex.subagent.statements.classifier.themes import question_themes
from memex.subagent.statements.comparison.holders import is_about_another
from memex.subagent.statements.documents import Document, find_document
from memex.subagent.statements.extraction import Statement
from memex.subagent.statements.forgetting import find_forget_request
from memex.subagent.statements.language import STATEMENT_KINDS
from memex.subagent.statements.places import destination, is_statement_file, mount_of
from memex.subagent.statements.subjects import normal_form

READ_SHARE = 3  # so many times the budget's characters of passages are read, of which the best are chosen
STATEMENT_CHARS = 16_000  # so many characters are read at least, of which single statements are chosen
SYNONYM_HITS = 8
SYNONYM_PASSAGES = 4
# Statements of one text for which memory is searched; for each, its own file is always looked at.
MAX_LOOKUPS = 100
MAX_SERIES = 50  # files of a series that are read for a longer text


@dataclass(frozen=True, slots=True)
class Candidates:
    """The passages that may answer a query.

    Attributes:
        query: the query as search weighed it.
        pinned: the passages of pinned files, which come first, in their order.
        ranked: the best other passages, in any order.
        unread: passages that rank below all others and were not read, with their values.
        confidence: that of the search.
        is_of_days: whether the search was narrowed to days that the query names.
        is_compared: the search compared meaning too.
        language: of memory.
    """

    query: Query
    pinned: Sequence[CandidatePassage]
    ranked: Sequence[CandidatePassage]
    unread: Sequence[tuple[Reference, int]]
    confidence: Confidence = NO_CONFIDENCE
    is_of_days: bool = False
    is_compared: bool = False
    language: str = ENGLISH

    def judge(self, question: str, *, is_intent: bool = False, has_statements: bool = False) -> Judgement:
        """Return how sure it is that memory says something about the question; see `judgement.judge`."""
        return judge(
            question,
            self.query,
            self.confidence,
            is_of_days=self.is_of_days,
            is_intent=is_intent,
            has_statements=has_statements,
            language=self.language,
        )


class BuiltinPlanner:
    """Chooses by rules: BM25, links, themes and fitted weights, and the value of a passage for its length."""

    name = BUILTIN
    is_slow = False
    config: ClassVar[dict[str, Any]] = {}

    def __init__(self, analyzer: Analyzer, *, version: int = PLANNER_VERSION) -> None:
        """Make one.

        Args:
            analyzer: of the words of texts.
            version: an older version of the planner, whose reads of memory a replay makes again.
        """
        self.analyzer = analyzer
        self.version = version

    async def plan_context(self, request: ContextRequest, tools: MemoryTools) -> ContextPlan:
        """Return the passages that answer a query, within its budget."""
        survey = await self.find_candidates(request, tools, least_chars=STATEMENT_CHARS)
        query, beside = await _search_synonyms(request.query, survey.query, tools)
        found = (*survey.ranked, *beside)
        units, passages = split_passages(found, query, tools.analyzer, weighs_statements=False)
        is_compared = survey.is_compared and self.version >= meaning.SINCE_VERSION
        is_themed = bool(question_themes(request.query))
        files = await read_statement_files(tools) if is_themed or is_compared else []
        themed = themed_statements(request.query, query, files, tools.analyzer)
        units = list({unit.reference: unit for unit in (*themed, *units)}.values())
        similar: Mapping[Reference, float] = {}
        if is_compared:
            compared = await meaning.compare_statements(request.query, query, units, files, tools)
            units, similar = list(compared.units), compared.similar
        units = rank_statements(
            units,
            request.query,
            query,
            tools.analyzer,
            is_beside_passages=any(
                one.value for one in passages if not is_statement_file(one.reference.path)
            ),
            similar=similar,
        )
        intent = intent_of(request.query)
        if intent is not None:
            listed = await listed_statements(intent, request, query, tools)
            units = with_listed(units, listed, passages)
        elif asks_for_oneself(request.query):
            listed = await statements_about_user(request.query, query, tools)
            units = with_listed(units, listed, passages)
        judgement = survey.judge(
            request.query,
            is_intent=intent is not None or asks_for_oneself(request.query) or asks_for_all(request.query),
            has_statements=bool(themed or beside),
        )
        plan = select_mixed(
            survey.pinned,
            mark_rivals(units, query, tools.analyzer),
            passages,
            is_list=intent is not None or asks_for_all(request.query),
            available=request.budget - _wrapper_chars(request, judgement),
            cut=self.cutter(survey.query),
            unread=survey.unread,
        )
        return replace(plan, judgement=judgement)

    async def find_candidates(
        self, request: ContextRequest, tools: MemoryTools, *, least_chars: int = 0
    ) -> Candidates:
        """Return the passages that may answer a query, with the texts of the best: at least so many characters."""
        evidence = await gather_evidence(request, tools)
        pinned_paths = await tools.pinned()
        pinned_files = await tools.passages(evidence.query, pinned_paths) if pinned_paths else []
        available = request.budget - WRAPPER_CHARS
        first = [worth for file in pinned_files for worth in pinned_passages(file, available // 2)]
        worths, unread = _split_by_value(
            evidence.scored_passages(min(WHOLE_CHARS, available // 3)),
            max(available * READ_SHARE, least_chars),
        )
        texts = iter(await tools.read([worth.reference for worth in (*first, *worths)]))
        return Candidates(
            evidence.query,
            [worth.candidate(text) for worth in first if (text := next(texts)).strip()],
            [worth.candidate(text) for worth in worths if (text := next(texts)).strip()],
            [(worth.reference, worth.value) for worth in unread],
            evidence.confidence,
            evidence.is_of_days,
            evidence.is_compared,
            tools.language,
        )

    def choose(self, survey: Candidates, request: ContextRequest) -> ContextPlan:
        """Return the best of what was surveyed, within a budget."""
        judgement = survey.judge(request.query)
        plan = select(
            survey.pinned,
            survey.ranked,
            available=request.budget - _wrapper_chars(request, judgement),
            cut=self.cutter(survey.query),
            unread=survey.unread,
        )
        return replace(plan, judgement=judgement)

    def cutter(self, query: Query) -> Cut:
        """Return what gives the part of a text that says most to a query."""
        wanted = frozenset(query.lexemes)
        return lambda text, width: window(text, wanted, self.analyzer, width)

    async def plan_remember(self, request: RememberRequest, tools: MemoryTools) -> RememberPlan:
        """Return where the statements of a text belong, which memory holds already, and what none is."""
        reading = await read_text(request)
        forgetting = ForgetPlan()
        if asked := find_forget_request(request.text):
            forgetting = await plan_forgetting(asked, request.project, request.day, tools)
            if asked.is_sure:
                reading = stated_beside(reading, asked, forgetting, tools.analyzer)
        document = await offload.run_on(request.text, find_document, request.text, reading)
        kept_document = None
        if document is not None:
            reading = document.reading
            kept_document = await kept_documents.keep(document, request.project, tools)
        adds = await self.place(reading.statements, document, request, tools)
        projects = {request.project, None}
        own_paths = frozenset(
            destination(kind, project).path for kind in STATEMENT_KINDS for project in projects
        )
        if kept_document is not None:
            own_paths |= {kept_document.path}
        known: dict[Addition, KnownStatement] = {}
        changes = Changes(request.day, request.project)
        for place, add in enumerate(adds[:MAX_LOOKUPS]):
            about = await find_related(add, own_paths, tools)
            links = (*_links_to(kept_document, add.path), *about.links)
            adds[place] = replace(add, path=about.home or add.path, links=links)
            if about.known:
                known[adds[place]] = about.known
            else:
                adds[place] = changes.take(adds[place], about, tools.analyzer)
        for add in await find_replacements(adds, known, request.day, tools):
            known.pop(add, None)
        kept = tuple(add for add in adds if add not in known)
        return RememberPlan(
            kept,
            tuple(known.values()),
            reading.skipped,
            removals=(*changes.removals, *forgetting.removals),
            rivals=tuple(changes.rivals),
            documents=() if kept_document is None else (kept_document,),
            candidates=forgetting.candidates,
            own_names=await find_own_names(tools) if kept else frozenset(),
        )

    async def place(
        self,
        statements: Sequence[Statement],
        document: Document | None,
        request: RememberRequest,
        tools: MemoryTools,
    ) -> list[Addition]:
        """Return statements with where they go: the file of their kind, or its first successor with room.

        A statement of a document says what its section is about.
        """
        rooms: dict[str, FileSeries] = {}
        homes: dict[str, dict[tuple[str, ...], str]] = {}
        adds = []
        for statement in await _with_holders(statements, tools):
            place = destination(statement.kind, request.project, statement.text)
            text = document.labelled(statement) if document else statement.text
            if place.path not in homes:
                is_long = len(statements) > MAX_LOOKUPS
                homes[place.path] = await self._files_by_statement(place.path, tools) if is_long else {}
            path = homes[place.path].get(normal_form(text))
            if path is None:
                if place.path not in rooms:
                    rooms[place.path] = await FileSeries.of(place.path, tools, version=self.version)
                path = rooms[place.path].path_for(len(render_bullet(text, request.day)))
            adds.append(Addition(path, place.title, place.heading, replace(statement, text=text)))
        return adds

    async def _files_by_statement(self, path: str, tools: MemoryTools) -> dict[tuple[str, ...], str]:
        """Return which file of a series says what, by normal form."""
        found: dict[tuple[str, ...], str] = {}
        for listed in await list_series(path, tools, limit=MAX_SERIES, version=self.version):
            if first_file(listed.path) == path:
                content = (await tools.read_file(listed.path)).content
                forms = await offload.run_on(content, normal_forms, content)
                found |= dict.fromkeys(forms, listed.path)
        return found


async def _with_holders(statements: Sequence[Statement], tools: MemoryTools) -> list[Statement]:
    """Return statements; what somebody else likes is a note, and no preference of the user."""
    others = [one for one in statements if one.kind == "preference" and is_about_another(one.text)]
    if not others:
        return list(statements)
    own_names = await find_own_names(tools)
    others = [one for one in others if is_about_another(one.text, own_names)]
    return [replace(one, kind="note") if one in others else one for one in statements]


async def _search_synonyms(
    question: str, query: Query, tools: MemoryTools
) -> tuple[Query, list[CandidatePassage]]:
    """Return a query with the synonyms of its words, and the passages of statements that hold them."""
    expansion = expand(question, tools.language)
    if not expansion:
        return query, []
    found = await tools.find(expansion, limit=SYNONYM_HITS, passages=SYNONYM_PASSAGES)
    passages = [
        CandidatePassage(
            Reference(hit.path, hit.version, passage.span), passage.text, 0, "match", heading=passage.heading
        )
        for hit in found.hits
        if hit.file is not None and is_statement_file(hit.path)
        for passage in hit.file.passages
        if passage.text
    ]
    return with_synonyms(query, found.query), passages


def _wrapper_chars(request: ContextRequest, judgement: Judgement) -> int:
    """Return how many characters of a budget the wrapper of a context needs."""
    is_weak = request.min_confidence is not None and judgement.band == "weak"
    return wrapper_chars(WEAK_SENTENCE if is_weak else SENTENCE)


def _links_to(document: KeptDocument | None, path: str) -> tuple[str, ...]:
    """Return the link from a file to the note of a document that its statement stands in."""
    if document is None or not may_link(mount_of(path), document.path):
        return ()
    target = link_target(mount_of(path), document.path)
    return (target,) if target else ()


def _split_by_value(
    worths: Iterable[ScoredPassage], chars: int
) -> tuple[list[ScoredPassage], list[ScoredPassage]]:
    """Return the passages that are worth most, so many characters of them and at least one; and the others."""
    ordered = sorted(worths, key=lambda worth: rank(worth.value, worth.reference))
    ends = accumulate(worth.chars for worth in ordered)
    kept = max(1, sum(end <= chars for end in ends))
    return ordered[:kept], ordered[kept:]
