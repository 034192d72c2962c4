"""Project names in the files of a repository: `.memex.toml`, and a line of AGENTS.md. Pure."""

import re
import tomllib
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field

MAX_NAME_CHARS = 100
_MARKS = re.compile(r"<!-- memex(?: work)?: (begin|end) -->")
_SCOPE = re.compile(r"[ \t>*-]{0,8}\**scope\**:\**[ \t]{0,4}`([^`\n]{1,200})`[ \t.]{0,8}", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class ProjectFile:
    """The content of `.memex.toml`: the project of the repository, and those of folders in it."""

    project: str = ""
    folders: Mapping[str, str] = field(default_factory=dict)

    def project_of(self, inner: str) -> tuple[str, str]:
        """Return the project of a path in the repository, and the folder that names it ("" for the repository).

        The longest folder that the path stands in counts, as in a repository of several projects.
        """
        fitting = [name for name in self.folders if inner == name or inner.startswith(f"{name}/")]
        if not fitting:
            return self.project, ""
        folder = max(fitting, key=len)
        return self.folders[folder], folder


def parse_project_file(text: str) -> ProjectFile:
    """Return what `.memex.toml` says; nothing where the text is broken or a name is unusable."""
    try:
        document = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError):
        return ProjectFile()
    folders = document.get("folders")
    named: dict[str, str] = {}
    for folder, project in folders.items() if isinstance(folders, dict) else ():
        inner = folder.strip("/").removeprefix("./")
        if inner and ".." not in inner.split("/") and (name := clean_name(project)):
            named[inner] = name
    return ProjectFile(clean_name(document.get("project")), named)


def scope_line(text: str) -> str:
    """Return the project that a line ``Scope: `x` `` of AGENTS.md names, outside Memex's own marks; "" if none."""
    is_own = False
    for line in text.splitlines():
        if mark := _MARKS.fullmatch(line.strip()):
            is_own = mark[1] == "begin"
        elif not is_own and (found := _SCOPE.fullmatch(line)):
            return clean_name(found[1])
    return ""


def clean_name(name: object) -> str:
    """Return a name as it is shown; "" if it is no printable text of one path segment."""
    if not isinstance(name, str):
        return ""
    name = unicodedata.normalize("NFC", name.strip())
    is_usable = 0 < len(name) <= MAX_NAME_CHARS and name.isprintable() and "/" not in name
    return name if is_usable and name not in (".", "..") else ""
