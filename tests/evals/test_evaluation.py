"""Cases that are played: by Memex, and by another service that has but the two calls."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import datetime
from pathlib import Path

import pytest
from tests.evals.fixtures.test_states import write

from memex.errors import ValidationFailed
from memex.evals.adapter import Placed, Recalled, Remembered, load_adapter
from memex.evals.cases import Case, load_suite
from memex.evals.evaluation import EvaluationOptions, run_cases, select_cases
from memex.evals.memex_adapter import MemexAdapter
from memex.service.evals.runs import Run
from memex.service.evals.states import State, seal
from memex.service.service import Service

CASES = {
    "context": """\
cases:
- name: allergies
  inputs: {state: small, query: "What am I allergic to?"}
  expected_output:
    paths: [user/profile.md]
    facts: ["I am allergic to peanuts."]
    not_facts: ["Rome"]
    spans: [{path: user/profile.md, text: "I am allergic to peanuts."}]
    reasons: {user/profile.md: match}
  metadata: {tags: [plain]}
- name: nothing-on-sailing
  inputs: {state: small, query: "sailing regatta"}
  expected_output: {empty: true}
- name: no-member
  inputs: {state: small, query: "launch", user: bob, project: apollo}
  expected_output: {error: PROJECT_NOT_FOUND}
- name: known-to-fail
  inputs: {state: small, query: "May I have a Snickers?", budget: 400}
  expected_output: {facts: ["I am allergic to peanuts."], max_chars: 20}
  metadata: {known_failure: builtin}
- name: known-and-mended
  inputs: {state: small, query: "Where do I live?", user: bob}
  expected_output: {facts: ["I live in Rome."]}
  metadata: {known_failure: builtin}
""",
    "remember": """\
cases:
- name: moved
  inputs: {state: small, text: "I live in Oslo. How are you?"}
  expected_output:
    status: committed
    present: {user/profile.md: ["I live in Oslo."]}
    absent: {"*": ["I live in Berlin."]}
    touched: [user/profile.md]
    superseded: [["I live in Berlin.", "I live in Oslo."]]
    skipped: [["How are you?", small_talk]]
    idempotent: true
- name: by-the-clock
  inputs: {state: small, text: "I prefer tea.", now: 2027-01-02T03:04:05Z}
  expected_output: {present: {user/preferences.md: ["I prefer tea. (2027-01-02)"]}}
- name: wrong
  inputs: {state: small, text: "I prefer tea."}
  expected_output: {touched: [user/profile.md]}
""",
    "sequences": """\
cases:
- name: moved-and-asked
  inputs:
    state: small
    steps:
    - {remember: "I live in Oslo."}
    - {write: {path: user/notes/tea.md, content: "# Tea\\n\\nOolong is what I drink.\\n"}}
    - {ask: "Where do I live?", expect: {facts: ["I live in Oslo."], not_facts: ["Berlin"]}}
    - {ask: "Which oolong do I drink?", expect: {paths: [user/notes/tea.md], not_facts: ["Rome"]}}
    - {ask: "Where do I live?", user: bob, expect: {facts: ["I live in Rome."], not_facts: ["Oslo"]}}
""",
}


class LastTexts(Placed):
    """Keeps texts in a list, and returns the last ones that fit."""

    def __init__(self, texts: Sequence[str]) -> None:
        self.texts = list(texts)

    async def remember(self, user: str, text: str, *, project: str | None, now: datetime) -> Remembered:
        """Keep a text."""
        self.texts.append(text)
        return Remembered()

    async def context(
        self, user: str, query: str, *, budget: int, project: str | None, max_hops: int, now: datetime
    ) -> Recalled:
        """Return the last texts."""
        return Recalled("".join(self.texts)[-budget:])


class LastTextsService:
    """A service of nothing but texts."""

    name = "last-texts"

    @asynccontextmanager
    async def place(self, state: State) -> AsyncIterator[LastTexts]:
        """Begin with the texts of the state's first user."""
        yield LastTexts(list(state.seen_by(state.default_user).values()))


@pytest.fixture
def cases(tmp_path: Path) -> list[Case]:
    """A small suite over a small state."""
    seal(write(tmp_path / "small"))
    for name, text in CASES.items():
        (tmp_path / f"{name}.yaml").write_text(text, encoding="utf-8")
    return load_suite(str(tmp_path))


def statuses(run: Run) -> dict[str, str]:
    """Return how each case ended, by its name."""
    return {case.id.partition("/")[2]: case.status for case in run.cases}


@pytest.mark.slow
async def test_memex_is_asked_through_its_service(service: Service, cases: list[Case]) -> None:
    """Questions, texts and sequences each see the state as it is given; what is wrong is said."""
    run = await run_cases("all", cases, MemexAdapter(service), EvaluationOptions())

    assert statuses(run) == {
        "allergies": "passed",
        "nothing-on-sailing": "passed",
        "no-member": "passed",
        "known-to-fail": "known",
        "known-and-mended": "fixed",
        "moved": "passed",
        "by-the-clock": "passed",
        "wrong": "failed",
        "moved-and-asked": "passed",
    }
    [wrong] = run.of_status("failed")
    assert wrong.problems == ("Not written: user/profile.md.", "Written: user/preferences.md.")
    [allergies, *_] = run.cases
    assert allergies.measures["mrr"] == 1
    assert allergies.measures["latency-ms"] > 0
    [trace] = allergies.traces
    assert trace["tool_call_id"].startswith("eval_")
    assert trace["planner"] == "builtin"
    assert trace["sources"][0]["path"] == "user/profile.md"
    assert [one["tool"] for one in trace["inner"]]
    assert run.states.keys() == {"small"}


@pytest.mark.slow
async def test_a_run_is_the_same_each_time(service: Service, cases: list[Case]) -> None:
    """But for how long it took: what one case writes no other one sees."""
    first, second = [
        await run_cases("all", cases, MemexAdapter(service), EvaluationOptions()) for _ in range(2)
    ]

    def figures(run: Run) -> list[dict[str, float]]:
        return [
            {name: value for name, value in case.measures.items() if name != "latency-ms"}
            for case in run.cases
        ]

    assert statuses(first) == statuses(second)
    assert figures(first) == figures(second)


async def test_nothing_is_left_of_a_run(service: Service, cases: list[Case]) -> None:
    """Its tenants are gone with all that they held."""
    await run_cases("all", cases, MemexAdapter(service), EvaluationOptions())

    async with service.database.maintenance() as connection:
        cursor = await connection.execute(
            """select (select count(*) from tenant) + (select count(*) from scope)
                      + (select count(*) from operation) as n"""
        )
        left = await cursor.fetchone()
    assert left is not None
    assert left["n"] == 0


async def test_another_service_is_measured_by_what_it_can_tell(cases: list[Case]) -> None:
    """It has no sources, files or codes: what needs those does not apply, and facts are judged."""
    run = await run_cases("all", cases, LastTextsService(), EvaluationOptions(planner="last-texts"))

    ended = statuses(run)
    assert ended["allergies"] == "passed"
    assert ended["nothing-on-sailing"] == "failed"
    assert ended["no-member"] == "failed"
    assert ended["wrong"] == "skipped"
    assert ended["by-the-clock"] == "skipped"
    assert ended["moved"] == "skipped"
    assert ended["moved-and-asked"] == "skipped"
    [allergies, *_] = run.cases
    assert allergies.unknown == ("paths", "spans", "reasons")
    assert "mrr" not in allergies.measures
    assert run.figures["all"]["fact-recall"].value > 0


async def test_a_service_that_breaks_fails_its_case_alone(cases: list[Case]) -> None:
    """The others go on, and the run says how it broke."""

    class Broken(LastTexts):
        async def context(
            self, user: str, query: str, *, budget: int, project: str | None, max_hops: int, now: datetime
        ) -> Recalled:
            if "allergic" in query:
                raise RuntimeError("out of order")
            return Recalled("I live in Rome.")

    class Service:
        name = "broken"

        @asynccontextmanager
        async def place(self, state: State) -> AsyncIterator[Broken]:
            yield Broken([])

    run = await run_cases("all", cases[:5], Service(), EvaluationOptions(planner="broken"))

    assert statuses(run)["known-and-mended"] == "passed"
    assert run.cases[0].problems == ("The case ended with RuntimeError: out of order",)
    assert "out of order" in run.cases[0].traces[0]["traceback"]


async def test_a_budget_is_that_of_the_cases_that_name_none(service: Service, cases: list[Case]) -> None:
    """A case that is about a budget keeps its own."""
    asked = [case for case in cases if case.name in ("allergies", "known-to-fail")]

    run = await run_cases("all", asked, MemexAdapter(service), EvaluationOptions(budget=333))

    assert [case.traces[0]["budget"]["limit"] for case in run.cases] == [333, 400]


async def test_a_judge_adds_a_figure_and_decides_nothing(service: Service, cases: list[Case]) -> None:
    """It is told question and context; a case passes or fails without it."""

    async def judge(query: str, context: str) -> float:
        return 0.25 if "peanuts" in context else 0.75

    run = await run_cases("all", cases[:2], MemexAdapter(service), EvaluationOptions(judge=judge))

    assert statuses(run) == {"allergies": "passed", "nothing-on-sailing": "passed"}
    assert [case.measures["judge"] for case in run.cases] == [0.25, 0.75]


def test_cases_are_chosen_by_tag_and_name(cases: list[Case]) -> None:
    """A name that is none's is told."""
    assert [case.name for case in select_cases(cases, tags=["plain"])] == ["allergies"]
    assert [case.name for case in select_cases(cases, names=["remember/moved", "wrong"])] == [
        "moved",
        "wrong",
    ]
    with pytest.raises(ValidationFailed, match="There is no case nothing"):
        select_cases(cases, names=["nothing"])
    with pytest.raises(ValidationFailed, match="No case is left"):
        select_cases(cases, tags=["rare"])


def test_an_adapter_is_loaded_by_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From a module of the current folder; one that is none is refused."""
    (tmp_path / "mine_for_evals.py").write_text(
        "class Mine:\n    name = 'mine'\n    def place(self, state): ...\nclass Other: ...\n"
    )
    monkeypatch.chdir(tmp_path)

    assert load_adapter("mine_for_evals:Mine").name == "mine"
    for named in ("mine_for_evals:Other", "mine_for_evals:None", "no_such_module:X", ""):
        with pytest.raises(ValidationFailed, match="--service"):
            load_adapter(named)
