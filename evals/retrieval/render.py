"""Renders conversations, chats and documents as files, and says where each turn is. Pure."""

from dataclasses import dataclass
from datetime import date

from memex.evals.retrieval.datasets import ChatMessage, ConversationSession, CorpusDocument, Cue, Turn

Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class RenderedFile:
    """The text of a file, and the span of each turn in it by the id of the turn, in code points."""

    content: str
    spans: dict[str, Span]


def session(held: ConversationSession) -> RenderedFile:
    """Return a session as one file: its date and title, and a paragraph for each turn."""
    title = f"Conversation at {held.time}"
    content = _front_matter(held.day, title) + f"# {title}\n"
    spans = {}
    for said in held.turns:
        content += "\n"
        spans[said.id] = (len(content), len(content) + len(line(said)))
        content += line(said) + "\n"
    return RenderedFile(content, spans)


def turn(said: Turn, day: date) -> RenderedFile:
    """Return a turn as a file of its own: the date of its session, and what was said."""
    head = _front_matter(day)
    return RenderedFile(f"{head}{line(said)}\n", {said.id: (len(head), len(head) + len(line(said)))})


def line(said: Turn) -> str:
    """Return a turn as one line: the speaker, the words, and what a picture shows."""
    shown = f" [shares an image: {said.caption}]" if said.caption else ""
    return f"**{said.speaker}**: {said.text}{shown}"


def cue(held: Cue) -> RenderedFile:
    """Return a cue as a file: a paragraph for each line that was said."""
    content = "\n\n".join(held.said)
    return RenderedFile(f"{content}\n", {held.id: (0, len(content))})


def message(sent: ChatMessage) -> RenderedFile:
    """Return a chat message as a file: its date if it has one, its role and its text."""
    head = _front_matter(sent.day) if sent.day else ""
    body = f"{sent.role}: {sent.content}"
    return RenderedFile(f"{head}{body}\n", {sent.id: (len(head), len(head) + len(body))})


def document(held: CorpusDocument) -> RenderedFile:
    """Return a document as a file: its title as the heading, and its text."""
    title = " ".join(held.title.split())
    content = (f"# {title}\n\n" if title else "") + f"{held.text}\n"
    return RenderedFile(content, {held.id: (0, len(content))})


def _front_matter(day: date, title: str | None = None) -> str:
    named = f'title: "{title}"\n' if title else ""
    return f"---\ndate: {day.isoformat()}\n{named}---\n"
