"""The plain analysis of a text: words without stop words, by their Snowball stems. Not the one of search. Pure."""

import re

import Stemmer  # type: ignore[import-not-found]  # compiled, without types

# "Lucene" is the list of its StandardAnalyzer, "Postgres" its english.stop, which is Snowball's.
STOP_WORDS = {
    "Lucene": frozenset(
        """
        a an and are as at be but by for if in into is it no not of on or such that the their then there these
        they this to was will with
        """.split()  # noqa: SIM905 (a line a word would be longer than the code)
    ),
    "Postgres": frozenset(
        """
        i me my myself we our ours ourselves you your yours yourself yourselves he him his himself she her hers
        herself it its itself they them their theirs themselves what which who whom this that these those am is
        are was were be been being have has had having do does did doing a an the and but if or because as until
        while of at by for with about against between into through during before after above below to from up
        down in out on off over under again further then once here there when where why how all any both each few
        more most other some such no nor not only own same so than too very s t can will just don should now
        """.split()  # noqa: SIM905 (a line a word would be longer than the code)
    ),
}

_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")


def plain_lexemes(text: str, stop_words: frozenset[str], stemmer: Stemmer.Stemmer) -> list[str]:
    """Return the lexemes of a text by the plain analysis.

    The text is put into lower case and cut into runs of letters and digits, with apostrophes inside. A final 's is
    removed, and words that an apostrophe still joins are split. Stop words are removed; the rest is stemmed by
    Snowball english.
    """
    words: list[str] = []
    for word in _WORD.findall(text.lower().replace("’", "'")):
        words += word.removesuffix("'s").split("'")
    stems: list[str] = stemmer.stemWords([word for word in words if word not in stop_words])
    return stems
