"""`memex setup`: add Memex to the configuration of the programs that run agents."""

import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from memex.cli.options import Json
from memex.cli.output import CommandOutput, Screen, print_output, program_name, report_errors
from memex.setup.names import NAMES, Scope, SetupProfile

if TYPE_CHECKING:
    from memex.setup.change import ConfigChange
    from memex.setup.clients import Client, Connection

UNCONFIRMED = 3  # the exit code if nobody confirmed the change

app = typer.Typer(no_args_is_help=True, help="Add Memex to the program that runs your agents.")

Print = Annotated[bool, typer.Option("--print", help="Only print the configuration; read and write no file.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Write without asking.")]
Undo = Annotated[bool, typer.Option("--undo", help="Restore the file as it was before.")]


def _register(name: str, title: str) -> None:
    @app.command(name, help=f"Add Memex to the configuration of {title}.")
    def client_setup(
        url: Annotated[
            str | None,
            typer.Option(help="The URL of a Memex service; without it the client starts Memex itself."),
        ] = None,
        key: Annotated[
            str | None,
            typer.Option(
                help="The key to write into the file. Without it the client reads MEMEX_API_KEY or asks."
            ),
        ] = None,
        profile: Annotated[
            SetupProfile,
            typer.Option(
                help="The tools to offer: agent (two tools), files (also the tools for files) or conversations "
                "(also the tools for imported conversations)."
            ),
        ] = "agent",
        user: Annotated[
            str | None, typer.Option(help="The user whose memory it is, if the key is not bound to a user.")
        ] = None,
        scope: Annotated[
            Scope | None,
            typer.Option(
                help="Configure the client for you (user), or for the project in the current folder."
            ),
        ] = None,
        only_print: Print = False,
        yes: Yes = False,
        undo: Undo = False,
        as_json: Json = False,
    ) -> None:
        with report_errors(as_json=as_json):
            from memex.setup.clients import CLIENTS

            client = CLIENTS[name]
            chosen = scope or client.default_scope
            path = client.file(chosen)
            if undo:
                shown = _undo(path)
            else:
                connection = _connection(url, key, profile, user, chosen)
                if only_print:
                    shown = _print_text(client.snippet(connection), path)
                else:
                    shown = _change_client(client, connection, path, yes=yes, as_json=as_json)
        print_output(shown, as_json=as_json)


for _name, _title in NAMES.items():
    _register(_name, _title)


@app.command("agents-md")
def agents_md(
    file: Annotated[Path | None, typer.Option(help="The file to write, such as CLAUDE.md.")] = None,
    client: Annotated[
        str | None, typer.Option(help="Write the file that this client reads, such as claude-code.")
    ] = None,
    scope: Annotated[
        Scope,
        typer.Option(help="Write it for the project in the current folder, or for all of yours (user)."),
    ] = "project",
    only_print: Print = False,
    yes: Yes = False,
    undo: Undo = False,
    as_json: Json = False,
) -> None:
    """Write instructions on using memory into AGENTS.md or CLAUDE.md, between two marks."""
    with report_errors(as_json=as_json):
        from memex.setup import guidance

        path = file or guidance.guidance_file(client, scope)
    _text(path, guidance.text, guidance.place_guidance, only_print, yes=yes, undo=undo, as_json=as_json)


@app.command()
def skill(
    file: Annotated[Path | None, typer.Option(help="The file of the skill.", show_default=False)] = None,
    scope: Annotated[
        Scope,
        typer.Option(help="Write it for the project in the current folder, or for all of yours (user)."),
    ] = "project",
    conversations: Annotated[
        bool,
        typer.Option(
            "--conversations", help="Write the skill for imported conversations: how to dig, read and cite."
        ),
    ] = False,
    only_print: Print = False,
    yes: Yes = False,
    undo: Undo = False,
    as_json: Json = False,
) -> None:
    """Write the same instructions as a skill, which an agent reads only when it needs them."""
    from memex.setup import guidance

    path = file or guidance.skill_file(scope, of_conversations=conversations)
    whole = guidance.conversations_skill if conversations else guidance.skill
    _text(path, whole, lambda _: whole(), only_print, yes=yes, undo=undo, as_json=as_json)


def _text(
    path: Path,
    whole: Callable[[], str],
    placed: Callable[[str], str],
    only_print: bool,
    *,
    yes: bool,
    undo: bool,
    as_json: bool,
) -> None:
    with report_errors(as_json=as_json):
        from memex.setup import change

        if undo:
            shown = _undo(path)
        elif only_print:
            shown = _print_text(whole(), path)
        else:
            before = change.read(path)
            after = placed((before or b"").decode()).encode()
            shown = _apply(change.ConfigChange(path, before, after), yes=yes, as_json=as_json)
    print_output(shown, as_json=as_json)


def _connection(
    url: str | None, key: str | None, profile: "SetupProfile", user: str | None, scope: "Scope"
) -> "Connection":
    from memex.errors import ValidationFailed
    from memex.setup.clients import Connection

    if key is not None and url is None:
        raise ValidationFailed("--key is only for a service.", hint="Name the service with --url.")
    if url is not None and not url.startswith(("http://", "https://")):
        raise ValidationFailed(f"{url} is not a URL.", hint="Give a URL such as http://127.0.0.1:8630.")
    data_dir = os.environ.get("MEMEX_DATA_DIR")
    environment = {"MEMEX_DATA_DIR": str(Path(data_dir).absolute())} if data_dir and url is None else {}
    return Connection(_command(scope), environment, url, key, profile, user)


def _command(scope: "Scope") -> tuple[str, ...]:
    """Return the command by which a client starts Memex.

    A client may not have the shell's PATH, and other people use the file of a project.
    """
    if (found := shutil.which("memex")) is not None:
        return ("memex",) if scope == "project" else (found,)
    if (called := Path(sys.argv[0])).name == "memex" and called.is_file():
        return (str(called.absolute()),)
    return (sys.executable, "-m", "memex")


def _change_client(
    client: "Client", connection: "Connection", path: Path, *, yes: bool, as_json: bool
) -> CommandOutput:
    from memex.cli.operate.setup_key import key_warnings
    from memex.errors import ValidationFailed
    from memex.setup import change

    before = change.read(path)
    try:
        after = client.changed((before or b"").decode(), connection).encode()
    except ValidationFailed as error:
        if before is None:
            raise
        command = f"{program_name()} setup {client.name} --print"
        raise ValidationFailed(
            f"{path}: {error.message}", hint=f"Nothing was changed. `{command}` shows what to write there."
        ) from None
    notes = [client.after, *_notes(client, connection, path)]
    warnings = key_warnings(connection)
    made = change.ConfigChange(path, before, after, holds_key=connection.key is not None)
    return _apply(made, notes, warnings, secret=connection.key, yes=yes, as_json=as_json)


def _notes(client: "Client", connection: "Connection", path: Path) -> list[str]:
    """Return what a person should know after the change."""
    from memex.setup import guidance

    is_project, guide = not path.is_absolute(), f"{program_name()} setup agents-md"
    if client.name in guidance.FILES:
        guide += f" --client {client.name}" + ("" if is_project else " --scope user")
    notes = [f"Tell the agent how to use it: {guide}"]
    if is_project and "user" in client.files:
        notes.append("This is for the project in this folder. For memory in all your projects: --scope user")
    if connection.key and is_project:
        notes.append("The key stands in a file of the project: keep it out of version control.")
    elif connection.url and connection.key is None and client.name != "vscode":
        notes.append("The client reads the key from MEMEX_API_KEY in its environment.")
    elif connection.url is None and os.environ.get("DATABASE_URL"):
        notes.append(
            "The client needs DATABASE_URL in its environment, as it is set here; it was not written."
        )
    return notes


def _apply(
    made: "ConfigChange",
    notes: list[str] | None = None,
    warnings: list[str] | None = None,
    *,
    secret: str | None = None,
    yes: bool,
    as_json: bool,
) -> CommandOutput:
    """Show the change, and write it after confirmation."""
    document: dict[str, Any] = {
        "path": str(made.path),
        "status": "unchanged",
        "diff": "",
        "notes": notes or [],
        "warnings": warnings or [],
    }
    for warning in [] if as_json else document["warnings"]:
        Screen(sys.stderr).line(("Warning: ", "bold yellow"), warning)
    if not made.is_needed:
        return CommandOutput(document, lambda screen: screen.line(f"{made.path} says so already."))
    document["diff"] = made.diff(secret=secret)
    screen = Screen(sys.stdout)
    if not as_json:
        screen.diff(document["diff"])
    if not (yes or (not as_json and _confirm(made.path))):
        document["status"] = "unconfirmed"
        return CommandOutput(document, _show_unconfirmed, on_stderr=not as_json, exit_code=UNCONFIRMED)
    document |= {"status": "changed", "record": str(made.make())}

    def show(screen: Screen) -> None:
        screen.line(("Written: ", "green"), str(made.path), ("  (undo with --undo)", "dim"))
        for note in document["notes"]:
            screen.line((note, "dim"))

    return CommandOutput(document, show)


def _confirm(path: Path) -> bool:
    on_terminal = sys.stdin.isatty() and sys.stdout.isatty()
    return on_terminal and typer.confirm(f"Write {path}?")


def _show_unconfirmed(screen: Screen) -> None:
    screen.line("Nothing was changed. Add --yes to write it.")


def _print_text(text: str, path: Path) -> CommandOutput:
    return CommandOutput(
        {"path": str(path), "status": "printed", "text": text}, lambda screen: screen.raw(text)
    )


def _undo(path: Path) -> CommandOutput:
    from memex.setup import change

    is_there = change.undo(path)
    done = "is as it was" if is_there else "is removed, as it was not there before"
    return CommandOutput(
        {"path": str(path), "status": "undone"}, lambda screen: screen.line(f"{path} {done}.")
    )
