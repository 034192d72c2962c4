"""Documents that are kept whole, and lists whose order counts."""

from functools import partial

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.kit.growth import LINEAR, growth

from memex.subagent.remember.filing.notes import similarity
from memex.subagent.remember.kept_documents import slug
from memex.subagent.statements.documents import find_document
from memex.subagent.statements.extraction import extract_statements

SECTIONS = (
    "# Boat house\n\n{}\n\n"
    "## Roof\n\nThe roof is of slate and was mended in 2019.\n\n"
    "## Rules\n\n- No fires.\n"
)
LINES = st.sampled_from(
    [
        "# A",
        "## B",
        "Subject: x",
        "Decisions:",
        "- we use X",
        "1. go",
        "",
        "\nThe pin is 4471.",  # a paragraph: behind an item it would be a part of the item
        "a" * 400,
        "---",
    ]
)


def find(text: str) -> object:
    """Return the document that a text is, if it is one."""
    return find_document(text, extract_statements(text))


def stated(text: str) -> list[tuple[str, str]]:
    """Return kind and text of each statement."""
    return [(one.kind, one.text) for one in extract_statements(text).statements]


@settings(deadline=None)
@given(st.lists(LINES, max_size=30))
def test_kept_text_holds_no_secret(lines: list[str]) -> None:
    """Whatever is kept of a text with a code, the code is not in it, and all other lines are."""
    text = "\n".join(lines)
    document = find_document(text, extract_statements(text))

    if document is not None:
        assert "4471" not in document.text
        assert all(line in document.text for line in lines if "4471" not in line and line.strip() != "---")


def test_statement_says_what_its_section_is_about() -> None:
    """The heading stands before it; where the heading only names a kind, or says nothing new, the title may."""
    text = SECTIONS.format("It was built in 1931 by the rowing club of the town. " * 6)
    document = find_document(text, extract_statements(text))

    assert document is not None
    labelled = [document.labelled(one) for one in document.reading.statements]
    assert "The roof is of slate and was mended in 2019." in labelled
    assert "Boat house: No fires." in labelled


def test_finding_a_document_takes_linear_time() -> None:
    """Four times the characters take about four times as long."""
    for seed in ("# A\n\nb c\n", "A:\n- b\n", "the pin is 4471\n"):

        def finding(size: int, seed: str = seed) -> partial[object]:
            return partial(find, ("# T\n\n## S\n\n" + seed * size)[:size])

        assert growth(finding, 10_000) < LINEAR


def test_name_of_a_note_is_plain() -> None:
    """Letters lose their accents; a title without Latin letters keeps its own."""
    assert slug("Réunion n° 4 : l'été à Zürich") == "reunion-n-4-l-ete-a-zurich"
    assert slug("会議メモ") == "会議メモ"
    assert slug("!!!") == "document"


def test_versions_of_a_document_share_lines() -> None:
    """Headings do not count, because templates share them."""
    one = "# T\n## A\nred\nblue\n"

    assert similarity(one, "# T\n## A\nred\ngreen\n") == 0.5
    assert similarity(one, "# T\n## A\nwhite\nblack\n") == 0


def test_steps_are_one_statement_in_their_order() -> None:
    """A numbered list with its lead-in is kept as it stands, in a line or below each other, in each language."""
    texts = [
        "To bleed the radiator:\n1. Close the valve.\n2. Open the screw.\n3. Wait for water.",
        "To bleed the radiator:\n\n1. Close the valve.\n\n2. Open the screw.",
        "To bleed the radiator: 1. close the valve 2. open the screw 3. wait.",
        "Um den Keller zu lüften:\n1. Fenster öffnen\n2. Tür schließen",
        "Pour vider la cuve :\n1. Ouvrir le robinet\n2. Attendre",
        "Para regar el patio:\n1. Abrir la llave\n2. Esperar",
    ]

    assert [stated(text) for text in texts] == [
        [("note", "\n".join(line for line in text.splitlines() if line))] for text in texts
    ]


def test_line_with_several_tasks_is_several_tasks() -> None:
    """Each part with a verb of its own is one; a list of things to buy is one task."""
    assert stated("todo: sweep the yard, feed the hens; call Uncle Bo") == [
        ("pending", "sweep the yard, feed the hens"),
        ("pending", "call Uncle Bo"),
    ]
    assert stated("To do: ring Sam, pay the milkman, fetch the ladder") == [
        ("pending", "ring Sam"),
        ("pending", "pay the milkman"),
        ("pending", "fetch the ladder"),
    ]
    assert stated("Aufgaben: Oma anrufen, Rechnung bezahlen") == [
        ("pending", "Oma anrufen"),
        ("pending", "Rechnung bezahlen"),
    ]
    assert stated("TODO: buy flour, eggs and yeast") == [("pending", "buy flour, eggs and yeast")]


def test_action_item_is_a_task_of_its_person() -> None:
    """`AI` in minutes says whose task it is, and not that an assistant speaks."""
    assert stated("AI Ravi: draft by Mon") == [("pending", "Ravi: draft by Mon")]
    assert stated("- AI Odile Brun: book the hut\n- Action for Lee: ask Kim") == [
        ("pending", "Odile Brun: book the hut"),
        ("pending", "Lee: ask Kim"),
    ]
