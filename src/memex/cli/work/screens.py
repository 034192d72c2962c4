"""Output of the commands about work for people."""

from collections.abc import Collection
from typing import Any

from memex.cli.output import Screen, format_count, format_time, shorten
from memex.cli.session.session import CommandSession

MAX_DONE = 5
MAX_TEXT = 200

REASONS = {
    "pending_open": "work is open",
    "blockers_open": "something is in the way",
    "dod_incomplete": "a point of the definition of done is not met",
    "missing_evidence": "nothing proves it: no successful test, build or commit since the last change, and no word "
    "of a person",
    "closure_mismatch": "somebody says that all is done, and it is not",
}
MORE = "or drop, keep, pin, leave-out, archive, end"
NOTHING = (
    "No session says anything about work here. Import transcripts with `memex conversations ingest PATH`."
)

Item = dict[str, Any]


def show_work(screen: Screen, found: dict[str, Any], session: CommandSession) -> None:
    """Print where work stands."""
    parts = (
        *("objective", "constraints", "decisions", "definition_of_done", "open", "blockers"),
        *("done", "archived", "ended", "reads_from"),
    )
    if not any(found[name] for name in parts):
        screen.line((NOTHING, "dim"))
        return
    if found["objective"]:
        _section(screen, "Objective", [found["objective"]])
    _section(screen, "Constraints", found["constraints"])
    _section(screen, "Decisions", found["decisions"])
    _points(screen, found["definition_of_done"])
    _section(screen, "Open", found["open"])
    _section(screen, "In the way", found["blockers"])
    _section(screen, "Done lately", found["done"][:MAX_DONE])
    _section(screen, "Archived", found["archived"])
    _section(screen, "Ended", found["ended"][:MAX_DONE])
    _read(screen, found["reads_from"])
    if found["captured_until"]:
        screen.line((f"Until {format_time(found['captured_until'])[:16]}; state {found['state']}", "dim"))
    if found["open"]:
        screen.line(("To decide: ", "dim"), f"{session.command('work', 'done', 'ID')} ({MORE})")


def show_open(screen: Screen, found: dict[str, Any], session: CommandSession) -> None:
    """Print what is open."""
    if not (found["open"] or found["blockers"]):
        screen.line("Nothing is open.")
        return
    left = {follow_up["id"] for follow_up in found["follow_ups"]}
    _section(screen, "Open", found["open"], left)
    _section(screen, "In the way", found["blockers"], left)
    screen.line(("To decide: ", "dim"), f"{session.command('work', 'done', 'ID')} ({MORE})")


def show_decisions(screen: Screen, found: dict[str, Any]) -> None:
    """Print decisions and constraints."""
    if not (found["decisions"] or found["constraints"]):
        screen.line("Nothing was decided.")
    _section(screen, "Decisions", found["decisions"])
    _section(screen, "Constraints", found["constraints"])
    _read(screen, found["reads_from"])


def show_check(screen: Screen, found: dict[str, Any]) -> None:
    """Print whether work is done, and why."""
    screen.line(("Done.", "bold green") if found["done"] else ("Not done.", "bold yellow"))
    for reason in found["reasons"]:
        screen.paragraph((f"  {reason}: ", "yellow"), REASONS[reason])
    if found["claim"]:
        screen.paragraph(("  claim: ", "dim"), f"{found['claim']['text']}  {found['claim']['reference']}")
    for evidence in found["evidence"]:
        screen.paragraph((f"  {evidence['kind']}: ", "green"), f"{evidence['text']}  {evidence['reference']}")
    _section(screen, "Open", found["open"])
    _section(screen, "In the way", found["blockers"])
    _points(screen, found["definition_of_done"])


def show_changes(screen: Screen, found: dict[str, Any]) -> None:
    """Print what changed."""
    if not found["is_changed"]:
        screen.line(f"Nothing changed since {format_time(found['since'])[:16]}.")
        return
    before, after = found["objective_before"], found["objective_after"]
    if after and (not before or before["id"] != after["id"]):
        _section(screen, "New objective", [after])
    names = {
        "opened": "Opened",
        "blocked": "In the way now",
        "resolved": "Done",
        "dropped": "Dropped",
        "decided": "Decided",
        "superseded": "No longer holds",
        "constraints": "New constraints",
    }
    for name, title in names.items():
        _section(screen, title, found[name])


def show_rebuilt(screen: Screen, found: dict[str, Any]) -> None:
    """Print how much was read anew."""
    read = f"{format_count(found['sessions'], 'session')} read anew"
    screen.line(f"{read}: {format_count(found['observations'], 'observation')}.")


def _read(screen: Screen, projects: list[Item]) -> None:
    for project in projects:
        _section(screen, f"Constraints of the project {project['project']}", project["constraints"])
        _section(screen, f"Decisions of the project {project['project']}", project["decisions"])


def show_health(screen: Screen, found: dict[str, Any], repair: str) -> None:
    """Print the health of work, the command that would repair it, and the policies."""
    for title, name in (("Said twice", "duplicates"), ("Contradictions", "contradictions")):
        for pair in found[name]:
            screen.line((f"{title}: ", "bold"), shorten(pair["kept"]["text"], MAX_TEXT))
            screen.line((f"  {pair['other']['id']}  ", "cyan"), shorten(pair["other"]["text"], MAX_TEXT))
    _section(screen, "Not named for long", found["stale"])
    _points(screen, found["gaps"])
    if found["is_claimed_done"]:
        screen.line("Somebody says that all is done, and it is not.")
    if found["is_healthy"]:
        screen.line("Nothing needs repair.")
    for rule in found["policies"]:
        screen.line(("Policy: ", "dim"), rule)
    if found["repairs"]:
        screen.line(("To repair: ", "dim"), repair)


def _section(screen: Screen, title: str, items: list[Item], left: Collection[str] = ()) -> None:
    """Print items; `left` are the ids of those that the end of a session leaves."""
    if not items:
        return
    screen.line((title, "bold"), (f"  {format_count(len(items), 'item')}", "dim") if len(items) > 1 else "")
    for item in items:
        screen.paragraph((f"  {item['id']}  ", "cyan"), shorten(item["text"], MAX_TEXT))
        who = " · an agent says so" if item["who"] == "agent" else ""
        kept = " · left at the end of a session" if item["id"] in left else ""
        kept += " · kept" if item["is_kept"] else ""
        kept += " · pinned" if item["is_pinned"] else ""
        kept += " · left out of packs" if item["is_left_out"] else ""
        kept += "".join(f" · {tag}" for tag in item["tags"])
        kept += f" · until {item['ends_on']}" if item["ends_on"] else ""
        screen.line((f"              {item['reference']}{who}{kept}", "dim"))
    screen.line()


def _points(screen: Screen, points: list[Item]) -> None:
    if not points:
        return
    screen.line(("Definition of done", "bold"))
    for point in points:
        mark = ("  ✓ ", "green") if point["met_by"] else ("  · ", "yellow")
        screen.paragraph(mark, (f"{point['id']}  ", "cyan"), shorten(point["text"], MAX_TEXT))
        met_by = point["met_by"]
        by_hand = "" if met_by is None or "/" in met_by else "by hand, call "
        place = f"met: {by_hand}{met_by}" if met_by else f"{point['reference']} · not met"
        screen.line((f"                {place}", "dim"))
    screen.line()
