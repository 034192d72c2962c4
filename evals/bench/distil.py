"""The time in which messages become statements of memory, by rules."""

import os
import time
from datetime import UTC, datetime, timedelta
from typing import Any

from memex.evals.bench.workbench import Bench, RandomText, console, cpu_ns, tree_of
from memex.service.conversations import putting
from memex.service.conversations.putting import ConversationInput, SourceInput
from memex.service.distil import distil as distilling
from memex.service.distil.answer import DistilResult

MESSAGES_A_CONVERSATION = 20
FIRST_DAY = datetime(2025, 1, 1, tzinfo=UTC)
SOURCE = SourceInput(kind="bench")
# What people say in half of their messages; the other half asks something.
STATED = (
    "I prefer {} over {}.",
    "We decided to use {} for the {}.",
    "My {} is called {}.",
    "I need to send the {} to {}.",
    "The {} of the {} runs on Tuesdays.",
    "I live in {} and work for {}.",
)
ASKED = "How do I explain {} to the {}, and what would you change about it?"


async def bench_distil(bench: Bench, *, messages: int) -> None:
    """Distil so many messages, half of them the person's, into an empty memory, and again into what that made."""
    user = f"distiller-{messages}"
    caller = await bench.caller(user)
    for conversation in _conversations(bench.text, messages):
        await putting.put(bench.service, caller, SOURCE, [conversation])
    caller = await bench.caller(user)
    for name, again in (("an empty memory", False), ("what that made", True)):
        done, wall_s, cpu_s = await _distil(bench, caller, again=again)
        read = sum(extent.human_messages for part in done for extent in part.read)
        taken = sum(len(part.statements) for part in done)
        console.print(
            f"[bold]distil[/] {messages:,} messages into {name}: {wall_s:.1f} s, {cpu_s:.1f} s of CPU; "
            f"{read:,} messages of the person, {taken:,} statements, {len(done)} calls"
        )
    console.print()


async def _distil(bench: Bench, caller: Any, *, again: bool) -> tuple[list[DistilResult], float, float]:
    """Return the answers of all calls, and what they took: time, and CPU time with that of the backend."""
    before_ns = _cpu_ns(bench)
    done: list[DistilResult] = []
    started_s = time.perf_counter()
    while not done or done[-1].remaining:
        given = {"since": FIRST_DAY, "apply": True, "again": again and not done}
        done.append(await distilling.distil(bench.service, caller, given))
    wall_s = time.perf_counter() - started_s
    if not any(answer.statements for answer in done):
        raise RuntimeError("no statement was taken")
    return done, wall_s, (_cpu_ns(bench) - before_ns) / 1e9


def _cpu_ns(bench: Bench) -> int:
    """Return the CPU time of this process with those that read texts, and of the backend."""
    return sum(cpu_ns(pid) or 0 for pid in {*tree_of(os.getpid()), bench.backend_pid})


def _conversations(text: RandomText, messages: int) -> list[ConversationInput]:
    """Return conversations in which a person and an assistant speak in turn, an hour apart."""
    found = []
    for first in range(0, messages, MESSAGES_A_CONVERSATION):
        numbers = range(first, min(messages, first + MESSAGES_A_CONVERSATION))
        said = [
            {
                "id": f"m{number}",
                "role": "assistant" if number % 2 else "user",
                "text": _answer(text) if number % 2 else _said(text, number // 2),
                "said_at": (FIRST_DAY + timedelta(hours=number)).isoformat(),
            }
            for number in numbers
        ]
        document = {"id": f"c{first}", "title": " ".join(text.words(3)), "messages": said}
        found.append(ConversationInput.model_validate(document, strict=False))
    return found


def _said(text: RandomText, number: int) -> str:
    kinds = STATED[number // 2 % len(STATED)] if number % 2 == 0 else ASKED
    return kinds.format(*text.words(2)) + " " + " ".join(text.words(40)) + "?"


def _answer(text: RandomText) -> str:
    return " ".join(text.words(120)) + "."
