"""The statement of the day that a short correction, such as `No, it is at 4 pm.`, puts right."""

from memex.store.entry_path import FOLDER, is_entry_at
from memex.store.records import Reference, Span
from memex.store.statement_lines import line_key
from memex.store.text_pool import offload
from memex.subagent.memory_tools import MemoryTools
from memex.subagent.planner import Addition, FiledStatement
from memex.subagent.remember.related import HITS, PASSAGES, SaidTime, stored_statements
from memex.subagent.remember.told_sentences import MAX_READ_CHARS, is_later, is_stated, made_of, sentence_at
from memex.subagent.statements.comparison.short_corrections import ShortCorrection
from memex.subagent.statements.forgetting import all_sentences

MAX_ENTRIES = 1_000  # of a day, among which the last ones are looked for
LATEST = 3  # entries among which the statement is looked for


async def told_lately(
    correction: ShortCorrection, add: Addition, said: SaidTime, tools: MemoryTools
) -> FiledStatement | None:
    """Return the statement that a short correction puts right; None if none is meant beyond doubt.

    It is the one of the last entry of the day that holds a value of the kind; if that entry holds none, the one
    of the entries just before it.

    Args:
        correction: what is put right.
        add: the new statement, whose scope counts.
        said: when it was said.
        tools: reads memory.
    """
    listed = await tools.list_files(f"user/{FOLDER}/{said.day.isoformat()}/", limit=MAX_ENTRIES)
    told = sorted(file.path for file in listed if not is_later(file.path, said.day, said.moment))
    found = [await _sentences_about(correction, path, tools) for path in told[-LATEST:]]
    meant = found[-1] or [sentence for sentences in found for sentence in sentences] if found else []
    if len(meant) != 1 or correction.applied_to(meant[0].text) is None:
        return None
    stored = await _stored(meant[0], tools)
    is_of_page = stored is not None and not is_entry_at(stored.path)
    return stored if is_of_page or (stored and await is_stated(stored, add.path, tools)) else None


async def _sentences_about(
    correction: ShortCorrection, path: str, tools: MemoryTools
) -> list[FiledStatement]:
    entry = await tools.read_file(path)
    if entry.size_chars > MAX_READ_CHARS:
        return []
    place = Reference(path, entry.version, (0, len(entry.content)))
    spans: list[Span] = await offload.run_on(entry.content, all_sentences, entry.content)
    sentences = [sentence_at(place, entry.content, span) for span in spans]
    return [sentence for sentence in sentences if correction.is_about(sentence.text)]


async def _stored(sentence: FiledStatement, tools: MemoryTools) -> FiledStatement | None:
    """Return the statement of a page that was made from a sentence of an entry, or the sentence if none was.

    None if the page does not hold it any more.
    """
    if sentence.reference is None:
        return None
    made = made_of(sentence.reference.span, 0, await tools.entry_statements([sentence.path]))
    if not made:
        return sentence
    keys = {statement.line_key for statement in made if statement.is_in_force}
    found = await tools.find(sentence.text, limit=HITS, passages=PASSAGES, entries=False)
    return next((stored for stored in stored_statements(found.hits) if line_key(stored.text) in keys), None)
