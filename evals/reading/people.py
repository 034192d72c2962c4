"""Invented people: what they told an assistant, and what they asked later."""

from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

FOLDER = Path(str(files("memex.evals.reading")))
# By what the names of files begin with.
LANGUAGES = {
    "e": "english",
    "d": "german",
    "f": "french",
    "s": "spanish",
    "en": "english",
    "de": "german",
    "fr": "french",
    "es": "spanish",
}
SETS = {"people": FOLDER / "people", "held": FOLDER / "held_out"}  # an open set, and one to measure on

_QUESTION_COLUMNS = 4
_STATEMENT_COLUMNS = 3


@dataclass(frozen=True, slots=True)
class PersonQuestion:
    """A question and the names of the statements that answer it; none if nothing was ever said of it."""

    text: str
    answers: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Person:
    """A person: in which language they write, what they said, by its name, and what they asked."""

    about: str
    language: str
    statements: dict[str, str]
    questions: list[PersonQuestion]


def load_people(folder: Path) -> list[Person]:
    """Return the people of a folder, in the order of its files."""
    return [person for path in sorted(folder.glob("*.txt")) for person in read_people(path)]


def read_people(path: Path) -> list[Person]:
    """Return the people of a file."""
    people: list[Person] = []
    for line in path.read_text(encoding="utf-8").splitlines():
        columns = line.split("\t")
        if line.startswith("# "):
            people.append(Person(line[2:].strip(), LANGUAGES[path.stem.rstrip("0123456789")], {}, []))
        elif columns[0] == "Q" and len(columns) == _QUESTION_COLUMNS:
            people[-1].questions.append(PersonQuestion(columns[3], _listed(columns[1])))
        elif len(columns) == _STATEMENT_COLUMNS:
            people[-1].statements[columns[0]] = columns[2]
    return people


def _listed(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip() not in ("", "-"))
