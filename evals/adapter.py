"""The interface of a memory service that can be measured: two calls, over a state that it is given.

Memex itself is measured through this (`memex_adapter.py`), and any other service can be:

    class Texts(Placed):
        def __init__(self, state: State) -> None:
            self.texts = list(state.seen_by(state.default_user).values())

        async def remember(self, user, text, *, project, now):
            self.texts.append(text)
            return Remembered()

        async def context(self, user, query, *, budget, project, max_hops, now):
            return Recalled("".join(self.texts)[-budget:])

    class Service:
        name = "texts"

        @asynccontextmanager
        async def place(self, state: State):
            yield Texts(state)

`memex eval run context --service MODULE:Service` asks it. What a service cannot tell is None, and what a case
expects of that is reported as not applicable, never as passed.
"""

import sys
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from datetime import datetime
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

from memex.errors import ValidationFailed
from memex.service.evals.states import State


@dataclass(frozen=True, slots=True)
class Usage:
    """The usage of models by a call; `usd` None where no price is known."""

    requests: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    usd: float | None = 0.0

    def plus(self, other: "Usage") -> "Usage":
        """Return what both used."""
        usd = None if self.usd is None or other.usd is None else self.usd + other.usd
        return Usage(
            self.requests + other.requests,
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            usd,
        )


@dataclass(frozen=True, slots=True)
class Source:
    """A file that an answer is made of, why, and its passages, verbatim."""

    path: str
    reason: str | None = None
    passages: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Recalled:
    """The answer to a question.

    Attributes:
        context: the text that a model would be given.
        sources: the files that it is made of, the first one first; empty if nothing is recalled. If the service
            cannot tell them (None), an empty context means that nothing is recalled.
        error: the code with which the call was refused, instead of all that.
        seconds: that the call took.
        usage: of models.
        trace: what helps to see why, as JSON; kept in the run.
    """

    context: str = ""
    sources: tuple[Source, ...] | None = None
    error: str | None = None
    seconds: float | None = None
    usage: Usage | None = None
    trace: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Remembered:
    """The outcome for a text that was told.

    Attributes:
        status: committed, or nothing.
        skipped: the parts that were not written, each with the reason.
        error: see `Recalled`, as of the rest.
    """

    status: str | None = None
    skipped: tuple[tuple[str, str], ...] | None = None
    error: str | None = None
    seconds: float | None = None
    usage: Usage | None = None
    trace: dict[str, Any] = field(default_factory=dict)


class Unsupported(Exception):
    """The service has nothing of this kind: the case does not apply to it."""


class Placed(Protocol):
    """A service that holds a state, for the time of a case."""

    async def remember(self, user: str, text: str, *, project: str | None, now: datetime) -> Remembered:
        """Remember a text for a user."""
        ...

    async def context(
        self, user: str, query: str, *, budget: int, project: str | None, max_hops: int, now: datetime
    ) -> Recalled:
        """Recall what is known about a question, in at most `budget` characters.

        Args:
            user: who asks.
            query: the question.
            budget: of characters.
            project: to recall from, instead of all of the user's.
            max_hops: how far links are followed, of a service that knows links.
            now: the clock.
        """
        ...

    async def files(self, user: str) -> Mapping[str, str] | None:  # noqa: ARG002  # for those that can tell
        """Return the text of each file that a user may read, by path; None when the service cannot tell."""
        return None

    async def journal(self, user: str) -> Mapping[str, str]:  # noqa: ARG002  # for those that have one
        """Return what is kept beside the files, by entry; words that no context shows any more are blank."""
        return {}

    async def write(self, user: str, path: str, content: str, *, now: datetime) -> None:  # noqa: ARG002  # likewise
        """Put a whole file in its place.

        Raises:
            Unsupported: the service has no files.
        """
        raise Unsupported


class MemoryService(Protocol):
    """A service that can be measured."""

    name: str

    def place(self, state: State) -> AbstractAsyncContextManager[Placed]:
        """Put a state into a place of its own, and take it away at the end."""
        ...


def load_adapter(named: str) -> MemoryService:
    """Return the service that `MODULE:NAME` makes; modules are looked for in the current folder too.

    Raises:
        ValidationFailed: there is none, or it has no `name` and `place`.
    """
    module, _, name = named.partition(":")
    sys.path.insert(0, str(Path.cwd()))
    try:
        made = getattr(import_module(module), name)()
    except (ImportError, AttributeError, TypeError, ValueError) as error:
        raise ValidationFailed(
            f"--service {named}: {error}.",
            hint="Name a module and what makes the service in it: MODULE:NAME.",
        ) from None
    finally:
        sys.path.pop(0)
    if not hasattr(made, "name") or not hasattr(made, "place"):
        raise ValidationFailed(f"--service {named}: it has no name and place, as memex.evals.adapter says.")
    service: MemoryService = made
    return service
