"""A series of files, filled one after the other."""

from memex.subagent.remember.file_series import FULL_CHARS, FileSeries


def test_statements_go_to_the_first_file_of_a_series_with_room() -> None:
    """However long the series is, its files are known from one list; a new one takes what fits nowhere."""
    full = {"user/notes.md": FULL_CHARS} | {f"user/notes-{n}.md": FULL_CHARS for n in range(2, 900)}
    series = FileSeries("user/notes.md", full | {"user/notes-500.md": 100})

    assert series.path_for(100) == "user/notes-500.md"
    assert series.path_for(FULL_CHARS) == "user/notes-900.md"
    assert series.path_for(100) == "user/notes-901.md"


def test_a_statement_longer_than_a_file_may_be_has_one_of_its_own() -> None:
    """An empty file takes whatever comes."""
    assert FileSeries("user/notes.md", {}).path_for(2 * FULL_CHARS) == "user/notes.md"
