"""Real notes and the questions about them: two public vaults, more by rewording, or generated text like them."""

import os
import random
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from memex.evals.bench.workbench import RandomText
from memex.evals.retrieval.datasets import VARIABLE, load_vault

VAULTS = ("dendron-site.tar.gz", "foam-docs.tar.gz")
WORDS_A_QUERY = 5
REWORDED = 0.15  # the share of words that rewording replaces by others of the vaults
WORD = re.compile(r"[^\W\d_]{3,}")
BLANK_LINES = re.compile(r"\n\s*\n")

# Of the two vaults, at equal steps of their distributions: the paragraphs of a note, and the words of a paragraph.
PARAGRAPHS = (1, 2, 3, 5, 6, 7, 9, 12, 15, 21, 30, 56)
WORDS = (2, 6, 8, 11, 13, 16, 19, 23, 28, 34, 46, 80)
HEADING_SHARE = 0.35  # of the paragraphs
SHORT_CHARS = range(80, 900)  # of a note of one paragraph


@dataclass(frozen=True, slots=True)
class VaultNote:
    """A note of a vault; `path` is relative to the folder that it is imported into."""

    path: str
    text: str


class Notes:
    """Notes without end, the same in every run. `origin` says where they come from."""

    def __init__(self, seed: int = 16) -> None:
        self._random = random.Random(seed)  # noqa: S311  # a benchmark's text
        data = os.environ.get(VARIABLE)
        self._real = _vault_notes(Path(data)) if data else []
        self.origin = "notes of two public vaults, reworded beyond them" if data else "generated notes"
        self._generated = RandomText(seed)
        self._paragraphs = [BLANK_LINES.split(note.text) for note in self._real]
        words = [word for note in self._real for word in WORD.findall(note.text)]
        self._words = words or self._generated.words(50_000)
        self._taken = 0
        self._random.shuffle(self._real)

    def take(self, count: int) -> list[VaultNote]:
        """Return the next notes: first the real ones, then others made from them."""
        first = self._taken
        self._taken += count
        return [self._note(number) for number in range(first, first + count)]

    def take_short(self, count: int) -> list[VaultNote]:
        """Return the paragraphs of the next notes, each as a note of its own under a heading."""
        short: list[VaultNote] = []
        while len(short) < count:
            for paragraph in BLANK_LINES.split(self.take(1)[0].text):
                if len(paragraph) in SHORT_CHARS:
                    name = "-".join(word.lower() for word in self._some_words(3))
                    text = f"# {' '.join(self._some_words(2))}\n\n{paragraph.strip()}\n"
                    short.append(VaultNote(f"short/{len(short)}.{name}.note.md", text))
        return short[:count]

    def query(self, notes: Sequence[VaultNote]) -> str:
        """Return five words that follow each other in one of the notes."""
        return _query(notes, self._random)

    def queries(self, notes: Sequence[VaultNote], count: int) -> list[str]:
        """Return as many queries, the same ones for the same notes whenever they are asked for."""
        chosen = random.Random(len(notes))  # noqa: S311  # a benchmark's text
        return [_query(notes, chosen) for _ in range(count)]

    def statement(self) -> str:
        """Return one sentence that memory does not hold yet."""
        return f"The {' '.join(word.lower() for word in self._some_words(8))} was seen."

    def line(self) -> str:
        """Return one line of a note."""
        return f"- {' '.join(self._some_words(8))}"

    def _note(self, number: int) -> VaultNote:
        if number < len(self._real):
            return self._real[number]
        # Names end in words: numbers at their ends would make series of them.
        name = "-".join(word.lower() for word in self._some_words(3))
        if self._real:
            return VaultNote(f"reworded/{name}.{number}.note.md", self._reworded())
        return VaultNote(f"generated/{name}.{number}.note.md", self._written())

    def _some_words(self, count: int) -> list[str]:
        return self._random.choices(self._words, k=count)

    def _reworded(self) -> str:
        """Return a note with every second paragraph from another note, and some words replaced."""
        own = self._random.choice(self._paragraphs)
        other = self._random.choice(self._paragraphs)
        mixed = [self._random.choice(other) if at % 2 else paragraph for at, paragraph in enumerate(own)]

        def replace(word: re.Match[str]) -> str:
            return self._random.choice(self._words) if self._random.random() < REWORDED else word[0]

        return "\n\n".join([mixed[0], *(WORD.sub(replace, paragraph) for paragraph in mixed[1:])])

    def _written(self) -> str:
        """Return a note of generated words, with the sizes of the vaults' notes."""
        paragraphs = [f"# {' '.join(self._generated.words(3))}"]
        for _ in range(self._random.choice(PARAGRAPHS)):
            is_heading = self._random.random() < HEADING_SHARE
            words = self._generated.words(3 if is_heading else self._random.choice(WORDS))
            paragraphs.append(("## " if is_heading else "") + " ".join(words))
        return "\n\n".join(paragraphs) + "\n"


def _query(notes: Sequence[VaultNote], chosen: random.Random) -> str:
    while True:
        words = WORD.findall(chosen.choice(notes).text)
        if len(words) > WORDS_A_QUERY:
            start = chosen.randrange(len(words) - WORDS_A_QUERY)
            return " ".join(words[start : start + WORDS_A_QUERY])


def _vault_notes(root: Path) -> list[VaultNote]:
    return [
        VaultNote(f"{vault.partition('.')[0]}/{path}", text)
        for vault in VAULTS
        for path, text in load_vault(root, vault).items()
        if text.strip()
    ]
