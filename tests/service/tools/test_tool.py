"""What a caller is told about arguments that do not fit."""

from typing import Any

import pytest

from memex.errors import ValidationFailed
from memex.service.service import TOOLS

REFUSED: list[tuple[str, dict[str, Any], str]] = [
    ("memory_remember", {}, "text is required, unless outdated or both_hold names statements."),
    ("memory_remember", {"text": ""}, "The text is empty. Say in plain sentences what to remember."),
    ("memory_remember", {"text": 3}, "text must be a string."),
    ("memory_remember", {"text": "x" * 200_001}, "text must have at most 200,000 characters."),
    ("memory_remember", {"text": "nul \0"}, "text: holds a NUL character or a lone surrogate."),
    ("memory_remember", {"text": "x", "userId": "bob"}, "there is no argument userId."),
    ("memory_context", {"query": "x", "known_hash": "abc"}, "known_hash is malformed: 'abc'."),
    (
        "memory_context",
        {"query": "x", "budget": "many", "max_hops": -1},
        "budget must be a whole number; max_hops must be at least 0.",
    ),
    ("memory_context", {"query": "x", "budget": 200_001}, "budget must be at most 200,000."),
    ("memory_find", {"query": "x", "tags": "tea"}, "tags must be a list."),
    ("memory_find", {"query": "x", "tags": ["x"] * 21}, "tags must have at most 20 items."),
    ("memory_read", {"path": "user/a.md", "span": [1]}, "span must have at least 2 items."),
    ("memory_read", {"path": "user/a.md", "span": []}, "span is empty."),
    (
        "memory_write",
        {"path": "user/a.md", "content": "", "overwrite": 1},
        "overwrite must be true or false.",
    ),
    (
        "memory_patch",
        {"path": "user/a.md", "operation": "cut", "text": ""},
        "operation must be 'append', 'insert' or 'replace'.",
    ),
]


def test_what_does_not_fit_is_said_in_plain_words() -> None:
    """Each problem names its argument and what it must be, and the hint lists the arguments."""
    for tool, arguments, told in REFUSED:
        with pytest.raises(ValidationFailed) as refused:
            TOOLS[tool].parse(arguments)

        assert refused.value.message == f"{tool}: {told}"
        assert refused.value.hint.startswith("The arguments are: ")
