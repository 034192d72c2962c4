"""`memex setup`: add Memex to the configuration of the programs that run agents."""

import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from memex.cli.file_change import WriteOptions, apply_changes, print_text, undo_change
from memex.cli.options import Json
from memex.cli.output import CommandOutput, print_output, program_name, report_errors
from memex.cli.session.commands import plain_command
from memex.setup.names import NAMES, ONLY_HOOKS, Scope, SetupProfile

if TYPE_CHECKING:
    from memex.setup.clients import Client, Connection

app = typer.Typer()

ProjectOrUser = Annotated[
    Scope, typer.Option(help="Write it for the project in the current folder, or for all of yours (user).")
]


@app.callback(invoke_without_command=True)
def setup(
    context: typer.Context,
    check: Annotated[
        bool,
        typer.Option(
            "--check",
            help="Show for each coding agent which hooks are missing, and when its last event arrived. "
            "The exit code is 1 if capture is off or no agent has all hooks.",
        ),
    ] = False,
    as_json: Json = False,
) -> None:
    """Add Memex to the program that runs your agents."""
    if check:
        with report_errors(as_json=as_json):
            from memex.cli.operate.setup_hooks import check_setup

            shown = check_setup()
        print_output(shown, as_json=as_json)
        raise typer.Exit
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
        raise typer.Exit(2)


def _register(name: str, title: str) -> None:
    @app.command(name, help=f"Add Memex to the configuration of {title}.")
    @plain_command
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
                help="The tools to offer: agent (two tools), files (also the tools for files), conversations "
                "(also the tools for imported conversations), work (also where work stands) or project (six "
                "tools for the memory of a project)."
            ),
        ] = "agent",
        project: Annotated[
            str | None,
            typer.Option(help="The project that all calls are about; written as MEMEX_PROJECT."),
        ] = None,
        user: Annotated[
            str | None, typer.Option(help="The user whose memory it is, if the key is not bound to a user.")
        ] = None,
        scope: Annotated[
            Scope | None,
            typer.Option(
                help="Configure the client for you (user), or for the project in the current folder."
            ),
        ] = None,
        hooks: Annotated[
            bool,
            typer.Option(
                "--hooks",
                help="Let the client report its sessions, and give each new one where work stands. For "
                "claude-code, codex, opencode, openclaw and hermes. Nothing is captured in folders without a "
                "project.",
            ),
        ] = False,
        http: Annotated[
            bool,
            typer.Option("--http", help="With --hooks and --url: the client sends events itself, by HTTP."),
        ] = False,
        *,
        writing: WriteOptions,
        as_json: Json = False,
    ) -> CommandOutput:
        if hooks:
            from memex.capture import switch
            from memex.cli.operate.setup_hooks import capture_settings, plan_hooks, turn_off_capture
            from memex.cli.operate.setup_user import hook_user, user_note, user_warnings

            plan = plan_hooks(name, url=url, scope=scope, http=http)
            if writing.undo:
                shown = plan.undo()
                turn_off_capture(name)
                return shown
            if writing.only_print:
                return print_text(plan.snippet(), plan.path)
            settings, before = capture_settings(name, url=url, key=key, user=user, http=http)
            whose = hook_user(settings)
            notes = [user_note(whose), *plan.notes()]
            warnings = user_warnings(name, whose, settings, before)
            shown = apply_changes(plan.changes(), notes, warnings, yes=writing.yes, as_json=as_json)
            if shown.document["status"] == "unchanged" and not as_json:
                typer.echo(notes[0])
            if not shown.exit_code and not http:
                switch.turn_on(switch.open_state(), settings)
            return shown
        client = _mcp_client(name)
        chosen = scope or client.default_scope
        path = client.file(chosen)
        if writing.undo:
            return undo_change(path)
        connection = _connection(url, key, profile, user, project, chosen)
        if writing.only_print:
            return print_text(client.snippet(connection), path)
        return _change_client(client, connection, path, yes=writing.yes, as_json=as_json)


for _name, _title in (NAMES | ONLY_HOOKS).items():
    _register(_name, _title)


@app.command("agents-md")
@plain_command
def agents_md(
    file: Annotated[Path | None, typer.Option(help="The file to write, such as CLAUDE.md.")] = None,
    client: Annotated[
        str | None, typer.Option(help="Write the file that this client reads, such as claude-code.")
    ] = None,
    scope: ProjectOrUser = "project",
    work: Annotated[
        bool,
        typer.Option(
            "--work",
            help="Instead write where the work of the project stands (objective, constraints and open work), "
            "between marks of its own.",
        ),
    ] = False,
    check: Annotated[
        bool,
        typer.Option("--check", help="With --work: write nothing; the exit code is 1 if the file is stale."),
    ] = False,
    project: Annotated[
        str | None, typer.Option(help="With --work: the project; by default that of the current folder.")
    ] = None,
    user: Annotated[str | None, typer.Option(help="With --work: the user whose work it is.")] = None,
    *,
    writing: WriteOptions,
    as_json: Json = False,
) -> CommandOutput:
    """Write instructions on using memory into AGENTS.md or CLAUDE.md, between two marks."""
    from memex.errors import ValidationFailed
    from memex.setup import guidance

    if work:
        from memex.cli.work.agents_file import setup_work_block

        return setup_work_block(
            file, client, scope, writing, project=project, user=user, check=check, as_json=as_json
        )
    if check or project is not None or user is not None:
        raise ValidationFailed(
            "--check, --project and --user are for the block about work.", hint="Add --work."
        )
    path = file or guidance.guidance_file(client, scope)
    return _text(path, guidance.text, guidance.place_guidance, writing, as_json=as_json)


@app.command()
@plain_command
def skill(
    file: Annotated[Path | None, typer.Option(help="The file of the skill.")] = None,
    scope: ProjectOrUser = "project",
    conversations: Annotated[
        bool,
        typer.Option(
            "--conversations", help="Write the skill for imported conversations: how to dig, read and cite."
        ),
    ] = False,
    *,
    writing: WriteOptions,
    as_json: Json = False,
) -> CommandOutput:
    """Write the same instructions as a skill, which an agent reads only when it needs them."""
    from memex.setup import guidance

    path = file or guidance.skill_file(scope, of_conversations=conversations)
    whole = guidance.conversations_skill if conversations else guidance.skill
    return _text(path, whole, lambda _: whole(), writing, as_json=as_json)


def _text(
    path: Path,
    whole: Callable[[], str],
    placed: Callable[[str], str],
    writing: WriteOptions,
    *,
    as_json: bool,
) -> CommandOutput:
    from memex.setup.change import ConfigChange

    if writing.undo:
        return undo_change(path)
    if writing.only_print:
        return print_text(whole(), path)
    return apply_changes([ConfigChange.planned(path, placed)], yes=writing.yes, as_json=as_json)


def _mcp_client(name: str) -> "Client":
    """Return a client whose MCP servers are set up; raises ValidationFailed for one with hooks alone."""
    from memex.errors import ValidationFailed
    from memex.setup.clients import CLIENTS

    if name in ONLY_HOOKS:
        raise ValidationFailed(
            f"For {ONLY_HOOKS[name]} Memex sets up capture alone.",
            hint="Add --hooks. Its own settings say how it connects to an MCP server.",
        )
    return CLIENTS[name]


def _connection(
    url: str | None,
    key: str | None,
    profile: "SetupProfile",
    user: str | None,
    project: str | None,
    scope: "Scope",
) -> "Connection":
    from memex.errors import ValidationFailed
    from memex.setup.clients import Connection

    if key is not None and url is None:
        raise ValidationFailed("--key is only for a service.", hint="Name the service with --url.")
    if url is not None and not url.startswith(("http://", "https://")):
        raise ValidationFailed(f"{url} is not a URL.", hint="Give a URL such as http://127.0.0.1:8630.")
    data_dir = os.environ.get("MEMEX_DATA_DIR")
    environment = {"MEMEX_DATA_DIR": str(Path(data_dir).absolute())} if data_dir and url is None else {}
    return Connection(_command(scope), environment, url, key, profile, user, project)


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
    from memex.setup.change import ConfigChange

    made = ConfigChange.planned(
        path,
        lambda text: client.changed(text, connection),
        by_hand=f"{program_name()} setup {client.name} --print",
        holds_key=connection.key is not None,
    )
    notes = [client.after, *_notes(client, connection, path)]
    warnings = key_warnings(connection)
    return apply_changes([made], notes, warnings, secret=connection.key, yes=yes, as_json=as_json)


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
