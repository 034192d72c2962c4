"""The filters that limit a search to some messages."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from memex.store.conversations.records import Role


@dataclass(frozen=True, slots=True)
class MessageFilters:
    """Conditions on the messages that a search looks at; they do not change what a word is worth.

    Attributes:
        source: the label or the kind of the source.
        project: the label that the provider gave the conversation's project.
        all_branches: also the branches that were given up.
    """

    source: str | None = None
    project: str | None = None
    role: Role | None = None
    since: datetime | None = None
    until: datetime | None = None
    conversation_id: str | None = None
    human: bool = False
    all_branches: bool = False

    def parameters(self) -> dict[str, Any]:
        """Return the parameters of a statement that filters."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__}

    def allows(self, message: Mapping[str, Any]) -> bool:
        """Tell whether a message on the path, beside one that passes in the same conversation, passes too."""
        said_at = message["said_at"]
        return (
            (self.role is None or message["role"] == self.role)
            and (not self.human or message["human_authored"])
            and (self.since is None or (said_at is not None and said_at >= self.since))
            and (self.until is None or (said_at is not None and said_at < self.until))
        )

    @property
    def names(self) -> list[str]:
        """The names of the filters that are in force."""
        nothing = MessageFilters()
        return [name for name in self.__dataclass_fields__ if getattr(self, name) != getattr(nothing, name)]

    @property
    def are_set(self) -> bool:
        """Return whether the filters leave out anything that a search without them would find."""
        return replace(self, all_branches=False) != MessageFilters()
