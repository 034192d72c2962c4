"""Evidence in contexts of a memory that was made from conversations, of the conversations, and of both.

Two users have each collection of a suite. The first one has the memory and the conversations, and is asked with and
without `include`. The second one has the conversations alone. Questions about other collections say how much a
context holds when there is nothing to hold.
"""

import random
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from memex.call_context import CallContext
from memex.evals.included.build import DistilledMemory, distil_collection, message_references
from memex.evals.retrieval.stored_as.conversations import write_messages
from memex.evals.retrieval.suites import Collection, Question, SuitePart
from memex.service.service import Caller, Service
from memex.store.identity import tenants
from memex.store.identity.authentication import Principal

BUDGETS = (2_000, 4_000, 8_000)
SETTINGS = ("memory", "conversations", "both")
FOREIGN = 60  # questions about other collections that each user is asked
SEED = 1
INCLUDE = ["conversations"]

Progress = Callable[[str, int, int], None]
Answers = dict[tuple[str, int], dict[str, Any]]  # of memory_context, by setting and budget


@dataclass(frozen=True, slots=True)
class Asked:
    """The figures of one question: shares of the evidence by setting and budget, and characters of contexts.

    Attributes:
        held: the share of the evidence of which a context holds something.
        own_held: the same of the evidence that the remembered person said; None if that said none of it.
        chars: the length of the context.
    """

    held: dict[tuple[str, int], float]
    own_held: dict[tuple[str, int], float | None]
    chars: dict[tuple[str, int], int]


@dataclass(slots=True)
class IncludedMeasure:
    """The figures of a part of a suite.

    Attributes:
        part: the name of the part.
        asked: the questions about the user's own conversations.
        foreign_chars: for each question about another collection, the characters that conversations added.
        memories: the memories that were made.
    """

    part: str
    asked: list[Asked] = field(default_factory=list)
    foreign_chars: list[int] = field(default_factory=list)
    memories: list[DistilledMemory] = field(default_factory=list)

    def document(self) -> dict[str, Any]:
        """Return the figures, shares in percent."""
        return {
            "part": self.part,
            "questions": len(self.asked),
            "evidence recall": self._means(lambda one: one.held),
            "evidence recall of what the person said": self._means(lambda one: one.own_held),
            "mean characters": {
                name: {
                    str(budget): round(_mean([question.chars[name, budget] for question in self.asked]))
                    for budget in BUDGETS
                }
                for name in SETTINGS
            },
            "foreign questions": {
                "asked": len(self.foreign_chars),
                "with no passage": _percent([float(chars == 0) for chars in self.foreign_chars]),
                "mean characters added": round(_mean(self.foreign_chars)),
            },
            "memory": self._memory(),
        }

    def _means(
        self, of: Callable[[Asked], Mapping[tuple[str, int], float | None]]
    ) -> dict[str, dict[str, float]]:
        return {
            name: {
                str(budget): _percent(
                    [share for question in self.asked if (share := of(question)[name, budget]) is not None]
                )
                for budget in BUDGETS
            }
            for name in SETTINGS
        }

    def _memory(self) -> dict[str, Any]:
        total = {
            name: sum(getattr(memory, name) for memory in self.memories)
            for name in ("files", "chars", "message_chars", "own_chars")
        }
        given = [memory.statements[path] > 0 for memory in self.memories for path in memory.own]
        return total | {
            "statements": sum(memory.statements.total() for memory in self.memories),
            "messages": len(given),
            "messages with a statement": _percent(list(map(float, given))),
        }


async def measure_part(
    service: Service,
    part: SuitePart,
    progress: Progress,
    *,
    collections: int | None = None,
    sample: int | None = None,
) -> IncludedMeasure:
    """Make the memories of a part, ask its questions, and return what the contexts held.

    Args:
        service: a service over a database that may be thrown away.
        part: a part whose collections are conversations.
        progress: is called with the present step, the amount that is done, and the whole amount.
        collections: how many of them are played; None for all. Questions about the others are foreign in any case.
        sample: how many questions of each are asked, always the same ones; None for all.
    """
    tenant_id = await tenants.ensure_tenant(service.database, f"eval-{uuid.uuid4().hex[:12]}")
    measure = IncludedMeasure(part.name)
    pick = random.Random(SEED)  # noqa: S311  # no secret of anybody's
    for place, collection in enumerate(part.collections[:collections], start=1):
        progress(f"{part.name}: collection", place, len(part.collections))
        made = await distil_collection(service, await _agent(service, tenant_id, collection.user), collection)
        both = await _fill(service, tenant_id, collection, collection.user)
        alone = await _fill(service, tenant_id, collection, f"{collection.user}-alone")
        measure.memories.append(made)
        references = await message_references(service, both)
        for question in sorted(collection.questions, key=lambda asked: asked.id)[:sample]:
            answers = await _answers(service, both, alone, question.text)
            measure.asked.append(_asked(question, answers, made, references))
        others = [
            question.text
            for other in part.collections
            if other is not collection
            for question in other.questions
        ]
        for text in pick.sample(others, min(FOREIGN, len(others))):
            answer = await _ask(service, alone, text, BUDGETS[-1], INCLUDE)
            measure.foreign_chars.append(answer["budget"]["used"] if answer["sources"] else 0)
    return measure


async def _answers(service: Service, both: Caller, alone: Caller, text: str) -> Answers:
    """Return the contexts of a question, by setting and budget."""
    answers: Answers = {}
    for budget in BUDGETS:
        answers["memory", budget] = await _ask(service, both, text, budget, [])
        answers["conversations", budget] = await _ask(service, alone, text, budget, INCLUDE)
        answers["both", budget] = await _ask(service, both, text, budget, INCLUDE)
    return answers


async def _ask(
    service: Service, caller: Caller, text: str, budget: int, include: Sequence[str]
) -> dict[str, Any]:
    given = {"query": text, "budget": budget, "include": list(include)}
    return await service.execute(caller, "memory_context", given)


async def _fill(service: Service, tenant_id: int, collection: Collection, user: str) -> Caller:
    """Store the messages of a collection for a user, and return the user's agent."""
    caller = await _agent(service, tenant_id, user)
    await write_messages(service, caller, collection, lambda _: None)
    return await _agent(service, tenant_id, user)


async def _agent(service: Service, tenant_id: int, user: str) -> Caller:
    """Return the agent of a user, with the rights that it has now."""
    context = CallContext(user_id=user, actor="eval")
    return await service.caller(Principal(tenant_id, "agent"), context, makes_user=True)


def _asked(
    question: Question,
    answers: Answers,
    made: DistilledMemory,
    references: Mapping[str, str],
) -> Asked:
    wanted = [piece.path for piece in question.evidence]
    own = [path for path in wanted if path in made.own]
    held: dict[tuple[str, int], float] = {}
    own_held: dict[tuple[str, int], float | None] = {}
    for key, answer in answers.items():
        messages = _messages(answer)
        found = {
            path
            for path in wanted
            if references.get(path) in messages or any(text in answer["context"] for text in made.texts[path])
        }
        held[key] = _mean([float(path in found) for path in wanted])
        own_held[key] = _mean([float(path in found) for path in own]) if own else None
    return Asked(held, own_held, {key: answer["budget"]["used"] for key, answer in answers.items()})


def _messages(answer: Mapping[str, Any]) -> set[str]:
    """Return the messages of which a context holds a passage."""
    return {source["path"] for source in answer["sources"] if source["reason"] == "conversation"}


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0


def _percent(values: Sequence[float]) -> float:
    return round(100 * _mean(values), 1)
