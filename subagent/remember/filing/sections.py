"""Under which heading a statement stands in the file of its kind. Pure.

A statement goes under a heading of its file whose words it has. All others stand under the general heading, such as
`Notes`.
"""

from collections.abc import Iterable, Mapping, Sequence

from memex.subagent.statements.places import stands_for_kind
from memex.subagent.statements.subjects import normal_form

MAX_HEADING_WORDS = 4  # a longer heading is a sentence, and names nothing

HeadingIndex = Mapping[str, Sequence[tuple[str, frozenset[str]]]]


def index_headings(headings: Iterable[str]) -> HeadingIndex:
    """Return headings that stand for no kind, with their words, each by one of these."""
    found: dict[str, list[tuple[str, frozenset[str]]]] = {}
    for heading in headings:
        words = _words(heading)
        if 0 < len(words) <= MAX_HEADING_WORDS and not stands_for_kind(heading):
            found.setdefault(min(words), []).append((heading, words))
    return found


def heading_for(text: str, index: HeadingIndex) -> str | None:
    """Return the heading whose words a statement has, of several the one with most words; None for none."""
    said = _words(text)
    named = (section for word in sorted(said) for section in index.get(word, ()) if section[1] <= said)
    return max(named, key=lambda section: len(section[1]), default=(None, None))[0]


def leaves_heading(heading: str, older: str, newer: str) -> bool:
    """Return whether a statement names the heading that it stands under, and what replaces it does not."""
    index = index_headings([heading])
    return heading_for(older, index) is not None and heading_for(newer, index) is None


def _words(text: str) -> frozenset[str]:
    """Return the words of a text without plural and genitive endings."""
    forms = (word.removesuffix("'s") for word in normal_form(text))
    return frozenset(word.removesuffix("s") if len(word) > 4 else word for word in forms if word.strip("#"))
