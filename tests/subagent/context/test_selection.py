"""What goes into a context: pinned passages, then what was chosen, as far as it fits, each once."""

from collections.abc import Sequence
from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from memex.store.records import Reference, Span
from memex.store.search.analyzer import Analyzer
from memex.store.search.snippet import window
from memex.subagent.context.assembly import VERBATIM_FORMAT, WRAPPER_CHARS, Note, assemble, title_line
from memex.subagent.context.recall import fitting_notes
from memex.subagent.context.rendering import Rendering
from memex.subagent.context.selection import CandidatePassage, PassageSelection
from memex.subagent.planner import Choice, ContextPlan

ANALYZER = Analyzer()
WORDS = " ".join(f"word{n} tea" for n in range(200))


def cut(text: str, width: int) -> Span:
    """Cut a text around the word tea, as the built-in planner would."""
    return window(text, frozenset({"tea"}), ANALYZER, width)


def choose(
    pinned: Sequence[CandidatePassage], others: Sequence[CandidatePassage], *, available: int
) -> ContextPlan:
    """Offer the pinned half of the room, and then all of it to the others."""
    selection = PassageSelection(cut=cut)
    for candidate in pinned:
        selection.offer(candidate, available // 2)
    for candidate in others:
        selection.offer(candidate, available)
    return selection.plan()


def candidate(
    path: str, value: int, text: str, *, start: int = 0, linked_from: str | None = None
) -> CandidatePassage:
    """Return a passage of a user's file."""
    reference = Reference(f"user/{path}.md", 1, (start, start + len(text)))
    return CandidatePassage(reference, text, value, "link" if linked_from else "match", linked_from)


def pinned(path: str, text: str) -> CandidatePassage:
    """Return a pinned file."""
    return candidate(path, 0, text)._replace(reason="pinned")


def names(plan: ContextPlan) -> list[str]:
    """Return the files that were chosen, in order, without mount and suffix."""
    return [choice.reference.path.removeprefix("user/")[:-3] for choice in plan.choices]


def left_out(plan: ContextPlan) -> list[tuple[str, str]]:
    """Return the files that were left out, and why."""
    return [(omitted.reference.path.removeprefix("user/")[:-3], omitted.reason) for omitted in plan.omitted]


def chars(choices: Sequence[Choice]) -> int:
    """Return how many characters choices take in a context."""
    return sum(
        Note(choice.reference.path, title_line(choice.reference.path, choice.heading)).chars
        + choice.reference.span[1]
        - choice.reference.span[0]
        for choice in choices
    )


def test_a_text_is_recalled_once() -> None:
    """The same text in another file is left out as a duplicate, pinned or not."""
    plan = choose(
        [pinned("p", "same")],
        [candidate("a", 100, "same"), candidate("b", 90, "other"), candidate("c", 90, "other")],
        available=1_000,
    )

    assert names(plan) == ["p", "b"]
    assert left_out(plan) == [("a", "duplicate"), ("c", "duplicate")]


def test_a_scrap_is_not_recalled() -> None:
    """Where less than 120 characters of a passage fit, it is left out."""
    plan = choose([], [candidate("a", 100, "one"), candidate("b", 90, WORDS)], available=140)

    assert names(plan) == ["a"]
    assert left_out(plan) == [("b", "budget")]


def test_a_character_is_not_cut() -> None:
    """Of a letter with 500 marks nothing fits: it is left out."""
    plan = choose([], [candidate("a", 100, "e" + "\u0301" * 500)], available=300)

    assert plan.choices == ()
    assert left_out(plan) == [("a", "budget")]


def test_neighbours_are_one_span() -> None:
    """Two passages with only blank lines between them need one line; what lies further apart has its own."""
    plan = choose(
        [],
        [
            candidate("a", 90, "second", start=102),
            candidate("a", 100, "x" * 100),
            candidate("a", 95, "third", start=200),
        ],
        available=1_000,
    )

    assert [choice.reference.span for choice in plan.choices] == [(0, 108), (200, 205)]
    assert plan.omitted == ()


def test_pinned_files_have_half_of_the_room() -> None:
    """They come first in their order; the one that passes the half is cut, and what matches has the rest."""
    plan = choose(
        [pinned("z", "first " * 20), pinned("p", WORDS), pinned("q", "late " * 50)],
        [candidate("a", 100, WORDS.upper())],
        available=1_000,
    )

    assert names(plan) == ["z", "p", "a"]
    assert [choice.truncated for choice in plan.choices] == [False, True, True]
    assert 400 < chars(plan.choices[:2]) <= 500
    assert 900 < chars(plan.choices) <= 1_000
    assert left_out(plan) == [("q", "budget")]


def test_a_pinned_file_that_matches_stands_there_once() -> None:
    """As pinned, and not among what was left out either."""
    text = "tea " * 20
    plan = choose([pinned("a", text)], [candidate("a", 100, text)], available=1_000)

    assert [(choice.reason, choice.reference.span) for choice in plan.choices] == [("pinned", (0, 80))]
    assert plan.omitted == ()


def test_a_pinned_file_without_room_can_still_match() -> None:
    """What stands in the context is not told as left out."""
    plan = choose(
        [pinned("p", WORDS[:300]), pinned("q", "tea " * 40)],
        [candidate("q", 100, "tea " * 40)],
        available=640,
    )

    assert names(plan) == ["p", "q"]
    assert [choice.reason for choice in plan.choices] == ["pinned", "match"]
    assert plan.omitted == ()


def test_what_neighbours_take_along_is_not_left_out() -> None:
    """A weak line between two passages that are recalled as one stands in the context."""
    plan = choose(
        [],
        [
            candidate("a", 100, "first"),
            candidate("a", 1, "weak", start=5),
            candidate("a", 100, "second", start=9),
        ],
        available=1_000,
    )

    assert [choice.reference.span for choice in plan.choices] == [(0, 15)]
    assert plan.omitted == ()


def test_a_passage_is_left_out_once() -> None:
    """A pinned file that does not fit, as itself or as a match, is one of the omitted."""
    plan = choose([pinned("p", WORDS)], [candidate("p", 100, WORDS)], available=45)

    assert plan.choices == ()
    assert left_out(plan) == [("p", "budget")]


def test_a_cut_neighbour_pays_for_its_own_line() -> None:
    """What is kept of it may stand apart from the passage that it followed."""
    first, second = "one " * 30, "x " * 400 + "tea tea tea"
    plan = choose(
        [],
        [candidate("a", 100, first), candidate("a", 99, second, start=len(first) + 1)],
        available=500,
    )

    assert len(plan.choices) == 2
    assert chars(plan.choices) <= 500


LINE = st.text(st.sampled_from("aé🦊\u0301\u200d אب#[]<>\r\n "), max_size=300) | st.just(WORDS[:700])


@st.composite
def candidates_of(draw: st.DrawFn) -> tuple[dict[str, str], list[CandidatePassage], list[CandidatePassage]]:
    """Return the texts of files, and passages of them in their order: of pinned files, and of all."""
    texts: dict[str, str] = {}
    first: list[CandidatePassage] = []
    found: list[CandidatePassage] = []
    for number in range(draw(st.integers(1, 6))):
        lines = draw(st.lists(LINE.filter(bool), min_size=1, max_size=6))
        gap = "\n" * draw(st.integers(0, 12))
        texts[f"user/{number}.md"] = gap.join(lines)
        linked_from = draw(st.none() | st.just("user/hub.md"))
        start = 0
        for line in lines:
            value = draw(st.integers(1, 1_000))
            found.append(candidate(str(number), value, line, start=start, linked_from=linked_from))
            start += len(line) + len(gap)
        if draw(st.integers(0, 3)) == 0:
            first.append(pinned(str(number), texts[f"user/{number}.md"]))
    return texts, first, found


@settings(deadline=None)
@given(candidates_of(), st.integers(1, 3_000))
def test_a_selection_keeps_to_its_room(
    drawn: tuple[dict[str, str], list[CandidatePassage], list[CandidatePassage]],
    available: int,
) -> None:
    """Never a character more; spans of a file do not overlap, nor with what was left out."""
    texts, first, found = drawn
    plan = choose(first, found, available=available)
    read = [texts[choice.reference.path][slice(*choice.reference.span)] for choice in plan.choices]
    notes, _ = fitting_notes(
        list(zip(plan.choices, read, strict=True)), 10**6, Rendering(format=VERBATIM_FORMAT)
    )
    used = [(choice.reference.path, *choice.reference.span) for choice in plan.choices]

    assert sum(note.chars for note in notes) <= available
    assert len(assemble(notes).text) <= (available + WRAPPER_CHARS if notes else 0)
    assert all(start < end for _, start, end in used)
    assert all(a[0] != b[0] or a[2] <= b[1] for a, b in pairwise(sorted(used)))
    omitted = [(one.reference.path, *one.reference.span) for one in plan.omitted]
    assert len(omitted) == len(set(omitted))
    for path, start, end in omitted:
        assert not any(path == p and start < e and s < end for p, s, e in used)
    half = [choice for choice in plan.choices if choice.reason == "pinned"]
    is_pinned = [choice.reference.path in {one.reference.path for one in half} for choice in plan.choices]
    assert is_pinned == sorted(is_pinned, reverse=True)
