"""A statement of SQL that a person wrote."""

import pytest

from memex.errors import ValidationFailed
from memex.service.service import Caller, Service
from memex.store.browse import raw_query
from memex.store.waiting.time_limits import TimeLimits


async def test_a_statement_that_takes_too_long_is_stopped(
    service: Service, alice: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is told so, and not that the service has too much to do."""
    monkeypatch.setattr(raw_query, "LIMITS", TimeLimits(lock_s=5, statement_s=0.2))

    with pytest.raises(ValidationFailed, match="was stopped"):
        await raw_query.run_statement(service.database, alice.access, "select pg_sleep(5)")
