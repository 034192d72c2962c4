"""The keys of lines of pages: what they leave out, and that hostile lines cost no more than others."""

import time

from memex.store.statement_lines import changed_lines, line_key

N = 50_000


def test_a_key_is_of_the_words_alone() -> None:
    """Neither the date nor links at the end count, nor the white space around them."""
    plain = line_key("I prefer oolong tea.")

    for ending in (
        " (2026-11-28)",
        " (2026-11-28, due 2026-12-03) [[people/bob]] [[tea]]",
        " [[tea]]  ",
        "\t",
    ):
        assert line_key(f"I prefer oolong tea.{ending}") == plain
    assert line_key("I prefer oolong tea (in 2026).") != plain


def test_hostile_lines_are_read_in_linear_time() -> None:
    """What took minutes by a pattern takes some milliseconds; the bound is generous."""
    for text in (
        "a" + " " * N + "b",
        "[[a]]" * (N // 5) + "x",
        "[[" * (N // 2),
        "(2026-01-01)" * (N // 12) + "x",
        "]]" * N,
    ):
        started_s = time.process_time()

        line_key(text)
        changed_lines(f"- {text} old", f"- {text}")

        assert time.process_time() - started_s < 2
