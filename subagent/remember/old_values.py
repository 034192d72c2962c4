"""Requests to forget what is old, beside what is new: `Forget my old address. I live at …`. Pure."""

from dataclasses import replace

from memex.store.entry_path import is_entry_at
from memex.store.search.analyzer import Analyzer
from memex.subagent.planner import FiledStatement, RememberPlan, Removal
from memex.subagent.statements.comparison.views import view
from memex.subagent.statements.extraction import Statement
from memex.subagent.statements.forgetting import ForgetRequest, is_about
from memex.subagent.statements.named import content_of


def with_old_value(plan: RememberPlan, request: ForgetRequest, analyzer: Analyzer) -> RememberPlan:
    """Return a plan that forgets what its text calls old and states anew: `Forget my old address. I live at …`.

    That is the one statement that a new statement of the text replaces or contradicts, if both are about the thing
    that the request names. What is replaced is no candidate.
    """
    gone = {(add.path, add.replaces) for add in plan.adds}
    gone |= {(removal.path, removal.removes) for removal in plan.removals}
    left = [candidate for candidate in plan.candidates if (candidate.path, candidate.text) not in gone]
    plan = replace(plan, candidates=tuple(left))
    if (
        not (request.is_past and request.is_addressed)
        or plan.forgotten
        or any(removal.is_forgotten for removal in plan.removals)
    ):
        return plan
    rivals = [
        *((rival.older, rival.statement) for rival in plan.rivals),
        *((overtaking.older, overtaking.statement) for overtaking in plan.overtaken),
    ]
    changed = [
        *((add.path, add.replaces, add.statement) for add in plan.adds if add.replaces and not add.keeps),
        *(
            (removal.path, removal.removes, removal.statement)
            for removal in plan.removals
            if not removal.keeps
        ),
        *((older.path, older.text, statement) for older, statement in rivals),
    ]
    old = {
        (path, text)
        for path, text, newer in changed
        if newer and is_about(request, (text, newer.text), analyzer)
    }
    given_up = () if old else _given_up(plan, request, analyzer)
    old = old or {(older.path, older.text) for older in given_up}
    if len(old) != 1:
        return plan
    [(path, text)] = old
    older_ones = (*given_up, *(older for older, _ in rivals))
    told = tuple(older for older in older_ones if (older.path, older.text) in old and is_entry_at(path))
    asked = Statement("note", request.text, request.start, request.end)
    page = () if told else (Removal(path, asked, text, is_forgotten=True),)
    return replace(
        plan,
        adds=tuple(replace(a, replaces=None) if (a.path, a.replaces) in old else a for a in plan.adds),
        removals=(*(gone for gone in plan.removals if (gone.path, gone.removes) not in old), *page),
        rivals=tuple(one for one in plan.rivals if (one.older.path, one.older.text) not in old),
        overtaken=tuple(one for one in plan.overtaken if (one.older.path, one.older.text) not in old),
        candidates=(),
        forgotten=told[:1],
    )


def _given_up(plan: RememberPlan, request: ForgetRequest, analyzer: Analyzer) -> tuple[FiledStatement, ...]:
    """Return the candidates that begin with the words of a request, if its text tells in others what holds now.

    `My address is …` gives way to `I live at … now`, and `My office address is …` does not.
    """
    now = [add.statement for add in plan.adds]
    if not any(view(one.text, one.kind, analyzer).is_change for one in now):
        return ()
    thing = content_of(request.topic.strip(" .,!")).casefold().split()
    return tuple(
        candidate
        for candidate in plan.candidates
        if thing
        and content_of(candidate.text).casefold().split()[: len(thing)] == thing
        and any(is_about(request, (candidate.text, one.text), analyzer) for one in now)
    )
