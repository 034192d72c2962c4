"""`memex eval states`, `freeze` and `capture`: fixed states of memory for test cases."""

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from memex.cli.eval.cases import NEEDED
from memex.cli.eval.output import check_installed
from memex.cli.options import AsOf
from memex.cli.output import Column, CommandOutput, Screen, format_count, numbers
from memex.cli.session.commands import plain_command, tenant_command, user_command
from memex.cli.session.session import CommandSession
from memex.errors import ValidationFailed

if TYPE_CHECKING:
    from memex.service.evals.redaction import Redactor

Redact = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="A YAML file with your own replacements, in addition to addresses, numbers and keys.",
    ),
]
NoRedact = Annotated[bool, typer.Option("--no-redact", help="Replace nothing in the texts.")]
STATES = [
    Column("state", "bold", cell="name"),
    numbers("files"),
    Column("users", cell=lambda state: ", ".join(state["users"])),
    Column("projects", cell=lambda state: ", ".join(state["projects"])),
    Column("purpose", cut=True),
]


@plain_command
def states(
    seal: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Write the digest of the files of this state into its manifest."),
    ] = None,
) -> CommandOutput:
    """List the states that come with Memex, or seal one of your own."""
    from memex.evals.fixtures.states import find_state, shipped_states
    from memex.service.evals import states as kept

    if seal is not None:
        sha256 = kept.seal(seal)
        return CommandOutput({"state": str(seal), "sha256": sha256}, lambda screen: screen.line(sha256))
    found = [kept.load_state(find_state(name)) for name in shipped_states()]
    documents = [state.manifest.model_dump(mode="json") | {"files": len(state.files)} for state in found]
    return CommandOutput({"states": documents}, lambda screen: screen.records(documents, STATES))


@tenant_command
async def freeze(
    session: CommandSession,
    name: Annotated[str, typer.Argument(help="The name of the state.")],
    to: Annotated[
        Path, typer.Option(metavar="DIR", help="The folder to write to; it must be empty or missing.")
    ],
    user: Annotated[
        list[str] | None,
        typer.Option(help="A user whose memory is included; give the option again for more users."),
    ] = None,
    project: Annotated[
        list[str] | None,
        typer.Option(help="A project that is included; give the option again for more projects."),
    ] = None,
    shared: Annotated[bool, typer.Option("--shared/--no-shared", help="Whether shared/ is included.")] = True,
    as_of: AsOf = None,
    purpose: Annotated[str, typer.Option(help="The purpose of the state, in one sentence.")] = "",
    redact: Redact = None,
    no_redact: NoRedact = False,
) -> CommandOutput:
    """Copy live memory into a fixed state for test cases.

    Memex replaces e-mail addresses, phone numbers, IP addresses and secrets by placeholders such as <email-1>, and
    equal values by the same placeholder. Read the state before you share it: names and what people say stay.
    """
    from memex.evals.fixtures import freeze
    from memex.store.identity.tenants import find_tenant

    redactor = _redactor(redact, no_redact=no_redact)
    wanted = freeze.FreezeRequest(
        name, user or ["me"], project or (), has_shared=shared, as_of=_moment(as_of), purpose=purpose
    )
    service = await session.local.service()
    tenant_id = await find_tenant(service.database, session.tenant)
    state = await freeze.freeze(service, tenant_id, wanted, to, redactor)
    document = {"state": str(to), "files": len(state.files), "sha256": state.sha256, **_replaced(redactor)}
    return CommandOutput(document, lambda screen: _show_frozen(screen, document))


@user_command
async def capture(
    session: CommandSession,
    call: Annotated[
        str,
        typer.Argument(metavar="TOOL_CALL_ID", help="The id of a memory_context or memory_remember call."),
    ],
    to: Annotated[Path, typer.Option(metavar="DIR", help="The folder to write the case to.")],
    name: Annotated[
        str | None, typer.Option(help="The name of the case; by default the id of the call.")
    ] = None,
    passage: Annotated[
        list[int] | None,
        typer.Option(
            min=1,
            help="Expect only this passage of the answer, counted from 1; give the option again for more.",
        ),
    ] = None,
    fact: Annotated[
        list[str] | None,
        typer.Option(help="Expect this text, which a file holds, too; give the option again for more."),
    ] = None,
    nothing: Annotated[bool, typer.Option("--nothing", help="Expect that nothing comes back.")] = False,
    redact: Redact = None,
    no_redact: NoRedact = False,
) -> CommandOutput:
    """Make a test case from a logged call, over the memory that the call saw.

    The case expects what the call returned, or what --passage, --fact and --nothing say. Edit the case to what the
    call should have returned. From then on the log keeps the call.
    """
    check_installed(*NEEDED)
    from memex.evals.fixtures import capture
    from memex.service.evals.call_cases import CaseChoice

    choice = CaseChoice.of(
        name=re.sub(r"[^\w.-]+", "-", name or call),
        spans=[number - 1 for number in passage] if passage else None,
        facts=fact or [],
        nothing=nothing,
    )

    redactor = _redactor(redact, no_redact=no_redact)
    service, caller = await session.local.caller(session.context)
    captured = await capture.capture(service, caller, call, to, choice, redactor)
    document = {
        "case": str(captured.case),
        "state": str(captured.state.folder),
        "files": len(captured.state.files),
        "left_out": list(captured.left_out),
        **_replaced(redactor),
    }
    return CommandOutput(document, lambda screen: _show_captured(screen, document))


def _moment(as_of: str | None) -> "dict[str, int] | str | None":
    """Return the moment that an option names: a time or a state."""
    if as_of is None or not as_of.lstrip().startswith("{"):
        return as_of
    import json

    try:
        state: dict[str, int] = json.loads(as_of)
    except ValueError:
        raise ValidationFailed(
            "--as-of is not valid JSON.", hint="Give a time, or the state of an answer."
        ) from None
    return state


def _redactor(path: Path | None, *, no_redact: bool) -> "Redactor":
    from memex.service.evals.redaction import Redactor, load_replacements

    if path and no_redact:
        raise ValidationFailed("--redact and --no-redact exclude each other.", hint="Leave out one of them.")
    return Redactor(load_replacements(path), is_on=not no_redact)


def _replaced(redactor: "Redactor") -> dict[str, Any]:
    return {"replaced": dict(redactor.replaced), "values": redactor.values}


def _show_frozen(screen: Screen, document: dict[str, Any]) -> None:
    screen.line((document["state"], "bold"), f"  {format_count(document['files'], 'file')}")
    _show_replaced(screen, document)
    screen.line(("Read the state before you share it: names and what people say were not replaced.", "dim"))


def _show_captured(screen: Screen, document: dict[str, Any]) -> None:
    screen.line(
        (document["case"], "bold"), f"  over {document['state']}, {format_count(document['files'], 'file')}"
    )
    _show_replaced(screen, document)
    for what in document["left_out"]:
        screen.line((f"Left out: {what}.", "yellow"))
    screen.line("The case expects what the call returned. Correct expected_output, then run")
    screen.line((f"  memex eval run {document['case']}", "bold"))


def _show_replaced(screen: Screen, document: dict[str, Any]) -> None:
    for kind, count in sorted(document["replaced"].items()):
        values = format_count(document["values"][kind], "value")
        screen.line(f"  {kind}: {values} replaced in {format_count(count, 'place')}")
