"""The error of an adapter whose library is not installed."""

from types import TracebackType
from typing import Self

from memex.distribution import install_command


class RequiredExtra:
    """Around the imports of a library: a missing one is an ImportError that says what to install."""

    def __init__(self, extra: str) -> None:
        self._extra = extra

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if isinstance(error, ModuleNotFoundError):
            raise ImportError(
                f"{error.name} is not installed. Install it with: {install_command(self._extra)}"
            ) from error
