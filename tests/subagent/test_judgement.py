"""Which questions are not judged by their search."""

from memex.store.search.bm25 import Query
from memex.store.search.confidence import Confidence
from memex.subagent.judgement import MAX_KEYWORDS, MAX_WORDS, Judgement, codes_of, judge

NO_CONFIDENCE = Confidence(0.0, "none")
QUERY = Query((), (), 0.0, 0.0, most=1_000_000, chunks=100)


def of_words(count: int, end: str = "?") -> str:
    """Return a text of so many words."""
    return " ".join(["canoe"] * count) + end


def test_a_question_has_the_band_of_its_best_line() -> None:
    """Nothing is lifted where words and meaning can judge."""
    asked = ["Where is the canoe?", "canoe varnish", of_words(MAX_WORDS), of_words(MAX_KEYWORDS, "")]

    assert {judge(one, QUERY, NO_CONFIDENCE) for one in asked} == {Judgement(0.0, "none")}


def test_a_question_that_words_cannot_judge_is_fair() -> None:
    """The score stays what the search found; the reason is named."""
    for question, query, why in (
        ("Who is it?", Query((), (), 0.0, 0.0, 1, 100), "stop_words"),
        ("What does user/notes/canoe say?", QUERY, "path"),
        ("What does canoe.md say?", QUERY, "path"),
        (of_words(MAX_WORDS + 1), QUERY, "long_question"),
        (of_words(MAX_KEYWORDS + 1, "."), QUERY, "remark"),
        ("カヌーはどこ?", QUERY, "language"),
        ("Wo liegt das Kanu?", QUERY, "language"),
        ("Où est-ce que le canoë se trouve ?", QUERY, "language"),
    ):
        assert judge(question, query, NO_CONFIDENCE) == Judgement(0.0, "fair", why)  # type: ignore[arg-type]


def test_what_the_planner_knows_lifts_a_question_too() -> None:
    """A list that it asks for, or days that it names."""
    asked = "Where is the canoe?"

    assert judge(asked, QUERY, NO_CONFIDENCE, is_intent=True).lifted_by == "intent"
    assert judge(asked, QUERY, NO_CONFIDENCE, is_of_days=True).lifted_by == "days"


def test_evidence_judges_english_alone() -> None:
    """It was measured in no other language; accents make a question no other one."""
    assert judge("Wo liegt das Kanu?", QUERY, NO_CONFIDENCE, language="german").lifted_by == "language"
    assert judge("Where is the café?", QUERY, NO_CONFIDENCE) == Judgement(0.0, "none")
    assert judge("What is the die made of?", QUERY, NO_CONFIDENCE) == Judgement(0.0, "none")


def test_what_is_sure_is_not_lifted() -> None:
    """A band from `fair` on stays as it is, and no reason is named."""
    for found in (Confidence(0.5, "fair"), Confidence(0.95, "strong")):
        assert judge("Who is it?", QUERY, found, is_intent=True) == Judgement(found.score, found.band)


def test_nothing_is_said_before_all_is_compared() -> None:
    """What was just told is not embedded yet: its words do not say that it answers nothing."""
    asked = "Where is the canoe?"

    assert judge(asked, QUERY, NO_CONFIDENCE, is_embedded=False) == Judgement(0.0, "weak", "not_embedded")
    assert judge(asked, QUERY, Confidence(0.3, "weak"), is_embedded=False) == Judgement(0.3, "weak")
    assert judge("canoe.md", QUERY, NO_CONFIDENCE, is_embedded=False).lifted_by == "path"


def test_codes_are_letters_with_digits() -> None:
    """A number by itself is none, and neither is a name."""
    assert codes_of("the display says F22, and v2b at 8:12 on 3 March; Noah's canoe costs 200") == {
        "f22",
        "v2b",
    }
