"""Runs as they are kept, compared, and shown."""

import datetime
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from memex.errors import ValidationFailed
from memex.evals.retrieval import runs, tables
from memex.evals.retrieval.runs import (
    EvidenceRecall,
    LeakGuardResult,
    PartRun,
    QuestionOutcome,
    RetrievalConfig,
    RetrievalRun,
)
from memex.service.evals.run_documents import FORMAT

NOON = datetime.datetime(2026, 11, 22, 12, 0, 0, tzinfo=datetime.UTC)


def outcome(number: int, *ranks: int | None, kinds: tuple[str, ...] = ("multi-hop",)) -> QuestionOutcome:
    """Return what became of a question of two pieces of evidence, one of which stands in the context."""
    contexts = {
        budget: EvidenceRecall(found=1, evidence=2, coverage=0.5, used_chars=budget - 100)
        for budget in (2_000,)
    }
    return QuestionOutcome(id=f"q{number}", kinds=kinds, ranks=ranks, contexts=contexts)


def run(
    *outcomes: QuestionOutcome, at: datetime.datetime = NOON, guarded: bool = True, suite: str = "locomo"
) -> RetrievalRun:
    """Return a run of one part."""
    guard = LeakGuardResult(observed=0.05, chance=0.04, low=0.02, high=0.07, p=0.5, is_at_chance=True)
    part = PartRun(
        name="locomo-turns",
        collections=1,
        files=3,
        load_s=0.5,
        ask_s=1.5,
        guard=guard if guarded else None,
        figures=runs.estimate_figures(outcomes),
        counts=runs.count_groups(outcomes),
        outcomes=outcomes,
    )
    return RetrievalRun(
        format=FORMAT,
        suite=suite,
        started_at=at,
        duration_s=2.0,
        config=RetrievalConfig(mode="bm25", budgets=(2_000,), depth=100, sample=None, server="18.6 <i>"),
        engine="analyzer-1",
        revision=None,
        parts=(part,),
    )


def test_figures_are_means_of_each_group() -> None:
    """Everything first, then the kinds, the most frequent first."""
    done = run(outcome(1, 1, None), outcome(2, 3, 4, kinds=("temporal",)), outcome(3, None, None)).parts[0]

    assert list(done.counts.items()) == [("all", 3), ("multi-hop", 2), ("temporal", 1)]
    assert done.figures["all"]["recall@5"].value == pytest.approx(0.5)
    assert done.figures["multi-hop"]["any@1"].value == 0.5
    assert done.figures["temporal"]["all@5"].value == 1
    assert done.figures["all"]["context-recall@2000"].value == 0.5
    assert done.figures["all"]["context-all@2000"].value == 0
    assert done.figures["all"]["context-used@2000"].value == pytest.approx(0.95)


def test_a_run_is_read_as_it_was_saved(tmp_path: Path) -> None:
    """Its file is named by the suite and the time."""
    done = run(outcome(1, 1, None))

    path = runs.save(done, tmp_path / "runs")

    assert path.name == "locomo-20261122T120000Z.json"
    assert runs.load(path) == done


def test_the_previous_run_is_the_newest_of_its_suite(tmp_path: Path) -> None:
    """Runs of other suites, whose name may begin alike, and other files are no such run."""
    later = NOON + datetime.timedelta(hours=1)
    assert runs.find_previous(tmp_path, "beam") is None
    for at, suite in ((NOON, "beam"), (later, "beam"), (later + datetime.timedelta(1), "beam-500k")):
        runs.save(run(outcome(1, 1), at=at, suite=suite), tmp_path)
    (tmp_path / "beam-notes.json").write_text("{}")

    found = runs.find_previous(tmp_path, "beam")

    assert found is not None
    assert found.name == "beam-20261122T130000Z.json"


def test_what_is_no_run_is_refused(tmp_path: Path) -> None:
    """Missing, no JSON, or of another format."""
    (tmp_path / "broken.json").write_text("{")
    other = run(outcome(1, 1)).model_copy(update={"format": 99})
    (tmp_path / "other.json").write_text(other.model_dump_json())

    for name in ("missing", "broken", "other"):
        with pytest.raises(ValidationFailed, match=f"{name}.json"):
            runs.load(tmp_path / f"{name}.json")


@pytest.mark.slow
def test_runs_are_compared_by_question() -> None:
    """Over the questions that both asked, in whatever order."""
    before = run(outcome(1, 1, 2), outcome(2, None, None), outcome(3, 7, 8))
    after = run(outcome(2, 1, None), outcome(1, 1, 2), outcome(9, 1, 1))

    compared = runs.compare(before, after, name="before.json")

    assert compared.questions == {"locomo-turns": 2}
    found = compared.changes["locomo-turns"]["all"]["recall@5"]
    assert (found.value, found.gained, found.lost) == (0.25, 1, 0)
    assert found == compared.changes["locomo-turns"]["multi-hop"]["recall@5"]


@pytest.mark.slow
def test_changes_are_shown_when_there_are_any() -> None:
    """A run that changed nothing says so in a line; else each figure that moved, with its tests."""
    before, after = (
        run(*(outcome(n, None, None) for n in range(30))),
        run(*(outcome(n, 1, 2) for n in range(30))),
    )

    same = tables.changes(before.parts[0], runs.compare(before, before, name="b"), (2_000,))
    other = tables.changes(after.parts[0], runs.compare(before, after, name="b"), (2_000,))

    assert same is not None
    assert same.rows == ()
    assert same.title.endswith("no figure has moved")
    assert other is not None
    assert ("all", "any@10", "+100.0", "+100.0 … +100.0", "0.001", "30", "0", "0.000", "better") in other.rows
    overview = tables.overview(after, runs.compare(before, after, name="b")).rows[0]
    assert overview[:3] == ("locomo-turns", "100.0 +100.0*", "100.0 +100.0*")


def test_ranks_of_two_notes_are_told_apart() -> None:
    """Where paths are content: the median rank of the first and of the second, none when most are not found."""
    done = run(outcome(1, 1, 20), outcome(2, 3, None), outcome(3, 2, None), guarded=False).parts[0]

    shown = tables.notes(done)

    assert shown is not None
    assert shown.rows[:2] == (
        ("all", "first", "3", "2", "33.3", "100.0", "100.0", "100.0", "100.0"),
        ("all", "second", "3", "none", "0.0", "0.0", "0.0", "33.3", "33.3"),
    )
    assert tables.notes(run(outcome(1, 1, 20)).parts[0]) is None


class _Loads(HTMLParser):
    """Notes which elements there are, and every address that one would load from."""

    def __init__(self) -> None:
        super().__init__()
        self.elements: list[str] = []
        self.addresses: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append(tag)
        self.addresses += [
            value or "" for name, value in attrs if name in {"src", "href", "xlink:href", "data"}
        ]


@pytest.mark.slow
def test_a_page_loads_nothing() -> None:
    """It is one file: addresses lead into it alone, no script runs, and its styles name no other file."""
    from memex.evals.retrieval import page

    before, after = run(outcome(1, 1, None), outcome(2, None, 30)), run(outcome(1, 1, 2), outcome(2, 5, 30))

    written = page.render(after, runs.compare(before, after, name="before.json"), before)

    loads = _Loads()
    loads.feed(written)
    assert all(address.startswith("#") for address in loads.addresses)
    assert loads.elements.count("svg") == 4
    assert not {"script", "link", "img", "iframe"} & set(loads.elements)
    assert not re.search(r"https?://|@import|url\((?!#)", written)


@pytest.mark.slow
def test_a_page_follows_the_screen() -> None:
    """Plots take their colours from the style sheet, which has them for light and dark."""
    from memex.evals.retrieval import page

    written = page.render(run(outcome(1, 1, None)))

    assert "prefers-color-scheme: dark" in written
    assert "var(--c1)" in written
    assert not re.search(r"#01010\d|#0102\d\d", written)


@pytest.mark.slow
def test_a_page_shows_texts_as_texts() -> None:
    """Nothing of a run is markup."""
    from memex.evals.retrieval import page

    written = page.render(run(outcome(1, 1, None, kinds=("<b>bold</b>",))))

    assert "<b>" not in written
    assert "<i>" not in written
    assert "&lt;b&gt;bold&lt;/b&gt;" in written


@pytest.mark.slow
def test_ids_of_a_page_are_its_own() -> None:
    """No two elements share an id, and every address leads to one."""
    from memex.evals.retrieval import page

    written = page.render(run(outcome(1, 1, None)))

    named = re.findall(r'\sid="([^"]+)"', written)
    assert len(named) == len(set(named))
    assert set(re.findall(r'href="#([^"]+)"', written)) | set(re.findall(r"url\(#([^)]+)\)", written)) <= set(
        named
    )
