"""Fixed states of memory: a folder of Markdown files with a manifest, checked against its digest.

    state.yaml            the manifest
    shared/**/*.md        users/<user>/**/*.md        projects/<slug>/**/*.md

Every file is the first version of its path, written at the moment `at` of the manifest, in the order of the paths.
"""

import hashlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import Any

import yaml
from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, ValidationError

from memex.errors import MemexError, ValidationFailed
from memex.service.tools.tool import describe_problem
from memex.store.paths import check_slug, parse
from memex.store.search.analyzer import LANGUAGES

MANIFEST = "state.yaml"
SEAL_HINT = "If the change is meant, seal the state again: memex eval states --seal {folder}"

_SEAL = re.compile(r"^sha256:.*\n?", re.MULTILINE)


class Manifest(BaseModel):
    """The content of `state.yaml`.

    Attributes:
        name: the name of the state.
        purpose: what the state is for, in one sentence.
        language: the language of the files, for search.
        at: the clock of the state: when its files were written, and `now` of every call that names no time.
        users: the users; the first one is the default, and a user without files has an empty scope.
        projects: the members of each project, by slug.
        sha256: the digest of all files, see `digest`.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    purpose: str
    language: str = "english"
    at: AwareDatetime
    users: tuple[str, ...] = Field(min_length=1)
    projects: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    sha256: str | None = None


@dataclass(frozen=True)
class State:
    """A fixed state of memory.

    Attributes:
        files: the text of each file, by its place: shared/…, users/<user>/… or projects/<slug>/….
    """

    folder: Path
    manifest: Manifest
    files: Mapping[str, str]

    @cached_property
    def sha256(self) -> str:
        """The digest of all files, in hexadecimal digits."""
        return digest(self.files)

    @property
    def default_user(self) -> str:
        """The user of a case that names no user."""
        return self.manifest.users[0]

    def seen_by(self, user: str) -> dict[str, str]:
        """Return the text of each file that a user may read, by its virtual path, such as `user/profile.md`."""
        roots = {f"users/{user}/": "user/", "shared/": "shared/"}
        projects = sorted(slug for slug, members in self.manifest.projects.items() if user in members)
        roots |= {f"projects/{slug}/": f"projects/{slug}/" for slug in projects}
        return {
            virtual + place.removeprefix(root): content
            for root, virtual in roots.items()
            for place, content in self.files.items()
            if place.startswith(root)
        }

    def scope_files(self, folder: str) -> dict[str, str]:
        """Return the text of each file in one scope, by its path in the scope, in the order of the paths.

        The folder is shared, users/<user> or projects/<slug>.
        """
        root = f"{folder}/"
        found = {
            place.removeprefix(root): text for place, text in self.files.items() if place.startswith(root)
        }
        return dict(sorted(found.items()))


def digest(contents: Mapping[str, str]) -> str:
    """Return the SHA-256 of files by place: over sorted lines of the place, NUL and the SHA-256 of the text."""
    lines = (f"{place}\0{_sha256(content)}\n" for place, content in sorted(contents.items()))
    return _sha256("".join(lines))


def load_state(folder: Path) -> State:
    """Return the state in a folder, checked against its seal.

    Raises:
        ValidationFailed: the manifest or a file is invalid, or the files are not those that were sealed.
    """
    state = read_state(folder)
    hint = SEAL_HINT.format(folder=folder)
    if state.manifest.sha256 is None:
        raise ValidationFailed(f"{folder / MANIFEST}: the state is not sealed.", hint=hint)
    if state.manifest.sha256 != state.sha256:
        raise ValidationFailed(f"{folder}: the files are not those that were sealed.", hint=hint)
    return state


def read_state(folder: Path) -> State:
    """Return the state in a folder, sealed or not; raises the errors of `load_state`, except for the seal."""
    manifest = _manifest(folder / MANIFEST)
    contents = {place.as_posix(): _text(folder / place) for place in _file_paths(folder)}
    for place in contents:
        _check_file_path(folder, manifest, place)
    return State(folder, manifest, contents)


def seal(folder: Path) -> str:
    """Write the digest of a state's files into its manifest and return it; raises the errors of `read_state`."""
    sha256 = read_state(folder).sha256
    path = folder / MANIFEST
    text = _SEAL.sub("", path.read_text(encoding="utf-8"))
    path.write_text(f"{text.rstrip()}\nsha256: {sha256}\n", encoding="utf-8")
    return sha256


def write_state(folder: Path, manifest: Manifest, contents: Mapping[str, str]) -> State:
    """Write a sealed state into a folder that is empty or does not exist yet, and return the state.

    The seal of the manifest is computed here; `contents` are the texts of the files, by their places.

    Raises:
        ValidationFailed: the folder is not empty, or cannot be written.
    """
    check_folder_is_empty(folder)
    try:
        for place, content in contents.items():
            (folder / place).parent.mkdir(parents=True, exist_ok=True)
            (folder / place).write_bytes(content.encode())
        folder.mkdir(parents=True, exist_ok=True)
        (folder / MANIFEST).write_text(manifest_text(manifest), encoding="utf-8")
    except OSError as error:
        raise ValidationFailed(f"Cannot write {folder}: {error.strerror}.") from None
    seal(folder)
    return load_state(folder)


def manifest_text(manifest: Manifest) -> str:
    """Return the text of a manifest, with its seal if it has one."""
    stated = manifest.model_dump(mode="json", exclude={"sha256"}, exclude_defaults=True)
    seal_line = f"sha256: {manifest.sha256}\n" if manifest.sha256 else ""
    return yaml.safe_dump(stated, sort_keys=False, allow_unicode=True, width=110) + seal_line


def check_state(state: State) -> None:
    """Refuse a state that cannot be read again from its folder, such as one with a user who can be no folder.

    Raises:
        ValidationFailed: it says which name or file.
    """
    _check_manifest(state.manifest, state.folder / MANIFEST)
    for place in state.files:
        _check_file_path(state.folder, state.manifest, place)


def check_folder_is_empty(folder: Path) -> None:
    """Raise ValidationFailed if a folder holds something."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise ValidationFailed(f"{folder} is not empty.", hint="Name a folder that is empty or not there.")


def read_yaml(path: Path) -> Any:
    """Return the content of a YAML file; raises ValidationFailed if the file cannot be read, or is not YAML."""
    try:
        return yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ValidationFailed(f"Cannot read {path}: {error.strerror}.") from None
    except RecursionError:
        raise ValidationFailed(f"{path} is nested too deeply.") from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        said = " ".join(str(error).replace('in "<unicode string>", ', "at ").split())
        raise ValidationFailed(f"{path} is no YAML: {said}.") from None


def _manifest(path: Path) -> Manifest:
    stated = read_yaml(path)
    try:
        manifest = Manifest.model_validate(stated)
    except ValidationError as error:
        problems = "; ".join(describe_problem(problem) for problem in error.errors(include_url=False))
        raise ValidationFailed(f"{path}: {problems}.") from None
    _check_manifest(manifest, path)
    return manifest


def _check_manifest(manifest: Manifest, path: Path) -> None:
    if manifest.language not in LANGUAGES:
        raise ValidationFailed(f"{path}: there is no language {manifest.language!r}.")
    for name in (*manifest.users, *manifest.projects):
        try:
            check_slug(name)
        except ValidationFailed as error:
            raise ValidationFailed(f"{path}: {name!r} can be no folder. {error.message}") from None
    strangers = {member for members in manifest.projects.values() for member in members}
    if strangers := strangers - set(manifest.users):
        raise ValidationFailed(f"{path}: members that are no users: {', '.join(sorted(strangers))}.")


def _file_paths(folder: Path) -> Iterable[PurePosixPath]:
    """Yield the paths of the files of a state, relative to its folder."""
    for path in sorted(folder.rglob("*")):
        place = path.relative_to(folder)
        if path.is_symlink():
            raise ValidationFailed(
                f"{path} is a link: the files of a state stand in its folder.",
                hint="Put the file itself there.",
            )
        if path.is_file() and place.parts != (MANIFEST,):
            yield PurePosixPath(place)


def _check_file_path(folder: Path, manifest: Manifest, place: str) -> None:
    """Refuse a file that belongs to no scope of the state."""
    match place.split("/"):
        case ["shared", _, *_]:
            path = place
        case ["users", user, *rest] if user in manifest.users and rest:
            path = "/".join(("user", *rest))
        case ["projects", slug, *rest] if slug in manifest.projects and rest:
            path = place
        case _:
            raise ValidationFailed(
                f"{folder / place} belongs to no scope.",
                hint=f"Files stand in shared/, users/<user>/ and projects/<slug>/, of those that {MANIFEST} names.",
            )
    try:
        if not path.endswith(".md") or str(parse(path)) != path:
            raise ValidationFailed("The path of a memory file ends with .md and is in Unicode NFC.")
    except MemexError as error:
        raise ValidationFailed(f"{folder / place}: {error.message}") from None


def _text(path: Path) -> str:
    try:
        text = path.read_bytes().decode()
    except UnicodeDecodeError:
        raise ValidationFailed(f"{path} is no text in UTF-8.") from None
    if "\0" in text:
        raise ValidationFailed(f"{path} holds a NUL character.")
    return text


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
