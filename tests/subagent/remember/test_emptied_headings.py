"""Headings from under which the last statement went."""

from datetime import date

from memex.subagent.remember.filing.entries import Entry
from memex.subagent.remember.filing.page import revise
from memex.subagent.statements.extraction import Statement
from memex.subagent.statements.language import StatementKind
from memex.subagent.statements.places import destination

DAY = date(2026, 11, 22)
TASKS, DECISIONS = "user/tasks.md", "user/decisions.md"


def entry(text: str, kind: StatementKind) -> Entry:
    """Return an entry for the heading of its kind."""
    return Entry(Statement(kind, text, 0, len(text)), destination(kind, None).heading, DAY)


def without(content: str, *texts: str, path: str = TASKS) -> str:
    """Return a file with statements taken out."""
    return revise(content, [], title="Tasks", path=path, removals=texts).content


def test_a_heading_goes_with_the_last_statement_of_its_kind() -> None:
    """All others stay, and so does the title of the file."""
    stored = (
        "# Tasks\n\n## To do\n\n- [ ] Mend the gate (2026-11-22)\n\n## Blocked\n\n- [ ] The tests wait for a key "
        "(2026-11-22)\n\n## Done\n\n- [x] Sold the boat (2026-11-22)\n"
    )

    assert without(stored, "The tests wait for a key") == (
        "# Tasks\n\n## To do\n\n- [ ] Mend the gate (2026-11-22)\n\n## Done\n\n- [x] Sold the boat (2026-11-22)\n"
    )
    assert "## To do" not in without(stored, "Mend the gate")
    assert without(stored, "Sold the boat").endswith("key (2026-11-22)\n")
    assert without(stored, "Sold the boat", "Mend the gate", "The tests wait for a key") == "# Tasks\n"


def test_a_heading_that_went_comes_back() -> None:
    """In its place, as in a new file."""
    first = revise(None, [entry("Mend the gate", "pending")], title="Tasks", path=TASKS).content
    closed = revise(
        first, [entry("Mended the gate", "done")], title="Tasks", path=TASKS, removals=["Mend the gate"]
    )
    again = revise(closed.content, [entry("Sow the peas", "pending")], title="Tasks", path=TASKS).content

    assert closed.content == "# Tasks\n\n## Done\n\n- [x] Mended the gate (2026-11-22)\n"
    assert again == (
        "# Tasks\n\n## To do\n\n- [ ] Sow the peas (2026-11-22)\n\n## Done\n\n- [x] Mended the gate (2026-11-22)\n"
    )
    emptied = without(first, "Mend the gate")
    assert revise(emptied, [entry("Mend the gate", "pending")], title="Tasks", path=TASKS).content == first


def test_a_heading_stays_that_was_empty_or_that_a_person_wrote() -> None:
    """Text and nested headings below it keep it; a heading of several words is a person's own."""
    for content in (
        "# T\n\n## Blocked\n\n## To do\n\n- [ ] Mend the gate (2026-11-22)\n- [ ] Sow the peas (2026-11-22)\n",
        "# T\n\n## To do\n\nSoon.\n\n- [ ] Mend the gate (2026-11-22)\n",
        "# T\n\n## Round the house\n\n- [ ] Mend the gate (2026-11-22)\n",
    ):
        headings = [line for line in content.splitlines() if line.startswith("#")]
        left = without(content, "Mend the gate")
        assert [line for line in left.splitlines() if line.startswith("#")] == headings
        assert "gate" not in left


def test_the_general_heading_goes_where_others_stand() -> None:
    """Of decisions as of tasks."""
    stored = (
        "# D\n\n## Decisions\n\n- We sail on (2026-11-22)\n\n## Constraints\n\n- No engines (2026-11-22)\n"
    )

    assert (
        without(stored, "We sail on", path=DECISIONS)
        == "# D\n\n## Constraints\n\n- No engines (2026-11-22)\n"
    )
    assert (
        without(stored, "No engines", path=DECISIONS) == "# D\n\n## Decisions\n\n- We sail on (2026-11-22)\n"
    )
