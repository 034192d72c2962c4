"""Lists whose order counts, and lines of tasks."""

from memex.subagent.statements.extraction import extract_statements


def stated(text: str) -> list[tuple[str, str]]:
    """Return kind and text of each statement."""
    return [(one.kind, one.text) for one in extract_statements(text).statements]


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


def test_line_of_several_tasks_is_one_task() -> None:
    """A list of things to buy is one too."""
    assert stated("todo: sweep the yard, feed the hens; call Uncle Bo") == [
        ("pending", "sweep the yard, feed the hens; call Uncle Bo")
    ]
    assert stated("TODO: buy flour, eggs and yeast") == [("pending", "buy flour, eggs and yeast")]


def test_action_item_is_a_task_of_its_person() -> None:
    """`AI` in minutes says whose task it is, and not that an assistant speaks."""
    assert stated("AI Ravi: draft by Mon") == [("pending", "Ravi: draft by Mon")]
    assert stated("- AI Odile Brun: book the hut\n- Action for Lee: ask Kim") == [
        ("pending", "Odile Brun: book the hut"),
        ("pending", "Lee: ask Kim"),
    ]


def test_a_label_may_say_what_its_list_is_for() -> None:
    """A name, or a thing with an article; `open for business` says something else."""
    assert stated("To do for Wiltrud:\n1. frame the map\n2. rent a van") == [
        ("pending", "frame the map"),
        ("pending", "rent a van"),
    ]
    assert stated("Decisions for the trip:\n- We take the train.") == [("decision", "We take the train.")]
    assert stated("Open for business:\n- the shop") == [("note", "the shop")]
