"""Characters that nobody sees, or that change what a reader sees, where no script needs them. Pure.

A text may hold instructions that a person does not see and a model reads: in tag characters, in variation
selectors, or between zero-width characters. Characters that turn the direction of text show it in another order
than it is stored. Some scripts and emoji need such characters, so each one is judged by what stands beside it.

Sources: Default_Ignorable_Code_Point of the Unicode Character Database (UAX #44), "Confusable Detection" of
UTS #39, the emoji sequences of UTS #51, and Boucher and Anderson, "Trojan Source", USENIX Security 2023.
"""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from memex.store.paths import code_point

HiddenKind = Literal["tag", "direction", "zero_width", "selector", "control"]

# Each is looked at: control characters but tab, line feed and carriage return; and what has no width.
_CANDIDATE = re.compile(
    "[\x00-\x08\x0b-\x0c\x0e-\x1f\x7f-\x9f"
    "\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0"
    "\ufff9-\ufffb\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
# The flag of a part of a country, such as Wales: a black flag, the letters of ISO 3166-2 as tags, and their end.
_FLAG = re.compile(
    "\U0001f3f4[\U000e0061-\U000e007a]{2}[\U000e0030-\U000e0039\U000e0061-\U000e007a]{1,3}\U000e007f"
)
_OVERRIDES = "\u202d\u202e"
_DIRECTIONS = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u2066\u2067\u2068\u2069")
_RIGHT_TO_LEFT = re.compile(
    "[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\U00010800-\U00010fff\U0001e800-\U0001efff]"
)
_JOINED_SCRIPTS = ((0x0600, 0x08FF), (0x0900, 0x0DFF), (0x0F00, 0x109F), (0x1780, 0x18AF), (0xA840, 0xABFF),
                   (0xFB50, 0xFDFF), (0xFE70, 0xFEFC), (0x10A00, 0x11FFF), (0x1E900, 0x1E95F))  # fmt: skip
_UNSPACED_SCRIPTS = ((0x0E00, 0x0FFF), (0x1000, 0x109F), (0x1780, 0x17FF), (0x1950, 0x1AAF), (0x3000, 0x30FF),
                     (0x3400, 0x9FFF), (0xA9E0, 0xAA7F), (0xF900, 0xFAFF), (0xFF00, 0xFF9F))  # fmt: skip
_HANGUL = ((0x1100, 0x11FF), (0x3130, 0x318F), (0xA960, 0xA97F), (0xAC00, 0xD7FF), (0xFFA1, 0xFFDC))
_MONGOLIAN = ((0x1820, 0x18AF),)
_KHMER = ((0x1780, 0x17FF),)
_EMOJI_LETTERS = "\u2139\u24c2\u3297\u3299"  # the letters and ideographs that are emoji too
_IDEOGRAPHS = ((0x3007, 0x3007), (0x3400, 0x9FFF), (0xF900, 0xFAFF), (0x20000, 0x3FFFF))
_MUSIC = ((0x1D100, 0x1D1FF),)
# The scripts that need a character of no width beside their letters.
_SCRIPTS = {
    "\u200b": _UNSPACED_SCRIPTS,
    **dict.fromkeys("\u200c\u200d", _JOINED_SCRIPTS),
    **dict.fromkeys("\u115f\u1160\u3164\uffa0", _HANGUL),
    **dict.fromkeys("\u17b4\u17b5", _KHMER),
    **dict.fromkeys(map(chr, range(0x1D173, 0x1D17B)), _MUSIC),
}


@dataclass(frozen=True, slots=True)
class HiddenCharacter:
    """A character that is not needed where it stands, by its offset in code points."""

    offset: int
    character: str

    @property
    def name(self) -> str:
        """The code point, such as `U+202E`."""
        return code_point(self.character)

    @property
    def kind(self) -> HiddenKind:
        """The effect that the character has on a text."""
        return _kind(self.character)


def find_hidden(text: str) -> Iterator[HiddenCharacter]:
    """Yield the characters that nobody sees or that change the order of the text, where no script needs them."""
    flag_end = 0
    for found in _CANDIDATE.finditer(text):
        offset, character = found.start(), found[0]
        if offset < flag_end:
            continue
        if offset and text[offset - 1] == "\U0001f3f4" and (flag := _FLAG.match(text, offset - 1)):
            flag_end = flag.end()
        elif not _is_needed(text, offset, character):
            yield HiddenCharacter(offset, character)


def reveal_hidden(text: str) -> str:
    """Return the text with each of these characters as its code point in brackets, such as `⟨U+202E⟩`."""
    if _CANDIDATE.search(text) is None:
        return text
    shown: list[str] = []
    end = 0
    for character in find_hidden(text):
        shown += text[end : character.offset], f"⟨{character.name}⟩"
        end = character.offset + 1
    return "".join((*shown, text[end:])) if shown else text


@lru_cache(maxsize=512)
def _kind(character: str) -> HiddenKind:
    number = ord(character)
    if unicodedata.category(character) == "Cc":
        return "control"
    if character in _OVERRIDES or character in _DIRECTIONS:
        return "direction"
    if 0xE0000 <= number <= 0xE007F:
        return "tag"
    if 0xFE00 <= number <= 0xFE0F or 0x180B <= number <= 0x180F or 0xE0100 <= number <= 0xE01EF:
        return "selector"
    return "zero_width"


def _is_needed(text: str, offset: int, character: str) -> bool:
    """Tell whether a script or an emoji needs the character where it stands."""
    before = text[offset - 1] if offset else ""
    after = text[offset + 1 : offset + 2]
    match _kind(character):
        case "direction":
            return character not in _OVERRIDES and _is_right_to_left(text, offset)
        case "selector":
            return _selects(before, character)
        case "zero_width":
            return _has_place(offset, before, character, after)
        case _:
            return False


def _is_right_to_left(text: str, offset: int) -> bool:
    """Tell whether one of the 200 characters on each side of the place, in its line, is of such a script."""
    start = max(text.rfind("\n", max(offset - 200, 0), offset) + 1, offset - 200, 0)
    end = text.find("\n", offset, offset + 200)
    return _RIGHT_TO_LEFT.search(text, start, end if end >= 0 else offset + 200) is not None


def _selects(before: str, selector: str) -> bool:
    """Tell whether a variation selector stands behind a character of which there are variants."""
    if 0x180B <= ord(selector) <= 0x180F:
        return _is_in(before, _MONGOLIAN)
    if ord(selector) >= 0xE0100:
        return _is_in(before, _IDEOGRAPHS)
    if before == "":
        return False
    if selector >= "\ufe0e":  # as text, or as an emoji
        return unicodedata.category(before)[0] in "SP" or before in _EMOJI_LETTERS or "0" <= before <= "9"
    return selector <= "\ufe02" and unicodedata.category(before) in ("Sm", "Lo")


def _has_place(offset: int, before: str, character: str, after: str) -> bool:
    """Tell whether a character of no width is needed between its neighbours."""
    if character == "\ufeff":
        return offset == 0
    scripts = _SCRIPTS.get(character, ())
    if _is_in(before, scripts) or _is_in(after, scripts):
        return True
    return character == "\u200d" and _ends_emoji(before) and _is_symbol(after)


def _ends_emoji(character: str) -> bool:
    """Tell whether a character can be the last of an emoji that is joined with the next one."""
    return character == "\ufe0f" or _is_symbol(character)


def _is_symbol(character: str) -> bool:
    return character != "" and unicodedata.category(character) in ("So", "Sk")


def _is_in(character: str, ranges: tuple[tuple[int, int], ...]) -> bool:
    return character != "" and any(first <= ord(character) <= last for first, last in ranges)
