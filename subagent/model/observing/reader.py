"""The chat model that reads sessions for work: with its limits and its prompt."""

from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any

from memex.errors import MemexError
from memex.subagent import prompts
from memex.subagent.limits import Limits, Meter
from memex.subagent.memory_tools import MemoryTools
from memex.subagent.model.ask import ModelSession
from memex.subagent.model.chat import ChatModel
from memex.subagent.model.observing.asking import ask_about
from memex.subagent.model.observing.quotations import CheckedAnswer, QuotableMessage
from memex.subagent.model.planner import client_version
from memex.subagent.prompts import Prompt
from memex.subagent.work.answers import reader_name

PROMPT = "work"


class WorkReader:
    """Asks a chat model what messages say about work, and has code check what it answers."""

    def __init__(
        self,
        chat: ChatModel,
        *,
        limits: Limits | None = None,
        load: Callable[[str], Prompt] = prompts.load,
        capabilities: Sequence[Any] = (),
    ) -> None:
        """Make one; the model is not asked yet.

        Args:
            chat: the model.
            limits: the limits of one call.
            load: gives a prompt by its name.
            capabilities: the capabilities of the pydantic-ai agents, such as tracing.
        """
        self.chat = chat
        self._limits = limits or Limits()
        self.prompt = load(PROMPT)
        self._capabilities = tuple(capabilities)

    @property
    def name(self) -> str:
        """The name by which its answers are known: the version of the prompt, and the model."""
        return reader_name(self.prompt.version, self.chat.name)

    @property
    def seconds(self) -> float:
        """The seconds that one call may take."""
        return self._limits.seconds

    @property
    def config(self) -> dict[str, Any]:
        """The model, how it is asked, and what it may use; as the log has it."""
        limits = asdict(self._limits)
        if self._limits.usd is not None:
            limits["usd"] = float(self._limits.usd)
        prompt = f"{PROMPT}-{self.prompt.version}"
        return {"model": self.chat.name, "prompt": prompt, "limits": limits, "client": client_version()}

    async def read(self, messages: Sequence[QuotableMessage], tools: MemoryTools) -> CheckedAnswer:
        """Return what consecutive messages of a session say about work, as far as its quotations are right.

        Raises:
            ModelUnavailable: the model gave no answer, or none that can be used.
        """
        session = ModelSession(self.chat, Meter(self._limits), tools, self._capabilities)
        return await ask_about(messages, self.prompt, session)

    @staticmethod
    def reason(error: MemexError) -> str:
        """Return why a model gave no answer, in words without any text of a message."""
        return str(error.details.get("reason", error.code))
