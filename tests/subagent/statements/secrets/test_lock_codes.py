"""Codes of locks, with where they stand."""

from functools import partial

from tests.kit.growth import LINEAR, growth

from memex.subagent.statements.secrets.lock_codes import find_lock_codes
from memex.subagent.statements.secrets.marks import to_small
from memex.subagent.statements.secrets.statement import find_secrets


def test_code_is_found_with_its_lock() -> None:
    """The span reaches from the lock, or the code if that comes first, to the end of the code."""
    text = "The bench is red. The shed opens with 4471, says Ana."

    [(whole, code)] = find_lock_codes(text, to_small(text))

    assert text[slice(*whole)] == "shed opens with 4471"
    assert text[slice(*code)] == "4471"


def test_digits_near_a_lock_may_be_something_else() -> None:
    """A year, a price, a size or a room is no code."""
    texts = [
        "The safe was bought in 1987.",
        "The padlock costs 1200 yen.",
        "The gate is 2400 mm wide.",
        "The alarm in room 1204 is new.",
    ]

    assert [text for text in texts if list(find_lock_codes(text, to_small(text)))] == []


def test_finding_lock_codes_takes_linear_time() -> None:
    """Four times the characters take about four times as long."""
    for seed in ("door ", "safe 12 ", "gate opens with 1", "1 2 3 "):

        def finding(size: int, seed: str = seed) -> partial[object]:
            return partial(find_secrets, (seed * size)[:size])

        assert growth(finding, 5_000) < LINEAR
