"""Statements in Markdown files."""

from collections import Counter
from collections.abc import Callable
from datetime import date
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.kit.growth import LINEAR, growth

from memex.store import markdown
from memex.store.statement_lines import line_key
from memex.subagent.remember.filing.entries import Entry, EntryOutcome
from memex.subagent.remember.filing.page import revise
from memex.subagent.statements.bullets import parse_bullet, render_bullet
from memex.subagent.statements.extraction import Statement, extract_statements
from memex.subagent.statements.language import STATEMENT_KINDS, StatementKind
from memex.subagent.statements.places import Destination, destination

DAY = date(2026, 11, 22)
LATER = date(2027, 3, 1)

SAID = [
    "I like tea.",
    "I really like tea!",
    "I don't like tea anymore",
    "I live in Berlin",
    "I moved to Paris.",
    "I live in Graz with my wife Eva.",
    "I no longer live in Berlin",
    "My email is a@b.c",
    "Email: d@e.f",
    "write the docs",
    "I need to write the docs",
    "Finished the docs",
    "The command is:\n```sh\nmake\n\n# all\n```",
    "```\ncode\n```",
    "```\nnever closed",
    "My languages are:\n- Python\n- Rust",
    "two\nlines",
    "# no heading",
    "1. no number",
    "- no item",
    "> no quote",
    "---",
    "[ ] no box",
    "<!-- no comment",
    "<div>",
    "| a | b |\n| - | - |",
    "[a]: b",
    r"\# backslash",
    r"1\. backslash",
    "Meeting (2026-01-05)\nabout the roof",
    "文。",
    "שלום (2020-01-01)",
    "(2020-01-01)",
    ".",
]
CLOSED = [text for text in SAID if "never closed" not in text]
KEPT = [
    "# Title",
    "## To do",
    "## DONE",
    "### Other",
    "Title",
    "===",
    "---",
    "- I live in Rome (2026-01-01)",
    "* I like tea (2026-01-01) [[tea]]",
    "  - nested",
    "- [ ] write the docs",
    "- [x] write the docs",
    "- the command is:",
    "  ```",
    "```",
    "- ```",
    "I like tea. I live in Rome.",
    "> My email is x@y.z",
    "1. one",
    "    code",
    "\tcode",
    "<!-- open",
    "<div>",
    "| a |",
    "| - |",
    "[a]: b",
    "",
    "  ",
]
FILES = st.one_of(
    st.none(),
    st.builds(
        lambda lines, ending, last: ending.join([*lines, *last]),
        st.lists(st.sampled_from(KEPT), max_size=12),
        st.sampled_from(["\n", "\r\n"]),
        st.sampled_from([[], [""], ["", ""]]),
    ),
)
HEADINGS = [destination(kind, None).heading for kind in STATEMENT_KINDS if kind != "done"] + ["Title"]


def statement(text: str, kind: StatementKind = "note") -> Statement:
    """Return a statement that is all of its text."""
    return Statement(kind, text, 0, len(text))


def entry(text: str, kind: StatementKind = "note", heading: str | None = None, day: date = DAY) -> Entry:
    """Return an entry under the heading of its kind, or another."""
    return Entry(statement(text, kind), heading or destination(kind, None).heading, day)


# What is filed together, as its destinations say.
FILED: list[list[StatementKind]] = [
    [kind for kind in STATEMENT_KINDS if destination(kind, None).path == path]
    for path in sorted({destination(kind, None).path for kind in STATEMENT_KINDS})
]
ENTRIES = st.sampled_from(FILED).flatmap(
    lambda kinds: st.lists(st.builds(entry, st.sampled_from(SAID), st.sampled_from(kinds)), max_size=6)
)


def on(day: date, entries: list[Entry]) -> list[Entry]:
    """Return the same entries of another day."""
    return [Entry(put.statement, put.heading, day, put.links) for put in entries]


def test_work_goes_to_the_project_and_the_person_does_not() -> None:
    """What a project's members would read of a person stays in that person's own files."""
    for kind, project, place in (
        ("profile", "apollo", Destination("user/profile.md", "Profile", "About me")),
        ("preference", "apollo", Destination("user/preferences.md", "Preferences", "Likes and wishes")),
        ("decision", None, Destination("user/decisions.md", "Decisions and constraints", "Decisions")),
        ("pending", "apollo", Destination("projects/apollo/tasks.md", "Tasks", "To do")),
        ("note", "apollo", Destination("projects/apollo/notes.md", "Notes", "Notes")),
    ):
        assert destination(kind, project) == place


def test_what_one_says_of_himself_stays_with_him() -> None:
    """In a project too, unless it is a decision, a limit or a blocker, which are the project's."""
    for kind, text, folder in (
        ("note", "My wife Anna left me.", "user"),
        ("note", "By the way, I've been diagnosed with lupus.", "user"),
        ("note", "I earn 80k a year.", "user"),
        ("note", "The user's IBAN is AT61 1904 3002 3457 3201.", "user"),
        ("pending", "I have to pick up my antidepressants.", "user"),
        ("done", "I've paid the rent.", "user"),
        ("objective", "I want to lose 5 kg.", "user"),
        ("decision", "I decided to use Postgres.", "projects/apollo"),
        ("blocker", "I'm waiting for the certificate.", "projects/apollo"),
        ("note", "User stories are in the wiki.", "projects/apollo"),
        ("note", "I/O is slow.", "projects/apollo"),
        ("note", "Bob: I like tea.", "projects/apollo"),
        ("pending", "write the docs", "projects/apollo"),
    ):
        assert destination(kind, "apollo", text).path.startswith(f"{folder}/")
        assert destination(kind, None, text).path.startswith("user/")


def test_new_file_has_title_heading_and_bullet() -> None:
    """A file that does not exist is written with all three, and links follow the date."""
    put = Entry(statement("Alice leads it."), "Notes", DAY, ("people/alice", "apollo"))

    assert revise(None, [put], title="Notes on it").content == (
        "# Notes on it\n\n## Notes\n\n- Alice leads it. (2026-11-22) [[people/alice]] [[apollo]]\n"
    )


def test_bullet_is_put_under_its_heading() -> None:
    """Headings are the Markdown parser's; the rest of the file and its line endings stay as they are.

    Only code or a comment that is open at the end is closed first, for it would swallow the bullet.
    """
    for before, after in (
        ("# T", "# T\n\n## To do\n\n- [ ] x (2026-11-22)\n"),
        ("## to do\n", "## to do\n\n- [ ] x (2026-11-22)\n"),
        ("## To do\n- a\n", "## To do\n- a\n- [ ] x (2026-11-22)\n"),
        ("## To do\n\n- a\n\n## Done\n", "## To do\n\n- a\n- [ ] x (2026-11-22)\n\n## Done\n"),
        ("## To do\n- a\n### Later\n- b\n", "## To do\n- a\n- [ ] x (2026-11-22)\n\n### Later\n- b\n"),
        ("To do\n---\ntext\nDone\n---\n", "To do\n---\n\n- [ ] x (2026-11-22)\n\ntext\nDone\n---\n"),
        ("## To do\r\n- a\r\n", "## To do\r\n- a\r\n- [ ] x (2026-11-22)\r\n"),
        ("---\ntags: [a]\n---\n", "---\ntags: [a]\n---\n\n# T\n\n## To do\n\n- [ ] x (2026-11-22)\n"),
        ("a\n\n```\n## To do\n", "a\n\n```\n## To do\n```\n\n## To do\n\n- [ ] x (2026-11-22)\n"),
        ("## To do\n\n<!-- a\n", "## To do\n\n<!-- a\n-->\n\n- [ ] x (2026-11-22)\n"),
    ):
        assert revise(before, [entry("x", "pending")], title="T").content == after


def test_bullet_goes_under_the_section_that_is_named_like_the_file() -> None:
    """`# Notes` is the title of the file that has a section `## Notes`."""
    first = revise(None, [entry("The boat is blue.")], title="Notes").content
    second = revise(first, [entry("The cat is called Minka.")], title="Notes").content

    assert second == (
        "# Notes\n\n## Notes\n\n- The boat is blue. (2026-11-22)\n- The cat is called Minka. (2026-11-22)\n"
    )


def test_code_and_lists_are_indented_under_their_bullet() -> None:
    """A statement of several lines is one list item."""
    put = [entry("Run:\n```sh\nmake\n\nmake all\n```"), entry("They are:\n- a\n- b"), entry("```\nx\n```")]
    content = revise(None, put, title="T").content

    assert content == (
        "# T\n\n## Notes\n\n"
        "- Run: (2026-11-22)\n  ```sh\n  make\n\n  make all\n  ```\n"
        "- They are: (2026-11-22)\n  - a\n  - b\n"
        "- (2026-11-22)\n  ```\n  x\n  ```\n"
    )
    assert [block.kind for block in markdown.parse(content).blocks] == ["heading", "heading", "bullet_list"]


@given(st.sampled_from(CLOSED) | st.text(st.characters(exclude_categories=["Cs", "Cc"])))
@example(r"\\# a")
@example(r"1\.")
@example(r"1\\. a")
@example("12) a")
def test_bullet_parses_back(text: str) -> None:
    """Marker, date and links stripped, a bullet is its statement again."""
    text = text.strip()

    assert parse_bullet(render_bullet(text, DAY, ("a/b",))) == text


@given(st.sampled_from(SAID) | st.text(st.characters(exclude_categories=["Cs", "Cc"])))
def test_bullet_is_one_list_item(text: str) -> None:
    """No statement breaks out of its item, or turns into a heading, a list or a rule of its own."""
    text = text.strip()
    content = revise(None, [entry(text), entry("the last", day=LATER)], title="T").content
    blocks = markdown.parse(content).blocks

    assert [block.kind for block in blocks] == ["heading", "heading", "bullet_list"]


def test_bullet_text_of_any_line() -> None:
    """A line that is no bullet comes back as it is."""
    assert parse_bullet("* [x] done it (2026-01-02) [[a]] [[b|c]]") == "done it"
    assert parse_bullet("plain words (not a date)") == "plain words (not a date)"
    assert parse_bullet("") == ""


def test_outcomes_are_in_the_order_of_the_entries() -> None:
    """Each entry has one outcome; what is superseded is named."""
    before = "# P\n\n## Likes and wishes\n\n- I like tea. (2026-01-02)\n- I like jazz (2026-01-02)\n"
    texts = ["I like opera", "I really like TEA", "I don't like jazz anymore."]
    revised = revise(before, [entry(text, "preference") for text in texts], title="P")

    assert revised.outcomes == (
        EntryOutcome("added"),
        EntryOutcome("duplicate", known="I like tea."),
        EntryOutcome("superseded", "I like jazz"),
    )
    assert revised.content == (
        "# P\n\n## Likes and wishes\n\n- I like tea. (2026-01-02)\n"
        "- I don't like jazz anymore. (2026-11-22)\n- I like opera (2026-11-22)\n"
    )


def test_superseded_bullet_keeps_marker_and_what_is_nested() -> None:
    """Only the statement's own lines are replaced; a user's notes below it stay."""
    before = "## Basics\n\n* I live in Rome\n  * since 2020\n\nMore.\n"
    revised = revise(before, [entry("I moved to Oslo", "profile")], title="P")

    assert revised.content == "## Basics\n\n* I moved to Oslo (2026-11-22)\n  * since 2020\n\nMore.\n"


def test_done_task_leaves_the_list_with_its_notes() -> None:
    """The pending bullet goes, its nested lines move with it, and the done one is dated."""
    before = "# Tasks\n\n## To do\n\n- write the docs\n  - in French\n- rest\n\n## Done\n\n- cook\n"
    revised = revise(before, [entry("Write the docs.", "done")], title="Tasks")

    assert revised.outcomes == (EntryOutcome("superseded", "write the docs"),)
    assert revised.content == (
        "# Tasks\n\n## To do\n\n- rest\n\n## Done\n\n- cook\n- [x] Write the docs. (2026-11-22)\n  - in French\n"
    )


def test_task_that_was_done_may_come_up_again() -> None:
    """It stands under both headings, and once under each."""
    before = "# Tasks\n\n## To do\n\n## Done\n\n- water the plants (2026-01-02)\n"
    revised = revise(before, [entry("I need to water the plants", "pending")], title="Tasks")
    again = revise(revised.content, [entry("water the plants", "pending")], title="Tasks")

    assert "## To do\n\n- [ ] I need to water the plants (2026-11-22)\n\n## Done" in revised.content
    assert "- water the plants (2026-01-02)" in revised.content
    assert again.outcomes == (EntryOutcome("duplicate", known="water the plants"),)


@pytest.mark.parametrize(
    ("said", "open_tasks", "actions"),
    [
        (["pending", "done"], 0, ["overtaken", "superseded"]),
        (["done", "pending"], 1, ["added", "added"]),
        (["pending", "done", "pending"], 1, ["overtaken", "superseded", "added"]),
        (["done", "pending", "done"], 0, ["added", "overtaken", "duplicate"]),
    ],
)
def test_last_word_on_a_task_counts(said: list[StatementKind], open_tasks: int, actions: list[str]) -> None:
    """A task that is open and done in one call is what was said last, each time the call is played."""
    entries = [entry("water the plants", kind) for kind in said]
    once = revise(None, entries, title="Tasks")
    content = once.content

    assert [outcome.action for outcome in once.outcomes] == actions
    assert content.count("- [ ] water the plants") == open_tasks
    assert content.count("- [x] water the plants") == 1
    assert revise(content, on(LATER, entries), title="Tasks").content == content


def test_task_is_done_though_it_was_blocked() -> None:
    """That a task waits for something is no reason to drop the news that it is done, or the other way round."""
    blocked = revise(None, [entry("write the docs", "blocker")], title="Tasks").content

    assert revise(blocked, [entry("write the docs", "done")], title="Tasks").outcomes == (
        EntryOutcome("added"),
    )


def test_entries_of_one_call_supersede_each_other() -> None:
    """The last of several with one key stays, and the answer tells of the others."""
    texts = ["My favorite color is red", "My favourite colour is blue", "my favorite color is green"]
    revised = revise(None, [entry(text, "preference") for text in texts], title="P")

    assert revised.content.count("- ") == 1
    assert "green" in revised.content
    assert revised.outcomes == (
        EntryOutcome("overtaken"),
        EntryOutcome("overtaken"),
        EntryOutcome("superseded", "My favorite color is red"),
    )


def test_bullet_that_says_more_stays() -> None:
    """A new value is no reason to destroy what else the old bullet says: both are kept."""
    for older, newer in (
        ("I live in Graz with my wife Eva and two cats, Tom and Ben.", "I live in Linz."),
        ("I live in Graz. The alarm code is 4471.", "I live in Linz."),
        ("I live in Graz\nThe alarm code is 4471", "I live in Linz."),
        ("I work at Siemens as an engineer.", "I work at Bosch."),
    ):
        once = revise(None, [entry(older)], title="T").content
        twice = revise(once, [entry(newer, day=LATER)], title="T")
        together = revise(None, [entry(older), entry(newer)], title="T")

        assert twice.outcomes == (EntryOutcome("added"),)
        assert [outcome.action for outcome in together.outcomes] == ["added", "added"]
        assert len(twice.content.splitlines()) >= len(once.splitlines()) + 1


def test_one_fact_of_a_bullet_gives_way() -> None:
    """What else the bullet says stays, with its date."""
    for older, newer, rest in (
        ("My name is Alice and I have a peanut allergy.", "My name is Alyce.", "I have a peanut allergy."),
        ("I work at Siemens and live in Graz.", "I moved to Linz.", "I work at Siemens."),
    ):
        once = revise(None, [entry(older)], title="T").content
        twice = revise(once, [entry(newer, day=LATER)], title="T")

        assert twice.outcomes == (EntryOutcome("superseded", older),)
        assert twice.content == once.replace(older, rest) + f"- {newer} ({LATER})\n"


def test_what_is_taken_back_is_replaced() -> None:
    """A denial takes the place of what it denies, and the other way round, as often as it changes."""
    for claim, denial in (
        ("I work at ACME.", "I no longer work at ACME."),
        ("I live in Graz.", "I don't live in Graz anymore"),
        ("User lives in Graz.", "The user does not live in Graz any more."),
        ("We decided to use Postgres for the store.", "We decided not to use Postgres for the store."),
        ("I am vegetarian", "I am not vegetarian anymore"),
        ("The office is in Linz.", "The office is no longer in Linz."),
        ("I like jazz", "I don't like jazz"),
    ):
        content = None
        for text, replaced in [(claim, None), (denial, claim), (claim, denial)]:
            revised = revise(content, [entry(text)], title="T")
            content = revised.content

            assert revised.outcomes == (
                EntryOutcome("superseded", replaced) if replaced else EntryOutcome("added"),
            )
            assert content.count("\n- ") == 1
        assert revise(None, [entry(claim), entry(denial)], title="T").outcomes == (
            EntryOutcome("overtaken"),
            EntryOutcome("superseded", claim),
        )


def test_denial_of_another_value_replaces_nothing() -> None:
    """Who no longer works at one place may well work at another."""
    content = revise(None, [entry("I work at Siemens.")], title="T").content

    assert revise(content, [entry("I no longer work at ACME.")], title="T").outcomes == (
        EntryOutcome("added"),
    )


@given(FILES, ENTRIES)
@example("- I like tea\n- I like tea", [entry("I don't like tea anymore")])
def test_filing_again_changes_nothing(content: str | None, entries: list[Entry]) -> None:
    """The same entries, on the same day or a later one, leave the file as the first call left it."""
    once = revise(content, entries, title="Title").content

    assert revise(once, entries, title="Title").content == once
    assert revise(once, on(LATER, entries), title="Title").content == once


@given(FILES, st.lists(st.builds(entry, st.sampled_from(SAID), st.just("note"), st.sampled_from(HEADINGS))))
def test_what_the_user_wrote_stays(content: str | None, entries: list[Entry]) -> None:
    """Lines that no entry supersedes are all there afterwards, in their order and with their endings."""
    revised = revise(content, entries, title="Title")
    kept = (content or "").splitlines()
    new = Counter(revised.content.splitlines())
    replaced = [outcome.replaced or "" for outcome in revised.outcomes]
    superseded = sum(len(text.split("\n")) for text in replaced if text)

    assert sum((Counter(kept) - new).values()) <= superseded
    assert (
        not content or "\r\n" not in content or revised.content.count("\n") == revised.content.count("\r\n")
    )


@given(FILES, st.sampled_from(SAID), st.sampled_from(HEADINGS))
def test_added_bullet_is_found_again(content: str | None, text: str, heading: str) -> None:
    """Whatever the file ends with, a new bullet is a list item of it and not swallowed by code or HTML."""
    revised = revise(content, [entry(text, heading=heading)], title="Title")
    again = revise(revised.content, [entry(text, heading=heading)], title="Title")

    assert again.outcomes[0].action == "duplicate"
    assert again.content == revised.content


def test_no_entries_change_nothing() -> None:
    """Not a byte, whatever the file looks like."""
    content = "\ufeff# A \r\n\r\n\r\n- b"

    assert revise(content, [], title="T").content == content


def test_large_file_and_many_entries_take_linear_time() -> None:
    """Four times the lines and the statements take about four times as long."""

    def prepared(size: int) -> Callable[[], Any]:
        lines = [
            f"- I like thing number {number} and some more words (2026-01-02)" for number in range(5 * size)
        ]
        content = "# Notes\n\n## Notes\n\n" + "\n".join(lines) + "\n"
        entries = [entry(f"I like thing {number} a lot") for number in range(size)]
        return lambda: revise(content, entries, title="Notes")

    assert len(prepared(200)().outcomes) == 200
    assert growth(prepared, 200) < LINEAR


def test_reading_and_filing_fit_together() -> None:
    """What is read from a file's own bullets is a duplicate in that file."""
    text = "We use Redis for caching. The goal is to win. I live in Rome."
    statements = extract_statements(text).statements
    content = revise(None, [entry(found.text, found.kind) for found in statements], title="T").content
    again = [entry(parse_bullet(line)) for line in content.splitlines() if line.startswith("- ")]

    assert {outcome.action for outcome in revise(content, again, title="T").outcomes} == {"duplicate"}


def test_nested_task_that_is_done_too_leaves_its_siblings_once() -> None:
    """What stands below a finished task goes with it, but for what is finished itself."""
    before = "# Tasks\n\n## To do\n\n- write the docs\n  - paint the boat\n  - buy nails\n- rest\n"
    done = [entry(text, "done") for text in ("write the docs", "paint the boat")]
    revised = revise(before, done, title="Tasks")

    assert revised.content == (
        "# Tasks\n\n## To do\n\n- rest\n\n## Done\n\n"
        "- [x] write the docs (2026-11-22)\n  - buy nails\n- [x] paint the boat (2026-11-22)\n"
    )


# --- what is named to give way, and what is taken out ---------------------------------------------------------

BY_HAND = """# People

Alice leads it. Her launch is on May 5. Bob helps.

## Alice

* Alice likes her tea black (2025-01-02) [[tea]]
  * with milk on Sundays
* Alice sails

The office is in Linz.
"""


def replacing(text: str, old: str, heading: str = "Alice") -> Entry:
    """Return an entry that takes another's place."""
    return Entry(statement(text), heading, DAY, replaces=old)


def test_entry_takes_the_place_that_it_names() -> None:
    """Whatever the two are about; marker and nested lines stay, the date is the day's."""
    put = replacing("Alice drinks coffee only", "Alice likes her tea black")
    revised = revise(BY_HAND, [put], title="T")

    assert revised.outcomes == (EntryOutcome("superseded", "Alice likes her tea black"),)
    assert "\n* Alice drinks coffee only (2026-11-22)\n  * with milk on Sundays\n* Alice sails\n" in (
        revised.content
    )
    assert "tea" not in revised.content
    known = EntryOutcome("duplicate", known="Alice drinks coffee only")
    assert revise(revised.content, [put], title="T").outcomes == (known,)


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        (
            "Her launch is on May 5.",
            "Her launch is on May 12.",
            "Alice leads it. Her launch is on May 12. Bob helps.",
        ),
        (
            "Her launch is on May 5.",
            "Her launch is on May 12",
            "Alice leads it. Her launch is on May 12. Bob helps.",
        ),
        ("Alice leads it. Her launch is on May 5. Bob helps.", "Bob leads it", "Bob leads it."),
        ("The office is in Linz.", "# Linz", r"\# Linz."),
    ],
)
def test_sentence_of_prose_gives_way_too(old: str, new: str, line: str) -> None:
    """A whole sentence or line, and what stands around it keeps its place."""
    revised = revise(BY_HAND, [replacing(new, old)], title="T")

    assert revised.outcomes == (EntryOutcome("superseded", old),)
    assert line in revised.content.splitlines()
    assert len(revised.content.splitlines()) == len(BY_HAND.splitlines())


def test_entry_whose_place_is_gone_is_like_any_other() -> None:
    """It is added, and nothing else changes."""
    for content, old in (
        (BY_HAND, "Alice flies"),
        (BY_HAND, "launch is on May 5"),
        (BY_HAND, "People"),
        (BY_HAND, ""),
        (f"{BY_HAND}\n> The office is in Linz.\n", "The office is in Linz."),
        ("---\ntitle: The office is in Linz.\n---\n", "title: The office is in Linz."),
        ("```\nThe office is in Linz.\n```\n", "The office is in Linz."),
        (None, "The office is in Linz."),
    ):
        revised = revise(content, [replacing("The office is in Graz.", old)], title="T")

        assert revised.outcomes == (EntryOutcome("added"),)
        assert set((content or "").splitlines()) <= set(revised.content.splitlines())
        assert "- The office is in Graz. (2026-11-22)" in revised.content


def test_prose_takes_no_text_that_would_change_the_page() -> None:
    """A comment would swallow the rest; several lines are no sentence: such entries are bullets."""
    for text in ("<!-- Graz", "Graz\n- or Linz", "```\nGraz\n```"):
        revised = revise(BY_HAND, [replacing(text, "The office is in Linz.")], title="T")

        assert revised.outcomes == (EntryOutcome("added"),)
        assert "The office is in Linz." in revised.content


def test_of_two_entries_for_one_place_both_stand() -> None:
    """The first takes it, and the second finds it gone."""
    puts = [replacing("Alice sails a ketch", "Alice sails"), replacing("Alice sails to Malta", "Alice sails")]
    revised = revise(BY_HAND, puts, title="T")

    assert [outcome.action for outcome in revised.outcomes] == ["superseded", "added"]
    assert "* Alice sails a ketch (2026-11-22)\n" in revised.content
    assert "- Alice sails to Malta (2026-11-22)\n" in revised.content


def test_place_goes_to_the_entry_that_overtakes_the_one_that_named_it() -> None:
    """The older statement is not left beside the newest."""
    before = "## About me\n\n- My home is Rome\n"
    puts = [replacing("I live in Oslo.", "My home is Rome", "About me"), entry("I live in Linz.", "profile")]
    revised = revise(before, puts, title="T")

    assert revised.content == "## About me\n\n- I live in Linz. (2026-11-22)\n"


def test_place_is_cleared_when_the_entry_is_known_elsewhere() -> None:
    """The older statement goes; but not with what is nested below it."""
    known = "## Alice\n\n- Alice sails\n- Alice rows\n"
    nested = "## Alice\n\n- Alice sails\n  - a ketch\n- Alice rows\n"

    assert revise(known, [replacing("Alice rows", "Alice sails")], title="T").content == (
        "## Alice\n\n- Alice rows\n"
    )
    assert revise(nested, [replacing("Alice rows", "Alice sails")], title="T").content == nested


@pytest.mark.parametrize("box", ["- [ ] ", "- "])
def test_task_that_is_replaced_by_its_end_moves_to_the_done(box: str) -> None:
    """Also when other words name it; what is nested goes with it."""
    before = f"# Tasks\n\n## To do\n\n{box}write the docs\n  - in French\n- rest\n"
    put = Entry(statement("The manual is written.", "done"), "Done", DAY, replaces="write the docs")
    revised = revise(before, [put], title="Tasks")

    assert revised.outcomes == (EntryOutcome("superseded", "write the docs"),)
    assert revised.content == (
        "# Tasks\n\n## To do\n\n- rest\n\n## Done\n\n- [x] The manual is written. (2026-11-22)\n  - in French\n"
    )


def test_statement_is_taken_out() -> None:
    """A bullet by what it says, prose word for word; a line with its line ending."""
    for text, gone in (
        ("alice sails.", "* Alice sails\n"),
        ("with milk on Sundays", "  * with milk on Sundays\n"),
        ("Bob helps.", "Bob helps."),
        ("Her launch is on May 5.", "Her launch is on May 5. "),
        ("The office is in Linz.", "The office is in Linz.\n"),
        ("Alice leads it. Her launch is on May 5. Bob helps.", None),
    ):
        revised = revise(BY_HAND, [], title="T", removals=[text])
        line = gone or "Alice leads it. Her launch is on May 5. Bob helps.\n"

        assert [outcome.action for outcome in revised.removals] == ["removed"]
        assert revised.content == BY_HAND.replace(line, "")


def test_what_is_not_there_or_holds_more_stays() -> None:
    """Nothing is guessed, and no nested line loses its parent."""
    for text, action in (
        ("Alice flies", "absent"),
        ("is in Linz", "absent"),
        ("People", "absent"),
        ("", "absent"),
        ("Alice likes her tea black", "nested"),
    ):
        revised = revise(BY_HAND, [], title="T", removals=[text])

        assert [outcome.action for outcome in revised.removals] == [action]
        assert revised.content == BY_HAND
        assert revise(None, [], title="T", removals=[text]).content == ""


def test_what_goes_out_goes_first() -> None:
    """A statement that the call takes out and makes again in other words is there afterwards."""
    revised = revise(
        BY_HAND,
        [entry("Currently Alice sails", heading="Alice")],
        title="T",
        removals=["Alice sails"],
        matches_paraphrases=True,
    )

    assert [outcome.action for outcome in (*revised.removals, *revised.outcomes)] == ["removed", "added"]
    assert "Alice sails" not in revised.content.replace("Currently Alice sails", "")


REPLACED = st.sampled_from([*KEPT, *SAID, "Rome", "I like tea", "I live in Rome."])


@given(
    FILES,
    st.lists(st.builds(replacing, st.sampled_from(SAID), REPLACED, st.sampled_from(HEADINGS)), max_size=4),
    st.lists(REPLACED, max_size=3),
    st.booleans(),
)
def test_whatever_is_named_the_rest_stays(
    content: str | None, entries: list[Entry], removals: list[str], is_near_known: bool
) -> None:
    """Only what was told to have gone is gone."""
    revised = revise(content, entries, title="Title", removals=removals, matches_paraphrases=is_near_known)
    went = [outcome.replaced for outcome in (*revised.outcomes, *revised.removals) if outcome.replaced]
    gone = Counter((content or "").split()) - Counter(revised.content.split())

    assert sum(gone.values()) <= sum(len(text.split()) + 4 for text in went)


# --- nearly the same ------------------------------------------------------------------------------------------


def test_nearly_the_same_is_known_when_asked_for() -> None:
    """By bullets and prose; other sections of tasks make other statements."""
    before = (
        "# T\n\nI work from home.\n\n## Likes and wishes\n\n- I like tea\n\n## To do\n\n- I pay the rent\n"
    )
    told = [
        entry("The user likes tea.", "preference"),
        entry("The user currently works from home.", "profile"),
        entry("The user pays the rent", "pending"),
        entry("The user pays the rent", "blocker"),
        entry("The user liked tea.", "preference"),
    ]
    actions = [
        outcome.action for outcome in revise(before, told, title="T", matches_paraphrases=True).outcomes
    ]
    exact = [outcome.action for outcome in revise(before, told, title="T").outcomes]

    assert actions == ["duplicate", "duplicate", "duplicate", "added", "added"]
    assert "duplicate" not in exact


def test_what_was_said_later_on_the_same_day_keeps_its_place() -> None:
    """The dates are equal, so the keys of the later bullets tell; a value beside them goes above them."""
    standing = revise(None, [entry("I moved to Oslo", "profile"), entry("I like jazz")], title="P").content
    later = frozenset({line_key("I moved to Oslo"), line_key("I like jazz")})

    revised = revise(
        standing,
        [entry("I moved to Rome", "profile"), entry("I like the sea"), entry("I have a cat")],
        title="P",
        removals=["I like jazz"],
        later=later,
    )

    assert revised.removals == (EntryOutcome("overtaken"),)
    assert revised.outcomes[0].action == "overtaken"
    assert [line for line in revised.content.splitlines() if line.startswith("- ")] == [
        f"- I moved to Oslo ({DAY})",
        f"- I like the sea ({DAY})",
        f"- I have a cat ({DAY})",
        f"- I like jazz ({DAY})",
    ]
