"""Documents that Claude writes beside its answers: as tags inside a text, or by calls of the tool `artifacts`."""

import re
from dataclasses import dataclass
from typing import Any

_OPEN, _CLOSE = "<antArtifact", "</antArtifact>"
_THOUGHTS = re.compile(r"<antThinking>.*?(?:</antThinking>|\Z)", re.DOTALL)  # or up to the end of the text
_ATTRIBUTE = re.compile(r'([a-z]{1,40})="([^"]{0,500})"')


@dataclass(slots=True)
class Artifact:
    """A document in its last version.

    Attributes:
        changed_in: the key of the message that wrote it last.
    """

    text: str
    changed_in: str


class Artifacts:
    """The documents of one conversation, by their identifiers.

    Attributes:
        lost: changes that fitted to no text, because the version that they changed is not in the export.
    """

    def __init__(self) -> None:
        self.by_id: dict[str, Artifact] = {}
        self.lost = 0

    def take_tags(self, text: str, message: str) -> str:
        """Take the documents out of a text; return what is said beside them, without thoughts."""
        text = _THOUGHTS.sub("", text)
        if _OPEN not in text:
            return text
        said, at = [], 0
        while (start := text.find(_OPEN, at)) >= 0:
            if (head_end := text.find(">", start)) < 0:
                break
            end = text.find(_CLOSE, head_end)
            content = text[head_end + 1 : end if end >= 0 else len(text)]
            attributes = dict(_ATTRIBUTE.findall(text[start:head_end]))
            title = attributes.get("title") or "untitled"
            self.by_id[attributes.get("identifier") or title] = Artifact(content.strip("\n"), message)
            said += [text[at:start], f"[artifact: {title}]"]
            at = end + len(_CLOSE) if end >= 0 else len(text)
        return "".join((*said, text[at:]))

    def take_call(self, arguments: Any, message: str) -> None:
        """Apply a call of the tool `artifacts`: create and rewrite bring the whole text, update replaces a part."""
        if not isinstance(arguments, dict) or not isinstance(key := arguments.get("id"), str):
            return
        content, old, new = (arguments.get(name) for name in ("content", "old_str", "new_str"))
        if isinstance(content, str):
            self.by_id[key] = Artifact(content, message)
        elif isinstance(old, str) and isinstance(new, str):
            if (artifact := self.by_id.get(key)) is not None and old in artifact.text:
                artifact.text = artifact.text.replace(old, new, 1)
                artifact.changed_in = message
            else:
                self.lost += 1
