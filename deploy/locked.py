"""Print the part of requirements.lock that the service needs, with its hashes: `python locked.py [EXTRA …]`.

The lock file also holds the packages for development and for every extra. Its comments say which package needs
which, so this program asks no package index. Run it in the folder of requirements.lock and pyproject.toml.
"""

import re
import sys
import tomllib
from itertools import chain
from pathlib import Path
from typing import Any


def locked(extras: list[str], *, builds: bool) -> dict[str, list[str]]:
    """Return the entries of all packages that the project and these extras need, directly or not.

    With `builds`, those that the build of the project needs are among them.

    A package has several entries where its version depends on that of Python.
    """
    settings = tomllib.loads(Path("pyproject.toml").read_text(encoding="utf-8"))
    project = settings["project"]
    asked = [*project["dependencies"], *(settings["build-system"]["requires"] if builds else [])]
    for extra in extras:
        asked += _requirements(project, extra)
    entries = re.split(
        r"^(?=[a-z0-9])", Path("requirements.lock").read_text(encoding="utf-8"), flags=re.MULTILINE
    )
    named: dict[str, list[str]] = {}
    for entry in filter(None, entries):
        named.setdefault(_name(entry), []).append(entry)
    needed = {_name(requirement) for requirement in asked} & named.keys()
    before: set[str] = set()
    while needed != before:
        before = set(needed)
        needed |= {name for name, found in named.items() if needed & asked_for_by(found)}
    return {name: named[name] for name in sorted(needed)}


def _requirements(project: dict[str, Any], extra: str) -> list[str]:
    """Return what an extra needs, with the needs of the project's own extras that it names."""
    found: list[str] = project["optional-dependencies"][extra]
    own = [re.findall(r"[\w-]+", each.partition("[")[2]) for each in found if _name(each) == project["name"]]
    return [*found, *(need for other in chain.from_iterable(own) for need in _requirements(project, other))]


def _name(requirement: str) -> str:
    found = re.match(r"[A-Za-z0-9._-]+", requirement)
    return re.sub(r"[-_.]+", "-", found[0]).lower() if found else ""


def asked_for_by(entries: list[str]) -> set[str]:
    """Return the packages that the comments `# via` of entries name."""
    comments = "\n".join(entry.partition("# via")[2] for entry in entries)
    return {_name(word) for word in re.findall(r"^[ #]*([A-Za-z0-9._-]+)", comments, re.MULTILINE)}


if __name__ == "__main__":
    for found in locked(sys.argv[1:], builds=True).values():
        print("".join(found), end="")  # noqa: T201  # its output
