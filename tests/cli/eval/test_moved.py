"""The names of `memex eval` that measurements of a checkout had."""

from importlib.util import find_spec

from tests.cli.conftest import Memex

from memex.cli.eval.moved import MEASUREMENTS, NOW


def test_an_old_name_says_where_the_measurement_is(fresh: Memex) -> None:
    """In one line, whatever options follow, and with the exit code 2."""
    for name, now in NOW.items():
        done = fresh.run("eval", name, "--json", "--misses", "lost")
        assert (done.code, done.out, done.err) == (2, "", f"`memex eval {name}` {now}\n")


def test_each_measurement_is_a_command_of_a_checkout() -> None:
    """`python -m` runs it."""
    assert all(find_spec(f"memex.evals.{module}.__main__") for module in MEASUREMENTS.values())
