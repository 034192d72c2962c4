"""Where words that are to be erased are found."""

import pytest

from memex.store.upkeep.words.digests import ErasedWords

SALT = bytes(32)


def test_letters_that_look_alike_are_found() -> None:
    """In a word that looks Latin; a word of another script is found in capitals too."""
    words = ErasedWords.of(["Blue Heron", "cope", "вес"], SALT)
    texts = {
        "a Вlue Hеrоn came": "a ██████████ came",
        "СОРЕ and соре and cоpe": "████ and ████ and ████",
        "ВЕС, вес, бес": "███, ███, бес",
        "Blue Hеronѕ": "Blue Hеronѕ",
    }

    assert {text: words.fill(text) for text in texts} == texts
    assert {text: ErasedWords.load(words.dump()).fill(text) for text in texts} == texts


@pytest.mark.parametrize(
    ("text", "filled"),
    [
        ("[him](J%C3%B6rg%20M%C3%BCller.md) came", "[him](█████████%20███████████.md) came"),
        ("J&ouml;rg M&#252;ller came", "█████████ ███████████ came"),
        (r'{"a": "J\u00f6rg M\u00fcller"}', '{"a": "█████████ ███████████"}'),
        ("blue%20heron%20and more", "████████████%20and more"),
        ("Müllers, blue%2herons, &blu; heron 50%", "Müllers, blue%2herons, &blu; heron 50%"),
        (r"%FF%FE \ud800 &#1114112; &nosuch;", r"%FF%FE \ud800 &#1114112; &nosuch;"),
    ],
)
def test_letters_may_be_written_in_another_way(text: str, filled: str) -> None:
    """As in addresses, in HTML and in JSON, with known words and by digests alone."""
    words = ErasedWords.of(["Jörg", "Müller", "blue heron"], SALT)

    assert words.fill(text) == filled
    assert ErasedWords.load(words.dump()).fill(text) == words.fill(text)
