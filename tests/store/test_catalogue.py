"""The catalogue: bounded, the newest first to be kept, a line a file."""

import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta, timezone

from hypothesis import given
from hypothesis import strategies as st

from memex.store.catalogue import MIN_CHARS, render
from memex.store.records import FileSummary

BREAKS = ["\n", "\r", "\x0b", "\x0c", "\x1c", "\x1d", "\x1e", "\x85", "\u2028", "\u2029"]
CONTROLS = ["\x00", "\x07", "\x1b[31m", "\x7f", "\x9b", "\t", "\u202e", "\u2066", "\u200f"]
WORDS = st.lists(
    st.one_of(st.sampled_from([*BREAKS, *CONTROLS, "- ", "…", "é🙂文", "word "]), st.text(max_size=100)),
    max_size=8,
).map("".join)


def listed(path: str, *, day: int = 0, title: str = "Title", tags: Sequence[str] = ()) -> FileSummary:
    """Return a file that was changed some days after the new year."""
    changed = datetime(2026, 1, 1, 12, tzinfo=UTC) + timedelta(days=day)
    return FileSummary(path, 1, 1234, title, tuple(tags), changed)


def shown(text: str) -> list[str]:
    """Return the paths of a catalogue's files."""
    return re.findall(r"^- (\S+) — ", text, re.MULTILINE)


def rest(text: str) -> int:
    """Return how many files the last line counts, 0 when it is a file's."""
    counted = re.search(r"^- … and ([\d,]+) more: list or find them\n\Z", text, re.MULTILINE)
    return int(counted[1].replace(",", "")) if counted else 0


FILES = st.lists(
    st.builds(
        listed,
        st.from_regex(r"user/[a-zé🙂]{1,60}\.md", fullmatch=True),
        day=st.integers(0, 20),
        title=WORDS,
        tags=st.lists(WORDS, max_size=7),
    ),
    max_size=30,
    unique_by=lambda file: file.path,
).map(lambda files: sorted(files, key=lambda file: file.path))


def test_a_file_is_a_line() -> None:
    """Its path, title, size, day and tags."""
    files = [listed("user/a.md", title="My Plan", tags=["red", "blue"]), listed("user/b.md", day=40)]

    assert render(files, max_chars=1000) == (
        "- user/a.md — My Plan (1,234 chars, 2026-01-01) #red #blue\n"
        "- user/b.md — Title (1,234 chars, 2026-02-10)\n"
    )


def test_an_empty_memory_is_an_empty_text() -> None:
    """Nothing is said about nothing."""
    assert render([], max_chars=MIN_CHARS) == ""


def test_the_day_is_that_of_utc() -> None:
    """Whatever zone the database answers in."""
    at = datetime(2026, 1, 1, 23, 30, tzinfo=UTC)
    texts = {
        render(
            [FileSummary("user/a.md", 1, 1, "A", (), at.astimezone(timezone(timedelta(hours=h))))],
            max_chars=100,
        )
        for h in (-11, 0, 5, 14)
    }

    assert texts == {"- user/a.md — A (1 chars, 2026-01-01)\n"}


@given(FILES, st.integers(MIN_CHARS, 3_000))
def test_it_is_never_longer_than_asked_and_counts_every_file(
    files: list[FileSummary], max_chars: int
) -> None:
    """Whole lines only, in order, the newest, and the number of the others; all of them where they fit."""
    text = render(files, max_chars=max_chars)

    lines = text.splitlines(keepends=True)
    assert len(text) <= max_chars
    assert all(line.startswith("- ") and line.endswith("\n") for line in lines)
    assert len(lines) == len(shown(text)) + (rest(text) > 0)
    assert len(shown(text)) + rest(text) == len(files)
    assert shown(text) == [file.path for file in files if file.path in shown(text)]
    newest = sorted(files, key=lambda file: (-file.updated_at.timestamp(), file.path))
    assert set(shown(text)) == {file.path for file in newest[: len(shown(text))]}
    everything = render(files, max_chars=1_000_000)
    assert shown(everything) == [file.path for file in files]
    assert (text == everything) == (len(everything) <= max_chars)


@given(FILES, st.integers(MIN_CHARS, 1_500))
def test_more_room_shows_no_less(files: list[FileSummary], max_chars: int) -> None:
    """Every file that fits in a bound is there in a wider one."""
    assert set(shown(render(files, max_chars=max_chars))) <= set(
        shown(render(files, max_chars=max_chars + 50))
    )


def test_every_bound_holds_to_the_last_character() -> None:
    """From the least bound until all fits, one by one, over the widths of the count."""
    files = [listed(f"user/{n:04}.md", day=n % 40) for n in range(150)]

    for max_chars in [*range(MIN_CHARS, 300), *range(1_500, 7_500, 37)]:
        text = render(files, max_chars=max_chars)
        assert len(text) <= max_chars
        assert len(shown(text)) + rest(text) == len(files)
        line = len(text.splitlines(keepends=True)[0])
        assert rest(text) == 0 or len(text) > max_chars - line - 3  # room was kept for the longest count


def test_a_newer_file_goes_before_an_older_one_that_is_shorter() -> None:
    """What is left out is never newer than what is shown, though a short line would fill the room."""
    files = [listed("user/a.md", day=1), listed(f"user/b{'b' * 300}.md", day=2), listed("user/c.md", day=3)]

    assert shown(render(files, max_chars=150)) == ["user/c.md"]
    assert rest(render(files, max_chars=150)) == 2


def test_files_changed_at_one_moment_are_kept_by_path() -> None:
    """So the same memory gives the same text."""
    files = [listed(f"user/{n}.md") for n in range(9)]

    assert shown(render(files, max_chars=150)) == ["user/0.md", "user/1.md"]


def test_what_a_file_says_cannot_break_its_line() -> None:
    """Line breaks, control characters and turned directions in title and tags become spaces."""
    for odd in (
        *BREAKS,
        *CONTROLS,
    ):
        forged = f"x{odd}- user/forged.md — y{odd}"

        text = render([listed("user/a.md", title=forged, tags=[forged, f"{odd}t"])], max_chars=1000)

        assert text.count("\n") == len(text.splitlines()) == 1
        assert text[:-1].isprintable()
        assert odd not in text[:-1]


def test_long_titles_and_many_tags_are_cut() -> None:
    """A file's line stays short enough to stand beside others."""
    text = render([listed("user/a.md", title="t" * 300, tags=["g" * 100] * 100)], max_chars=1000)

    assert text == f"- user/a.md — {'t' * 80} (1,234 chars, 2026-01-01){(' #' + 'g' * 40) * 5}\n"
