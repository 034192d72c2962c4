"""Dreams over the mounts of a user: `memory.dreams.run()` and `memory.dreams.decide(proposal_id, "apply")`."""

from collections.abc import Sequence

from memex.api.user_calls import UserCalls
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

    async def report(self, mount: str | None = None) -> HealthReport:
        """Return the health of a memory: what may be tidied, by kind."""
        return await self._run(HealthReport, "dream_report", mount=mount)

    async def run(self, mount: str | None = None, *, dry_run: bool = False) -> DreamResult:
        """Propose what may be tidied; with `dry_run` nothing at all is written."""
        return await self._run(DreamResult, "dream_run", mount=mount, dry_run=dry_run)

    async def list(self) -> list[ProposalResult]:
        """Return the proposals, the newest first."""
        return (await self._run(ProposalListResult, "dream_list")).proposals

    async def show(self, proposal_id: str) -> ProposalResult:
        """Return a proposal, with what it would change in the files as they stand."""
        return (await self._run(ProposalShown, "dream_show", proposal_id=proposal_id)).proposal

    async def decide(
        self,
        proposal_id: str,
        decision: Decision,
        groups: Sequence[int] | None = None,
        *,
        tool_call_id: str | None = None,
    ) -> DecidedGroups:
        """Apply, reject or revert groups of a proposal; by default all."""
        chosen = None if groups is None else [*groups]
        return await self._run(
            DecidedGroups,
            "dream_decide",
            tool_call_id,
            proposal_id=proposal_id,
            decision=decision,
            groups=chosen,
        )

    async def choose(
        self,
        mount: str | None = None,
        *,
        mode: Mode | None = None,
        auto_kinds: Sequence[str] | None = None,
        pause_days: int | None = None,
    ) -> ChoicesResult:
        """Choose whether dreams begin by themselves in a mount, and what is applied by itself."""
        kinds = None if auto_kinds is None else [*auto_kinds]
        return await self._run(
            ChoicesResult, "dream_choose", mount=mount, mode=mode, auto_kinds=kinds, pause_days=pause_days
        )
