"""The field `pinned` in the front matter of a text. Pure."""

import re

from memex.store.markdown import read_front_matter

_PIN = re.compile(r"^pinned[ \t]*:[^\r\n]*(\r\n?|\n)", re.IGNORECASE | re.MULTILINE)
_FENCE = re.compile(r"\ufeff?---[ \t]*(\r\n?|\n)")


def with_pin(text: str, is_pinned: bool) -> str:
    """Return a text whose front matter says whether the file is pinned; everything else stays as it is."""
    fields, start = read_front_matter(text)
    opening = _FENCE.match(text)
    if opening is None or start <= opening.end():
        return f"---\npinned: true\n---\n{text}" if is_pinned else text
    head = _PIN.sub("", text[:start])
    if not is_pinned and len(fields) == 1 and "pinned" in {name.lower() for name in fields}:
        return text[start:]  # nothing else stood there
    line = f"pinned: true{opening[1]}" if is_pinned else ""
    return head[: opening.end()] + line + head[opening.end() :] + text[start:]
