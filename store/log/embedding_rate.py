"""The recent speed of an embedder, by the log of what was sent to it."""

from memex.store.database import Connection, row
from memex.store.log.operations import EMBED

NEWEST_CALLS = 100  # of each tenant


async def texts_a_second(connection: Connection, model: str) -> float | None:
    """Return how many texts an embedder embeds in a second; None if it embedded none lately. For maintenance."""
    found = await row(connection, "log/embedding_rate", model=model, kind=EMBED, newest=NEWEST_CALLS)
    if found is None or not found["texts"] or not found["duration_ms"]:
        return None
    return float(found["texts"] / (found["duration_ms"] / 1000))
