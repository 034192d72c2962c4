"""The model planner: a chat model plans; if it fails, the built-in planner plans instead."""

import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from functools import cache
from importlib.metadata import version
from typing import Any, TypeVar

import structlog

from memex.errors import LimitExceeded, MemexError, ModelUnavailable
from memex.settings import ModelMode
from memex.subagent import prompts
from memex.subagent.breaker import Breaker, is_not_asked
from memex.subagent.builtin import BuiltinPlanner
from memex.subagent.limits import Limits, Meter
from memex.subagent.memory_tools import MemoryTools
from memex.subagent.model.ask import ModelSession
from memex.subagent.model.chat import ChatModel
from memex.subagent.model.context import is_sure, plan_context
from memex.subagent.model.remember import plan_remember
from memex.subagent.planner import ContextPlan, ContextRequest, RememberPlan, RememberRequest
from memex.subagent.prompts import Prompt
from memex.subagent.remember.forgetting import with_forgetting
from memex.subagent.remember.old_values import with_old_value
from memex.subagent.remember.reading import read_text
from memex.subagent.statements.forgetting import ForgetRequest, find_forget_request

P = TypeVar("P")

CONTEXT, REMEMBER = "context", "remember"  # what the model is asked for; each has a breaker of its own
USES = (CONTEXT, REMEMBER)
MAX_TOOL_FAILURES = 2  # after so many failures in a row, the model is asked without tools
WITHOUT_TOOLS_S = 600.0  # and so long; it may have been replaced by one that manages them
PICK = 0.1  # what a pick adds to the score of its line, unless a setting says otherwise

_log = structlog.get_logger("memex.model")


@cache
def client_version() -> str:
    """Return what makes the bytes of a request out of messages."""
    return f"pydantic-ai-{version('pydantic-ai-slim')}"


@dataclass(slots=True)
class _Downgrade:
    """The time for which a model is asked without tools, since it has misused them."""

    failures: int = 0
    until_s: float = 0.0

    def holds(self) -> bool:
        """Tell whether it holds now; when it is over, one more failure begins it anew."""
        return self.failures >= MAX_TOOL_FAILURES and time.monotonic() < self.until_s

    def add_failure(self) -> None:
        """Count a call in which the model misused its tools."""
        self.failures += 1
        self.until_s = time.monotonic() + WITHOUT_TOOLS_S

    def end(self) -> None:
        """Note that the model has managed its tools."""
        self.failures = 0


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
        pick: float = PICK,
        lead: float = 0.0,
        load: Callable[[str], Prompt] = prompts.load,
        capabilities: Sequence[Any] = (),
        breakers: Mapping[str, Breaker] | None = None,
    ) -> None:
        """Make one; the model is not asked yet.

        Args:
            chat: the model.
            builtin: finds the lines among which the model picks, and plans if the model fails.
            limits: the limits of one call.
            mode: whether the model may call tools; `auto` finds out whether it can.
            pick: what a pick adds to the score of a line, at least 0; a line that fits well has about 1.
            lead: the model is not asked for a context whose best line leads the next by so much; 0 asks always.
            load: gives a prompt by its name.
            capabilities: the capabilities of the pydantic-ai agents, such as tracing.
            breakers: say whether the model is asked, for `CONTEXT` and `REMEMBER`; None if it always is.
        """
        self._chat = chat
        self._builtin = builtin
        self._limits = limits or Limits()
        self._mode = mode
        self._pick = pick
        self._lead = lead
        self._load = load
        self._capabilities = tuple(capabilities)
        self._breakers = breakers or {}
        self._downgrades = {use: _Downgrade() for use in USES}

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
        config = {
            "model": self.name,
            "mode": self._mode,
            "pick": self._pick,
            "lead": self._lead,
            "limits": limits,
            "client": client_version(),
        }
        return config if self._chat.profile is None else config | {"profile": self._chat.profile}

    def with_prompt(self, prompt: Prompt) -> "ModelPlanner":
        """Return the same with this prompt in the place of its own."""
        return ModelPlanner(
            self._chat,
            self._builtin,
            limits=self._limits,
            mode=self._mode,
            pick=self._pick,
            lead=self._lead,
            load=lambda _: prompt,
            capabilities=self._capabilities,
        )

    async def plan_context(self, request: ContextRequest, tools: MemoryTools) -> ContextPlan:
        """Return lines that answer a query within its budget; if the model fails, those of the rules.

        An empty memory, one in which no line was found by a model without tools, and one in which a line leads all
        others need no model.
        """
        pool = await self._builtin.find_lines(request, tools)
        is_asked = bool(pool.lines) or (pool.survey.query.chunks > 0 and self._has_tools(CONTEXT))
        if not is_asked or is_sure(pool, self._lead):
            return self._builtin.select(pool, request)
        prompt = self._load("context")

        async def plan(session: ModelSession, with_tools: bool) -> ContextPlan:
            return await plan_context(
                request, pool, self._builtin, prompt, session, worth=self._pick, with_tools=with_tools
            )

        try:
            return await self._planned(plan, await self._session(CONTEXT, tools), CONTEXT)
        except (ModelUnavailable, LimitExceeded) as error:
            return replace(self._builtin.select(pool, request), failure=self.failed(error))
        finally:
            tools.reset_operations()  # the picked lines must still be read, however much the model has read

    async def plan_remember(self, request: RememberRequest, tools: MemoryTools) -> RememberPlan:
        """Return where the statements of a text belong; if the model fails, the built-in planner's plan.

        Rules decide what a request to forget takes out. The model sees one only in a text that states more.
        """
        asked = find_forget_request(request.text)
        if asked is not None and not await _states_beside(request, asked):
            return await self._builtin.plan_remember(request, tools)
        prompt = self._load("remember")

        async def plan(session: ModelSession, with_tools: bool) -> RememberPlan:
            planned = await plan_remember(request, self._builtin, prompt, session, with_tools=with_tools)
            if asked is None:
                return planned
            forgetting = await self._builtin.plan_forgetting(asked, request, tools)
            analyzer = self._builtin.analyzer
            return with_old_value(with_forgetting(planned, asked, forgetting, analyzer), asked, analyzer)

        try:
            return await self._planned(plan, await self._session(REMEMBER, tools), REMEMBER)
        except (ModelUnavailable, LimitExceeded) as error:
            tools.reset_operations()
            chosen = await self._builtin.plan_remember(request, tools)
            return replace(chosen, failure=self.failed(error))

    async def _session(self, use: str, tools: MemoryTools) -> ModelSession:
        """Return the session of one call, which may take as long as its use allows, without loading the client."""
        with suppress(Exception):  # what is wrong with it is said when it is asked
            await self._chat.model()
        limits = self._limits.of_context if use == CONTEXT else self._limits
        return ModelSession(
            self._chat, Meter(limits), tools, self._capabilities, breaker=self._breakers.get(use)
        )

    def _has_tools(self, use: str) -> bool:
        """Tell whether the model is asked with tools now."""
        return self._mode == "tools" or (self._mode == "auto" and not self._downgrades[use].holds())

    async def _planned(
        self, plan: Callable[[ModelSession, bool], Awaitable[P]], session: ModelSession, use: str
    ) -> P:
        """Return a plan made with tools, or without them if the model is known not to manage them."""
        meter, downgrade = session.meter, self._downgrades[use]
        if not self._has_tools(use):
            return await plan(session, False)
        meter.reserved = 1 if self._mode == "auto" and self._limits.requests > 2 else 0
        try:
            planned = await plan(session, True)
        except ModelUnavailable as error:
            if self._mode != "auto" or not error.details.get("is_misuse"):
                raise
            downgrade.add_failure()
        else:
            downgrade.end()
            return planned
        meter.reserved = 0
        session.tools.reset_operations()
        return await plan(replace(session, repairs=0), False)

    @staticmethod
    def reason(error: MemexError) -> str:
        """Return why a model gave no plan."""
        return str(error.details.get("reason", error.code))

    def failed(self, error: MemexError) -> str:
        """Report that the model gave no plan, and return why; that it is left alone was reported once."""
        reason = self.reason(error)
        if not is_not_asked(error):
            _log.warning("model_gave_no_plan", model=self.name, reason=reason)
        return reason


async def _states_beside(request: RememberRequest, asked: ForgetRequest) -> bool:
    """Tell whether a text states something outside a request to forget."""
    reading = await read_text(request)
    return any(
        statement.end <= asked.start or statement.start >= asked.end for statement in reading.statements
    )
