"""The texts that are told and then looked for: open lives, messages of BEAM's users and turns of LoCoMo."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from memex.evals.lives.life import SEALED_SUFFIX, Life, load_life, shipped_lives
from memex.evals.lives.play import LANGUAGES, moment
from memex.evals.told.chats import load_beam_chats, load_locomo_chats
from memex.evals.told.questions import ToldChat

FIRST = datetime(2026, 1, 5, 9, tzinfo=UTC)  # of the texts of data sets, which bear no times that we use
PAUSE = timedelta(minutes=7)


@dataclass(frozen=True, slots=True)
class ToldText:
    """A text, when it is told, and the project that it is about."""

    text: str
    at: datetime
    project: str | None = None


@dataclass(frozen=True, slots=True)
class Telling:
    """The texts that one user tells memory, in order.

    Attributes:
        name: of the life or the chat.
        texts: in their order.
        forgets: whether a text asks to forget something.
        language: of memory.
        projects: that exist.
    """

    name: str
    texts: tuple[ToldText, ...]
    forgets: bool = False
    language: str = "english"
    projects: tuple[str, ...] = ()


def open_lives(_: Path) -> list[Telling]:
    """Return the lives that are not sealed."""
    paths = [path for path in shipped_lives() if not path.name.endswith(SEALED_SUFFIX)]
    return [_of_life(load_life(path)) for path in paths]


def beam(root: Path) -> list[Telling]:
    """Return the chats of BEAM, each message of the user a text."""
    return [_of_chat(chat) for chat in load_beam_chats(root)]


def locomo(root: Path) -> list[Telling]:
    """Return the conversations of LoCoMo, each turn a text."""
    return [_of_chat(chat) for chat in load_locomo_chats(root)]


SETS: dict[str, Callable[[Path], list[Telling]]] = {"lives": open_lives, "beam": beam, "locomo": locomo}


def _of_life(life: Life) -> Telling:
    content = life.content
    return Telling(
        life.name,
        tuple(ToldText(text.text, moment(text.at), text.project) for text in content.texts),
        forgets=any(text.forget for text in content.texts),
        language=LANGUAGES[content.language],
        projects=tuple(life.projects),
    )


def _of_chat(chat: ToldChat) -> Telling:
    return Telling(
        chat.user_id, tuple(ToldText(text, FIRST + number * PAUSE) for number, text in enumerate(chat.texts))
    )
