"""What memory holds about a statement: where it stands already, and the files that it names."""

from collections.abc import Awaitable, Callable
from contextlib import nullcontext
from datetime import UTC, datetime

import pytest
from tests.kit.memory import open_project
from tests.kit.property_budget import in_turn

from memex.service.service import Caller, Service
from memex.store import links
from memex.store.log.call import Call, CallRequest
from memex.store.memory import Memory
from memex.subagent.memory_tools import MemorySnapshot, MemoryTools
from memex.subagent.planner import Addition
from memex.subagent.remember.file_series import nth_file
from memex.subagent.remember.related import MAX_LINKS, RelatedFiles, find_related
from memex.subagent.statements.extraction import Statement

# One server is enough: what is asked of it is tested on both by the tests of the store.
pytestmark = pytest.mark.embedded_only

OWN = frozenset({"user/notes.md", "user/profile.md"})
Ask = Callable[..., Awaitable[RelatedFiles]]


@pytest.fixture
async def alice(service: Service, caller_of: Callable[..., Awaitable[Caller]]) -> Caller:
    """Alice, a member of the project apollo."""
    admin = await caller_of(None, role="admin")
    await open_project(service, admin, "apollo", "alice")
    return await caller_of("alice")


@pytest.fixture
async def ask(service: Service, alice: Caller) -> Ask:
    """Asks about a statement that shall go to a path, after some files were written."""

    async def about(text: str, files: dict[str, str], path: str = "user/notes.md") -> RelatedFiles:
        for name, content in files.items():
            arguments = {"path": name, "content": content}
            await service.execute(alice, "memory_write", arguments)
        add = Addition(path, "Notes", "Notes", Statement("note", text, 0, len(text)))
        call = Call(CallRequest("call-1", "memory_remember", {}, {}, datetime.now(UTC)))
        async with service.database.transaction(alice.access, snapshot=True) as connection:
            moment = MemorySnapshot(Memory(connection, alice.access), {})
            tools = MemoryTools(lambda: nullcontext(moment), call)
            return await find_related(add, OWN, tools)

    return about


@pytest.mark.parametrize(
    "content",
    in_turn(
        [
            "The boat is blue.",
            "# Boat\n\nSome words.\nThe boat is blue.\nMore words.\n",
            "- the boat is blue (2020-01-01) [[people/bob]]\n",
            "* The boat is really blue!\r\n",
            "1. The boat is blue",
            f"# Long\n\n{'Other words here. ' * 400}\n\nThe boat is blue.\n",
        ],
        2,
    ),
)
async def test_a_line_or_bullet_that_says_the_same_is_known(ask: Ask, content: str) -> None:
    """Its reference names the file and version; what does not count in a statement does not count here."""
    about = await ask("The boat is blue.", {"user/boat.md": content})

    assert about.known is not None
    assert (about.known.reference.path, about.known.reference.version) == ("user/boat.md", 1)


@pytest.mark.parametrize(
    "content",
    [
        "The boat is not blue.",
        "The boat is green.",
        "Bob says the boat is blue.",
        "The boat is blue and old.",
        "# The boat\n\nIs blue.",
        "* [x] The boat is blue.\n",
        "# Boat\n\n## Said by Tom, wrong\n\n- The boat is blue.\n",
    ],
)
async def test_what_only_sounds_alike_is_not_known(ask: Ask, content: str) -> None:
    """Another value, a negation, more words."""
    assert (await ask("The boat is blue.", {"user/boat.md": content})).known is None


@pytest.mark.parametrize(
    ("path", "elsewhere"),
    [
        ("user/notes.md", "projects/apollo/boat.md"),
        ("projects/apollo/notes.md", "user/boat.md"),
        ("user/notes.md", "user/notes.md"),
    ],
)
async def test_only_other_files_of_the_same_mount_count(ask: Ask, path: str, elsewhere: str) -> None:
    """A duplicate in the file itself is found when it is written."""
    assert (await ask("The boat is blue.", {elsewhere: "The boat is blue."}, path)).known is None


@pytest.mark.parametrize(
    ("path", "content", "target"),
    [
        ("user/people/bob.md", "# Bob Miller\n", "people/bob"),
        ("user/people/BOB Miller.md", "Words.\n", "people/BOB Miller"),
        ("user/x.md", "---\ntitle: bob miller\n---\n", "x"),
        ("user/people/Bóbs Miller.md", "# Bób Miller\n", "people/Bóbs Miller"),
        ("user/boat.MD", "Words.\n", "boat"),
        ("user/boat.txt", "# Boat\n", "boat.txt"),
        ("projects/apollo/boat.md", "Words.\n", "projects/apollo/boat"),
    ],
)
async def test_a_file_is_named_by_its_title_or_name(ask: Ask, path: str, content: str, target: str) -> None:
    """Case and accents do not count, and all words must stand there in their order."""
    assert (await ask("I sail with Bob Miller on the boat.", {path: content})).links == (target,)


@pytest.mark.parametrize(
    ("path", "content"),
    [
        ("user/people/bob.md", "# Miller Bob\n"),
        ("user/a.md", "# Bob Miller the sailor\n"),
        ("user/on.md", "Bob Miller sails.\n"),
        ("user/the.md", "# The on with\n\nBob Miller\n"),
        ("user/profile.md", "# Boat\n\nBob Miller\n"),
        ("user/notes-2.md", "# Boat\n\nBob Miller\n"),
        ("user/bobcat.md", "Bob Miller\n"),
    ],
)
async def test_a_file_that_is_not_named_is_not_linked(ask: Ask, path: str, content: str) -> None:
    """Nor one whose name is a stop word or too short, nor one of the files that statements are put into."""
    links = (await ask("I sail with Bob Miller on the boat.", {path: content})).links

    assert links == (("people/bob",) if path == "user/people/bob.md" else ())


async def test_files_of_statements_are_no_subject(ask: Ask) -> None:
    """A note is not about the file `Notes` of some project."""
    files = {"projects/apollo/notes.md": "# Notes\n\n- Lou takes notes. (2026-01-02)\n"}

    assert (await ask("A short note: Lou has no allergies.", files)).links == ()


async def test_a_project_names_nothing_private(ask: Ask) -> None:
    """Its own files and no others."""
    files = {"user/boat.md": "# Boat\n", "projects/apollo/ships/boat.md": "# Boat\n"}

    assert (await ask("The boat is blue.", files, "projects/apollo/notes.md")).links == ("ships/boat",)


async def test_there_are_few_links(ask: Ask) -> None:
    """The best that are named."""
    files = {f"user/{n}/boat.md": f"# Boat\n\nNumber {n}.\n" for n in range(MAX_LINKS + 2)}

    assert len((await ask("The boat is blue.", files)).links) == MAX_LINKS


@pytest.mark.parametrize(
    "name", ["[boat]", "boat|ship", "boat#hull", "boat^1", "]]boat", "boat [[x", "a [b](boat)"]
)
async def test_a_link_is_written_only_where_it_can_be(
    ask: Ask, service: Service, alice: Caller, name: str
) -> None:
    """A name with the marks of a link in it gives one that leads there, or none."""
    path = f"user/{name}.md"
    found = (await ask("The boat is blue.", {path: "# Boat\n"})).links
    text = "".join(f"[[{target}]]" for target in found)
    await service.execute(alice, "memory_write", {"path": "user/linking.md", "content": text})

    out = await service.execute(alice, "memory_links", {"path": "user/linking.md", "direction": "out"})
    assert [link["target"] for link in out["links"]] == [path for _ in found]
    assert len(links.parse(text, "linking.md")) == len(found)


def test_files_of_a_series_are_numbered() -> None:
    """From the first, which has no number."""
    assert [nth_file("user/notes.md", number) for number in (1, 2, 11)] == [
        "user/notes.md",
        "user/notes-2.md",
        "user/notes-11.md",
    ]
