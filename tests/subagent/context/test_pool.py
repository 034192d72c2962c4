"""The lines of all passages, with one score that says how well each answers."""

import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, time, timedelta
from pathlib import Path
from typing import cast

import pytest

from memex.store.entry_path import entry_path
from memex.store.records import EntryStatement, NearSpan, Reference
from memex.store.search.analyzer import Analyzer
from memex.store.search.bm25 import Query, most_score, score, weigh
from memex.subagent.context.lines import split_lines
from memex.subagent.context.pool import (
    POOL_LINES,
    WINDOW,
    ContextLine,
    add_meaning,
    best_first,
    embedded_lines,
    entries_of,
    included_lines,
    left_of,
    lines_of,
    score_lines,
    with_listed,
    without_score,
)
from memex.subagent.context.recency import RECENCY, newest_day, with_recency
from memex.subagent.context.selection import CandidatePassage
from memex.subagent.context.statements import StatementUnit, bullets_in
from memex.subagent.context.survey import Candidates
from memex.subagent.included import FoundPassage, FoundSection
from memex.subagent.memory_tools import MemoryTools
from memex.subagent.statements.words import LineWords

ANALYZER = Analyzer()
CONTEXT_PAGE = Path(__file__).parents[3] / "docs" / "concepts" / "context.md"
ENTRY = f"user/{entry_path(datetime(2027, 3, 1, 9, 30, tzinfo=UTC), 'told')}"


def asking(words: str) -> Query:
    """Return a query as a search in a large memory weighs it."""
    lexemes = ANALYZER.lexemes(words)
    df = dict.fromkeys(lexemes, 3)
    query = weigh(lexemes, n=10_000, total_length=90_000, df=df)
    return replace(query, most=most_score(query, lexemes, n=10_000, df=df))


QUERY = asking("oolong rehearsal")


def passage(text: str, path: str = ENTRY, *, value: int = 0) -> CandidatePassage:
    """Return a passage from the beginning of a file."""
    return CandidatePassage(Reference(path, 1, (0, len(text))), text, value, "match")


def scored(*passages: CandidatePassage, query: Query = QUERY) -> list[tuple[str, float]]:
    """Return the lines of passages, best first, with their scores."""
    return [(line.candidate.text, line.score) for line in score_lines(lines_of(passages), query, ANALYZER)]


def units(*lines: ContextLine) -> list[StatementUnit]:
    """Return the statements among lines."""
    return [line.unit for line in lines if line.unit is not None]


def test_a_line_scores_by_its_own_words_and_by_its_passage() -> None:
    """The line with the word first; of the others, those of the better passage."""
    near = passage("The rehearsal is on Tuesday.\nBring the green folder.", value=QUERY.most // 2)
    far = passage("Åsa rows.", "shared/boat.md", value=QUERY.most // 10)
    best, folder, boat = scored(far, near)

    assert [text for text, _ in (best, folder, boat)] == [
        "The rehearsal is on Tuesday.",
        "Bring the green folder.",
        "Åsa rows.",
    ]
    assert folder[1] == pytest.approx(WINDOW / 2, abs=1e-6)
    assert boat[1] == pytest.approx(WINDOW / 10, abs=1e-6)
    assert best[1] > folder[1]


def told(number: int, text: str) -> CandidatePassage:
    """Return the text of an entry, told as the nth of its day."""
    return passage(text, f"user/{entry_path(datetime(2027, 3, 1, 9, number, tzinfo=UTC), text)}")


def test_a_short_entry_is_found_by_those_told_around_it() -> None:
    """An answer often has no word of the question, which the turn before it holds. A long entry has no window."""
    asked, answer, other = (
        told(1, "Where is the rehearsal?"),
        told(2, "In the old mill."),
        told(9, "Bo naps."),
    )
    long = told(3, "Ines sings and " * 25)
    beside = {asked.reference.path: {one.reference.path: len(one.text) for one in (answer, long)}}
    lines = lines_of([other, answer, asked, long])
    scores = {line.candidate.text: line.score for line in score_lines(lines, QUERY, ANALYZER, beside)}

    assert scores["Where is the rehearsal?"] > scores["In the old mill."] > 0
    assert scores["Bo naps."] == scores[long.text.strip()] == 0


def test_a_part_of_a_long_entry_has_no_window() -> None:
    """Also where no other part of it was read."""
    asked, long = told(1, "Where is the rehearsal?"), told(2, "In the old mill.")
    long = long._replace(reference=long.reference._replace(span=(2_000, 2_016)))
    beside = {asked.reference.path: {long.reference.path: 2_016}}
    found = score_lines(lines_of([asked, long]), QUERY, ANALYZER, beside)

    assert {line.candidate.text: line.score for line in found}["In the old mill."] == 0


def test_a_window_counts_entries_that_were_not_found_by_their_length() -> None:
    """Beside a long text that says nothing of the question, words say less than beside a short one."""
    entry = told(1, "The rehearsal is on Tuesday.")

    def scored_beside(size_chars: int) -> float:
        beside = {entry.reference.path: {told(2, "").reference.path: size_chars}}
        return score_lines(lines_of([entry]), QUERY, ANALYZER, beside)[0].score

    assert scored_beside(20) > scored_beside(2_000)


def test_a_statement_of_a_page_stands_for_itself() -> None:
    """Statements beside it in its file say nothing of it: they were told at other times."""
    page = passage("- I like oolong. (2027-03-01)\n- I sing. (2027-03-02)", "user/notes.md", value=QUERY.most)

    assert dict(scored(page))["- I sing. (2027-03-02)"] == 0
    assert dict(scored(page))["- I like oolong. (2027-03-01)"] > 0


def test_each_line_says_why_it_may_answer() -> None:
    """A word that it shares, what stands beside it, or what led to its file."""
    told = passage("The rehearsal is at nine.\n\nBring the oars.", value=10)
    linked = passage("Oolong.", "user/tea.md", value=10)._replace(reason="link")
    recent = passage("Nothing else.", "user/new.md")._replace(reason="recent")
    lines = score_lines(lines_of([told, linked, recent]), QUERY, ANALYZER)

    assert {line.candidate.text: line.why for line in lines} == {
        "The rehearsal is at nine.": "words",
        "Bring the oars.": "neighbour",
        "Oolong.": "link",
        "Nothing else.": "recent",
    }
    assert [line.why for line in without_score(lines_of([recent]))] == ["recent"]


def test_of_many_lines_the_best_are_kept() -> None:
    """Ties go by path and place, so that the same lines stand in the same order everywhere."""
    files = [passage(f"Oolong number {n}.", f"shared/{n:03}.md") for n in range(POOL_LINES + 9)]
    lines = score_lines(lines_of(files), QUERY, ANALYZER)

    assert len(lines) == POOL_LINES
    assert score_lines(lines_of(reversed(files)), QUERY, ANALYZER) == lines


def test_words_of_a_statement_that_holds_no_more_are_no_line() -> None:
    """Nor is a line that says the same words and more; what else the entry says stays."""
    text = "The pool is on Monday.\nThe rehearsal is on Tuesday."
    told = passage(text)

    def left(state: str) -> list[str]:
        stated = EntryStatement(ENTRY, 0, 22, state, b"")
        return [line.candidate.text for line in lines_of([told], [stated])]

    assert left("in_force") == left("put_back") == text.splitlines()
    for state in ("replaced", "closed", "forgotten", "removed"):
        assert left(state) == ["The rehearsal is on Tuesday."]


def test_of_a_line_of_which_words_hold_no_more_the_rest_is_left() -> None:
    """Each piece that has words, where it stands in its entry."""
    gone = "The rehearsal is on Tuesday."
    text = f"The pool is on Monday. {gone} Ines tunes the piano."
    start = text.index(gone)

    def left(*spans: tuple[int, int]) -> list[tuple[str, str]]:
        stated = [EntryStatement(ENTRY, first, last, "replaced", b"") for first, last in spans]
        lines = lines_of([passage(text)], stated)
        return [(one.candidate.text, text[slice(*one.reference.span)]) for one in lines]

    pieces = [("The pool is on Monday.",) * 2, ("Ines tunes the piano.",) * 2]
    assert left((start, start + len(gone))) == pieces
    assert left((0, start + len(gone)), (4, start)) == [("Ines tunes the piano.",) * 2]
    assert left((0, len(text) - 1)) == left((0, len(text))) == []
    assert left((8, 22), (23, 80)) == []


def test_entries_are_known_among_files() -> None:
    """Each once; a note of a vault that lies in a folder of the same name is none."""
    files = [passage("Oolong."), passage("Oolong.", "user/journal/mine.md"), passage("Tea.")]

    assert entries_of(files) == [ENTRY]


def test_lines_that_are_embedded_are_those_of_the_pool() -> None:
    """Search compares them by the same texts, those of pages with the heading above them."""
    page = "# Notes\n\n## Tea\n\n- I like oolong. (2027-03-01)\n"
    told = "I like oolong.\nI sing."

    assert list(embedded_lines("user/notes.md", page)) == [(17, "Tea: I like oolong.")]
    assert list(embedded_lines(ENTRY, told)) == [(0, "I like oolong."), (15, "I sing.")]
    assert list(embedded_lines("shared/boat.md", told)) == []
    for path, text in (("user/notes.md", page), (ENTRY, told)):
        assert [line.embedded_text for line in lines_of([passage(text, path)])] == [
            said for _, said in embedded_lines(path, text)
        ]


def test_summaries_in_front_matter_are_lines() -> None:
    """They are what a note says that it is about; other fields are none, and an entry has no front matter."""
    text = "---\nname: tea\ndescription: Oolong is steeped twice.\ntype: user\n---\n\nAsk Åsa.\n"
    said = {line.candidate.text for line in lines_of([passage(text, "user/tea.md")])}
    bare = "---\nsummary: I like oolong.\n---\n"

    assert said == {"Oolong is steeped twice.", "Ask Åsa."}
    assert [line.candidate.text for line in lines_of([passage(bare, "user/tea.md")])] == ["I like oolong."]
    assert [line.candidate.text for line in lines_of([passage(bare)])] == ["summary: I like oolong."]


def test_what_a_list_asks_for_comes_first() -> None:
    """In the order of the list; what was found besides stays behind, each line once."""
    page = passage(
        "- I like oolong. (2027-03-01)\n- I dislike noise. (2027-03-02)\n- I sing. (2027-03-03)",
        "user/notes.md",
    )
    lines = score_lines(lines_of([page]), QUERY, ANALYZER)
    tea, noise, sing = lines
    merged = with_listed(lines, units(sing, noise))

    assert [line.reference for line in merged] == [sing.reference, noise.reference, tea.reference]
    assert merged == sorted(merged, key=lambda line: -line.score)
    assert with_listed(lines, []) == lines
    assert with_listed([], []) == []


def test_lines_without_a_score_stay_in_their_order_behind_all_others() -> None:
    """A small memory shows them if there is room."""
    lines = without_score(lines_of([passage("Åsa rows.\nBo naps.\nInes sings.")]))

    assert [line.candidate.text for line in lines] == ["Åsa rows.", "Bo naps.", "Ines sings."]
    assert lines == sorted(lines, key=lambda line: -line.score)
    assert max(line.score for line in lines) < 0


def test_the_example_of_the_page_about_contexts_is_what_the_code_computes() -> None:
    """The shares and scores of its table, for the question and the counts that it names."""
    text = " ".join(CONTEXT_PAGE.read_text(encoding="utf-8").split())
    asked = re.search(
        r'asks "(?P<question>[^"]+)" in a memory of (?P<n>[\d,]+) passages with (?P<length>\d+) words each; '
        r"(?P<counts>.+?)\. Search finds an entry of two lines, whose share is (?P<share>[\d.]+), and a statement "
        r"of a page that was told (?P<days>\d+) days earlier",
        text,
    )
    assert asked is not None
    n, df = (
        int(asked["n"].replace(",", "")),
        {word: int(count) for count, word in re.findall(r"(\d+) (?:of them hold )?`(\w+)`", asked["counts"])},
    )
    lexemes = ANALYZER.lexemes(asked["question"])
    query = weigh(lexemes, n=n, total_length=n * int(asked["length"]), df=df)
    query = replace(query, most=most_score(query, lexemes, n=n, df=df))
    rows = re.findall(r"\| `([^`|]+)` " + r"\| ([\d.]+) " * 4 + r"\|", text)
    entry = "\n".join(line for line, *_ in rows if not line.startswith("- "))
    frequencies, length = LineWords(entry).count(ANALYZER)
    told = passage(entry, value=score(query, frequencies, length))
    page = [passage(line, "user/preferences.md") for line, *_ in rows if line.startswith("- ")]
    (stated,) = bullets_in(page[0].text)
    told_at = datetime.combine(stated.day + timedelta(days=int(asked["days"])), time(), tzinfo=UTC)
    path = f"user/{entry_path(told_at, 'told')}"
    lines = score_lines(
        lines_of([told._replace(reference=told.reference._replace(path=path)), *page]), query, ANALYZER
    )

    assert set(lexemes) == df.keys()
    assert f"{told.value / query.most:.2f}" == asked["share"]
    found = {line.candidate.text: f"{line.score:.2f}" for line in with_recency(lines, newest_day(lines))}
    assert found == {line: total for line, *_, total in rows}
    for _, *parts, total in rows:
        assert sum(map(float, parts)) == pytest.approx(float(total), abs=0.016)


@pytest.mark.parametrize(
    ("before", "is_left"),
    [("Goal: ", False), ("Remind me to ", False), ("I play chess and ", True), ("I play chess, ", True)],
)
def test_what_only_leads_to_words_that_are_gone_is_not_left(before: str, is_left: bool) -> None:
    """A label or an opening; a fact that a sentence joins to them stays."""
    text = f"{before}the boat is sold."
    left = [text[slice(*span)] for span in left_of(text, (0, len(text)), [(len(before), len(text))])]

    assert left == ([before.rstrip()] if is_left else [])


def told_on(day: int, text: str) -> CandidatePassage:
    """Return an entry of a day in March."""
    return passage(text, f"user/{entry_path(datetime(2027, 3, day, 9, tzinfo=UTC), 'told')}")


def test_of_lines_that_score_alike_the_one_said_last_is_first() -> None:
    """Days are counted back from the newest line; what no day is known of, or nothing speaks for, gains nothing."""
    texts = {3: "Oolong at four.", 9: "Oolong at five.", 5: "Varnish cracks."}
    told = [told_on(day, text) for day, text in texts.items()]
    lines = score_lines(lines_of([*told, passage("Oolong at six.", "shared/tea.md")]), QUERY, ANALYZER)
    before = {line.candidate.text: line.score for line in lines}
    after = {line.candidate.text: line.score for line in with_recency(lines, newest_day(lines))}

    assert next(iter(after)) == "Oolong at five."
    assert after["Oolong at five."] == pytest.approx(before["Oolong at five."] + RECENCY)
    assert after["Oolong at four."] == pytest.approx(before["Oolong at four."] + RECENCY / 7)
    assert after["Oolong at six."] == before["Oolong at six."]
    assert after["Varnish cracks."] == before["Varnish cracks."] == 0
    assert with_recency(lines[3:], None) == lines[3:]


def included(*texts: str, query: Query | None, score: int = 0) -> FoundSection:
    """Return messages as they were found beside memory."""
    passages = (
        FoundPassage(Reference(f"conversations/boat#{number}", 1, (0, len(text))), text, score=score)
        for number, text in enumerate(texts, start=1)
    )
    return FoundSection("conversations", "conversation", "Said:", tuple(passages), query)


def test_what_is_included_scores_by_the_weights_of_its_own_search() -> None:
    """A line of several scores as one of memory; that of a passage of one line as search has scored it."""
    asked = asking("oolong rehearsal")
    best = asked.most // 2
    texts = ("Oolong is tea.\nThe rehearsal is on Monday, after the others have gone home.", "Oolong again.")
    memory = weigh([], n=0, total_length=0, df={})

    found = included_lines([included(*texts, query=asked, score=best)], memory, ANALYZER)
    by_text = {line.candidate.text: line for line in found}
    first, second = texts[0].splitlines()
    as_memory = dict(scored(passage(texts[0], value=best), query=asked))

    assert by_text["Oolong again."].score == pytest.approx((1 + WINDOW) * best / asked.most)
    assert by_text[first].score > by_text[second].score > WINDOW * best / asked.most
    assert by_text[first].score - by_text[second].score == pytest.approx(
        as_memory[first] - as_memory[second], abs=0.05
    )
    assert {line.why for line in found} == {"conversation"}
    assert all(line.included is not None for line in found)


def test_without_weights_of_its_own_what_is_included_scores_by_those_of_memory() -> None:
    """As in the logs of old versions."""
    asked = asking("oolong rehearsal")
    texts = ("Oolong is tea.\n\nThe rehearsal is on Monday.",)
    own = included_lines([included(*texts, query=asked)], asked, ANALYZER)
    without = included_lines([included(*texts, query=None)], asked, ANALYZER)

    assert [line.score for line in without] == [line.score for line in own]


class Compared:
    """Compares lines with a question, as memory does: each is as similar as its place here says."""

    def __init__(self, *similar: int | None) -> None:
        self.similar = similar

    async def similarities(self, _query: str, digests: Sequence[bytes]) -> list[int | None]:
        """Return how similar the lines are, in ten-thousandths."""
        return list(self.similar[: len(digests)])


async def test_the_vector_of_an_entry_counts_beside_the_word_pieces_of_its_lines() -> None:
    """By how much it is nearer than the last one; the typical line, here the statement of a page, gains nothing."""
    near, far = ENTRY, f"user/{entry_path(datetime(2027, 3, 1, 9, 31, tzinfo=UTC), 'later')}"
    page = "user/tasks.md"
    survey = Candidates(QUERY, (), (), (), near=[NearSpan(near, (0, 9), 0.2), NearSpan(far, (0, 9), 0.6)])
    lines = lines_of(
        passage(text, path)
        for text, path in (("Oars.", near), ("Masts.", far), ("- A sail. (2026-05-04)", page))
    )
    found = await add_meaning(
        "?", lines, cast("MemoryTools", Compared(5_000, 5_000, 5_000)), survey.nearness()
    )

    assert survey.nearness() == pytest.approx({near: 0.4, far: 0.0})
    assert {line.reference.path: line.score for line in found} == pytest.approx(
        {near: 0.3 * 0.4, far: 0.0, page: 0.0}
    )


def test_a_long_paragraph_is_cut_at_sentences_alone() -> None:
    """A title, an initial, a small letter and a day before its month go on."""
    filler = "The harbour was quiet and the boats lay still all through the long and windless afternoon. " * 4
    last = (
        "They moved the visit of Dr. Rossi and J. Adler, i.e. the audit, to the 9th. Wir fahren am 3. Mai ab."
    )
    text = filler + last

    assert [text[slice(*span)] for span in split_lines(text)][4:] == [
        "They moved the visit of Dr. Rossi and J. Adler, i.e. the audit, to the 9th.",
        "Wir fahren am 3. Mai ab.",
    ]


def test_the_passage_that_search_ranks_first_has_its_best_line_before_all_others() -> None:
    """Whatever other lines score, also beside what was found elsewhere; one without a line changes nothing."""
    page, other = "user/page.md", "user/other.md"
    text = "The oolong.\nThe rehearsal was late.\n"
    found = [
        line._replace(score=score)
        for line, score in zip(lines_of([passage(text, page)]), (0.2, 0.3), strict=True)
    ]
    best = lines_of([passage("An oolong rehearsal.", other, value=9)])[0]._replace(score=0.9)
    lines = best_first([*found, best])

    led = Candidates(QUERY, (), (), (), first=Reference(page, 1, (0, len(text)))).led_by_first(lines)
    of_nothing = Candidates(QUERY, (), (), (), first=Reference("user/gone.md", 1, (0, 9))).led_by_first(lines)

    assert [line.candidate.text for line in best_first(led)] == [
        "The rehearsal was late.",
        "An oolong rehearsal.",
        "The oolong.",
    ]
    assert of_nothing == lines
