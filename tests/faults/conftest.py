"""What the tests under faults share."""

import pytest

FIGURES = pytest.StashKey[list[str]]()


@pytest.fixture
def faults(request: pytest.FixtureRequest) -> str:
    """How much to do: "short" or "full"."""
    return str(request.config.getoption("--faults"))


@pytest.fixture
def figures(request: pytest.FixtureRequest) -> list[str]:
    """Lines that pytest prints at the end of the run."""
    return request.config.stash.setdefault(FIGURES, [])


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Print what the tests measured, and what they skipped."""
    if lines := config.stash.get(FIGURES, []):
        terminalreporter.section("figures of the runs under faults")
        for line in lines:
            terminalreporter.line(line)
