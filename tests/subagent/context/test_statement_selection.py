"""Statements and passages in one context: what fits, in which order, and no outdated statement alone."""

from dataclasses import replace
from datetime import date, timedelta
from functools import partial
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st
from tests.kit.growth import LINEAR, growth

from memex.store.records import Reference, Span
from memex.subagent.context.assembly import OUTDATED, WRAPPER_CHARS, Note, assemble
from memex.subagent.context.recall import group_choices
from memex.subagent.context.selection import CandidatePassage
from memex.subagent.context.statement_selection import FEWEST, MAX_LISTED, select_mixed
from memex.subagent.context.statements import StatementUnit
from memex.subagent.planner import ContextPlan

MONDAY = date(2027, 3, 1)


def cut(text: str, width: int) -> Span:
    """Cut a text at its end."""
    return (0, min(width, len(text)))


choose = partial(select_mixed, cut=cut)


class Memory:
    """Files that grow by what is told of them."""

    def __init__(self) -> None:
        self.texts: dict[str, str] = {}

    def passage(self, path: str, text: str, value: int = 100) -> CandidatePassage:
        """Append a passage to a file."""
        start = len(self.texts.setdefault(path, ""))
        self.texts[path] += f"{text}\n{' ' * 10}\n"
        return CandidatePassage(Reference(path, 1, (start, start + len(text))), text, value, "match")

    def unit(
        self,
        text: str,
        value: int = 100,
        *,
        day: int = 0,
        newer: tuple[StatementUnit, ...] = (),
        heading: str = "Notes",
        path: str = "user/notes.md",
    ) -> StatementUnit:
        """Append a statement to a file."""
        candidate = self.passage(path, f"- {text}", value)._replace(heading=(heading,))
        return StatementUnit(candidate, MONDAY + timedelta(days=day), tuple(one.reference for one in newer))

    def notes(self, plan: ContextPlan) -> list[Note]:
        """Return the notes of a plan, read from the files."""
        read = [self.texts[one.reference.path][slice(*one.reference.span)] for one in plan.choices]
        return [note for note, _ in group_choices(plan.choices, read)]

    def context(self, plan: ContextPlan) -> list[str]:
        """Return the texts of the notes of a plan."""
        return [note.text for note in self.notes(plan)]


def left_out(plan: ContextPlan) -> list[str]:
    """Return why each span was left out."""
    return [omitted.reason for omitted in plan.omitted]


def test_statements_of_one_heading_share_a_line() -> None:
    """The best first; passages stand behind all statements."""
    memory = Memory()
    units = [memory.unit("Ines rows.", 100, day=1), memory.unit("Åsa rows.", 90, day=2)]
    units.append(
        memory.unit("Je préfère le calme.", 80, heading="Likes and wishes", path="user/preferences.md")
    )
    prose = memory.passage("shared/boat.md", "The boat is blue.", 200)
    plan = choose([], units, [prose], available=4_000)

    assert memory.context(plan) == [
        "- Ines rows.\n- Åsa rows.",
        "- Je préfère le calme.",
        "The boat is blue.",
    ]
    assert [choice.is_statement for choice in plan.choices] == [True, True, True, False]


def test_a_contradicted_statement_stands_below_the_newer_one() -> None:
    """Marked, and in another note; it brings the newer one along."""
    memory = Memory()
    new = memory.unit("The rehearsal is on Thursday.", 60, day=7)
    old = memory.unit("The rehearsal is on Tuesday.", 90, newer=(new,))
    plan = choose([], [old, new], [], available=2_000)

    assert memory.context(plan) == ["- The rehearsal is on Thursday.", "- The rehearsal is on Tuesday."]
    assert [note.is_outdated for note in memory.notes(plan)] == [False, True]
    assert assemble(memory.notes(plan)).text.count(OUTDATED) == 1


def test_without_room_for_the_newer_one_the_older_one_is_left_out() -> None:
    """However well it fits by itself."""
    memory = Memory()
    new = memory.unit("The rehearsal is on Thursday, " + "la " * 100, 100, day=7)
    old = memory.unit("The rehearsal is on Tuesday.", 90, newer=(new,))
    plan = choose([], [old, new], [], available=300)

    assert plan.choices == ()
    assert left_out(plan) == ["budget", "budget"]


def test_what_is_worth_little_is_left_out() -> None:
    """A short context holds only what is worth a third of the best, a long one nearly all."""
    memory = Memory()
    units = [memory.unit("Ines rows.", 100), memory.unit("Åsa sings.", 30), memory.unit("Bo naps.", 4)]

    assert len(choose([], units, [], available=1_000).choices) == 1
    assert len(choose([], units, [], available=4_000).choices) == 2
    assert left_out(choose([], units, [], available=1_000)) == ["relevance", "relevance"]
    weak = (Reference("user/far.md", 1, (0, 9)), 1)
    assert left_out(choose([], units[:1], [], available=1_000, unread=[weak])) == ["relevance"]


def test_a_short_context_holds_few_statements() -> None:
    """A list holds more."""
    memory = Memory()
    units = [memory.unit(f"Oar {n}") for n in range(60)]

    assert len(choose([], units, [], available=500).choices) == FEWEST
    assert len(choose([], units, [], available=1_500).choices) == 1_500 // 220
    assert len(choose([], units, [], available=9_000, is_list=True).choices) == MAX_LISTED


def test_what_is_pinned_is_not_recalled_again() -> None:
    """Neither a statement of the pinned file, nor one that needs such a statement beside it."""
    memory = Memory()
    new = memory.unit("The rehearsal is on Thursday.", 100, day=7)
    old = memory.unit("The rehearsal is on Tuesday.", 90, path="user/notes-2.md", newer=(new,))
    text = memory.texts["user/notes.md"]
    file = CandidatePassage(Reference("user/notes.md", 1, (0, len(text))), text, 0, "pinned")
    plan = choose([file], [old, new], [], available=1_000)

    assert [choice.reference.path for choice in plan.choices] == ["user/notes.md"]
    assert [omitted.reference for omitted in plan.omitted] == [old.reference]


def test_spans_that_overlap_are_recalled_once() -> None:
    """Of a statement and its beginning, and of a statement and a passage that holds it."""
    memory = Memory()
    whole = memory.unit("Ines rows on Monday.", 100)
    start = whole.reference.span[0]
    short = whole.candidate._replace(
        reference=whole.reference._replace(span=(start, start + 8)), text="- Ines r"
    )
    around = whole.candidate._replace(value=99, reference=whole.reference._replace(span=(start, start + 24)))

    for units, passages in (
        ([whole, StatementUnit(short, MONDAY)], []),
        ([whole], [around]),
    ):
        plan = choose([], units, passages, available=2_000)
        assert [choice.reference for choice in plan.choices] == [whole.reference]
        assert plan.omitted == () or passages == []


def test_nothing_gives_nothing() -> None:
    """Whatever the room."""
    for available in (-5, 0, 10, 100_000):
        assert choose([], [], [], available=available) == ContextPlan()


@st.composite
def mixtures(
    draw: st.DrawFn,
) -> tuple[Memory, list[CandidatePassage], list[StatementUnit], list[CandidatePassage]]:
    """Return a memory with a pinned file, statements that contradict older ones, and passages."""
    memory = Memory()
    text = st.text(
        st.sampled_from("aé🦊\u0301[]<>"), min_size=1, max_size=draw(st.sampled_from([5, 60, 400]))
    )
    units: list[StatementUnit] = []
    for day in reversed(range(draw(st.integers(0, 12)))):
        newer = draw(st.lists(st.sampled_from(units), max_size=2, unique=True)) if units else []
        path = draw(st.sampled_from(["user/notes.md", "user/tasks.md", "projects/boat/notes.md"]))
        heading = draw(st.sampled_from(["Notes", "Done"]))
        value = draw(st.integers(0, 1_000))
        units.append(memory.unit(draw(text), value, day=day, newer=tuple(newer), heading=heading, path=path))
    passages = [
        memory.passage("shared/boat.md", draw(text), draw(st.integers(0, 999)))
        for _ in range(draw(st.integers(0, 3)))
    ]
    pinned = []
    if draw(st.booleans()):
        path = draw(st.sampled_from(sorted(memory.texts) or ["user/me.md"]))
        held = memory.texts.setdefault(path, "I row.\n")
        pinned = [CandidatePassage(Reference(path, 1, (0, len(held))), held, 0, "pinned")]
    return memory, pinned, units, passages


@given(mixtures(), st.integers(0, 3_000), st.booleans(), st.randoms())
def test_a_selection_keeps_to_its_room_and_shows_the_newest(
    mixture: tuple[Memory, list[CandidatePassage], list[StatementUnit], list[CandidatePassage]],
    available: int,
    is_list: bool,
    chance: object,
) -> None:
    """Never a character more; an outdated statement is marked, and stands behind each that contradicts it."""
    memory, pinned, units, passages = mixture
    plan = choose(pinned, units, passages, available=available, is_list=is_list)
    shuffled = list(units)
    chance.shuffle(shuffled)  # type: ignore[attr-defined]  # hypothesis types it as an object
    notes = memory.notes(plan)
    context = assemble(notes)
    places = {choice.reference: place for place, choice in enumerate(plan.choices)}
    used = sorted((one.reference.path, *one.reference.span) for one in plan.choices)

    assert choose(pinned, shuffled, passages, available=available, is_list=is_list) == plan
    assert sum(note.chars for note in notes) <= available
    assert len(context.text) <= (available + WRAPPER_CHARS if notes else 0)
    assert all(note.text in context.text for note in notes)
    assert all(one[0] != other[0] or one[2] <= other[1] for one, other in pairwise(used))
    for unit in units:
        if unit.reference in places:
            choice = plan.choices[places[unit.reference]]
            assert choice.is_outdated == bool(unit.newer)
            assert all(places[one] < places[unit.reference] for one in unit.newer)
    for omitted in plan.omitted:
        path, (start, end) = omitted.reference.path, omitted.reference.span
        assert not any(path == other and start < last and first < end for other, first, last in used)


def test_choosing_takes_linear_time() -> None:
    """Four times the statements, each contradicted by the one before, take about four times as long."""

    def prepare(size: int) -> partial[ContextPlan]:
        memory = Memory()
        units = [memory.unit("la " * 20, 100, day=-place) for place in range(size)]
        pairs = [
            replace(old, newer=(new.reference,)) for new, old in zip(units[::2], units[1::2], strict=True)
        ]
        return partial(choose, [], [*units[::2], *pairs], [], available=4_000, is_list=True)

    assert growth(prepare, 1_600) < LINEAR
