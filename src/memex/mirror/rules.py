"""Rules for which files are documents: patterns, `.gitignore`, `.memex.toml`, and what always stays out."""

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fnmatch import translate
from pathlib import Path
from typing import Any

from memex.errors import ValidationFailed
from memex.mirror.gitignore import GitPatterns
from memex.projects.repository import find_repository
from memex.projects.small_files import MAX_BYTES, read_small
from memex.store.paths import document_path_fault

PATTERNS = (
    *("*.md", "*.mdx", "*.rst", "*.txt", "*.yaml", "*.yml", "*.toml", "*.json"),
    *("*.pdf", "*.docx", "*.html", "*.htm"),
)
FOLDERS = frozenset(("node_modules", "vendor", "dist", "build", ".venv"))
LOCKS = (
    *("*.lock", "*.lockb", "package-lock.json", "npm-shrinkwrap.json", "pnpm-lock.yaml", "pnpm-lock.yml"),
    *("packages.lock.json", "go.sum", "pylock.toml", "pylock.*.toml", "flake.lock"),
)
# Compared in small letters. They stay out whatever anybody includes.
KEYS = (
    *("*.pem", "*.key", "*.p12", "*.pfx", "*.jks", "*.keystore", "*.kdbx", "*.gpg", "*.asc", "*.ppk"),
    *(
        "id_rsa*",
        "id_dsa*",
        "id_ecdsa*",
        "id_ed25519*",
        ".netrc",
        ".npmrc",
        ".pypirc",
        ".pgpass",
        ".htpasswd",
    ),
    *(".git-credentials", "credentials", "credentials.json", "*service-account*.json", "kubeconfig"),
)
PROJECT_FILE, IGNORE_FILE = ".memex.toml", ".gitignore"
MAX_PATTERNS = 100
MAX_PATTERN_CHARS = 200
MAX_IGNORE_COST = (
    100_000  # of the .gitignore files that hold for one folder; the longest known ones have 10,000
)
_KEYS, _LOCKS = (re.compile("|".join(map(translate, names))) for names in (KEYS, LOCKS))


@dataclass(frozen=True, slots=True)
class PushPatterns:
    """A person's choice among the files of a root, beside the default patterns.

    Attributes:
        include: patterns of files that are documents too, such as `*.py`.
        exclude: patterns of files that are none.
        gitignore: whether files that git ignores are left out.
    """

    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    gitignore: bool = True


@dataclass(frozen=True, slots=True)
class FileRules:
    """The rules for the files of one folder, a path of the root such as `docs/`; see `below` for those of another.

    Attributes:
        wanted: what a path must match, all of them; each with the path from its folder to the root.
        unwanted: what it may not match.
        ignored: the `.gitignore` files from the repository down to this folder; the last one counts first.
        gitignore: whether they hold.
        is_ignored: git ignores the root itself, and so all in it.
    """

    wanted: tuple[tuple[str, GitPatterns], ...]
    unwanted: tuple[tuple[str, GitPatterns], ...]
    ignored: tuple[tuple[str, GitPatterns], ...]
    gitignore: bool
    is_ignored: bool = False

    def reason_against_folder(self, path: str, name: str) -> str | None:
        """Return why a folder is left out; None if it is looked at."""
        if name in FOLDERS:
            return "folder"
        return "ignored" if self._is_ignored(f"{path}/") else None

    def is_wanted(self, path: str) -> bool:
        """Return whether the patterns fit a path."""
        return all(patterns.includes(base + path) for base, patterns in self.wanted)

    def reason_against(self, path: str) -> str | None:
        """Return why a file that is wanted is left out all the same; None if it is not."""
        if any(patterns.includes(base + path) for base, patterns in self.unwanted):
            return "excluded"
        return "ignored" if self._is_ignored(path) else None

    def below(self, folder: str, here: Path) -> "FileRules":
        """Return the rules of a folder of the root (`docs/`), which stands at `here`."""
        if not self.gitignore or (patterns := _ignore_file(here)) is None:
            return self
        ignored = (*self.ignored, (folder, patterns))
        if sum(one.cost for _, one in ignored) > MAX_IGNORE_COST:
            raise _too_long(here / IGNORE_FILE)
        return replace(self, ignored=ignored)

    def _is_ignored(self, path: str) -> bool:
        """Return whether git ignores a path in a folder that it does not ignore; a folder ends with a slash."""
        for base, patterns in reversed(self.ignored):
            # "../" stands for folders above the root: their patterns see the root's path within them.
            inner = base.removeprefix("../") + path if base.startswith("../") else path.removeprefix(base)
            if (verdict := patterns.verdict(inner)) is not None:
                return verdict
        return self.is_ignored


def read_rules(root: Path, given: PushPatterns) -> FileRules:
    """Return the rules of the root itself, with those of the repository that it stands in.

    Raises:
        ValidationFailed: a pattern is malformed, `.memex.toml` is broken, or `.gitignore` files are too long.
    """
    wanted = [("", GitPatterns([*PATTERNS, *_checked(given.include, "--include")]))]
    unwanted = [("", GitPatterns(_checked(given.exclude, "--exclude")))]
    for folder, base in _above(root):
        include, exclude = _narrowing(folder)
        if include is not None:
            wanted.append((base, GitPatterns(include)))
        unwanted.append((base, GitPatterns(exclude)))
    ignored, is_ignored = _ignored_above(root) if given.gitignore else ((), False)
    kept = tuple((base, patterns) for base, patterns in unwanted if len(patterns))
    return FileRules(tuple(wanted), kept, ignored, given.gitignore, is_ignored).below("", root)


def reason_against_name(name: str) -> str | None:
    """Return why a file of this name stays out whatever anybody includes; None if it does not."""
    small = name.lower()
    if small.startswith(".env") or small.endswith(".env"):
        return "env"
    if _KEYS.match(small):
        return "key"
    return "lock_file" if _LOCKS.match(small) else None


def is_unusable(path: str) -> bool:
    """Return whether a path cannot be sent: its name is no UTF-8, or has what no other system has in a name."""
    return document_path_fault(path) is not None


def _above(root: Path) -> Iterator[tuple[Path, str]]:
    """Yield the repository of a root and the root itself, with the path from there to the root."""
    repository = find_repository(root)
    if repository is not None and repository.root != root:
        yield repository.root, f"{root.relative_to(repository.root).as_posix()}/"
    yield root, ""


def _ignored_above(root: Path) -> tuple[tuple[tuple[str, GitPatterns], ...], bool]:
    """Return what git ignores by files above the root and by its own list, and whether that is the root itself."""
    repository = find_repository(root)
    if repository is None:
        return (), False
    inner = root.relative_to(repository.root).parts
    own = read_small(repository.root / ".git" / "info" / "exclude") or ""
    found = [(0, GitPatterns(own.split("\n")))]
    is_ignored = False
    for depth in range(len(inner)):
        if (patterns := _ignore_file(repository.root.joinpath(*inner[:depth]))) is not None:
            found.append((depth, patterns))
        verdicts = (
            rules.verdict("/".join(inner[above : depth + 1]) + "/") for above, rules in reversed(found)
        )
        is_ignored = is_ignored or next((verdict for verdict in verdicts if verdict is not None), False)
    bases = (("../" + "".join(f"{part}/" for part in inner[depth:]), rules) for depth, rules in found)
    return tuple(bases), is_ignored


def _ignore_file(folder: Path) -> GitPatterns | None:
    """Return the patterns of the `.gitignore` in a folder; None if there is none that can be read."""
    file = folder / IGNORE_FILE
    text = read_small(file)
    if text is None:
        if file.is_file() and file.stat().st_size > MAX_BYTES:
            raise _too_long(file)
        return None
    return GitPatterns(text.split("\n"))


def _too_long(file: Path) -> ValidationFailed:
    return ValidationFailed(
        f"{file} is too long, with those of the folders above.",
        hint=f"Keep them below {MAX_IGNORE_COST:,} characters, where a set such as [ab] counts as 50; or give "
        "--no-gitignore, and leave out what is not to be pushed with --exclude.",
    )


def _narrowing(folder: Path) -> tuple[list[str] | None, list[str]]:
    """Return the patterns of `[docs]` in a `.memex.toml`: what is included, None for all, and what is not."""
    file = folder / PROJECT_FILE
    text = read_small(file, below=folder)
    if text is None:
        return None, []
    try:
        docs: Any = tomllib.loads(text).get("docs", {})
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise ValidationFailed(
            f"{file} is no TOML: {error}.", hint="Repair it; nothing was pushed."
        ) from None
    if not isinstance(docs, dict):
        raise ValidationFailed(
            f"{file}: docs is no table.", hint='Write [docs], and below it exclude = ["…"].'
        )
    include = docs.get("include")
    where = f"{file}: docs"
    return None if include is None else _checked(include, f"{where}.include"), _checked(
        docs.get("exclude", []), f"{where}.exclude"
    )


def _checked(patterns: Any, where: str) -> list[str]:
    """Return patterns; raises ValidationFailed for what is none."""
    is_list = isinstance(patterns, list | tuple) and len(patterns) <= MAX_PATTERNS
    for pattern in patterns if is_list else ():
        is_usable = (
            isinstance(pattern, str) and 0 < len(pattern) <= MAX_PATTERN_CHARS and pattern.isprintable()
        )
        if not is_usable or pattern.startswith(("!", "#")) or ".." in pattern.split("/"):
            raise ValidationFailed(
                f"{where}: {str(pattern)[:100]!r} is no pattern.",
                hint="Give patterns as in .gitignore, such as *.py or docs/**, without ! and without a part `..`.",
            )
    if not is_list:
        raise ValidationFailed(f"{where} is no list of up to {MAX_PATTERNS} patterns.")
    return list(patterns)
