"""Many clients at once: a quiet user is hardly slowed down, and nobody waits long without being told."""

import asyncio

import pytest
from tests.faults import load
from tests.time_limit import slowness

NOISY_CONNECTIONS, MAX_CLIENTS = 200, 256
SECONDS = 15.0
MAX_RATIO = 5.0  # of the quiet user's p95 beside the noise and alone
MAX_UNTOLD_S = 3.0
QUIET_PAUSE_S = 0.05
REFUSALS = {"OVERLOADED", "SCOPE_BUSY"}


def _only_full(faults: str) -> None:
    if faults == "short":
        pytest.skip("The short run shares its machine: it measures no load")


@pytest.mark.faults
async def test_a_quiet_user_is_hardly_slower_beside_a_noisy_one(
    conninfo: str, faults: str, figures: list[str]
) -> None:
    """The p95 of one connection beside 200 of another user is at most five times that of the same one alone."""
    _only_full(faults)
    with load.service(conninfo) as running, load.another_process() as executor:
        await load.fill(running, ["quiet", "noisy"])
        alone = await load.loaded(running, ["quiet"], SECONDS, pause_s=QUIET_PAUSE_S)
        noise = load.loaded_by_another_process(
            executor, running, ["noisy"] * NOISY_CONNECTIONS, SECONDS + 4, polite=False
        )
        await asyncio.sleep(2)  # until the noise is at its loudest
        beside = await load.loaded(running, ["quiet"], SECONDS, pause_s=QUIET_PAUSE_S)
        made = await noise
        after = await load.loaded(running, ["quiet"], SECONDS, pause_s=QUIET_PAUSE_S)

    figures += [
        f"A quiet user alone:                   {load.shown(alone, SECONDS)}",
        f"The same beside {NOISY_CONNECTIONS} noisy connections: {load.shown(beside, SECONDS)}",
        f"The noisy connections:                {load.shown(made, SECONDS + 4)}",
    ]
    usual_ms = max(alone.percentile_ms(0.95), after.percentile_ms(0.95))  # of a machine that others use too
    assert set(beside.statuses) == {200}
    assert made.statuses[200] > 0
    assert beside.percentile_ms(0.95) <= MAX_RATIO * usual_ms * slowness()


@pytest.mark.faults
async def test_nobody_waits_long_without_being_told(conninfo: str, faults: str, figures: list[str]) -> None:
    """Of 256 clients each gets an answer within three seconds, or is told by then when to come back."""
    _only_full(faults)
    users = [f"user{number}" for number in range(32)]
    with load.service(conninfo) as running, load.another_process() as executor:
        await load.fill(running, users)
        clients = [users[number % len(users)] for number in range(MAX_CLIENTS)]
        made = await load.loaded_by_another_process(executor, running, clients, SECONDS, polite=False)

    figures.append(f"{MAX_CLIENTS} clients: {load.shown(made, SECONDS)} {dict(made.codes)}")
    assert set(made.statuses) <= {200, 409, 503}
    assert set(made.codes) <= REFUSALS
    assert made.untold == 0
    assert made.statuses[200] > 0
    assert max(made.seconds) <= MAX_UNTOLD_S * slowness()
