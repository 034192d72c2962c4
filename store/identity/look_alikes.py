"""Ids that look alike: those that have the same skeleton. Pure.

The skeleton is that of Unicode Technical Standard 39 ("Unicode Security Mechanisms", 4 Confusable Detection), by a
table that holds what a person is likely to meet: letters of Cyrillic, Greek and Armenian that look like Latin ones,
and digits. NFKC does the rest, such as full width and mathematical letters.
"""

import re
import unicodedata

from memex.store.paths import UNSEEN

# A letter, and what looks like it.
_LIKE = (
    "a\u0430\u03b1\u0251 b\u044c\u0184 c\u0441\u03f2 d\u0501 e\u0435\u0454\u212e g\u0261\u0581 "
    "h\u04bb\u0570 i\u0456\u03b9\u0131l1|\u04cf\u0627 j\u0458\u03f3 k\u043a\u03ba m\u043c n\u0578\u03b7 "
    "o\u043e\u03bf\u0585\u03c30 p\u0440\u03c1 q\u051b\u0563 r\u0433 s\u0455 t\u0442\u03c4 u\u057d\u03c5 "
    "v\u0475\u03bd w\u0461\u051d\u03c9 x\u0445\u03c7 y\u0443\u03b3\u04af z\u1d22 "
    "-\u2010\u2011\u2012\u2013\u2014\u2212"
)
_TABLE = str.maketrans({other: group[0] for group in _LIKE.split(" ") for other in group[1:]})
_UNSEEN = re.compile(f"[{UNSEEN}]")


def spelled(value: str) -> str:
    """Return an id with the code points of its characters beyond ASCII, by which it differs from its likes."""
    return "".join(
        character if character.isascii() else f"{character} (U+{ord(character):04X})" for character in value
    )


def skeleton(value: str) -> str:
    """Return a form that ids share which a reader may take for each other."""
    folded = unicodedata.normalize("NFKC", _UNSEEN.sub("", value)).casefold()
    return folded.translate(_TABLE).replace("rn", "m").replace("vv", "w")
