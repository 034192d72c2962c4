"""Playing a life to a memory service: each text is remembered, and each question asked, at its own moment."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from memex.evals.adapter import MemoryService, Placed
from memex.evals.lives.candidates import CandidateWatch
from memex.evals.lives.life import Life, LifeQuestion, LifeText, squash
from memex.evals.memex_adapter import MemexPlaced
from memex.service.evals.states import Manifest, State

USER = "user"
LANGUAGES = {"en": "english", "de": "german", "fr": "french"}
# What a context says of a statement that is no longer sure to be true; see `memex.subagent.context.assembly`.
OUTDATED_MARK = "may be out of date"
DONE_HEADING = "done"
AGE = timedelta(days=21)  # of a conversation that is distilled
AGAIN = 10  # texts after which all of a conversation is distilled again

_HEADING = re.compile(r"(#{1,6})\s+(.*)")
_ITEM = re.compile(r"\s*(?:[-*+]|\d{1,9}[.)])\s+")
_LINE = re.compile(rf"\S|{_ITEM.pattern}")
_SECTION = re.compile(r"\[[0-9a-v]{4}\] (.*)")


@dataclass(frozen=True, slots=True)
class Unit:
    """A list entry or a paragraph, with the headings or the line above it, in the form that `squash` gives."""

    text: str
    label: str
    path: str = ""

    @property
    def whole(self) -> str:
        """The text and its label."""
        return f"{self.label}\n{self.text}"

    @property
    def is_marked(self) -> bool:
        """Return whether the unit is shown as one that may be out of date."""
        return OUTDATED_MARK in self.whole

    @property
    def is_done(self) -> bool:
        """Return whether the unit stands among the tasks that are done."""
        return self.label.endswith(DONE_HEADING) or self.text.startswith("- [x]")


@dataclass(frozen=True, slots=True)
class PlayedText:
    """A text with what memory held after it.

    Attributes:
        text: the text.
        units: of the files.
        entries: the units of what the journal keeps.
        contents: the files, by path.
        trace: the service's answer.
        error: the code with which the call was refused.
        candidates: the stored statements that search found for the text; None if nobody watched.
    """

    text: LifeText
    units: Sequence[Unit]
    entries: Sequence[Unit]
    contents: Mapping[str, str]
    trace: Mapping[str, Any]
    error: str | None
    candidates: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class PlayedQuestion:
    """A question with the context that answers it."""

    question: LifeQuestion
    context: str
    units: Sequence[Unit]
    error: str | None


@dataclass(frozen=True, slots=True)
class PlayedLife:
    """A life with everything that became of it."""

    life: Life
    texts: Sequence[PlayedText]
    questions: Sequence[PlayedQuestion]


def changing_texts(life: Life) -> set[str]:
    """Return the texts that change an earlier fact: what a watch looks at."""
    return {text.text for text in life.content.texts if any(fact.changes for fact in text.facts)}


@dataclass(slots=True)
class OldChats:
    """The texts of a life as conversations of three weeks ago, one for each project, which are distilled.

    They tell memory nothing that it was not told since, so they should change nothing.
    """

    memory: MemexPlaced
    said: dict[str | None, list[tuple[str, datetime]]] = field(default_factory=dict)

    async def distil(self, text: LifeText) -> None:
        """Distil a text that memory has just been told; each tenth time, all of its conversation again."""
        now, said = moment(text.at), self.said.setdefault(text.project, [])
        said.append((text.text, now - AGE))
        is_again = len(said) % AGAIN == 0
        await self.memory.distil(USER, said, project=text.project, now=now, is_again=is_again)


async def play(
    life: Life,
    service: MemoryService,
    watch: CandidateWatch | None = None,
    *,
    distils: bool = False,
) -> PlayedLife:
    """Play a life to a service, from an empty memory.

    Args:
        life: the life.
        service: the service.
        watch: looks at what search finds.
        distils: also distil each text as one of an old conversation, of a service that can.
    """
    manifest = Manifest(
        name="life",
        purpose="Nothing is known yet.",
        language=LANGUAGES[life.content.language],
        at=moment(life.events[0].at),
        users=(USER,),
        projects=dict.fromkeys(life.projects, (USER,)),
    )
    texts, questions = [], []
    async with service.place(State(Path(), manifest, {})) as memory:
        chats = OldChats(memory) if distils and isinstance(memory, MemexPlaced) else None
        for event in life.events:
            if isinstance(event, LifeText):
                texts.append(await _remember(memory, event, watch, chats))
            else:
                questions.append(await _ask(memory, event))
    return PlayedLife(life, texts, questions)


async def _remember(
    memory: Placed, text: LifeText, watch: CandidateWatch | None, chats: OldChats | None
) -> PlayedText:
    answer = await memory.remember(USER, text.text, project=text.project, now=moment(text.at))
    if chats is not None:
        await chats.distil(text)
    contents = await memory.files(USER) or {}
    entries = units_of(await memory.journal(USER))
    candidates = watch.found(text.text) if watch is not None else None
    return PlayedText(text, units_of(contents), entries, contents, answer.trace, answer.error, candidates)


async def _ask(memory: Placed, question: LifeQuestion) -> PlayedQuestion:
    answer = await memory.context(
        USER, question.text, budget=question.budget, project=None, max_hops=1, now=moment(question.at)
    )
    return PlayedQuestion(question, answer.context, context_units(answer.context), answer.error)


def units_of(contents: Mapping[str, str]) -> list[Unit]:
    """Return the list entries and paragraphs of files."""
    return [unit for path, content in contents.items() for unit in file_units(path, content)]


def file_units(path: str, content: str) -> list[Unit]:
    """Return the list entries and paragraphs of a file."""
    return _units(content.splitlines(), path, label="")


def context_units(context: str) -> list[Unit]:
    """Return the lines of a context, each with what is nested in it; the label of each is the line of its note."""
    units: list[Unit] = []
    label, lines = "", list[str]()
    for line in context.splitlines()[2:-1]:
        if found := _SECTION.match(line):
            units += _units(lines, "", label, begins=_LINE)
            label, lines = found[1], []
        else:
            lines.append(line)
    return [*units, *_units(lines, "", label, begins=_LINE)]


def _units(lines: Sequence[str], path: str, label: str, *, begins: re.Pattern[str] = _ITEM) -> list[Unit]:
    """Return the list entries and paragraphs of lines, each with the label and the headings above it.

    Args:
        lines: of a file or a note.
        path: of the file.
        label: of all units.
        begins: a line with which a unit begins, beside those behind blank lines.
    """
    headings: list[tuple[int, str]] = []
    units: list[Unit] = []
    current: list[str] = []

    def close() -> None:
        if text := squash(" ".join(current)).strip():
            titles = " › ".join(title for _, title in headings)
            units.append(Unit(text, squash(f"{label} › {titles}" if titles else label), path))
        current.clear()

    for line in lines:
        if heading := _HEADING.match(line):
            close()
            level = len(heading[1])
            headings = [*(upper for upper in headings if upper[0] < level), (level, heading[2])]
        elif not line.strip():
            close()
        else:
            if begins.match(line):
                close()
            current.append(line)
    close()
    return units


def moment(at: datetime) -> datetime:
    """Return a moment of a life; without a zone it is meant in UTC."""
    return at.replace(tzinfo=UTC) if at.tzinfo is None else at
