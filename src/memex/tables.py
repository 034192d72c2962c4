"""Tables in YAML that stand beside the modules which use them, such as the words of a language."""

from importlib.resources import files
from typing import Any

import yaml

# Safe, and in C where there is one, which is ten times as fast.
SAFE_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def parse_tables(text: str) -> Any:
    """Return what a text in YAML holds."""
    return yaml.load(text, SAFE_LOADER)  # noqa: S506  # see above


def load_tables(package: str, *path: str) -> Any:
    """Return what a file of a package holds, by its path in the package."""
    return parse_tables(files(package).joinpath(*path).read_text(encoding="utf-8"))
