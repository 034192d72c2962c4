"""What is replaced before memory leaves."""

from pathlib import Path

import pytest

from memex.errors import ValidationFailed
from memex.evals.redaction import Redactor, Replacement, own_replacements


@pytest.mark.parametrize(
    ("text", "redacted"),
    [
        ("Write to ada@example.com.", "Write to <email-1>."),
        ("Call +47 22 33 44 55 at noon", "Call <phone-1> at noon"),
        ("Call (555) 123-4567.", "Call <phone-1>."),
        ("Call 030/12345678 today", "Call <phone-1> today"),
        ("The host is 10.0.0.12, the other 2001:db8::7.", "The host is <ip-1>, the other <ip-2>."),
        ("The key is sk-proj-abcdEFGH1234ijklMNOP now", "The key is <secret-1> now"),
        ("password: hunter2hunter2 (old)", "<secret-1> (old)"),
        ("-----BEGIN PRIVATE KEY-----\nMIIE\n-----END PRIVATE KEY-----\nrest", "<secret-1>\nrest"),
        ("Use postgres://memex:hunter2@db.example.com/memex", "Use <secret-1>"),
    ],
)
def test_addresses_numbers_and_keys_are_replaced(text: str, redacted: str) -> None:
    """Whole values go, and what stands around them stays."""
    assert Redactor().text(text) == redacted


@pytest.mark.parametrize(
    "text",
    [
        "On 2026-11-20 at 09:30:15, version 1.2.3, 1,250.00 EUR.",
        "Born on 14.03.1988, in room 0815.",
        "See user/notes.md@3 and [[projects/apollo/plan]].",
        "Order 1234567 of 07.05.2026 was 20 % cheaper.",
    ],
)
def test_what_is_none_of_these_stays(text: str) -> None:
    """Days, times, prices and paths are needed for what memory is asked."""
    assert Redactor().text(text) == text


def test_the_same_value_has_the_same_placeholder() -> None:
    """In all texts; another value has the next number."""
    redactor = Redactor()

    texts = [redactor.text(text) for text in ("a@x.org and b@x.org", "b@x.org, a@x.org")]

    assert texts == ["<email-1> and <email-2>", "<email-2>, <email-1>"]
    assert redactor.values == {"email": 2}
    assert redactor.replaced == {"email": 4}


def test_own_replacements_come_first(tmp_path: Path) -> None:
    """Literal texts and patterns, by a kind of placeholder or by a text; what overlaps goes as one."""
    path = tmp_path / "own.yaml"
    path.write_text(
        "- {literal: Ada Byron, as: person}\n- {regex: 'PRJ-\\d+', as: ticket}\n"
        "- {literal: Acme, with: Example Inc.}\n"
    )
    redactor = Redactor(own_replacements(path))

    assert redactor.text("Ada Byron of Acme has PRJ-17.") == "<person-1> of Example Inc. has <ticket-1>."
    assert Redactor([Replacement(literal="ada", kind="person")]).text("ada@x.org") == "<person-1>"
    assert redactor.name("Ada Byron") == "person-1"


@pytest.mark.parametrize(
    "text", ["- {literal: a}", "- {literal: a, regex: b, as: c}", "- {regex: '(', as: c}", "a: b", "- ["]
)
def test_replacements_that_do_not_fit_are_refused(tmp_path: Path, text: str) -> None:
    """The message names the file."""
    path = tmp_path / "own.yaml"
    path.write_text(text)

    with pytest.raises(ValidationFailed, match=r"own\.yaml"):
        own_replacements(path)


def test_nothing_is_replaced_when_it_is_off() -> None:
    """Not even secrets."""
    assert Redactor(is_on=False).text("a@x.org") == "a@x.org"
