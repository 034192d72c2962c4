"""What invented people told an assistant and asked later, with the themes of each text."""

from collections.abc import Iterator
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

PEOPLE = Path(str(files("memex.evals.reading") / "people"))
THEMED = ("statement_themes", "question_themes")

_QUESTION_COLUMNS = 4
_STATEMENT_COLUMNS = 3


@dataclass(frozen=True, slots=True)
class ThemedText:
    """A statement or a question, what it is about, and who wrote it."""

    text: str
    themes: tuple[str, ...]
    writer: str


@dataclass(frozen=True, slots=True)
class PersonQuestion:
    """A question and the statements that answer it; none if nothing was ever said of it."""

    asked: ThemedText
    answers: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Person:
    """A person: what they said, by its name, and what they asked."""

    about: str
    statements: dict[str, ThemedText]
    questions: list[PersonQuestion]

    def themed(self, name: str) -> Iterator[ThemedText]:
        """Yield the statements or the questions: `name` is one of `THEMED`."""
        if name == "statement_themes":
            yield from self.statements.values()
        else:
            yield from (question.asked for question in self.questions)


def load_people(folder: Path = PEOPLE) -> list[Person]:
    """Return the people of a folder, in the order of its files."""
    return [person for path in sorted(folder.glob("*.txt")) for person in read_people(path)]


def read_people(path: Path) -> list[Person]:
    """Return the people of a file."""
    people: list[Person] = []
    for line in path.read_text(encoding="utf-8").splitlines():
        columns = line.split("\t")
        if line.startswith("# "):
            people.append(Person(line[2:].strip(), {}, []))
        elif columns[0] == "Q" and len(columns) == _QUESTION_COLUMNS:
            asked = ThemedText(columns[3], _listed(columns[2]), path.stem)
            people[-1].questions.append(PersonQuestion(asked, _listed(columns[1])))
        elif len(columns) == _STATEMENT_COLUMNS:
            people[-1].statements[columns[0]] = ThemedText(columns[2], _listed(columns[1]), path.stem)
    return people


def _listed(text: str) -> tuple[str, ...]:
    return tuple(one.strip() for one in text.split(",") if one.strip() not in ("", "-"))
