"""Telling a service texts, and looking for each of their sentences afterwards."""

import re
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from memex.errors import FileNotFound
from memex.evals.fixtures.placement import place_state
from memex.evals.kept.telling import Telling, ToldText
from memex.service.evals.states import Manifest, State
from memex.service.service import Caller, Service
from memex.store.search.analyzer import analyzer_of
from memex.store.search.find import MAX_HITS, MAX_QUERY_CHARS
from memex.subagent.statements.courtesy import is_courtesy

USER = "user"
SHOWN = 10  # hits that a search gives if nobody says how many
NOT_KEPT = (
    "secret",
    "forget",
    "recalled",
)  # parts of a text, by which the answer says that they are not kept

ENDED = ("replaced", "closed")  # states of statements whose place a newer text took

_SENTENCE_END = re.compile(r"(?<=[.!?。！？])\s+|\n+")
_WORD = re.compile(r"\w")
_SECRET = "[secret:"  # noqa: S105  # what stands in the place of one


@dataclass(slots=True)
class FoundSentence:
    """The outcomes for the sentences of texts.

    Attributes:
        counts: sentences by what became of them: `shown` among the first ten hits, `found` among the first hundred,
            `read` (stop words alone, which stand in their entry), why they are not kept (`secret`, `forget`,
            `recalled`, `courtesy`; `forgotten` by a later text), `replaced` (its words stand in the entry, and
            `memory_removed` names the newer text that took its statement's place), or `lost`.
        lost: the lost sentences.
        texts: how many were told.
    """

    counts: Counter[str] = field(default_factory=Counter)
    lost: list[str] = field(default_factory=list)
    texts: int = 0


def sentences_of(text: str) -> Iterator[tuple[int, int]]:
    """Yield where the sentences of a text stand, those without a word left out."""
    start = 0
    for end, after in [
        *((match.start(), match.end()) for match in _SENTENCE_END.finditer(text)),
        (len(text),) * 2,
    ]:
        if _WORD.search(text, start, end):
            yield start, end
        start = after


async def check(service: Service, telling: Telling, found: FoundSentence, most: int | None = None) -> None:
    """Tell a new user's memory the texts, and count what became of the longest `most` sentences of each."""
    async for caller, answers in _told(service, telling):
        for told, answer in answers:
            found.texts += 1
            entry = _entry_of(answer)
            words = await _words(service, caller, entry)
            for span in sorted(sentences_of(told.text), key=_length, reverse=True)[:most]:
                fate = await _fate(service, caller, telling, told, answer, words, span)
                found.counts[fate] += 1
                if fate == "lost":
                    found.lost.append(f"{telling.name}: {told.text[slice(*span)]}")


def _length(span: tuple[int, int]) -> int:
    return span[1] - span[0]


async def _told(
    service: Service, telling: Telling
) -> AsyncIterator[tuple[Caller, list[tuple[ToldText, Mapping[str, Any]]]]]:
    """Yield a caller whose memory was told all texts, with the answers; the memory is removed afterwards."""
    manifest = Manifest(
        name="telling",
        purpose="Nothing is known yet.",
        language=telling.language,
        at=telling.texts[0].at,
        users=(USER,),
        projects=dict.fromkeys(telling.projects, (USER,)),
    )
    async with place_state(service.database, State(Path(), manifest, {})) as place:
        caller = place.callers[USER]
        answers: list[tuple[ToldText, Mapping[str, Any]]] = []
        for told in telling.texts:
            arguments = {"text": told.text, "project": told.project}
            answers.append((told, await service.execute(caller, "memory_remember", arguments, now=told.at)))
        yield caller, answers


def _entry_of(answer: Mapping[str, Any]) -> str | None:
    """Return the path of the entry that an answer names as `path@version`."""
    return answer["entry"].rpartition("@")[0] if answer.get("entry") else None


async def _words(service: Service, caller: Caller, entry: str | None) -> str:
    """Return what an entry holds: nothing if it was not made, or if all of its words were forgotten later."""
    if entry is None:
        return ""
    try:
        return str((await service.execute(caller, "memory_read", {"path": entry}))["content"])
    except FileNotFound:
        return ""


async def _fate(
    service: Service,
    caller: Caller,
    telling: Telling,
    told: ToldText,
    answer: Mapping[str, Any],
    words: str,
    span: tuple[int, int],
) -> str:
    """Return what became of a sentence; see `FoundSentence`."""
    sentence = told.text[slice(*span)].strip()
    asked = {"query": sentence[:MAX_QUERY_CHARS], "limit": MAX_HITS}
    hits = (await service.execute(caller, "memory_find", asked))["hits"]
    entry = _entry_of(answer)
    ranks = [
        rank
        for rank, hit in enumerate(hits)
        if entry is not None and (hit["path"] == entry or entry in hit.get("entries", ()))
    ]
    if ranks and sentence in words:
        return "shown" if ranks[0] < SHOWN else "found"
    if sentence in words and not analyzer_of(telling.language).lexemes(sentence):
        return "read"
    start, end = span
    for skip in answer["skipped"]:
        if skip["reason"] in NOT_KEPT and skip["start"] < end and start < skip["end"]:
            return str(skip["reason"])
    if entry is None and is_courtesy(told.text):
        return "courtesy"
    if _SECRET in words and sentence not in words:
        return "secret"
    if telling.forgets and entry is not None and sentence not in words:
        return "forgotten"
    removed = (await service.execute(caller, "memory_removed", {}))["lines"]
    if sentence in words and any(line["text"] in sentence for line in removed if line["state"] in ENDED):
        return "replaced"
    return "lost"
