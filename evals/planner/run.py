"""A run of the measurement: a service of its own, told chats, and their questions."""

from collections.abc import Callable, Sequence

from memex.call_context import CallContext
from memex.evals.planner.measure import PlannerFigures, measure, tell
from memex.evals.serving import ServingOptions, open_service
from memex.evals.told.questions import ToldChat
from memex.service.chunk_embedding import backfill
from memex.settings import Settings
from memex.store.identity import tenants
from memex.store.identity.authentication import Principal
from memex.wiring import chat_models


async def run(
    chats: Sequence[ToldChat],
    budgets: Sequence[int],
    *,
    every: int = 1,
    embedder: str | None = None,
    model: str | None = None,
    picks: bool = True,
    say: Callable[[str], None] = lambda line: None,  # noqa: ARG005  # it says nothing
) -> PlannerFigures:
    """Tell each chat to a user of its own, and return what its questions bring.

    Args:
        chats: what is told and asked.
        budgets: of the contexts, in characters.
        every: each such question is asked.
        embedder: by which search compares meaning too; None for words alone.
        model: picks lines too; None for the rules, the oracle and the bad pickers alone.
        picks: whether the oracle and the bad pickers pick; else the rules answer alone.
        say: takes a line about how far the run is.

    Raises:
        ValidationFailed: there is no such model, or something that it needs is missing.
    """
    figures = PlannerFigures()
    chat_model = None if model is None else chat_models(Settings(MEMEX_MODEL=model))[0]
    async with open_service(ServingOptions(embedder=embedder)) as service:
        tenant_id = await tenants.ensure_tenant(service.database, "default")
        for chat in chats:
            caller = await service.caller(
                Principal(tenant_id, "agent"), CallContext(user_id=chat.user_id), makes_user=True
            )
            await tell(service, caller, chat)
            if service.embedder is not None:
                await backfill(service.database, service.embedder)
            await measure(
                service, caller, chat.questions[::every], budgets, figures, chat=chat_model, picks=picks
            )
            say(f"{chat.user_id}: {figures.questions} questions were asked")
    return figures
