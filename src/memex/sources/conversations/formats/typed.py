"""The words that a person typed, among the texts that coding agents put into the person's messages."""

from memex.store.conversations.machine_words import INTERRUPTED, OPENING, is_machine_text

_REQUEST = "## My request for Codex:"


def of_claude_code(text: str) -> str:
    """Return what a person typed of the text of a message of Claude Code; empty for text of a machine.

    A slash command counts only with its arguments, which the person typed: `/name arguments`.
    """
    if is_machine_text(text):
        return ""
    if "<" not in text and "[" not in text:
        return text.strip()
    rest, elements = _take_elements(text)
    if (name := elements.get("command-name")) is not None:
        arguments = elements.get("command-args", "").strip()
        return f"/{name.strip().removeprefix('/')} {arguments}" if arguments else ""
    for mark in INTERRUPTED:
        rest = rest.replace(mark, "")
    return "" if is_machine_text(rest) else rest.strip()


def _take_elements(text: str) -> tuple[str, dict[str, str]]:
    """Return a text without the elements of machines, and the first content of each."""
    rest: list[str] = []
    elements: dict[str, str] = {}
    unclosed: set[str] = set()
    at = 0
    while (opening := OPENING.search(text, at)) is not None:
        name = opening[1]
        closing = f"</{name}>"
        end = -1 if name in unclosed else text.find(closing, opening.end())
        if end < 0:  # half an element is left as it stands
            unclosed.add(name)
            rest.append(text[at : opening.end()])
            at = opening.end()
            continue
        elements.setdefault(name, text[opening.end() : end])
        rest.append(text[at : opening.start()])
        at = end + len(closing)
    rest.append(text[at:])
    return "".join(rest), elements


def of_codex(text: str) -> str:
    """Return what a person typed of a prompt of Codex; empty for an injected text.

    A prompt from an editor begins with what is open there; the person's words follow a heading.
    """
    start = text.lstrip()
    if is_machine_text(start):
        return ""
    if _REQUEST in start:
        return start.partition(_REQUEST)[2].strip()
    return text.strip()
