"""Erasing words for good, from Python: `memory.erasures.erase(text=…)` shows it, and with `confirm` does it."""

from memex.api.user_calls import UserCalls, operation
from memex.service.erasing.erase import ERASE, VERIFY, EraseResult, ErasureReceipt, VerifyResult


class Erasures(UserCalls):
    """The erasures of one user. In this process a person acts; over HTTP an agent's key gets Forbidden."""

    @operation(ERASE.name)
    async def erase(
        self,
        *,
        text: str | None = None,
        path: str | None = None,
        call: str | None = None,
        statement: str | None = None,
        conversations: bool = False,
        confirm: str | None = None,
    ) -> EraseResult:
        """Return what an erasure would take; with the `confirm` of that, erase it. One of the first four is given.

        Raises:
            PreviewOutdated: the words are not those that the preview showed.
        """

    @operation(VERIFY.name)
    async def verify(self, receipt: ErasureReceipt) -> VerifyResult:
        """Check a receipt: whether the database has it, and whether the words are gone."""
