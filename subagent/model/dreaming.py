"""The planner of dreams that asks a chat model, over the same signals as the rules, a few pages at a time.

The model names statements by their numbers, and code makes the edits. What the checks of `subagent.dream.verify`
refuse is dropped, edit by edit.
"""

from collections.abc import Iterator, Sequence
from typing import Annotated, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from memex.errors import ModelUnavailable
from memex.subagent.dream.edits import EditChange, FileEdit, Group
from memex.subagent.dream.pages import MountState, PageLine, UnfiledEntry
from memex.subagent.dream.rules import Refused, is_refused, line_changes
from memex.subagent.dream.signals import Signal
from memex.subagent.model.ask import ModelQuestion, ModelSession, ask
from memex.subagent.model.edits import require_all_keys
from memex.subagent.prompts import Prompt
from memex.subagent.statements.bullets import escape_line
from memex.subagent.statements.language import StatementKind
from memex.subagent.statements.places import destination

MAX_QUESTIONS = 4  # of one dream
MAX_STATEMENTS = 60  # of one question
MAX_PARAGRAPHS = 10
MAX_EDITS = 20  # of one answer
MAX_PARAGRAPH_CHARS = 600
Numbered = TypeVar("Numbered", PageLine, UnfiledEntry)
ASKED_ABOUT = ("contradiction", "said_again", "duplicate", "superseded")


class DreamtEdit(BaseModel):
    """An edit that a model proposes, by the numbers of statements and paragraphs."""

    model_config = ConfigDict(json_schema_extra=require_all_keys)

    action: Literal["merge", "holds", "file"]
    numbers: Annotated[list[str], Field(description="Such as N3 and N7, or J1.")]
    sentence: str | None = Field(None, description="Of a merge.")
    kind: StatementKind | None = Field(None, description="Of a paragraph of the journal.")


class DreamtEdits(BaseModel):
    """What a model proposes; an empty list is a good answer."""

    model_config = ConfigDict(json_schema_extra=require_all_keys)

    edits: list[DreamtEdit] = Field(default_factory=list)


async def plan_by_model(
    state: MountState, signals: Sequence[Signal], refused: Refused, prompt: Prompt, session: ModelSession
) -> list[Group]:
    """Return the edits that a model proposes; fewer where it fails, or a limit of the dream is used up."""
    groups: list[Group] = []
    for lines, entries in _portions(state, signals):
        question = ModelQuestion(
            name="dream",
            prompt=prompt,
            text=_text(lines, entries),
            output=DreamtEdits,
            check=lambda _: (),
            shown=[*(line.reference for line in lines)],
        )
        try:
            answer = await ask(question, session)
        except ModelUnavailable:
            break
        for edit in answer.edits[:MAX_EDITS]:
            group = _group(state, edit, lines, entries)
            if group is not None and not is_refused(group, refused):
                groups.append(group)
    return groups


def _portions(
    state: MountState, signals: Sequence[Signal]
) -> Iterator[tuple[list[PageLine], list[UnfiledEntry]]]:
    """Yield the statements and paragraphs of each question: those of signals with what stands in their pages."""
    paths = dict.fromkeys(
        line.path for signal in signals if signal.kind in ASKED_ABOUT for line in signal.lines
    )
    lines = [line for path in paths for line in state.pages[path].lines]
    entries = [entry for entry in state.entries if len(entry.text) <= MAX_PARAGRAPH_CHARS][:MAX_PARAGRAPHS]
    for number in range(MAX_QUESTIONS):
        some = lines[number * MAX_STATEMENTS : (number + 1) * MAX_STATEMENTS]
        if not some and not (entries and number == 0):
            return
        yield some, entries if number == 0 else []


def _text(lines: Sequence[PageLine], entries: Sequence[UnfiledEntry]) -> str:
    told = [
        f"N{number} · {line.path} · {line.text} · {line.day or ''}"
        for number, line in enumerate(lines, start=1)
    ]
    told += [
        f"J{number} · {entry.said_at.date()} · {' '.join(entry.text.split())}"
        for number, entry in enumerate(entries, start=1)
    ]
    return "\n".join(told)


def _group(
    state: MountState, edit: DreamtEdit, lines: Sequence[PageLine], entries: Sequence[UnfiledEntry]
) -> Group | None:
    """Return what an edit of a model means; None for one that names what there is not."""
    named = [line for number in edit.numbers if (line := _numbered("N", number, lines)) is not None]
    if edit.action == "merge":
        return _merged(state, named, edit.sentence or "")
    if edit.action == "holds" and len(named) == 2:
        newer, older = named
        why = f"A model reads that the newer statement holds: {newer.text}"
        gone = line_changes(state, older.path, [(older, None)])
        need = EditChange("need", old=newer.raw)
        kept = (newer.reference,)
        if newer.path == older.path:
            return (
                FileEdit(
                    "superseded", older.path, older.version, (*gone, need), (older.reference,), kept, why
                ),
            )
        return (
            FileEdit("superseded", older.path, older.version, gone, (older.reference,), kept, why),
            FileEdit("superseded", newer.path, newer.version, (need,), why=why),
        )
    entry = _numbered("J", edit.numbers[0], entries) if edit.action == "file" and edit.numbers else None
    return _filed(entry, edit.kind) if entry is not None and edit.kind is not None else None


def _merged(state: MountState, lines: Sequence[PageLine], sentence: str) -> Group | None:
    said = " ".join(sentence.split())
    if len({line.reference for line in lines}) < 2 or len({line.path for line in lines}) > 1 or not said:
        return None
    first, *others = lines
    if first.text not in first.raw or first.box is not None:
        return None
    new = first.raw.replace(first.text, escape_line(said), 1)
    changes = line_changes(state, first.path, [(first, new), *((line, None) for line in others)])
    removed = tuple(line.reference for line in lines)
    why = f"A model says in one sentence what {len(lines)} lines say; code compared numbers, names and words."
    kept = (first.reference,) * len(removed)
    return (FileEdit("merge", first.path, first.version, changes, removed, kept, why),)


def _filed(entry: UnfiledEntry, kind: StatementKind) -> Group:
    text = " ".join(entry.text.split())
    place = destination(kind, None, text)
    change = EditChange(
        "file",
        new=text,
        title=place.title,
        heading=place.heading,
        kind=kind,
        day=entry.said_at.date().isoformat(),
        source=f"{entry.path}@{entry.version}:0-{len(entry.text)}",
    )
    why = f"It was said on {change.day}, and a model reads that it is a lasting {kind.replace('_', ' ')}."
    return (FileEdit("journal", place.path, None, (change,), (), (change.source,), why),)


def _numbered(letter: str, number: str, among: Sequence[Numbered]) -> Numbered | None:
    """Return what stands under a number such as N3."""
    place = number.strip().removeprefix(letter)
    return among[int(place) - 1] if place.isdecimal() and 0 < int(place) <= len(among) else None
