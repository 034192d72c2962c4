"""Which lines a context holds: what fits, in which order, and no outdated statement alone."""

from datetime import UTC, date, datetime, timedelta
from functools import partial
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st
from tests.kit.growth import LINEAR, growth

from memex.store.entry_path import entry_path
from memex.store.records import Reference, Span
from memex.subagent.context.assembly import (
    OUTDATED,
    VERBATIM_FORMAT,
    WRAPPER_CHARS,
    Note,
    Section,
    assemble,
    passage_header,
)
from memex.subagent.context.line_selection import MAX_OUTDATED, select_lines
from memex.subagent.context.pool import ContextLine, best_first
from memex.subagent.context.recall import fitting_notes
from memex.subagent.context.rendering import Rendering
from memex.subagent.context.selection import CandidatePassage
from memex.subagent.context.statements import StatementUnit
from memex.subagent.included import FoundPassage, FoundSection, IncludedPlace
from memex.subagent.planner import Choice, ContextPlan

MONDAY = date(2027, 3, 1)
SAID = FoundSection("conversations", "conversation", "What was said.")


def cut(text: str, width: int) -> Span:
    """Cut a text at its end."""
    return (0, min(width, len(text)))


def choose(
    pinned: list[CandidatePassage], lines: list[ContextLine], *, available: int, is_list: bool = False
) -> ContextPlan:
    """Return what is recalled of lines in any order."""
    return select_lines(pinned, best_first(lines), available=available, cut=cut, is_list=is_list)


def told(day: int, part: int = 0) -> str:
    """Return the path of an entry that was told on a day of March."""
    return f"user/{entry_path(datetime(2027, 3, day, 9, 30, part, tzinfo=UTC), 'told', part)}"


class Memory:
    """Files that grow by what is told of them."""

    def __init__(self) -> None:
        self.texts: dict[str, str] = {}

    def passage(self, path: str, text: str) -> CandidatePassage:
        """Append a passage to a file."""
        start = len(self.texts.setdefault(path, ""))
        self.texts[path] += f"{text}\n{' ' * 10}\n"
        return CandidatePassage(Reference(path, 1, (start, start + len(text))), text, 0, "match")

    def line(self, path: str, text: str, score: float = 1.0) -> ContextLine:
        """Append a line to a file."""
        return ContextLine(self.passage(path, text), None, score)

    def statement(
        self,
        text: str,
        score: float = 1.0,
        *,
        day: int = 0,
        newer: tuple[ContextLine, ...] = (),
        path: str = "user/notes.md",
    ) -> ContextLine:
        """Append a statement to a page."""
        candidate = self.passage(path, f"- {text}")
        references = tuple(one.reference for one in newer)
        return ContextLine(
            candidate, StatementUnit(candidate, MONDAY + timedelta(days=day), references), score
        )

    def notes(self, plan: ContextPlan) -> list[Note]:
        """Return the notes of a plan, read from the files."""
        read = [self.texts[one.reference.path][slice(*one.reference.span)] for one in plan.choices]
        return fitting_notes(
            list(zip(plan.choices, read, strict=True)), 10**6, Rendering(format=VERBATIM_FORMAT)
        )[0]

    def context(self, plan: ContextPlan) -> list[tuple[str, str]]:
        """Return the headers and the texts of the notes of a plan."""
        return [(note.about, note.text) for note in self.notes(plan)]


def said(text: str, number: int, score: float = 1.0) -> ContextLine:
    """Return a message of one line that was found beside memory."""
    reference = Reference(f"conversations/boat#{number}", 1, (0, len(text)))
    candidate = CandidatePassage(reference, text, 0, "conversation")
    place = IncludedPlace(SAID, FoundPassage(reference, text, about=("user", "Boat")))
    return ContextLine(candidate, None, score, why="conversation", included=place)


def left_out(plan: ContextPlan) -> list[str]:
    """Return why each line was left out."""
    return [omitted.reason for omitted in plan.omitted]


def test_lines_of_a_page_and_of_a_day_share_a_header() -> None:
    """The newest first, of a list the best. A page says its best line first, a day what was told first."""
    memory = Memory()
    lines = [
        memory.line(told(2, 1), "Ines rows.", 0.5),
        memory.line(told(2, 2), "Åsa rows.", 0.9),
        memory.line(told(3), "Bo rows.", 0.8),
        memory.statement("I like oars.", 0.6, path="user/preferences.md"),
        memory.statement("I like boats.", 0.7, path="user/preferences.md"),
        memory.line("projects/boat/plan.md", "Row on Friday.", 0.4),
    ]

    first, second = ("2027-03-02", "Ines rows.\nÅsa rows."), ("2027-03-03", "Bo rows.")
    rest = [("preferences", "- I like boats.\n- I like oars."), ("boat: plan", "Row on Friday.")]

    assert memory.context(choose([], lines, available=4_000)) == [second, first, *rest]
    assert memory.context(choose([], lines, available=4_000, is_list=True)) == [first, second, *rest]


def test_the_newest_statement_of_a_page_stands_first() -> None:
    """Though an older one answers better; a list keeps its order, and a page stands by its newest statement."""
    memory = Memory()
    lines = [
        memory.statement("We use Slack.", 0.9, day=0),
        memory.statement("We switched to Zulip.", 0.5, day=9),
        memory.line(told(2), "Bo rows.", 0.7),
    ]

    newest = [text for _, text in memory.context(choose([], lines, available=4_000))]
    listed = [text for _, text in memory.context(choose([], lines, available=4_000, is_list=True))]

    assert [text for text in newest if "Zulip" in text] == ["- We switched to Zulip.\n- We use Slack."]
    assert listed[0] == "- We use Slack.\n- We switched to Zulip."


def test_a_line_far_below_the_best_does_not_fill_the_budget() -> None:
    """However much room there is; but of a small memory, whose words do not tell, all is shown that fits."""
    memory = Memory()
    scores = (("Ines rows.", 1.0), ("Bo naps.", 0.09), ("Åsa sings.", -0.5))
    lines = [memory.line(told(2), text, score) for text, score in scores]
    short = select_lines([], lines, available=9_000, cut=cut)
    full = select_lines([], lines, available=9_000, cut=cut, shows_all=True)

    assert [text for _, text in memory.context(short)] == ["Ines rows."]
    assert left_out(short) == ["relevance", "relevance"]
    assert [text for _, text in memory.context(full)] == ["Ines rows.\nBo naps.\nÅsa sings."]


def test_what_does_not_fit_leaves_its_room_to_what_does() -> None:
    """A shorter line behind a long one still comes in."""
    memory = Memory()
    lines = [
        memory.line(told(2), "Ines rows.", 0.9),
        memory.line(told(2), "la " * 100, 0.8),
        memory.line(told(2), "Bo rows.", 0.7),
    ]
    plan = choose([], lines, available=100)

    assert [text for _, text in memory.context(plan)] == ["Ines rows.\nBo rows."]
    assert left_out(plan) == ["budget"]


def test_the_first_line_is_cut_rather_than_left_out() -> None:
    """A context without any line would say that nothing is known."""
    memory = Memory()
    plan = choose([], [memory.line(told(2), "la " * 100)], available=100)

    assert plan.choices[0].truncated
    assert sum(note.chars for note in memory.notes(plan)) <= 100
    assert plan.omitted == ()


def test_equal_lines_are_recalled_once() -> None:
    """The page's, which a person can edit; a list keeps the order of its own."""
    memory = Memory()
    entry = memory.line(told(2), "I like oars.", 0.9)
    page = memory.statement("I like oars. (2027-03-02)", 0.8)
    older = memory.statement("I like sails. (2027-03-01)", 0.7, newer=(page,))

    assert [text for _, text in memory.context(choose([], [entry, page], available=900))] == [
        "- I like oars. (2027-03-02)"
    ]
    assert [text for _, text in memory.context(choose([], [entry, page, older], available=900))] == [
        "- I like oars. (2027-03-02)",
        "- I like sails. (2027-03-01)",
    ]


def test_a_contradicted_statement_stands_below_the_newer_one() -> None:
    """Marked, and in another note; it brings the newer one along."""
    memory = Memory()
    new = memory.statement("The rehearsal is on Thursday.", 0.6, day=7)
    old = memory.statement("The rehearsal is on Tuesday.", 0.9, newer=(new,))
    plan = choose([], [old, new], available=2_000)

    assert [text for _, text in memory.context(plan)] == [
        "- The rehearsal is on Thursday.",
        "- The rehearsal is on Tuesday.",
    ]
    assert [note.is_outdated for note in memory.notes(plan)] == [False, True]
    assert assemble(memory.notes(plan)).text.count(OUTDATED) == 1


def test_without_room_for_the_newer_one_the_older_one_is_left_out() -> None:
    """However well it fits by itself."""
    memory = Memory()
    new = memory.statement("The rehearsal is on Thursday, " + "la " * 100, 0.6, day=7)
    old = memory.statement("The rehearsal is on Tuesday.", 0.9, newer=(new,))
    plan = choose([], [old, new], available=300)

    assert [choice.reference.path for choice in plan.choices if choice.is_outdated] == []
    assert old.reference in [one.reference for one in plan.omitted]


def test_the_newer_one_stands_where_both_do_not_fit() -> None:
    """A question finds the older one in other words, and gets what holds now."""
    memory = Memory()
    new = memory.statement("The rehearsal is on Thursday.", 0.2, day=7)
    old = memory.statement("The rehearsal is on Tuesday, " + "la " * 10, 0.9, newer=(new,))
    other = memory.statement("The choir sings.", 0.5)
    plan = choose([], [old, other, new], available=100)

    assert [choice.reference for choice in plan.choices] == [new.reference, other.reference]
    assert left_out(plan) == ["budget"]


def test_of_equal_contradicted_lines_the_best_is_shown() -> None:
    """Such as the line of a page that a list holds, and the same words in the journal."""
    memory = Memory()
    new = memory.statement("The rehearsal is on Thursday.", 0.2, day=7)
    old = memory.statement("The rehearsal is on Tuesday.", 2.1, newer=(new,))
    told_old = memory.statement("The rehearsal is on Tuesday.", 0.1, newer=(new,), path=told(1))
    plan = choose([], [old, told_old, new], available=900)

    assert [choice.reference for choice in plan.choices] == [new.reference, old.reference]


def test_few_outdated_statements_are_shown() -> None:
    """A thing that changed often would fill a context with what holds no more."""
    memory = Memory()
    new = memory.statement("The rehearsal is on Thursday.", 1.0, day=7)
    old = [memory.statement(f"The rehearsal is at {n}.", 0.9, newer=(new,)) for n in range(MAX_OUTDATED + 4)]
    plan = choose([], [new, *old], available=9_000)

    assert sum(choice.is_outdated for choice in plan.choices) == MAX_OUTDATED


def test_what_is_pinned_is_not_recalled_again() -> None:
    """Neither for its own sake, nor beside an older statement of another file, which stands behind it."""
    memory = Memory()
    new = memory.statement("The rehearsal is on Thursday.", day=7)
    old = memory.statement("The rehearsal is on Tuesday.", path="user/notes-2.md", newer=(new,))
    text = memory.texts["user/notes.md"]
    file = CandidatePassage(Reference("user/notes.md", 1, (0, len(text))), text, 0, "pinned")
    plan = choose([file], [old, new], available=1_000)

    assert [(choice.reason, choice.is_outdated) for choice in plan.choices] == [
        ("pinned", False),
        ("match", True),
    ]
    assert plan.omitted == ()


def test_nothing_gives_nothing() -> None:
    """Whatever the room."""
    for available in (-5, 0, 10, 100_000):
        assert choose([], [], available=available) == ContextPlan()


@st.composite
def mixtures(draw: st.DrawFn) -> tuple[Memory, list[CandidatePassage], list[ContextLine]]:
    """Return a memory with a pinned file, statements that contradict older ones, and lines of entries."""
    memory = Memory()
    text = st.text(
        st.sampled_from("aé🦊\u0301[]<>"), min_size=1, max_size=draw(st.sampled_from([5, 60, 400]))
    )
    scores = st.floats(0, 2)
    lines: list[ContextLine] = []
    for day in reversed(range(draw(st.integers(0, 12)))):
        newer = draw(st.lists(st.sampled_from(lines), max_size=2, unique_by=id)) if lines else []
        path = draw(st.sampled_from(["user/notes.md", "user/tasks.md", "projects/boat/notes.md"]))
        lines.append(memory.statement(draw(text), draw(scores), day=day, newer=tuple(newer), path=path))
    for _ in range(draw(st.integers(0, 4))):
        path = draw(st.sampled_from([told(2), told(2, 1), told(3), "shared/boat.md"]))
        lines.append(memory.line(path, draw(text), draw(scores)))
    pinned = []
    if draw(st.booleans()):
        path = draw(st.sampled_from(sorted(memory.texts) or ["user/me.md"]))
        held = memory.texts.setdefault(path, "I row.\n")
        pinned = [CandidatePassage(Reference(path, 1, (0, len(held))), held, 0, "pinned")]
    return memory, pinned, lines


@given(mixtures(), st.integers(0, 3_000), st.randoms())
def test_a_selection_keeps_to_its_room_and_shows_the_newest(
    mixture: tuple[Memory, list[CandidatePassage], list[ContextLine]], available: int, chance: object
) -> None:
    """Never a character more; an outdated statement is marked, and stands behind each that contradicts it."""
    memory, pinned, lines = mixture
    plan = choose(pinned, lines, available=available)
    shuffled = list(lines)
    chance.shuffle(shuffled)  # type: ignore[attr-defined]  # hypothesis types it as an object
    notes = memory.notes(plan)
    context = assemble(notes)
    places = {choice.reference: place for place, choice in enumerate(plan.choices)}
    used = sorted((one.reference.path, *one.reference.span) for one in plan.choices)

    assert choose(pinned, shuffled, available=available) == plan
    assert sum(note.chars for note in notes) <= available
    assert len(context.text) <= (available + WRAPPER_CHARS if notes else 0)
    assert all(note.text in context.text for note in notes)
    assert all(one[0] != other[0] or one[2] <= other[1] for one, other in pairwise(used))
    for line in lines:
        if line.reference in places and line.unit is not None:
            assert plan.choices[places[line.reference]].is_outdated == bool(line.unit.newer)
            known = [one for one in line.unit.newer if one in places]
            assert all(places[one] < places[line.reference] for one in known)
    for omitted in plan.omitted:
        path, (start, end) = omitted.reference.path, omitted.reference.span
        assert not any(path == other and start < last and first < end for other, first, last in used)


def test_choosing_takes_linear_time() -> None:
    """Four times the lines, each contradicted by the one before, take about four times as long."""

    def prepare(size: int) -> partial[ContextPlan]:
        memory = Memory()
        new = [memory.statement(f"la {n} " * 9, day=-n) for n in range(size)]
        old = [memory.statement(f"lo {n} " * 9, day=-n, newer=(one,)) for n, one in enumerate(new)]
        return partial(choose, [], [*new, *old], available=4_000)

    assert growth(prepare, 1_600) < LINEAR


def test_words_of_an_entry_and_their_statements_are_recalled_once() -> None:
    """Whichever comes first; what an entry says beyond the statements is recalled with it."""
    memory = Memory()
    both = "I prefer oolong tea. I moved to Lyon in March."
    pages = [
        ("I prefer oolong tea.", "I moved to Lyon in March."),
        ("I prefer oolong tea.", "The roof leaks."),
    ]
    for scores in ((1.0, 0.9), (0.9, 1.0)):
        for stated in pages:
            memory = Memory()
            statements = [memory.statement(text, scores[0]) for text in stated]
            plan = choose([], [*statements, memory.line(told(1), both, scores[1])], available=2_000)
            texts = [memory.texts[one.reference.path][slice(*one.reference.span)] for one in plan.choices]
            is_told, is_whole = scores[1] > scores[0], stated == pages[0]

            if is_whole and not is_told:
                assert both not in texts
                assert len(texts) == 2
            else:
                assert both in texts
            if is_told:
                assert not any(stated[0] in text for text in texts if text != both)
            assert any("The roof leaks." in text for text in texts) is not is_whole


def test_what_is_included_competes_with_memory_and_stands_behind_it() -> None:
    """The best lines have the room, whatever they are lines of; the first one pays for the line above its kind."""
    memory = Memory()
    own = memory.line("user/boat.md", "Ines rows on Mondays and on Fridays.", 0.5)
    for score in (0.9, 0.4):
        beside = said("The oars hang in the shed by the river.", 1, score)
        full = choose([], [own, beside], available=4_000)
        small = choose([], [own, beside], available=130)

        assert [choice.reference.path for choice in full.choices] == ["user/boat.md", "conversations/boat#1"]
        assert [choice.included is None for choice in small.choices] == [score < 0.5]
        assert left_out(small) == ["budget"]


def test_what_memory_says_is_not_included_again() -> None:
    """Neither an equal line, which memory's stands for, nor a part of what stands there already."""
    memory = Memory()
    own = memory.line("user/boat.md", "The oars hang in the shed.", 0.5)
    pinned = memory.passage("user/rules.md", "Oars are oiled in May. Masts are oiled in June.")
    lines = [own, said("The oars hang in the shed.", 1, 0.9), said("Masts are oiled in June.", 2, 0.8)]

    plan = choose([pinned], lines, available=4_000)

    assert [choice.reference.path for choice in plan.choices] == ["user/rules.md", "user/boat.md"]
    assert left_out(plan) == ["duplicate", "duplicate"]


def test_what_is_included_counts_its_headers() -> None:
    """Whatever the room, what is chosen needs no more of it, headers and the line above the kind included."""
    texts = [f"Line {'x' * number} of the boat." for number in range(12)]
    for available in range(60, 900, 13):
        plan = choose(
            [],
            [said(text, number, 1 / (number + 1)) for number, text in enumerate(texts)],
            available=available,
        )
        sections = [
            Section(
                passage_header(choice.included.passage, str), choice.included.passage.text[: _chars(choice)]
            )
            for choice in plan.choices
            if choice.included is not None
        ]
        opening = [Section(SAID.sentence, None)] if sections else []
        assert sum(section.chars for section in (*opening, *sections)) <= available


def _chars(choice: Choice) -> int:
    start, end = choice.reference.span
    return end - start
