"""`memex eval states`, `freeze` and `capture`: fixed states of memory, and what they are made of."""

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from memex.cli.cases import NEEDED
from memex.cli.measuring import check_installed
from memex.cli.options import AsOf, Json
from memex.cli.output import Column, Screen, Shown, counted, present, reporting
from memex.cli.session import Session, for_tenant, for_user
from memex.errors import ValidationFailed

if TYPE_CHECKING:
    from memex.evals.redaction import Redactor

Redact = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Replacements of your own, besides addresses, numbers and keys: YAML."),
]
NoRedact = Annotated[bool, typer.Option("--no-redact", help="Leave every text as it is.")]


def states(
    *,
    seal: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Write the digest of this state's files into its manifest."),
    ] = None,
    as_json: Json = False,
) -> None:
    """List the states that Memex brings along, or seal one of your own."""
    with reporting(as_json=as_json):
        from memex.evals import states as kept

        if seal is not None:
            sha256 = kept.seal(seal)
            shown = Shown({"state": str(seal), "sha256": sha256}, lambda screen: screen.line(sha256))
        else:
            found = [kept.load_state(kept.find_state(name)) for name in kept.shipped()]
            rows = [
                (
                    state.manifest.name,
                    len(state.files),
                    ", ".join(state.manifest.users),
                    ", ".join(state.manifest.projects),
                    state.manifest.purpose,
                )
                for state in found
            ]
            documents = [
                state.manifest.model_dump(mode="json") | {"files": len(state.files)} for state in found
            ]
            shown = Shown({"states": documents}, lambda screen: _show(screen, rows))
    present(shown, as_json=as_json)


@for_tenant
async def freeze(
    session: Session,
    name: Annotated[str, typer.Argument(help="Of the state.")],
    to: Annotated[Path, typer.Option(metavar="DIR", help="A folder that is empty or not there yet.")],
    user: Annotated[list[str] | None, typer.Option(help="Whose memory; several may be named.")] = None,
    project: Annotated[list[str] | None, typer.Option(help="A project; several may be named.")] = None,
    shared: Annotated[bool, typer.Option("--shared/--no-shared", help="With or without shared/.")] = True,
    as_of: AsOf = None,
    purpose: Annotated[str, typer.Option(help="What the state is for, in one sentence.")] = "",
    redact: Redact = None,
    no_redact: NoRedact = False,
) -> Shown:
    """Make a fixed state of live memory, for cases.

    E-mail addresses, phone numbers, IP addresses and secrets are replaced by placeholders such as <email-1>, the
    same value by the same one. Read the state before you share it: names and what people say are left as they are.
    """
    from memex.evals import freezing
    from memex.store.tenants import find_tenant

    redactor = _redactor(redact, no_redact=no_redact)
    wanted = freezing.Wanted(
        name, user or ["me"], project or (), has_shared=shared, as_of=_moment(as_of), purpose=purpose
    )
    tenant_id = await find_tenant(session.service.database, session.tenant)
    state = await freezing.freeze(session.service, tenant_id, wanted, to, redactor)
    document = {"state": str(to), "files": len(state.files), "sha256": state.sha256, **_replaced(redactor)}
    return Shown(document, lambda screen: _show_frozen(screen, document))


@for_user
async def capture(
    session: Session,
    call: Annotated[str, typer.Argument(metavar="TOOL_CALL_ID", help="A context, or what was remembered.")],
    to: Annotated[Path, typer.Option(metavar="DIR", help="The folder that the case is put into.")],
    name: Annotated[str | None, typer.Option(help="Of the case; by default the call's id.")] = None,
    redact: Redact = None,
    no_redact: NoRedact = False,
) -> Shown:
    """Make a case of a call in the log, over the memory that it saw; the log keeps the call from then on.

    The case expects what the call returned. Edit that to what it should have returned.
    """
    check_installed(*NEEDED)
    from memex.evals import capturing

    redactor = _redactor(redact, no_redact=no_redact)
    captured = await capturing.capture(
        session.service,
        await session.caller(),
        call,
        to,
        name=re.sub(r"[^\w.-]+", "-", name or call),
        redactor=redactor,
    )
    document = {
        "case": str(captured.case),
        "state": str(captured.state.folder),
        "files": len(captured.state.files),
        "left_out": list(captured.left_out),
        **_replaced(redactor),
    }
    return Shown(document, lambda screen: _show_captured(screen, document))


def _moment(as_of: str | None) -> "dict[str, int] | str | None":
    """Return the moment that an option names, a time or a state."""
    if as_of is None or not as_of.lstrip().startswith("{"):
        return as_of
    import json

    try:
        state: dict[str, int] = json.loads(as_of)
    except ValueError:
        raise ValidationFailed(
            "--as-of is no JSON.", hint="Send a time, or the state of an answer."
        ) from None
    return state


def _redactor(path: Path | None, *, no_redact: bool) -> "Redactor":
    from memex.evals.redaction import Redactor, own_replacements

    if path and no_redact:
        raise ValidationFailed("--redact and --no-redact are at odds.", hint="Leave one of them out.")
    return Redactor(own_replacements(path), is_on=not no_redact)


def _replaced(redactor: "Redactor") -> dict[str, Any]:
    return {"replaced": dict(redactor.replaced), "values": redactor.values}


def _show_frozen(screen: Screen, document: dict[str, Any]) -> None:
    screen.line((document["state"], "bold"), f"  {counted(document['files'], 'file')}")
    _show_replaced(screen, document)
    screen.line(("Read it before you share it: names and what people say were left as they are.", "dim"))


def _show_captured(screen: Screen, document: dict[str, Any]) -> None:
    screen.line(
        (document["case"], "bold"), f"  over {document['state']}, {counted(document['files'], 'file')}"
    )
    _show_replaced(screen, document)
    for what in document["left_out"]:
        screen.line((f"Left out: {what}.", "yellow"))
    screen.line("It expects what the call returned. Next: correct expected_output, then run")
    screen.line((f"  memex eval run {document['case']}", "bold"))


def _show_replaced(screen: Screen, document: dict[str, Any]) -> None:
    for kind, count in sorted(document["replaced"].items()):
        values = counted(document["values"][kind], "value")
        screen.line(f"  {kind}: {values} replaced in {counted(count, 'place')}")


def _show(screen: Screen, rows: list[tuple[str, int, str, str, str]]) -> None:
    columns = [
        Column("state", "bold"),
        Column("files", align="right", whole=True),
        Column("users"),
        Column("projects"),
        Column("purpose", cut=True),
    ]
    screen.table(columns, rows)
