"""What is wrong with an answer, and the figures of a case."""

import pytest

from memex.evals.adapter import Recalled, Remembered, Source
from memex.evals.cases import ContextExpected, ExpectedSpan, RememberExpected
from memex.evals.checks import CaseVerdict, judge_context, judge_remember, merge_verdicts

TEA = Source("user/tea.md", "match", ("I drink oolong tea.",))
DOG = Source("user/dog.md", "link", ("Pixel is a\ngreyhound.", "She is four."))
GOT = Recalled("# Tea\nI drink oolong tea.\n\nPixel is a\ngreyhound. She is four.", (TEA, DOG))


@pytest.mark.parametrize(
    ("expected", "problem"),
    [
        ({"paths": ("user/cat.md",)}, "Not a source: user/cat.md."),
        ({"not_paths": ("user/dog.md",)}, "A source: user/dog.md."),
        ({"facts": ("Pixel is a cat",)}, "Not in the context: “Pixel is a cat”."),
        ({"not_facts": ("oolong",)}, "In the context: “oolong”."),
        (
            {"spans": (ExpectedSpan(path="user/tea.md", text="greyhound"),)},
            "Not in a passage of user/tea.md: “greyhound”.",
        ),
        ({"reasons": {"user/dog.md": "match"}}, "user/dog.md is a source for the reason link, not match."),
        ({"reasons": {"user/cat.md": "match"}}, "Not a source: user/cat.md, for the reason match."),
        ({"max_chars": 10}, "The context has 61 characters; expected at most 10."),
        ({"empty": True}, "Something is recalled: user/tea.md, user/dog.md."),
        ({"error": "PROJECT_NOT_FOUND"}, "The call is not refused; expected PROJECT_NOT_FOUND."),
    ],
)
def test_what_is_wrong_with_a_context_is_said(expected: dict[str, object], problem: str) -> None:
    """Each expectation that is not met, in a sentence."""
    judged = judge_context(ContextExpected.model_validate(expected), GOT, budget=200)

    assert judged.problems == (problem,)
    assert judged.unknown == ()


def test_a_context_that_is_as_expected_passes() -> None:
    """Facts are read with white space folded, spans as they stand."""
    expected = ContextExpected(
        paths=("user/dog.md", "user/tea.md"),
        not_paths=("user/cat.md",),
        facts=("Pixel is a greyhound.",),
        not_facts=("cat",),
        spans=(ExpectedSpan(path="user/dog.md", text="Pixel is a\ngreyhound."),),
        reasons={"user/dog.md": "link"},
        max_chars=61,
    )

    judged = judge_context(expected, GOT, budget=122)

    assert judged.problems == ()
    assert judged.measures["budget-use"] == 0.5


def test_the_figures_of_a_ranking_follow_the_order_of_sources() -> None:
    """All and any within k, the reciprocal rank of the first, and which share was asked for."""
    judged = judge_context(ContextExpected(paths=("user/dog.md", "user/cat.md")), GOT, budget=200)

    measures = judged.measures
    assert (measures["any@1"], measures["any@3"], measures["all@10"], measures["all"]) == (0, 1, 0, 0)
    assert measures["mrr"] == 0.5
    assert measures["source-precision"] == 0.5
    assert measures["char-precision"] == 33 / 52


def test_shares_of_facts_are_counted() -> None:
    """Those that are there of those that should be, and of those that should not."""
    expected = ContextExpected(facts=("oolong", "cat"), not_facts=("greyhound", "dog", "cat", "four"))

    measures = judge_context(expected, GOT, budget=200).measures

    assert measures["fact-recall"] == 0.5
    assert measures["forbidden-fact-rate"] == 0.5


def test_an_answer_that_should_be_empty() -> None:
    """Nothing recalled is right, also when the context says so in a sentence; a refusal is not."""
    expected = ContextExpected(empty=True)

    for nothing in (Recalled("", ()), Recalled("Nothing is remembered about this.", ()), Recalled("")):
        judged = judge_context(expected, nothing, budget=200)
        assert judged.problems == ()
        assert judged.measures["abstention"] == 1
    without_sources = judge_context(expected, Recalled("I drink oolong tea."), budget=200)
    assert without_sources.problems == ("Something is recalled: “I drink oolong tea.”.",)
    assert without_sources.measures["abstention"] == 0
    refused = judge_context(expected, Recalled(error="VALIDATION_ERROR"), budget=200)
    assert refused.problems == ("The call is refused with VALIDATION_ERROR.",)
    assert refused.measures["abstention"] == 0


def test_a_refusal_is_judged_by_its_code() -> None:
    """The one that is expected passes, and another one does not."""
    expected = ContextExpected(error="PROJECT_NOT_FOUND")

    assert judge_context(expected, Recalled(error="PROJECT_NOT_FOUND"), budget=200) == CaseVerdict()
    assert judge_context(expected, Recalled(error="FORBIDDEN"), budget=200).problems == (
        "The call is refused with FORBIDDEN, not with PROJECT_NOT_FOUND.",
    )


def test_what_a_service_cannot_tell_is_not_passed() -> None:
    """Without sources nothing can be said of paths; facts are judged all the same."""
    expected = ContextExpected(
        paths=("user/cat.md",),
        facts=("oolong",),
        reasons={"user/tea.md": "match"},
        spans=(ExpectedSpan(path="user/tea.md", text="x"),),
    )

    blind = judge_context(expected, Recalled("oolong"), budget=200)
    half = judge_context(expected, Recalled("oolong", (Source("user/cat.md"),)), budget=200)

    assert (blind.problems, blind.unknown) == ((), ("paths", "spans", "reasons"))
    assert (half.problems, half.unknown) == ((), ("spans", "reasons"))
    assert "all@1" not in blind.measures


BEFORE = {
    "user/profile.md": "# Profile\n\n- I live in Berlin.\n- I drink tea.\n",
    "user/notes.md": "# Notes\n",
}
AFTER = {**BEFORE, "user/profile.md": "# Profile\n\n- I live in Oslo. (2026-11-22)\n- I drink tea.\n"}
COMMITTED = Remembered("committed", (("Hello!", "small_talk"),))


def test_a_text_that_is_filed_as_expected_passes() -> None:
    """The old statement is gone, the new one stands in its file, and nothing else was written."""
    expected = RememberExpected(
        status="committed",
        present={"user/profile.md": ("I live in Oslo.",)},
        absent={"*": ("I live in Berlin.",)},
        touched=("user/profile.md",),
        superseded=(("I live in Berlin.", "I live in Oslo."),),
        skipped=(("Hello!", "small_talk"),),
        idempotent=True,
    )

    judged = judge_remember(expected, COMMITTED, BEFORE, AFTER, again=AFTER)

    assert judged.problems == judged.unknown == ()
    shares = (
        "write-recall",
        "write-precision",
        "file-recall",
        "file-precision",
        "supersession",
        "idempotency",
    )
    assert [judged.measures[name] for name in shares] == [1] * len(shares)
    assert judged.measures["forbidden-write-rate"] == 0


@pytest.mark.parametrize(
    ("expected", "problems"),
    [
        ({"status": "nothing"}, ["The status is committed, not nothing."]),
        ({"present": {"user/notes.md": ("Oslo",)}}, ["Not in user/notes.md: “Oslo”."]),
        ({"absent": {"*": ("tea",)}}, ["Still in user/profile.md: “tea”."]),
        ({"absent": {"user/notes.md": ("tea",)}}, []),
        ({"touched": ("user/notes.md",)}, ["Not written: user/notes.md.", "Written: user/profile.md."]),
        (
            {"superseded": (("I drink tea.", "I live in Oslo."),)},
            ["Not superseded: “I drink tea.” by “I live in Oslo.”."],
        ),
        ({"skipped": (("Hello!", "question"),)}, ["Not skipped as question, but as small_talk: “Hello!”."]),
        ({"idempotent": True}, ["The same text again writes user/profile.md."]),
        ({"error": "PROJECT_NOT_FOUND"}, ["The call is not refused; expected PROJECT_NOT_FOUND."]),
    ],
)
def test_what_is_wrong_with_what_was_written_is_said(
    expected: dict[str, object], problems: list[str]
) -> None:
    """Each expectation that is not met, in a sentence."""
    again = {**AFTER, "user/profile.md": AFTER["user/profile.md"] + "- I live in Oslo.\n"}

    judged = judge_remember(RememberExpected.model_validate(expected), COMMITTED, BEFORE, AFTER, again=again)

    assert list(judged.problems) == problems


def test_what_is_written_beyond_the_expectation_lowers_precision() -> None:
    """A line that nobody asked for is counted, headings and front matter are not."""
    after = {**AFTER, "user/new.md": "---\ntags: [x]\n---\n# New\n\n- Something else.\n"}
    expected = RememberExpected(present={"user/profile.md": ("I live in Oslo.",)})

    assert judge_remember(expected, COMMITTED, BEFORE, after).measures["write-precision"] == 0.5


def test_a_service_without_files_is_asked_about_its_status_alone() -> None:
    """What files hold is not applicable."""
    expected = RememberExpected(status="committed", present={"a.md": ("x",)}, touched=(), idempotent=True)

    judged = judge_remember(expected, Remembered("committed"), None, None)

    assert (judged.problems, judged.unknown) == ((), ("present", "touched", "idempotent"))


def test_the_answers_of_a_sequence_are_one() -> None:
    """Problems are told by their steps, figures are means."""
    both = merge_verdicts(
        [
            ("step 2", CaseVerdict(("Wrong.",), (), {"mrr": 0.0})),
            ("step 3", CaseVerdict((), (), {"mrr": 1.0})),
        ]
    )

    assert both == CaseVerdict(("step 2: Wrong.",), (), {"mrr": 0.5})
