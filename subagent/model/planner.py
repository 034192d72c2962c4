"""The model planner: a chat model plans; if it fails, the built-in planner plans instead."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import asdict, replace
from functools import cache
from importlib.metadata import version
from typing import Any, TypeVar

import structlog

from memex.errors import LimitExceeded, MemexError, ModelUnavailable
from memex.settings import ModelMode
from memex.subagent import prompts
from memex.subagent.builtin import BuiltinPlanner
from memex.subagent.distil.choices import StatementChoices, count_fitting
from memex.subagent.distil.reading import MessageReading
from memex.subagent.limits import Limits, Meter
from memex.subagent.memory_tools import MemoryTools
from memex.subagent.model.ask import ModelSession
from memex.subagent.model.chat import ChatModel
from memex.subagent.model.choosing import ShownMessage, choose_statements
from memex.subagent.model.context import CATALOGUE_CHARS, plan_context
from memex.subagent.model.remember import plan_remember
from memex.subagent.planner import ContextPlan, ContextRequest, RememberPlan, RememberRequest
from memex.subagent.prompts import Prompt
from memex.subagent.statements.forgetting import find_forget_request

P = TypeVar("P")

MAX_TOOL_FAILURES = 2  # after so many failures in a row, the model is asked without tools

_log = structlog.get_logger("memex.model")


@cache
def client_version() -> str:
    """Return what makes the bytes of a request out of messages."""
    return f"pydantic-ai-{version('pydantic-ai-slim')}"


class ModelPlanner:
    """Lets a chat model choose, and code check what it chose."""

    is_slow = True

    def __init__(
        self,
        chat: ChatModel,
        builtin: BuiltinPlanner,
        *,
        limits: Limits | None = None,
        mode: ModelMode = "auto",
        load: Callable[[str], Prompt] = prompts.load,
        capabilities: Sequence[Any] = (),
    ) -> None:
        """Make one; the model is not asked yet.

        Args:
            chat: the model.
            builtin: finds the passages from which the model chooses, and plans if the model fails.
            limits: the limits of one call.
            mode: whether the model may call tools; `auto` finds out whether it can.
            load: gives a prompt by its name.
            capabilities: the capabilities of the pydantic-ai agents, such as tracing.
        """
        self._chat = chat
        self._builtin = builtin
        self._limits = limits or Limits()
        self._mode = mode
        self._load = load
        self._capabilities = tuple(capabilities)
        self._bad_calls = 0

    @property
    def name(self) -> str:
        """The model's name."""
        return self._chat.name

    @property
    def config(self) -> dict[str, Any]:
        """The model, how it is asked, and what it may use."""
        limits = asdict(self._limits)
        if self._limits.usd is not None:
            limits["usd"] = float(self._limits.usd)
        config = {"model": self.name, "mode": self._mode, "limits": limits, "client": client_version()}
        return config if self._chat.profile is None else config | {"profile": self._chat.profile}

    def with_prompt(self, prompt: Prompt) -> "ModelPlanner":
        """Return the same with this prompt in the place of its own."""
        return ModelPlanner(
            self._chat,
            self._builtin,
            limits=self._limits,
            mode=self._mode,
            load=lambda _: prompt,
            capabilities=self._capabilities,
        )

    async def plan_context(self, request: ContextRequest, tools: MemoryTools) -> ContextPlan:
        """Return spans that answer a query within its budget; if the model fails, the built-in planner's."""
        candidates = await self._builtin.find_candidates(request, tools)
        chosen = self._builtin.choose(candidates, request)
        files = await tools.catalogue(max_chars=CATALOGUE_CHARS)
        if not files.count:
            return chosen
        prompt = self._load("context")

        async def plan(session: ModelSession, with_tools: bool) -> ContextPlan:
            return await plan_context(
                request, candidates, files, self._builtin, prompt, session, with_tools=with_tools
            )

        try:
            return await self._planned(plan, tools)
        except (ModelUnavailable, LimitExceeded) as error:
            return replace(chosen, failure=self.failed(error))
        finally:
            tools.reset_operations()  # the chosen passages must still be read, however much the model has read

    async def plan_remember(self, request: RememberRequest, tools: MemoryTools) -> RememberPlan:
        """Return where the statements of a text belong; if the model fails, the built-in planner's plan.

        A request to forget is never shown to the model: rules alone decide what is taken out.
        """
        asked = find_forget_request(request.text)
        if asked is not None and asked.is_sure:
            return await self._builtin.plan_remember(request, tools)
        prompt = self._load("remember")

        async def plan(session: ModelSession, with_tools: bool) -> RememberPlan:
            return await plan_remember(request, self._builtin, prompt, session, with_tools=with_tools)

        try:
            return await self._planned(plan, tools)
        except (ModelUnavailable, LimitExceeded) as error:
            tools.reset_operations()
            chosen = await self._builtin.plan_remember(request, tools)
            return replace(chosen, failure=self.failed(error))

    def count_readable(self, messages: Sequence[MessageReading]) -> int:
        """Return how many messages, from the first one on, `choose_statements` can show within its limits."""
        return count_fitting(
            messages, max(1, self._limits.requests - 1)
        )  # one may be needed to mend an answer

    async def choose_statements(
        self, messages: Sequence[ShownMessage], project: str | None, tools: MemoryTools
    ) -> StatementChoices:
        """Return which statements of messages are kept, and of what kind; the log keeps no answer of the model.

        Raises:
            ModelUnavailable: the model gave no answer, or named no statement that there is.
        """
        session = ModelSession(self._chat, Meter(self._limits), tools, self._capabilities)
        return await choose_statements(messages, project, self._load("distil"), session)

    async def _planned(self, plan: Callable[[ModelSession, bool], Awaitable[P]], tools: MemoryTools) -> P:
        """Return a plan made with tools, or without them if the model is known not to manage them."""
        meter = Meter(self._limits)
        session = ModelSession(self._chat, meter, tools, self._capabilities)
        if self._mode == "single" or (self._mode == "auto" and self._bad_calls >= MAX_TOOL_FAILURES):
            return await plan(session, False)
        meter.reserved = 1 if self._mode == "auto" and self._limits.requests > 2 else 0
        try:
            planned = await plan(session, True)
        except ModelUnavailable as error:
            if self._mode != "auto" or not error.details.get("is_misuse"):
                raise
            self._bad_calls += 1
        else:
            self._bad_calls = 0
            return planned
        meter.reserved = 0
        tools.reset_operations()
        return await plan(session, False)

    @staticmethod
    def reason(error: MemexError) -> str:
        """Return why a model gave no plan."""
        return str(error.details.get("reason", error.code))

    def failed(self, error: MemexError) -> str:
        """Report that the model gave no plan, and return why."""
        reason = self.reason(error)
        _log.warning("model_gave_no_plan", model=self.name, reason=reason)
        return reason
