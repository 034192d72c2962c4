"""The folders of this machine that are pushed: a file of the user, which `memex docs watch` reads."""

import os
import re
import tomllib
import unicodedata
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import tomlkit

from memex.errors import ValidationFailed
from memex.homes import config_home
from memex.mirror.known_files import state_file
from memex.mirror.rules import PushPatterns
from memex.settings import config_file

NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,62}")
HINT = "Repair the file, or remove it: `memex docs push` notes a folder there again."


@dataclass(frozen=True, slots=True)
class PushedRoot:
    """A folder that is pushed.

    Attributes:
        folder: on this machine, resolved.
        project: that it belongs to; None for the user's own documents.
        url: of the service; "" for the Memex of this machine.
        user: for whom it is pushed; "" for the user of the key.
    """

    folder: Path
    name: str
    project: str | None = None
    url: str = ""
    user: str = ""
    patterns: PushPatterns = field(default_factory=PushPatterns)

    @property
    def place(self) -> tuple[str, str, str, str]:
        """The service, the user, the project and the name: by what there is one root."""
        return self.url, self.user, self.project or "", self.name

    def is_at(self, url: str, user: str, project: str | None) -> bool:
        """Return whether the root is pushed to a service for a user, into a project."""
        return (self.url, self.user, self.project) == (url, user, project)

    def state_file(self, ending: str) -> Path:
        """Return a file of the state of this root on this machine; raises ValidationFailed if there can be none."""
        return state_file(self.folder, "\0".join(self.place), ending)

    @property
    def shown(self) -> str:
        """The name of the root in messages: `shop/repo`, or `repo` for one of the user's own."""
        return f"{self.project}/{self.name}" if self.project else self.name


class RootsFile:
    """The roots of this user: those of the one file of settings if there is one, and those of an older file.

    Without a file of settings, they stand in `memex/documents.toml` in the folder for settings of the user.
    """

    def __init__(self) -> None:
        self.older = config_home() / "memex" / "documents.toml"
        self.path = config_file() if config_file().exists() else self.older

    def read(self) -> list[PushedRoot]:
        """Return the roots, each once; raises ValidationFailed if a file is broken."""
        found = {root.place: root for path in (self.older, self.path) for root in self._read(path)}
        return list(found.values())

    def _read(self, path: Path) -> list[PushedRoot]:
        try:
            text = path.read_text(encoding="utf-8")
        except FileNotFoundError:
            return []
        except (OSError, UnicodeDecodeError) as error:
            raise ValidationFailed(f"{path} cannot be read: {error}.", hint=HINT) from None
        try:
            return [_root_of(table) for table in tomllib.loads(text).get("roots", [])]
        except (tomllib.TOMLDecodeError, KeyError, TypeError, ValueError, AttributeError) as error:
            raise ValidationFailed(f"{path} is malformed: {error}.", hint=HINT) from None

    def put(self, root: PushedRoot) -> None:
        """Note a root, in the place of what was noted of it before."""
        self._write([*(noted for noted in self.read() if noted.place != root.place), root])

    def drop(self, root: PushedRoot) -> None:
        """Forget a root."""
        self._write(noted for noted in self.read() if noted.place != root.place)

    def _write(self, roots: Iterable[PushedRoot]) -> None:
        """Write all roots into the file; what an older file says goes with it into the newer one."""
        document = tomlkit.document()
        if self.path != self.older:
            document = tomlkit.parse(self.path.read_text(encoding="utf-8"))
            document.pop("roots", None)
        else:
            document.add(
                tomlkit.comment("Folders whose documents are pushed; `memex docs watch` watches all of them.")
            )
        listed = tomlkit.aot()
        for root in sorted(roots, key=lambda root: root.place):
            listed.append(tomlkit.item(_table(root)))
        document["roots"] = listed
        draft = self.path.with_name(f".{self.path.name}.{os.getpid()}")
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            handle = os.open(
                draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600
            )
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                file.write(tomlkit.dumps(document))
            draft.replace(self.path)
            if self.path != self.older:
                self.older.unlink(missing_ok=True)
        except OSError as error:
            with suppress(OSError):
                draft.unlink()
            raise ValidationFailed(
                f"{self.path} cannot be written: {error.strerror or error}.", hint="See XDG_CONFIG_HOME."
            ) from None


def find_folder(given: Path) -> Path:
    """Return a folder, resolved; raises ValidationFailed if it is none, or no folder to push."""
    try:
        folder = given.expanduser().resolve(strict=True)
    except (OSError, RuntimeError) as error:
        raise ValidationFailed(f"{given} is not there: {error}.", hint="Name a folder.") from None
    if not folder.is_dir():
        raise ValidationFailed(f"{given} is no folder.", hint="Name the folder that the files stand in.")
    if folder == Path(folder.anchor) or folder == Path.home().resolve():
        raise ValidationFailed(f"{folder} is too much.", hint="Name a folder of documents below it.")
    try:
        str(folder).encode()
    except UnicodeEncodeError:
        raise ValidationFailed(
            "The name of the folder is no UTF-8.", hint="Rename it, or push a folder below."
        ) from None
    return folder


def name_of(folder: Path) -> str:
    """Return a name for the root of a folder."""
    plain = unicodedata.normalize("NFKD", folder.name.lower()).encode("ascii", "ignore").decode()
    return re.sub(r"[^a-z0-9._-]+", "-", plain).strip("-._")[:63] or "docs"


def check_name(name: str) -> str:
    """Return the name of a root; raises ValidationFailed if it is none."""
    if not NAME.fullmatch(name):
        raise ValidationFailed(
            f"{name[:100]!r} is no name of a root.",
            hint="Use up to 63 small letters, digits, dots, dashes and underscores, a letter or digit first.",
        )
    return name


def choose_root(
    known: Iterable[PushedRoot],
    folder: Path,
    *,
    url: str,
    user: str,
    project: str | None,
    name: str | None = None,
    patterns: PushPatterns | None = None,
) -> PushedRoot:
    """Return the root of a folder: as it is noted, changed by what is given; a new one is named by its folder.

    Raises:
        ValidationFailed: the name is malformed, or that of another folder.
    """
    beside = [root for root in known if root.is_at(url, user, project)]
    noted = next((root for root in beside if root.folder == folder and name in (None, root.name)), None)
    if noted is not None:
        return noted if patterns is None else replace(noted, patterns=patterns)
    chosen = check_name(name or name_of(folder))
    if other := next((root for root in beside if root.name == chosen), None):
        raise ValidationFailed(
            f"The root {chosen} is {other.folder} already.",
            hint=f"Give this folder another name: --name {chosen[:60]}-2.",
        )
    return PushedRoot(folder, chosen, project, url, user, patterns or PushPatterns())


def find_root(known: Sequence[PushedRoot], given: str) -> PushedRoot | None:
    """Return the root of a name or a folder; None if it is none of these."""
    folder = Path(given).expanduser().absolute()
    by_name = next((root for root in known if root.name == given), None)
    return by_name or next((root for root in known if root.folder in (folder, folder.resolve())), None)


def _root_of(given: Any) -> PushedRoot:
    folder = Path(given["folder"])
    if not folder.is_absolute():
        raise ValueError(f"{folder} is no absolute path")
    texts = {name: given.get(name, "") for name in ("project", "url", "user")}
    patterns = {name: tuple(given.get(name, ())) for name in ("include", "exclude")}
    if not all(
        isinstance(text, str) for text in (*texts.values(), *patterns["include"], *patterns["exclude"])
    ):
        raise ValueError("a value is no text")
    gitignore = given.get("gitignore", True) is not False
    return PushedRoot(
        folder,
        check_name(given["name"]),
        texts["project"] or None,
        texts["url"],
        texts["user"],
        PushPatterns(patterns["include"], patterns["exclude"], gitignore),
    )


def _table(root: PushedRoot) -> dict[str, Any]:
    given = {
        "folder": str(root.folder),
        "name": root.name,
        "project": root.project,
        "url": root.url,
        "user": root.user,
        "include": list(root.patterns.include),
        "exclude": list(root.patterns.exclude),
    }
    return {name: value for name, value in given.items() if value} | (
        {} if root.patterns.gitignore else {"gitignore": False}
    )
