"""Signals, the planner by rules, and the checks: pure, over memories that a generator makes."""

import random
from collections import Counter
from datetime import UTC, date, datetime, timedelta

import pytest

from memex.errors import VersionConflict
from memex.store.search.analyzer import Analyzer
from memex.subagent.dream.edits import EditChange, FileEdit, apply_groups, edit_of
from memex.subagent.dream.pages import DreamPage, MountState, UnfiledEntry
from memex.subagent.dream.rules import is_refused, plan_by_rules
from memex.subagent.dream.signals import count_signals, find_signals
from memex.subagent.dream.verify import UnsafeEdits, check_merged, core, verify

TODAY = date(2026, 11, 29)
ANALYZER = Analyzer()
NOTES, LIKES, TASKS = "user/notes.md", "user/preferences.md", "user/tasks.md"
SEEDS = 60  # of random memories in each run; `test_a_thousand_random_memories_lose_nothing` has them all


def state_of(texts: dict[str, str], **more: object) -> MountState:
    """Return a mount of pages."""
    pages = {path: DreamPage(path, 1, text) for path, text in sorted(texts.items())}
    return MountState("user", 1, pages, TODAY, **more)  # type: ignore[arg-type]


def kinds(texts: dict[str, str], **more: object) -> dict[str, int]:
    """Return how many signals there are of each kind."""
    return count_signals(find_signals(state_of(texts, **more), ANALYZER))


def dreamt(texts: dict[str, str], **more: object) -> dict[str, str]:
    """Apply all that dreams propose until nothing comes."""
    for _ in range(12):
        state = state_of(texts, **more)
        plan = plan_by_rules(state, find_signals(state, ANALYZER))
        if not plan.groups:
            return texts
        changed = verify(state, plan.groups)
        texts = texts | changed
    raise AssertionError("there is always something to dream of")


# Statements with what stands in for hostile Markdown, code, and other languages.
STATEMENTS = (
    "I like green tea in the morning.",
    "The user likes green tea in the morning.",
    "I like green tea in the evening.",
    "I do not like green tea in the morning.",
    "I live in Berlin.",
    "I live in Hamburg.",
    "My sister lives in Berlin.",
    "We use Postgres 15 for the queue.",
    "We use Postgres 16 for the queue.",
    "Mara Lindqvist sold the boat in May.",
    "Mara Lindquist sold the boat in May.",
    "Ich trinke morgens gern grünen Tee.",
    "J'aime le thé vert le matin.",
    "`code` and **bold** and <b>html</b> stay as they are.",
    "See [[mara|our Mara]] and [[nowhere]].",
    "Price: 40 EUR | or 50?",
    "> quoted # heading",
    "\\- escaped 1. item",
    "The meeting is on 2026-05-01 at 10:00.",
    "The meeting is on 2026-05-02 at 10:00.",
    "日本語の文です。",
)
TASKS_SAID = (
    "call the plumber about the sink",
    "water the plants every week",
    "Buy milk",
    "send Ada the offer",
)
PROSE = (
    "# Title\n",
    "\n",
    "Some prose about Mara.\n",
    "```python\n- no item\n```\n",
    "| a | b |\n|---|---|\n",
    "---\n",
)


def random_memory(seed: int) -> dict[str, str]:
    """Return pages that say some things twice, with prose, code, lists and nested items between."""
    rnd = random.Random(seed)
    texts: dict[str, str] = {}
    for path in (NOTES, LIKES, TASKS, "user/profile.md", "user/mara.md", "user/sub/own.md"):
        if rnd.random() < 0.2:
            continue
        parts = ["# Mara\n\n"] if path == "user/mara.md" else []
        for _ in range(rnd.randrange(14)):
            sort = rnd.random()
            day = date(2026, 1, 1) + timedelta(days=rnd.randrange(300))
            stamp = f" ({day})" if rnd.random() < 0.7 else ""
            if sort < 0.55:
                parts.append(f"- {rnd.choice(STATEMENTS)}{stamp}\n")
            elif sort < 0.75:
                box = rnd.choice("x ")
                parts.append(f"- [{box}] {rnd.choice(TASKS_SAID)}{stamp}\n")
            elif sort < 0.8:
                parts.append(f"- {rnd.choice(STATEMENTS)}{stamp}\n  - nested {rnd.choice(STATEMENTS)}\n")
            else:
                parts.append(rnd.choice(PROSE))
        text = "".join(parts)
        texts[path] = text.replace("\n", "\r\n") if rnd.random() < 0.1 else text
    return texts


def check_loses_nothing(texts: dict[str, str]) -> None:
    """Check by words alone, apart from `verify`, that each line stands after all dreams, or one that says it."""
    after = dreamt(texts)
    standing = Counter(core(line) for text in after.values() for line in text.splitlines())
    forms = {" ".join(said.casefold().replace("the user likes", "i like").split()) for said in standing}
    for text in texts.values():
        for line in text.splitlines():
            said = core(line)
            replaced = said == "I live in Berlin." and standing["I live in Hamburg."]
            replaced = replaced or (said == "I live in Hamburg." and standing["I live in Berlin."])
            replaced = replaced or said.startswith(("We use Postgres", "The meeting is on"))
            is_kept = (
                standing[said]
                or " ".join(said.casefold().replace("the user likes", "i like").split()) in forms
            )
            assert is_kept or replaced, said
    assert dreamt(after) == after


@pytest.mark.parametrize("seed", range(SEEDS))
def test_a_random_memory_loses_nothing(seed: int) -> None:
    """Every statement stands after all proposals, or is named with its twin; then nothing more is proposed."""
    check_loses_nothing(random_memory(seed))


@pytest.mark.slow
def test_a_thousand_random_memories_lose_nothing() -> None:
    """The same for a thousand."""
    for seed in range(SEEDS, 1_000):
        check_loses_nothing(random_memory(seed))


def test_what_looks_alike_stays() -> None:
    """Another number, name, negation, date or person is another statement."""
    pairs = [
        ("I like green tea in the morning.", "I do not like green tea in the morning."),
        ("The rent is 900 EUR a month.", "My sister says the rent is 950 EUR a month."),
        ("Mara Lindqvist sold the boat in May.", "Mara Lindquist sold the boat in May."),
        ("Tom met Ada in Graz in 2024.", "Tom met Ida in Graz in 2024."),
        ("The flight leaves at 9:40 on 2026-05-01.", "The flight leaves at 9:40 on 2026-06-01."),
    ]
    for one, other in pairs:
        found = kinds({NOTES: f"# Notes\n\n- {one} (2026-03-02)\n- {other} (2026-03-02)\n"})
        assert found.get("duplicate", 0) == 0, one
    found = kinds(
        {
            "user/mara.md": "# Mara\n\n- Likes long walks at night.\n",
            "user/tom.md": "# Tom\n\n- Likes long walks at night.\n",
        }
    )
    assert found.get("duplicate", 0) == 0


UNLIKE = (
    ("No, deploy on Friday evening", "No deploy on Friday evening"),
    ("Use a != b in the checks", "Use a = b in the checks"),
    ("The wifi password is Summer 24!", "The wifi password is summer 24"),
    ("The wifi password is summer!", "The wifi password is summer"),
    ("The engine makes 5 mW at most", "The engine makes 5 MW at most"),
    ("In Bayern they drink in Maßen", "In Bayern they drink in Massen"),
    ("The parser stands in foo.py now", "The parser stands in Foo.py now"),
    ("Foo.py holds the parser now", "foo.py holds the parser now"),
    ("The US team starts at noon", "The us team starts at noon"),
    ("Don't, stop at the first error", "Don't stop at the first error"),
    ("The function takes *args and more", "The function takes args and more"),
    ("The script reads PATH at the start", "The script reads Path at the start"),
    ("The sum stands in column A", "The sum stands in column a"),
    ("The sum stands in column a", "The sum stands in column"),
    ("The answer of the test is 5!", "The answer of the test is 5"),
    ("Run `a-b` before the tests.", "Run `a-b` before the tests"),
)
ALIKE = (
    ("I like green tea in the morning.", "i like green tea in the morning"),
    ("The user likes green tea in the morning!", "I like green tea in the morning."),
    ("I don’t eat peanuts at dinner", "I don't eat peanuts at dinner."),
    ("We keep a well-known list of rules", "We keep a well known list of rules"),
)


def test_a_line_goes_only_for_one_that_is_written_alike() -> None:
    """Case, commas, signs, code and secrets say something; planner and check both know that."""
    for is_alike, pairs in ((True, ALIKE), (False, UNLIKE)):
        for one, other in pairs:
            state = state_of({NOTES: f"- {one} (2026-10-01)\n- {other} (2026-10-01)\n"})
            first, second = state.lines
            gone = FileEdit(
                "duplicate",
                NOTES,
                1,
                (EditChange("line", second.raw, None),),
                (second.reference,),
                (first.reference,),
            )

            found = [signal.kind for signal in find_signals(state, ANALYZER)]
            assert ("duplicate" in found) == is_alike, one
            if is_alike:
                assert verify(state, [(gone,)])
                continue
            with pytest.raises(UnsafeEdits, match="twin"):
                verify(state, [(gone,)])


def test_signals_count_where_somebody_changed_a_page_since() -> None:
    """What a dream wrote, and what stood before the last dream, is no reason to dream."""
    line = "- I like green tea in the morning. (2026-03-02)\n"
    old = {NOTES: DreamPage(NOTES, 1, line, changed=3), LIKES: DreamPage(LIKES, 1, line, changed=0)}

    def found(since: int) -> dict[str, int]:
        return count_signals(find_signals(MountState("user", 9, old, TODAY, since), ANALYZER))

    assert found(0) == {"duplicate": 1}
    assert found(3) == {}


def test_a_page_of_policies_is_no_orphan() -> None:
    """Another page without links is, where most pages are linked."""
    texts = {"a.md": "See [[b]].\n", "b.md": "See [[a]].\n", "c.md": "See [[a]].\n", "d.md": "Alone.\n"}
    texts |= {"work-policies.md": "# Policies of work\n\n- Archive after 30 days\n"}
    pages = {f"user/{name}": DreamPage(f"user/{name}", 1, text, changed=1) for name, text in texts.items()}
    signals = find_signals(MountState("user", 9, pages, TODAY, 0), ANALYZER)

    assert [signal.places for signal in signals if signal.kind == "orphan"] == [("user/d.md",)]


def test_tasks_that_come_again_or_are_older_stay_open() -> None:
    """A task is ticked only if it was done after it was said, and does not come again."""
    for task, done in (
        ("- [ ] water the plants every week (2026-01-02)", "- [x] water the plants every week (2026-02-02)"),
        (
            "- [ ] call the plumber about the sink (2026-05-02)",
            "- [x] call the plumber about the sink (2026-02-02)",
        ),
        (
            "- [ ] call the plumber about the sink (2026-01-02)",
            "- [x] call the plumber about the bath (2026-02-02)",
        ),
    ):
        assert (
            kinds({TASKS: f"# Tasks\n\n{task}\n", "user/a.md": f"# A\n\n{done}\n"}).get("task_done") is None
        )


def test_a_task_that_somebody_else_did_stays_open() -> None:
    """A page of a person and a heading that is no kind give a task to somebody; the check knows it too."""
    task = "- [ ] renew the passport (2026-10-01)"
    done = "- [x] renew the passport (2026-11-01)"
    for path, text in (
        ("user/people/ann.md", f"# Ann\n\n## Ann's tasks\n\n{done}\n"),
        ("user/people/ann.md", f"# Ann\n\n{done}\n"),
        ("user/house.md", f"# House\n\n## Example of a list\n\n{done}\n"),
        (TASKS, f"# Tasks\n\n## Ann\n\n{done}\n"),
    ):
        texts = {"user/mine.md": f"# Mine\n\n## To do\n\n{task}\n", path: text}
        state = state_of(texts)
        [end] = state.pages[path].lines
        change = EditChange("line", task, task.replace("[ ]", "[x]"))
        edit = FileEdit("task_done", "user/mine.md", 1, (change,), (), (end.reference,))

        assert "task_done" not in kinds(texts)
        with pytest.raises(UnsafeEdits, match="box"):
            verify(state, [(edit,)])
    for path, text in (
        ("user/house.md", f"# House\n\n## 2026-11-01\n\n{done}\n"),
        ("user/mine.md", f"# Mine\n\n## Ann\n\n{done}\n{task}\n"),
    ):
        assert kinds({"user/mine.md": f"# Mine\n\n## To do\n\n{task}\n"} | {path: text})["task_done"] == 1


def test_a_long_page_becomes_a_page_for_each_heading() -> None:
    """No word is changed, and the old page leads to the new ones."""
    sections = "".join(f"## Part {number}\n\n{'Some words of prose. ' * 300}\n\n" for number in range(6))
    texts = {"user/big.md": f"# Big\n\nAn introduction.\n\n{sections}"}

    after = dreamt(texts)

    assert sorted(after) == ["user/big.md", *(f"user/big/part-{number}.md" for number in range(6))]
    assert "## Part 3\n\n[[big/part-3]]\n" in after["user/big.md"]
    assert after["user/big/part-3.md"] == sections.split("## Part 4")[0][sections.index("## Part 3") :]


@pytest.mark.parametrize(
    ("inside", "elsewhere", "is_split"),
    [
        ("[site](https://example.org/a) [mail](mailto:a@example.org) [[plan]]", "", True),
        ("", "[[big#Part 3]] [part](big.md#part-3)", True),  # the heading stays, and leads to the section
        ("[plan](plan.md)", "", False),
        ("[plan](<plan.md>)", "", False),
        ("![map](map.png)", "", False),
        ("[below](#part-5)", "", False),
        ("[[#Part 5]]", "", False),
        ("[plan][1]\n\n[1]: plan.md", "", False),
        ('<a href="plan.md">plan</a>', "", False),
        ("[[big#Detail]]", "", False),
        ("", "[[big#Detail]]", False),
        ("", "[part](big.md#detail)", False),
        ("", "[part][1]\n\n[1]: big.md#detail", False),
    ],
)
def test_a_page_is_split_only_where_all_links_still_lead_where_they_did(
    inside: str, elsewhere: str, *, is_split: bool
) -> None:
    """Links of the page to what stands beside it or in it, and links of other pages to headings that move."""
    sections = "".join(f"## Part {number}\n\n{'Some words of prose. ' * 300}\n\n" for number in range(6))
    texts = {
        "user/big.md": f"# Big\n\n{sections}### Detail\n\n{inside}\n",
        "user/plan.md": "# Plan\n",
        "user/other.md": f"# Other\n\n{elsewhere}\n",
    }

    found = kinds(texts)

    assert (found.get("split"), found.get("long_page")) == ((1, None) if is_split else (None, 1))


def filed(*told: str, **more: object) -> list[str]:
    """Return which statements of journal entries are filed; each entry was said a day after the one before."""
    entries = [
        UnfiledEntry(f"user/journal/{day}.md", 1, text, datetime(2026, 1, day, tzinfo=UTC))
        for day, text in enumerate(told, start=1)
    ]
    found = find_signals(state_of({}, entries=entries, **more), ANALYZER)
    return [signal.note for signal in found if signal.kind == "journal"]


def test_the_journal_gives_what_was_said_last_and_for_certain() -> None:
    """What a text takes back, puts right or is not sure about stays in the journal."""
    assert filed("I live in Lisbon. Correction: I live in Porto.") == ["I live in Porto."]
    assert filed("I live in Lisbon. I was born in Rome. I live in Porto.")[1:] == ["I live in Porto."]
    assert filed("I live in Lisbon.", "I live in Porto.") == ["I live in Porto."]
    assert filed("I never eat pork.", "I never eat pork!") == ["I never eat pork!"]
    assert filed("Ich lebe in Wien. Korrektur: Ich lebe in Graz.") == ["Ich lebe in Graz."]
    for text in (
        "I am allergic to nuts. Just kidding, I am not allergic to nuts.",
        "I prefer Vim. Actually no, I prefer Emacs.",
        "I prefer tea. Scratch that, I prefer coffee.",
        "I prefer tea. I’m joking.",
        "Maybe I prefer tea. I probably prefer dogs. I prefer oolong tea, I think.",
    ):
        assert filed(text) == []


def test_a_planner_that_files_again_what_a_page_held_is_stopped() -> None:
    """Whoever planned it."""
    said = "I prefer oolong tea."
    entry = UnfiledEntry("user/journal/1.md", 1, said, datetime(2026, 1, 5, tzinfo=UTC))
    state = state_of({}, entries=[entry], past_lines=["- The user prefers oolong tea. (2026-01-05)"])
    change = EditChange(
        "file",
        new=said,
        title="Notes",
        heading="Notes",
        day="2026-01-05",
        source=f"user/journal/1.md@1:0-{len(said)}",
    )

    with pytest.raises(UnsafeEdits, match="held"):
        verify(state, [(FileEdit("journal", NOTES, None, (change,)),)])


def test_what_was_refused_is_left_out_of_a_larger_group() -> None:
    """A further copy of a line, and a further task that is done, bring nothing back; nor does a larger merge."""
    line, task = "- I keep the spare key under the mat (2026-10-01)", "- [x] mend the roof (2026-01-01)"
    paths = NOTES, "user/notes-2.md", "user/notes-3.md"
    texts = dict.fromkeys(paths, f"{line}\n")
    refused = {
        ("duplicate", NOTES, line),
        ("archive", TASKS, task),
        ("merge", NOTES, "a"),
        ("merge", NOTES, "b"),
    }
    state = state_of(texts)
    other = "- [x] pay the rent (2026-01-01)"
    done = DreamPage(TASKS, 1, f"# Tasks\n\n{task}\n{other}\n", done_before=frozenset((task, other)))
    tasks = MountState("user", 1, {TASKS: done}, TODAY)

    [group] = plan_by_rules(state, find_signals(state, ANALYZER), refused).groups
    [archived] = plan_by_rules(tasks, find_signals(tasks, ANALYZER), refused).groups

    assert [edit.path for edit in group if not edit.is_need] == [paths[2]]
    assert [change.old for change in archived[0].changes] == [other]
    for old, is_out in (("ab", True), ("abc", True), ("ac", False)):
        changes = tuple(EditChange("line", letter) for letter in old)
        assert is_refused((FileEdit("merge", NOTES, 1, changes),), refused) == is_out


def test_a_moved_link_follows_its_file() -> None:
    """In a list, in prose and as a Markdown link; one that could mean two files is listed."""
    texts = {
        "user/a.md": "# A\n\nSee [[old plan]] for it.\n\n- [the plan](old-plan.md#now) (2026-01-01)\n- [[gone]]\n",
        "user/b/c.md": "[one](a%20map.md#x) and [[b/old plan]], again [[b/old plan]].\n",
        "user/plans/new.md": "# New\n",
        "user/maps/the map.md": "# Map\n",
    }
    moved = {
        "old-plan": "user/plans/new.md",
        "b/old-plan": "user/plans/new.md",
        "b/a-map": "user/maps/the map.md",
    }
    state = state_of(texts, moved=moved)

    plan = plan_by_rules(state, find_signals(state, ANALYZER))
    after = verify(state, plan.groups)

    assert "See [[plans/new]] for it." in after["user/a.md"]
    assert "- [the plan](plans/new.md#now) (2026-01-01)" in after["user/a.md"]
    after = dreamt(texts, moved=moved)
    assert after["user/b/c.md"] == "[one](../maps/the%20map.md#x) and [[plans/new]], again [[plans/new]].\n"
    assert [one.kind for one in plan.listed] == ["broken_link"]


def test_a_name_gets_a_link_at_the_end_of_its_line() -> None:
    """Once on each page, not where the word is an ordinary one, and never more than three in a line."""
    texts = {
        "user/people/mara.md": "# Mara\n\nOur neighbour.\n",
        "user/people/will.md": "# Will\n\nA friend.\n",
        "user/keyboard-shortcuts.md": "# Keyboard Shortcuts\n\nEach of the shortcuts.\n",
        "user/menu.md": "# Menu\n\n- Choose Keyboard Shortcuts in the settings.\n",
        "user/diary.md": (
            "# Diary\n\n- Met Mara at the fair. (2026-01-02)\n- Mara again. (2026-01-03)\n- I will go with Will.\n"
        ),
    }

    after = dreamt(texts)

    assert (
        "- Met Mara at the fair. (2026-01-02) [[people/mara]]\n- Mara again. (2026-01-03)\n"
        in after["user/diary.md"]
    )
    assert "[[people/will]]" not in after["user/diary.md"]
    assert after["user/menu.md"] == texts["user/menu.md"]


def merged(text: str, stamp: str) -> FileEdit:
    """Return an edit that puts a sentence in the place of the two lines about boats of `BOAT_LINES`."""
    first, second = DreamPage(LOG, 1, BOAT_LINES).lines
    changes = EditChange("line", second.raw, None), EditChange("line", first.raw, f"- {text} ({stamp})")
    lines = first.reference, second.reference
    return FileEdit("merge", LOG, 1, changes, lines, (first.reference,) * 2)


def sabotaged(change: EditChange, *, path: str = NOTES, kind: str = "duplicate", **more: object) -> FileEdit:
    """Return an edit that a planner could make up."""
    return FileEdit(kind, path, 1, (change,), **more)  # type: ignore[arg-type]


LOG = "user/log.md"
BOAT_LINES = "- Mara has 2 boats. (2026-03-02)\n- Mira has 2 boats. (2026-03-02)\n"
BEFORE = {
    LOG: BOAT_LINES,
    NOTES: (
        "# Notes\n\n- I like green tea in the morning. (2026-03-02)\n- Mara has 2 boats. (2026-03-02)\n"
        "- [ ] sell it\n"
    ),
    LIKES: "# Preferences\n\n- I like green tea in the morning. (2026-04-02)\n- Mira has 2 boats. (2026-03-02)\n",
}
TEA, BOATS = BEFORE[NOTES].splitlines()[2], BEFORE[NOTES].splitlines()[3]
BOATS_AT = {
    path: next(line.reference for line in DreamPage(path, 1, text).lines if "boats" in line.text)
    for path, text in BEFORE.items()
}
BOTH = "Mara has 2 boats, and Mira has 2 boats."
SABOTAGE = {
    "lost": sabotaged(EditChange("line", BOATS, None)),
    "twin": sabotaged(EditChange("line", BOATS, None), removed=(BOATS_AT[NOTES],), kept=(BOATS_AT[LIKES],)),
    "invented": sabotaged(EditChange("line", BOATS, BOATS.replace("2", "3")), kind="link"),
    "stamp": sabotaged(EditChange("line", BOATS, BOATS.replace("2026-03-02", "2025-03-02")), kind="link"),
    "box": sabotaged(EditChange("line", "- [ ] sell it", "- [x] sell it"), kind="task_done"),
    "link": sabotaged(EditChange("line", BOATS, f"{BOATS} [[nowhere]]"), kind="link"),
    "mount": sabotaged(EditChange("text", new="# Theirs\n"), path="projects/apollo/a.md", kind="split"),
    "merge": merged("Mara has 2 boats.", "2026-03-02"),
    "merge day": merged(BOTH, "2025-03-02"),
}


@pytest.mark.parametrize("check", SABOTAGE)
def test_sabotage_is_stopped_by_the_named_check(check: str) -> None:
    """A planner that drops a statement, merges two people, invents a number or a day, or edits another mount."""
    state = state_of(BEFORE)

    with pytest.raises(UnsafeEdits) as refused:
        verify(state, [(SABOTAGE[check],)])

    assert refused.value.check == check.partition(" ")[0]
    assert verify(state, [(merged(BOTH, "2026-03-02"),)])[LOG] == f"- {BOTH} (2026-03-02)\n"


def test_too_much_at_once_is_refused() -> None:
    """More than 40 edits, and more than a tenth of the statements."""
    path, other = "user/many.md", "user/others.md"
    lines = [f"- Statement number {number} says a thing. (2026-01-01)" for number in range(30)]
    text = "\n".join(lines) + "\n"
    state = state_of({path: text, other: text})
    twins = {line.raw: line for line in state.pages[other].lines}
    gone = [
        FileEdit(
            "duplicate",
            path,
            1,
            (EditChange("line", one.raw, None),),
            (one.reference,),
            (twins[one.raw].reference,),
        )
        for one in state.pages[path].lines
    ]

    with pytest.raises(UnsafeEdits) as tenth:
        verify(state, [(edit,) for edit in gone[:7]])
    with pytest.raises(UnsafeEdits) as bounds:
        verify(state, [(FileEdit("link", path, 1, (EditChange("need", lines[0]),)),)] * 41)

    assert verify(state, [(edit,) for edit in gone[:6]])[path].count("\n") == 24
    assert (tenth.value.check, bounds.value.check) == ("tenth", "bounds")


MEETING = "manages the quarterly budget review meeting with finance department every Tuesday morning"
MERGES = (
    (
        ("Mara has 2 boats in Graz.", "Mara bought 2 boats in Graz."),
        "Mara has 2 boats in Graz, which Mara bought.",
    ),
    (
        ("I don’t eat peanuts at dinner", "I don't eat peanuts at lunch"),
        "I don't eat peanuts at dinner and lunch",
    ),
    (("Anna likes tea", "The user's sister Anna likes cake"), "The user's sister Anna likes tea and cake"),
    (("Ich mag keinen Kaffee", "Ich mag keinen Kaffee am Abend"), "Ich mag keinen Kaffee am Abend"),
)
WRONG_MERGES = (
    (MERGES[0][0], "Mara has 3 boats in Graz."),
    (MERGES[0][0], "Mara has no 2 boats in Graz, which Mara bought."),
    (MERGES[0][0], "Ada has 2 boats in Graz, which Mara bought."),
    (MERGES[0][0], "Mara has 2 boats."),
    (MERGES[0][0], "Mara has 2 boats in Graz, which Mara bought after a long winter."),
    ((f"Anna {MEETING}", f"Bella {MEETING}"), f"Anna {MEETING}"),
    ((f"bob {MEETING}", f"tom {MEETING}"), f"tom {MEETING}"),
    (
        ("I don’t eat peanuts at dinner", "I don’t eat peanuts at lunch or dinner"),
        "I eat peanuts at lunch or dinner",
    ),
    (("Я не ем орехи на обед дома", "Я не ем орехи дома"), "Я ем орехи на обед дома"),
    (("Я ем орехи на обед дома", "Я ем орехи дома"), "Я не ем орехи на обед дома"),
    (("我不喜欢绿茶 in the office daily", "我不喜欢绿茶 in office daily"), "我喜欢绿茶 in the office daily"),
    (("Ann pays Bob", "Ann pays Bob the rent"), "Bob pays Ann the rent"),
    (("I like tea but not coffee", "I like tea not coffee at work"), "I like coffee but not tea at work"),
    (("I eat 5 apples, and 7 pears", "I eat 7 pears and 5 apples daily"), "I eat 7 apples and 5 pears daily"),
    (("I haven't paid the invoice yet", "I have paid it: the invoice"), "I haven't paid the invoice yet"),
    (("It was -5 outside today", "It was -5 outside"), "It was 5 outside today"),
    (("I check a != b there", "I check a != b"), "I check a = b there"),
    (("I like tea", "I like coffee"), "I like tea or coffee"),
)


def test_a_merged_sentence_keeps_numbers_names_and_negations() -> None:
    """One sentence in the place of several, by a model; what says more, less or something else is refused."""
    for said, merged in MERGES:
        check_merged(said, merged)
    for said, merged in WRONG_MERGES:
        with pytest.raises(UnsafeEdits, match="merge"):
            check_merged(said, merged)


def test_a_newer_value_takes_no_negation_away() -> None:
    """Also where the apostrophe is a curly one, and in a language whose negations no table has."""
    for older, newer in (
        ("I don’t eat peanuts", "I do eat peanuts"),
        ("Я не ем орехи дома", "Я ем орехи дома"),
        ("Ich trinke ohne Pause Kaffee", "Ich trinke mit Pause Kaffee"),
    ):
        state = state_of({NOTES: f"- {older} (2026-01-01)\n- {newer} (2026-05-01)\n"})
        old, new = state.lines
        change = EditChange("line", old.raw, None)
        edit = FileEdit("superseded", NOTES, 1, (change,), (old.reference,), (new.reference,))

        with pytest.raises(UnsafeEdits, match="twin"):
            verify(state, [(edit,)])


def test_edits_are_refused_where_their_lines_changed() -> None:
    """The file says something else now, or says it twice; and an edit is the same after it was kept as JSON."""
    edit = sabotaged(EditChange("line", TEA, None), removed=("r",), kept=("k",))
    row = {
        "kind": "duplicate",
        "path": NOTES,
        "base_version": 1,
        "change": edit.as_json(),
        "removed": ["r"],
        "kept": ["k"],
        "why": "",
    }

    assert edit_of(row) == edit
    for text in ("# Notes\n", f"{TEA}\n{TEA}\n", None):
        with pytest.raises(VersionConflict):
            edit(text)
    assert apply_groups({NOTES: f"{TEA}\r\nend"}, [(edit,)]) == {NOTES: "end"}
