"""Which project a folder belongs to, in real git repositories."""

import json
import os
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memex.hook.folders import root_of
from memex.projects.detection import DetectedProject, detect_project, names_brought
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
    """Option, variable, `.memex.toml`, linked remote, AGENTS.md, remote, folder: each is told."""
    root = places.repository("checkout", "git@github.com:Acme/Apollo.git")
    (root / "AGENTS.md").write_text("# Rules\n\nScope: `saturn`\n")
    (root / ".memex.toml").write_text('project = "gemini"\n')
    places.trusted.add(root, "gemini")
    places.trusted.add(root, "saturn")
    label = "remote:github.com/acme/apollo"
    places.trusted.add(root, label, "mercury")

    found = [places.detect(root, option="one", environment={"MEMEX_PROJECT": "two"})]
    found += [places.detect(root, environment={"MEMEX_PROJECT": "two"}), places.detect(root)]
    (root / ".memex.toml").unlink()
    found += [places.detect(root, links={label: "mercury"}), places.detect(root, links={})]
    (root / "AGENTS.md").unlink()
    found.append(places.detect(root, links={}))
    places.git(root, "remote", "remove", "origin")
    found.append(places.detect(root))

    assert [(one.source, one.name, one.slug) for one in found] == [
        ("option", "one", "one"),
        ("environment", "two", "two"),
        ("project_file", "gemini", "gemini"),
        ("remote", "mercury", "mercury"),
        ("agents_file", "saturn", "saturn"),
        ("remote", "apollo", None),
        ("folder", "checkout", None),
    ]
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

    assert (before.slug, before.unconfirmed, before.label[:7]) == (None, "payroll", "folder:")
    assert (after.slug, after.unconfirmed, after.label) == ("payroll", "", "name:payroll")
    assert (renamed.slug, renamed.unconfirmed) == (None, "secrets")
    assert (elsewhere.slug, elsewhere.unconfirmed) == (None, "payroll")
    assert names_brought(root) == (
        root,
        [(".memex.toml", "secrets"), (".git", "remote:example.com/evil/evil")],
    )


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


def test_a_worktree_of_a_submodule_is_the_submodule(places: Places) -> None:
    """Its git folder stands in that of the repository around it, and names the folder of the submodule."""
    part, whole = places.repository("part"), places.repository("whole")
    for root in (part, whole):
        places.git(root, "commit", "-q", "--allow-empty", "-m", "first")
    places.git(whole, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(part), "lib")
    tree = places.home / "lib-hotfix"
    places.git(whole / "lib", "worktree", "add", "-q", "-b", "hotfix", str(tree))

    outer, inner, hotfix = places.detect(whole), places.detect(whole / "lib"), places.detect(tree)

    assert inner.label == hotfix.label != outer.label
    assert (inner.name, hotfix.name, hotfix.branch) == ("lib", "lib", "hotfix")


def test_repositories_that_a_turn_changes_go_before_the_folder(places: Places) -> None:
    """One other repository that a turn changed is its project; two are none, and then the folder counts."""
    one, two = places.repository("one"), places.repository("two")
    changed = str(one / "README.md")

    assert places.detect(two, changed_paths=[changed]).name == "one"
    assert places.detect(two, changed_paths=["~/one/src/a.py"]).name == "one"
    assert places.detect(two, changed_paths=[changed, str(two / "a.py")]).name == "two"
    assert places.detect(places.home, changed_paths=[changed]).label == places.detect(one).label
    assert places.detect(one, changed_paths=["src/a.py", "../one/b.py"]).name == "one"


def test_home_temporary_and_system_folders_are_no_project(places: Places) -> None:
    """A home, even one that is a repository, /, /etc and a folder below the temporary one are nobody's."""
    places.git(places.home, "init", "-q")
    with tempfile.TemporaryDirectory() as scratch:
        none = [places.home, Path("/"), Path("/etc"), Path("/usr/share"), Path("/tmp"), Path(scratch)]

        assert [places.maybe(folder) for folder in none] == [None] * len(none)


def test_folders_without_a_repository_are_told_apart(places: Places) -> None:
    """A plain folder is a label by machine and root, so that two of one name are two."""
    one, two = (places.detect(Path(folder)) for folder in ("/srv/a/notes", "/srv/b/notes"))

    assert one.name == two.name == "notes"
    assert one.label != two.label


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
    assert TrustedFolders(path).holds(root, "apollo")
    assert places.trusted.remove(root) == ["apollo"]
    assert not places.trusted.holds(root, "apollo")
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


def test_a_remote_counts_where_it_is_confirmed(places: Places) -> None:
    """A confirmed remote is for one folder, one remote and the project that it was linked to then."""
    url, label = "git@github.com:acme/apollo.git", "remote:github.com/acme/apollo"
    mine, copy = places.repository("mine", url), places.repository("copy", url)
    links = {label: "apollo", "remote:github.com/acme/zeus": "zeus"}
    before = places.detect(mine, links=links)

    places.trusted.add(mine, label, "apollo")

    after, of_copy = places.detect(mine, links=links), places.detect(copy, links=links)
    relinked, offline = places.detect(mine, links={label: "zeus"}), places.detect(mine)
    places.git(mine, "remote", "set-url", "origin", "https://github.com/acme/zeus")
    renamed = places.detect(mine, links=links)
    found = [before, after, of_copy, relinked, offline, renamed]
    zeus = "remote:github.com/acme/zeus"
    assert [one.slug for one in found] == [None, "apollo", None, None, "apollo", None]
    assert [one.unconfirmed for one in found] == [label, "", label, label, "", zeus]
    assert after.label == offline.label == label
    assert len({before.label, of_copy.label, relinked.label, renamed.label}) == 2
    assert all(one.label.startswith("folder:") for one in (before, of_copy, relinked, renamed))
    assert places.detect(copy, links={of_copy.label: "apollo"}).slug == "apollo"


def test_folders_cannot_pass_for_a_repository(places: Places) -> None:
    """Whatever `.git` of a stranger's folder names, links to or includes, it is not the confirmed repository."""
    url, label = "git@github.com:acme/apollo.git", "remote:github.com/acme/apollo"
    mine = places.repository("apollo", url)
    places.git(mine, "commit", "-q", "--allow-empty", "-m", "first")
    tree, module = places.home / "apollo-hotfix", places.home / "evil-module"
    places.git(mine, "worktree", "add", "-q", "-b", "hotfix", str(tree))
    places.trusted.add(mine, label, "apollo")
    links = {label: "apollo", places.detect(mine).label: "apollo"}

    def evil(name: str, **files: str) -> Path:
        root = places.home / "downloads" / name
        (root / ".git").mkdir(parents=True)
        for path, text in ({"HEAD": "ref: refs/heads/main\n"} | files).items():
            (root / ".git" / path).write_text(text)
        return root

    def pointing(name: str, gitdir: str | Path) -> Path:
        root = places.home / "downloads" / name
        root.mkdir(parents=True)
        (root / ".git").write_text(f"gitdir: {gitdir}\n")
        return root

    linked = places.home / "downloads" / "linked"
    linked.mkdir(parents=True)
    (linked / ".git").symlink_to(mine / ".git")
    linked_file = places.home / "downloads" / "linked-file"
    linked_file.mkdir()
    (linked_file / ".git").symlink_to(tree / ".git")
    nested = mine / "vendor" / "lib"
    nested.mkdir(parents=True)
    (nested / ".git").write_text(f"gitdir: {mine / '.git'}\n")
    module.symlink_to(linked)
    folders = [
        evil("config", config=f'[remote "origin"]\n\turl = {url}\n'),
        evil("include", config=f"[include]\n\tpath = {mine / '.git' / 'config'}\n"),
        evil("common", commondir=f"{mine / '.git'}\n", gitdir=f"{places.home}/downloads/common/.git\n"),
        pointing("gitdir", mine / ".git"),
        pointing("tree", mine / ".git" / "worktrees" / tree.name),
        *(linked, linked_file, nested, module, nested / ".."),
    ]

    found = [places.detect(folder, links=links) for folder in folders]

    assert [one.slug for one in found] == [None] * 9 + ["apollo"]  # the last is the repository itself
    assert not {one.label for one in found[:-1]} & {label, *links}
    assert all(one.unconfirmed in (label, "") for one in found)
    worktree = places.detect(tree, links=links)
    assert (worktree.slug, worktree.label, worktree.branch) == ("apollo", label, "hotfix")
    tree.rename(places.home / "moved")
    assert places.detect(places.home / "moved", links=links).slug is None


def test_a_part_that_a_file_names_is_confirmed_by_itself(places: Places) -> None:
    """`[folders]` of a confirmed repository reaches no other linked label of the same remote."""
    label = "remote:github.com/acme/mono"
    root = places.repository("mono", "https://github.com/acme/mono")
    (root / ".memex.toml").write_text('[folders]\n"api" = "payroll"\n')
    (root / "api").mkdir()
    links = {label: "mono", f"{label}#api": "payroll"}
    places.trusted.add(root, label, "mono")

    before = places.detect(root / "api", links=links)
    places.trusted.add(root, f"{label}#api", "payroll")

    assert (before.slug, before.unconfirmed, before.label[:7]) == (None, "payroll", "folder:")
    assert places.detect(root / "api", links=links).label == f"{label}#api"
    assert names_brought(root)[1] == [(".memex.toml", "payroll"), (".git", label), (".git", f"{label}#api")]


def test_confirmations_of_two_at_once_are_both_kept(places: Places) -> None:
    """Nobody's confirmation is lost to another one, and those of earlier versions hold."""
    root, path = places.home / "a", places.home / "state" / "trusted.json"
    path.parent.mkdir()
    path.write_text(json.dumps({str(root): ["apollo", 7], "/b": {"remote:h/p": "zeus", "x": None}, "/c": 7}))

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda number: TrustedFolders(path).add(root, f"p{number}"), range(40)))

    assert all(
        places.trusted.holds(root, name) for name in ("apollo", *(f"p{number}" for number in range(40)))
    )
    assert places.trusted.holds(Path("/b"), "remote:h/p", "zeus")
    assert not places.trusted.holds(Path("/b"), "remote:h/p")
    assert places.trusted.folders_of("remote:h/p") == ["/b"]
