"""The command line `memex`. Each command loads heavy libraries only when it runs."""

import gc
import sys
from typing import Annotated

import typer

from memex.cli.eval import main as evals
from memex.cli.log import operations, provenance, queue, replay, spend
from memex.cli.memory import agent, demo, files, forget, prompt, revisions, tidy, transfer
from memex.cli.operate import doctor, index, keys, mcp, migrate, projects, serve, setup, users

MEMORY, FILES, VERSIONS, LOG, SERVICE = "Memory", "Files", "Versions", "Log", "Service"

app = typer.Typer(
    name="memex",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command(rich_help_panel=MEMORY)(agent.remember)
app.command(rich_help_panel=MEMORY)(forget.forget)
app.command(rich_help_panel=MEMORY)(tidy.tidy)
app.command(rich_help_panel=MEMORY)(agent.context)
app.command(rich_help_panel=MEMORY)(prompt.prompt)
app.command(rich_help_panel=MEMORY)(demo.demo)
app.command("list", rich_help_panel=FILES)(files.list_files)
app.command(rich_help_panel=FILES)(files.read)
app.command(rich_help_panel=FILES)(files.write)
app.command("write-many", rich_help_panel=FILES)(files.write_many)
app.command(rich_help_panel=FILES)(files.move)
app.command(rich_help_panel=FILES)(files.delete)
app.command(rich_help_panel=FILES)(files.find)
app.command("import", rich_help_panel=FILES)(transfer.import_vault)
app.command("export", rich_help_panel=FILES)(transfer.export_files)
app.command(rich_help_panel=VERSIONS)(revisions.history)
app.command(rich_help_panel=VERSIONS)(revisions.diff)
app.command(rich_help_panel=VERSIONS)(revisions.restore)
app.command(rich_help_panel=VERSIONS)(provenance.blame)
app.add_typer(operations.app, name="log", rich_help_panel=LOG)
app.command(rich_help_panel=LOG)(replay.replay)
app.command(rich_help_panel=LOG)(provenance.seen)
app.command(rich_help_panel=LOG)(operations.revert)
app.add_typer(queue.app, name="queue", rich_help_panel=LOG)
app.command(rich_help_panel=LOG)(spend.spend)
app.command(rich_help_panel=SERVICE)(serve.serve)
app.command(rich_help_panel=SERVICE)(mcp.mcp)
app.add_typer(setup.app, name="setup", rich_help_panel=SERVICE)
app.add_typer(keys.app, name="keys", rich_help_panel=SERVICE)
app.command(rich_help_panel=SERVICE)(users.users)
app.add_typer(projects.app, name="projects", rich_help_panel=SERVICE)
app.command(rich_help_panel=SERVICE)(migrate.migrate)
app.command(rich_help_panel=SERVICE)(doctor.doctor)
app.add_typer(index.app, name="index", rich_help_panel=SERVICE)
app.add_typer(evals.app, name="eval", rich_help_panel=SERVICE)


def _print_version(wanted: bool) -> None:
    if wanted:
        from memex.distribution import version

        typer.echo(f"memex {version()}")
        raise typer.Exit


@app.callback()
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
    app()
