"""`memex dream`: what may be tidied, the proposals, and what becomes of them."""

from typing import Annotated, Any, Literal

import typer

from memex.cli.output import CommandOutput, Screen, format_count, format_time
from memex.cli.session.commands import user_command
from memex.cli.session.session import CommandSession

MountOption = Annotated[
    str | None,
    typer.Option("--mount", help="user, shared or projects/SLUG; by default that of --project or the user."),
]
ProposalId = Annotated[
    str, typer.Argument(metavar="ID", help="Of a proposal, as `memex dream list` shows it.")
]
Groups = Annotated[
    list[int] | None, typer.Argument(metavar="[GROUP]...", help="The numbers of groups; by default all.")
]
TITLES = {
    "duplicate": "said twice",
    "superseded": "a newer value",
    "task_done": "done elsewhere",
    "archive": "done long ago",
    "link": "a name without a link",
    "moved_link": "a link to a file that moved",
    "split": "a long page",
    "journal": "said, and in no page",
    "merge": "said in several ways",
    "contradiction": "may contradict each other",
    "said_again": "said on several days",
    "open_long": "open for long",
    "expired": "its day is over",
    "broken_link": "a link to no file",
    "look_alike": "names that look alike",
    "orphan": "a page without links",
    "long_page": "a long page, left as it is",
}


@user_command
async def report(session: CommandSession, mount: MountOption = None) -> CommandOutput:
    """Show the health of a memory: what may be tidied, in counts with places. Nothing is written."""
    found = await session.call("dream_report", {"mount": mount})

    def show(screen: Screen) -> None:
        pages = format_count(found["pages"], "page")
        lines = format_count(found["statements"], "line")
        screen.line((f"{found['mount']}: {pages}, {lines} of lists", "bold"))
        if not found["counts"]:
            screen.line(("Nothing to tidy.", "dim"))
        for kind, count in found["counts"].items():
            screen.line(f"{count:>5}  ", TITLES[kind])
            for signal in [span for span in found["signals"] if span["kind"] == kind][:3]:
                said = signal["texts"][0] if signal["texts"] else signal["note"]
                screen.paragraph(("  ".join(signal["places"][:2]), "cyan"), f"  {said}", indent=7)

    return CommandOutput(found, show)


@user_command
async def run(
    session: CommandSession,
    mount: MountOption = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only show the proposal; nothing at all is written.")
    ] = False,
) -> CommandOutput:
    """Dream over a mount: propose edits that lose nothing. Nothing is applied."""
    done = await session.call("dream_run", {"mount": mount, "dry_run": dry_run})

    def show(screen: Screen) -> None:
        if done["proposal"] is None:
            screen.line(done["detail"] or "Nothing is proposed.")
            return
        if done["status"] == "waiting":
            screen.line(("This proposal waits for a decision, so no new one was made.", "yellow"))
        _show_proposal(screen, session, done["proposal"], is_kept=not dry_run)
        if done["left_out"]:
            screen.line((f"{format_count(done['left_out'], 'group')} more: the next dream has them.", "dim"))

    return CommandOutput(done, show)


@user_command
async def list_proposals(session: CommandSession) -> CommandOutput:
    """List the proposals, the newest first."""
    found = await session.call("dream_list", {})

    def show(screen: Screen) -> None:
        if not found["proposals"]:
            screen.line(("There is no proposal.", "dim"))
        for span in found["proposals"]:
            states = [group["state"] for group in span["groups"]]
            told = ", ".join(f"{states.count(state)} {state}" for state in dict.fromkeys(states))
            screen.line(
                (span["proposal_id"], "bold"),
                f"  {span['mount']}  {format_time(span['made_at'])}  {told or 'empty'}",
            )

    return CommandOutput(found, show)


@user_command
async def show(session: CommandSession, proposal_id: ProposalId) -> CommandOutput:
    """Show a proposal: what would change, why, and what it rests on."""
    found = await session.call("dream_show", {"proposal_id": proposal_id})
    return CommandOutput(found, lambda screen: _show_proposal(screen, session, found["proposal"]))


@user_command
async def apply(session: CommandSession, proposal_id: ProposalId, groups: Groups = None) -> CommandOutput:
    """Apply groups of a proposal, each in a commit of its own."""
    return await _decide(session, proposal_id, "apply", groups)


@user_command
async def reject(session: CommandSession, proposal_id: ProposalId, groups: Groups = None) -> CommandOutput:
    """Reject groups of a proposal: the same change of the same lines is not proposed again."""
    return await _decide(session, proposal_id, "reject", groups)


@user_command
async def revert(session: CommandSession, proposal_id: ProposalId, groups: Groups = None) -> CommandOutput:
    """Take back groups that were applied: the files have the same bytes as before."""
    return await _decide(session, proposal_id, "revert", groups)


@user_command
async def mode(
    session: CommandSession,
    choice: Annotated[
        Literal["off", "propose", "auto"] | None,
        typer.Argument(
            metavar="[off|propose|auto]",
            help="off: no dream begins by itself. propose: dreams only propose. auto: edits of the kinds of --kind "
            "are applied as well. Without it, show what is chosen.",
        ),
    ] = None,
    kind: Annotated[
        list[str] | None,
        typer.Option("--kind", help="What auto applies: duplicate, moved_link, archive. Can be given again."),
    ] = None,
    mount: MountOption = None,
) -> CommandOutput:
    """Choose whether dreams begin by themselves, and who decides about what they propose."""
    given = {"mount": mount, "mode": choice, "auto_kinds": kind or None}
    return _show_choices(await session.call("dream_choose", given))


@user_command
async def pause(
    session: CommandSession,
    days: Annotated[int, typer.Option(help="For how many days; 0 ends a pause.")] = 7,
    mount: MountOption = None,
) -> CommandOutput:
    """Let no dream begin by itself for some days."""
    return _show_choices(await session.call("dream_choose", {"mount": mount, "pause_days": days}))


async def _decide(
    session: CommandSession, proposal_id: str, decision: str, groups: list[int] | None
) -> CommandOutput:
    given = {"proposal_id": proposal_id, "decision": decision, "groups": groups or None}
    done = await session.call("dream_decide", given)

    def show(screen: Screen) -> None:
        if not done["groups"]:
            screen.line(("There is nothing to decide about.", "dim"))
        for span in done["groups"]:
            screen.line(
                f"Group {span['group']}: ", (span["state"], "bold"), f"  {span['detail'] or ''}".rstrip()
            )
        if any(active_span["state"] == "applied" for active_span in done["groups"]):
            screen.line(("To undo: ", "dim"), session.command("dream", "revert", proposal_id))

    return CommandOutput(done, show)


def _show_choices(found: dict[str, Any]) -> CommandOutput:
    def show(screen: Screen) -> None:
        for mount in found["mounts"]:
            kinds = (
                f": {', '.join(mount['auto_kinds'])}"
                if mount["mode"] == "auto" and mount["auto_kinds"]
                else ""
            )
            until = f", paused until {format_time(mount['paused_until'])}" if mount["paused_until"] else ""
            screen.line((mount["mount"], "bold"), f"  {mount['mode']}{kinds}{until}")

    return CommandOutput(found, show)


def _show_proposal(
    screen: Screen, session: CommandSession, proposal: dict[str, Any], *, is_kept: bool = True
) -> None:
    screen.line((proposal["proposal_id"], "bold"), f"  {proposal['mount']}  {proposal['state']}")
    if gate := proposal["gate"]:
        asked = gate["real_questions"] + gate["own_questions"]
        verdict = "passed" if gate["passed"] else "did not pass"
        screen.line(
            f"Asked {format_count(asked, 'question')} before and after, {gate['real_questions']} of them real: "
            f"{verdict}; contexts keep {gate['kept_share']:.1%} of their lines."
        )
        if gate["held"] and (whole := gate["with_held"]):
            screen.line(
                f"With the groups that are held: contexts keep {whole['kept_share']:.1%}, "
                f"{format_count(whole['emptied'], 'question')} lost all, growth {whole['growth']:.1%}."
            )
    for group in proposal["groups"]:
        screen.line()
        title = TITLES[group["kind"]]
        screen.line((f"Group {group['group']}: {title}", "bold"), f"  [{group['state']}]")
        screen.paragraph(group["why"])
        for gone, kept in zip(group["removed"], group["kept"], strict=False):
            screen.paragraph(("goes ", "dim"), gone, ("  stays ", "dim"), kept)
        if not group["removed"] and group["kept"]:
            screen.paragraph(("rests on ", "dim"), ", ".join(group["kept"]))
        for edit in group["edits"]:
            screen.diff(edit["diff"])
    if proposal["listed"]:
        screen.line()
        screen.line(("Not changed, only listed:", "bold"))
        for signal in proposal["listed"]:
            places = "  ".join(signal["places"])
            screen.paragraph(
                f"{TITLES.get(signal['kind'], signal['kind'])}: ", (places, "cyan"), f"  {signal['note']}"
            )
    open_ = [str(group["group"]) for group in proposal["groups"] if is_kept and group["state"] == "open"]
    if open_:
        screen.line()
        for title, decision in (("To apply: ", "apply"), ("To reject: ", "reject")):
            screen.line((title, "dim"), session.command("dream", decision, proposal["proposal_id"], *open_))
