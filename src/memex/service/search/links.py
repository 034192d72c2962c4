"""memory_links: the links between files, and the citations of messages in them."""

from collections.abc import Collection
from typing import Annotated, Literal

from pydantic import Field

from memex.service.snapshots import AsOf
from memex.service.tools.files import EVIDENCE, LinkKind, Path, cited_in
from memex.service.tools.tool import Arguments, ReadAnswer, ReadTool, ResultPart
from memex.store.citations.syntax import CitedPlace, message_reference
from memex.store.log.call import CallAnswer
from memex.store.memory import Memory
from memex.store.records import Link
from memex.subagent.statements.places import mount_of


class LinksArguments(Arguments):
    """Follow the [[links]] of a memory file: to other files, from other files, or both."""

    path: Path
    direction: Annotated[
        Literal["out", "in", "both"], Field(description="Links from it, to it, or both.")
    ] = "both"
    depth: Annotated[int, Field(ge=1, le=5, description="How many hops to go.")] = 1
    as_of: AsOf | None = None


class LinkResult(ResultPart):
    """A link between two files; where none stands, `target` is what was written.

    `kind` is `evidence` for a citation of a message in a conversation. The owner of the conversation gets the
    message as `target`, and for the owner alone it `exists`; others read that there is evidence.
    """

    source: str
    target: str
    heading: str | None
    exists: bool
    hop: int
    kind: LinkKind = "file"


class LinksResult(ReadAnswer):
    """Links, the nearest first."""

    links: list[LinkResult]


def _target(link: Link) -> dict[str, str]:
    return {"target": link.target} if link.exists else {}


def _link(link: Link, own: Collection[tuple[str, CitedPlace]]) -> LinkResult:
    """Return a link; `own` are the citations of the caller's conversations, each with the mount of its file."""
    found = LinkResult.taken_from(link, kind="file")
    if not (cited := cited_in(link)):
        return found
    is_own = (mount_of(link.source), cited[0]) in own
    target = message_reference(*cited[0]) if is_own else EVIDENCE
    return found.model_copy(update={"target": target, "heading": None, "exists": is_own, "kind": EVIDENCE})


async def links(memory: Memory, arguments: LinksArguments) -> CallAnswer:
    """Answer memory_links. The log keeps no heading, and no target where no file stands: they are text."""
    found = await memory.links(arguments.path, direction=arguments.direction, depth=arguments.depth)
    cited = [place for link in found for place in cited_in(link)]
    own = await memory.evidence.own_citations(cited) if cited else set()
    result = LinksResult(links=[_link(link, own) for link in found]).body()
    logged = {"links": [{"source": link.source, "hop": link.hop} | _target(link) for link in found]}
    return CallAnswer(result, arguments.canonical(), logged)


LINKS = ReadTool("memory_links", LinksArguments, LinksResult, links)
