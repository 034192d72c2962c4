"""The form of a citation in a text: `[[conversations/9k2m4q7wtx3d#41]]` at the end of a statement. Pure.

The text alone proves nothing, since anybody can type it. What counts is the row of the table `citation`.
"""

import re

_ID = "[0-9a-hjkmnp-tv-z]{12}"  # Crockford's base 32, as in `make_conversation_id`
_LINK = re.compile(rf"\[\[conversations/({_ID})#([1-9][0-9]{{0,8}})\]\]")
_KEY = re.compile(rf"conversations/{_ID}")

CitedPlace = tuple[str, int]  # the id of a conversation, and the number of a message


def message_reference(conversation_id: str, number: int) -> str:
    """Return `conversations/ID#number`, which names the text of a message for ever."""
    return f"conversations/{conversation_id}#{number}"


def find_citations(text: str) -> list[CitedPlace]:
    """Return the messages that a text cites, in order, each once."""
    if "[[conversations/" not in text:
        return []
    return list(dict.fromkeys((found[1], int(found[2])) for found in _LINK.finditer(text)))


def without_citations(text: str) -> str:
    """Return a text without the citations at its end; they are no words of a statement."""
    while text.endswith("]]"):
        start = text.rfind("[[")
        if start < 0 or not _LINK.fullmatch(text, start):
            break
        text = text[:start].rstrip(" \t")
    return text


def without_any_citation(text: str) -> str:
    """Return a text without its citations, wherever they stand."""
    return _LINK.sub("", text) if "[[conversations/" in text else text


def is_citation_key(key: str) -> bool:
    """Return whether the key of a link names a conversation, which is never a file."""
    return key.startswith("conversations/") and _KEY.fullmatch(key) is not None


def citation_link(place: CitedPlace) -> str:
    """Return a citation as it stands in a text."""
    return f"[[{message_reference(*place)}]]"
