"""The gate: questions are asked of a copy of the mount before and after, so that recall does not get worse."""

import copy
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from statistics import median

from memex.call_context import CallContext
from memex.errors import Conflict, MemexError
from memex.service.call import Caller
from memex.service.chunk_embedding import backfill
from memex.service.dreams import deciding
from memex.service.dreams.results import GateFigures, GateResult
from memex.service.identity.rate_limits import RateLimits
from memex.service.planners import builtin_planners
from memex.service.recording import Recorder
from memex.service.service import Service
from memex.service.tools.context import DEFAULT_BUDGET
from memex.service.tools.registry import new_metrics
from memex.store.access import Access
from memex.store.dreams.questions import copy_states, read_questions
from memex.store.identity import authentication
from memex.store.identity.authentication import Principal
from memex.store.memory import Memory
from memex.store.upkeep.restore import read_scopes, restore
from memex.store.upkeep.throwaway import throwaway_tenant
from memex.store.waiting.time_limits import UPKEEP
from memex.subagent.context.assembly import SENTENCE, WEAK_SENTENCE
from memex.subagent.dream.edits import EditChange, Group
from memex.subagent.dream.pages import MountState
from memex.subagent.dream.verify import core
from memex.telemetry import Tracing

MAX_QUESTIONS = 50  # of the log
MAX_OWN_QUESTIONS = 50  # statements that edits touch, each asked as a question of itself
MAX_OWN_CHARS = 500  # of such a question
MIN_REAL_QUESTIONS = 20  # with fewer, nothing is applied by itself
RECENT = timedelta(days=90)
KEPT_SHARE = 0.99
EDGE = 4  # a line of a context counts if it also stands in one of a quarter of the characters
MAX_GROWTH = 0.02
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+")
SHORT_CONTEXT = 2_000  # characters; of a shorter one the growth is counted as if it had so many
SENTENCES = (SENTENCE, WEAK_SENTENCE)
MAX_ROUNDS = 6  # in which groups are taken out

_HEAD = re.compile(r"\[[0-9a-z]{4}\] |</?memory-|#{1,6} ")  # what says where statements stand

# Of each question: the characters of the context, and the cores of its lines.
Contexts = list[tuple[int, list[str]]]


@dataclass(frozen=True, slots=True)
class _Compared:
    kept_share: float
    emptied: int
    growth: float
    lost: tuple[str, ...]

    @property
    def passes(self) -> bool:
        return self.kept_share >= KEPT_SHARE and not self.emptied and self.growth <= MAX_GROWTH

    def figures(self) -> GateFigures:
        """Return the figures, rounded."""
        return GateFigures(
            kept_share=round(self.kept_share, 4), emptied=self.emptied, growth=round(self.growth, 4)
        )


async def hold_against_questions(
    service: Service, caller: Caller, state: MountState, groups: Sequence[Group], now: datetime
) -> GateResult:
    """Return whether contexts keep what they say when groups are applied, and which were taken out for that.

    The questions are not in the answer: others may have asked them.
    """
    access = caller.access
    scope = access.scope_at(state.mount)
    asked = await read_questions(service.database, access, scope, now - RECENT, limit=MAX_QUESTIONS)
    own = list(_own_questions(groups))[:MAX_OWN_QUESTIONS]
    questions = list(dict.fromkeys([*(query for query, _ in asked), *own]))
    counts = {
        "real_questions": len(asked),
        "own_questions": len(own),
        "cases": sum(is_case for _, is_case in asked),
    }
    twins = _twins(state, groups)
    asked_queries = {query for query, _ in asked}
    grows = [question in asked_queries or question not in _added(groups) for question in questions]
    async with throwaway_tenant(service.database) as tenant_id:
        quiet = _quiet(service)
        dreamer = await _copied(service, access, state, tenant_id)
        await _embed(
            quiet, dreamer
        )  # what was written a moment ago, else it counts as found anew behind the edits
        before = _above_edge(
            await _ask(quiet, dreamer, questions, now),
            await _ask(quiet, dreamer, questions, now, budget=DEFAULT_BUDGET // EDGE),
        )
        applied: dict[int, Group] = {}
        held: list[int] = []
        for part, group in enumerate(groups, start=1):
            if await _try(quiet, dreamer, part, group, now):
                applied[part] = group
            else:
                held.append(part)
        await _embed(quiet, dreamer)
        compared = _compare(questions, before, await _ask(quiet, dreamer, questions, now), twins, grows)
        with_held = compared.figures()
        for _ in range(MAX_ROUNDS):
            if compared.passes or not applied:
                break
            costly = _costliest(applied, compared.lost)
            for part in costly:
                with suppress(Conflict):
                    await quiet.revert(dreamer, deciding.call_id_of("gate", part))
                held.append(part)
                del applied[part]
            await _embed(quiet, dreamer)
            compared = _compare(questions, before, await _ask(quiet, dreamer, questions, now), twins, grows)
    if not compared.passes:
        held = list(range(1, len(groups) + 1))
    return GateResult(
        passed=compared.passes,
        **counts,
        **dict(compared.figures()),
        held=sorted(held),
        with_held=with_held,
    )


def _own_questions(groups: Sequence[Group]) -> list[str]:
    """Return the statements that edits touch, as questions."""
    found = [
        _own_question(change)
        for group in groups
        for edit in group
        for change in edit.changes
        if change.does in ("line", "need", "file")
    ]
    return [item for item in dict.fromkeys(found) if item]


def _added(groups: Sequence[Group]) -> set[str]:
    """Return the statements that no page held, as questions: their contexts have to grow."""
    changes = [change for group in groups for edit in group for change in edit.changes]
    return {_own_question(change) for change in changes if change.does == "file"}


def _own_question(change: EditChange) -> str:
    return core(change.old or change.new or "")[:MAX_OWN_CHARS]


def _twins(state: MountState, groups: Sequence[Group]) -> dict[str, str]:
    """Return what is said in the place of what goes, by the words of lines."""
    by_reference = {line.reference: line for line in state.lines}
    twins = {}
    for edit in (edit for group in groups for edit in group):
        merged = next((change.new for change in edit.changes if edit.kind == "merge" and change.new), None)
        for gone, kept in zip(edit.removed, edit.kept, strict=False):
            if gone in by_reference and (merged or kept in by_reference):
                twins[core(by_reference[gone].raw)] = core(merged or by_reference[kept].raw)
    return twins


def _quiet(service: Service) -> Service:
    """Return the service as it answers by rules alone, counted nowhere: no model is asked, nothing is limited."""
    quiet = copy.copy(service)
    quiet.planners = builtin_planners()
    quiet.rate_limits = RateLimits()
    quiet.metrics = new_metrics()
    quiet.recorder = Recorder(service.database, quiet.metrics, Tracing())
    return quiet


async def _copied(service: Service, access: Access, state: MountState, tenant_id: int) -> Caller:
    """Copy the mount into a throw-away tenant as it stands, and return who may ask and write there."""
    database, scope = service.database, access.scope_at(state.mount)
    async with database.transaction(access, snapshot=True, limits=UPKEEP) as connection:
        now = await Memory(connection, access).state([scope])
        scopes = await read_scopes(connection, access, [now])
    await restore(database, tenant_id, scopes)
    is_own = state.mount == "user"
    principal = Principal(tenant_id, "agent" if is_own else "admin")
    context = CallContext(user_id=access.user_id if is_own else None, project=state.project)
    dreamer = Caller(principal, await authentication.resolve(database, principal, context))
    await copy_states(database, scope, dreamer.access.scope_at(state.mount), tenant_id)
    return dreamer


async def _try(service: Service, dreamer: Caller, part: int, group: Group, now: datetime) -> bool:
    """Apply a group in the copy; return whether it fits."""
    try:
        scope = dreamer.access.scopes[0]
        await deciding.commit_group(service, dreamer, "gate", part, group, scope, now, is_kept=False)
    except MemexError:
        return False
    return True


async def _embed(service: Service, dreamer: Caller) -> None:
    """Embed what the copy has no vectors of: without them it would be found by its words alone."""
    if service.embedder is not None:
        scopes = [scope.scope_id for scope in dreamer.access.scopes]
        await backfill(service.database, service.embedder, scope_ids=scopes)


async def _ask(
    service: Service,
    dreamer: Caller,
    questions: Sequence[str],
    now: datetime,
    *,
    budget: int = DEFAULT_BUDGET,
) -> Contexts:
    asked = []
    for question in questions:
        given = {"query": question, "project": dreamer.access.project, "budget": budget}
        answer = await service.execute(dreamer, "memory_context", given, now=now)
        context = answer["context"].removeprefix("\n").splitlines()
        lines = [line for line in context if line not in SENTENCES and not _HEAD.match(line)]
        asked.append((sum(map(len, lines)), [said for line in lines if (said := core(line))]))
    return asked


def _above_edge(full: Contexts, small: Contexts) -> Contexts:
    """Return contexts without the lines that smaller ones of the same questions do not have.

    At the edge of a full context lines change places whenever anything is written, or the budget is another one.
    """
    return [
        (chars, [line for line in lines if _is_said(line, " ".join(strong))])
        for (chars, lines), (_, strong) in zip(full, small, strict=True)
    ]


def _compare(
    questions: Sequence[str],
    before: Contexts,
    after: Contexts,
    twins: Mapping[str, str],
    grows: Sequence[bool],
) -> _Compared:
    """Compare contexts; `grows` says which of them count for the growth.

    A statement that is asked as a question of itself has lost all when it does not answer any more.
    """
    stood = kept = emptied = 0
    lost: list[str] = []
    growths: list[float] = []
    for question, (old_chars, old), (new_chars, new), is_counted in zip(
        questions, before, after, grows, strict=True
    ):
        now = " ".join(new)
        missing = [line for line in old if not _is_said(line, now) and twins.get(line, line) not in now]
        stood += len(old)
        kept += len(old) - len(missing)
        lost += missing
        emptied += (old_chars > 0 and not new) or any(line[:MAX_OWN_CHARS] == question for line in missing)
        if is_counted:
            growths.append((new_chars - old_chars) / max(old_chars, SHORT_CONTEXT))
    share = kept / stood if stood else 1.0
    return _Compared(share, emptied, max(0.0, median(growths or [0.0])), tuple(lost))


def _is_said(line: str, context: str) -> bool:
    """Return whether a context says each sentence of a line, in one line or in several."""
    return line in context or all(sentence in context for sentence in _SENTENCE_END.split(line))


def _costliest(applied: Mapping[int, Group], lost: Sequence[str]) -> list[int]:
    """Return the groups that most of what was lost stands beside; in doubt the last ones, which matter least."""
    gone = set(lost)

    def cost(part: int) -> int:
        return sum(
            core(change.old or change.new or "") in gone for edit in applied[part] for change in edit.changes
        )

    ranked = sorted(applied, key=lambda part: (-cost(part), -part))
    worst = cost(ranked[0])
    if worst:
        return [part for part in ranked if cost(part) == worst]
    return ranked[: max(1, len(ranked) // 2)]
