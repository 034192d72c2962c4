"""The proxy that counts statements and round trips, between a real client and a real server."""

import asyncio
import itertools

import psycopg
import pytest

from memex.evals.bench.felt.proxy import CountingProxy, Traffic, counting_proxy

QUIET_S = 0.05  # a client on a busy machine may be slow to go on
NAME = "counted"


async def _sent(proxy: CountingProxy, connection: psycopg.AsyncConnection, *, calls: int) -> Traffic:
    """Return what a pipeline of some statements sends."""
    before = proxy.traffic(NAME)
    async with connection.pipeline():
        for number in range(calls):
            await connection.execute("select %s::integer", [number])
    return proxy.traffic(NAME) - before


async def _connected(proxy: CountingProxy) -> psycopg.AsyncConnection:
    return await psycopg.AsyncConnection.connect(proxy.conninfo, autocommit=True, application_name=NAME)


async def test_a_statement_is_one_round_trip(conninfo: str) -> None:
    """Whether it is sent plainly, with parameters or prepared; logging in counts for nothing."""
    with counting_proxy(conninfo, quiet_s=QUIET_S) as proxy:
        async with await _connected(proxy) as connection:
            counted = [proxy.traffic(NAME)]
            for statement, values in (
                ("select 1", None),
                ("select %s::integer", [1]),
                ("select %s::text", ["a"]),
            ):
                for prepare in (False, True):
                    await connection.execute(statement, values, prepare=prepare)
                    counted.append(proxy.traffic(NAME))

    assert counted[0] == Traffic(0, 0)
    # Before a statement is executed for the first time, psycopg waits until the server has prepared it.
    sent = [after - before for before, after in itertools.pairwise(counted)]
    assert sent == [Traffic(1, 1), Traffic(1, 2)] * 3


async def test_a_pipeline_is_one_round_trip(conninfo: str) -> None:
    """However many statements it has, and however large their answers are."""
    with counting_proxy(conninfo, quiet_s=QUIET_S) as proxy:
        async with await _connected(proxy) as connection:
            few = await _sent(proxy, connection, calls=3)
            before = proxy.traffic(NAME)
            async with connection.pipeline():
                for _ in range(4):
                    await connection.execute("select repeat('x', 100000) from generate_series(1, 5)")
            large = proxy.traffic(NAME) - before

    assert few == Traffic(3, 1)
    assert large == Traffic(4, 1)


async def test_each_wait_inside_a_pipeline_is_a_round_trip(conninfo: str) -> None:
    """A result that is fetched before the next statement is sent costs one more."""
    with counting_proxy(conninfo, quiet_s=QUIET_S) as proxy:
        async with await _connected(proxy) as connection:
            before = proxy.traffic(NAME)
            async with connection.pipeline():
                first = await connection.execute("select 1")
                await first.fetchall()
                await connection.execute("select 2")
            sent = proxy.traffic(NAME) - before

    assert sent == Traffic(2, 2)


async def test_a_transaction_counts_its_begin_and_commit(conninfo: str) -> None:
    """Each of them is a statement, and a wait where it is sent alone."""
    with counting_proxy(conninfo, quiet_s=QUIET_S) as proxy:
        async with await _connected(proxy) as connection:
            before = proxy.traffic(NAME)
            async with connection.transaction():
                await connection.execute("select 1")
            sent = proxy.traffic(NAME) - before

    assert sent == Traffic(3, 3)


async def test_clients_are_counted_by_their_names(conninfo: str) -> None:
    """Several connections of one application add up, and another one's are not among them."""
    with counting_proxy(conninfo, quiet_s=QUIET_S) as proxy:
        async with await _connected(proxy) as one, await _connected(proxy) as two:
            other = await psycopg.AsyncConnection.connect(proxy.conninfo, application_name="other")
            await asyncio.gather(one.execute("select 1"), two.execute("select 1"), other.execute("select 1"))
            sent = proxy.traffic(NAME)
            await other.close()

    assert sent == Traffic(2, 2)


async def test_an_error_of_the_server_passes(conninfo: str) -> None:
    """The client gets it, and goes on."""
    with counting_proxy(conninfo, quiet_s=QUIET_S) as proxy:
        async with await _connected(proxy) as connection:
            with pytest.raises(psycopg.errors.UndefinedTable):
                await connection.execute("select * from nothing")
            answered = await (await connection.execute("select 1")).fetchone()

    assert answered == (1,)
    assert proxy.traffic(NAME) == Traffic(2, 2)
