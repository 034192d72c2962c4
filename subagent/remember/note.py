"""The note of an answer: what contradicts, what was forgotten, and what the caller can do about it. Pure."""

from collections.abc import Sequence

from memex.subagent.planner import RememberPlan, Rivalry
from memex.subagent.remember.forgetting import MAX_CANDIDATES, MAX_NAMED
from memex.subagent.remember.stage import FileOutcome
from memex.subagent.statements.bullets import parse_bullet
from memex.subagent.statements.days.dating import without_dates
from memex.subagent.statements.paraphrase import paraphrase_form
from memex.subagent.statements.secrets.finding import PLACEHOLDER
from memex.subagent.statements.secrets.statement import names_secret

RIVALS = (
    "A stored statement probably contradicts a new one; both stay, and contexts mark the older one. "
    "If the older one no longer holds, call memory_remember with its handle in `outdated`; "
    "if both hold, nothing has to be done."
)
CANDIDATES = (
    "Nothing {was} taken out, because it is not clear which statement is meant. "
    "Call memory_remember with the handles of those that are meant in `outdated`."
)
_FITTING = " {count} statements fit; `candidates` has the first of them."
_UNKNOWN = (
    "Nothing {was} taken out, because the request names no statement that is stored. "
    "Ask again in the words of the statement; a request to forget everything is never carried out: "
    "a person can have all memory of a user erased (`memex users erase`)."
)
WITHHELD = (
    "A part of the text says what was forgotten on request, and is not kept: it was said before the request, or is "
    "written with characters that disguise it. To have it again, say it anew in plain words, without `said_at`."
)
AGAIN = "The text says what was forgotten on request before; it is kept, and holds again."
UNRESOLVED = (
    "No stored statement has the handles in `unresolved`: nothing {was} taken out or confirmed for them. "
    "Only handles of an earlier answer count, while the statement stands as it did."
)
RECALLED = "What memory itself said before is not kept again."
_FORGOTTEN = (
    "{count} {was} taken out of memory, as the request asks. "
    "Earlier versions in the history still hold what was said, and `revert` of this call brings it back."
)
_NEVER_STORED = " A secret itself is never stored: memory holds at most a mark in its place."
_MORE = " If the `candidates` are meant too, call memory_remember with their handles in `outdated`."


def describe(
    text: str,
    plan: RememberPlan,
    done: Sequence[FileOutcome],
    rivals: Sequence[Rivalry],
    *,
    is_again: bool = False,
    is_unknown: bool = False,
    is_dry_run: bool,
) -> str | None:
    """Return the note; None where nothing of what it speaks about is so.

    Args:
        text: that was told, with marks in the places of secrets.
        plan: the plan that was carried out.
        done: the outcome of each file.
        rivals: those of the plan that still stand beside the new statement.
        is_again: the text says anew what was forgotten.
        is_unknown: a handle of the call names no stored statement.
        is_dry_run: nothing was written.
    """
    reasons = {skip.reason for skip in plan.skipped}
    if "forget" in reasons:
        secret = _NEVER_STORED if _is_about_secret(text, plan) else ""
        return f"{_forgetting(plan, done, is_dry_run=is_dry_run)}{secret}"
    if is_unknown:
        return UNRESOLVED.format(was="would be" if is_dry_run else "was")
    if "forgotten" in reasons:
        return WITHHELD
    if is_again:
        return AGAIN
    if rivals:
        return RIVALS
    return RECALLED if "recalled" in reasons else None


def standing_rivals(plan: RememberPlan, done: Sequence[FileOutcome]) -> list[Rivalry]:
    """Return the rivals whose older statement still stands; filing may have put the new one into its place."""
    changes = {file.change.path: file.change for file in done if file.change is not None}
    return [
        rival
        for rival in plan.rivals
        if rival.older.path not in changes or holds(changes[rival.older.path].new_content, rival.older.text)
    ]


def _forgetting(plan: RememberPlan, done: Sequence[FileOutcome], *, is_dry_run: bool) -> str:
    removed = [
        removal.part or removal.removes
        for file in done
        for removal, outcome in zip(file.removals, file.removed, strict=True)
        if outcome.action == "removed"
    ]
    told = {paraphrase_form(without_dates(statement.text)) for statement in plan.forgotten}
    count = len(removed) + len(told - {paraphrase_form(without_dates(text)) for text in removed})
    one = "would be" if is_dry_run else "was"
    if count:
        forgotten = _FORGOTTEN.format(
            count="1 statement" if count == 1 else f"{count} statements",
            was=one if count == 1 or is_dry_run else "were",
        )
        return f"{forgotten}{_MORE + _fitting(plan) if plan.candidates else ''}"
    return (CANDIDATES + _fitting(plan) if plan.candidates else _UNKNOWN).format(was=one)


def _is_about_secret(text: str, plan: RememberPlan) -> bool:
    """Tell whether a request to forget, or what it may mean, holds the mark of a secret or names one."""
    asked = [text[skip.start : skip.end] for skip in plan.skipped if skip.reason == "forget"]
    meant = [stored.text for stored in (*plan.candidates, *plan.forgotten)]
    meant += [removal.part or removal.removes for removal in plan.removals if removal.is_forgotten]
    return any(map(PLACEHOLDER.search, (*asked, *meant))) or any(
        names_secret(one.rstrip(" .!?")) for one in asked
    )


def _fitting(plan: RememberPlan) -> str:
    """Say how many statements fit a request to forget, if the answer lists a part of them."""
    count = f"More than {MAX_NAMED}" if plan.fitting > MAX_NAMED else plan.fitting
    return _FITTING.format(count=count) if plan.fitting > MAX_CANDIDATES else ""


def holds(content: str, text: str) -> bool:
    """Tell whether a line of a file makes a statement."""
    return any(parse_bullet(line) == text for line in content.splitlines())
