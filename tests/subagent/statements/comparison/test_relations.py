"""What a new statement makes of older ones: it replaces, closes or contradicts one, or leaves all alone."""

import os
import subprocess
import sys
from functools import partial
from inspect import unwrap

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.kit.growth import LINEAR, growth

from memex.evals.lives.fit import weights_of
from memex.store.search.analyzer import analyzer_of
from memex.store.search.bm25 import weigh
from memex.subagent.statements.comparison.relations import (
    Relation,
    compare,
    contradiction,
    decide,
    statement_weights,
)
from memex.subagent.statements.comparison.views import MAX_COMPARED_CHARS, StatementView, view
from memex.subagent.statements.language import STATEMENT_KINDS, StatementKind

ENGLISH = analyzer_of("english")
REHEARSAL = "The choir rehearsal is on Tuesday at 18:00."
MOVED = [
    (REHEARSAL, "The choir rehearsal moved to Thursday at 19:30.", "english"),
    ("The deposit for the cottage is £300.", "The deposit for the cottage was raised to £450.", "english"),
    (
        "Die Orgelprobe ist am Dienstag um 18 Uhr.",
        "Die Orgelprobe wurde auf Donnerstag um 19 Uhr verschoben.",
        "german",
    ),
    (
        "Le cours de poterie est mardi à 18h.",
        "Le cours de poterie est désormais jeudi à 19h30.",
        "french",
    ),
    (
        "La clase de cerámica es el martes a las 18:00.",
        "La clase de cerámica es ahora el jueves a las 19:30.",
        "spanish",
    ),
]
ENDED: list[tuple[str, StatementKind, str]] = [
    ("I need to varnish the cello stand.", "pending", "The cello stand is varnished and done."),
    ("We wait for the permit of the harbour office.", "blocker", "The permit of the harbour office arrived."),
]
GUARDED = [
    "If the hall is closed, the choir rehearsal would move to Thursday at 19:30.",
    "Maybe the choir rehearsal moves to Thursday at 19:30.",
    "Just this week the choir rehearsal is on Thursday at 19:30.",
    "Last year the choir rehearsal was on Thursday at 19:30.",
]
UNRELATED = [
    "The chess club meets on Thursday at 19:30.",
    "Wanda paints boats.",
    "Thanks!",
    "",
    " \n",
    "¿?",
    REHEARSAL,
    "the choir  rehearsal is on Tuesday, at 18:00!",
]
TEXT = st.text() | st.lists(
    st.sampled_from(
        ["choir", "rehearsal", "moved", "to", "Tuesday", "18:00", "£5", "done", "if", "not", "é", '"']
    ),
    max_size=30,
).map(" ".join)


def seen(text: str, kind: StatementKind = "note", language: str = "english") -> StatementView:
    """Return a statement as it is compared."""
    return view(text, kind, analyzer_of(language))


def relate(new: StatementView, *older: StatementView, is_same_scope: bool = True) -> Relation | None:
    """Return what a statement makes of others, in a memory of 200."""
    weights = weights_of([*older, new], among=200)
    return decide(new, [compare(new, one, weights, is_same_scope=is_same_scope) for one in older])


def test_a_new_value_takes_the_place_of_the_old_one() -> None:
    """In each language, and beside statements about other things."""
    for old, new, language in MOVED:
        older = seen(old, language=language)
        others = [
            seen("Wanda paints three boats.", language=language),
            seen("L'école ferme.", language=language),
        ]
        found = relate(seen(new, language=language), *others[:1], older, *others[1:])
        assert found is not None, new
        assert (found.outcome, found.older) == ("replaces", older), new
        assert 0 < found.likelihood <= 1


def test_a_statement_of_several_things_is_no_rival() -> None:
    """Whether it is the older or the newer one: another contradicts one of the things at most."""
    old, new = REHEARSAL, "The choir rehearsal moved to Thursday at 19:30."
    more = (
        " The alto brings the keys, the piano stool, a flask of tea and the list of all who owe the fee of May."
        * 2
    )
    weights = dict.fromkeys(seen(old).topic, 9.0) | dict.fromkeys(seen(more).topic, 0.0)

    def is_rival(new: str, old: str) -> bool:
        compared = compare(seen(new), seen(old), weights, is_same_scope=False)
        return decide(seen(new), [compared]) is not None

    assert [is_rival(new, old), is_rival(new, old + more), is_rival(new + more, old)] == [True, False, False]


def test_the_thing_of_another_holder_is_no_rival() -> None:
    """However alike both statements are: a book of addresses holds many."""
    older, own, new = (
        seen(f"{who} phone number is +43 660 {number}.")
        for who, number in (("Anna's", 1234567), ("Bob's", 7654321), ("Anna's", 7654321))
    )

    assert relate(own, older) is None
    assert relate(new, older) is not None


def test_a_person_in_common_is_no_topic() -> None:
    """Unless both have a value of one kind, or the words of the newer one say that something changed."""
    older = seen("Nadia Brenner reads the letters of the council.")
    weights = dict.fromkeys(older.topic, 9.0)

    def compared_with(text: str) -> float:
        return compare(seen(text), older, weights).likeness

    assert compared_with("Nadia Brenner plays the organ.") == 0
    assert compared_with("Nadia Brenner plays the organ now.") > 0
    assert compared_with("Nadia Brenner writes the letters.") > 0


def test_another_task_is_no_rival() -> None:
    """Many hold at a time; the same one with another day may be one."""
    texts = [
        "Je dois rendre le dossier avant le 27 novembre.",
        "Je dois payer la cantine avant le 10 décembre.",
        "Je dois rendre le dossier avant le 10 décembre.",
    ]
    task, other, same = (seen(text, "pending", "french") for text in texts)
    weights = dict.fromkeys(task.topic | other.topic, 6.7)

    assert decide(other, [compare(other, task, weights)]) is None
    assert decide(same, [compare(same, task, weights)]) is not None


def test_a_task_that_is_done_is_closed() -> None:
    """And a blocker that is gone."""
    for old, kind, new in ENDED:
        found = relate(seen(new, "done"), seen(old, kind))
        assert found is not None, new
        assert found.outcome == "closes", new


def test_a_word_in_a_compound_or_before_an_amount_ends_nothing() -> None:
    """`The cut-over needs a window` does not end the task to rehearse it; `the cut-over is over` does."""
    task = seen("rehearse the cut-over with the harbour on 8 December.", "pending")
    for new in (
        "The cut-over needs a read-only window of 40 minutes.",
        "The cut-over moves over 500 bookings.",
        "Chiara takes over the cut-over with the harbour.",
    ):
        assert not seen(new).is_closing, new
        found = relate(seen(new), task)
        assert found is None or found.outcome == "rival", new
    assert seen("The cut-over with the harbour is over.").is_closing


def test_a_hypothesis_or_an_exception_changes_nothing() -> None:
    """Nor does what was, once."""
    for new in GUARDED:
        assert seen(new).is_guarded, new
        assert not seen(new).is_change, new
        assert relate(seen(new), seen(REHEARSAL)) is None, new


def test_what_is_about_something_else_changes_nothing() -> None:
    """Nor what says nothing, or the same once more."""
    for new in UNRELATED:
        assert relate(seen(new), seen(REHEARSAL)) is None, new
    assert relate(seen("The choir rehearsal moved to Thursday.")) is None


def test_of_what_says_more_the_rest_stays() -> None:
    """A sentence by itself, a clause with its subject, and a sentence with a mark in the place of the value."""
    new = seen("The choir rehearsal moved to Thursday at 19:30.")
    for more, rest in (
        (f"{REHEARSAL} Bring the scores.", "Bring the scores."),
        (REHEARSAL[:-1] + ", and it needs a key.", "The choir rehearsal needs a key."),
        (REHEARSAL[:-1] + " because of the hall.", "The choir rehearsal is on … because of the hall."),
    ):
        found = relate(new, seen(more))
        assert found is not None, more
        assert (found.outcome, found.rest) == ("replaces", rest), more


def test_another_scope_is_never_changed() -> None:
    """What is likely enough there is a rival."""
    for old, new, language in MOVED:
        found = relate(seen(new, language=language), seen(old, language=language), is_same_scope=False)
        assert found is None or found.outcome == "rival"
    # Names that are rare enough speak for a contradiction by themselves.
    weights = dict.fromkeys(seen(REHEARSAL).topic, 9.0)
    new = seen("The choir rehearsal moved to Thursday at 19:30.")
    found = decide(new, [compare(new, seen(REHEARSAL), weights, is_same_scope=False)])
    assert found is not None
    assert found.outcome == "rival"


def test_more_in_common_is_more_of_a_contradiction() -> None:
    """Each thing that speaks for it raises the likelihood."""
    new, older = seen("The choir rehearsal moved to Thursday."), seen(REHEARSAL)
    rare, common = dict.fromkeys(older.topic, 6.0), dict.fromkeys(older.topic, 1.0)

    def likely(weights: dict[str, float], *, lead: float = 1.0, is_same_scope: bool = True) -> float:
        return contradiction(new, compare(new, older, weights, is_same_scope=is_same_scope), lead)

    assert likely(rare) > likely(common)
    assert likely(rare) > likely(rare, is_same_scope=False)
    assert likely(rare, lead=2.0) > likely(rare, lead=0.5)
    assert likely(rare, lead=2.0) == likely(rare, lead=50.0)


def test_rare_words_weigh_more() -> None:
    """Among the statements themselves, among more of which they are a sample, and in a query."""
    views = [seen("Wanda paints boats."), seen("Wanda lends oars."), seen("Wanda sings.")]
    weights, sampled = weights_of(views), weights_of(views, among=500)
    query = weigh(["wanda", "oar"], n=1_000, total_length=9_000, df={"wanda": 90, "oar": 2})

    assert weights["oar"] > weights["wanda"] > 0
    assert all(sampled[word] > weights[word] for word in weights)
    assert statement_weights(query)["oar"] > statement_weights(query)["wanda"] > 2
    assert weights_of([]) == {}


def test_quotation_marks_take_the_words_of_a_change() -> None:
    """What is quoted was said by somebody else."""
    assert seen("The choir rehearsal moved.").is_change
    assert not seen("The poster reads “everything changed” there.").is_change


def test_a_long_text_is_compared_with_nothing() -> None:
    """It says too much; its head is read, whatever follows."""
    long = "The choir rehearsal moved to Thursday at 19:30. " + "é 1 a " * 33_333

    assert relate(seen(long), seen(REHEARSAL)) is None
    assert seen(long).is_change
    assert all(value.end <= MAX_COMPARED_CHARS for value in seen(long).values)


@given(TEXT, TEXT, st.sampled_from(STATEMENT_KINDS), st.booleans())
def test_any_two_statements_are_compared(
    new: str, old: str, kind: StatementKind, is_same_scope: bool
) -> None:
    """With a finite likelihood; nothing is replaced in another scope, and nothing contradicts itself."""
    one, other = seen(new), seen(old, kind)
    compared = compare(one, other, weights_of([one, other]), is_same_scope=is_same_scope)
    found = decide(one, [compared])

    assert 0 <= contradiction(one, compared, 1.0) <= 1
    assert relate(seen(new, kind), seen(new, kind)) is None
    assert found is None or found.older == other
    assert found is None or is_same_scope or found.outcome == "rival"
    assert found is None or not one.is_guarded


@pytest.mark.parametrize("seed", ["1", "“", "not ", "open ", "a, and ", "' "])
def test_reading_a_statement_takes_linear_time(seed: str) -> None:
    """Four times the characters take about four times as long, and no longer than the head needs."""
    read = unwrap(view)  # no result is kept

    assert growth(lambda size: partial(read, (seed * size)[:size], "note", ENGLISH), 4_000) < LINEAR


@pytest.mark.process
def test_each_process_compares_alike() -> None:
    """A set has another order in each process, and a likeness is the same to the last bit: replays need it."""
    script = (
        "from memex.store.search.analyzer import analyzer_of\n"
        "from memex.subagent.statements.comparison.relations import compare\n"
        "from memex.subagent.statements.comparison.views import view\n"
        "words = [f'word{n}' for n in range(40)]\n"
        "weights = {word: 1 / (3 + n) for n, word in enumerate(words)}\n"
        "views = [view(' '.join(words[n:]), 'fact', analyzer_of('english')) for n in range(6)]\n"
        "print([compare(views[0], one, weights).likeness for one in views])\n"
    )
    found = {
        subprocess.run(
            [sys.executable, "-c", script],
            env=os.environ | {"PYTHONHASHSEED": str(seed)},
            capture_output=True,
            check=True,
        ).stdout
        for seed in range(2)
    }

    assert len(found) == 1
    assert b"0." in next(iter(found))
