"""Screens that show pushed folders to a person."""

from typing import Any

from memex.cli.output import Column, Screen, format_count, numbers, program_name, show_embedded, times
from memex.mirror.reasons import REASONS
from memex.service.health.sizes import format_size

MAX_SHOWN = 10


def show_pushed(screen: Screen, report: dict[str, Any]) -> None:
    """Show what a push did."""
    counts = ", ".join(
        f"{report[name]:,} {name}" for name in ("created", "changed", "renamed", "removed") if report[name]
    )
    screen.line(
        (f"Pushed {_shown(report)}", "bold"),
        f": {counts or 'nothing changed'}; {format_count(report['documents'], 'document')}, "
        f"{format_count(report['passages'], 'passage')}, in {report['duration_s']:.1f} s.",
    )
    for file in report["refused"][:MAX_SHOWN]:
        screen.line(("refused ", "red"), (file["path"], "bold"), f": {file['message']} ({file['code']})")
    if report["refused_files"] > MAX_SHOWN:
        screen.line(f"and {report['refused_files'] - MAX_SHOWN:,} more: see --json")
    _show_left_out(screen, report)
    screen.line((f"Watch it with: {program_name()} docs watch", "dim"))


def show_dry_run(screen: Screen, document: dict[str, Any]) -> None:
    """Show what would be pushed, and what not."""
    for path in document["paths"]:
        screen.line(path)
    files, size = format_count(document["files"], "file"), format_size(document["size_bytes"])
    screen.line((f"Would push {files} ({size}) of {document['folder']} as {_shown(document)}.", "bold"))
    if document["files"] > len(document["paths"]):
        screen.line(f"Shown are the first {len(document['paths']):,}.")
    _show_left_out(screen, document)
    for example in document["examples"]:
        screen.line((f"  {example['path']}: {REASONS.get(example['reason'], example['reason'])}", "dim"))


def show_status(screen: Screen, document: dict[str, Any]) -> None:
    """Show the roots of a service, and where their folders are."""
    if document["roots"]:
        columns = [
            Column("root", "bold", whole=True, cell=_shown),
            Column("state", cell=_state),
            numbers("documents"),
            times("last sync", "completed_at"),
            Column("owner"),
            Column("folder", cut=True),
        ]
        screen.records(document["roots"], columns)
    for root in document["roots"]:
        if root["state"] == "syncing" and not root["watched"]:
            screen.line(
                (f"{_shown(root)}: a sync has not ended. ", "yellow"),
                (f"{program_name()} docs push goes on from there.", "dim"),
            )
        elif root["state"] == "removing":
            screen.line(
                (f"{_shown(root)} is being removed. ", "yellow"),
                (f"{program_name()} docs remove {root['root']} --yes goes on from there.", "dim"),
            )
        if root["left_out"]:
            screen.line((f"{_shown(root)} left out: {_counted(root['left_out'])}", "dim"))
    if document["roots"]:
        show_embedded(screen, document["vectors"])
    for root in document["not_pushed"]:
        screen.line(f"{_shown(root)}: noted here, but not in this Memex ({root['folder']}).")
    if not document["roots"] and not document["not_pushed"]:
        screen.line(_nothing_pushed())


def show_asked(screen: Screen, asked: dict[str, Any]) -> None:
    """Show which roots were asked for a sync, and which nobody watches."""
    for name in asked["asked"]:
        screen.line((_shown(asked | {"root": name}), "bold"), ": asked; it is compared within seconds.")
    for name in asked["not_watched"]:
        screen.line((_shown(asked | {"root": name}), "bold"), ": no machine watches it now.")
        options = f"--name {name}" + (f" --project {asked['project']}" if asked["project"] else "")
        screen.line((f"Run this where the files are: {program_name()} docs push FOLDER {options}", "dim"))
    if not asked["asked"] and not asked["not_watched"]:
        screen.line(_nothing_pushed())


def _nothing_pushed() -> str:
    return f"No documents were pushed. Push a folder: {program_name()} docs push ROOT --project P"


def show_removed(screen: Screen, removed: dict[str, Any]) -> None:
    """Show what was removed, or would be."""
    documents = format_count(removed["documents"], "document")
    counted = f"{documents} with {format_count(removed['passages'], 'passage')}"
    did = "Would remove" if removed["dry_run"] else "Removed"
    screen.line((f"{did} {_shown(removed)}", "bold"), f": {counted}. The files of the folder stay.")
    if removed["dry_run"]:
        screen.line(("Do it with --yes.", "dim"))


def _state(one: dict[str, Any]) -> tuple[str, str]:
    if one["watched"]:
        return "watched", "green"
    return one["state"], "" if one["state"] == "complete" else "yellow"


def _show_left_out(screen: Screen, document: dict[str, Any]) -> None:
    if document["left_out"]:
        screen.line((f"Left out: {_counted(document['left_out'])}", "dim"))


def _counted(counts: dict[str, int]) -> str:
    return ", ".join(f"{REASONS.get(reason, reason)} ({count:,})" for reason, count in counts.items())


def _shown(named: dict[str, Any]) -> str:
    return f"{named['project']}/{named['root']}" if named["project"] else str(named["root"])
