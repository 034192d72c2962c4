"""Dreams: what may be tidied in a mount, the proposals, and what a person decides about them."""

from typing import Annotated

from fastapi import Path, Query
from pydantic import Field

from memex.http.parsing import RequestBody
from memex.http.routers import RouterPair
from memex.service.dreams.operations import Decision, Mount, ProposalShown
from memex.service.dreams.results import (
    ChoicesResult,
    DecidedGroups,
    DreamResult,
    HealthReport,
    Mode,
    ProposalListResult,
)
from memex.service.tools.tool import example
from memex.subagent.dream.edits import EditKind

PAIR = RouterPair("/dreams", "dreams", as_admin=" as an admin")

MountQuery = Annotated[
    str | None,
    Query(
        description="user, shared or projects/<slug>; by default the project of the call, or the user's files."
    ),
]
ProposalPath = Annotated[str, Path(description="The id of a proposal.")]


class RunBody(RequestBody):
    """A dream over a mount."""

    model_config = example(dry_run=True)

    mount: Mount = None
    dry_run: Annotated[bool, Field(description="Show what would be proposed, and write nothing at all.")] = (
        False
    )


class DecideGroupsBody(RequestBody):
    """A decision about groups of a proposal."""

    model_config = example(decision="apply", groups=[1])

    decision: Decision
    groups: Annotated[list[int] | None, Field(max_length=40, description="By default all.")] = None


class ChooseBody(RequestBody):
    """Who decides in a mount; what is absent stays as it is."""

    model_config = example(mode="propose")

    mount: Mount = None
    mode: Mode | None = None
    auto_kinds: Annotated[
        list[EditKind] | None, Field(description="What `auto` applies: duplicate, moved_link, archive.")
    ] = None
    pause_days: Annotated[int | None, Field(ge=0, le=3650, description="0 ends a pause.")] = None


@PAIR.operation("dream_report", summary="Show the health of a memory")
def report(mount: MountQuery = None) -> HealthReport:
    """Return what may be tidied in a mount, by kind, with the first places of each. Nothing is written."""


@PAIR.operation("dream_list", summary="List proposals")
def list_proposals() -> ProposalListResult:
    """Return the proposals of the caller's mounts, the newest first, without what they would change."""


@PAIR.operation("dream_run", summary="Dream over a mount")
def run(body: RunBody | None = None) -> DreamResult:
    """Propose what may be tidied in a mount: edits that code has proved to lose nothing, held against questions.

    A proposal that waits for a decision is returned in place of a new one.
    """


@PAIR.operation("dream_choose", summary="Choose who decides about dreams")
def choose(body: ChooseBody | None = None) -> ChoicesResult:
    """Choose whether dreams begin by themselves in a mount: `off`, `propose`, `auto`; without a choice, show it."""


@PAIR.operation("dream_show", summary="Show a proposal")
def show(proposal_id: ProposalPath) -> ProposalShown:
    """Return a proposal with its evidence, and with what it would change in the files as they stand."""


@PAIR.operation("dream_decide", summary="Decide about a proposal")
def decide(proposal_id: ProposalPath, body: DecideGroupsBody) -> DecidedGroups:
    """Apply, reject or revert groups of a proposal. Each group is one commit, which can be reverted by itself."""
