"""The quick look before the slow rules: it never hides what a rule would find."""

from itertools import pairwise
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from memex.evals.secrets.samples import samples
from memex.subagent.statements.secrets import lock_codes, statement
from memex.subagent.statements.secrets.clues import Clue, Clues, find_clues
from memex.subagent.statements.secrets.marks import Marks, to_small

SAMPLES = [one.text for one in samples()]
LETTERS = "aA \n1:/@!’_İıſKé\ud800"
PIECES = st.one_of(st.sampled_from(SAMPLES), st.text(LETTERS, max_size=12))
TEXTS = st.lists(PIECES, min_size=1, max_size=4).flatmap(
    lambda pieces: st.sampled_from(["", " ", "\n", ". "]).map(lambda between: between.join(pieces))
)


def everything(clues: Clues) -> Clues:
    """Return clues by which no rule is passed over, and each is tried from the start of the text."""
    return Clues(clues.text, clues.small, found=-1, first_name=0, first_digit=0)


def found_by_all_rules(clues: Clues) -> list[Any]:
    """Return what each rule finds by these clues."""
    return [
        [match.span() for match in statement._passwords(clues)],
        [(kind, match.span()) for kind, match in statement._phrases(clues)],
        [match.span() for match in statement._cards(clues)],
        [match.span() for match in statement._values_first(clues)],
        list(statement._lock_codes(clues)),
        list(statement._named_values(clues)),
    ]


def check_nothing_is_hidden(text: str) -> None:
    """Fail unless the quick look leaves every rule what it finds without the look."""
    clues = find_clues(text)

    assert found_by_all_rules(clues) == found_by_all_rules(everything(clues)), text


def test_no_secret_of_the_measured_texts_is_passed_over() -> None:
    """Each rule finds in each made-up text, whole and cut anywhere, what it finds when it reads all of it."""
    for before, text in pairwise(SAMPLES):
        middle = len(text) // 2
        for one in (text, text.upper(), text[middle:] + before[: len(before) // 2], f"{before}\n{text}"):
            check_nothing_is_hidden(one)


@given(TEXTS)
def test_no_secret_of_any_text_is_passed_over(text: str) -> None:
    """Also where letters are odd, lines end anywhere, or pieces touch."""
    check_nothing_is_hidden(text)


@given(st.from_regex(statement._NAMES.pattern))
def test_every_name_has_a_mark(text: str) -> None:
    """The search for names begins before the first of them."""
    clues = find_clues(text)
    name = statement._NAMES.search(statement._to_names(clues.text, clues.small))

    if name is not None:
        assert clues.has(Clue.NAME)
        assert name.start() >= clues.first_name - statement._MAX_PREFIX_CHARS


@given(st.from_regex(lock_codes._LOCK.pattern))
def test_every_lock_has_a_mark(text: str) -> None:
    """A lock without a mark would never be looked at."""
    clues = find_clues(text)

    if lock_codes._LOCK.search(clues.small):
        assert clues.has(Clue.LOCK)


@given(st.text())
def test_small_letters_keep_their_places(text: str) -> None:
    """Where a mark stands in the small letters, it stands in the text."""
    assert len(to_small(text)) == len(text)


def test_marks_are_found_at_their_places() -> None:
    """Also those inside of others, behind letters of several bytes, and beside half a surrogate pair."""
    marks = Marks(["pass", "password", "clé"])

    assert marks.find("é\ud800 password clé") == [(0, 3, 7), (1, 3, 11), (2, 12, 15)]
    assert marks.find("") == []
