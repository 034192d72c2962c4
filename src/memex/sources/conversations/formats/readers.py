"""All readers of conversations: those that Memex brings along, and those of other packages."""

from functools import cache
from importlib.metadata import entry_points

from memex.sources.conversations.files import ExportFile
from memex.sources.conversations.formats.chatgpt import ChatGPT
from memex.sources.conversations.formats.claude_ai import MEMORIES, PROJECTS, ClaudeAI
from memex.sources.conversations.formats.claude_code import ClaudeCode
from memex.sources.conversations.formats.codex import Codex
from memex.sources.conversations.formats.google import GeminiCLI, Takeout
from memex.sources.conversations.formats.markdown import Aider, Markdown
from memex.sources.conversations.formats.messages import Messages
from memex.sources.conversations.reader import HEAD_BYTES, FileHead, Reader, look_at

ENTRY_POINTS = "memex.sources"

# The order decides where two could recognise a file: the narrow ones come first.
READERS: tuple[Reader, ...] = (
    ChatGPT(), ClaudeAI(), PROJECTS, MEMORIES, GeminiCLI(), ClaudeCode(), Codex(), Takeout(),
    Aider(), Messages(), Markdown(),
)  # fmt: skip


@cache
def readers() -> tuple[Reader, ...]:
    """Return all readers. Another package adds one by an entry point of the group `memex.sources`, a class."""
    others = [
        point.load()() for point in sorted(entry_points(group=ENTRY_POINTS), key=lambda point: point.name)
    ]
    return (*others, *READERS)


def reader_of(file: ExportFile) -> tuple[Reader | None, FileHead]:
    """Return the reader that recognises a file by its beginning, and that beginning; raises OSError."""
    small, large = HEAD_BYTES
    head = look_at(file, small)
    found = _recognising(head)
    if found is None and head.is_cut and head.start.lstrip(b"\xef\xbb\xbf \t\r\n").startswith((b"{", b"[")):
        head = look_at(file, large)
        found = _recognising(head)
    return found, head


def _recognising(head: FileHead) -> Reader | None:
    return next((reader for reader in readers() if reader.recognises(head)), None)


def formats() -> str:
    """Return how people get each format that is read, one a line."""
    return "\n".join(dict.fromkeys(f"- {reader.export_hint}" for reader in readers()))
