"""The package that is installed. Its name differs from that of the import package: `memex` on PyPI is another's."""

from functools import cache

NAME = "memex-memory"


@cache
def version() -> str:
    """Return the version of the installed package."""
    from importlib import metadata  # noqa: PLC0415  # most commands need no version, and this reads e-mail formats

    return metadata.version(NAME)


def install_command(extra: str) -> str:
    """Return the command that adds an extra to this installation; no program of the name `memex` is fetched."""
    return f'pip install "{NAME}[{extra}]"'
