"""A text in parts."""

from hypothesis import given
from hypothesis import strategies as st

from memex.subagent.model.windows import MIN_FRACTION, split_windows

PARTS = st.lists(st.sampled_from(["word ", "Ende. ", "。", "line\n", "paragraph\n\n", "x" * 7]), max_size=60)


@given(PARTS.map("".join), st.integers(8, 60))
def test_parts_are_the_text(text: str, max_chars: int) -> None:
    """One after the other, none too long, and all but the last not much shorter."""
    spans = split_windows(text, max_chars)

    assert "".join(text[slice(*span)] for span in spans) == text
    assert all(end - start <= max_chars for start, end in spans)
    assert all(end - start >= int(max_chars * MIN_FRACTION) for start, end in spans[:-1])


def test_a_text_is_cut_between_paragraphs_then_lines_sentences_words() -> None:
    """The best of the places that there are; a word only where there is no other."""
    for text, first in {
        "aaaaaa b.\n\nb. bb\nbbbbbbbb": "aaaaaa b.\n\n",
        "aaaaaa bb\nb. bbb bbbbbbbb": "aaaaaa bb\n",
        "aaa aaaa. b bb bb bbbbbbbb": "aaa aaaa. ",
        "aaa aaaa b bbbbb bbbbbbbb": "aaa aaaa b ",
        "aaaaaaaaaaaaaaaaaaaaaaaaaa": "aaaaaaaaaaaa",
    }.items():
        start, end = split_windows(text, 12)[0]

        assert text[start:end] == first


def test_a_short_text_is_one_part() -> None:
    """Also an empty one."""
    assert split_windows("abc", 3) == [(0, 3)]
    assert split_windows("", 3) == [(0, 0)]
