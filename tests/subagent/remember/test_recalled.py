"""What Memex itself said, found in a text that is sent back."""

import pytest

from memex.subagent.remember.recalled import line_of, recalled_spans


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("- I like tea. (2026-01-01)", "I like tea. (2026-01-01)"),
        ("> > * I like tea. (2026-01-01)", "I like tea. (2026-01-01)"),
        ("I like tea - and cake. (2026-01-01)", "I like tea - and cake. (2026-01-01)"),
    ],
)
def test_only_the_marker_of_an_item_is_left_out(line: str, said: str) -> None:
    """A dash within the words is one of them."""
    assert line_of(line) == said


@pytest.mark.parametrize("fill", [" ", "> ", "- ", ">"])
def test_hostile_lines_are_read_in_linear_time(fill: str) -> None:
    """A line of 100,000 characters takes milliseconds."""
    assert recalled_spans(f"{fill * (100_000 // len(fill))}x (2026-01-01)", {"y"}) == []
