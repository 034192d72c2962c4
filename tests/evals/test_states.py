"""Fixed states of memory: what they hold, and that they are what was sealed."""

from pathlib import Path

import pytest

from memex.errors import ValidationFailed
from memex.evals.placing import placed
from memex.evals.states import find_state, load_state, read_state, seal
from memex.service.service import Service

MANIFEST = """\
name: small
purpose: A few files.
at: 2026-11-20T09:00:00Z
users: [alice, bob]
projects: {apollo: [alice]}
"""
FILES = {
    "users/alice/profile.md": "# Profile\n\n- I am allergic to peanuts.\n- I live in Berlin.\n",
    "users/bob/profile.md": "# Profile\n\n- I live in Rome.\n",
    "shared/policy.md": "# Policy\n\nTravel is booked by the office.\n",
    "projects/apollo/plan.md": "# Plan\n\nLaunch on May 4.\n",
}


def write(folder: Path, *, manifest: str = MANIFEST, **more: str) -> Path:
    """Write a state that is not sealed."""
    for place, content in {**FILES, **more}.items():
        (folder / place).parent.mkdir(parents=True, exist_ok=True)
        (folder / place).write_text(content, encoding="utf-8")
    (folder / "state.yaml").write_text(manifest, encoding="utf-8")
    return folder


def test_a_sealed_state_is_read(tmp_path: Path) -> None:
    """Its files are seen by the users that may read them, at their virtual paths."""
    folder = write(tmp_path)
    seal(folder)

    state = load_state(folder)

    assert set(state.seen_by("alice")) == {"user/profile.md", "shared/policy.md", "projects/apollo/plan.md"}
    assert state.seen_by("bob")["user/profile.md"].endswith("Rome.\n")
    assert "projects/apollo/plan.md" not in state.seen_by("bob")
    assert state.default_user == "alice"


def test_a_changed_state_is_refused(tmp_path: Path) -> None:
    """One byte of a file, or a file more, breaks the seal; the hint says how to seal it again."""
    folder = write(tmp_path)
    before = seal(folder)
    (folder / "shared" / "policy.md").write_text("# Policy\n\nTravel is booked by an office.\n")

    with pytest.raises(ValidationFailed, match="not those that were sealed") as refused:
        load_state(folder)

    assert "--seal" in refused.value.hint
    assert seal(folder) != before
    assert load_state(folder).manifest.purpose == "A few files."


def test_a_state_without_a_seal_is_refused(tmp_path: Path) -> None:
    """It can be read to be sealed, and not be measured with."""
    folder = write(tmp_path)

    assert read_state(folder).manifest.sha256 is None
    with pytest.raises(ValidationFailed, match="not sealed"):
        load_state(folder)


@pytest.mark.parametrize(
    ("place", "said"),
    [
        ("users/carol/profile.md", "belongs to no scope"),
        ("projects/gemini/plan.md", "belongs to no scope"),
        ("notes.md", "belongs to no scope"),
        ("shared/table.csv", "ends with .md"),
    ],
)
def test_a_file_that_no_scope_holds_is_refused(tmp_path: Path, place: str, said: str) -> None:
    """Files stand below shared, below users that are named, and below projects that are named."""
    folder = write(tmp_path, **{place: "x\n"})

    with pytest.raises(ValidationFailed, match=said):
        read_state(folder)


@pytest.mark.parametrize(
    ("manifest", "said"),
    [
        (MANIFEST + "usrs: []\n", "usrs"),
        (MANIFEST.replace("[alice]", "[carol]"), "carol"),
        (MANIFEST.replace("alice, bob", "alice/b, bob"), "folder"),
        (MANIFEST + "language: klingon\n", "klingon"),
        ("name: [", "no YAML"),
    ],
)
def test_a_manifest_that_does_not_fit_is_refused(tmp_path: Path, manifest: str, said: str) -> None:
    """The message names the file and the fault."""
    folder = write(tmp_path, manifest=manifest)

    with pytest.raises(ValidationFailed, match=said) as refused:
        read_state(folder)

    assert "state.yaml" in str(refused.value)


def test_a_state_is_found_by_name_and_by_path(tmp_path: Path) -> None:
    """Beside a case file first, then among those that Memex brings."""
    folder = write(tmp_path / "small")

    assert find_state("small", tmp_path) == folder
    assert find_state("./small", tmp_path).samefile(folder)
    assert find_state("assistant", tmp_path).name == "assistant"
    with pytest.raises(ValidationFailed, match="nowhere"):
        find_state("nowhere", tmp_path)


async def test_a_placed_state_stands_alone(service: Service, tmp_path: Path) -> None:
    """Its files are the first versions of their paths, in a tenant that is gone afterwards."""
    folder = write(tmp_path)
    seal(folder)
    state = load_state(folder)

    async with placed(service.database, state) as place:
        found = await service.execute(place.callers["alice"], "memory_list", {})
        read = await service.execute(place.callers["alice"], "memory_read", {"path": "user/profile.md"})
        others = await service.execute(place.callers["bob"], "memory_list", {})
    async with service.database.maintenance() as connection:
        left = await (await connection.execute("select count(*) as n from tenant")).fetchone()

    assert {file["path"]: file["version"] for file in found["files"]} == dict.fromkeys(
        state.seen_by("alice"), 1
    )
    assert read["content"] == FILES["users/alice/profile.md"]
    assert read["updated_at"].startswith("2026-11-20T09:00:00")
    assert {file["path"] for file in others["files"]} == set(state.seen_by("bob"))
    assert left is not None
    assert left["n"] == 0
