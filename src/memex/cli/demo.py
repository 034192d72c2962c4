"""`memex demo`: a small memory of an invented person, three questions to it, and the log of both."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import TYPE_CHECKING, Annotated, Any

import typer

from memex.cli.log import show_log
from memex.cli.memory import show_context, show_sources
from memex.cli.output import Screen, Shown, counted
from memex.cli.session import Session, for_demo

if TYPE_CHECKING:
    from memex.service.service import Caller
    from memex.store.draft import Draft
    from memex.store.operations import Answer
    from memex.store.records import Change, Revision

ACTOR = "demo"  # what tells its versions from others
WHOSE_IT_IS = "an invented person, her people, and the boat that she restores"
STATEMENT = "We decided to paint the oars red."
WHAT_IT_SHOWS = {
    "direct": "The answer stands in a passage that matches.",
    "link": "The answer stands in a file that shares no word with the question: a link leads to it.",
    "budget": "The answer is a part of a long file: the best passages fill the budget, and no more.",
}


@for_demo
async def demo(
    session: Session,
    remove: Annotated[
        bool, typer.Option("--remove", help="Delete the sample again; what was changed since is left.")
    ] = False,
) -> Shown:
    """Load a sample memory for a user of its own, ask it three questions, and show what happened."""
    caller = await session.caller()
    caller = replace(caller, access=replace(caller.access, actor=ACTOR))
    sample = dict(_walk(files("memex.demo") / "memory", "user/"))
    standing = await _standing(session, caller, sample)
    if remove:
        removed = await _remove(session, caller, standing)
        return Shown(removed, lambda screen: _show_removed(screen, session, removed))
    done = {"user": session.user, **await _load(session, caller, sample, standing)}
    done["answers"] = [await _asked(session, question) for question in _questions()]
    made = len(done["answers"]) + (done["tool_call_id"] is not None)
    log = await session.service.operations(caller, limit=made)
    done["log"] = log.model_dump(mode="json")["operations"]
    done["next"] = _next_commands(session, done)
    return Shown(done, lambda screen: _show_demo(screen, done))


def _walk(folder: Traversable, prefix: str) -> Iterator[tuple[str, str]]:
    """Yield the Markdown files below a folder, each with its path, in order."""
    for entry in sorted(folder.iterdir(), key=lambda entry: entry.name):
        if entry.is_dir():
            yield from _walk(entry, f"{prefix}{entry.name}/")
        elif entry.name.endswith(".md"):
            yield prefix + entry.name, entry.read_text(encoding="utf-8")


def _questions() -> list[dict[str, Any]]:
    import yaml

    text = (files("memex.demo") / "questions.yaml").read_text(encoding="utf-8")
    questions: list[dict[str, Any]] = yaml.safe_load(text)
    return questions


async def _standing(session: Session, caller: "Caller", sample: Mapping[str, str]) -> "dict[str, Revision]":
    """Return what stands at the paths of the sample."""
    from memex.store.analyzer import Analyzer
    from memex.store.memory import Memory

    async with session.service.database.transaction(caller.access) as connection:
        memory = Memory(connection, caller.access, Analyzer())
        found = await memory.read_files(list(sample), with_content=False)
    return {revision.virtual_path: revision for revision in found}


async def _load(
    session: Session, caller: "Caller", sample: Mapping[str, str], standing: "Mapping[str, Revision]"
) -> dict[str, Any]:
    """Write the files that are missing in one commit; whatever stands at the path of another is left."""
    created = [path for path in sample if path not in standing]
    draft = session.service.draft(caller)
    for path in created:
        draft.write(path, sample[path], reason="the sample memory")
    call = await _commit(session, caller, "demo_load", draft) if created else None
    return {"tool_call_id": call, "created": created, "left": sorted(standing)}


async def _remove(session: Session, caller: "Caller", standing: "Mapping[str, Revision]") -> dict[str, Any]:
    """Delete the files of which the newest version is the demo's."""
    ours = [revision for revision in standing.values() if revision.actor == ACTOR]
    draft = session.service.draft(caller)
    for revision in ours:
        draft.delete(revision.virtual_path, base_version=revision.version, reason="the sample memory")
    call = await _commit(session, caller, "demo_remove", draft) if ours else None
    left = [
        {
            "path": revision.virtual_path,
            "version": revision.version,
            "actor": revision.actor or revision.channel,
            "tool_call_id": revision.tool_call_id,
        }
        for revision in standing.values()
        if revision.actor != ACTOR
    ]
    return {"tool_call_id": call, "removed": [revision.virtual_path for revision in ours], "left": left}


async def _commit(session: Session, caller: "Caller", name: str, draft: "Draft") -> str:
    """Commit a draft as a call of its own, and return the call's id."""
    from memex.service.service import new_call

    call = new_call(caller, name, {}, None)
    async with session.service.logged(caller, call):
        await draft.commit(call, _answer)
    return call.tool_call_id


def _answer(changes: "tuple[Change, ...]") -> "Answer":
    from memex.service import references
    from memex.store.operations import Answer

    result = {"files": [references.new_name(change) for change in changes]}
    return Answer(result, {"files": [references.of_change(change) for change in changes]}, result)


async def _asked(session: Session, question: Mapping[str, Any]) -> dict[str, Any]:
    arguments = {"query": question["question"], "budget": question["budget"]}
    return {
        "shows": question["shows"],
        **arguments,
        "result": await session.execute("memory_context", **arguments),
    }


def _next_commands(session: Session, done: Mapping[str, Any]) -> list[str]:
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
        screen.line(("   " + WHAT_IT_SHOWS[answer["shows"]], "dim"))
        screen.line()
        show_context(screen, answer["result"])
        screen.line()
        show_sources(screen, answer["result"])
    screen.line()
    screen.line(("What this did, the newest first", "bold green"))
    screen.line()
    show_log(screen, {"operations": done["log"], "next_cursor": None})
    screen.line()
    screen.line(("Try next", "bold green"))
    screen.line()
    for command in done["next"]:
        screen.line("  ", command)


def _show_loaded(screen: Screen, done: dict[str, Any]) -> None:
    screen.line(("The sample memory", "bold green"), f" of the user {done['user']}: {WHOSE_IT_IS}")
    if done["created"]:
        written = counted(len(done["created"]), "file")
        screen.line(f"   {written} written in one commit, ", (done["tool_call_id"], "dim"))
    if done["left"]:
        screen.line(f"   {counted(len(done['left']), 'file')} found there, and left so")


def _show_removed(screen: Screen, session: Session, removed: dict[str, Any]) -> None:
    if removed["tool_call_id"]:
        undo = session.command("revert", removed["tool_call_id"])
        screen.line(f"Deleted {counted(len(removed['removed']), 'file')} of the sample. To undo it: ", undo)
    else:
        screen.line("No file of the sample is there as the demo wrote it: nothing is deleted.")
    for file in removed["left"]:
        by = f"version {file['version']} is by {file['actor']}, {file['tool_call_id']}"
        screen.line("left ", (file["path"], "bold"), (f"  {by}", "dim"))
