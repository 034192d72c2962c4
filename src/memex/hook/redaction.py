"""Secrets do not reach the spool: texts that could hold one are looked through as memory's own texts are."""

import re

# What no secret is without. Most commands have none of it, and cost no further look.
_SUSPICIOUS = re.compile(
    r"(?i)passw|passphrase|secret|token|key|bearer|auth|credential|pin\b|code\b|://[^/\s]{0,200}@|[a-z0-9+=_-]{20}"
)


def redacted(text: str) -> str:
    """Return a text without secrets; "" if that cannot be found out."""
    if not _SUSPICIOUS.search(text) and len(text) < 300:
        return text
    try:
        from memex.subagent.statements.secrets.finding import find_secrets, redact  # noqa: PLC0415 - takes 60 ms to load
    except ImportError:
        return ""
    return redact(text, find_secrets(text))
