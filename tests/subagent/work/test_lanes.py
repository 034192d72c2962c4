"""Which lane hints mean: never one of several."""

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from memex.store.work.records import PlacedSession
from memex.subagent.work.resuming.lanes import LaneHints, active_lanes, group_lanes, resolve

NOW = datetime(2026, 11, 24, 16, tzinfo=UTC)


def session(
    name: str, label: str, root: str = "", *, title: str = "", branch: str = "main", days: int = 0
) -> PlacedSession:
    """Return a session of a place, some days ago."""
    at = NOW - timedelta(days=days)
    folder = f"{root}/src" if root else ""
    return PlacedSession(
        name,
        title,
        label,
        label.rpartition("/")[2],
        folder,
        branch,
        root,
        "codex",
        4,
        at,
        at,
        None,
        is_linked=False,
    )


APOLLO = session("a1", "remote:github.com/acme/apollo", "/home/ann/apollo", title="Replace the job queue")
HOTFIX = session(
    "a2", "remote:github.com/acme/apollo", "/home/ann/apollo-hotfix", branch="hotfix", title="Crash"
)
GEMINI = session(
    "g1", "remote:github.com/acme/gemini", "/home/ann/gemini", title="Write the docs of the queue"
)
LANES = group_lanes([APOLLO, HOTFIX, GEMINI])


def test_hints_find_one_lane_or_name_several() -> None:
    """What identifies a lane decides; what only resembles it decides if nothing else does; else lanes are named."""
    table = [
        (LaneHints(), "needs_hint", None),
        (LaneHints(cwd="/home/ann/apollo/src/jobs"), "resolved", "a1"),
        (LaneHints(cwd="/home/ann/apollo-hotfix"), "resolved", "a2"),
        (LaneHints(cwd="/home/ann/apollo/../gemini"), "no_match", None),
        (LaneHints(cwd="/home/ann"), "no_match", None),
        (LaneHints(repository="github.com/acme/gemini"), "resolved", "g1"),
        (LaneHints(repository="github.com/acme/apollo"), "ambiguous", None),
        (LaneHints(repository="github.com/acme/apollo", branch="hotfix"), "resolved", "a2"),
        (LaneHints(repository="github.com/other/apollo"), "no_match", None),
        (LaneHints(files=("/home/ann/gemini/README.md",)), "resolved", "g1"),
        (LaneHints(files=("/home/ann/gemini/a", "/home/ann/apollo/b")), "ambiguous", None),
        (LaneHints(title="Replace the job queue"), "resolved", "a1"),
        (LaneHints(words="the queue"), "ambiguous", None),
        (LaneHints(words="unheard"), "no_match", None),
        (LaneHints(title=".*" * 5_000), "no_match", None),
    ]

    for hints, status, expected in table:
        found = resolve(LANES, hints)
        named = found.lane.sessions[0].conversation_id if found.lane else None
        assert (found.status, named) == (status, expected), hints


def test_a_place_in_another_place_is_its_own() -> None:
    """A project in a folder of a repository goes before the repository; a foreign repository there gets neither."""
    root = "/home/ann/mono"
    api = session("m1", "remote:github.com/acme/mono#api", f"{root}/api")
    lanes = group_lanes([session("m0", "remote:github.com/acme/mono", root), api])
    table = [
        (LaneHints(cwd=f"{root}/api/src"), "m1"),
        (LaneHints(cwd=f"{root}/web"), "m0"),
        (LaneHints(cwd=f"{root}/api", repository=root), "m1"),
        (LaneHints(cwd=f"{root}/vendor/evil", repository=f"{root}/vendor/evil"), None),
    ]

    for hints, expected in table:
        lane = resolve(lanes, hints).lane
        assert (lane.sessions[0].conversation_id if lane else None) == expected, hints


def test_a_place_that_has_no_lane_is_given_none_of_another() -> None:
    """A new repository on the same branch, a clone in a clone, a link into another repository: nothing fits."""
    alone, inner = (
        group_lanes([APOLLO]),
        session("v1", "remote:evil.example/x/lib", f"{APOLLO.root}/vendor/lib"),
    )
    nested = inner.root
    for hints in (
        LaneHints(cwd="/tmp/clone", repository="/tmp/clone", branch="main", words="the job queue"),
        LaneHints(cwd=nested, repository=nested, branch="main"),
        LaneHints(cwd=nested, repository="evil.example/x/lib"),
        LaneHints(cwd="/home/ann/downloads/apollo", repository="github.com/acme/apollo"),
        LaneHints(cwd="/home/ann/downloads/apollo", repository=APOLLO.label, branch="main"),
        LaneHints(cwd=f"{APOLLO.root}/link", repository="/elsewhere/clone", branch="main"),
        LaneHints(project="gemini", branch="main", title="the job queue"),
    ):
        assert resolve(alone, hints).status == "no_match", hints
    for hints in (LaneHints(cwd=nested), LaneHints(cwd=nested, repository=nested, branch="main")):
        found = resolve(group_lanes([APOLLO, inner]), hints)
        assert found.lane is not None
        assert found.lane.root == nested
    outside = resolve(group_lanes([APOLLO, inner]), LaneHints(cwd=APOLLO.root, repository=APOLLO.root))
    assert outside.lane is not None
    assert outside.lane.root == APOLLO.root


def test_a_session_of_the_home_is_no_lane_of_the_folders_below_it() -> None:
    """Nor is one of a temporary folder; each is found in its own folder."""
    for root in ("/home/ann", "/Users/ann", "/root", "/tmp", "/"):
        lanes = group_lanes([session("h1", f"cwd:{root}", root)])

        assert resolve(lanes, LaneHints(cwd=f"{root.rstrip('/')}/new/shop")).lane is None, root
        assert resolve(lanes, LaneHints(cwd=root)).lane is not None, root


def test_without_hints_only_a_lone_lane_is_found() -> None:
    """One lane needs no hint; two do; none matches nothing."""
    assert resolve(group_lanes([APOLLO, session("a0", APOLLO.label, APOLLO.root, days=3)]), LaneHints()).lane
    assert resolve([], LaneHints(words="queue")).status == "no_match"
    assert len(resolve(LANES, LaneHints()).candidates) == 3


def test_what_rested_for_long_is_no_rival() -> None:
    """A worktree that nobody worked in for weeks does not make lanes ambiguous."""
    old = session("a3", APOLLO.label, "/home/ann/apollo-old", days=30)

    assert [lane.root for lane in active_lanes(group_lanes([APOLLO, old]))] == [APOLLO.root]


def test_a_turn_of_the_future_hides_no_lane() -> None:
    """A clock that was ahead makes its lane one of today's, and no more."""
    ahead = session("f1", GEMINI.label, GEMINI.root, days=-30_000)

    assert [lane.root for lane in active_lanes(group_lanes([APOLLO, ahead]), NOW)] == [
        ahead.root,
        APOLLO.root,
    ]


@given(st.text(max_size=100), st.text(max_size=100), st.lists(st.text(max_size=50), max_size=4))
def test_odd_hints_are_never_an_error(cwd: str, words: str, files: list[str]) -> None:
    """Whatever hints hold, one lane is the answer only if it is alone; scores stay between 0 and 1."""
    found = resolve(LANES, LaneHints(cwd=cwd, words=words, files=tuple(files)))

    assert (found.lane is not None) == (found.status == "resolved")
    assert all(0 <= one.score <= 1 for one in found.candidates)
