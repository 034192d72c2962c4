"""Headings of files, under which statements go that name them."""

from collections import Counter
from dataclasses import replace
from datetime import date

from hypothesis import given
from hypothesis import strategies as st

from memex.store import markdown
from memex.subagent.remember.filing.entries import Entry
from memex.subagent.remember.filing.items import list_items
from memex.subagent.remember.filing.page import revise
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


OWN = (
    "# Notes\n\n## Mara\n\n- Mara is our neighbour. (2026-01-02)\n\n"
    "## Notes\n\n- The bins are full. (2026-01-02)\n"
)


def filed(content: str | None, *texts: str, path: str = NOTES, kind: StatementKind = "note") -> str:
    """Return a file with statements put in, one call each."""
    for text in texts:
        content = revise(content, [entry(text, kind)], title="Notes", path=path).content
    return content or ""


def test_statement_goes_under_a_heading_that_it_names() -> None:
    """All words of the heading stand in it, in any form; of several headings the one with most words counts."""
    own = "# Notes\n\n## The roof\n\nMust be mended.\n\n## Roof of the barns\n\n## Notes\n\n- Bins. (2026-01-02)\n"

    assert filed(own, "Tomasz mends the roof in May.") == own.replace(
        "mended.\n", "mended.\n\n- Tomasz mends the roof in May. (2026-11-22)\n"
    )
    assert "barns\n\n- The barn's roof of 1900 leaks." in filed(own, "The barn's roof of 1900 leaks.")
    assert "Bins. (2026-01-02)\n- The door of the barn is new." in filed(own, "The door of the barn is new.")


def test_no_heading_is_made_for_a_name() -> None:
    """Statements that name no heading stand under the general one, however many there are about somebody."""
    assert filed(None, *OF_MARA) == "# Notes\n\n## Notes\n\n" + "".join(
        f"- {text} (2026-11-22)\n" for text in OF_MARA
    )


def test_headings_of_other_files_take_nothing() -> None:
    """Only in files that `memory_remember` writes is a kind known without the heading."""
    path = "user/people/mara.md"

    assert "## Notes\n\n- The bins are full. (2026-01-02)\n- We met" in filed(OWN, OF_MARA[0], path=path)


def test_kind_is_known_under_any_heading() -> None:
    """The file says it, and a box that a task is open."""
    for kind in (
        "pending",
        "preference",
        "decision",
        "objective",
        "profile",
        "note",
    ):
        path = destination(kind, None).path
        content = filed("# Mine\n\n## Mara\n\nMy neighbour.\n", *OF_MARA, path=path, kind=kind)
        items = list(list_items(content, markdown.parse(content), path))

        assert [(item.heading, item.kind) for item in items] == [("Mara", kind)] * 3


def test_what_is_open_stands_before_what_is_done() -> None:
    """A blocked task is open, and its heading says that it waits."""
    path = "user/tasks.md"
    content = filed(None, "paint the door", path=path, kind="done")
    content = filed(content, "buy nails", path=path, kind="blocker")
    content = filed(content, "call the bank", path=path, kind="pending")
    items = list(list_items(content, markdown.parse(content), path))

    assert [(item.heading, item.kind) for item in items] == [
        ("To do", "pending"),
        ("Blocked", "blocker"),
        ("Done", "done"),
    ]


def test_heading_of_one_word_goes_with_its_last_statement() -> None:
    """Nothing is left to say about it; but a heading with text of the user's stays."""
    content = filed(OWN, *OF_MARA)
    own = content.replace("## Mara\n", "## Mara\n\nMy neighbour.\n")

    def without(before: str) -> str:
        removals = ["Mara is our neighbour.", *OF_MARA]
        return revise(before, [], title="Notes", path=NOTES, removals=removals).content

    assert without(content) == "# Notes\n\n## Notes\n\n- The bins are full. (2026-01-02)\n"
    assert "## Mara\n\nMy neighbour.\n" in without(own)


def test_what_replaces_a_statement_may_be_about_something_else() -> None:
    """Then it leaves the heading; it stays under one of the user's own that the older statement did not name."""
    content = filed(OWN, *OF_MARA)
    put = replace(entry("The boat was sold."), replaces=OF_MARA[2])
    own = content.replace("## Mara\n", "## People\n")

    assert revise(content, [put], title="Notes", path=NOTES).content.endswith(
        "full. (2026-01-02)\n- The boat was sold. (2026-11-22)\n"
    )
    assert "chess. (2026-11-22)\n- The boat was sold. (2026-11-22)\n" in (
        revise(own, [put], title="Notes", path=NOTES).content
    )


TEXTS = st.lists(st.lists(st.sampled_from(SAID), max_size=4), max_size=5)


@given(TEXTS)
def test_grouping_loses_nothing_and_is_done_once(calls: list[list[str]]) -> None:
    """Every line stands once, under some heading, and the same call again changes nothing."""
    content = OWN
    for texts in calls:
        entries = [entry(text) for text in texts]
        revised = revise(content, entries, title="Notes", path=NOTES)
        lines = Counter(line for line in content.splitlines() if line and line[0] != "#")
        content = revised.content

        assert not lines - Counter(content.splitlines())
        assert revise(content, entries, title="Notes", path=NOTES).content == content
        assert "\n\n\n" not in content.replace("```", "")
