"""Which project a folder belongs to, in real git repositories."""

import json
import os
import subprocess
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memex.hook.folders import root_of
from memex.projects.detection import DetectedProject, detect_project, named_by_files
from memex.projects.named_in_files import parse_project_file, scope_line
from memex.projects.remotes import normalise_remote
from memex.projects.trust import TrustedFolders, trust_file

GIT = {
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_AUTHOR_NAME": "a",
    "GIT_AUTHOR_EMAIL": "a@b",
    "GIT_COMMITTER_NAME": "a",
    "GIT_COMMITTER_EMAIL": "a@b",
}


class Places:
    """A home with repositories in it, and what is found there."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.trusted = TrustedFolders(home / "state" / "trusted.json")

    def git(self, folder: Path, *arguments: str) -> None:
        """Run git in a folder."""
        subprocess.run(["git", *arguments], cwd=folder, check=True, capture_output=True, env=os.environ | GIT)

    def repository(self, name: str, remote: str = "") -> Path:
        """Make a repository in the home."""
        root = self.home / name
        root.mkdir(parents=True)
        self.git(root, "init", "-q", "-b", "main")
        if remote:
            self.git(root, "remote", "add", "origin", remote)
        return root

    def detect(self, folder: Path, **given: object) -> DetectedProject:
        """Return the project of a folder."""
        found = self.maybe(folder, **given)
        assert found is not None
        return found

    def maybe(self, folder: Path, **given: object) -> DetectedProject | None:
        """Return the project of a folder, or None."""
        asked: dict[str, object] = {"environment": {}, "trusted": self.trusted, "home": self.home}
        return detect_project(folder, **(asked | given))  # type: ignore[arg-type]


@pytest.fixture
def places(tmp_path: Path) -> Places:
    """A home of its own."""
    home = tmp_path / "home"
    home.mkdir()
    return Places(home.resolve())


def test_each_source_goes_before_the_next(places: Places) -> None:
    """Option, variable, `.memex.toml`, linked remote, AGENTS.md, remote, known name, folder: each is told."""
    root = places.repository("checkout", "git@github.com:Acme/Apollo.git")
    (root / "AGENTS.md").write_text("# Rules\n\nScope: `saturn`\n")
    (root / ".memex.toml").write_text('project = "gemini"\n')
    places.trusted.add(root, "gemini")
    places.trusted.add(root, "saturn")
    label = "remote:github.com/acme/apollo"

    found = [places.detect(root, option="one", environment={"MEMEX_PROJECT": "two"})]
    found += [places.detect(root, environment={"MEMEX_PROJECT": "two"}), places.detect(root)]
    (root / ".memex.toml").unlink()
    found += [places.detect(root, links={label: "mercury"}), places.detect(root)]
    (root / "AGENTS.md").unlink()
    found.append(places.detect(root, text="as in vostok", known=["vostok"]))
    places.git(root, "remote", "remove", "origin")
    found += [places.detect(root, text="Go on in vostok.", known=["vostok"]), places.detect(root)]

    assert [(one.source, one.name, one.slug) for one in found] == [
        ("option", "one", "one"),
        ("environment", "two", "two"),
        ("project_file", "gemini", "gemini"),
        ("remote", "mercury", "mercury"),
        ("agents_file", "saturn", "saturn"),
        ("remote", "apollo", None),
        ("known_name", "vostok", "vostok"),
        ("folder", "checkout", None),
    ]
    assert [one.confidence for one in found] == [1.0, 1.0, 0.95, 0.9, 0.8, 0.9, 0.7, 0.5]
    assert all(one.branch == "main" and one.root == str(root) for one in found if one.label[:5] != "name:")


def test_what_a_repository_names_is_a_label_until_it_is_trusted(places: Places) -> None:
    """A cloned repository that names another project gets nothing of it; trust is for one folder and project."""
    root = places.repository("evil", "https://example.com/evil/evil")
    (root / ".memex.toml").write_text('project = "payroll"\n')

    before = places.detect(root)
    places.trusted.add(root, "payroll")
    after = places.detect(root)
    (root / ".memex.toml").write_text('project = "secrets"\n')
    renamed = places.detect(root)
    other = places.repository("copy")
    (other / ".memex.toml").write_text('project = "payroll"\n')
    elsewhere = places.detect(other)

    assert (before.slug, before.needs_trust, before.label) == (None, True, "remote:example.com/evil/evil")
    assert (after.slug, after.needs_trust, after.label) == ("payroll", False, "name:payroll")
    assert (renamed.slug, renamed.needs_trust) == (None, True)
    assert (elsewhere.slug, elsewhere.needs_trust) == (None, True)
    assert named_by_files(root) == (root, [(".memex.toml", "secrets")])


def test_worktrees_and_parts_of_a_monorepo(places: Places) -> None:
    """Worktrees of a repository are one project; folders that `.memex.toml` names are projects of their own."""
    root = places.repository("mono")
    places.git(root, "commit", "-q", "--allow-empty", "-m", "first")
    tree = places.home / "mono-hotfix"
    places.git(root, "worktree", "add", "-q", "-b", "hotfix", str(tree))
    (root / ".memex.toml").write_text('[folders]\n"packages/api" = "api"\n"packages/api/v2" = "api2"\n')
    inner = root / "packages" / "api" / "v2" / "src"
    inner.mkdir(parents=True)

    main, hotfix = places.detect(root), places.detect(tree)
    part, deeper = places.detect(root / "packages" / "api"), places.detect(inner)

    assert main.label == hotfix.label
    assert main.label.startswith("folder:")
    assert (main.branch, hotfix.branch) == ("main", "hotfix")
    assert (part.name, deeper.name) == ("api", "api2")
    assert len({main.label, part.label, deeper.label}) == 3


def test_repositories_that_a_turn_changes_go_before_the_folder(places: Places) -> None:
    """One other repository in a turn is its project; two are none, and then the folder counts."""
    one, two = places.repository("one"), places.repository("two")
    text = f"Please read {one}/README.md."

    assert places.detect(two, text=text).name == "one"
    assert places.detect(two, text="see ~/one/src/a.py:12").is_named_by_turn
    assert places.detect(two, text=text, changed_paths=[str(two / "a.py")]).name == "two"
    assert places.detect(two, text=f"{text} and {two}/x").name == "two"
    assert places.detect(places.home, text=text).label == places.detect(one).label
    assert places.detect(one, changed_paths=["src/a.py", "../one/b.py"]).name == "one"


def test_home_temporary_and_system_folders_are_no_project(places: Places) -> None:
    """A home, even one that is a repository, /, /etc and a folder below the temporary one are nobody's."""
    places.git(places.home, "init", "-q")
    with tempfile.TemporaryDirectory() as scratch:
        none = [places.home, Path("/"), Path("/etc"), Path("/usr/share"), Path("/tmp"), Path(scratch)]

        assert [places.maybe(folder) for folder in none] == [None] * len(none)
        known = detect_project(Path("/"), environment={}, text="work on apollo", known=["apollo"])
        assert known is not None
        assert known.slug == "apollo"


def test_folders_without_a_repository_are_told_apart(places: Places) -> None:
    """A plain folder is a label of low confidence by machine and root, so that two of one name are two."""
    one, two = (places.detect(Path(folder)) for folder in ("/srv/a/notes", "/srv/b/notes"))

    assert one.name == two.name == "notes"
    assert one.label != two.label
    assert one.confidence == 0.3


def test_remotes_have_one_form() -> None:
    """Users, passwords, ports that are the default, `.git` and the case of hosts make no difference."""
    same = [
        "git@github.com:Acme/Apollo.git",
        "https://user:secret@github.com/acme/apollo.git/",
        "ssh://git@GitHub.com:22/acme/apollo",
        "git://github.com/Acme/Apollo",
    ]
    local = [
        "/srv/git/a.git",
        "../a",
        "file:///srv/a",
        "C:\\code\\a",
        "",
        "https://",
        "https://host/../a",
        "x" * 9999,
    ]

    assert {normalise_remote(url) for url in same} == {"github.com/acme/apollo"}
    assert normalise_remote("ssh://git@git.example.com:2222/Team/a") == "git.example.com:2222/Team/a"
    assert [normalise_remote(url) for url in local] == [None] * len(local)


@given(st.text(max_size=200))
def test_odd_names_are_never_an_error(text: str) -> None:
    """Whatever a file of a repository or a remote holds, reading it returns a clean name or none."""
    names = [scope_line(f"Scope: `{text}`"), parse_project_file(text).project, normalise_remote(text) or ""]

    assert all(name.isprintable() for name in names)


def test_hostile_files_name_nothing(places: Places) -> None:
    """A pipe, a link out of the repository, a huge or broken file and a path as a name are passed over."""
    root = places.repository("odd")
    secret = places.home / "secret.toml"
    secret.write_text('project = "secret"')
    place = root / ".memex.toml"
    writes = [
        lambda: os.mkfifo(place),
        lambda: place.symlink_to(secret),
        lambda: place.write_text('project = "x"\n' + "#" * 300_000),
        lambda: place.write_bytes(b"\xff\xfe\x00"),
        lambda: place.write_text('project = "../../etc"'),
        lambda: place.write_text(f'project = "{"x" * 10_000}"'),
        lambda: place.write_text('project = "a\\u202Eb"'),
        lambda: place.write_text("[" * 5_000),
        place.mkdir,
    ]
    for write in writes:
        write()
        assert places.detect(root).source == "folder"
        place.rmdir() if place.is_dir() else place.unlink()
    (root / "AGENTS.md").write_text(
        "<!-- memex: begin -->\nScope: `ours`\n<!-- memex: end -->\nno Scope: `x` here\n"
    )
    assert places.detect(root).source == "folder"
    assert places.maybe(root / ("a" * 10_000)) is not None
    assert places.detect(root, changed_paths=["\0", "x" * 10_000, "/../.."]).name == "odd"


def test_trust_is_kept_in_a_private_file(places: Places) -> None:
    """Trust survives, is taken back, and a broken file is no trust."""
    root, path = places.home / "a", places.home / "state" / "trusted.json"

    assert places.trusted.add(root, "apollo")
    assert not places.trusted.add(root, "apollo")
    assert path.stat().st_mode & 0o777 == 0o600
    assert TrustedFolders(path).projects(root) == ["apollo"]
    assert places.trusted.remove(root) == ["apollo"]
    assert places.trusted.projects(root) == []
    path.write_text("[1")
    assert not places.trusted.holds(root, "apollo")


def test_trust_does_not_stand_in_the_folder_that_asks_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A relative $XDG_STATE_HOME would let a repository bring its own trust along; it is ignored."""
    (tmp_path / "state" / "memex").mkdir(parents=True)
    (tmp_path / "state" / "memex" / "trusted-folders.json").write_text(
        json.dumps({str(tmp_path): ["payroll"]})
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", "state")

    assert trust_file().is_absolute()
    assert not TrustedFolders().holds(tmp_path, "payroll")


def test_a_hook_takes_the_repository_and_not_a_folder_in_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A hook names the same folder as a delivery: that of the repository, also below a project file."""
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    (tmp_path / "mono" / ".git").mkdir(parents=True)
    (tmp_path / "mono" / "api" / "src").mkdir(parents=True)
    (tmp_path / "mono" / "api" / ".memex.toml").write_text('project = "api"')
    (tmp_path / "plain" / "src").mkdir(parents=True)
    (tmp_path / "plain" / ".memex.toml").write_text('project = "plain"')

    assert root_of(str(tmp_path / "mono" / "api" / "src")) == str(tmp_path / "mono")
    assert root_of(str(tmp_path / "plain" / "src")) == str(tmp_path / "plain")
    assert root_of(str(tmp_path)) is None
