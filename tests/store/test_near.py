"""Names that look like a mistyped one."""

from memex.store.near import did_you_mean, near_names

PATHS = (
    "user/preferences.md",
    "user/profile.md",
    "user/notes/tea.md",
    "user/notes/kettle.md",
    "projects/apollo/plan.md",
)


def test_a_wrong_letter_is_forgiven() -> None:
    """One that is missing, added, swapped or in the wrong case; with or without the ending."""
    for wanted in (
        "user/profle.md",
        "user/prrofile.md",
        "user/porfile.md",
        "user/PROFILE.MD",
        "user/profile",
    ):
        assert near_names(wanted, PATHS)[:1] == ["user/profile.md"], wanted
    assert near_names("alise", ["bob", "Alice", "alicia"]) == ["Alice"]


def test_a_file_is_found_in_another_folder() -> None:
    """By its last part alone, in another mount too."""
    assert near_names("user/tea.md", PATHS) == ["user/notes/tea.md"]
    assert near_names("shared/plan.md", PATHS) == ["projects/apollo/plan.md"]


def test_what_all_paths_have_in_common_is_no_likeness() -> None:
    """Neither the mount nor the ending makes two paths near; a name is not near to itself."""
    assert near_names("user/a.md", ["user/b.md", "user/c.md"]) == []
    assert near_names("user/quetzalcoatl.md", PATHS) == []
    assert near_names("user/profile.md", PATHS) == []
    assert near_names("", PATHS) == near_names("x", []) == []


def test_few_names_are_given() -> None:
    """Three at most, as a question."""
    near = near_names("note", [f"note{number}" for number in range(9)])

    assert len(near) == 3
    assert did_you_mean(near[:2]) == f"Did you mean {near[0]} or {near[1]}? "
    assert did_you_mean([]) == ""
