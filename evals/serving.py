"""The Memex that cases are asked of: over a server of the run's own, a given database, or this machine's own."""

from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Any

from memex.evals.fixtures.data_folder import temporary_data_folder
from memex.evals.recordings import PlaybackPlanner
from memex.service.planners import Planners
from memex.service.service import Service
from memex.settings import Settings, read_settings
from memex.subagent.planner import BUILTIN
from memex.wiring import running_service


@dataclass(frozen=True, slots=True)
class ServingOptions:
    """The place where a run happens, and the planner there.

    Attributes:
        model: plans; `builtin` for the rules.
        is_recorded: the model's answers are played from recordings.
        database_url: of a database to use. Others' memory in it stays as it is.
        is_own: use the database of this machine's own Memex.
        concurrency: calls at a time.
        language: of the memories.
        planners: plan in place of the model, such as those of a `CandidateWatch`.
        embedder: by which search compares meaning too; None for words alone.
    """

    model: str = BUILTIN
    is_recorded: bool = False
    database_url: str | None = None
    is_own: bool = False
    concurrency: int = 4
    language: str = "english"
    planners: Planners | None = None
    embedder: str | None = None

    @property
    def keeps_runs(self) -> bool:
        """Return whether the database stays, so that runs can be kept in it."""
        return self.is_own or self.database_url is not None


@asynccontextmanager
async def open_service(options: ServingOptions) -> AsyncIterator[Service]:
    """A service as users run it, but for what would make two runs differ: it searches by words if nothing is said.

    Raises:
        ValidationFailed: there is no such model, or something that it needs is missing.
        StoreUnavailable: the hint says what to do.
    """
    fixed: dict[str, Any] = {
        "MEMEX_MODEL": BUILTIN if options.is_recorded else options.model,
        "MEMEX_CONTEXT_MODEL": None,
        "MEMEX_REMEMBER_MODEL": None,
        "MEMEX_SEARCH_MODE": "bm25" if options.embedder is None else "auto",
        "MEMEX_LANGUAGE": options.language,
        "MEMEX_EMBEDDER": options.embedder,
        "MEMEX_CONTEXT_INCLUDE": None,
        "MEMEX_MAX_CONNECTIONS": 2 * options.concurrency + 2,
    }
    with ExitStack() as stack:
        if options.database_url is not None:
            fixed["DATABASE_URL"] = options.database_url
        elif not options.is_own:
            fixed |= {"DATABASE_URL": None, "MEMEX_DATA_DIR": stack.enter_context(temporary_data_folder())}
        read_settings()  # which says in our words what does not fit
        settings = Settings(**fixed)
        async with running_service(settings) as service:
            planners = options.planners
            if options.is_recorded:
                player = PlaybackPlanner(options.model)
                planners = Planners(player, player)
            if planners is None:
                yield service
                return
            yield Service(
                service.database,
                max_files=settings.max_files,
                language=options.language,
                planning=planners,
                embedder=service.embedder,
                min_confidence=settings.context_min_confidence,
                keeps_journal=settings.journal == "on",
            )
