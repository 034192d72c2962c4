"""Secrets, and what looks like one."""

from functools import partial

import pytest
from tests.kit.growth import LINEAR, growth

from memex.subagent.statements.extraction import extract_statements
from memex.subagent.statements.secrets.statement import find_secrets, holds_secret


def test_secrets_are_found() -> None:
    """Keys and tokens by their form, passwords with their value, cards by their check digit."""
    for text in (
        "The key is sk-proj-abcdEFGH1234ijklMNOP.",
        "AKIAIOSFODNN7EXAMPLE",
        "use ghp_abcdefghijklmnopqrstuvwxyz0123456789",
        "github_pat_11ABCDEFG0123456789_abcdefghij",
        *(f"gl{kind}-abcdefgh12345678ijkl" for kind in ("pat", "dt", "rt", "cbt", "ptt", "ft", "soat")),
        *(f"sntry{kind}_{'4f3a9b2c1d' * 6}" for kind in "us"),
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
        "mx_4fQ9zT2bL8wY6kR1",
        "The alarm code is 4471.",
        "The code to the back gate is 2209, tell the gardener.",
        "Key safe number 4412 by the back door.",
        "Safe combination 33-08-19",
        "The recovery codes are 8812-3321 and 9911-2283.",
        "4471 is the gate code.",
        "user harbour, password grouse-Moor-17, that is the box in the shed",
        "login: anna.b / Zebra-77x",
        "portal again: mkraus / h7!Teichweg",
        "My streaming password is marmalade.",
        "passphrase: correct horse battery staple",
        "export STRIPE_SECRET_KEY=abcdEFGH1234ijkl",
        "Das Gäste-WLAN: Netz Lindenhof, Schlüssel apfel-Mus-2291",
        "Der Code für die Alarmanlage lautet 90210.",
        "Geheimzahl 4711",
        "das Kennwort fürs Intranet heißt Waldmeister",
        "mot de passe provisoire : Tilleul-5582-xk (à changer)",
        "le digicode de l'immeuble c'est 45B12",
        "le code de la carte de mamie : 3904, elle l'oublie toujours",
        "La contraseña del correo es Girasol2024!",
        "el código de la alarma es 5590",
        "La combinación de la caja fuerte: 12-34-56",
    ):
        assert holds_secret(text)


def test_other_texts_hold_none() -> None:
    """Words about secrets, other numbers, and numbers that only look like a card's."""
    for text in (
        "The password is required.",
        "I forgot my password in 2024.",
        "Passwords need 12 characters.",
        "The API key is stored in the vault.",
        "Rotate the access token every 90 days.",
        "Pin the version to 4.2.1.",
        "Solder pin 13.",
        "My phone is +43 664 1234567.",
        "IBAN AT61 1904 3002 3457 3201",
        "Order 4111 1111 1111 1112",
        "The commit is 4f3a9b2c1d0e4f3a9b2c1d0e4f3a9b2c1d0e4f3a.",
        "https://example.com/a:b@c",
        "sk-learn is a library; task-oriented-dialogue-systems too",
        "2026-11-22 1234 5678",
        "123456789012345678901234567890",
        "Order number HX7K-22PM-QQ9D arrives on Monday.",
        "The ring number of the hen is GB25-N-44871.",
        "The error code is 5021, the zip code 4020.",
        "le code postal est 42000",
        "The PIN was changed in 2024.",
        "The gate code has 6 digits.",
        "The password manager is Bitwarden.",
        "Passwords: never in a mail",
        "Das Passwort ist abgelaufen.",
        "Le mot de passe est oublié.",
        "The wifi in the van broke, call 0151 555 1234.",
        "The new code, 1200 lines, is merged.",
        "Ticket OPS-2231: mend the login.",
        "Tokens are limited to 4096 per request.",
        "El pin de la solapa cuesta 12 euros.",
    ):
        assert not holds_secret(text)


def test_private_key_is_one_statement() -> None:
    """All lines of a key stand in one statement, and none of what stands around it."""
    key = "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBg\nkqhkiG9w0=\n-----END PRIVATE KEY-----"
    reading = extract_statements(f"The server is called hedgehog.\n{key}\nIt runs in Graz.")

    assert [found.text for found in reading.statements] == [
        "The server is called hedgehog.",
        key,
        "It runs in Graz.",
    ]


def test_value_behind_the_name_of_its_secret_is_withheld() -> None:
    """It may stand in the next sentence, or in a list under a heading."""
    text = (
        "The wifi password for the flat. It's Limone42!\n\nPasswords:\n- mail: hunter2x\n\nThe cat is Mitzi."
    )
    reading = extract_statements(text)

    assert [text[skip.start : skip.end] for skip in reading.skipped if skip.reason == "secret"] == [
        "It's Limone42!",
        "mail: hunter2x",
    ]
    assert reading.statements[-1].text == "The cat is Mitzi."


@pytest.mark.parametrize(
    "seed",
    [
        "password ",
        "code ",
        "pin is ",
        "the key: ",
        "login / ",
        "1-",
        "4471 is my ",
        "a",
        "password=",
        "api_key=x1",
    ],
)
def test_finding_secrets_takes_linear_time(seed: str) -> None:
    """Four times the characters, of anything, take about four times as long."""
    assert growth(lambda size: partial(find_secrets, (seed * size)[:size]), 5_000) < LINEAR
