"""The choices of a model of an earlier version, which its calls have in the log."""

from datetime import UTC, date, datetime

from memex.subagent.distil.choices import apply_choices, of_kinds
from memex.subagent.distil.reading import HumanMessage, MessageReading
from memex.subagent.planner import SaidMessage
from memex.subagent.statements.extraction import SkippedSpan, Statement

TEXT = "I prefer oolong tea. We met Mara. I live in Linz."
STATEMENTS = (
    Statement("preference", "I prefer oolong tea.", 0, 20),
    Statement("note", "We met Mara.", 21, 33),
    Statement("profile", "I live in Linz.", 34, 49),
)


def reading(number: int) -> MessageReading:
    """Return a message of three statements."""
    place = ("7k2m9x4q1cab", number)
    message = HumanMessage(place, TEXT, b"", datetime(2026, 11, 22, tzinfo=UTC))
    return MessageReading(message, SaidMessage(place, date(2026, 11, 22)), STATEMENTS, ())


def test_a_replay_takes_what_the_model_chose() -> None:
    """By their spans and of their kinds; the others are left out, and a message that it was not shown is whole."""
    shown, unseen = reading(1), reading(2)
    chosen, whole = apply_choices(
        [shown, unseen], {shown.said.link: [(21, 33, "profile"), (34, 49, "profile")]}
    )

    assert [(one.kind, one.text) for one in chosen.statements] == [
        ("profile", "We met Mara."),
        ("profile", "I live in Linz."),
    ]
    assert chosen.skipped == (SkippedSpan(0, 20, "other"),)
    assert whole == unseen


def test_kinds_are_chosen_and_near_equal_statements_come_once() -> None:
    """Of notes, those count that a person begins with `I` or `My` and that ask for nothing; the newest stays."""
    said = [
        "I prefer oolong tea.",
        "I really prefer oolong tea.",
        "We met Mara.",
        "I always want British spelling.",
        "I need a script for the queue.",
        "My team has 4 people and a dog.",
        "My team has 5 people and a dog.",
    ]
    kinds = ("preference", "preference", *["note"] * 5)
    messages = [
        MessageReading(
            HumanMessage(("7k2m9x4q1cab", number), text, b"", datetime(2026, 11, number + 1, tzinfo=UTC)),
            SaidMessage(("7k2m9x4q1cab", number), date(2026, 11, number + 1)),
            (Statement(kind, text, 0, len(text)),),
            (),
        )
        for number, (kind, text) in enumerate(zip(kinds, said, strict=True))
    ]

    kept = of_kinds(messages, {"preference", "profile"})

    assert [one.text for message in kept for one in message.statements] == [
        said[1],
        said[3],
        said[5],
        said[6],
    ]
    assert kept[0].skipped == (SkippedSpan(0, len(said[0]), "duplicate"),)
    assert kept[4].skipped == (SkippedSpan(0, len(said[4]), "other"),)


def test_what_is_ours_and_what_things_are_called_or_hold_are_facts() -> None:
    """In four languages; wishes, calls of code, what happens and remarks about the moment are none."""
    facts = ["Our staging cluster runs in Frankfurt.", "The backup server is called heron."]
    facts += ["The invoices are stored in S3 under eu-north-1.", "Unser Server steht in Wien."]
    facts += ["Le serveur s'appelle héron.", "El servidor se llama garza."]
    facts += ["The contract with Telekom ends on 30 June 2027.", "The VPN endpoint is vpn.example.org."]
    facts += ["We pay our freelancers in euros.", "Der Mietvertrag endet am 30.6.2027."]
    facts += ["Le contrat avec Orange expire le 3 mai 2027.", "El servidor de pruebas está en Madrid."]
    others = [
        "The login test is red again on CI.",
        "The error is in line 12.",
        "The job is waiting for Anna.",
    ]
    others += ["The new layout is much better.", "We met Anna.", "The share is 3/4.", "We use Redis here?"]
    others += ["The badge should be green if the score is above 80%.", "Der Fehler ist im Parser."]
    others += ["Our app needs a login page.", "Our code should be faster.", "The handler is called twice."]
    others += ["The build failed on Monday.", "The parser is called from main."]

    texts = [*facts, *others]
    messages = [
        MessageReading(
            HumanMessage(("7k2m9x4q1cab", number), text, b"", datetime(2026, 11, 22, tzinfo=UTC)),
            SaidMessage(("7k2m9x4q1cab", number), date(2026, 11, 22)),
            (Statement("note", text, 0, len(text)),),
            (),
        )
        for number, text in enumerate(texts)
    ]

    kept = of_kinds(messages, {"profile"})

    assert [statement.text for message in kept for statement in message.statements] == facts


def test_what_a_page_would_not_show_whole_is_left_out() -> None:
    """Of whom it speaks stood in the sentence before it; articles and impersonal beginnings stay."""
    dangling = [
        "She wants them by Thursday.",
        "This is fixed for 2027.",
        "Das ist verboten.",
        "Pebble it is!",
    ]
    whole = ["Das Haus wird verkauft.", "Il faut réserver avant mai.", "This autumn we paint the hall."]
    place = ("7k2m9x4q1cab", 1)
    messages = [
        MessageReading(
            HumanMessage(place, text, b"", None),
            SaidMessage(place, date(2026, 11, 22)),
            (Statement("decision", text, 0, len(text)),),
            (),
        )
        for text in (*dangling, *whole)
    ]

    kept = [of_kinds([message], {"decision"})[0].statements for message in messages]

    assert [one.text for statements in kept for one in statements] == whole
