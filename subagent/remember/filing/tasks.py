"""The work that a draft does on a file, as plain data that can be called: a process may do it. Pure."""

from dataclasses import dataclass
from datetime import date

from memex.store.writes.edits import Revised
from memex.subagent.remember.filing.entries import Entry
from memex.subagent.remember.filing.page import RevisedFile, revise
from memex.subagent.statements.bullets import confirm


@dataclass(frozen=True, slots=True)
class Filing:
    """Files statements: `entries` go into the file, and `confirmed` hold as of `day`.

    `removals` go out of the file, each with what else it says, which stays.

    The other attributes are the arguments of `page.revise`.
    """

    path: str
    title: str
    entries: tuple[Entry, ...]
    removals: tuple[tuple[str, str], ...]
    confirmed: tuple[str, ...]
    day: date
    matches_paraphrases: bool

    def revise(self, content: str | None, later: frozenset[bytes] = frozenset()) -> RevisedFile:
        """Return the file with its statements filed, and what became of each."""
        return revise(
            content and confirm(content, self.confirmed, self.day),
            self.entries,
            title=self.title,
            path=self.path,
            removals=[text for text, _ in self.removals],
            kept=dict(self.removals),
            matches_paraphrases=self.matches_paraphrases,
            later=later,
        )

    def __call__(self, content: str | None, later: frozenset[bytes] = frozenset()) -> Revised:
        """Return the text of `revise`, none if there is no file and nothing to add, with the `RevisedFile`."""
        made = self.revise(content, later)
        return Revised(None if content is None and not made.content else made.content, made)
