"""The command line `memex`. Each command loads heavy libraries only when it runs."""

import gc
import os
import sys
from collections.abc import Callable
from importlib import import_module
from typing import Annotated, Any

import typer

from memex.cli.parameters import skip_needless_coercion

MEMORY, FILES, VERSIONS, LOG, SERVICE = "Memory", "Files", "Versions", "Log", "Service"
CONVERSATIONS, DOCUMENTS, WORK = "Conversations", "Documents", "Work"

COMPLETION = "_MEMEX_COMPLETE"  # set by the shell, which asks how a command may go on

# The panel of the help text, the name, and where below memex.cli the command or the group of commands is.
COMMANDS = (
    (MEMORY, "remember", "memory.agent:remember"),
    (MEMORY, "forget", "memory.forget:forget"),
    (MEMORY, "tidy", "memory.tidy:tidy"),
    (MEMORY, "review", "memory.review:app"),
    (MEMORY, "removed", "memory.removed:removed"),
    (MEMORY, "context", "memory.agent:context"),
    (MEMORY, "prompt", "memory.prompt:prompt"),
    (MEMORY, "demo", "memory.demo:demo"),
    (FILES, "list", "memory.files:list_files"),
    (FILES, "folders", "memory.folders:folders"),
    (FILES, "journal", "memory.journal:app"),
    (FILES, "topics", "memory.topics:topics"),
    (FILES, "links", "memory.folders:links"),
    (FILES, "changes", "memory.folders:changes"),
    (FILES, "read", "memory.files:read"),
    (FILES, "write", "memory.files:write"),
    (FILES, "write-many", "memory.files:write_many"),
    (FILES, "move", "memory.files:move"),
    (FILES, "delete", "memory.files:delete"),
    (FILES, "find", "memory.files:find"),
    (FILES, "import", "memory.transfer:import_vault"),
    (FILES, "export", "memory.transfer:export_files"),
    (CONVERSATIONS, "ingest", "conversations.ingest:ingest"),
    (CONVERSATIONS, "dig", "conversations.finding:dig"),
    (CONVERSATIONS, "keyword", "conversations.finding:keyword"),
    (CONVERSATIONS, "semantic", "conversations.finding:semantic"),
    (CONVERSATIONS, "similar", "conversations.finding:similar"),
    (CONVERSATIONS, "thread", "conversations.reading:thread"),
    (CONVERSATIONS, "timeline", "conversations.reading:timeline"),
    (CONVERSATIONS, "corpus", "conversations.reading:corpus"),
    (CONVERSATIONS, "sources", "conversations.reading:sources"),
    (CONVERSATIONS, "distil", "conversations.distil:distil"),
    (CONVERSATIONS, "evidence", "conversations.distil:evidence"),
    (CONVERSATIONS, "schema", "conversations.sql:schema"),
    (CONVERSATIONS, "query", "conversations.sql:query"),
    (CONVERSATIONS, "sql", "conversations.sql:sql"),
    (CONVERSATIONS, "backfill", "operate.index:backfill_conversations"),
    (CONVERSATIONS, "rebuild", "operate.index:rebuild_conversations"),
    (CONVERSATIONS, "capture", "conversations.capture:app"),
    (CONVERSATIONS, "conversations", "conversations.removing:app"),
    (DOCUMENTS, "docs", "documents.main:app"),
    (WORK, "work", "work.main:app"),
    (VERSIONS, "history", "memory.revisions:history"),
    (VERSIONS, "diff", "memory.revisions:diff"),
    (VERSIONS, "restore", "memory.revisions:restore"),
    (VERSIONS, "blame", "log.provenance:blame"),
    (LOG, "log", "log.operations:app"),
    (LOG, "replay", "log.replay:replay"),
    (LOG, "seen", "log.provenance:seen"),
    (LOG, "revert", "log.operations:revert"),
    (LOG, "queue", "log.queue:app"),
    (LOG, "spend", "log.spend:spend"),
    (SERVICE, "serve", "operate.serve:serve"),
    (SERVICE, "ui", "operate.ui:ui"),
    (SERVICE, "mcp", "operate.mcp:mcp"),
    (SERVICE, "setup", "operate.setup:app"),
    (SERVICE, "keys", "operate.keys:app"),
    (SERVICE, "users", "operate.users:app"),
    (SERVICE, "projects", "operate.projects:app"),
    (SERVICE, "quota", "operate.quota:app"),
    (SERVICE, "secrets", "secrets.policies:app"),
    (SERVICE, "scan", "secrets.scan:scan"),
    (SERVICE, "migrate", "operate.migrate:migrate"),
    (SERVICE, "health", "health.health:health"),
    (SERVICE, "doctor", "health.doctor:doctor"),
    (SERVICE, "index", "operate.index:app"),
    (SERVICE, "eval", "eval.main:app"),
)


def new_app(name: str | None = None, *, is_overview: bool = False) -> typer.Typer:
    """Return the command line, or a part of it, because all commands take long to set up.

    Args:
        name: the only command that the part knows; None for all commands.
        is_overview: whether to list the commands only, without their options and the commands below them.
    """
    app = typer.Typer(
        name="memex",
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(memex)
    for panel, command, place in COMMANDS:
        if name in (None, command):
            module, _, attribute = place.partition(":")
            found = getattr(import_module(f"memex.cli.{module}"), attribute)
            if is_overview:
                app.command(command, rich_help_panel=panel)(_summary_of(found))
            elif isinstance(found, typer.Typer):
                app.add_typer(found, name=command, rich_help_panel=panel)
            else:
                app.command(command, rich_help_panel=panel)(found)
    return app


def _summary_of(found: Any) -> Callable[[], None]:
    """Return a function that has the help text of a command or of a group of commands, and no parameters."""

    def summary() -> None: ...

    summary.__doc__ = found.info.help if isinstance(found, typer.Typer) else found.__doc__
    return summary


def _print_version(wanted: bool) -> None:
    if wanted:
        from memex.distribution import version

        typer.echo(f"memex {version()}")
        raise typer.Exit


def memex(
    _version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit."),
    ] = False,
) -> None:
    """Memory for AI agents: Markdown files with complete version history and exact search."""


def main() -> None:
    """Run the command line."""
    gc.disable()  # while modules load, collection costs time and finds nothing; commands enable it again
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
    first = sys.argv[1] if len(sys.argv) > 1 else None
    is_overview = first in (None, "-h", "--help", "--version") and COMPLETION not in os.environ
    app = new_app(first if any(first == name for _, name, _ in COMMANDS) else None, is_overview=is_overview)
    command = typer.main.get_command(app)
    skip_needless_coercion(command)
    command()
