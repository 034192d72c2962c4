"""Short sentences that forget, put right or finish what memory holds, and those that must leave it alone."""

import re
from collections.abc import Awaitable, Callable

import pytest
from tests.kit.memory import open_project, remember

from memex.errors import FileNotFound
from memex.service.service import Caller, Service

pytestmark = pytest.mark.embedded_only
notes_are_filed = pytest.mark.usefixtures("without_journal")

CallerOf = Callable[..., Awaitable[Caller]]
FILES = ("notes", "profile", "preferences", "tasks", "decisions", "goals")

# What memory holds, and the request after which it holds nothing.
FORGOTTEN = [
    ("I take vitamin D every morning.", "Forget that I take vitamin D."),
    ("The user takes vitamin D every morning.", "Please forget that I take vitamin D"),
    ("I always take vitamin D in the morning.", "forget that I take vitamin D please"),
    ("I go to the gym on Mondays and Thursdays.", "Forget that I go to the gym."),
    ("I take metformin 500 mg twice a day.", "Forget that I take metformin."),
    ("My sister visits us every summer.", "Forget that my sister visits us."),
    ("I smoke on weekends.", "Forget that I smoke."),
    ("I play chess on Thursdays at 7pm.", "You can forget that I play chess."),
    ("I see a therapist every Tuesday at 16:00.", "Forget that I see a therapist, please."),
    ("Ich nehme jeden Morgen Vitamin D.", "Vergiss bitte, dass ich Vitamin D nehme."),
    ("Je prends de la vitamine D tous les matins.", "Oublie que je prends de la vitamine D."),
    ("Tomo vitamina D cada mañana.", "Olvida que tomo vitamina D."),
]
NOT_FORGOTTEN = [
    ("I live in Graz with my sister Anna.", "Forget that I live in Graz."),
    ("I take vitamin D and aspirin.", "Forget that I take vitamin D."),
    ("I do not take vitamin D.", "Forget that I take vitamin D."),
    ("I never take vitamin D in the morning.", "Forget that I take vitamin D."),
    ("My wife takes vitamin D every morning.", "Forget that I take vitamin D."),
    ("I take vitamin B every morning.", "Forget that I take vitamin D."),
    ("I took vitamin D last winter.", "Forget that I take vitamin D."),
    ("I owe Karim 200 euros for the tent.", "Forget that I owe Karim money."),
    ("I play chess with Omar on Thursdays.", "Forget that I play chess."),
    ("I take vitamin D every morning.", "I always forget that I take vitamin D."),
    ("I take vitamin D every morning.", "Did you forget that I take vitamin D?"),
    ("I take vitamin D every morning. I take vitamin D in winter.", "Forget that I take vitamin D."),
]


async def held(service: Service, caller: Caller, folder: str = "user") -> dict[str, list[str]]:
    """Return the statements in each file of statements that has any, without their days."""
    found = {}
    for name in FILES:
        try:
            read = await service.execute(caller, "memory_read", {"path": f"{folder}/{name}.md"})
        except FileNotFound:
            continue
        lines = [line for line in read["content"].splitlines() if line.startswith("- ")]
        if lines:
            found[name] = [re.sub(r" \(\d{4}-\d\d-\d\d[^)]*\)$", "", line)[2:] for line in lines]
    return found


async def told(service: Service, caller: Caller, *texts: str) -> dict[str, list[str]]:
    """Return what memory holds after texts, each remembered by a call."""
    for text in texts:
        await remember(service, caller, text)
    return await held(service, caller)


@notes_are_filed
@pytest.mark.slow
async def test_a_stated_request_forgets_what_says_at_most_when(service: Service, caller_of: CallerOf) -> None:
    """The request names what, and leaves out how often and when."""
    for number, (text, request) in enumerate(FORGOTTEN):
        assert await told(service, await caller_of(f"user-{number}"), text, request) == {}, request


@notes_are_filed
async def test_a_stated_request_forgets_nothing_that_says_more(service: Service, caller_of: CallerOf) -> None:
    """Another person, another value, a denial, two things in one statement, or two statements that are meant."""
    for number, (text, request) in enumerate(NOT_FORGOTTEN):
        caller = await caller_of(f"user-{number}")
        before = await told(service, caller, text)
        after = await told(service, caller, request)
        assert before.items() <= after.items() or set(before["notes"]) <= set(after["notes"]), request


@notes_are_filed
async def test_a_correction_puts_the_value_right(service: Service, alice: Caller) -> None:
    """The sentence itself is not stored, and no rival is left."""
    texts = ["The dev server listens on port 4180.", "The docs are served on port 80."]
    answers = [await remember(service, alice, text) for text in (*texts, "Correction: port 4190, not 4180.")]

    assert await held(service, alice) == {
        "notes": ["The dev server listens on port 4190.", "The docs are served on port 80."]
    }
    assert answers[-1]["rivals"] == []
    assert "replaced" in answers[-1]["writes"][0]["reason"]


@notes_are_filed
async def test_a_correction_that_may_mean_two_statements_changes_neither(
    service: Service, caller_of: CallerOf
) -> None:
    """Nor one of a statement that is about something else."""
    older = "The dev server listens on port 4180. The old dev server listened on port 4180."
    both = await told(service, await caller_of("ann"), older, "Correction: port 4190, not 4180.")
    other = await told(
        service,
        await caller_of("bob"),
        "The dev server listens on port 4180.",
        "The API listens on port 4190, not 4180.",
    )

    assert both["notes"][:2] == older.replace(". ", ".\n").splitlines()
    assert "The dev server listens on port 4180." in other["notes"]


async def test_a_task_that_is_corrected_stays_a_task(service: Service, alice: Caller) -> None:
    """With the other day, on which it is then due."""
    await remember(service, alice, "I need to call the bank by Friday.")
    await remember(service, alice, "Correction: call the bank on Monday, not Friday.")

    assert await held(service, alice) == {"tasks": ["[ ] I need to call the bank by Monday."]}


async def test_what_is_done_stands_for_its_task(service: Service, caller_of: CallerOf) -> None:
    """However it is said; other tasks stay open."""
    for number, (task, done) in enumerate(
        (
            ("I need to plant the garlic. I need to mend the beds.", "The garlic is planted."),
            ("- Book the flights\n- Mend the beds", "I booked the flights."),
            ("I need to renew my passport. I need to mend the beds.", "Passport is renewed."),
        )
    ):
        found = await told(service, await caller_of(f"user-{number}"), task, done)
        assert list(found) == ["tasks"], done
        assert found["tasks"][1] == f"[x] {done}"
        assert "end the beds" in found["tasks"][0]
        assert len(found["tasks"]) == 2


async def test_a_task_that_says_more_stays_whole_as_done(service: Service, alice: Caller) -> None:
    """The supplier and the amount stand nowhere else."""
    task = "I need to order 12 kg of cryolite tubes from Farbglas Lauscha by 13 November."
    await remember(service, alice, task)
    await remember(service, alice, "I ordered the cryolite tubes.")

    assert f"[x] {task}" in (await held(service, alice))["tasks"]


async def test_what_nobody_has_to_do_is_no_task(service: Service, caller_of: CallerOf) -> None:
    """It is not open, and not overdue; in four languages."""
    for number, text in enumerate(
        (
            "I no longer need to write the reference, I did it this morning.",
            "Ich muss die Rechnung nicht mehr bezahlen.",
            "Je ne dois plus payer la cantine.",
            "Ya no tengo que pagar el seguro.",
        )
    ):
        assert "tasks" not in await told(service, await caller_of(f"user-{number}"), text), text


async def test_what_is_not_done_leaves_the_task_open(service: Service, caller_of: CallerOf) -> None:
    """An attempt, a part, and one of two tasks that may be meant."""
    for number, (task, text) in enumerate(
        (
            ("I need to book the flights.", "I almost booked the flights."),
            ("I need to book the flights.", "I tried to book the flights, but the site was down."),
            ("I need to buy milk and bread.", "I bought milk."),
            (
                "I need to book the flights to Rome. I need to book the flights to Oslo.",
                "I booked the flights.",
            ),
        )
    ):
        caller = await caller_of(f"user-{number}")
        before = (await told(service, caller, task))["tasks"]
        after = (await told(service, caller, text))["tasks"]
        assert after[: len(before)] == before, text


async def test_a_task_of_a_project_is_done_by_what_its_member_says(
    service: Service, caller_of: CallerOf
) -> None:
    """In the first person it stands in the user's own file, and the task is ticked, for all to see.

    A call without the project changes nothing there.
    """
    await open_project(service, await caller_of(None, role="admin"), "apollo", "alice")
    inside, outside = await caller_of("alice", project="apollo"), await caller_of("alice")
    await remember(service, inside, "We need to book the flights by Friday. Todo: merge the login branch")

    await remember(service, outside, "The login branch is merged.")
    assert len((await held(service, inside, "projects/apollo"))["tasks"]) == 2
    await remember(service, inside, "I booked the flights.")
    assert await held(service, inside, "projects/apollo") == {
        "tasks": ["[ ] merge the login branch", "[x] We need to book the flights by Friday."]
    }
    assert "[x] I booked the flights." in (await held(service, inside))["tasks"]


@notes_are_filed
async def test_what_another_person_likes_is_a_note(service: Service, caller_of: CallerOf) -> None:
    """Of the project if the call names one; a person of the user's own stays with the user."""
    await open_project(service, await caller_of(None, role="admin"), "apollo", "alice")
    inside, bob = await caller_of("alice", project="apollo"), await caller_of("bob")
    await remember(service, inside, "Yusuf prefers async reviews. My wife hates olives. I prefer tea.")

    assert await held(service, inside, "projects/apollo") == {"notes": ["Yusuf prefers async reviews."]}
    assert await held(service, inside) == {
        "notes": ["My wife hates olives."],
        "preferences": ["I prefer tea."],
    }
    assert await told(service, bob, "Yusuf prefers async reviews.") == {
        "notes": ["Yusuf prefers async reviews."]
    }
    own = await told(service, bob, "My name is Bob Hale.", "Bob prefers window seats.", "Please call me Bo.")
    assert own["preferences"] == ["Bob prefers window seats.", "Please call me Bo."]


async def test_an_older_closing_is_undone_after_later_calls(service: Service, caller_of: CallerOf) -> None:
    """The task is open again, and what later calls wrote beside it stays."""
    ann, bob = await caller_of("ann"), await caller_of("bob")
    tasks = ["I need to book the flights.", "I need to plant the garlic.", "I need to paint the fence."]
    await told(service, ann, *tasks)
    await remember(service, ann, "The garlic is planted.", call="closing")
    await told(service, ann, "I booked the flights.", "I need to mend the gate.", "I painted the fence.")
    await service.revert(ann, "closing")

    await told(service, bob, tasks[1])
    await remember(service, bob, "The garlic is planted.", call="closing")
    await told(service, bob, tasks[0])
    await service.revert(bob, "closing")

    assert await held(service, ann) == {
        "tasks": [
            "[ ] I need to plant the garlic.",
            "[ ] I need to mend the gate.",
            "[x] I booked the flights.",
            "[x] I painted the fence.",
        ]
    }
    assert await held(service, bob) == {
        "tasks": ["[ ] I need to book the flights.", "[ ] I need to plant the garlic."]
    }
