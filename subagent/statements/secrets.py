"""Whether a text holds a secret: keys, tokens, passwords with their value, card numbers. Pure.

It is small and precise: what it finds is one, and what it does not find may be one too.
"""

import re

_TOKENS = re.compile(
    r"-----BEGIN [A-Z ]*PRIVATE KEY-----"
    r"|\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]{8,}"  # a JSON web token
    r"|\b(?:AKIA|ASIA)[0-9A-Z]{16}\b"
    r"|\bgh[oprsu]_[A-Za-z0-9]{20,}|\bgithub_pat_\w{20,}|\bglpat-[\w-]{16,}"
    r"|\bxox[abeoprs]-[\w-]{10,}|\bAIza[\w-]{30,}|\b(?:npm|hf)_[A-Za-z0-9]{30,}"
    r"|\b(?:sk|rk)_(?:live|test)_[A-Za-z0-9]{10,}|\bSG\.[\w-]{16,}\.[\w-]{16,}"
    r"|\bsk-(?=[\w-]{0,60}\d)[\w-]{16}"
    r"|\b[a-z][a-z0-9+.-]{1,20}://[^\s/:@]{1,100}:[^\s/@]{3,200}@"
)
_NAME = (
    r"(?:password|passwd|passphrase|pwd|passwort|kennwort|mot de passe|contraseña|senha"
    r"|(?:api|access|secret|private|account)[ _-]?key|(?:access|auth|api|bearer|refresh)[ _-]?token"
    r"|client[ _-]?secret)"
)
# Letters and digits: `password is required` names none.
_VALUE = r"(?=[^\s\"'`]{0,60}\d)(?=[^\s\"'`]{0,60}[^\W\d_])[^\s\"'`]{6}"
_VALUED = re.compile(
    rf"(?<![^\W_]){_NAME}\b[\"'`*]*(?:\s+(?:is|ist|est|es|é|lautet)\b|\s*[:=])\s*[\"'`*]*{_VALUE}",
    re.IGNORECASE,
)
_PIN = re.compile(
    r"\b(?:pin(?:[ -]?(?:code|number))?|(?:one-time|verification|security) code)\b\s*(?:is|ist|:|=)?\s*\d{4,8}\b"
    r"|\b(?:cvv|cvc)2?\b\s*(?:is|ist|:|=)?\s*\d{3,4}\b",
    re.IGNORECASE,
)
_KEY_END = re.compile(r"-----END [A-Z ]*PRIVATE KEY-----")
_WORD_REST = re.compile(r"[^\s\"'`<>]*")
_CARD = re.compile(
    r"(?<![\d.,-])[2-6]\d{3}(?:[ -]?\d{4}){2}[ -]?\d{1,7}(?![\d.,-]*\d)|(?<!\d)3[47]\d{2}[ -]?\d{6}[ -]?\d{5}(?!\d)"
)


def holds_secret(text: str) -> bool:
    """Whether a text holds a secret."""
    return any(pattern.search(text) for pattern in (_TOKENS, _VALUED, _PIN)) or any(
        _is_card(match[0]) for match in _CARD.finditer(text)
    )


def find_secrets(text: str) -> list[tuple[int, int]]:
    """Return where the secrets stand that `holds_secret` finds, each to the end of its word; they may overlap."""
    found = [match.span() for pattern in (_TOKENS, _VALUED, _PIN) for match in pattern.finditer(text)]
    found += [match.span() for match in _CARD.finditer(text) if _is_card(match[0])]
    return [(start, _end(text, start, end)) for start, end in found]


def _end(text: str, start: int, end: int) -> int:
    """Return where a secret ends of which the beginning was found."""
    if text.startswith("-----BEGIN", start):
        closing = _KEY_END.search(text, end)
        return closing.end() if closing else len(text)
    rest = _WORD_REST.match(text, end)
    return rest.end() if rest else end


def _is_card(digits: str) -> bool:
    """Whether a number ends with the check digit of a card's (ISO/IEC 7812-1, by Luhn)."""
    numbers = [int(char) for char in reversed(digits) if char.isdigit()]
    doubled = (sum(divmod(2 * number, 10)) for number in numbers[1::2])
    return 13 <= len(numbers) <= 19 and (sum(numbers[::2]) + sum(doubled)) % 10 == 0
