"""The section of the benchmark that measures the service from outside, in its smallest size."""

import json
import re
from pathlib import Path

import pytest

from memex.evals.bench.felt.load import LoadCalls, call_at_once
from memex.evals.bench.felt.measuring import OperationFigures, RoundFigures, quantiles
from memex.evals.bench.felt.notes import WORDS_A_QUERY, Notes
from memex.evals.bench.felt.report import SETTLED, comparison_table, states_table
from memex.evals.bench.felt.scene import Scene, open_scene
from memex.evals.bench.felt.section import STATES, measure_scene
from memex.evals.fixtures.data_folder import temporary_data_folder
from memex.evals.retrieval.datasets import VARIABLE
from memex.store.search.series import neighbours

NOTES = 12
CALLS = 2


@pytest.fixture
def of_vaults(retrieval_data: Path, monkeypatch: pytest.MonkeyPatch) -> Notes:
    """Notes of two small vaults."""
    monkeypatch.setenv(VARIABLE, str(retrieval_data))
    return Notes()


def test_real_notes_come_first_and_reworded_ones_after_them(of_vaults: Notes) -> None:
    """Each under a path of its own; the run says where they come from."""
    notes = of_vaults.take(20)

    assert {note.path for note in notes[:3]} == {
        "dendron-site/vault/dendron.topic.workspace.commands.sync.md",
        "dendron-site/vault/other.md",
        "foam-docs/docs/readme.md",
    }
    assert len({note.path for note in notes}) == 20
    assert "reworded" in of_vaults.origin


def test_short_notes_hold_one_paragraph_each(of_vaults: Notes) -> None:
    """Under a heading, and under names that make no series of them."""
    notes = of_vaults.take_short(30)

    assert len({note.path for note in notes}) == 30
    assert all(len(re.findall(r"\n\s*\n", note.text)) == 1 for note in notes)
    assert [note.path for note in notes if neighbours(note.path, 1)] == []


@pytest.mark.slow
def test_notes_and_questions_are_the_same_in_every_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also without data, where they are generated."""
    monkeypatch.delenv(VARIABLE, raising=False)
    drawn = []
    for _ in range(2):
        notes = Notes()
        known = notes.take(50)
        drawn.append((notes.origin, known, [notes.query(known) for _ in range(5)]))

    assert drawn[0] == drawn[1]
    assert drawn[0][0] == "generated notes"
    assert all(len(query.split()) == WORDS_A_QUERY for query in drawn[0][2])


def test_a_question_is_asked_in_the_words_of_a_note(of_vaults: Notes) -> None:
    """Five that follow each other in one."""
    known = of_vaults.take(3)

    words = of_vaults.query(known).split()

    assert len(words) == WORDS_A_QUERY
    assert any(all(word in note.text for word in words) for note in known)


def test_figures_are_medians_over_the_rounds() -> None:
    """A round that was disturbed does not count for more than another one."""
    compared = OperationFigures()
    compared.memex.rounds = [RoundFigures(p50, 9.0, 2.0, 1.0) for p50 in (4.0, 90.0, 5.0)]
    compared.plain.rounds = [RoundFigures(2.0, 3.0, 1.0, 0.5)]

    table = comparison_table("title", {"find": compared}, {})

    assert compared.memex.median("p50") == 5.0
    assert [list(column.cells)[2] for column in table.columns][1:3] == ["[bold]2.5 ×[/]", "[bold]3.0 ×[/]"]
    assert quantiles([7.0]) == (7.0, 7.0)


@pytest.mark.slow
@pytest.mark.process
async def test_both_services_are_measured_in_every_state(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each operation has times, CPU, and the statements and round trips of a call; many clients get no error."""
    monkeypatch.delenv(VARIABLE, raising=False)
    with temporary_data_folder() as folder, open_scene(folder, Notes()) as scene:
        figures = await measure_scene(scene, count=NOTES, rounds=1, calls=CALLS)
        calls = LoadCalls([(scene.requests, scene.known)], scene.notes)
        load = await call_at_once(scene, calls, clients=3, seconds=0.5)
        logged = await _plain_calls(scene)

    assert list(figures.reads) == list(STATES)
    settled = figures.reads[SETTLED] | figures.writes[SETTLED]
    assert [name for name, one in settled.items() if one.plain.rounds] == ["find", "read", "write a new note"]
    assert all(one.memex.median("cpu") > 0 and one.memex.median("backend") > 0 for one in settled.values())
    assert set(figures.traffic) == set(settled)
    assert all(0 < one.memex.round_trips <= one.memex.statements for one in figures.traffic.values())
    assert json.loads(logged["find"])["hits"]
    plain = {name: one.plain for name, one in figures.traffic.items() if one.plain}
    assert {name: (one.statements, one.round_trips) for name, one in plain.items()} == {
        "find": (3, 3),
        "read": (3, 3),
        "write a new note": (5, 2),
    }
    assert states_table("states", figures.reads).row_count == 3 * (1 + len(STATES))
    assert all(rate > 0 for rate in figures.rates.values())
    assert load.walls_ms
    assert load.errors == {}


async def _plain_calls(scene: Scene) -> dict[str, str]:
    """Return the last answer that the plain service logged of each of its calls."""
    import psycopg

    async with await psycopg.AsyncConnection.connect(scene.plain_conninfo) as connection:
        rows = await connection.execute("select tool, answer::text from call order by at")
        return dict(await rows.fetchall())
