"""The journal where people and programs look: counted in lists, a day as one page, and in exports and imports."""

import io
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from tests.kit.memory import open_project
from tests.kit.rows import select
from tests.kit.zips import exported, zipped

from memex.errors import EntryImmutable, FileNotFound, ValidationFailed
from memex.service.journal.reading import READ_JOURNAL, EntryResult, JournalResult
from memex.service.log.replay.requests import replay_call
from memex.service.service import Caller, Service
from memex.service.tools.prompt_block import PROMPT_BLOCK
from memex.service.vaults.browsing import BROWSE
from memex.service.vaults.vault_export import export_files
from memex.service.vaults.vault_import import ImportResult, import_vault
from memex.sources.vault import ZipWriter
from memex.store.entry_path import entry_path
from memex.store.memory import Memory
from memex.store.past.memory import open_past

CallerOf = Callable[..., Awaitable[Caller]]
Result = dict[str, Any]

# The statements that these calls make are tested on both servers by the tests of the store.
pytestmark = pytest.mark.embedded_only

TOLD = (
    ("2025-10-30T21:15:00Z", "I prefer oolong tea."),
    ("2025-11-02T08:00:00Z", "We had a long walk along the river."),
    ("2025-11-27T09:30:12Z", "I live in Lisbon."),
    ("2025-11-27T18:05:00Z", "The choir sang well tonight."),
)
MONTHS = [{"month": "2025-10", "entries": 1}, {"month": "2025-11", "entries": 3}]


@pytest.fixture
def service(service: Service) -> Service:
    """Return a service that keeps the journal."""
    service.keeps_journal = True
    return service


async def run(service: Service, caller: Caller, tool: str, **arguments: Any) -> Result:
    """Run a tool."""
    return await service.execute(caller, f"memory_{tool}", arguments)


async def tell(service: Service, caller: Caller, text: str, said_at: str, **more: Any) -> Result:
    """Tell a text, and return the answer."""
    return await run(service, caller, "remember", text=text, said_at=said_at, **more)


async def journal(service: Service, caller: Caller, **given: Any) -> JournalResult:
    """Return a part of the journal."""
    return await READ_JOURNAL.call(service, caller, given)


async def give(service: Service, caller: Caller) -> dict[str, bytes]:
    """Return the files that an export of user/ holds."""
    buffer = io.BytesIO()
    await export_files(service, caller, ZipWriter(buffer), source="user")
    return exported(buffer.getvalue())


async def take(service: Service, caller: Caller, files: dict[str, bytes], **more: Any) -> ImportResult:
    """Import files."""
    return await import_vault(service, caller, zipped(files), **more)


@pytest.fixture
async def alice(service: Service, caller_of: CallerOf) -> Caller:
    """A user who told four texts, and has a note of her own."""
    alice = await caller_of("alice")
    alice = replace(alice, access=replace(alice.access, actor="assistant"))
    await run(service, alice, "write", path="user/notes/river.md", content="# River\n")
    for said_at, text in TOLD:
        await tell(service, alice, text, said_at)
    return alice


async def test_a_list_counts_the_journal_and_names_no_entries(service: Service, alice: Caller) -> None:
    """Where the prefix covers the journal, its months are counted; its entries are listed below it alone."""
    everything = await run(service, alice, "list")
    below = await run(service, alice, "list", prefix="user/journal/2025-11")
    elsewhere = await run(service, alice, "list", prefix="user/notes/")

    assert [file["path"] for file in everything["files"] if "journal" in file["path"]] == []
    assert "user/notes/river.md" in [file["path"] for file in everything["files"]]
    assert everything["journal"] == MONTHS
    assert [file["title"] for file in below["files"]] == [
        "2025-11-02 08:00",
        "2025-11-27 09:30",
        "2025-11-27 18:05",
    ]
    assert below["journal"] == MONTHS[1:]
    assert elsewhere["journal"] == []


async def test_pages_of_a_list_hold_each_file_once(service: Service, alice: Caller) -> None:
    """A cursor goes on after the last file, whether it stands before or behind the journal."""
    whole = await run(service, alice, "list")
    found, cursor = [], None
    while True:
        page = await run(service, alice, "list", limit=1, cursor=cursor)
        assert page["journal"] == MONTHS
        found += page["files"]
        if (cursor := page["next_cursor"]) is None:
            break
    entries, cursor = [], None
    while True:
        page = await run(service, alice, "list", prefix="user/journal/", limit=1, cursor=cursor)
        entries += page["files"]
        if (cursor := page["next_cursor"]) is None:
            break

    assert found == whole["files"]
    assert len(entries) == len(TOLD)


async def test_a_list_of_the_past_counts_the_journal_of_then(service: Service, alice: Caller) -> None:
    """`as_of` a state before a text was told, the text is not counted; a replay of the list finds the same."""
    then = datetime.now(UTC).isoformat()
    await tell(service, alice, "I play the cello.", "2025-12-01T10:00:00Z")

    past = await run(service, alice, "list", as_of=then)
    now = await run(service, alice, "list")
    replayed = await replay_call(service, alice, past["tool_call_id"])

    assert past["journal"] == MONTHS
    assert now["journal"] == [*MONTHS, {"month": "2025-12", "entries": 1}]
    assert replayed.is_equal


async def test_entries_beside_others_are_those_of_their_day_and_moment(
    service: Service, alice: Caller
) -> None:
    """Up to `reach` of them before and after each; of a state before one was told, that one is not among them."""
    told = [await tell(service, alice, f"Boat {n} sank.", f"2025-12-01T1{n}:00:00Z") for n in (3, 1)]
    then = await run(service, alice, "context", query="boats")
    told.append(await tell(service, alice, "Boat 2 sank.", "2025-12-01T12:00:00Z"))
    await tell(service, alice, "Another day.", "2025-12-02T10:00:00Z")
    third, first, second = [answer["entry"].split("@")[0] for answer in told]
    async with service.database.transaction(alice.access, snapshot=True) as connection:
        memory = Memory(connection, alice.access)
        near = await memory.entries_beside([first, third], reach=1)
        all_around = await memory.entries_beside([second], reach=2)
        before = await open_past(connection, alice.access, then["state"])
        past = await before.entries_beside([first, second, third], reach=2)

    assert near == {first: {second: 12}, third: {second: 12}}
    assert all_around == {second: {first: 12, third: 12}}
    assert list(all_around[second]) == [first, third]  # in one order, which the log of a replay has too
    assert past == {first: {third: 12}, third: {first: 12}}


async def test_models_read_a_line_a_month(service: Service, alice: Caller) -> None:
    """The catalogue and the prompt block name the months of the journal, and none of its entries."""
    catalogue = await service.catalogue(alice, max_chars=8_000)
    block = await PROMPT_BLOCK.call(service, alice, {})

    for text in (catalogue, block.text):
        assert "- user/journal/2025-10 — 1 entry\n- user/journal/2025-11 — 3 entries\n" in f"{text}\n"
        assert "093012" not in text
    assert block.files_left_out == 0


async def test_folders_show_the_journal_as_days(service: Service, alice: Caller) -> None:
    """Whoever looks through all files sees no entries; below the journal there is a folder a day."""
    everything = await BROWSE.call(service, alice, {})
    days = await BROWSE.call(service, alice, {"prefix": "user/journal/"})

    assert not any("journal" in file.path for file in everything.files)
    assert [folder.path for folder in days.folders] == [
        "user/journal/2025-10-30/",
        "user/journal/2025-11-02/",
        "user/journal/2025-11-27/",
    ]


async def test_a_day_is_read_in_its_order(service: Service, alice: Caller) -> None:
    """With the times, the teller, the project, and when the same text was told again."""
    await tell(service, alice, TOLD[2][1], "2025-11-28T07:00:00Z")

    months = await journal(service, alice)
    days = await journal(service, alice, month="2025-11")
    day = await journal(service, alice, day="2025-11-27")

    assert [one.model_dump() for one in months.months] == MONTHS
    assert not months.days
    assert [(one.day, one.entries) for one in days.days] == [("2025-11-02", 1), ("2025-11-27", 2)]
    first, second = day.entries
    assert (first.content, second.content) == (TOLD[2][1], TOLD[3][1])
    assert (first.origin, first.actor, first.about) == ("user", "assistant", None)
    assert datetime.fromisoformat(first.said_at) == datetime(2025, 11, 27, 9, 30, 12, tzinfo=UTC)
    assert [again.said_at[:10] for again in first.told_again] == ["2025-11-28"]
    assert second.told_again == []


async def test_a_long_day_comes_in_pages(service: Service, alice: Caller) -> None:
    """Each entry once, in the order of the day."""
    first = await journal(service, alice, day="2025-11-27", limit=1)
    second = await journal(service, alice, day="2025-11-27", limit=1, cursor=first.next_cursor)

    assert [one.content for one in (*first.entries, *second.entries)] == [TOLD[2][1], TOLD[3][1]]
    assert second.next_cursor is None


async def test_an_entry_names_the_lines_that_were_made_from_it(
    service: Service, alice: Caller, caller_of: CallerOf
) -> None:
    """While a page holds the line it is shown, and after that where it stood last."""
    [entry] = [
        one for one in (await journal(service, alice, day="2025-11-27")).entries if "Lisbon" in one.content
    ]
    assert entry.lines is None

    async def lines() -> list[tuple[str, str, str | None, str]]:
        [read] = (await journal(service, alice, path=entry.path)).entries
        assert read.lines is not None
        return [(one.path, one.words, one.line, one.state) for one in read.lines]

    before = await lines()
    await tell(service, alice, "I live in Porto now.", "2025-12-02T10:00:00Z")

    [(path, words, line, state)] = before
    assert path.startswith("user/")
    assert line is not None
    assert (words.rstrip("."), line.rstrip("."), state) == (
        "I live in Lisbon",
        "I live in Lisbon",
        "in_force",
    )
    assert [(one[0], one[2], one[3]) for one in await lines()] == [(path, None, "replaced")]


async def test_what_is_no_place_of_the_journal_is_refused(
    service: Service, alice: Caller, caller_of: CallerOf
) -> None:
    """A path of no entry, two places at once, and an entry of somebody else."""
    [entry] = (await journal(service, alice, day="2025-11-02")).entries
    bob = await caller_of("bob")

    with pytest.raises(ValidationFailed):
        await journal(service, alice, path="user/notes/river.md")
    with pytest.raises(ValidationFailed):
        await journal(service, alice, day="2025-11-02", month="2025-11")
    with pytest.raises(ValidationFailed):
        await journal(service, alice, day="today")
    with pytest.raises(FileNotFound):
        await journal(service, bob, path=entry.path)
    assert (await journal(service, bob, day="2025-11-02")).entries == []


async def test_an_entry_says_which_project_it_is_about(
    service: Service, caller_of: CallerOf, alice: Caller
) -> None:
    """A text that was told about a project stands in the teller's own journal."""
    await open_project(service, await caller_of(None, role="admin"), "apollo", "alice")
    alice = await caller_of("alice")

    await tell(service, alice, "We decided to use Postgres.", "2025-11-29T10:00:00Z", project="apollo")

    [entry] = (await journal(service, alice, day="2025-11-29")).entries
    assert entry.about == "apollo"


async def entries_of(service: Service, caller: Caller) -> list[EntryResult]:
    """Return all entries of a journal."""
    months = (await journal(service, caller)).months
    days = [day for one in months for day in (await journal(service, caller, month=one.month)).days]
    return [entry for one in days for entry in (await journal(service, caller, day=one.day)).entries]


async def test_an_export_makes_the_same_entries_again(
    service: Service, alice: Caller, caller_of: CallerOf
) -> None:
    """In the memory of another user: the same paths and words, said at the times of the paths."""
    files = await give(service, alice)
    bob = await caller_of("bob")

    taken = await take(service, bob, files)
    again = await take(service, bob, files)

    told, made = await entries_of(service, alice), await entries_of(service, bob)
    assert not taken.refused
    assert [(one.path, one.content) for one in made] == [(one.path, one.content) for one in told]
    assert {one.origin for one in made} == {"import"}
    assert [one.said_at for one in made] == [one.said_at for one in told]
    assert set(again.unchanged) >= {one.path for one in made}
    assert again.created == again.updated == []
    assert (await run(service, bob, "find", query="choir sang"))["hits"][0]["path"] == made[-1].path


async def test_an_import_refuses_other_words_for_an_entry_and_goes_on(
    service: Service, alice: Caller
) -> None:
    """An entry that memory holds is not rewritten, not even by an import that replaces; the rest is imported."""
    files = await give(service, alice)
    [entry] = (await journal(service, alice, day="2025-11-02")).entries
    name = entry.path.removeprefix("user/")
    files |= {name: b"We never walked.", "other.md": b"# Other\n"}

    predicted = await take(service, alice, files, replace=True, dry_run=True)
    taken = await take(service, alice, files, replace=True)

    for result in (predicted, taken):
        assert [(one.path, one.code) for one in result.refused] == [(name, "ENTRY_IMMUTABLE")]
        assert result.created == ["user/other.md"]
    assert (await journal(service, alice, day="2025-11-02")).entries == [entry]


async def test_no_other_call_writes_an_entry(service: Service, alice: Caller) -> None:
    """Write, patch, move and a batch are refused: for an entry that stands, and for a path where one could."""
    [entry] = (await journal(service, alice, day="2025-11-02")).entries
    free = f"user/{entry_path(datetime(2025, 11, 2, tzinfo=UTC), 'call-x')}"
    calls: list[tuple[str, Result]] = [
        ("write", {"path": entry.path, "content": "x", "overwrite": True}),
        ("write", {"path": entry.path, "content": "x", "base_version": 1}),
        ("write", {"path": free, "content": "x"}),
        ("patch", {"path": entry.path, "operation": "append", "text": "x"}),
        ("move", {"path": entry.path, "to": "user/elsewhere.md"}),
        ("move", {"path": "user/notes/river.md", "to": free}),
        (
            "write_many",
            {"edits": [{"kind": "patch", "path": entry.path, "operation": "append", "text": "x"}]},
        ),
    ]

    for tool, arguments in calls:
        with pytest.raises(EntryImmutable):
            await run(service, alice, tool, **arguments)
    assert (await journal(service, alice, day="2025-11-02")).entries == [entry]


async def test_an_entry_of_no_day_is_an_ordinary_file(service: Service, alice: Caller) -> None:
    """A path that looks like an entry's and names a day that there is not makes none."""
    path = entry_path(datetime(2025, 11, 2, tzinfo=UTC), "x").replace("2025-11-02", "2025-11-31")

    taken = await take(service, alice, {path: b"x"})

    assert taken.created == [f"user/{path}"]
    assert (await journal(service, alice)).months == (await journal(service, alice)).months
    assert (await journal(service, alice, day="2025-11-31")).entries == []


async def test_a_repeat_that_is_taken_back_does_not_count(service: Service, alice: Caller) -> None:
    """Its day goes from the entry, and comes back when the undoing is undone; the entry and other repeats stay."""
    text = TOLD[2][1]
    repeats = [await tell(service, alice, text, f"2025-11-2{day}T07:00:00Z") for day in (8, 9)]

    async def days() -> list[str]:
        entry = (await journal(service, alice, day="2025-11-27")).entries[0]
        assert entry.content == text
        return [again.said_at[8:10] for again in entry.told_again]

    before = await days()
    undone = await service.revert(alice, repeats[0]["tool_call_id"])
    after = await days()
    await service.revert(alice, undone["tool_call_id"])

    assert (before, after, await days()) == (["28", "29"], ["29"], ["28", "29"])


async def test_a_text_told_again_files_no_line_again(service: Service, alice: Caller) -> None:
    """Each line of a page has one row for its words, however often and after whatever they are told."""
    rows = """select count(*) as rows, count(distinct (line_key, entry_path, start_char)) as lines
                from statement where rev_end is null"""
    [before] = await select(service.database, rows)
    for day in (28, 29):
        await tell(service, alice, "I have a dog.", f"2025-11-{day}T06:00:00Z")
        await tell(service, alice, TOLD[2][1], f"2025-11-{day}T07:00:00Z")

    [after] = await select(service.database, rows)

    assert (before[0], after[0]) == (2, 3)
    assert after[0] == after[1]
