"""Lives: those that are shipped are sound, and what is measured on one is what one would count by hand."""

import gzip
import hashlib
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml

from memex.errors import ValidationFailed
from memex.evals.adapter import Placed, Recalled, Remembered
from memex.evals.lives import tables
from memex.evals.lives.life import FOLDER, SUMS, Life, load_life, shipped_lives, squash
from memex.evals.lives.measure import LifeMeasures, combine, measure
from memex.evals.lives.pairs import FILES
from memex.evals.lives.play import context_units, file_units, play
from memex.evals.memex_adapter import MemexAdapter
from memex.service.evals.states import Manifest, State
from memex.service.service import Service
from memex.subagent.context.assembly import Note, assemble
from memex.subagent.statements.bullets import ITEM

NOW = datetime(2027, 3, 1, 9, tzinfo=UTC)
LIFE = """\
life: ferryman
language: en
about: Ruben, who rows a ferry.
start: 2027-03-01
texts:
- {id: t1, at: 2027-03-01T08:00, how: digest, text: "The ferry leaves at 07:15. The fare is 3 euros.", facts: [
    {id: f1, keys: [ferry, "07:15"], kind: fact, aspect: departure},
    {id: f2, keys: [fare, 3 euros], kind: fact, aspect: fare}]}
- {id: t2, at: 2027-03-02T08:00, how: message, text: "I must oil the oars.", facts: [
    {id: f3, keys: [oil the oars], kind: task, aspect: oars}]}
- {id: t3, at: 2027-03-03T08:00, how: digest, text: "The ferry leaves at 08:45 now.", facts: [
    {id: f4, keys: [ferry, "08:45"], kind: fact, aspect: departure, changes: [f1], how: replaces}]}
- {id: t4, at: 2027-03-04T08:00, how: message, text: "What a morning!", facts: [], noise: smalltalk}
- {id: t5, at: 2027-03-05T08:00, how: message, text: "The gate code is 9917. Dogs ride free.", secrets: ["9917"],
  facts: [{id: f5, keys: [dogs, free], kind: constraint, aspect: dogs}]}
- {id: t6, at: 2027-03-06T08:00, how: message, text: "Oars are done.", facts: [
    {id: f6, keys: [oars are done], kind: event, aspect: oars, changes: [f3], how: closes}]}
- {id: t7, at: 2027-03-07T08:00, how: message, text: "Forget the fare.", facts: [], forget: [f2]}
questions:
- {id: q1, at: 2027-03-02T09:00, text: "When do I row?", expected: [f1], outdated: [], self: false, budget: 600}
- {id: q2, at: 2027-03-08T09:00, text: "When do I row?", expected: [f4], outdated: [f1], self: true, budget: 1500}
- {id: q3, at: 2027-03-08T09:01, text: "Who is Wanda?", expected: [], outdated: [], self: false, budget: 8000}
"""


class Scripted:
    """A service that keeps everything, nothing, or a journal alone, and recalls all that its file holds."""

    name = "scripted"

    def __init__(self, *, keeps: bool, is_journal: bool = False) -> None:
        self.keeps = keeps
        self.is_journal = is_journal

    @asynccontextmanager
    async def place(self, state: State) -> AsyncIterator[Placed]:
        """Begin with an empty memory."""
        yield Kept() if self.is_journal else Everything() if self.keeps else Nothing()


class Nothing(Placed):
    """A memory that stays empty."""

    text = ""

    async def remember(self, user: str, text: str, *, project: str | None, now: datetime) -> Remembered:
        """Keep nothing."""
        return Remembered()

    async def context(
        self, user: str, query: str, *, budget: int, project: str | None, max_hops: int, now: datetime
    ) -> Recalled:
        """Recall all."""
        notes = [Note("user/notes.md", self.text)] if self.text else []
        return Recalled(assemble(notes).text)

    async def files(self, user: str) -> Mapping[str, str] | None:
        """Return the one file."""
        return {"user/notes.md": self.text} if self.text else {}


class Everything(Nothing):
    """A memory that keeps each sentence, and tells of one rival."""

    text = "## Notes\n"

    async def remember(self, user: str, text: str, *, project: str | None, now: datetime) -> Remembered:
        """Keep each sentence as a bullet."""
        self.text += "".join(f"- {sentence.rstrip('.')}.\n" for sentence in text.split(". "))
        is_rival = "08:45" in text
        return Remembered(trace={"rivals": [{"older": "The ferry leaves at 07:15."}] if is_rival else []})


class Kept(Nothing):
    """A memory that keeps each text word for word in a journal, and states nothing."""

    def __init__(self) -> None:
        self.entries: dict[str, str] = {}

    async def remember(self, user: str, text: str, *, project: str | None, now: datetime) -> Remembered:
        """Keep the text, with secrets removed."""
        self.entries[f"user/journal/{now:%Y-%m-%d}.md"] = text.replace("9917", "[removed]")
        return Remembered()

    async def files(self, user: str) -> Mapping[str, str] | None:
        """Return no file."""
        return {}

    async def journal(self, user: str) -> Mapping[str, str]:
        """Return all that was told."""
        return self.entries


@pytest.fixture
def life(tmp_path: Path) -> Life:
    """The life of a ferryman."""
    return saved(tmp_path, LIFE)


def saved(folder: Path, text: str) -> Life:
    """Return a life from a file of this text."""
    path = folder / "ferryman.yaml"
    path.write_text(text, encoding="utf-8")
    return load_life(path)


def counted(measured: LifeMeasures) -> dict[str, tuple[int, int]]:
    """Return hits and cases of the figures that count any."""
    return {figure.name: (figure.hits, figure.count) for figure in measured.figures if figure.cases}


def test_each_shipped_life_is_what_its_writer_sealed() -> None:
    """The digests are of the texts, compressed or not; no file is missing, and none is beside them."""
    sums = dict(reversed(line.split()) for line in SUMS.read_text().splitlines())
    found = {}
    for path in [*shipped_lives(), *FILES.values()]:
        data = path.read_bytes()
        text = gzip.decompress(data) if path.suffix == ".gz" else data
        found[str(path.relative_to(FOLDER)).removesuffix(".gz")] = hashlib.sha256(text).hexdigest()

    # Compared as lists of names, so that a failure shows no text of a sealed life.
    assert sorted(found) == sorted(sums)
    assert [name for name in sums if sums[name] != found[name]] == []


@pytest.mark.slow
def test_each_shipped_life_is_sound() -> None:
    """Keys stand in one sentence or entry of their text; what is named came before; secrets stand in their text."""
    names, wrong = [], []
    for path in shipped_lives():
        life = load_life(path)  # unique ids, and references to facts
        names.append(life.name)
        known: set[str] = set()
        for event in life.events:
            for fact in getattr(event, "facts", ()):
                is_there = fact.stands_in(squash(event.text))
                is_named = set(fact.changes) <= known and bool(fact.changes) == (fact.how is not None)
                wrong += [(life.name, fact.id)] * (not (is_there and is_named))
                known.add(fact.id)
            forgotten = getattr(event, "forget", None)
            named = [*getattr(event, "expected", ()), *getattr(event, "outdated", ())]
            named += forgotten if isinstance(forgotten, tuple) else ()
            is_hidden = any(secret not in event.text for secret in getattr(event, "secrets", ()))
            wrong += [(life.name, event.id)] * (not set(named) <= known or is_hidden)
        assert {text.how for text in life.content.texts} == {"digest", "message"}
        assert {question.budget for question in life.content.questions} == {600, 1_500, 8_000}
        assert len(life.content.texts) >= 70
        assert len(life.content.questions) >= 65

    assert wrong == []
    assert len(names) == len(set(names)) == 12


async def test_a_memory_that_keeps_everything(life: Life) -> None:
    """Nothing is lost, and nothing is corrected or forgotten."""
    measured = measure(await play(life, Scripted(keeps=True)))

    assert counted(measured) == {
        "applied: digests": (0, 1),
        "applied: messages": (0, 1),
        "applied or shown as rivals": (1, 2),
        "forgotten: one statement": (0, 1),
        "forgotten or asked back": (0, 1),
        "small talk kept": (1, 1),
        "secrets kept out": (0, 1),
        "wrong rivals": (0, 6),
        # Before each text, the facts that stand and that it does not change: 0 2 2 3 3 3 3.
        "wrongly removed": (0, 16),
        # All but the departure that was replaced, the task that was closed and the fare.
        "lost": (0, 3),
        # A task and a rule stand among the notes.
        "kind right": (4, 6),
        "evidence in 600 characters": (1, 1),
        "evidence in 1500 characters": (1, 1),
        "questions about oneself: answered": (1, 1),
        "old value alone": (0, 1),
        "old beside new, unmarked": (1, 1),
        "old beside new, the old one first": (1, 1),
        "true statements shown as old": (0, 2),
        "nothing known: empty context": (0, 1),
    }
    assert [size.values for size in measured.sizes[:3]] == [(3,), (9,), (9,)]


async def test_a_memory_that_keeps_nothing(life: Life) -> None:
    """There is nothing to correct or to forget, and no question is answered."""
    measured = measure(await play(life, Scripted(keeps=False)))

    assert counted(measured) == {
        "small talk kept": (0, 1),
        "secrets kept out": (1, 1),
        "wrong rivals": (0, 6),
        "lost": (3, 3),
        "kind right": (0, 6),
        "evidence in 600 characters": (0, 1),
        "evidence in 1500 characters": (0, 1),
        "questions about oneself: answered": (0, 1),
        "old value alone": (0, 1),
        "nothing known: empty context": (1, 1),
    }
    assert [size.mean for size in measured.sizes] == [0, 0, 0, None]


async def test_a_memory_that_keeps_a_journal_alone(life: Life) -> None:
    """What an entry holds is not lost, and counts as a note; no page states it, and nothing takes it back."""
    found = counted(measure(await play(life, Scripted(keeps=True, is_journal=True))))

    assert found["lost"] == (0, 3)
    assert found["wrongly removed"] == (0, 16)
    assert found["kind right"] == (4, 6)
    assert found["small talk kept"] == (0, 1)
    assert found["secrets kept out"] == (1, 1)
    assert found["applied: digests"] == found["applied: messages"] == (0, 1)
    assert found["forgotten: one statement"] == (0, 1)


async def test_words_that_no_page_holds_any_more_are_blank_in_the_journal(service: Service) -> None:
    """As contexts leave them out; what else a text told stays."""
    manifest = Manifest(name="m", purpose="-", at=NOW, users=("user",))
    async with MemexAdapter(service).place(State(Path(), manifest, {})) as memory:
        for text in ("My boat is Fulmar. I prefer oolong tea.", "Forget that I prefer oolong tea."):
            await memory.remember("user", text, project=None, now=NOW)
        told = list((await memory.journal("user")).values())

        assert await memory.files("user") is not None
    assert [text.rstrip() for text in told][:1] == ["My boat is Fulmar."]
    assert not any("oolong" in text for text in told)


async def test_lives_are_counted_together(life: Life) -> None:
    """Each case once; the tables show the shares, the aims and what went wrong."""
    measured = [measure(await play(life, Scripted(keeps=keeps))) for keeps in (True, False)]
    together = combine("all", measured)
    rows = {row[0]: row[1:] for row in tables.overview([*measured, together]).rows}
    document = tables.document([together])["all"]

    assert rows["lost"] == ("≤ 3 %", "0 % of 3", "100 % of 3", "50 % of 6")
    assert rows["applied: digests"][1:] == ("0 % of 1", "–", "0 % of 1")
    assert document["lost"]["hits"] == 3
    assert document["lost"]["share"] == 0.5
    assert document["lines in 600 characters"]["mean"] == 1.5
    assert [row[0].split(":")[0] for row in tables.misses(measured[1], "lost").rows] == ["f4", "f5", "f6"]
    assert tables.misses(measured[0], "lost").rows == ()


def test_events_come_in_the_order_of_time(life: Life) -> None:
    """Questions among the texts."""
    assert [event.id for event in life.events] == ["t1", "t2", "q1", "t3", "t4", "t5", "t6", "t7", "q2", "q3"]
    assert not life.is_sealed
    assert life.projects == []
    assert life.sha256 == hashlib.sha256(LIFE.encode()).hexdigest()


def test_files_and_contexts_are_read_by_their_entries() -> None:
    """Each with the headings above it, or with the line of its note."""
    content = "# Tasks\n\nTwo\nlines.\n\n## Done\n\n- [x] Sail.\n  And  row.\n1. Oar\n"
    units = file_units("user/tasks.md", content)
    note = Note("user/tasks.md", "# To do\n- Oar\n- Sail", is_outdated=True)
    [first, second] = context_units(assemble([note]).text)

    assert [unit.text for unit in units] == ["two lines.", "- [x] sail. and row.", "1. oar"]
    assert [unit.is_done for unit in units] == [False, True, True]
    assert ITEM.match(first.text)
    assert (first.text, second.text) == ("- oar", "- sail")
    assert first.is_marked
    assert second.is_marked
    assert file_units("", "") == context_units("") == []


def test_a_file_that_is_no_life_is_refused(tmp_path: Path) -> None:
    """With what is wrong in it."""
    wrong: list[tuple[str, str]] = [
        ("", "must be an object"),
        ("- a list", "must be an object"),
        ("a: [", "is no YAML"),
        ("\x00", "is no YAML"),
        (LIFE.replace("language: en", "language: tlh"), "language"),
        (LIFE.replace("kind: task", "kind: wish"), "kind"),
        (LIFE.replace("budget: 600", "budget: 1"), "budget"),
        (LIFE.replace("id: f5", "id: f1"), "the id f1 stands twice"),
        (LIFE.replace("id: q3", "id: t3"), "the id t3 stands twice"),
        (LIFE.replace("changes: [f1]", "changes: [f77]"), "t3 names f77, which is no fact"),
        (LIFE.replace("forget: [f2]", "forget: [f77]"), "t7 names f77, which is no fact"),
        (LIFE.replace("outdated: [f1]", "outdated: [f77]"), "q2 names f77, which is no fact"),
        (yaml.safe_dump(yaml.safe_load(LIFE) | {"texts": []}), "texts"),
    ]
    for text, said in wrong:
        with pytest.raises(ValidationFailed, match=said):
            saved(tmp_path, text)
    for name in ("no.yaml", "no.yaml.gz"):
        with pytest.raises(ValidationFailed, match="Cannot read"):
            load_life(tmp_path / name)
    for data in (
        b"no gzip",
        gzip.compress(LIFE.encode())[:-20],
        gzip.compress(LIFE.encode())[:20] + b"\xff" * 40,
    ):
        (tmp_path / "bad.yaml.gz").write_bytes(data)
        with pytest.raises(ValidationFailed, match="Cannot read"):
            load_life(tmp_path / "bad.yaml.gz")


def test_a_sealed_life_is_read_as_an_open_one(tmp_path: Path, life: Life) -> None:
    """It only is not shown."""
    path = tmp_path / "ferryman.yaml.gz"
    path.write_bytes(gzip.compress(LIFE.encode()))
    sealed: Any = load_life(path)

    assert sealed.is_sealed
    assert sealed.content == life.content
    assert sealed.sha256 == life.sha256
