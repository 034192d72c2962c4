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
    (
        "The import of the boats is done, 34 boats, 2 duplicates thrown out.",
        "write the import of the old Excel list of boats.",
    ),
    (
        "Quote for Sattler is out: 1,840 euros for everything.",
        "I need to send the quote to Sattler by 10 November.",
    ),
    (
        "Delivered the pump manual a day early, Marta was thrilled.",
        "The pump manual for Andritz is due on 6 November, 14,200 words.",
    ),
    ("Dentist done, no holes.", "Dentist is on 11 November at 8:30, Dr. Pichler, remind me."),
    ("The newsletter is out.", "Send the newsletter on Friday"),
    ("Handed in the tax return last night.", "The tax return is due on 30 June"),
    ("Haircut done.", "Haircut on Tuesday at 5"),
    ("The invoices for Acme are out", "I have to send the invoices for Acme"),
    ("The report on the flood is finished, twelve pages.", "Write the report on the flood of the cellar"),
    (
        "Submitted the grant application two days early.",
        "The grant application for the choir is due on 3 May",
    ),
    ("The eye test is over, no glasses.", "Eye test is on Monday at 9"),
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
    ("The import job is done.", "monitor the import job"),
    ("Release notes for 4.1 are done.", "review the release notes for 4.1"),
    ("The quote for Sattler is done, I print it tomorrow.", "Send the quote to Sattler"),
    ("The boat is out", "Paint the boat"),
    ("Ruth is out, she moves to Vienna.", "Ask Ruth for the design"),
    ("The new phone is out", "Buy the new phone"),
    ("The pull request is out", "Review the pull request of Ana"),
    ("The invoice for Acme is out", "Pay the invoice for Acme"),
    ("The dentist is closed on Mondays.", "Dentist is on 11 November at 8:30"),
    ("The dentist moved to Annenstrasse.", "Dentist is on 11 November at 8:30"),
    ("Dentist moved to the 14th, same time.", "Dentist is on 11 November at 8:30"),
    ("Done with the dentist's invoice.", "Dentist is on 11 November at 8:30"),
    ("Delivered the pump to the neighbour.", "The pump manual for Andritz is due on 6 November"),
    ("Delivered the engine manual a day early.", "The pump manual for Andritz is due on 6 November"),
    ("Got the pump manual from Andritz as a PDF.", "The pump manual for Andritz is due on 6 November"),
    ("Received the pump manual from Andritz.", "The pump manual for Andritz is due on 6 November"),
    ("Bought a binder for the pump manual of Andritz.", "The pump manual for Andritz is due on 6 November"),
    ("Paid the deposit for the tax return.", "The tax return is due on 30 June"),
    ("The first chapter of the pump manual is done.", "The pump manual for Andritz is due on 6 November"),
    ("The pump manual is almost done.", "The pump manual for Andritz is due on 6 November"),
    ("The list of boats is done.", "write the import of the old Excel list of boats."),
    ("The design of the import is done.", "write the import of the old Excel list of boats."),
    ("The export of the boats is done.", "write the import of the old Excel list of boats."),
    ("The import of the members is done.", "write the import of the old Excel list of boats."),
    ("The import of the boats is not done.", "write the import of the old Excel list of boats."),
    ("Half of the import of the boats is done.", "write the import of the old Excel list of boats."),
    ("The quote from Lendhafen is out.", "I need to send the quote to Sattler by 10 November."),
    ("The quote for Brandt is out.", "I need to send the quote to Sattler by 10 November."),
    ("The contract for Sattler is out.", "I need to send the quote to Sattler by 10 November."),
    ("Sattler is out of office.", "I need to send the quote to Sattler by 10 November."),
    ("The quote for Sattler is out of date.", "I need to send the quote to Sattler by 10 November."),
    ("The quote for Sattler is out of the question.", "I need to send the quote to Sattler by 10 November."),
    ("The Sattler site is done.", "I need to send the quote to Sattler by 10 November."),
    ("Haircut on Tuesday is off my mind.", "Haircut for Mila on Tuesday at 5"),
    ("Mila's haircut is done.", "Haircut on Tuesday at 5"),
    ("The slides are done.", "Send the slides to Ana"),
    ("The slides for Ana are done.", "Send the slides to Ana"),
    ("The survey is done.", "Evaluate the survey of the members"),
    ("The survey of the members is done.", "Evaluate the survey of the members"),
    ("The database migration is done.", "Announce the database migration"),
    ("The logo is finished.", "Print the logo on the flyers"),
    ("The budget talk is over.", "Send the minutes of the budget talk"),
    ("The meeting with Bernd is over.", "Write the minutes of the meeting with Bernd"),
    ("The concert in Graz is over.", "Buy tickets for the concert in Graz"),
    ("The exam in biology is over.", "Learn for the exam in biology"),
    ("Version 2.1 is out", "Install version 2.1"),
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
