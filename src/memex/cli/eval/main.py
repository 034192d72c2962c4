"""`memex eval`: check memory with test cases, and find out whether a chat model pays."""

import typer

from memex.cli.eval import cases, moved, planner, states

app = typer.Typer(
    no_args_is_help=True, help="Check memory with test cases, and find out whether a chat model pays."
)
app.command()(cases.run)
app.command()(cases.runs)
app.command()(cases.check)
app.command()(planner.planner)
app.command()(states.states)
app.command()(states.freeze)
app.command()(states.capture)
moved.add_to(app)


@app.callback()
def evaluate() -> None:
    """Check memory with test cases, and find out whether a chat model pays."""
