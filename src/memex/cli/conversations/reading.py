"""`memex conversations thread`, `timeline`, `sources` and `corpus`: read, and see what was imported."""

from typing import Annotated, Any

import typer

from memex.cli.conversations import last_list
from memex.cli.conversations.options import (
    FormatOption,
    ProviderProjectOption,
    SinceOption,
    SourceOption,
    UntilOption,
    in_format,
    parse_moment,
)
from memex.cli.options import Cursor
from memex.cli.output import (
    Column,
    CommandOutput,
    Screen,
    format_count,
    format_time,
    numbers,
    shorten,
    show_embedded,
)
from memex.cli.session.commands import user_command
from memex.cli.session.session import CommandSession
from memex.service.health.sizes import format_size

MAX_TITLE = 60
PAGE = 1_000  # messages of one request of `thread --all`
NOTHING_IMPORTED = (
    "No conversation has been imported. Import an export with `memex conversations ingest PATH`."
)
SOURCES = [
    Column("label", "bold"),
    Column("format", cell="kind"),
    Column("account", "dim", cut=True),
    numbers("conversations"),
    numbers("messages"),
    Column("imported", "dim", whole=True, cell=lambda row: format_time(row["imported_at"])[:16]),
    Column(
        "left out",
        "dim",
        cell=lambda row: ", ".join(f"{count:,} {reason}" for reason, count in row["skipped"].items()),
    ),
]


@user_command
async def thread(
    session: CommandSession,
    reference: Annotated[
        str,
        typer.Argument(
            metavar="ID|ID#N|@N",
            help="A conversation, a message of it by its number, or a result of the last search, such as @3.",
        ),
    ],
    around: Annotated[
        int, typer.Option(min=0, max=500, help="How many messages to show before and after the message.")
    ] = 5,
    whole: Annotated[bool, typer.Option("--all", help="Show the whole conversation.")] = False,
    all_branches: Annotated[
        bool, typer.Option("--all-branches", help="Also messages on branches that were given up.")
    ] = False,
    cursor: Cursor = None,
    output_format: FormatOption = "panel",
) -> CommandOutput:
    """Read a conversation, or a message with those around it."""
    reference = last_list.resolve(session, reference)
    asked: dict[str, Any] = {"reference": reference, "around": around, "all_branches": all_branches}
    if whole:
        asked |= {"reference": reference.partition("#")[0], "limit": PAGE}
    found = await session.call("conversation_read", asked | {"cursor": cursor})
    while whole and found["next_cursor"]:
        more = await session.call("conversation_read", asked | {"cursor": found["next_cursor"]})
        found["messages"] += more["messages"]
        found["next_cursor"] = more["next_cursor"]
    ids = [message["reference"] for message in found["messages"]]
    return in_format(output_format, found, ids, lambda screen: _show_thread(screen, found, reference))


@user_command
async def timeline(
    session: CommandSession,
    source: SourceOption = None,
    of_project: ProviderProjectOption = None,
    since: SinceOption = None,
    until: UntilOption = None,
    limit: Annotated[int, typer.Option(min=1, max=1_000, help="The largest number of results.")] = 30,
    cursor: Cursor = None,
    output_format: FormatOption = "panel",
) -> CommandOutput:
    """List the imported conversations, the newest first."""
    asked = {
        "source": source,
        "project": of_project,
        "since": parse_moment(since, "--since"),
        "until": parse_moment(until, "--until"),
        "limit": limit,
        "cursor": cursor,
    }
    found = await session.call("conversation_list", asked)
    ids = [conversation["id"] for conversation in found["conversations"]]
    return in_format(
        output_format, found, ids, lambda screen: _show_timeline(screen, found), is_empty=not ids
    )


@user_command
async def sources(session: CommandSession, output_format: FormatOption = "panel") -> CommandOutput:
    """List where the conversations came from, and what the newest import of each source left out."""
    found = await session.call("conversation_sources")
    ids = [source["label"] for source in found["sources"]]

    def show(screen: Screen) -> None:
        _show_sources(screen, found)
        _show_formats(screen)

    return in_format(output_format, found, ids, show, is_empty=not ids)


@user_command
async def corpus(session: CommandSession, output_format: FormatOption = "panel") -> CommandOutput:
    """Show how much was imported, from when to when, and its size."""
    answer = await session.call("conversation_sources")
    found = answer["sources"]
    times = sorted(
        time for source in found for time in (source["started_at"], source["last_at"]) if time is not None
    )
    document = {
        "conversations": sum(source["conversations"] for source in found),
        "messages": sum(source["messages"] for source in found),
        "human_messages": sum(source["human_messages"] for source in found),
        "text_bytes": sum(source["text_bytes"] for source in found),
        "started_at": times[0] if times else None,
        "last_at": times[-1] if times else None,
        "vectors": answer["vectors"],
        "sources": found,
    }
    ids = [source["label"] for source in found]
    return in_format(
        output_format, document, ids, lambda screen: _show_corpus(screen, document), is_empty=not found
    )


def _show_thread(screen: Screen, found: dict[str, Any], reference: str) -> None:
    conversation = found["conversation"]
    screen.line((conversation["title"] or "(without a title)", "bold"))
    project = f", {conversation['project']}" if conversation["project"] else ""
    screen.line((f"{conversation['source']['label']}{project}, {conversation['id']}", "dim"))
    if not conversation["is_complete"]:
        screen.line(("Not all of it has been imported yet: run the import again.", "yellow"))
    named = reference.partition("#")[2]
    for message in found["messages"]:
        said_at = f"  {format_time(message['said_at'])[:16]}" if message["said_at"] else ""
        branch = "" if message["on_path"] else "  on a branch that was given up"
        mark = "▸ " if named == str(message["number"]) else ""
        screen.line()
        screen.line(
            (f"{mark}#{message['number']} {message['author'] or message['role']}", "bold cyan"),
            (f"{said_at}{branch}", "dim"),
        )
        screen.line(message["text"])
    screen.more(found["next_cursor"])


def _show_timeline(screen: Screen, found: dict[str, Any]) -> None:
    if not found["conversations"]:
        screen.line(NOTHING_IMPORTED)
        return
    columns = [
        Column("id", "cyan", whole=True),
        Column(
            "last",
            "dim",
            whole=True,
            cell=lambda conversation: (
                format_time(conversation["last_at"])[:10] if conversation["last_at"] else ""
            ),
        ),
        Column("source", cut=True, cell=lambda conversation: conversation["source"]["label"]),
        Column("title", "bold", cut=True, cell=_title),
        numbers("messages"),
    ]
    screen.records(found["conversations"], columns, cursor=found["next_cursor"])


def _title(one: dict[str, Any]) -> str:
    return shorten(one["title"] or one["first_words"], MAX_TITLE) or "(without a title)"


def _show_sources(screen: Screen, found: dict[str, Any]) -> None:
    if not found["sources"]:
        screen.line(NOTHING_IMPORTED)
        return
    screen.records(found["sources"], SOURCES)
    show_embedded(screen, found["vectors"])


def _show_formats(screen: Screen) -> None:
    from memex.sources.conversations.formats.readers import formats

    screen.line("These formats can be read:")
    screen.line((formats(), "dim"))


def _show_corpus(screen: Screen, document: dict[str, Any]) -> None:
    if not document["sources"]:
        screen.line(NOTHING_IMPORTED)
        return
    screen.line(
        (format_count(document["conversations"], "conversation"), "bold"),
        f" with {format_count(document['messages'], 'message')}, "
        f"of which a person wrote {document['human_messages']:,}; {format_size(document['text_bytes'])} of text",
    )
    if document["started_at"]:
        screen.line(
            (
                f"from {format_time(document['started_at'])[:10]} to {format_time(document['last_at'])[:10]}",
                "dim",
            )
        )
    _show_sources(screen, document)
