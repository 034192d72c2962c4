"""The turns of independent writers, by which packs are measured."""

from pathlib import Path

import pytest

from memex.errors import ValidationFailed
from memex.evals.work.writers import KINDS, load_written_turns
from memex.subagent.work.records import HUMAN_KINDS


def test_the_turns_of_writers_are_well_labelled() -> None:
    """Six writers, each kind, and no goal or limit that an agent sets; over a third of the turns say nothing."""
    turns = load_written_turns()

    assert len({one.writer for one in turns}) == 6
    assert {kind for one in turns for kind, _, _ in one.spans} == set(KINDS.values())
    assert not [
        one.text
        for one in turns
        if one.role == "assistant" and HUMAN_KINDS & {kind for kind, _, _ in one.spans}
    ]
    assert sum(not one.spans for one in turns) > len(turns) / 3
    for one in turns:
        assert all(0 <= start < end <= len(one.text) for _, start, end in one.spans)


def test_a_file_with_wrong_marks_is_refused(tmp_path: Path) -> None:
    """A turn without a role, an unknown mark and a mark that does not end are each named."""
    for text, problem in (
        ("hello", "begins with no role"),
        ("user\n⟦wish:more⟧", "has the mark 'wish'"),
        ("user\n⟦done:added it", "does not end"),
    ):
        (tmp_path / "x1.txt").write_text(text, encoding="utf-8")

        with pytest.raises(ValidationFailed, match=problem):
            load_written_turns(tmp_path)
