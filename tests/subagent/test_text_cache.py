"""What pure functions make of texts is kept for the texts that were asked for last."""

from memex.subagent.text_cache import cached_for_texts


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
