"""A life as a file: the texts of an invented person, the facts in them, and questions with their answers.

`BRIEF.md`, beside the lives, is the brief that their writers got, and describes the file format. The files of
sealed lives are compressed, so that nobody reads them by accident while working on the rules; `SHA256SUMS` holds
the digest of every life.
"""

import gzip
import hashlib
import re
import zlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from importlib.resources import files
from pathlib import Path
from typing import Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from memex.errors import ValidationFailed
from memex.service.tools.tool import describe_problem

FOLDER = Path(str(files("memex.evals") / "lives"))
SUMS = FOLDER / "SHA256SUMS"
SEALED_SUFFIX = ".yaml.gz"

FactKind = Literal["fact", "preference", "decision", "task", "constraint", "question", "event"]
ChangeKind = Literal["replaces", "closes", "amends"]

_SPACE = re.compile(r"\s+")


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", coerce_numbers_to_str=True)


class Fact(_Part):
    """A fact that a good memory keeps.

    Attributes:
        id: unique in the life.
        keys: strings of the text; all of them stand in one sentence or list entry that states the fact.
        kind: what the fact is.
        aspect: what the fact is about; all versions of one thing have the same aspect.
        changes: the earlier facts that this fact makes out of date, or amends.
        how: what becomes of the earlier facts.
    """

    id: str
    keys: tuple[str, ...] = Field(min_length=1)
    kind: FactKind
    aspect: str
    changes: tuple[str, ...] = ()
    how: ChangeKind | None = None

    def stands_in(self, unit: str) -> bool:
        """Return whether a unit of text, in the form that `squash` gives, states the fact."""
        return all(squash(key) in unit for key in self.keys)


class LifeText(_Part):
    """A text that reaches the memory: a digest by a careful assistant, or a message as the person typed it."""

    id: str
    at: datetime
    how: Literal["digest", "message"]
    text: str = Field(min_length=1)
    facts: tuple[Fact, ...]
    project: str | None = None
    forget: tuple[str, ...] | Literal["all"] | None = None
    secrets: tuple[str, ...] = ()
    noise: str | None = None


class LifeQuestion(_Part):
    """A question, with the facts that answer it at that moment, and the facts that no longer do."""

    id: str
    at: datetime
    text: str = Field(min_length=1)
    expected: tuple[str, ...]
    outdated: tuple[str, ...]
    self: bool
    budget: int = Field(ge=200)


class LifeFile(_Part):
    """The content of a life's file."""

    life: str
    language: Literal["en", "de", "fr"]
    about: str
    start: object
    texts: tuple[LifeText, ...] = Field(min_length=1)
    questions: tuple[LifeQuestion, ...]


@dataclass(frozen=True)
class Life:
    """A life, and whether it is sealed: measured, but read by nobody who works on the rules."""

    content: LifeFile
    is_sealed: bool
    sha256: str

    @property
    def name(self) -> str:
        """The name of the life."""
        return self.content.life

    @cached_property
    def facts(self) -> dict[str, Fact]:
        """All facts, by id."""
        return {fact.id: fact for text in self.content.texts for fact in text.facts}

    @cached_property
    def projects(self) -> list[str]:
        """The slugs of the projects that texts name."""
        return sorted({text.project for text in self.content.texts if text.project is not None})

    @cached_property
    def events(self) -> list[LifeText | LifeQuestion]:
        """The texts and the questions in the order of time; at one moment texts come first."""
        return sorted([*self.content.texts, *self.content.questions], key=lambda event: event.at)


def squash(text: str) -> str:
    """Return a text as facts are looked for in it: without case, and with single spaces."""
    return _SPACE.sub(" ", text).casefold()


def shipped_lives() -> list[Path]:
    """Return the files of the lives that Memex brings along, sealed ones too."""
    return sorted([*FOLDER.glob("open/*.yaml"), *FOLDER.glob(f"sealed/*{SEALED_SUFFIX}")])


def load_life(path: Path) -> Life:
    """Return a life.

    Raises:
        ValidationFailed: the file is missing, or is no life.
    """
    is_sealed = path.name.endswith(SEALED_SUFFIX)
    try:
        data = path.read_bytes()
        text = gzip.decompress(data) if is_sealed else data
    except (OSError, EOFError, zlib.error) as error:
        raise ValidationFailed(f"Cannot read {path}: {error}.") from None
    try:
        content = LifeFile.model_validate(yaml.load(text, Loader=yaml.CSafeLoader))
    except ValidationError as error:
        raise ValidationFailed(f"{path}: {describe_problem(error.errors()[0])}.") from None
    except yaml.YAMLError as error:
        raise ValidationFailed(f"{path} is no YAML: {error}.") from None
    if problem := next(_problems(content), None):
        raise ValidationFailed(f"{path}: {problem}.")
    return Life(content, is_sealed, hashlib.sha256(text).hexdigest())


def _problems(content: LifeFile) -> Iterator[str]:
    """Yield what is wrong with the ids of a life: one that stands twice, or one that names no fact."""
    facts = {fact.id for text in content.texts for fact in text.facts}
    ids = [fact.id for text in content.texts for fact in text.facts]
    ids += [text.id for text in content.texts] + [question.id for question in content.questions]
    yield from (f"the id {name} stands twice" for name, count in Counter(ids).items() if count > 1)
    for text in content.texts:
        named = [] if text.forget in (None, "all") else [*text.forget]
        named += [fact_id for fact in text.facts for fact_id in fact.changes]
        yield from (
            f"{text.id} names {fact_id}, which is no fact" for fact_id in named if fact_id not in facts
        )
    for question in content.questions:
        named = [*question.expected, *question.outdated]
        yield from (
            f"{question.id} names {fact_id}, which is no fact" for fact_id in named if fact_id not in facts
        )
