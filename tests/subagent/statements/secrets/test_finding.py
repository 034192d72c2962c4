"""Secrets in whole texts."""

import time

import pytest

from memex.evals.secrets import samples
from memex.subagent.statements.secrets.finding import find_secrets, places, redact


def test_made_up_secrets_of_all_kinds_are_gone_after_redaction() -> None:
    """At least 97 of 100 texts of each half hold nothing of their secret any more, and nothing is found twice."""
    left = {True: 0, False: 0}
    made = list(samples.samples())
    for sample in made:
        text = redact(sample.text, find_secrets(sample.text))
        left[sample.is_held_out] += any(piece in text for piece in sample.pieces)
        assert find_secrets(text) == [], sample.kind

    assert len({sample.kind for sample in made}) >= 40
    assert max(left.values()) <= 0.03 * len(made) / 2


def test_ordinary_lines_hold_no_secret() -> None:
    """Words that name secrets, and parts of programs, are none."""
    for line in (
        "The password policy asks for a new one every 90 days.",
        "password = request.form['password']",
        "client_secret=client_secret,",
        "We meet at the door of the office at 10:30.",
        "The key point of chapter 12 is that tokens expire after 3600 seconds.",
        "Das Passwort wurde gestern geändert.",
        "    apiKey: TODO",
        "A backup of the file is created and the missing keys are added with their default values.",
        "Das Backup ist alt und liegt mit den anderen auf dem kleinen grauen server.",
        "See https://example.net/a/b?c=d for the code of the parser.",
    ):
        assert find_secrets(line) == [], line


def test_a_private_key_is_found_whole_and_alone() -> None:
    """The text behind a key stays; a key that is cut off is found as far as it looks like one."""
    frame = "-----{} RSA PRIVATE KEY-----"
    body = "\n".join("aB3" * 21 for _ in range(13))
    key = f"{frame.format('BEGIN')}\n{body}\n{frame.format('END')}"

    for text in (f"Before.\n{key}\nAfter.", f"Before.\n{frame.format('BEGIN')}\n{body}\n\nAfter."):
        clean = redact(text, find_secrets(text))

        assert "aB3" not in clean
        assert clean.startswith("Before.\n[secret: private key]")
        assert clean.endswith("After.")


def test_places_count_lines_and_columns_from_one() -> None:
    """People find a secret by its line and column."""
    text = "Notes.\n\nThe wifi password is kV7tQ2xRb9."

    [place] = places(text, find_secrets(text))

    assert (place.line, place.column, place.kind) == (3, 22, "password")


def test_a_line_of_a_million_digits_takes_time_in_proportion() -> None:
    """The line is looked for once, not for each number in it that could be of a card."""
    seconds = []
    for count in (1 << 17, 1 << 20):
        started = time.process_time()
        find_secrets("7" * count)
        seconds.append(time.process_time() - started)

    assert seconds[1] < 8 * 3 * max(seconds[0], 0.02)


@pytest.mark.parametrize("piece", ["password=", "api_key=x1", "password:a1,", "token=-----BEGIN "])
def test_names_without_end_take_time_in_proportion(piece: str) -> None:
    """Each may begin a value, and all values would reach to the end of one long word."""
    seconds = []
    for count in (1_000, 4_000):
        started = time.process_time()
        find_secrets(piece * count)
        seconds.append(time.process_time() - started)

    assert seconds[1] < 4 * 2.5 * max(seconds[0], 0.02)
