"""What pure functions make of texts is kept for the texts that were asked for last."""

from memex.subagent.text_cache import SHORT_CHARS, cached_for_short_texts, cached_for_texts


def test_a_text_is_worked_on_once() -> None:
    """An equal text gives the result of the first one, whose list is not made again."""
    asked: list[str] = []

    @cached_for_texts(max_chars=100)
    def words(text: str) -> list[str]:
        asked.append(text)
        return text.split()

    first = words("a mast")

    assert words("a mast") is first
    assert asked == ["a mast"]


def test_the_text_that_was_asked_for_longest_ago_goes() -> None:
    """The characters of all texts count, and a text that is too long is not kept at all."""
    asked: list[str] = []

    @cached_for_texts(max_chars=10)
    def size(text: str) -> int:
        asked.append(text)
        return len(text)

    for text in ("aaaa", "bbbb", "aaaa", "cccc", "aaaa", "bbbb", "d" * 11, "d" * 11):
        size(text)

    assert asked == ["aaaa", "bbbb", "cccc", "bbbb", "d" * 11, "d" * 11]


def test_results_for_short_texts_alone_are_kept() -> None:
    """A text of a statement's length is worked on once; a longer one each time, so that none fill the memory."""
    worked_on: list[str] = []

    @cached_for_short_texts(entries=2)
    def length(text: str, factor: int) -> int:
        worked_on.append(text)
        return len(text) * factor

    short, long = "s" * SHORT_CHARS, "l" * (SHORT_CHARS + 1)
    results = [length(text, 2) for text in (short, short, long, long)]

    assert results == [2 * SHORT_CHARS] * 2 + [2 * SHORT_CHARS + 2] * 2
    assert worked_on == [short, long, long]
