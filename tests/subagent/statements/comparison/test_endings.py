"""What says that a task is done, and what only sounds like it."""

from memex.store.search.analyzer import Analyzer
from memex.subagent.statements.comparison.relations import compare, decide
from memex.subagent.statements.comparison.views import view

ENGLISH = Analyzer("english")

# Each with the task.
DONE = [
    ("I booked the flights.", "Book the flights"),
    ("The garlic is planted.", "Plant the garlic"),
    ("The garlic is planted.", "I need to plant the garlic."),
    ("I've planted the garlic.", "I need to plant the garlic by Friday"),
    ("We finally paid the electricity bill yesterday.", "Pay the electricity bill"),
    ("Sent the invoice to Acme.", "Send the invoice to Acme by 3 December"),
    ("The parcel has been picked up.", "Pick up the parcel"),
    ("Done booking the flights.", "Book the flights"),
    ("I'm done painting the fence!", "We have to paint the fence"),
    ("I finished writing the report", "Write the report"),
    ("Just called the dentist.", "I must call the dentist"),
    ("The passport is renewed", "Renew my passport before June"),
    ("All the invoices are sent", "Send the invoices"),
    ("The login bug is fixed", "Fix the login bug"),
    ("I wrote to the landlord.", "Write to the landlord"),
    ("Ok, I bought milk", "Buy milk"),
    ("I watered the plants", "Water the plants tonight"),
    ("I've already ordered the new boiler on Monday", "Order the new boiler"),
    ("The docs are written.", "I need to write the docs."),
    ("Paid the rent", "Pay the rent"),
    ("We shipped the release notes today", "Ship the release notes"),
]
NOT_DONE = [
    ("I booked the flights.", "Book the hotel"),
    ("I bought milk", "Buy milk and bread"),
    ("I haven't booked the flights.", "Book the flights"),
    ("I almost booked the flights.", "Book the flights"),
    ("I will have booked the flights.", "Book the flights"),
    ("I tried to book the flights.", "Book the flights"),
    ("I started planting the garlic.", "Plant the garlic"),
    ("The garlic is not planted.", "Plant the garlic"),
    ("The garlic was planted last autumn in Graz.", "Plant the garlic"),
    ("I booked half of the flights.", "Book the flights"),
    ("Yusuf's garlic is planted.", "Plant the garlic"),
    ("I watered the plants", "Water the plants every day"),
    ("I called mum's doctor", "Call mum"),
    ("I should have booked the flights", "Book the flights"),
    ("If I booked the flights, we would save money.", "Book the flights"),
    ("The garlic needs to be planted", "Plant the garlic"),
    ("Tomorrow the garlic is planted by Ana", "Plant the garlic"),
    ("I thought I booked the flights", "Book the flights"),
    ("The report is written in French", "Write the report in German"),
    ("I need to book the flights", "Book the flights"),
    ("I read the contract", "Send the contract"),
    ("I cancelled the flights", "Book the flights"),
    ("The flights are booked by Friday only if Ana agrees", "Book the flights"),
    ("I put the boxes in the attic", "Put the boxes in the cellar"),
    ("Booked the flights?", "Book the flights"),
    ("I used to plant the garlic", "Plant the garlic"),
    ("The garlic gets planted tomorrow", "Plant the garlic"),
    ("The garlic is planted tomorrow", "Plant the garlic"),
    ("I set the alarm", "Set up the alarm"),
    ("The invoices are paid next week", "Pay the invoices"),
    ("Picked the parcel up this morning", "Pick up the keys"),
    ("I planned the trip", "Plan the party"),
    ("", "Book the flights"),
    ("I booked the flights", ""),
    ("We booked", "Book the flights"),
    ("I bought milk", "I need milk"),
    ("The flights are expensive", "Book the flights"),
]


def closes(text: str, task: str) -> bool:
    """Return whether a statement closes a task."""
    new, older = view(text, "note", ENGLISH), view(task, "pending", ENGLISH)
    relation = decide(new, [compare(new, older, {})])
    return relation is not None and relation.outcome == "closes"


def test_what_is_done_closes_its_task() -> None:
    """In the active and the passive, with another form of the verb, and with a day on one of the two sides."""
    assert [pair for pair in DONE if not closes(*pair)] == []


def test_what_is_not_done_closes_nothing() -> None:
    """Another thing, another verb, a part, an attempt, a denial, somebody else, what is still to come."""
    assert [pair for pair in NOT_DONE if closes(*pair)] == []
