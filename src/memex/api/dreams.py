"""Dreams over the mounts of a user: `memory.dreams.run()` and `memory.dreams.decide(proposal_id, "apply")`."""

from collections.abc import Sequence

from memex.api.user_calls import UserCalls, operation
from memex.service.dreams.operations import Decision, ProposalShown
from memex.service.dreams.results import (
    ChoicesResult,
    DecidedGroups,
    DreamResult,
    HealthReport,
    Mode,
    ProposalListResult,
    ProposalResult,
)


class Dreams(UserCalls):
    """The dreams of one user: signals in each mount, proposals, and decisions about them.

    A mount is `user`, `shared` or `projects/<slug>`; by default the project of the context, or the user's files.
    """

    @operation("dream_report")
    async def report(self, mount: str | None = None) -> HealthReport:
        """Return the health of a memory: what may be tidied, by kind."""

    @operation("dream_run")
    async def run(self, mount: str | None = None, *, dry_run: bool = False) -> DreamResult:
        """Propose what may be tidied; with `dry_run` nothing at all is written."""

    async def list(self) -> list[ProposalResult]:
        """Return the proposals, the newest first."""
        return (await self._run(ProposalListResult, "dream_list")).proposals

    async def show(self, proposal_id: str) -> ProposalResult:
        """Return a proposal, with what it would change in the files as they stand."""
        return (await self._run(ProposalShown, "dream_show", proposal_id=proposal_id)).proposal

    @operation("dream_decide")
    async def decide(
        self,
        proposal_id: str,
        decision: Decision,
        groups: Sequence[int] | None = None,
        *,
        tool_call_id: str | None = None,
    ) -> DecidedGroups:
        """Apply, reject or revert groups of a proposal; by default all."""

    @operation("dream_choose")
    async def choose(
        self,
        mount: str | None = None,
        *,
        mode: Mode | None = None,
        auto_kinds: Sequence[str] | None = None,
        pause_days: int | None = None,
    ) -> ChoicesResult:
        """Choose whether dreams begin by themselves in a mount, and what is applied by itself."""
