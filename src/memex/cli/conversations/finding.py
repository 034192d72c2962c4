"""`memex conversations dig`, `keyword`, `semantic` and `similar`: find what was said."""

from dataclasses import asdict, dataclass, replace
from typing import Annotated, Any

import typer

from memex.cli.conversations import last_list
from memex.cli.conversations.options import (
    Format,
    FormatOption,
    ProviderProjectOption,
    SinceOption,
    SourceOption,
    UntilOption,
    in_format,
    parse_moment,
)
from memex.cli.output import CommandOutput, Screen, format_time, shorten
from memex.cli.session.commands import user_command
from memex.cli.session.session import CommandSession
from memex.errors import ValidationFailed

MAX_TITLE = 80
MAX_QUERY_CHARS = 10_000


LimitOption = Annotated[int, typer.Option(min=1, max=100, help="The largest number of results.")]


@dataclass(frozen=True, slots=True)
class MessageSearchOptions:
    """Arguments of all commands that search conversations."""

    query: Annotated[list[str], typer.Argument(metavar="QUERY...", help="A question, or some words.")]
    source: SourceOption = None
    of_project: ProviderProjectOption = None
    role: Annotated[str | None, typer.Option(help="Only messages of this role: user or assistant.")] = None
    since: SinceOption = None
    until: UntilOption = None
    conversation: Annotated[
        str | None, typer.Option(metavar="ID", help="Only messages of this conversation.")
    ] = None
    human: Annotated[bool, typer.Option("--human", help="Only what a person typed.")] = False
    all_branches: Annotated[
        bool, typer.Option("--all-branches", help="Also branches of conversations that were given up.")
    ] = False
    limit: LimitOption = 10
    explain: Annotated[
        bool, typer.Option("--explain", help="Show what each word adds to the score, and what was searched.")
    ] = False
    output_format: FormatOption = "panel"

    def asked(self) -> dict[str, Any]:
        """Return the arguments of the search."""
        asked = asdict(self) | {
            "query": " ".join(self.query),
            "since": parse_moment(self.since, "--since"),
            "until": parse_moment(self.until, "--until"),
            "project": self.of_project,
        }
        return {name: value for name, value in asked.items() if name not in ("of_project", "output_format")}


@user_command
async def dig(
    session: CommandSession,
    options: MessageSearchOptions,
    semantic_weight: Annotated[
        float | None,
        typer.Option(
            min=0, max=10, help="The weight of vectors, where words have the weight 1; 0.4 by default."
        ),
    ] = None,
) -> CommandOutput:
    """Find what was said in imported conversations, the best first: by words, and by vectors if there are any.

    Each result names its message, such as 9k2m4q7wtx3d#41. `memex conversations thread @3`
    reads around the third one.
    """
    return await _find(session, options, {"semantic_weight": semantic_weight})


@user_command
async def keyword(session: CommandSession, options: MessageSearchOptions) -> CommandOutput:
    """Find what was said in imported conversations by the words of the query alone."""
    return await _find(session, options, {"mode": "words"})


@user_command
async def semantic(
    session: CommandSession,
    options: MessageSearchOptions,
    min_score: Annotated[
        float | None,
        typer.Option(min=-1, max=1, help="Leave out results of a smaller cosine similarity, such as 0.5."),
    ] = None,
) -> CommandOutput:
    """Find what was said in imported conversations by meaning alone; needs the vectors of `backfill`."""
    return await _find(session, options, {"mode": "vectors", "min_score": min_score})


@user_command
async def similar(
    session: CommandSession,
    reference: Annotated[
        str,
        typer.Argument(metavar="ID#N|@N", help="A message by its number, or a result of the last search."),
    ],
    limit: LimitOption = 10,
    output_format: FormatOption = "panel",
) -> CommandOutput:
    """Find the messages whose meaning is nearest to that of a message; needs the vectors of `backfill`."""
    named = last_list.resolve(session, reference).removeprefix("conversations/")
    if not named.partition("#")[2]:
        raise ValidationFailed(
            f"{reference!r} names no message.", hint="Name one by its number, such as 9k2m4q7wtx3d#41."
        )
    unnamed = replace(session, tool_call_id=None)
    read = await unnamed.call("conversation_read", {"reference": named, "around": 0})
    [message] = read["messages"]
    asked = {"query": message["text"][:MAX_QUERY_CHARS], "mode": "vectors", "limit": min(limit + 1, 100)}
    asked |= {"near": named}
    found = await session.call("conversation_find", asked)
    found["hits"] = [hit for hit in found["hits"] if hit["reference"] != message["reference"]][:limit]
    return _output(session, found, output_format, explain=False)


async def _find(
    session: CommandSession, options: MessageSearchOptions, more: dict[str, Any]
) -> CommandOutput:
    found = await session.call("conversation_find", options.asked() | more)
    return _output(session, found, options.output_format, explain=options.explain)


def _output(
    session: CommandSession, found: dict[str, Any], output_format: Format, *, explain: bool
) -> CommandOutput:
    ids = [hit["reference"] for hit in found["hits"]]
    last_list.keep(session, ids)
    return in_format(
        output_format,
        found,
        ids,
        lambda screen: _show_hits(screen, session, found, explain=explain),
        is_empty=not found["hits"],
    )


def _show_hits(screen: Screen, session: CommandSession, found: dict[str, Any], *, explain: bool) -> None:
    for number, hit in enumerate(found["hits"], start=1):
        conversation, message = hit["conversation"], hit["message"]
        said_at = format_time(message["said_at"])[:16] if message["said_at"] else "no time"
        screen.line(
            (f"{number:>2}  ", "dim"),
            (shorten(conversation["title"], MAX_TITLE) or "(without a title)", "bold"),
            (f"  {conversation['source']['label']}, {message['role']}, {said_at}", "dim"),
        )
        screen.paragraph(hit["snippet"], indent=4)
        screen.line(("    " + hit["reference"].removeprefix("conversations/"), "cyan"))
        if hit.get("forgotten"):
            screen.line(("    says what was asked to be forgotten; contexts leave it out", "yellow"))
        if explain:
            words = ", ".join(f"{word} {score:,}" for word, score in hit["terms"].items())
            beside = ", ".join(f"{word} {score:,}" for word, score in hit["borrowed"].items())
            screen.line((f"    score {hit['score']:,}: {words}", "dim"))
            if hit["similarity"] is not None:
                screen.line((f"    similarity of its vector {hit['similarity']:.3f}", "dim"))
            if beside:
                screen.line((f"    from the messages beside it: {beside}", "dim"))
    if found["hits"]:
        screen.line(
            (f"Read around the first result with: {session.command('conversations', 'thread', '@1')}", "dim")
        )
    else:
        screen.line("Nothing was found.")
    for line in found["guidance"]:
        screen.line(line)
    screen.degraded(found)
    searched = found["searched"]
    if explain and searched:
        words = ", ".join(f"{word} ({count:,})" for word, count in searched["words"].items())
        screen.line((f"{searched['passages']:,} passages searched; words: {words}", "dim"))
