"""memory_context on questions for lists, in four languages, over what was remembered."""

import re
from collections.abc import Awaitable, Callable
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest
from tests.kit.memory import open_project, put, run_tool, write

from memex.service.log.replay.requests import replay_call
from memex.service.service import Caller, Service

CallerOf = Callable[..., Awaitable[Caller]]

# The statements that these calls make are tested on both servers by the tests of the store.
pytestmark = pytest.mark.embedded_only

TODAY = date(2026, 11, 23)
MANY = {f"shared/ledger/{n}.md": f"Ledger {n} is closed." for n in range(100)}  # so that memory is not small
# The statements of one file and heading stand together, in the order of the list.
# By language: texts with the day on which they were said, and questions with what answers, in order. Behind a list
# stands what shares a word with the question.
MEMORY: dict[str, list[tuple[str, str]]] = {
    "english": [
        ("2026-10-01", "I need to renew my passport by 15 January."),
        ("2026-10-03", "I have to send the planting plan to the council by 20 November."),
        ("2026-10-05", "The grant application for Holbeck park is due 3 December."),
        ("2026-10-10", "I need to call the insurance about the broken window."),
        ("2026-11-05", "I must pay the orchestra fee by 30 November."),
        ("2026-11-12", "Done: send the planting plan to the council by 20 November."),
        ("2026-11-16", "I have to prepare the slides for Carla by Friday 27 November."),
        ("2026-11-20", "The dentist is on 24 November at 9:15."),
        ("2026-11-21", "I have to fetch the boots from the cobbler tomorrow."),
        ("2026-09-01", "I'm Nora Feld, a landscape architect in Leeds."),
        ("2026-09-01", "We have a cat named Mops."),
    ],
    "german": [
        ("2026-10-05", "Ich muss die Steuererklärung bis zum 30. November abgeben."),
        ("2026-11-10", "Ich muss den Kaminkehrer anrufen."),
        ("2026-11-15", "Ich muss die Winterreifen aufziehen lassen, bis spätestens 20. November."),
        ("2026-11-22", "Morgen um 8 Uhr kommt der Holzlieferant."),
        ("2026-09-01", "Ich arbeite als Schreiner in Passau."),
    ],
    "french": [
        ("2026-10-04", "Je dois rendre le dossier avant le 27 novembre."),
        ("2026-10-06", "Je dois payer la cantine avant le 10 décembre."),
        ("2026-11-22", "Demain matin, réunion avec la cadre à 9 h."),
        ("2026-09-01", "Je suis infirmière à Nantes."),
    ],
    "spanish": [
        ("2026-10-03", "Tengo que entregar las notas antes del 27 de noviembre."),
        ("2026-10-04", "Tengo que pagar el seguro antes del 15 de diciembre."),
        ("2026-11-22", "Mañana a las 17 hay reunión de padres."),
        ("2026-09-01", "Trabajo como profesora en Granada."),
    ],
}
ANSWERS: dict[str, dict[str, list[str]]] = {
    "english": {
        "What is due this week?": ["boots", "slides", "grant"],
        "What do I have to do by Friday?": ["boots", "slides", "insurance"],
        "Which deadlines are coming up?": ["boots", "slides", "orchestra", "grant", "passport"],
        "What is due next month?": ["grant"],
        "Is anything overdue?": ["boots"],
        "What do I have to finish before December?": ["boots", "slides", "orchestra", "insurance", "grant"],
    },
    "german": {
        "Was ist diese Woche fällig?": ["Winterreifen"],
        "Was muss ich bis zum 30. November erledigen?": ["Winterreifen", "Steuererklärung", "Kaminkehrer"],
    },
    "french": {
        "Qu'est-ce que je dois faire avant vendredi ?": ["dossier"],
        "Quelles sont mes échéances ?": ["dossier", "cantine"],
    },
    "spanish": {
        "¿Qué tengo que hacer antes del viernes?": ["notas"],
        "¿Qué plazos tengo?": ["notas", "seguro"],
    },
}

# As well, but for what happens on days, which is told in plain sentences.
EVENTS: dict[str, dict[str, list[str]]] = {
    "english": {
        "What's coming up in the next two weeks?": ["boots", "dentist", "slides", "orchestra", "grant"],
        "What's on tomorrow?": ["dentist"],
        "What is new since Friday?": ["boots", "dentist"],
    },
    "german": {"Was steht heute an?": ["Winterreifen", "Holzlieferant"]},
    "french": {"Qu'est-ce qui est prévu aujourd'hui ?": ["réunion"]},
    "spanish": {"¿Qué tengo hoy?": ["reunión"]},
}


def noon(day: date) -> datetime:
    """Return the clock of a call on a day."""
    return datetime(day.year, day.month, day.day, 12, tzinfo=UTC)


async def remember(service: Service, caller: Caller, text: str, day: str) -> None:
    """Remember a text on a day."""
    await service.execute(caller, "memory_remember", {"text": text}, now=noon(date.fromisoformat(day)))


async def ask(service: Service, caller: Caller, question: str, day: date = TODAY, **more: Any) -> list[str]:
    """Return the statements of a context, in its order."""
    arguments = {"query": question, "budget": 2_000, **more}
    found = await service.execute(caller, "memory_context", arguments, now=noon(day))
    lines = found["context"].splitlines()[2:-1]
    return [re.sub(r"^- (?:\[.\] )?", "", line) for line in lines if line and not line.startswith("[")]


async def check_answers(
    service: Service, caller_of: CallerOf, answers: dict[str, dict[str, list[str]]]
) -> None:
    """Fail unless the answer of each question begins with these statements, in a memory that is not small."""
    await put(service, await caller_of(None, role="admin"), MANY)
    for language, said in MEMORY.items():
        service.identities.language = language
        caller = await caller_of(language)
        for day, text in sorted(said):
            await remember(service, caller, text, day)
        for question, expected in answers[language].items():
            found = await ask(service, caller, question)
            first = found[: len(expected)]
            assert all(word in one for word, one in zip(expected, first, strict=True)), (question, found)


async def test_lists_are_answered_in_their_order(service: Service, caller_of: CallerOf) -> None:
    """What is due by its day, the overdue first; nothing that is done."""
    await check_answers(service, caller_of, ANSWERS)


async def test_behind_a_list_stands_what_answers_by_its_words(service: Service, caller_of: CallerOf) -> None:
    """To be in the list is worth so much that a tenth of it would leave out every other line."""
    caller = await caller_of("mara")
    await put(service, await caller_of(None, role="admin"), MANY)
    await remember(service, caller, "I need to water the ferns.", "2026-11-20")
    await remember(
        service, caller, "Half of what stands on the list on the fridge is for Ida alone.", "2026-11-21"
    )

    found = await ask(service, caller, "What is on my to-do list?")

    assert "ferns" in found[0]
    assert any("fridge" in line for line in found)


async def test_what_happens_on_a_day_is_listed(service: Service, caller_of: CallerOf) -> None:
    """Beside what is due then; what is new stands the newest first."""
    await check_answers(service, caller_of, EVENTS)


WEEK = [
    ("2026-10-20", "The lens is fitted on 20 November at 14:00."),
    ("2026-11-11", "I have to call the bank tomorrow."),
    ("2026-11-12", "Noor's lesson is every Tuesday at 16:30."),
    ("2026-11-13", "Le lundi soir, mon cours de flûte dure jusqu'à 20 h 30."),
    ("2026-11-14", "We had dinner at the Bären with the Kunzes."),
    ("2026-11-20", "Met the notary about the will."),
    ("2026-11-23", "The lawyer calls tomorrow at 11."),
]


async def test_questions_about_past_days_are_answered_by_what_was_told_then(
    service: Service, alice: Caller
) -> None:
    """By a date, by a weekday, or by a week; nothing is shown of a day on which nothing was told."""
    for day, text in WEEK:
        await remember(service, alice, text, day)

    for question in ("What did I tell you on 14 November?", "What did I tell you on 2026-11-14?"):
        assert await ask(service, alice, question) == [WEEK[4][1]]
    assert await ask(service, alice, "What did we do on Friday?") == [WEEK[5][1]]
    assert await ask(service, alice, "What happened last week?") == [WEEK[5][1]]
    assert await ask(service, alice, "What did I tell you yesterday?") == []
    assert await ask(service, alice, "What did I tell you on 14 November?", date(2027, 2, 1)) == [WEEK[4][1]]


async def test_a_day_has_what_is_said_of_it_and_what_is_each_week(service: Service, alice: Caller) -> None:
    """An old `tomorrow` is another day, and `mon cours` is no Monday."""
    for day, text in WEEK:
        await remember(service, alice, text, day)

    assert await ask(service, alice, "What's on tomorrow?") == [WEEK[6][1], WEEK[2][1]]
    next_week = await ask(service, alice, "What's on next week?")
    assert next_week[:2] == [WEEK[3][1], WEEK[2][1]]


async def test_due_days_are_found_among_many_files(
    service: Service, alice: Caller, caller_of: CallerOf
) -> None:
    """However many files there are, search finds the statements by the words of their due days."""
    await put(service, await caller_of(None, role="admin"), MANY)
    for number in range(30):
        day = TODAY + timedelta(days=number)
        text = f"# Notes\n\n## Notes\n\n- Bill {number} comes. (2026-10-01, due {day})\n"
        await service.execute(alice, "memory_write", {"path": f"user/notes-{number + 2}.md", "content": text})

    found = await ask(service, alice, "What is due by Wednesday?")
    # A list stands in its order within each file; each of these stands in a file of its own.
    assert sorted(one.split()[1] for one in found) == ["0", "1", "2"]


async def test_a_moment_of_the_past_has_its_own_today(service: Service, alice: Caller) -> None:
    """A question about the past counts its days from then, and a replay gives the same answer."""
    await service.execute(alice, "memory_remember", {"text": "I must pay the fee by 30 November 2026."})
    as_of = datetime.now(UTC).isoformat()
    arguments = {"query": "What is due?", "as_of": as_of}
    result = await service.execute(alice, "memory_context", arguments, tool_call_id="past")

    assert "due 2026-11-30" in result["context"]
    assert (await replay_call(service, alice, "past")).is_equal


async def test_a_list_over_several_projects_is_replayed(service: Service, caller_of: CallerOf) -> None:
    """The files of all mounts are taken in one order, whatever order the database names the mounts in."""
    projects = [f"{name}-{'x' * number}" for number, name in enumerate(("zeta", "echo", "lima", "apollo"), 1)]
    admin = await caller_of(None, role="admin")
    for project in projects:
        await open_project(service, admin, project, "alice")
    caller = await caller_of("alice")
    for number, project in enumerate([None, *projects]):
        arguments = {"text": f"We decided to use type {number} of clay."} | (
            {"project": project} if project else {}
        )
        await service.execute(caller, "memory_remember", arguments)
    question = {"query": "What is new?", "budget": 4_000}
    found = await service.execute(caller, "memory_context", question, tool_call_id="new")

    assert len(re.findall("of clay", found["context"])) == 5
    assert (await replay_call(service, caller, "new")).is_equal


async def test_a_task_that_is_done_is_no_open_one_on_a_page_without_dates(
    service: Service, alice: Caller
) -> None:
    """Its box says so, also where somebody else wrote the page; a question for what is done gets it."""
    tasks = (
        "# Tasks\n\n## To do\n\n- [ ] paint the roof\n- [X] order sand\n- [x] sign the lease (2026-11-01)\n"
    )
    await write(service, alice, "user/tasks.md", tasks)

    for call_id, question in (("open", "What are my open tasks?"), ("due", "What is due?")):
        answer = (await run_tool(service, alice, "context", call_id, query=question))["context"]
        assert "paint the roof" in answer
        assert "sand" not in answer
        assert "lease" not in answer
    done = (await run_tool(service, alice, "context", "done", query="Which tasks are done?"))["context"]
    assert "sign the lease" in done
