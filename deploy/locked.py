"""Print the part of requirements.lock that the service needs, with its hashes: `python locked.py [EXTRA …]`.

The lock file also holds the packages for development and for every extra. Its comments say which package needs
which, so this program asks no package index. Run it in the folder of requirements.lock and pyproject.toml.
"""

import re
import sys
import tomllib
from pathlib import Path


def main(extras: list[str]) -> None:
    """Print the entries of all packages that the project, its build and these extras need, directly or not."""
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
    """Return the packages that the comment `# via` of an entry names."""
    comment = entry.partition("# via")[2]
    return [_name(word) for word in re.findall(r"^[ #]*([A-Za-z0-9._-]+)", comment, re.MULTILINE)]


main(sys.argv[1:])
