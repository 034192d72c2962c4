"""A run of the measurement: a service of its own, told chats, and their questions."""

from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from pathlib import Path

from memex.call_context import CallContext
from memex.errors import ValidationFailed
from memex.evals.planner.measure import PlannerFigures, measure, tell
from memex.evals.planner.picks import LivePicker, Picker, RecordedPicker, load_picks
from memex.evals.serving import ServingOptions, open_service
from memex.evals.told.questions import ToldChat
from memex.service.chunk_embedding import backfill
from memex.settings import Settings
from memex.store.identity import tenants
from memex.store.identity.authentication import Principal
from memex.wiring import chat_models, model_limits


async def run(
    chats: Sequence[ToldChat],
    budgets: Sequence[int],
    *,
    every: int = 1,
    embedder: str | None = None,
    model: str | None = None,
    record: Path | None = None,
    replay: Path | None = None,
    picks: bool = True,
    lead: float = 0.0,
    say: Callable[[str], None] = lambda line: None,  # noqa: ARG005  # it says nothing
) -> PlannerFigures:
    """Tell each chat to a user of its own, and return what its questions bring.

    Args:
        chats: what is told and asked.
        budgets: of the contexts, in characters.
        every: each such question is asked.
        embedder: by which search compares meaning too; None for words alone.
        model: picks lines too; None for the rules, the oracle and the bad pickers alone.
        record: a file to which each answer of the model is added.
        replay: such a file, which may be compressed; it answers in place of a model.
        picks: whether the oracle and the bad pickers pick; else the rules answer alone.
        lead: nobody picks where the best line leads the next by so much; see `is_sure`.
        say: takes a line about how far the run is.

    Raises:
        ValidationFailed: there is no such model, or something that it needs is missing; or `replay` cannot be
            read, or lacks a question.
    """
    figures = PlannerFigures()
    picker: Picker | None = None if replay is None else load_picks(replay)
    async with AsyncExitStack() as held:
        if model is not None:
            picker = live = _live_picker(Settings(MEMEX_MODEL=model), record)
            held.push_async_callback(live.chat.close)
        service = await held.enter_async_context(open_service(ServingOptions(embedder=embedder)))
        tenant_id = await tenants.ensure_tenant(service.database, "default")
        for chat in chats:
            caller = await service.caller(
                Principal(tenant_id, "agent"), CallContext(user_id=chat.user_id), makes_user=True
            )
            await tell(service, caller, chat)
            if service.embedder is not None:
                await backfill(service.database, service.embedder)
            for question in chat.questions[::every]:
                await measure(
                    service, caller, question, budgets, figures, picker=picker, picks=picks, lead=lead
                )
            say(f"{chat.user_id}: {figures.questions} questions were asked")
    return figures


def _live_picker(settings: Settings, record: Path | None) -> LivePicker:
    chat = chat_models(settings)[0]
    if chat is None:
        raise ValidationFailed("builtin is no model.", hint="Name one, such as openai:gpt-5-mini.")
    recorded = load_picks(record) if record is not None and record.exists() else RecordedPicker({})
    return LivePicker(chat, model_limits(settings).of_context, record, recorded)
