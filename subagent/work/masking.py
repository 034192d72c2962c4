"""The parts of a message that are not its author's words: code, quotes, tables, and what programs put in. Pure."""

import re

from memex.store.conversations.machine_words import machine_spans

_FENCE = re.compile(r"[ \t]*(`{3,}|~{3,})")
_QUOTE = re.compile(r" {0,3}>")
_TABLE_ROW = re.compile(r"[ \t]*\|.*\|[ \t]*$")
# A block that a program put in: our own contexts and packs, reminders of a client, the output of a command. Its
# name holds a hyphen or is one of those that clients use; HTML that somebody wrote about is left alone.
_OPENING_TAG = re.compile(
    r"[ \t]*<(memex[\w-]{0,60}|memory[\w-]{0,60}|work[\w-]{0,60}|system[\w-]{0,60}|[a-z]+-[\w-]{1,60}"
    r"|instructions?|context|result|output|stdout|stderr)\b[^<>\n]{0,200}>"
)
_NOT_A_BREAK = re.compile(r"[^\r\n]")
_LINE = re.compile(r"[^\r\n]*(?:\r\n?|\n|\Z)")


def mask(text: str) -> str:
    """Return a text of the same length with blanks instead of what its author did not say there.

    These are fenced code, quoted lines, rows of tables, and blocks in tags that programs put in, such as contexts
    of Memex itself. A fence or a tag that is never closed reaches to the end.
    """
    for start, end in machine_spans(text):
        text = text[:start] + _NOT_A_BREAK.sub(" ", text[start:end]) + text[end:]
    masked: list[str] = []
    fence, tag = "", ""
    for match in _LINE.finditer(text):
        line = match[0]
        if not line:
            break
        bare = line.strip()
        if tag:
            hidden = True
            if f"</{tag}>" in line:
                tag = ""
        elif fence:
            hidden = True
            if bare.startswith(fence) and not bare.strip(fence[0]):
                fence = ""
        elif opened := _FENCE.match(line):
            fence, hidden = opened[1], True
        elif opened := _OPENING_TAG.match(line):
            tag, hidden = ("" if f"</{opened[1]}>" in line else opened[1]), True
        else:
            hidden = _QUOTE.match(line) is not None or _TABLE_ROW.match(line.rstrip("\r\n")) is not None
        masked.append(_NOT_A_BREAK.sub(" ", line) if hidden else line)
    return "".join(masked)
