"""The suite of languages other than English: `<code>.tsv` beside this module, read as notes and questions."""

import csv
from functools import partial
from importlib.resources import files
from pathlib import Path

from memex.evals.retrieval.opaque_names import opaque_name, question_id
from memex.evals.retrieval.suites import Collection, ExpectedEvidence, Question, Reader, SuitePart

LANGUAGES = "languages"  # the name of the suite
# The MEMEX_LANGUAGE of each. Chinese and Japanese have no stemmer: there, search goes by pairs of characters.
SETTINGS = {"de": "german", "fr": "french", "es": "spanish", "ja": "neutral", "zh": "neutral"}


def notes_in(_root: Path, code: str) -> SuitePart:
    """The notes of one person in one language, a file each, in a memory of that language; no data is needed."""
    table = files("memex.evals") / "languages" / f"{code}.tsv"
    contents, paths, questions = {}, {}, []
    lines = table.read_text(encoding="utf-8").splitlines()
    rows = list(csv.reader(lines, delimiter="\t", quoting=csv.QUOTE_NONE))
    for kind, ids, text in rows:
        if kind == "note":
            paths[ids] = f"user/notes/{opaque_name(LANGUAGES, code, ids)}.md"
            contents[paths[ids]] = f"{text}\n"
    for kind, ids, text in rows:
        if kind == "question":
            found = tuple(paths[note_id] for note_id in ids.split(","))
            key = question_id(LANGUAGES, code, text)
            questions.append(Question(key, text, (), found, tuple(map(ExpectedEvidence, found))))
    person = Collection(opaque_name(LANGUAGES, code), contents, tuple(questions))
    return SuitePart(f"notes-{code}", (person,), language=SETTINGS[code])


READERS: tuple[Reader, ...] = tuple(partial(notes_in, code=code) for code in SETTINGS)
