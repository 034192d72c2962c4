"""Single statements in the passages of files: where each stands, and which newer one contradicts it."""

from datetime import date
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.kit.growth import LINEAR, growth

from memex.store.records import Reference
from memex.store.search.analyzer import Analyzer
from memex.store.search.bm25 import Query, weigh
from memex.subagent.context.selection import CandidatePassage
from memex.subagent.context.statements import StatementUnit, mark_rivals, split_passages, with_listed

ANALYZER = Analyzer()
TEXT = st.text(st.sampled_from("aé🦊\u0301 \t`#-\r\n*1.")) | st.lists(
    st.sampled_from(
        ["- ", "tea", " (2027-03-01)", " (2027-02-30)", "\n", "\r\n", "  ", "```", "# T", "[x] ", ":"]
    ),
    max_size=40,
).map("".join)


def asking(words: str) -> Query:
    """Return a query as a search in a large memory weighs it."""
    lexemes = ANALYZER.lexemes(words)
    return weigh(lexemes, n=10_000, total_length=900_000, df=dict.fromkeys(lexemes, 3))


QUERY = asking("oolong rehearsal choir")


def passage(
    text: str, path: str = "user/notes.md", *, start: int = 0, value: int = 1_000
) -> CandidatePassage:
    """Return a passage of a file."""
    return CandidatePassage(Reference(path, 1, (start, start + len(text))), text, value, "match")


def split(
    text: str, path: str = "user/notes.md", query: Query = QUERY
) -> tuple[list[StatementUnit], list[str]]:
    """Return the statements of one passage, and the texts of the others."""
    units, others = split_passages([passage(text, path)], query, ANALYZER)
    return units, [other.text for other in others]


def texts(text: str) -> list[str]:
    """Return the texts of the statements of one passage."""
    return [unit.candidate.text for unit in split(text)[0]]


def rivals(*statements: tuple[str, str], path: str = "user/notes.md") -> dict[str, list[str]]:
    """Return which dated statements are marked, by which; the file says them one below the other."""
    lines = [f"- {text} ({day})" for text, day in statements]
    units, _ = split("\n".join(lines), path)
    marked = mark_rivals(units, QUERY, ANALYZER)
    told = {unit.reference: unit.candidate.text[2:-13] for unit in marked}
    return {told[unit.reference]: [told[one] for one in unit.newer] for unit in marked if unit.newer}


def test_each_dated_bullet_is_a_statement() -> None:
    """With its day, its heading, and the span of its own characters."""
    text = (
        "# Notes\n\n## Likes and wishes ##\n\n- I like oolong. (2027-03-01)\n"
        "* Ich mag Ruhe. (2027-03-02) [[people/ines]]\r\n\n## Notes\n- Je chante. (2027-03-03)"
    )
    units, others = split(text, "user/preferences-2.md")

    assert others == []
    assert [(unit.candidate.heading, unit.day) for unit in units] == [
        (("Likes and wishes",), date(2027, 3, 1)),
        (("Likes and wishes",), date(2027, 3, 2)),
        (("Notes",), date(2027, 3, 3)),
    ]
    assert [text[slice(*unit.reference.span)] for unit in units] == [unit.candidate.text for unit in units]
    assert units[1].candidate.text == "* Ich mag Ruhe. (2027-03-02) [[people/ines]]"


def test_a_statement_is_worth_what_its_own_words_are() -> None:
    """One without a word of the question has a little of its passage's value."""
    [tea, noise], _ = split("- I like oolong. (2027-03-01)\n- I dislike noise. (2027-03-01)")

    assert noise.candidate.value == 50
    assert tea.candidate.value > 1_000


def test_what_is_nested_belongs_to_a_statement() -> None:
    """Lists and code too, with their blank lines; a nested bullet with a date is a statement of its own."""
    whole = [
        "- Pack: (2027-03-01)\n  - tent\n  - stove",
        "- Run: (2027-03-01)\n  ```\n  make\n\n  - no bullet (2027-03-09)\n  ```",
        "- Two lines\n  of one thing (2027-03-01)",
    ]
    assert texts("\n".join(whole)) == whole
    assert {unit.day for unit in split("\n".join(whole))[0]} == {date(2027, 3, 1)}
    assert texts("- Outer (2027-03-01)\n  - Inner (2027-03-02)\n") == [
        "- Outer (2027-03-01)",
        "  - Inner (2027-03-02)",
    ]


def test_what_is_no_statement_stays_a_passage() -> None:
    """Other files as they are; prose and undated bullets between statements by themselves."""
    prose = "I once wrote this by hand.\nAnd this."
    units, others = split(f"# Notes\n\n{prose}\n\n- I sing. (2027-03-01)\n- undated\n")

    assert [unit.candidate.text for unit in units] == ["- I sing. (2027-03-01)"]
    assert others == [f"# Notes\n\n{prose}", "- undated"]
    for text in (
        "- undated",
        "- no day (2027-02-30)",
        "- no month (2027-13-01)",
        "(2027-03-01)",
    ):
        assert split(text) == ([], [text])
    for path in ("user/people/ines.md", "shared/notes.md", "projects/boat/plan.md"):
        assert split("- I sing. (2027-03-01)", path) == ([], ["- I sing. (2027-03-01)"])


@pytest.mark.parametrize("text", ["# Notes", "# Tasks\n\n## Blocked\n", "## Notes ##\r\n"])
def test_headings_alone_are_no_passage_of_a_file_of_statements(text: str) -> None:
    """They say nothing, and would take the room of statements. In a file that a person wrote, they stay."""
    assert split(text) == ([], [])
    assert split(text, "user/notes/kettle.md")[1] == [text]


def test_a_statement_that_was_found_twice_is_one() -> None:
    """With the greater of its values, and the place in the file."""
    text = "- I like oolong. (2027-03-01)"
    found = [passage(text, start=7, value=100), passage(text, start=7, value=9_000)]
    units, others = split_passages(found, QUERY, ANALYZER)
    best, _ = split_passages(found[1:], QUERY, ANALYZER)

    assert units == best
    assert units[0].reference.span == (7, 7 + len(text))
    assert others == []


def test_what_a_list_asks_for_comes_first() -> None:
    """In the order of the list; what was found besides stays behind."""
    tea, noise, sing = split(
        "- I like oolong. (2027-03-01)\n- I dislike noise. (2027-03-02)\n- I sing. (2027-03-03)"
    )[0]
    merged = with_listed([tea, sing], [noise, sing])

    ranked = sorted(merged, key=lambda unit: -unit.candidate.value)
    assert [unit.reference for unit in ranked] == [noise.reference, sing.reference, tea.reference]
    assert with_listed([], []) == []
    assert with_listed([tea], []) == [tea]


def test_a_newer_statement_marks_the_older_one() -> None:
    """A chain is marked link by link, and the newest of it by nothing."""
    first = ("The choir rehearsal is on Tuesday at 18:00.", "2027-03-01")
    second = ("The choir rehearsal moved to Thursday at 19:30.", "2027-03-08")
    third = ("The choir rehearsal is now on Friday at 20:00.", "2027-03-15")

    assert rivals(first, second) == {first[0]: [second[0]]}
    assert rivals(second, first) == {first[0]: [second[0]]}
    chain = rivals(first, second, third)
    assert third[0] not in chain
    assert all(third[0] in newer or second[0] in newer for newer in chain.values())
    assert rivals(first, ("Wanda paints three boats.", "2027-03-08")) == {}
    assert rivals(first) == rivals() == {}


def test_all_places_of_an_outdated_statement_are_marked() -> None:
    """It may stand in several files."""
    old = "- The choir rehearsal is on Tuesday at 18:00. (2027-03-01)"
    new = "- The choir rehearsal moved to Thursday at 19:30. (2027-03-08)"
    found = [passage(old), passage(old, "user/notes-2.md"), passage(new, "user/notes-3.md")]
    units, _ = split_passages(found, QUERY, ANALYZER)
    marked = mark_rivals(units, QUERY, ANALYZER)

    assert [bool(unit.newer) for unit in marked] == [True, True, False]
    assert max(marked, key=lambda unit: unit.candidate.value) == marked[2]


@given(st.lists(TEXT, min_size=1, max_size=4), st.integers(0, 5_000))
def test_any_text_is_split_verbatim(parts: list[str], start: int) -> None:
    """Statements and passages are disjoint parts of it, and leave out only headings and white space."""
    text = "\n".join(parts)
    units, others = split_passages([passage(text, start=start)], QUERY, ANALYZER)
    pieces = [*(unit.candidate for unit in units), *others]
    marked = mark_rivals(units, QUERY, ANALYZER)

    rest = list(text)
    for piece in pieces:
        first, last = (place - start for place in piece.reference.span)
        assert text[first:last] == piece.text
        assert None not in rest[first:last]
        rest[first:last] = [None] * (last - first)  # type: ignore[list-item]  # blanked out
    left = "".join(char or "" for char in rest)
    assert all(not line.strip() or line.startswith("#") for line in left.splitlines())
    assert {unit.reference for unit in marked} == {unit.reference for unit in units}
    order = {unit.reference: unit.order for unit in marked}
    assert all(order[unit.reference] < order[one] for unit in marked for one in unit.newer)


@pytest.mark.parametrize(
    "seed", ["# a ", " ", "\n", "- a (2027-03-01)\n", "- ```\n  a\n", "(2027-03-01) ", "- a\n\n"]
)
def test_splitting_takes_linear_time(seed: str) -> None:
    """Four times the characters, of anything, take about four times as long."""

    def prepare(size: int) -> partial[object]:
        return partial(split, "- x (2027-03-01)\n# a" + (seed * size)[:size] + "b")

    assert growth(prepare, 12_000) < LINEAR


def test_a_long_file_is_read_whole() -> None:
    """Behind 200,000 characters of one line stands a statement."""
    assert texts("# " + " " * 200_000 + "x\n- I sing. (2027-03-01)") == ["- I sing. (2027-03-01)"]
