"""Prints the part of requirements.lock that the service needs, hashes included: `python locked.py [EXTRA …]`.

The lock holds what developing and every extra need as well. Which package another one asks for stands in its
comments, so nothing is asked of an index. Run beside requirements.lock and pyproject.toml.
"""

import re
import sys
import tomllib
from pathlib import Path


def main(extras: list[str]) -> None:
    """Print the entries of what the project, its build and these extras depend on, and of what those do."""
    settings = tomllib.loads(Path("pyproject.toml").read_text(encoding="utf-8"))
    project = settings["project"]
    asked = [*settings["build-system"]["requires"], *project["dependencies"]]
    for extra in extras:
        asked += project["optional-dependencies"][extra]
    entries = re.split(
        r"^(?=[a-z0-9])", Path("requirements.lock").read_text(encoding="utf-8"), flags=re.MULTILINE
    )
    named = {_name(entry): entry for entry in entries if entry}
    needed = {_name(requirement) for requirement in asked} & named.keys()
    before: set[str] = set()
    while needed != before:
        before = set(needed)
        needed |= {name for name, entry in named.items() if needed & set(_asked_for_by(entry))}
    print("".join(named[name] for name in sorted(needed)), end="")  # noqa: T201  # its output


def _name(requirement: str) -> str:
    found = re.match(r"[A-Za-z0-9._-]+", requirement)
    return re.sub(r"[-_.]+", "-", found[0]).lower() if found else ""


def _asked_for_by(entry: str) -> list[str]:
    """Return the packages that stand in an entry's comment `# via`."""
    comment = entry.partition("# via")[2]
    return [_name(word) for word in re.findall(r"^[ #]*([A-Za-z0-9._-]+)", comment, re.MULTILINE)]


main(sys.argv[1:])
