"""Headings of statements by their topics."""

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from datetime import date
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.kit.growth import LINEAR, growth

from memex.store import markdown
from memex.subagent.remember.filing.entries import Entry
from memex.subagent.remember.filing.items import list_items
from memex.subagent.remember.filing.page import revise, tidy
from memex.subagent.statements.extraction import Statement
from memex.subagent.statements.language import StatementKind
from memex.subagent.statements.places import destination

DAY = date(2026, 11, 22)
NOTES = "user/notes.md"
OF_MARA = ["We met Mara in Linz.", "On Sunday Mara plays chess.", "Our neighbour Mara has a boat."]
SAID = [
    *OF_MARA,
    "mara has sold it",
    "The roof leaks again.",
    "Tomasz mends the roof in May.",
    "In May the roof is done.",
    "Was the roof dear?",
    "Yesterday Tomasz called, and so did Tom.",
    "Das neue Auto von Mara steht hier.",
    "Run:\n```sh\nmake Mara\n```",
    "# Mara",
    "Mara",
    "two\nlines about the roof",
]


def entry(text: str, kind: StatementKind = "note") -> Entry:
    """Return an entry for the general heading of its kind."""
    return Entry(Statement(kind, text, 0, len(text)), destination(kind, None).heading, DAY)


def filed(content: str | None, *texts: str, path: str = NOTES, kind: StatementKind = "note") -> str:
    """Return a file with statements put in, one call each."""
    for text in texts:
        content = revise(content, [entry(text, kind)], title="Notes", path=path).content
    return content or ""


def test_third_statement_about_somebody_makes_a_heading() -> None:
    """The other two move there as they are; the general heading keeps what is about nobody in particular."""
    two = filed(None, "The bins go out on Friday.", *OF_MARA[:2])
    three = filed(two, OF_MARA[2])

    assert "## Mara" not in two
    assert three == (
        "# Notes\n\n## Mara\n\n"
        "- We met Mara in Linz. (2026-11-22)\n"
        "- On Sunday Mara plays chess. (2026-11-22)\n"
        "- Our neighbour Mara has a boat. (2026-11-22)\n\n"
        "## Notes\n\n- The bins go out on Friday. (2026-11-22)\n"
    )


def test_heading_that_stands_takes_the_next_statement() -> None:
    """A heading of the user's own does too, and a heading that nothing stands under any more is taken away."""
    own = "# Notes\n\n## The roof\n\nMust be mended.\n\n## Notes\n\n- The bins are full. (2026-01-02)\n"

    assert filed(own, "Tomasz mends the roof in May.") == own.replace(
        "mended.\n", "mended.\n\n- Tomasz mends the roof in May. (2026-11-22)\n"
    )
    assert "## Notes" not in filed(None, *OF_MARA)


def test_things_get_headings_in_every_language() -> None:
    """A thing is what stands behind `the` or `my`."""
    french = ["Je prends le vélo demain.", "Le pneu de mon vélo est crevé.", "Il faut réparer le vélo."]
    german = ["Das Auto braucht Öl.", "Ich habe das Auto verkauft.", "Gestern war unser Auto kaputt."]

    assert "## Vélo\n" in filed(None, *french)
    assert "## Auto\n" in filed(None, *german)


def test_a_word_before_a_colon_is_a_topic() -> None:
    """As people write notes, and as the statements of a pasted document name its sections."""
    said = ["Heating: it is serviced in May.", "heating: the code of the fault is F28", "Heating: from 2019."]

    assert "## Heating\n" in filed(None, *said)


def test_the_user_is_no_topic_of_his_own_notes() -> None:
    """Most statements may name him."""
    content = None
    for text in OF_MARA:
        content = revise(content, [entry(text)], title="Notes", path=NOTES, own_names={"mara"}).content

    assert "## Mara" not in (content or "")


def test_other_files_have_no_headings_of_their_own_accord() -> None:
    """Only in files that `memory_remember` writes is a kind known without the heading."""
    assert "## Mara" not in filed(None, *OF_MARA, path="user/people/mara.md")


@pytest.mark.parametrize("kind", ["pending", "preference", "decision", "objective", "profile", "note"])
def test_kind_is_known_under_any_heading(kind: StatementKind) -> None:
    """The file says it, and a box that a task is open."""
    path = destination(kind, None).path
    content = filed(None, *OF_MARA, path=path, kind=kind)
    items = list(list_items(content, markdown.parse(content), path))

    assert [(item.heading, item.kind) for item in items] == [("Mara", kind)] * 3


def test_what_is_open_stands_before_what_is_done() -> None:
    """A blocked task is open, and its heading says that it waits."""
    path = "user/tasks.md"
    content = filed(None, "paint the door", path=path, kind="done")
    content = filed(content, "buy nails", path=path, kind="blocker")
    content = filed(content, *OF_MARA, "call the bank", path=path, kind="pending")
    items = list(list_items(content, markdown.parse(content), path))

    assert [(item.heading, item.kind) for item in items] == [
        *[("Mara", "pending")] * 3,
        ("To do", "pending"),
        ("Blocked", "blocker"),
        ("Done", "done"),
    ]


def test_what_has_something_below_it_stays_where_it_is() -> None:
    """And so does what the user wrote without a date."""
    before = (
        "# Notes\n\n## Notes\n\n- We met Mara in Linz. (2026-01-02)\n  - at the fair\n"
        "- On Sunday Mara plays chess.\n- Has Mara a boat? (2026-01-02)\n"
    )
    after = filed(before, "Our neighbour Mara has two cats.", "In June Mara leaves.")

    assert "- We met Mara in Linz. (2026-01-02)\n  - at the fair\n- On Sunday Mara plays chess.\n" in after
    assert (
        "## Mara\n\n- Has Mara a boat? (2026-01-02)\n- Our neighbour Mara has two cats. (2026-11-22)\n"
        in after
    )


def test_heading_of_a_topic_goes_with_its_last_statement() -> None:
    """Nothing is left to say about it; but a heading with text of the user's stays."""
    content = filed(None, "The bins go out on Friday.", *OF_MARA)
    own = content.replace("## Mara\n", "## Mara\n\nMy neighbour.\n")

    def without(before: str) -> str:
        return revise(before, [], title="Notes", path=NOTES, removals=OF_MARA).content

    assert without(content) == "# Notes\n\n## Notes\n\n- The bins go out on Friday. (2026-11-22)\n"
    assert "## Mara\n\nMy neighbour.\n" in without(own)


def test_what_replaces_a_statement_may_be_about_something_else() -> None:
    """Then it leaves the heading; it stays under one of the user's own that the older statement did not name."""
    content = filed(None, "The bins go out on Friday.", *OF_MARA)
    put = replace(entry("The boat was sold."), replaces=OF_MARA[2])
    own = content.replace("## Mara\n", "## People\n")

    assert revise(content, [put], title="Notes", path=NOTES).content.endswith(
        "Friday. (2026-11-22)\n- The boat was sold. (2026-11-22)\n"
    )
    assert "chess. (2026-11-22)\n- The boat was sold. (2026-11-22)\n" in (
        revise(own, [put], title="Notes", path=NOTES).content
    )


TEXTS = st.lists(st.lists(st.sampled_from(SAID), max_size=4), max_size=5)


@given(TEXTS)
def test_grouping_loses_nothing_and_is_done_once(calls: list[list[str]]) -> None:
    """Every line stands once, under some heading, and the same call again changes nothing."""
    content = None
    for texts in calls:
        entries = [entry(text) for text in texts]
        revised = revise(content, entries, title="Notes", path=NOTES)
        lines = Counter(line for line in (content or "").splitlines() if line and line[0] != "#")
        content = revised.content

        assert not lines - Counter(content.splitlines())
        assert revise(content, entries, title="Notes", path=NOTES).content == content
        assert "\n\n\n" not in content.replace("```", "")


@given(TEXTS)
def test_tidying_is_done_once_and_keeps_every_line(calls: list[list[str]]) -> None:
    """What is tidy stays as it is, byte for byte."""
    content = None
    for texts in calls:  # as an older version filed it
        content = revise(content, [entry(text) for text in texts], title="Notes").content
    once = tidy(content or "", NOTES)
    lines = [line for line in (content or "").splitlines() if line and line[0] != "#"]

    assert not Counter(lines) - Counter(once.splitlines())
    assert tidy(once, NOTES) == once


def test_tidying_files_like_the_calls_did() -> None:
    """The same rules hold: what was told one by one is grouped as a whole as well."""
    told = filed(None, "The bins go out on Friday.", *OF_MARA)
    flat = revise(None, [entry("The bins go out on Friday."), *map(entry, OF_MARA)], title="Notes").content

    assert flat != told
    assert tidy(flat, NOTES) == told


def test_tidying_gives_tasks_boxes() -> None:
    """The open ones, the blocked ones and the done ones; what the user wrote without a date stays."""
    old = (
        "# Tasks\n\n## To do\n\n- a (2026-01-02)\n- own\n\n## Blocked\n\n- b (2026-01-02)\n\n"
        "## Done\n\n- c (2026-01-02)\n"
    )

    assert tidy(old, "user/tasks.md") == (
        "# Tasks\n\n## To do\n\n- [ ] a (2026-01-02)\n- own\n\n## Blocked\n\n- [ ] b (2026-01-02)\n\n"
        "## Done\n\n- [x] c (2026-01-02)\n"
    )
    assert tidy(old, "user/own.md") == old


def test_grouping_a_large_file_takes_linear_time() -> None:
    """Four times the statements about four times as many people take about four times as long."""

    def prepared(size: int) -> Callable[[], Any]:
        texts = [f"On day {number} we met Mara{number // 4} again." for number in range(size)]
        flat = "".join(f"- {text} (2026-01-02)\n" for text in texts)
        return lambda: tidy(f"# Notes\n\n## Notes\n\n{flat}", NOTES)

    assert prepared(400)().count("## Mara") == 100
    assert growth(prepared, 400) < LINEAR
