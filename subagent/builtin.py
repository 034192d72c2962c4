"""The built-in planner: it works by rules, without a model or a network, and always gives the same answer."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, ClassVar

from memex.store.entry_path import FOLDER, entries_among
from memex.store.records import Reference
from memex.store.search.analyzer import Analyzer
from memex.store.search.bm25 import Query
from memex.store.search.find import MAX_QUERY_CHARS
from memex.store.search.snippet import window
from memex.store.snapshot.reads import Reads
from memex.subagent.context.assembly import SENTENCE, WEAK_SENTENCE, WRAPPER_CHARS, wrapper_chars
from memex.subagent.context.evidence import WHOLE_CHARS, gather_evidence
from memex.subagent.context.intents import intent_of
from memex.subagent.context.line_selection import select_lines
from memex.subagent.context.lists import asked_for, listed_statements
from memex.subagent.context.pool import (
    ContextLine,
    add_meaning,
    best_first,
    first_chars,
    in_force,
    included_lines,
    lines_of,
    pinned_left,
    score_lines,
    standing,
    window_weight,
    with_listed,
    without_score,
)
from memex.subagent.context.recency import newest_day, with_recency
from memex.subagent.context.rivals import mark_older, mark_over
from memex.subagent.context.selection import CandidatePassage, Cut, chosen_from_chars, read_chars
from memex.subagent.context.stated import stated_by_lines
from memex.subagent.context.statements import StatementUnit
from memex.subagent.context.survey import Candidates, LinePool, pinned_passages, split_by_value
from memex.subagent.judgement import Judgement
from memex.subagent.memory_tools import MemoryTools, newest_first
from memex.subagent.planner import (
    BUILTIN,
    PLANNER_VERSION,
    Addition,
    ContextPlan,
    ContextRequest,
    KnownStatement,
    RememberPlan,
    RememberRequest,
)
from memex.subagent.remember.changes import Changes
from memex.subagent.remember.forgetting import (
    MAX_CANDIDATES,
    ForgetPlan,
    plan_forgetting,
    stated_beside,
)
from memex.subagent.remember.old_values import with_old_value
from memex.subagent.remember.placing import MAX_LOOKUPS, place_statements
from memex.subagent.remember.reading import is_sure, own_statements, read_text
from memex.subagent.remember.related import SaidTime, find_related
from memex.subagent.remember.stage import find_replacements
from memex.subagent.remember.told_sentences import is_later
from memex.subagent.statements.comparison.putting_right import correcting_spans
from memex.subagent.statements.days.asked import names_days, without_days
from memex.subagent.statements.extraction import SkippedSpan
from memex.subagent.statements.forgetting import ForgetRequest, find_forget_request, own_sentences
from memex.subagent.statements.language import STATEMENT_KINDS
from memex.subagent.statements.places import destination

SMALL_PASSAGES = 100  # of a memory: below it, all its lines are looked at
MAX_LIST_LEXEMES = 5  # of a question for a list; one that says more is answered by its words
FORGET_CHARS = 2_000  # of a context for a request to forget, whose lines may be meant


class BuiltinPlanner:
    """Chooses by rules: lines by words, by the passages that they stand in, and by meaning; see `context.pool`."""

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
        """Return the lines that answer a query best, within its budget."""
        return self.select(await self.find_lines(request, tools), request)

    async def find_lines(self, request: ContextRequest, tools: MemoryTools) -> LinePool:
        """Return the lines that may answer a query: find passages, score their lines, mark what is out of date."""
        tools.day = request.today
        survey = await self.find_candidates(request, tools)
        pinned = pinned_left(survey.pinned, tools.forgotten, tools.analyzer)
        survey = survey if pinned is survey.pinned else replace(survey, pinned=pinned)
        is_small = survey.query.chunks < SMALL_PASSAGES and not survey.is_of_days
        rest = await _rest(survey, tools) if is_small else []
        entries = entries_among((*survey.paths, *(passage.reference.path for passage in rest)))
        stated = await tools.entry_statements(entries) if entries else []
        lines, others = (standing(lines_of(found, stated), tools) for found in (survey.ranked, rest))
        asked = lines + others if survey.is_compared else lines
        weight = window_weight(request.budget)
        scored = score_lines(asked, survey.query, tools.analyzer, survey.beside, weight=weight)
        if survey.is_compared:
            lines = await add_meaning(request.query, scored, tools, survey.nearness())
        else:
            lines = scored + without_score(others)
        intent = intent_of(request.query)
        if intent is not None and intent.by != "person":
            lexemes = set(tools.analyzer.lexemes(without_days(request.query)))
            intent = intent if len(lexemes) <= MAX_LIST_LEXEMES else None
        listed: Sequence[StatementUnit] = ()
        best = max([line.score for line in lines[:1]], default=0.0)
        if intent is not None:
            listed = await listed_statements(intent, request, tools)
            lines = in_force(with_listed(asked_for(lines, intent, request), listed), tools.out_of_time)
        judgement = survey.judge(
            request.query,
            lines,
            words=len(set(tools.analyzer.lexemes(request.query))),
            is_intent=bool(listed) or (intent is not None and not names_days(request.query)),
        )
        beside = included_lines(request.included, survey.query, tools.analyzer, weight=weight)
        newest = newest_day(lines, included := standing(beside, tools))
        ranked = lines if listed else survey.led_by_first(with_recency(lines, newest))
        ranked = first_chars(ranked, chosen_from_chars(request.budget))
        return LinePool(
            survey,
            mark_over(await mark_older(ranked, survey.paths, tools), request.today),
            judgement,
            is_shown_whole=is_small and not listed,
            is_list=bool(listed),
            best=best if intent is not None and intent.is_open_ended else None,
            included=with_recency(included, newest),
        )

    def select(self, pool: LinePool, request: ContextRequest) -> ContextPlan:
        """Return the best lines of a pool within the budget of a request.

        Where nothing of memory fits the question, what was found beside memory has the room for itself.
        """
        unread = pool.survey.unread
        if not request.refuses(pool.judgement):
            lines = best_first([*pool.lines, *pool.included]) if pool.included else pool.lines
            plan = self._select(lines, pool, request, unread=unread, best=pool.best)
        else:
            plan = self._select(pool.lines, pool, request, unread=unread, best=pool.best)
            beside = self._select(pool.included, pool, request)
            chosen = [choice for choice in beside.choices if choice.included is not None]
            plan = replace(plan, choices=(*plan.choices, *chosen), omitted=(*plan.omitted, *beside.omitted))
        return replace(plan, judgement=pool.judgement)

    def _select(
        self,
        lines: Sequence[ContextLine],
        pool: LinePool,
        request: ContextRequest,
        *,
        unread: Sequence[Reference] = (),
        best: float | None = None,
    ) -> ContextPlan:
        return select_lines(
            pool.survey.pinned,
            lines,
            available=request.budget - _wrapper_chars(request, pool.judgement),
            cut=self.cutter(pool.survey.query),
            unread=unread,
            shows_all=pool.is_shown_whole,
            is_list=pool.is_list,
            best=best,
        )

    async def find_candidates(self, request: ContextRequest, tools: MemoryTools) -> Candidates:
        """Return the passages that may answer a query, with the texts of the best of them."""
        evidence = await gather_evidence(request, tools)
        pinned_paths = [path for path in await tools.pinned() if path not in tools.out_of_time]
        pinned_files = await tools.passages(evidence.query, pinned_paths) if pinned_paths else []
        available = request.budget - WRAPPER_CHARS
        first = [worth for file in pinned_files for worth in pinned_passages(file, available // 2)]
        worths, unread = split_by_value(
            evidence.scored_passages(min(WHOLE_CHARS, available // 3)),
            read_chars(available),
        )
        paths = list(dict.fromkeys(worth.reference.path for worth in worths))
        await tools.read_ahead(Reads(statements=entries_among(paths), rivals=paths))
        texts = iter(await tools.read([worth.reference for worth in (*first, *worths)]))
        return Candidates(
            evidence.query,
            [worth.candidate(text) for worth in first if (text := next(texts)).strip()],
            [worth.candidate(text) for worth in worths if (text := next(texts)).strip()],
            [worth.reference for worth in unread],
            evidence.similarity,
            evidence.is_of_days,
            tools.language,
            evidence.beside,
            evidence.near,
            evidence.first,
            paths,
        )

    def cutter(self, query: Query) -> Cut:
        """Return what gives the part of a text that says most to a query."""
        wanted = frozenset(query.lexemes)
        return lambda text, width: window(text, wanted, self.analyzer, width)

    async def plan_remember(self, request: RememberRequest, tools: MemoryTools) -> RememberPlan:
        """Return where the statements of a text belong, which memory holds already, and what none is."""
        reading = await read_text(request)
        if request.is_kept:
            reading = await own_statements(request.text, reading, tools)
        forgetting = ForgetPlan()
        if asked := find_forget_request(request.text):
            forgetting = await self.plan_forgetting(asked, request, tools)
            reading = stated_beside(reading, asked, forgetting, tools.analyzer)
        adds = await place_statements(
            reading.statements, request.project, request.day, tools, version=self.version
        )
        projects = {request.project, None}
        own_paths = frozenset(
            destination(kind, project).path for kind in STATEMENT_KINDS for project in projects
        )
        known: dict[Addition, KnownStatement] = {}
        correcting = correcting_spans(list(own_sentences(request.text)), request.text) if adds else {}
        changes = Changes(request.day, request.project, correcting)
        said = SaidTime(request.day, request.moment) if request.is_kept else None
        for place, add in enumerate(adds[:MAX_LOOKUPS]):
            about = await find_related(add, own_paths, tools, said)
            adds[place] = replace(add, path=about.home or add.path, links=about.links)
            if about.known:
                known[adds[place]] = about.known
            else:
                first_said = None if place else said
                adds[place] = await changes.take(adds[place], about, tools, first_said)
        for add in await find_replacements(adds, known, request.day, tools):
            known.pop(add, None)
        new = [add for add in adds if add not in known]
        unfiled = _unfiled(new, changes, request.project) if request.is_kept else set()
        kept = tuple(add for add in new if add not in unfiled)
        unsaid = {add.statement for add in unfiled}
        skipped = (SkippedSpan(statement.start, statement.end, "unfiled") for statement in unsaid)
        plan = RememberPlan(
            kept,
            tuple(known.values()),
            tuple(sorted((*reading.skipped, *skipped), key=lambda skip: skip.start)),
            removals=(*changes.removals, *forgetting.removals),
            rivals=tuple(changes.rivals),
            candidates=forgetting.candidates,
            fitting=forgetting.fitting,
            forgotten=forgetting.words,
            named=forgetting.named,
            overtaken=tuple(changes.overtaken),
        )
        return with_old_value(plan, asked, tools.analyzer) if asked else plan

    async def plan_forgetting(
        self, asked: ForgetRequest, request: RememberRequest, tools: MemoryTools
    ) -> ForgetPlan:
        """Return what a request to forget takes out; else the best lines of a context for it: they may be meant."""
        plan = await plan_forgetting(asked, request, tools)
        if plan.texts or plan.candidates or asked.is_everything or asked.is_bare:
            return plan
        query = f"{asked.topic} {asked.beside}"[:MAX_QUERY_CHARS]
        pool = await self.find_lines(ContextRequest(query, FORGET_CHARS, 0, request.day), tools)
        stated = [
            one
            for one in stated_by_lines(pool.lines, pool.survey.query, self.analyzer)
            if one.day <= request.day and not is_later(one.path, request.day, request.moment)
        ]
        return replace(plan, candidates=tuple(stated[:MAX_CANDIDATES]))


def _unfiled(adds: Iterable[Addition], changes: Changes, project: str | None) -> set[Addition]:
    """Return the additions that the journal alone keeps: of no sure kind, and changing nothing that is stored."""
    changing = {removal.statement for removal in changes.removals}
    return {
        add
        for add in adds
        if not (add.replaces or add.statement in changing or is_sure(add.statement, project))
    }


async def _rest(survey: Candidates, tools: MemoryTools) -> list[CandidatePassage]:
    """Return the files of a small memory to which no word of a question leads, those that changed last first."""
    known = {candidate.reference.path for candidate in (*survey.pinned, *survey.ranked)}
    listed = [
        file
        for prefix in ("", f"user/{FOLDER}/")
        for file in await tools.list_files(prefix, limit=SMALL_PASSAGES, of_project=True)
        if file.path not in known and file.size_chars <= WHOLE_CHARS
    ]
    references = [Reference(file.path, file.version, (0, file.size_chars)) for file in newest_first(listed)]
    texts = await tools.read(references) if references else []
    return [
        CandidatePassage(reference, text, 0, "recent")
        for reference, text in zip(references, texts, strict=True)
    ]


def _wrapper_chars(request: ContextRequest, judgement: Judgement) -> int:
    """Return how many characters of a budget the wrapper of a context needs."""
    is_weak = request.min_confidence is not None and judgement.band == "weak"
    return wrapper_chars(WEAK_SENTENCE if is_weak else SENTENCE)
