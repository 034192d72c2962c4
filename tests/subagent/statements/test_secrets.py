"""Secrets, and what looks like one."""

import pytest

from memex.subagent.statements.secrets import holds_secret


@pytest.mark.parametrize(
    "text",
    [
        "The key is sk-proj-abcdEFGH1234ijklMNOP.",
        "AKIAIOSFODNN7EXAMPLE",
        "use ghp_abcdefghijklmnopqrstuvwxyz0123456789",
        "github_pat_11ABCDEFG0123456789_abcdefghij",
        "glpat-abcdefgh12345678ijkl",
        "xoxb-123456789012-abcdefghij",
        "AIzaSyA-abcdefghijklmnopqrstuvwxyz01234",
        "sk_live_abcdefghij1234",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.abcdefgh12345678",
        "-----BEGIN RSA PRIVATE KEY-----",
        "postgres://memex:hunter2@db.example/memex",
        "My password is hunter2x",
        "password: `correct-horse-7`",
        "Das Passwort lautet hund1234",
        "API_KEY=abc123def",
        "the access token is 4f3a9b2c1d",
        "My PIN is 4471.",
        "CVV 123",
        "4111 1111 1111 1111",
        "My card: 5500-0000-0000-0004.",
        "378282246310005",
    ],
)
def test_secrets_are_found(text: str) -> None:
    """Keys and tokens by their form, passwords with their value, cards by their check digit."""
    assert holds_secret(text)


@pytest.mark.parametrize(
    "text",
    [
        "The password is required.",
        "I forgot my password in 2024.",
        "Passwords need 12 characters.",
        "The API key is stored in the vault.",
        "Rotate the access token every 90 days.",
        "Pin the version to 4.2.1.",
        "Solder pin 13.",
        "The alarm code is 4471.",
        "My phone is +43 664 1234567.",
        "IBAN AT61 1904 3002 3457 3201",
        "Order 4111 1111 1111 1112",
        "The commit is 4f3a9b2c1d0e4f3a9b2c1d0e4f3a9b2c1d0e4f3a.",
        "https://example.com/a:b@c",
        "sk-learn is a library; task-oriented-dialogue-systems too",
        "2026-11-22 1234 5678",
        "123456789012345678901234567890",
    ],
)
def test_other_texts_hold_none(text: str) -> None:
    """Words about secrets, other numbers, and numbers that only look like a card's."""
    assert not holds_secret(text)
