"""The kinds that patterns are sure of: those that were right on turns of writers who did not know them. Pure."""

import re

from memex.subagent.statements.extraction import rule_verdict
from memex.subagent.work.classifier.clauses import Clause
from memex.subagent.work.records import WorkKind
from memex.subagent.work.rules import WorkRules

_MAKES_SURE = re.compile(r"\b(?:make|be|making) sure\b|\bensure\b", re.IGNORECASE)
_STATEMENT_KINDS: frozenset[WorkKind] = frozenset({"objective", "definition_of_done"})


def pattern_kind(clause: Clause, rules: WorkRules) -> WorkKind | None:
    """Return what a pattern takes a clause for; None if none fits.

    Of the rules of statements, those on goals and on what counts as done are tried on people's clauses too.
    """
    other = clause.head if clause.head != clause.plain else None
    for rule in rules.rules:
        if rule.who not in (None, clause.who):
            continue
        if rule.match.match(clause.plain) is None and (other is None or rule.match.match(other) is None):
            continue
        if clause.is_unreal and rule.kind != "user_request":
            continue
        if not clause.is_question or rule.kind in {"user_request", "objective"}:
            return rule.kind
    if clause.who == "agent" or clause.is_question or clause.is_unreal:
        return None
    verdict = rule_verdict(clause.text)
    if verdict == "objective" and (clause.is_item or _MAKES_SURE.search(clause.plain)):
        return None
    return next((kind for kind in _STATEMENT_KINDS if kind == verdict), None)
