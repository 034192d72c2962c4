"""How a line that was taken out is put back into a page."""

from hypothesis import given
from hypothesis import strategies as st

from memex.store.statement_lines import line_key, standing_lines
from memex.subagent.remember.filing.put_back import PuttingBack, held_line

PROFILE, TRIPS = "user/profile.md", "user/trips.md"


def putting_back(path: str, old: str, said: str, *, has_page: bool = True) -> PuttingBack:
    """Return what puts the line of an old text back that says something."""
    start = old.index(said)
    return PuttingBack(path, held_line(path, old, (start, start + len(said))), line_key(said), has_page)


def put(path: str, old: str, said: str, now: str | None, *, has_page: bool = True) -> str | None:
    """Return a page with a line of its old text."""
    return putting_back(path, old, said, has_page=has_page)(now).content


def test_a_line_goes_under_its_heading_as_it_was() -> None:
    """With its marker, box, date and links, and the lines that belong to it."""
    old = "# Trips\n\n## Denmark\n\n- [ ] Book the ferry\n  to the island. (2026-11-02) [[people/ane]]\n- Pack.\n"
    now = "# Trips\n\n## Denmark\n\n- Pack.\n\n## Norway\n\n- Ski.\n"

    assert put(TRIPS, old, "Book the ferry", now) == (
        "# Trips\n\n## Denmark\n\n- Pack.\n- [ ] Book the ferry\n  to the island. (2026-11-02) [[people/ane]]\n"
        "\n## Norway\n\n- Ski.\n"
    )


def test_what_is_nested_stays_where_it_is() -> None:
    """A nested line becomes one of its own, and a line above others comes without them."""
    old = "# Trips\n\n- Denmark\n  - Ferry\n    - Cabin\n- Norway\n"

    assert put(TRIPS, old, "Ferry", "# Trips\n\n- Norway\n") == "# Trips\n\n- Norway\n- Ferry\n"


def test_a_heading_that_is_gone_is_the_general_one_or_the_end() -> None:
    """A page of statements has a general heading; a heading that says what kind a statement is comes back."""
    about = "# Profile\n\n## Garden\n\n- I grow figs. (2026-11-02)\n"
    done = "# Tasks\n\n## To do\n\n- [ ] Write.\n\n## Done\n\n- [x] Sent the lease. (2026-11-02)\n"
    trips = "# Trips\n\n## Denmark\n\n- Ferry\n"

    assert put(PROFILE, about, "I grow figs.", "# Profile\n\n## About me\n\n- I sing.\n") == (
        "# Profile\n\n## About me\n\n- I sing.\n- I grow figs. (2026-11-02)\n"
    )
    assert put("user/tasks.md", done, "Sent the lease.", "# Tasks\n\n## To do\n\n- [ ] Write.\n") == (
        "# Tasks\n\n## To do\n\n- [ ] Write.\n\n## Done\n\n- [x] Sent the lease. (2026-11-02)\n"
    )
    assert put(TRIPS, trips, "Ferry", "# Trips\n\nText.\n") == "# Trips\n\nText.\n\n- Ferry\n"
    assert put(TRIPS, trips, "Ferry", "# Trips\n\n## Norway\n\n- Ski\n") == (
        "# Trips\n\n## Norway\n\n- Ski\n- Ferry\n"
    )


def test_a_page_that_is_deleted_stands_again_and_one_that_went_away_does_not() -> None:
    """The new page has the title and the heading of the old one."""
    old = "# Trips\n\n## Denmark\n\n- Ferry\n- Tent\n"

    assert put(TRIPS, old, "Ferry", None, has_page=False) == "# Trips\n\n## Denmark\n\n- Ferry\n"
    assert put(TRIPS, "- Ferry\n", "Ferry", None, has_page=False) == "- Ferry\n"
    assert put(TRIPS, old, "Ferry", None) is None


def test_a_line_that_stands_is_not_put_in_twice() -> None:
    """Also where it is ticked or dated anew."""
    made = putting_back(TRIPS, "- [ ] Ferry\n", "Ferry")("- [x] Ferry (2026-11-02)\n")

    assert (made.content, made.outcome) == ("- [x] Ferry (2026-11-02)\n", "stands")


LINES = st.sampled_from(
    [
        "# A",
        "## B",
        "## About me",
        "- x",
        "- [ ] y",
        "  - z",
        "* w",
        "1. v",
        "text",
        "",
        "```",
        "> q",
        "\r",
        "- ",
        "<!--",
    ]
)


@given(st.lists(LINES, max_size=12), st.lists(LINES, max_size=12), st.sampled_from([PROFILE, TRIPS]))
def test_nothing_is_lost_whatever_the_pages_hold(old: list[str], now: list[str], path: str) -> None:
    """The line stands, and so does every line of the page."""
    before, after = "\n".join([*old, "- the line", "end"]), "\n".join(now)

    made = put(path, before, "the line", after)

    assert made is not None
    assert line_key("the line") in standing_lines(made)
    kept = [line for line in made.splitlines() if line.strip()]
    assert all(line in kept for line in after.splitlines() if line.strip())
