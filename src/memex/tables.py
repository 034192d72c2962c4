"""Tables in YAML that stand beside the modules which use them, such as the words of a language."""

import re
from importlib.resources import files
from typing import Any

import yaml

# Safe, and in C where there is one, which is ten times as fast.
SAFE_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


_BOOL = "tag:yaml.org,2002:bool"


class _TableLoader(SAFE_LOADER):  # type: ignore[misc, valid-type]  # either of two
    """Reads `on`, `no` and `yes` as words, as YAML 1.2 does; PyYAML alone takes them for true and false."""

    yaml_implicit_resolvers = {  # noqa: RUF012  # as in the class above it
        first: [(tag, pattern) for tag, pattern in resolvers if tag != _BOOL]
        for first, resolvers in SAFE_LOADER.yaml_implicit_resolvers.items()
    }


_TableLoader.add_implicit_resolver(_BOOL, re.compile("(?:true|false)$"), ["t", "f"])


def parse_tables(text: str) -> Any:
    """Return what a text in YAML holds."""
    return yaml.load(text, _TableLoader)  # noqa: S506  # see above


def load_tables(package: str, *path: str) -> Any:
    """Return what a file of a package holds, by its path in the package."""
    return parse_tables(files(package).joinpath(*path).read_text(encoding="utf-8"))
