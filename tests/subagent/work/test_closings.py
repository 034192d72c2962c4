"""What ends open work: later words of people and agents, and which of them do not.

To call open work done is worse than to leave done work open, so that the first is never allowed here.
"""

from pathlib import Path
from typing import Any

import yaml

from memex.evals.work.packs import WrittenSession, observations_of
from memex.store.search.analyzer import analyzer_of
from memex.subagent.statements.comparison.relations import compare, decide
from memex.subagent.statements.comparison.views import view
from memex.subagent.work.state import fold

CASES: list[dict[str, Any]] = yaml.safe_load(Path(__file__).with_name("closings.yaml").read_text("utf-8"))
ROLES = {"human": "user", "agent": "assistant"}


def test_later_words_end_the_work_that_they_name_and_no_other() -> None:
    """Of work that is done, most is ended by what is said of it; of other work, nothing is."""
    wrong, missed = [], []
    for case in CASES:
        ((who, said),) = case["says"].items()
        listed = "\n".join(f"TODO: {task}" for task in case["open"])
        turns = (("assistant", listed, ()), (ROLES[who], said, ()))
        standing = {item.text for item in fold(observations_of(WrittenSession("one", turns))).open}
        ended = set(case["open"]) - standing
        wrong += [(task, said) for task in ended - set(case["ends"])]
        missed += [(task, said) for task in set(case["ends"]) - ended]

    assert wrong == []
    assert sum(len(case["ends"]) for case in CASES) == 51
    assert len(missed) <= 9


def test_memory_ends_its_tasks_by_the_same_words() -> None:
    """Of tasks that memory keeps, nearly as many are ended; of parts and of other things, a few still are."""
    english = analyzer_of("english")
    wrong, missed = [], []
    for case in CASES:
        new = view(next(iter(case["says"].values())), "note", english)
        found = decide(new, [compare(new, view(task, "pending", english), {}) for task in case["open"]])
        ended = {found.older.text} if found is not None and found.outcome == "closes" else set()
        wrong += [(task, new.text) for task in ended - set(case["ends"])]
        missed += [(task, new.text) for task in set(case["ends"]) - ended]

    assert len(wrong) <= 5
    assert len(missed) <= 10


GIVEN = ("Anna sent the list.", "Anna has finally sent us the list.", "Anna gave me the list.")
NOT_GIVEN = (
    "Anna sent the picture.",
    "Bernd sent the list.",
    "Anna has not sent the list.",
    "Anna sent the list of members.",
    "Anna sent half of the list.",
    "Anna gave the list to Bernd.",
    "Anna approved the list.",
    "If Anna sent the list, start.",
    "Has Anna sent the list?",
    "Anna lost the list.",
)


def test_what_was_waited_for_ends_the_waiting() -> None:
    """Only if the one who was to give it gave that thing."""
    standing = {
        said: bool(
            fold(
                observations_of(
                    WrittenSession(
                        "one",
                        (
                            ("user", "Blocked: waiting for Anna's list of categories.", ()),
                            ("assistant", "I wait.", ()),
                            ("user", said, ()),
                        ),
                    )
                )
            ).blockers
        )
        for said in (*GIVEN, *NOT_GIVEN)
    }

    assert [said for said, stands in standing.items() if not stands] == list(GIVEN)
