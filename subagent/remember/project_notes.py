"""A note of a project that an agent stores: held against memory as any statement is, and a file of its own."""

import hashlib
import json
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date
from functools import partial

from memex.store.markdown import body_start
from memex.store.records import Hit, Reference
from memex.store.text_pool import offload
from memex.subagent.memory_tools import MemoryTools
from memex.subagent.planner import Addition, FiledStatement, RememberRequest, Rivalry
from memex.subagent.remember.changes import find_contradiction
from memex.subagent.remember.reading import read_text
from memex.subagent.remember.related import (
    HITS,
    MAX_QUERY_CHARS,
    MAX_STORED,
    PASSAGES,
    RelatedFiles,
    stored_statements,
)
from memex.subagent.statements.comparison.relations import statement_weights
from memex.subagent.statements.extraction import Statement
from memex.subagent.statements.paraphrase import are_paraphrases

MAX_STATEMENTS = 20  # of a note that are looked for; the others are stored unseen
MAX_COMPARED_CHARS = 20_000  # a longer note is no statement in other words
NAME_CHARS = 48
DIGEST_CHARS = 8
TASKS = frozenset({"pending", "done", "blocker"})  # of which the same words may say another thing


@dataclass(frozen=True, slots=True)
class NotePlan:
    """The place of a note, and what memory holds about it.

    Attributes:
        path: where the note belongs.
        known: the stored note or statement that says the same in nearly the same words; None if none does.
        rivals: what is stored that the note probably contradicts; each stays.
    """

    path: str
    known: FiledStatement | None
    rivals: tuple[Rivalry, ...]


async def plan_note(text: str, project: str, day: date, tools: MemoryTools) -> NotePlan:
    """Return where a note of a project belongs, whether memory holds it, and what it contradicts."""
    path, folder = note_path(text, project), notes_folder(project)
    reading = await read_text(RememberRequest(text, project, day))
    statements = reading.statements[:MAX_STATEMENTS] or (Statement("note", text.strip(), 0, len(text)),)
    found = await tools.find(text.strip()[:MAX_QUERY_CHARS], limit=HITS, passages=PASSAGES, entries=False)
    notes = [note for hit in found.hits if hit.path.startswith(folder) for note in await _note(hit, tools)]
    filed = [*stored_statements(found.hits)][:MAX_STORED]
    own = [
        stored
        for stored in filed
        if stored.path.startswith(f"projects/{project}/") and stored.kind not in TASKS
    ]
    same = await offload.run(len(text), partial(_find_same, text.strip(), [*notes, *own]))
    if same is not None:
        return NotePlan(path, same, ())
    parts = [part for note in notes for part in await _statements(note)]
    about = RelatedFiles(None, None, (), (*filed, *parts), statement_weights(found.query))
    rivals = []
    for statement in statements:
        add = Addition(path, "", "", statement)
        contradicted = find_contradiction(add, about, tools.analyzer, day)
        if contradicted is not None:
            rivals.append(Rivalry(statement, contradicted.older))
    return NotePlan(
        path, None, tuple({(rival.older.path, rival.older.text): rival for rival in rivals}.values())
    )


def slug(title: str) -> str:
    """Return a title as the name of a file: letters and digits, joined by hyphens."""
    folded = title.replace("ß", "ss").replace("ø", "o").replace("ł", "l")
    plain = unicodedata.normalize("NFKD", folded).encode("ascii", "ignore").decode()
    letters = plain if any(char.isalnum() for char in plain) else title
    name = "-".join(re.findall(r"[^\W_]+", letters.casefold())).strip("-")
    return name if name.isprintable() and name else "document"


def notes_folder(project: str) -> str:
    """Return the folder of a project's notes."""
    return f"projects/{project}/notes/"


def note_path(text: str, project: str) -> str:
    """Return the path of a note, by its first words and the digest of its text: two notes never share it."""
    line = next((line for line in text.splitlines() if line.strip(" #\t")), "note")
    digest = hashlib.sha256(text.strip().encode()).hexdigest()[:DIGEST_CHARS]
    name = slug(line[: 4 * NAME_CHARS])[:NAME_CHARS].strip("-")
    return f"{notes_folder(project)}{name}-{digest}.md"


def render_note(text: str, tags: Sequence[str], source: str | None, day: date) -> str:
    """Return a note with its front matter. What `text` has of its own is text: it pins and tags nothing."""
    fields = [f"date: {day.isoformat()}"]
    if tags:
        fields.insert(0, f"tags: [{', '.join(json.dumps(tag, ensure_ascii=False) for tag in tags)}]")
    if source:
        fields.append(f"source: {json.dumps(source, ensure_ascii=False)}")
    return "\n".join(["---", *fields, "---", "", f"{text.strip()}\n"])


async def _note(hit: Hit, tools: MemoryTools) -> list[FiledStatement]:
    """Return the text of a note as one statement, if it is short enough to be one."""
    if hit.file is None or hit.file.size_chars > MAX_COMPARED_CHARS:
        return []
    content = (await tools.read_file(hit.path, version=hit.version)).content
    start = body_start(content)
    body = content[start:].strip()
    if not body:
        return []
    at = content.index(body, start)
    span = (at, at + len(body))
    day = hit.updated_at.astimezone(UTC).date()
    return [FiledStatement(hit.path, body, "note", day, Reference(hit.path, hit.version, span))]


async def _statements(note: FiledStatement) -> list[FiledStatement]:
    """Return the statements of a note, with the kinds by which they are compared."""
    reading = await read_text(RememberRequest(note.text, None, note.day))
    found = []
    for statement in reading.statements[:MAX_STATEMENTS]:
        place = note.reference
        if place is not None and note.text[statement.start : statement.end] == statement.text:
            start = place.span[0]
            place = Reference(place.path, place.version, (start + statement.start, start + statement.end))
        else:
            place = None
        found.append(FiledStatement(note.path, statement.text, statement.kind, note.day, place))
    return found


def _find_same(text: str, stored: Sequence[FiledStatement]) -> FiledStatement | None:
    return next((statement for statement in stored if are_paraphrases(text, statement.text)), None)
