"""Greek and Cyrillic letters that look like Latin ones. Pure.

Source: confusables.txt of UTS #39, the single letters of Greek and Cyrillic.
"""

import re

LOOKALIKES = str.maketrans(
    "аеорсхуіјѕһԁԛԝӏАВЕКМНОРСТХУІЈЅοανριυκΑΒΕΖΗΙΚΜΝΟΡΤΥΧ",
    "aeopcxyijshdqwlABEKMHOPCTXYIJSoavpiukABEZHIKMNOPTYX",
)
OTHER_LETTER = re.compile(r"[\u0370-\u03ff\u0400-\u052f]")
LATIN_LETTER = re.compile(r"[A-Za-z\u00c0-\u024f]")


def to_latin(word: str) -> str:
    """Return a word with Latin letters for those that look alike, if it is meant to look like a Latin one.

    That is a word with a Latin letter, or one that looks Latin in capital and in small letters: so a word is the
    same as itself in capital letters, as which more letters look Latin.
    """
    if not OTHER_LETTER.search(word):
        return word
    if LATIN_LETTER.search(word):
        return word.translate(LOOKALIKES)
    cases = [
        word.translate(LOOKALIKES),
        word.lower().translate(LOOKALIKES),
        word.upper().translate(LOOKALIKES),
    ]
    return word if any(map(OTHER_LETTER.search, cases)) else cases[0]
