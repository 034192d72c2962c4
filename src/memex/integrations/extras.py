"""The error of an adapter whose library is not installed."""

from collections.abc import Iterator
from contextlib import contextmanager

from memex.distribution import install_command


@contextmanager
def required_extra(extra: str) -> Iterator[None]:
    """Around the imports of a library: a missing one is an ImportError that says what to install."""
    try:
        yield
    except ModuleNotFoundError as error:
        raise ImportError(
            f"{error.name} is not installed. Install it with: {install_command(extra)}"
        ) from error
