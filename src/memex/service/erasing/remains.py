"""The remains of erased sentences: salted digests in the ledger, by which no older text brings them back."""

import secrets
from collections.abc import Iterable
from datetime import datetime
from typing import Any

from memex.store.records import salted_digest
from memex.store.search.analyzer import Analyzer
from memex.store.writes.tombstones import SALT_BYTES
from memex.subagent.statements.comparison.remains import remains_of
from memex.subagent.statements.forgetting import known_sentences

MAX_SENTENCES = 200  # of one erasure


def remains_entry(
    texts: Iterable[str], analyzer: Analyzer, *, ended_at: datetime, tool_call_id: str
) -> dict[str, Any]:
    """Return the tombstones that an erasure of texts leaves, one for each sentence, as the ledger has them.

    Args:
        texts: the words that are erased, without those that say too little to be a statement.
        analyzer: makes lexemes.
        ended_at: what is said later is said anew.
        tool_call_id: of the call that erases them.
    """
    salt = secrets.token_bytes(SALT_BYTES)
    sentences = {text[slice(*span)].strip(): None for text in texts for span in known_sentences(text)}
    found = []
    for sentence in [*sentences][:MAX_SENTENCES]:
        remains = remains_of(sentence, analyzer)
        if remains.values or remains.words:
            forms = *remains.values, "", *remains.words
            found.append(
                {
                    "key": salted_digest(salt, "\n".join(forms)).hex(),
                    "sizes": list(map(len, remains.values)),
                    "values": [salted_digest(salt, value).hex() for value in remains.values],
                    "words": [salted_digest(salt, word).hex() for word in remains.words],
                }
            )
    of_call = {"ended_at": ended_at.isoformat(), "tool_call_id": tool_call_id}
    return of_call | {"salt": salt.hex(), "sentences": found}
