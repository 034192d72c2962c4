"""Text to lexemes."""

import sys
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.kit.growth import LINEAR, growth
from tests.kit.property_budget import sampled

from memex.store.search.analyzer import MAX_LEXEME_CHARS, Analyzer

ENGLISH = Analyzer()
texts = st.text() | st.text(alphabet="aB1_'’s é\u0301漢字カﾞ한ไท\u200d½-ﷺ")


def test_words_are_folded_and_stemmed() -> None:
    """Case, accents, compatibility forms and endings do not matter; stop words and a final 's are gone."""
    for text, lexemes in (
        ("The runners were running", ["runner", "run"]),
        ("John's don't o'clock James'", ["john", "o", "clock", "jame"]),
        ("don’t Anna’s", ["anna"]),
        ("Café CAFE cafe\u0301 naïve Łódź", ["cafe", "cafe", "cafe", "naiv", "lodz"]),
        ("straße ﬁn ＡＢＣ ½", ["strass", "fin", "abc", "1", "2"]),
        ("a/b.c", ["b", "c"]),
    ):
        assert ENGLISH.lexemes(text) == lexemes


def test_identifiers_give_parts_and_whole() -> None:
    """An identifier is found by its parts and as a whole; data that only looks like one is one lexeme."""
    for identifier, lexemes in (
        ("snake_case", ["snake", "case", "snakecas"]),
        ("camelCase", ["camel", "case", "camelcas"]),
        ("HTTPServer2", ["http", "server", "2", "httpserver2"]),
        ("__init__", ["init"]),
        ("python3", ["python", "3", "python3"]),
        ("URLs", ["url"]),
        ("e29b", ["e29b"]),
        ("ÉCOLE", ["ecol"]),
        ("toDo", ["todo"]),
        ("xY" * 100, ["xy" * 32]),
    ):
        assert ENGLISH.lexemes(identifier) == lexemes


def test_spelling_of_an_identifier_does_not_matter() -> None:
    """`GitHub` is found as `github`, and a name in one style by the same name in another."""
    assert "github" in ENGLISH.lexemes("GitHub")
    assert ENGLISH.lexemes("get_user") == ENGLISH.lexemes("getUser") == ENGLISH.lexemes("GET_USER")


def test_compounds_give_parts_and_whole() -> None:
    """A word with hyphens is found by its parts and written as one; dates and option names are none."""
    for text, lexemes in (
        ("de-stress", ["de", "stress", "destress"]),
        ("e-mail", ["e", "mail", "email"]),
        ("state\u2011of\u2011the\u2011art", ["state", "art", "stateoftheart"]),
        ("日本-語", ["日本", "語"]),
        ("a -b c- --d", ["b", "c", "d"]),
    ):
        assert ENGLISH.lexemes(text) == lexemes


def test_spans_of_a_compound_are_its_parts_and_all_of_it() -> None:
    """What a snippet marks is what was found: a part, or the whole word."""
    found = [(token.lexeme, token.start, token.end) for token in ENGLISH.tokens("to de-stress")]

    assert found == [("de", 3, 5), ("stress", 6, 12), ("destress", 3, 12)]


def test_dates_give_their_month_and_day_as_one_says_them() -> None:
    """A date in figures is found by the name of its month; what is no date is three numbers."""
    for text, lexemes in (
        ("2023-05-08", ["2023", "05", "08", "8", "may"]),
        ("2023-12-24", ["2023", "12", "24", "decemb"]),
        ("2023-13-08", ["2023", "13", "08"]),
        ("２０２３-05-08", ["2023", "05", "08"]),
        ("12023-05-08 2023-05-081", ["12023", "05", "08", "2023", "05", "081"]),
    ):
        assert ENGLISH.lexemes(text) == lexemes
        assert {"2023", "8", "may"} <= set(ENGLISH.lexemes("8 May 2023"))


def test_months_have_the_names_of_the_language() -> None:
    """A date is found by its month in the scope's language; without a language it has figures alone."""
    assert set(Analyzer("german").lexemes("im März")) <= set(Analyzer("german").lexemes("2023-03-08"))
    assert Analyzer("neutral").lexemes("2023-03-08") == ["2023", "03", "08", "8"]


def test_irregular_forms_lead_to_their_base() -> None:
    """What no ending tells is known from a table: went is a form of go, children of child."""
    assert ENGLISH.lexemes("went children bought taught") == ENGLISH.lexemes("go child buy teach")


def test_light_words_are_indexed_and_known() -> None:
    """Words that only frame a question are in the index, so that they can be looked for, and marked as light."""
    assert ENGLISH.lexemes("Go makes") == ["go", "make"]
    assert {"go", "make"} <= ENGLISH.light_lexemes
    assert "kickbox" not in ENGLISH.light_lexemes


@pytest.mark.parametrize(
    ("language", "text", "lexemes"),
    [
        ("german", "Daß die Häuser an der Straße stehen", ["haus", "strass", "steh"]),
        ("french", "Les écoles de la ville", ["ecol", "vill"]),
        ("spanish", "¿Cuándo visitamos las montañas?", ["visit", "montan"]),
        ("russian", "Когда мы поехали в горы", ["поеха", "гор"]),
    ],
)
def test_stop_words_of_other_languages_go(language: str, text: str, lexemes: list[str]) -> None:
    """The question words, articles and pronouns of a language are in no index of it."""
    assert Analyzer(language).lexemes(text) == lexemes


def test_unspaced_scripts_give_pairs() -> None:
    """Runs of Han, kana, Hangul and Thai become pairs of characters, a single one stays as it is."""
    for text, lexemes in (
        ("黒猫と猫", ["黒猫", "猫と", "と猫"]),
        ("猫", ["猫"]),
        ("Python入門3", ["python", "入門", "3"]),
        ("ｶﾞﾗｽ ガラス", ["ガラ", "ラス", "ガラ", "ラス"]),
        ("한국어", ["한국", "국어"]),
        ("ไทย", ["ไท", "ทย"]),
    ):
        assert ENGLISH.lexemes(text) == lexemes


def test_marks_that_are_letters_stay() -> None:
    """Vowel signs of Indic scripts belong to the word; joiners and soft hyphens do not."""
    assert ENGLISH.lexemes("हिन्दी co\u00adop") == ["हिन्दी", "coop"]
    assert ENGLISH.lexemes("می\u200cخواهم") == ENGLISH.lexemes("میخواهم")


def test_other_languages_stem_before_folding() -> None:
    """A stemmer sees the accents that its language's endings have; what is stored has none."""
    assert Analyzer("french").lexemes("continuités") == ["continu"]
    assert Analyzer("russian").lexemes("Ёлки хороший") == ["елк", "хорош"]
    assert Analyzer("german").lexemes("Häuser Haus") == ["haus", "haus"]


def test_neutral_keeps_every_word() -> None:
    """Without a language there are neither stems nor stop words."""
    assert Analyzer("neutral").lexemes("The runners' Café") == ["the", "runners", "cafe"]


def test_unknown_language_is_refused() -> None:
    """The error lists the languages there are."""
    with pytest.raises(ValueError, match="neutral, arabic"):
        Analyzer("klingon")


def test_stop_words_alone_have_no_lexemes() -> None:
    """Documents hold no stop words, so a query of nothing else can find nothing."""
    assert ENGLISH.lexemes("To be, or not to be: The Who?") == []


def test_engine_names_what_lexemes_depend_on() -> None:
    """Version, language, stemmer and Unicode tables are part of the engine's name."""
    assert ENGLISH.engine.startswith("analyzer-2/english/snowball-3")
    assert "/unicode-" in ENGLISH.engine
    assert ENGLISH.engine != Analyzer("neutral").engine


@given(texts)
def test_lexemes_are_clean_and_repeatable(text: str) -> None:
    """Any text has the same lexemes again, from a fresh analyzer too; each is short, and one word."""
    lexemes = ENGLISH.lexemes(text)

    assert lexemes == ENGLISH.lexemes(text) == Analyzer().lexemes(text)
    assert all(0 < len(lexeme) <= MAX_LEXEME_CHARS for lexeme in lexemes)
    assert not any(char.isspace() or char == "\0" for lexeme in lexemes for char in lexeme)


@given(texts)
def test_tokens_are_the_lexemes_with_spans(text: str) -> None:
    """Tokens and lexemes are the same sequence, and each span lies inside the text."""
    tokens = ENGLISH.tokens(text)

    assert [token.lexeme for token in tokens] == ENGLISH.lexemes(text)
    assert all(0 <= token.start < token.end <= len(text) for token in tokens)


def test_token_spans_hold_their_word() -> None:
    """A part of an identifier has its own span, the whole has all of it."""
    text = "in getUserNames, Anna's 黒猫"

    assert [(token.lexeme, text[token.start : token.end]) for token in ENGLISH.tokens(text)] == [
        ("get", "get"),
        ("user", "User"),
        ("name", "Names"),
        ("getusernam", "getUserNames"),
        ("anna", "Anna"),
        ("黒猫", "黒猫"),
    ]


def test_threads_may_share_an_analyzer() -> None:
    """Many threads that meet new words at once get what one thread gets."""
    sys.setswitchinterval(1e-5)
    words = [
        " ".join(f"running{n}ly connections{n}" for n in range(start, start + 500))
        for start in range(0, 4000, 500)
    ]
    try:
        with ThreadPoolExecutor(8) as pool:
            found = list(pool.map(ENGLISH.lexemes, words * 2))
    finally:
        sys.setswitchinterval(0.005)

    assert found == [Analyzer().lexemes(text) for text in words * 2]


def test_a_word_of_many_compatibility_characters_is_cut() -> None:
    """Each of them may stand for several words: one word in a text does not become a thousand."""
    assert len(ENGLISH.lexemes("x" + "ﷺ" * 200)) <= 16


@pytest.mark.parametrize(
    "unit", sampled(["_", "a_", "a'", "\u0301", "漢", "aB", "a1", "a\u0301", "'s", "ﷺ", "a's ", "½"], 3)
)
def test_hostile_text_takes_linear_time(unit: str) -> None:
    """Of a run of word parts, marks or ligatures that is four times as long, in about four times the time."""
    assert growth(lambda size: partial(ENGLISH.lexemes, unit * size), 10_000) < LINEAR
    assert len(ENGLISH.lexemes(unit * 200_000)) <= 200_000
