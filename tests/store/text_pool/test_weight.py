"""How long a text would take to read is told from what it is made of."""

from memex.store.text_pool.weight import LIGHT_CHARS, is_light

SENTENCE = "We meet at the *old* boat house (door 3) and bring the oars, see [[rowing]]. "


def test_ordinary_text_is_light_up_to_its_length() -> None:
    """Also in a script of several bytes a character, and with quotations as in mail."""
    for text in ("", SENTENCE * 150, "Мы встречаемся в понедельник. " * 900, ">>> quoted\n> > twice\n" * 60):
        assert is_light(text), text[:40]

    assert not is_light("a" * (LIGHT_CHARS + 1))


def test_text_of_marks_is_not_light() -> None:
    """A few kilobytes of marks take as long as a hundred of ordinary text."""
    for text in ("[(" * 2_000, "|" * 1_600, "> " * 9 + "deep\n" + "a\n" * 400, "\t> >>>>> >> a"):
        assert not is_light(text), text[:40]
