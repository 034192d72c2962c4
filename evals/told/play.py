"""Telling a service the texts of chats over HTTP and asking it for contexts, as a user's client does."""

import asyncio
import json
import os
import sys
from collections import Counter
from collections.abc import AsyncIterator, Callable, Collection, Coroutine, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal

from memex.api.memex import Memex
from memex.evals.bench.felt.processes import clean_environment, memex_service
from memex.evals.dream.applying import dream_until_none, say_twice
from memex.evals.fixtures.data_folder import temporary_data_folder
from memex.evals.told.questions import ToldChat, ToldQuestion

Mode = Literal["words", "default"]
Moment = Literal["at once", "indexed", "said twice", "dreamt"]
Count = Callable[[str, ToldQuestion, int, str], None]  # takes who answered, and the context in a budget
Say = Callable[[str], None]

EMBEDDERS: dict[Mode, str] = {"words": "none", "default": "auto"}
MOMENTS: tuple[Moment, ...] = ("at once", "indexed")
SAID_TWICE: Moment = "said twice"
DREAMT: Moment = "dreamt"
ACTOR = "told"
POLL_S = 2.0
INDEX_PATIENCE_S = 1_800.0


@dataclass(frozen=True, slots=True)
class ToldService:
    """A service that runs, and what its commands need."""

    client: Memex
    environment: dict[str, str]

    async def tell(self, chat: ToldChat) -> None:
        """Have a user remember the texts of a chat, one after the other."""
        memory = self.client.for_user(chat.user_id, actor=ACTOR)
        for number, text in enumerate(chat.texts):
            await memory.remember(text, tool_call_id=f"told-{number}")

    async def ask(self, chat: ToldChat, budgets: Sequence[int], way: str, count: Count) -> None:
        """Ask the questions of a chat with each budget."""
        memory = self.client.for_user(chat.user_id, actor=ACTOR)
        for question in chat.questions:
            for budget in budgets:
                answer = await memory.context(question.text, budget=budget)
                count(way, question, budget, answer.context or "")

    async def say_twice(self, chat: ToldChat) -> None:
        """Put statements of a chat into a second page."""
        await say_twice(self.client.for_user(chat.user_id, actor=ACTOR))

    async def dream(self, chat: ToldChat) -> Counter[str]:
        """Dream and apply until nothing more is proposed; return how many groups were applied, by kind."""
        memory = self.client.for_user(chat.user_id, actor=ACTOR)
        return await dream_until_none(memory.dreams)

    async def await_indexed(self, patience_s: float) -> bool:
        """Wait until nothing is left to embed, and tell whether that came before the patience ended."""
        try:
            async with asyncio.timeout(patience_s):
                while not is_indexed(await self.index_status()):  # noqa: ASYNC110  # the service tells nobody
                    await asyncio.sleep(POLL_S)
        except TimeoutError:
            return False
        return True

    async def index_status(self) -> dict[str, Any]:
        """Return what `memex index status --json` prints."""
        command = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "memex", "index", "status", "--json"),
            env=self.environment,
            stdout=asyncio.subprocess.PIPE,
        )
        printed, _ = await command.communicate()
        status: dict[str, Any] = json.loads(printed)
        return status


@asynccontextmanager
async def told_service(mode: Mode) -> AsyncIterator[ToldService]:
    """Run `memex serve` on an empty memory until the end of the block."""
    with (
        temporary_data_folder() as data_dir,
        memex_service(data_dir, MEMEX_EMBEDDER=EMBEDDERS[mode], MEMEX_JOURNAL=_journal()) as process,
    ):
        async with Memex(url=process.url, api_key=process.key) as client:
            yield ToldService(client, _environment(data_dir, mode))


async def play(
    chats: Sequence[ToldChat],
    mode: Mode,
    moments: Collection[Moment],
    budgets: Sequence[int],
    count: Count,
    say: Say,
    at_a_time: int,
) -> None:
    """Tell a new service all chats and ask their questions.

    "At once" is after the last text of a chat, while other chats are still told; "indexed" is when all chats were
    told and nothing is left to embed; "said twice" is later, when some statements were written into a second page,
    and "dreamt" when all proposals of dreams were applied behind that.

    Args:
        chats: what is told, each by a user of its own.
        mode: how the service searches.
        moments: when the questions are asked.
        budgets: of the contexts, in characters.
        count: takes each context.
        say: takes a line about how far the run is.
        at_a_time: how many chats are told and asked about at the same time, each in its order.
    """
    places = asyncio.Semaphore(at_a_time)
    async with told_service(mode) as service:

        async def tell_and_ask(chat: ToldChat) -> None:
            async with places:
                await service.tell(chat)
                if "at once" in moments:
                    await service.ask(chat, budgets, f"service, {mode}, at once", count)
                say(f"{mode}: {chat.user_id} was told")

        async def ask_again(chat: ToldChat, moment: Moment) -> None:
            async with places:
                await service.ask(chat, budgets, f"service, {mode}, {moment}", count)

        async def dream(chat: ToldChat) -> None:
            async with places:
                say(f"{mode}: dreams of {chat.user_id}: {dict(await service.dream(chat))}")

        await _each(tell_and_ask, chats)
        if "indexed" in moments:
            if await service.await_indexed(INDEX_PATIENCE_S):
                say(f"{mode}: all texts are indexed")
                await _each(partial(ask_again, moment="indexed"), chats)
            else:
                say(
                    f"{mode}: not indexed after {INDEX_PATIENCE_S:,.0f} seconds, so these figures are left out"
                )
        for moment, work in ((SAID_TWICE, service.say_twice), (DREAMT, dream)):
            if moment in moments:
                await _each(work, chats)
                if await service.await_indexed(INDEX_PATIENCE_S):
                    await _each(partial(ask_again, moment=moment), chats)


async def _each(work: Callable[[ToldChat], Coroutine[Any, Any, None]], chats: Sequence[ToldChat]) -> None:
    async with asyncio.TaskGroup() as group:
        for chat in chats:
            group.create_task(work(chat))


def is_indexed(status: dict[str, Any]) -> bool:
    """Tell whether the status of an index leaves nothing to embed: a service by words embeds nothing."""
    if status["embedder"] is None:
        return True
    missing = sum(model["missing"] for model in status["models"] if model["is_current"])
    return not (missing or status["jobs"]["waiting"] or status["jobs"]["running"])


def _journal() -> str:
    """Return whether the service keeps the journal: as the environment of the measure says, by default not."""
    return os.environ.get("MEMEX_JOURNAL", "on")


def _environment(data_dir: Path, mode: Mode) -> dict[str, str]:
    return clean_environment() | {"MEMEX_DATA_DIR": str(data_dir), "MEMEX_EMBEDDER": EMBEDDERS[mode]}
