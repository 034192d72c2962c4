"""The labelled sentences of `sentences/`.

Each line of a file holds a class and a sentence. Each file has another writer, who had seen neither the rules nor
the code, after the brief in `SENTENCES.md`.
"""

from dataclasses import dataclass
from pathlib import Path

from memex.evals.reading.people import FOLDER, LANGUAGES

SENTENCES = FOLDER / "sentences"
CLASSES = frozenset(
    {
        *("fact", "preference", "decision", "task", "rule", "open", "event", "done"),
        *("smalltalk", "order", "ask", "forget"),
    }
)


@dataclass(frozen=True, slots=True)
class LabelledSentence:
    """A sentence, what it is, and who wrote it."""

    text: str
    label: str
    writer: str

    @property
    def language(self) -> str:
        """In which language it is written."""
        return LANGUAGES[self.writer.split("-")[1]]


def load_sentences(folder: Path = SENTENCES) -> list[LabelledSentence]:
    """Return the sentences of a folder, in the order of its files."""
    return [
        LabelledSentence(text, label, path.stem)
        for path in sorted(folder.glob("*.tsv"))
        for line in path.read_text(encoding="utf-8").splitlines()
        for label, _, text in [line.partition("\t")]
        if text
    ]
