"""Characters that nobody sees are found where no script needs them, and nowhere else."""

import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from memex.store.writes.hidden_characters import find_hidden, reveal_hidden

TAGS = "".join(chr(0xE0000 + ord(letter)) for letter in "obey")

# Texts of scripts, and emoji, that need characters of no width or of a direction.
NEEDED = {
    "Persian": "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645",
    "Hindi": "\u0915\u094d\u200d\u0937",
    "Thai": "\u0e20\u0e32\u0e29\u0e32\u200b\u0e44\u0e17\u0e22",
    "Hebrew beside English": "\u05e9\u05dc\u05d5\u05dd \u200fworld\u200f \u2067(\u05d0)\u2069",
    "a variant of an ideograph": "\u845b\U000e0100\u57ce",
    "Mongolian": "\u182e\u1823\u180e\u1828",
    "a family": "\U0001f468\u200d\U0001f469\u200d\U0001f467",
    "a heart and a key": "\u2764\ufe0f 1\ufe0f\u20e3",
    "a skin tone and a rainbow": "\U0001f44d\U0001f3fd \U0001f3f3\ufe0f\u200d\U0001f308",
    "an astronaut": "\U0001f469\U0001f3fd\u200d\U0001f680",
    "the flag of Wales": "\U0001f3f4\U000e0067\U000e0062\U000e0077\U000e006c\U000e0073\U000e007f",
    "a byte order mark": "\ufeffZ\u00fcrich, a caf\u00e9\ttab\r\n",
    "a word that may be parted": "Donau\u00addampfschiff",
}
# Texts with characters that no script needs there, and the kind and number of these.
HIDDEN = {
    "tags behind a text": (f"milk{TAGS}", "tag", 4),
    "tags behind a flag": (f"\U0001f3f4{TAGS}", "tag", 4),
    "an override": ("invoice \u202efdp.exe", "direction", 1),
    "an override in a right-to-left line": ("\u05e9\u05dc\u05d5\u05dd \u202dabc", "direction", 1),
    "an isolate among Latin letters": ("if admin\u2066 // check\u2069", "direction", 2),
    "a mark far from its script": ("a\u200f" + "b" * 300 + "\u05e9", "direction", 1),
    "zero-width spaces in a word": ("pass\u200bwo\u200brd", "zero_width", 2),
    "joiners among Latin letters": ("pass\u200dword\u200c", "zero_width", 2),
    "a byte order mark in the middle": ("a\ufeffb", "zero_width", 1),
    "selectors that spell": ("\U0001f44d\U000e0100\U000e0101\U000e0102", "selector", 3),
    "selectors in a row": ("\u2764\ufe0f\ufe01\ufe02", "selector", 2),
    "the control of a terminal": ("\x1b[2J\x9b", "control", 2),
    "a Hangul filler": ("a\u3164b", "zero_width", 1),
}


def test_what_a_script_needs_is_not_hidden() -> None:
    """Joiners, marks of direction and selectors stand where a script or an emoji needs them."""
    for name, text in NEEDED.items():
        assert list(find_hidden(text)) == [], name
        assert reveal_hidden(text) is text, name


def test_what_no_script_needs_is_hidden() -> None:
    """Each such character is found at its place, with its kind."""
    for name, (text, kind, count) in HIDDEN.items():
        found = list(find_hidden(text))

        assert [one.kind for one in found] == [kind] * count, name
        assert all(text[one.offset] == one.character for one in found), name


def test_hidden_characters_are_shown_by_their_code_points() -> None:
    """Everything else stays as it is."""
    assert reveal_hidden(f"a{TAGS[:1]}b\x1b[0m") == "a⟨U+E006F⟩b⟨U+001B⟩[0m"


@given(
    st.text(
        st.one_of(
            st.characters(codec="utf-8"),
            st.sampled_from("a\u05e9\u0915\U0001f468\u200d\ufe0f\u202e\U000e0041"),
        )
    )
)
def test_a_shown_text_keeps_the_rest(text: str) -> None:
    """What is shown keeps all other characters in their order."""
    hidden = {one.offset for one in find_hidden(text)}
    kept = "".join(character for offset, character in enumerate(text) if offset not in hidden)
    shown = reveal_hidden(text)

    assert len(shown) >= len(text)
    assert all(unicodedata.category(one.character)[0] in "CMLZ" for one in find_hidden(text))
    pieces = iter(shown)
    assert all(character in pieces for character in kept)
