"""The evidence that work is done: commands that a client reports as succeeded, and commits. Pure."""

import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import cache
from typing import Any

from memex.subagent.work.records import ToolEvent
from memex.tables import load_tables

_MAX_COMMAND_CHARS = 2_000
_TEST_POINT = re.compile(
    r"^(?:(?:all|the|our|existing|unit) ){0,3}(?:tests?|test suite|suite)(?: (?:still|all))? "
    r"(?:pass|passes|(?:are|is) (?:green|passing)|succeed|succeeds|run|laufen durch|sind grün)\b.{0,20}$"
    r"|^(?:(?:alle|die) ){0,2}tests (?:laufen(?: durch)?|sind grün)$",
    re.IGNORECASE,
)
_BUILD_POINT = re.compile(
    r"^(?:(?:the|our|it) ?){0,2}(?:build (?:is green|passes|succeeds|works)"
    r"|(?:project |code |it )?(?:builds|compiles))\b.{0,20}$",
    re.IGNORECASE,
)


_QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"")
_REDIRECTED = re.compile(r"\d?>&\d?|&>")
_STOPS = re.compile(r"\bset -\w{0,8}e")  # the shell ends at the first command that fails
_ONLY_TELLS = re.compile(
    r"\s(?:--help|--version|--collect-only|--co|--dry-run|--list|--listTests|--no-run)(?=\s|$)|\bmake -n\b"
)


def proves(event: ToolEvent) -> str | None:
    """Return what a tool event proves: `test`, `build` or `commit`; None if it proves nothing."""
    if event.succeeded is False:
        return None
    if event.kind == "commit":
        return "commit"
    command = event.command[:_MAX_COMMAND_CHARS]
    patterns = _load()
    if event.kind != "command" or not event.succeeded or patterns["harmless"].match(command):
        return None
    return next((kind for kind in ("commit", "test", "build") if _decides(patterns[kind], command)), None)


def _decides(pattern: re.Pattern[str], command: str) -> bool:
    """Return whether the success of a command line is that of a command which a pattern names, and which ran.

    That of `pytest | tail`, `pytest; echo ok` or `pytest || true` is the success of the last command.
    """
    for match in pattern.finditer(command):
        before = command[: match.start()].rstrip()
        is_alternative = before.endswith("||") or (before.endswith("|") and match[0].startswith("|"))
        rest = _REDIRECTED.sub(" ", _QUOTED.sub(" ", command[match.end() :])).rstrip(" \t\r\n;")
        own = match[0] + rest.partition("&&")[0]
        if not is_alternative and not _ONLY_TELLS.search(own) and not _is_hidden(rest, command):
            return True
    return False


def _is_hidden(rest: str, command: str) -> bool:
    """Return whether what follows a command may succeed though the command failed."""
    rest = rest.replace("&&", " ")
    if "&" in rest or "||" in rest:
        return True
    is_piped, is_followed = "|" in rest, ";" in rest or "\n" in rest
    return (is_piped and "pipefail" not in command) or (is_followed and not _STOPS.search(command))


def last_change(events: Sequence[ToolEvent]) -> datetime | None:
    """Return when files were changed last, as far as clients report it."""
    edits = (event for event in events if event.changed_paths and event.succeeded is not False)
    return max((edit.at for edit in edits), default=None)


def newest_proof(events: Sequence[ToolEvent], *, kinds: frozenset[str] | None = None) -> ToolEvent | None:
    """Return the newest event since the last change that proves something of these kinds."""
    since = last_change(events)
    failed: set[str] = set()
    for event in sorted(events, key=lambda event: event.at, reverse=True):
        if since is not None and event.at < since:
            return None
        proof = proves(event)
        if proof is None and event.succeeded is False and event.command:
            failed.add(event.command)
        elif proof is not None and event.command not in failed and (kinds is None or proof in kinds):
            return event
    return None


def newest_proofs(events: Sequence[ToolEvent]) -> tuple[ToolEvent, ...]:
    """Return the newest test, the newest build and the newest commit since the last change."""
    found = (newest_proof(events, kinds=frozenset({kind})) for kind in ("test", "build", "commit"))
    return tuple(dict.fromkeys(proof for proof in found if proof is not None))


def repaired_after(at: datetime, events: Sequence[ToolEvent]) -> ToolEvent | None:
    """Return the newest run of a test command that had failed before a moment, and succeeds now."""
    failed = {event.command for event in events if event.succeeded is False and event.at <= at}
    runs = (event for event in events if event.at > at and event.command in failed)
    newest = {event.command: event for event in sorted(runs, key=lambda event: event.at)}
    return next((event for event in newest.values() if proves(event) == "test"), None)


def proven_by(point: str, events: Sequence[ToolEvent]) -> ToolEvent | None:
    """Return the event that proves a point of a definition of done: all tests pass, or it builds."""
    if _TEST_POINT.match(point):
        return newest_proof(events, kinds=frozenset({"test"}))
    if _BUILD_POINT.match(point):
        return newest_proof(events, kinds=frozenset({"build", "test"}))
    return None


@cache
def _load() -> Mapping[str, re.Pattern[str]]:
    tables: dict[str, Any] = load_tables("memex.subagent.work", "rules", "commands.yaml")
    runner = "|".join(tables["runners"])
    proving = {
        kind: re.compile(rf"(?:{runner})(?:{'|'.join(tables[kind])})(?![\w.-])")
        for kind in ("test", "build", "commit")
    }
    return proving | {"harmless": re.compile(tables["harmless"])}
