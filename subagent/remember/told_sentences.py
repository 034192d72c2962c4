"""Sentences that the journal alone has: a request to forget may mean them, and a new statement change them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime

from memex.store.entry_path import FOLDER, entry_day, entry_moment, is_entry_at
from memex.store.records import EntryStatement, Hit, Reference, Revision, Span
from memex.store.text_pool import offload
from memex.subagent.memory_tools import MemoryTools
from memex.subagent.planner import FiledStatement
from memex.subagent.remember.filing.handles import handle_of
from memex.subagent.remember.reading import own_statements
from memex.subagent.statements.extraction import Statement
from memex.subagent.statements.forgetting import all_sentences, known_sentences
from memex.subagent.statements.places import destination, mount_of
from memex.subagent.statements.storable import extract_storable

ENTRIES = 50  # that are looked at: a sentence that was told often is forgotten in all of them
PASSAGES = 4
PREFIX = f"user/{FOLDER}/"
MAX_READ_CHARS = 20_000  # of an entry that is read as a whole, to see what it states


@dataclass(frozen=True, slots=True)
class ToldSentence:
    """A sentence of an entry; `is_past` if it was in force, and is not any more."""

    sentence: FiledStatement
    is_past: bool


async def find_told(topic: str, tools: MemoryTools, limit: int = ENTRIES) -> list[ToldSentence]:
    """Return the sentences of entries that share words with a topic, without those that a page holds."""
    return await sentences_of(
        (await tools.find(topic, limit=limit, passages=PASSAGES, prefix=PREFIX)).hits, tools
    )


async def sentences_of(hits: Iterable[Hit], tools: MemoryTools) -> list[ToldSentence]:
    """Return the sentences in the passages of entries, without those that a page holds."""
    passages = [
        (Reference(hit.path, hit.version, passage.span), passage.text or "")
        for hit in hits
        if hit.file is not None and is_entry_at(hit.path)
        for passage in hit.file.passages
    ]
    if not passages:
        return []
    stated: dict[str, list[EntryStatement]] = {}
    for statement in await tools.entry_statements(list(dict.fromkeys(place.path for place, _ in passages))):
        stated.setdefault(statement.path, []).append(statement)
    texts = [text for _, text in passages]
    split = await offload.run(sum(map(len, texts)), _split_each, texts)
    sentences = []
    for (place, text), spans in zip(passages, split, strict=True):
        for span in spans:
            made = made_of(span, place.span[0], stated.get(place.path, ()))
            if not any(statement.is_in_force for statement in made):
                sentences.append(ToldSentence(sentence_at(place, text, span), is_past=bool(made)))
    return sentences


async def sentence_of(handle: str, path: str, content: str, version: int) -> FiledStatement | None:
    """Return the sentence of an entry that a handle names; None if none does."""
    place = Reference(path, version, (0, len(content)))
    for sentence in await offload.run_on(content, all_sentences, content):
        if handle_of(path, content[slice(*sentence)]) == handle:
            return sentence_at(place, content, sentence)
    return None


async def standing_sentences(
    hits: Iterable[Hit], day: date, moment: datetime | None, tools: MemoryTools
) -> list[FiledStatement]:
    """Return the sentences in the passages of entries that hold, and that the journal alone has.

    Args:
        hits: the entries.
        day: on which a new text was said.
        moment: when it was said, in the zone that it was said in; None if the day alone is known. What was said
            later on that day is left out.
        tools: reads memory.
    """
    earlier = [hit for hit in hits if not is_later(hit.path, day, moment)]
    return [
        told_sentence.sentence
        for told_sentence in await sentences_of(earlier, tools)
        if not told_sentence.is_past
    ]


def is_later(path: str, day: date, moment: datetime | None) -> bool:
    """Return whether a file is an entry told after a moment of a day; not if the day alone is known."""
    if moment is None or not is_entry_at(path):
        return False
    told = entry_moment(path.removeprefix("user/"))
    return told.date() == day and told.replace(tzinfo=None) > moment.replace(tzinfo=None)


async def is_stated(sentence: FiledStatement, path: str, tools: MemoryTools) -> bool:
    """Return whether the teller of an entry states a sentence, as a note that a file of its scope would hold.

    What he quotes, asks or orders is nothing that a new statement could take the place of.

    Args:
        sentence: of the entry.
        path: virtual, of the file to which a new statement about the same thing goes.
        tools: reads memory.
    """
    entry = await tools.read_file(sentence.path)
    if sentence.reference is None or entry.size_chars > MAX_READ_CHARS:
        return False
    start, end = sentence.reference.span
    return any(
        statement.start < end
        and start < statement.end
        and statement.kind == "note"
        and mount_of(destination("note", entry.about, statement.text).path) == mount_of(path)
        for statement in await _statements(entry, sentence.day, tools)
    )


async def _statements(entry: Revision, day: date, tools: MemoryTools) -> Sequence[Statement]:
    text = entry.content
    reading = await offload.run_on(text, extract_storable, text, day)
    return (await own_statements(text, reading, tools)).statements


def _split_each(texts: Sequence[str]) -> list[Sequence[Span]]:
    return [known_sentences(text) for text in texts]


def made_of(span: Span, shift: int, stated: Sequence[EntryStatement]) -> list[EntryStatement]:
    """Return the statements that were made from words of a sentence."""
    start, end = span[0] + shift, span[1] + shift
    return [statement for statement in stated if statement.start_char < end and start < statement.end_char]


def sentence_at(place: Reference, text: str, span: Span) -> FiledStatement:
    """Return the sentence that stands at a span of the text of a place in an entry."""
    start, end = (place.span[0] + at for at in span)
    reference = Reference(place.path, place.version, (start, end))
    day = entry_day(place.path.removeprefix("user/"))
    return FiledStatement(place.path, text[slice(*span)], "note", day, reference)
