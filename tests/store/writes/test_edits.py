"""What a draft stages, applied to the stored heads: every edit, every refusal, the version rule. Pure."""

import pytest

from memex.errors import (
    FileExists,
    FileNotFound,
    FileTooLarge,
    MemexError,
    PatchNotFound,
    ValidationFailed,
    VersionConflict,
)
from memex.store.access import Scope
from memex.store.writes.edits import (
    MAX_FILE_BYTES,
    Delete,
    Edit,
    Move,
    Patch,
    PlannedRevision,
    Revise,
    Show,
    Undo,
    WorkingTree,
    Write,
)
from memex.store.writes.revisions import Head, ScopedPath, UndoneRevision

USER = Scope(1, "user", writable=True)
APOLLO = Scope(2, "projects/apollo", writable=True)


def at(path: str, scope: Scope = USER) -> ScopedPath:
    """Return a place in the user's scope, or another."""
    return ScopedPath(scope, path)


def tree(*heads: tuple[ScopedPath, Head], highest: dict[ScopedPath, int] | None = None) -> WorkingTree:
    """Return a tree over these heads; the highest version at each path is its head's, unless said."""
    highest_at = {place.key: head.version for place, head in heads}
    highest_at |= {place.key: version for place, version in (highest or {}).items()}
    return WorkingTree({place.key: head for place, head in heads}, highest_at)


def one(
    path: str = "a.md", version: int = 3, content: str = "one\n", file_id: int = 7
) -> tuple[ScopedPath, Head]:
    """Return a file that stands in the user's scope."""
    return at(path), Head(file_id, path, version, content)


def summary(planned: list[PlannedRevision]) -> list[tuple[str, int, str, str | None]]:
    """Return path, version, operation and text of every revision that would be written."""
    return [
        (change.path, change.version, change.operation, None if change.deleted else change.new_content)
        for change in (one.change for one in planned)
        if change.changed
    ]


def outcome(start: WorkingTree, *edits: Edit) -> list[tuple[str, int, str, str | None]]:
    """Return the revisions that edits over a tree would write."""
    return summary(start.apply(edits).planned())


def test_each_edit_makes_its_revision() -> None:
    """Whole texts, parts, moves and deletions, over one file at version 3."""
    for edits, written in (
        ([Write(at("new.md"), "x")], [("user/new.md", 1, "create", "x")]),
        ([Write(at("new.md"), "x", base_version=0)], [("user/new.md", 1, "create", "x")]),
        ([Write(at("a.md"), "x", base_version=3)], [("user/a.md", 4, "write", "x")]),
        ([Write(at("a.md"), "x", overwrite=True)], [("user/a.md", 4, "write", "x")]),
        ([Write(at("new.md"), "x", overwrite=True)], [("user/new.md", 1, "create", "x")]),
        (
            [Write(at("a.md"), "x", overwrite=True, operation="restore")],
            [("user/a.md", 4, "restore", "x")],
        ),
        (
            [Write(at("new.md"), "x", overwrite=True, operation="restore")],
            [("user/new.md", 1, "restore", "x")],
        ),
        ([Patch(at("a.md"), "append", "two")], [("user/a.md", 4, "patch", "one\ntwo\n")]),
        ([Patch(at("a.md"), "replace", "1", match="one")], [("user/a.md", 4, "patch", "1\n")]),
        ([Move(at("a.md"), at("b.md"))], [("user/b.md", 4, "move", "one\n")]),
        ([Delete(at("a.md"))], [("user/a.md", 4, "delete", None)]),
        (
            [Move(at("a.md"), at("b.md", APOLLO))],
            [("user/a.md", 4, "move", None), ("projects/apollo/b.md", 1, "move", "one\n")],
        ),
    ):
        assert outcome(tree(one()), *edits) == written


def test_an_edit_that_does_not_fit_is_refused() -> None:
    """Over one file at version 3, and a path where a file was deleted at version 2."""
    for edits, error in (
        ([Write(at("a.md"), "x")], FileExists),
        ([Write(at("a.md"), "x", base_version=0)], FileExists),
        ([Write(at("a.md"), "x", base_version=2)], VersionConflict),
        ([Write(at("a.md"), "x", base_version=4)], VersionConflict),
        ([Write(at("new.md"), "x", base_version=1)], FileNotFound),
        ([Write(at("gone.md"), "x", base_version=1)], VersionConflict),
        ([Write(at("new.md"), "nul \0")], ValidationFailed),
        ([Write(at("new.md"), "half \ud800")], ValidationFailed),
        ([Write(at("new.md"), "x" * (MAX_FILE_BYTES + 1))], FileTooLarge),
        ([Write(at("new.md"), "é" * (MAX_FILE_BYTES // 2 + 1))], FileTooLarge),
        ([Patch(at("new.md"), "append", "x")], FileNotFound),
        ([Patch(at("a.md"), "append", "x", base_version=2)], VersionConflict),
        ([Patch(at("a.md"), "replace", "x", match="absent")], PatchNotFound),
        ([Patch(at("a.md"), "append", "\0")], ValidationFailed),
        ([Patch(at("a.md"), "append", "x" * MAX_FILE_BYTES)], FileTooLarge),
        ([Move(at("new.md"), at("b.md"))], FileNotFound),
        ([Move(at("a.md"), at("a.md"))], ValidationFailed),
        ([Move(at("a.md"), at("b.md"), base_version=1)], VersionConflict),
        ([Write(at("b.md"), ""), Move(at("a.md"), at("b.md"))], FileExists),
        ([Write(at("b.md", APOLLO), ""), Move(at("a.md"), at("b.md", APOLLO))], FileExists),
        ([Delete(at("new.md"))], FileNotFound),
        ([Delete(at("a.md"), base_version=1)], VersionConflict),
        ([Delete(at("a.md")), Delete(at("a.md"))], FileNotFound),
        ([Delete(at("a.md")), Patch(at("a.md"), "append", "x")], FileNotFound),
        ([Move(at("a.md"), at("b.md")), Delete(at("a.md"))], FileNotFound),
    ):
        start = tree(one(), highest={at("gone.md"): 2})

        with pytest.raises(error) as refused:
            start.apply(edits)

        if isinstance(refused.value, VersionConflict):
            assert refused.value.details["current_version"] in (2, 3)


def test_a_file_of_exactly_one_mebibyte_is_stored() -> None:
    """The limit counts bytes of UTF-8 and is part of what is allowed."""
    assert outcome(tree(), Write(at("a.md"), "é" * (MAX_FILE_BYTES // 2)))
    assert outcome(tree(), Write(at("a.md"), "x" * MAX_FILE_BYTES))


def test_edits_of_one_file_become_one_revision() -> None:
    """Write, append and replace in one draft: one version, the last reason that was given."""
    planned = (
        tree(one())
        .apply(
            [
                Write(at("a.md"), "# Title\n", base_version=3, reason="first"),
                Patch(at("a.md"), "append", "two", base_version=3),
                Patch(at("a.md"), "replace", "2", match="two", reason="last"),
            ]
        )
        .planned()
    )

    assert summary(planned) == [("user/a.md", 4, "patch", "# Title\n2\n")]
    assert planned[0].file.reason == "last"


def test_a_file_made_and_changed_in_one_draft_is_a_creation() -> None:
    """Its first revision already holds both edits."""
    assert outcome(tree(), Write(at("a.md"), "one\n"), Patch(at("a.md"), "append", "two")) == [
        ("user/a.md", 1, "create", "one\ntwo\n")
    ]


def test_edits_that_cancel_out_write_nothing() -> None:
    """The same text, a file made and deleted, a move there and back: no revision."""
    assert outcome(tree(one()), Write(at("a.md"), "one\n", overwrite=True)) == []
    assert outcome(tree(), Write(at("a.md"), "x"), Delete(at("a.md"))) == []
    assert outcome(tree(one()), Move(at("a.md"), at("b.md")), Move(at("b.md"), at("a.md"))) == []


def test_creating_where_a_draft_deleted_makes_a_new_file() -> None:
    """The tombstone and the new file share the path, not the version."""
    planned = tree(one()).apply([Delete(at("a.md")), Write(at("a.md"), "anew")]).planned()

    assert summary(planned) == [("user/a.md", 4, "delete", None), ("user/a.md", 5, "create", "anew")]
    assert [p.file.head is None for p in planned] == [False, True]


@pytest.mark.parametrize(("version", "highest", "expected"), [(3, 3, 4), (3, 8, 9), (1, 0, 2), (5, 2, 6)])
def test_a_version_follows_the_highest_of_file_and_path(version: int, highest: int, expected: int) -> None:
    """1 + max(the file's last, the highest ever stored at the path), so that path@version is one text."""
    start = tree(one(version=version), highest={at("b.md"): highest})

    assert outcome(start, Move(at("a.md"), at("b.md"))) == [("user/b.md", expected, "move", "one\n")]


def test_a_new_file_follows_what_stood_at_its_path() -> None:
    """Where versions up to 4 were stored, the next file begins at 5."""
    assert outcome(tree(highest={at("a.md"): 4}), Write(at("a.md"), "x")) == [("user/a.md", 5, "create", "x")]


def test_what_stands_at_a_path_is_newer_than_what_was_deleted_there() -> None:
    """In one commit a tombstone and a file may share a path, whichever was touched first."""
    start = tree(one("a.md", 3, "A", 1), one("b.md", 5, "B", 2))

    assert outcome(
        start, Patch(at("a.md"), "append", "x"), Delete(at("b.md")), Move(at("a.md"), at("b.md"))
    ) == [("user/b.md", 7, "move", "A\nx\n"), ("user/b.md", 6, "delete", None)]


def test_files_change_places_in_one_draft() -> None:
    """A swap by way of a third path: both keep their history, the third path is never written."""
    start = tree(one("a.md", 3, "A", 1), one("b.md", 5, "B", 2))
    planned = start.apply(
        [Move(at("a.md"), at("t.md")), Move(at("b.md"), at("a.md")), Move(at("t.md"), at("b.md"))]
    ).planned()

    assert summary(planned) == [("user/b.md", 6, "move", "A"), ("user/a.md", 6, "move", "B")]
    assert [p.change.counterpart for p in planned] == ["user/a.md@3", "user/b.md@5"]


def test_a_chain_of_moves_and_a_new_file_behind_it() -> None:
    """A → b → c leaves room for a new a; the file moved once, from a to c."""
    assert outcome(
        tree(one()),
        Move(at("a.md"), at("b.md")),
        Move(at("b.md"), at("c.md")),
        Write(at("a.md"), "new"),
    ) == [("user/c.md", 4, "move", "one\n"), ("user/a.md", 4, "create", "new")]


def test_the_old_end_of_a_move_between_scopes_names_the_new_one() -> None:
    """A tombstone with no text here, a new file with all of it there."""
    tombstone, copy = [
        p.change
        for p in tree(one(), highest={at("a.md", APOLLO): 2})
        .apply([Move(at("a.md"), at("a.md", APOLLO))])
        .planned()
    ]

    assert (tombstone.path, tombstone.version, tombstone.deleted) == ("user/a.md", 4, True)
    assert (copy.path, copy.version, copy.old_version) == ("projects/apollo/a.md", 3, None)
    assert tombstone.counterpart == "projects/apollo/a.md@3"
    assert copy.counterpart is None, "a user's path is told to nobody else"


def test_a_move_that_a_draft_takes_back_names_what_is_stored() -> None:
    """There and back between scopes: the file between was never stored, so the two at home name each other."""
    there, here = at("a.md", APOLLO), at("a.md")
    planned = tree(one()).apply([Move(here, there), Move(there, here)]).planned()

    assert summary(planned) == [("user/a.md", 4, "move", None), ("user/a.md", 5, "move", "one\n")]
    named = [p.change.counterpart for p in planned if p.change.changed]
    assert named == ["user/a.md@5", "user/a.md@4"]


def test_read_sees_what_a_draft_would_leave() -> None:
    """Through staged edits to the store below them."""
    start = tree(one()).apply([Move(at("a.md"), at("b.md")), Patch(at("b.md"), "append", "two")])

    assert start.read(at("a.md")) is None
    assert start.read(at("b.md")) == "one\ntwo\n"
    assert start.read(at("never.md")) is None


V1 = Head(7, "a.md", 1, "one\ntwo\nthree\n")
V2 = Head(7, "a.md", 2, "one\nTWO\nthree\n")
MOVED = Head(7, "b.md", 2, V1.content)
GONE = Head(7, "a.md", 2, "", deleted=True)


def test_undo_takes_back_a_revision() -> None:
    """Text, path and existence are as before; what came later elsewhere in the file stays."""
    for before, after, head, written in (
        (None, V1, V1, ("user/a.md", 3, "revert", None)),
        (V1, V2, V2, ("user/a.md", 3, "revert", V1.content)),
        (
            V1,
            V2,
            Head(7, "a.md", 3, "zero\n" + V2.content),
            ("user/a.md", 4, "revert", "zero\n" + V1.content),
        ),
        (V1, V2, Head(7, "b.md", 3, V2.content), ("user/b.md", 4, "revert", V1.content)),
        (V1, MOVED, MOVED, ("user/a.md", 3, "revert", V1.content)),
        (
            V1,
            MOVED,
            Head(7, "b.md", 3, V1.content + "four\n"),
            ("user/a.md", 4, "revert", V1.content + "four\n"),
        ),
        (V1, GONE, GONE, ("user/a.md", 3, "revert", V1.content)),
        (GONE, Head(7, "a.md", 3, "back"), Head(7, "a.md", 3, "back"), ("user/a.md", 4, "revert", None)),
    ):
        place = at(after.path)
        heads = [] if head.deleted else [(at(head.path), head)]
        start = tree(*heads, highest={at("a.md"): max(2, head.version if head.path == "a.md" else 0)})

        assert outcome(start, Undo((UndoneRevision(place, head, after, before),))) == [written]


def test_undo_refuses_what_was_changed_again() -> None:
    """The conflict names the later calls and the version that stands."""
    for before, after, head in (
        (None, V1, Head(7, "a.md", 2, V1.content + "more\n")),
        (None, V1, Head(7, "b.md", 2, V1.content)),
        (V1, V2, Head(7, "a.md", 3, "one\nzwei\nthree\n")),
        (V1, V2, Head(7, "a.md", 3, "", deleted=True)),
        (V1, MOVED, Head(7, "c.md", 3, V1.content)),
        (V1, GONE, Head(7, "a.md", 3, V1.content)),
    ):
        heads = [] if head.deleted else [(at(head.path), head)]

        with pytest.raises(VersionConflict) as refused:
            tree(*heads).apply([Undo((UndoneRevision(at(after.path), head, after, before, ("call-2",)),))])

        assert refused.value.details["later_calls"] == ["call-2"]
        assert refused.value.details["current_version"] == head.version


@pytest.mark.parametrize(
    "undone",
    [UndoneRevision(at("b.md"), MOVED, MOVED, V1), UndoneRevision(at("a.md"), GONE, GONE, V1)],
    ids=["move", "deletion"],
)
def test_undo_does_not_displace_another_file(undone: UndoneRevision) -> None:
    """Where the file should come back to, another one stands now."""
    other = one("a.md", 5, "other", file_id=9)
    start = tree(other) if undone.head.deleted else tree(other, (at("b.md"), MOVED))

    with pytest.raises(VersionConflict):
        start.apply([Undo((undone,))])


@pytest.mark.parametrize("step", [1, -1])
def test_undo_takes_back_a_swap(step: int) -> None:
    """Each file stands where the other belongs; undone together, in whatever order, both come home."""
    at_b, at_a = Head(1, "b.md", 2, "A"), Head(2, "a.md", 2, "B")
    start = tree((at("b.md"), at_b), (at("a.md"), at_a))
    undone = (
        UndoneRevision(at("b.md"), at_b, at_b, Head(1, "a.md", 1, "A")),
        UndoneRevision(at("a.md"), at_a, at_a, Head(2, "b.md", 1, "B")),
    )

    assert sorted(outcome(start, Undo(undone[::step]))) == [
        ("user/a.md", 3, "revert", "A"),
        ("user/b.md", 3, "revert", "B"),
    ]


def test_undo_brings_back_what_the_call_itself_replaced() -> None:
    """One call deleted a file and made another at its path: the first stands again, with the higher version."""
    gone, made = Head(1, "a.md", 2, "", deleted=True), Head(2, "a.md", 3, "new")
    undo = Undo(
        (
            UndoneRevision(at("a.md"), gone, gone, Head(1, "a.md", 1, "old")),
            UndoneRevision(at("a.md"), made, made, None),
        )
    )

    assert outcome(tree((at("a.md"), made)), undo) == [
        ("user/a.md", 5, "revert", "old"),
        ("user/a.md", 4, "revert", None),
    ]


def test_undo_sees_that_the_file_went_elsewhere_meanwhile() -> None:
    """The head that it was staged over no longer stands there when the lock is held."""
    with pytest.raises(VersionConflict):
        tree().apply([Undo((UndoneRevision(at("a.md"), V2, V2, V1),))])


def test_undo_keeps_the_limit_of_a_file() -> None:
    """What comes back and what was written since may be too much together."""
    long = "x" * (MAX_FILE_BYTES // 2) + "\n"
    before, after = Head(7, "a.md", 1, f"{long}a\nb\n"), Head(7, "a.md", 2, "a\nb\n")
    head = Head(7, "a.md", 3, f"a\nb\nc\n{long}")

    with pytest.raises(FileTooLarge):
        tree((at("a.md"), head)).apply([Undo((UndoneRevision(at("a.md"), head, after, before),))])


def _shout(content: str | None) -> str:
    return "new\n" if content is None else content.upper()


def test_revise_puts_what_a_function_makes_of_the_file() -> None:
    """It sees the text that the edits before it left, None where no file stands; an equal text is no revision."""
    for edits, written in (
        ([Revise(at("a.md"), _shout)], [("user/a.md", 4, "patch", "ONE\n")]),
        ([Revise(at("new.md"), _shout)], [("user/new.md", 1, "create", "new\n")]),
        ([Revise(at("a.md"), lambda content: content)], []),
        ([Revise(at("a.md"), lambda _: None)], []),
        ([Revise(at("new.md"), lambda content: content)], []),
        ([Revise(at("new.md"), lambda _: "")], [("user/new.md", 1, "create", "")]),
        ([Revise(at("a.md"), _shout), Revise(at("a.md"), str.lower)], []),  # type: ignore[arg-type]
        (
            [Delete(at("a.md")), Revise(at("a.md"), _shout)],
            [
                ("user/a.md", 4, "delete", None),
                ("user/a.md", 5, "create", "new\n"),
            ],
        ),
        ([Move(at("a.md"), at("b.md")), Revise(at("b.md"), _shout)], [("user/b.md", 4, "move", "ONE\n")]),
        ([Write(at("new.md"), "x"), Revise(at("new.md"), _shout)], [("user/new.md", 1, "create", "X")]),
    ):
        assert outcome(tree(one()), *edits) == written


@pytest.mark.parametrize(
    ("made", "error"),
    [
        ("nul \0", ValidationFailed),
        ("half \ud800", ValidationFailed),
        ("x" * (MAX_FILE_BYTES + 1), FileTooLarge),
    ],
    ids=["nul", "surrogate", "too-large"],
)
def test_revise_makes_no_text_that_cannot_be_stored(made: str, error: type[MemexError]) -> None:
    """The file is checked like any other that is written."""
    with pytest.raises(error):
        outcome(tree(one()), Revise(at("a.md"), lambda _: made))


def test_revise_keeps_its_reason() -> None:
    """It is stored with the revision."""
    applied = tree(one()).apply([Revise(at("a.md"), _shout, reason="because")])

    assert [file.reason for file in applied.touched] == ["because"]


def test_words_are_shown_again_where_they_are_blanked_alone() -> None:
    """Words that stand already, or that other spans hide, stay as they are, and so does an entry that is gone."""
    place, head = one(content="I am     and      old.")
    shown = tree((place, head)).apply([Show(place, ((5, "ill"), (13, "very"), (0, "I am")))])
    again = tree((place, head)).apply([Show(place, ((0, "I am"),))])
    gone = tree().apply([Show(place, ((0, "I am"),))])

    assert summary(shown.planned()) == [("user/a.md", 4, "patch", "I am ill and very old.")]
    assert summary(again.planned()) == summary(gone.planned()) == []
