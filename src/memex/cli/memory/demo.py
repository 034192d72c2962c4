"""`memex demo`: load a small memory of an invented person, ask it three questions, and show the log."""

from collections.abc import Mapping
from dataclasses import asdict
from importlib.resources import files
from typing import TYPE_CHECKING, Annotated, Any

import typer

from memex.cli.log.operations import show_log
from memex.cli.memory.agent import show_context, show_sources
from memex.cli.output import CommandOutput, Screen, format_count
from memex.cli.session.commands import demo_command
from memex.cli.session.session import CommandSession

if TYPE_CHECKING:
    from memex.service.demo import RemovedSample

SAMPLE_OWNER = "an invented person, the people around her, and the boat that she restores"
STATEMENT = "We decided to paint the oars red."
ANSWER_LESSONS = {
    "direct": "The answer is in a passage that matches the question.",
    "link": "The answer is in a file that shares no word with the question; a link leads to this file.",
    "budget": "The answer is part of a long file; the best passages are chosen until the budget is full.",
}


@demo_command
async def demo(
    session: CommandSession,
    remove: Annotated[
        bool, typer.Option("--remove", help="Delete the sample memory. Files that were changed since stay.")
    ] = False,
) -> CommandOutput:
    """Load a sample memory and ask it three questions.

    The sample belongs to a user of its own. The command shows what happened.
    """
    from memex.service import demo as sample

    service, caller = await session.local.caller(session.context)
    if remove:
        removed = _removed_document(await sample.remove_sample(service, caller))
        return CommandOutput(removed, lambda screen: _show_removed(screen, session, removed))
    done = {"user": session.user, **asdict(await sample.load_sample(service, caller))}
    done["answers"] = [await _ask(session, question) for question in _questions()]
    made = len(done["answers"]) + (done["tool_call_id"] is not None)
    log = await session.call("memory_operations", {"limit": made})
    done["log"] = log["operations"]
    done["next"] = _next_commands(session, done)
    return CommandOutput(done, lambda screen: _show_demo(screen, done))


def _questions() -> list[dict[str, Any]]:
    import yaml

    text = (files("memex.demo") / "questions.yaml").read_text(encoding="utf-8")
    questions: list[dict[str, Any]] = yaml.safe_load(text)
    return questions


def _removed_document(removed: "RemovedSample") -> dict[str, Any]:
    left = [
        {
            "path": revision.virtual_path,
            "version": revision.version,
            "actor": revision.actor or revision.channel,
            "tool_call_id": revision.tool_call_id,
        }
        for revision in removed.left
    ]
    return {"tool_call_id": removed.tool_call_id, "removed": removed.removed, "left": left}


async def _ask(session: CommandSession, question: Mapping[str, Any]) -> dict[str, Any]:
    arguments = {"query": question["question"], "budget": question["budget"]}
    return {
        "shows": question["shows"],
        **arguments,
        "result": await session.execute("memory_context", arguments),
    }


def _next_commands(session: CommandSession, done: Mapping[str, Any]) -> list[str]:
    return [
        session.command("remember", STATEMENT),
        session.command("context", "Which colour will the oars have?"),
        session.command("log", done["answers"][1]["result"]["tool_call_id"]),
        session.command("demo", "--remove"),
    ]


def _show_demo(screen: Screen, done: dict[str, Any]) -> None:
    _show_loaded(screen, done)
    for number, answer in enumerate(done["answers"], start=1):
        screen.line()
        screen.line((f"{number}  {answer['query']}", "bold green"))
        screen.line(("   " + ANSWER_LESSONS[answer["shows"]], "dim"))
        screen.line()
        show_context(screen, answer["result"])
        screen.line()
        show_sources(screen, answer["result"])
    screen.line()
    screen.line(("The calls that this made, the newest first", "bold green"))
    screen.line()
    show_log(screen, {"operations": done["log"], "next_cursor": None, "stopped_after": None})
    screen.line()
    screen.line(("Try next", "bold green"))
    screen.line()
    for command in done["next"]:
        screen.line("  ", command)


def _show_loaded(screen: Screen, done: dict[str, Any]) -> None:
    screen.line(("The sample memory", "bold green"), f" of the user {done['user']}: {SAMPLE_OWNER}")
    if done["created"]:
        written = format_count(len(done["created"]), "file")
        screen.line(f"   {written} written in one commit, ", (done["tool_call_id"], "dim"))
    if done["left"]:
        screen.line(f"   {format_count(len(done['left']), 'file')} found there, and left so")


def _show_removed(screen: Screen, session: CommandSession, removed: dict[str, Any]) -> None:
    if removed["tool_call_id"]:
        undo = session.command("revert", removed["tool_call_id"])
        screen.line(
            f"Deleted {format_count(len(removed['removed']), 'file')} of the sample. To undo it: ", undo
        )
    else:
        screen.line("No file of the sample is there as the demo wrote it: nothing is deleted.")
    for file in removed["left"]:
        by = f"version {file['version']} is by {file['actor']}, {file['tool_call_id']}"
        screen.line("left ", (file["path"], "bold"), (f"  {by}", "dim"))
