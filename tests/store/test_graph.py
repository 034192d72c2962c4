"""Links as they resolve: both ways, over hops and mounts, for the one who asks."""

import random
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from itertools import product
from typing import Any

import pytest
from tests.kit.memory import open_project, put

from memex.service.service import Caller, Service
from memex.store import links
from memex.store.graph import MAX_LINKS, Direction
from memex.store.memory import Memory
from memex.store.paths import parse
from memex.store.records import Link
from memex.store.search.index import MAX_KEY_CHARS, MAX_RAW_CHARS
from memex.store.text_pool.offload import UNSERVED_CHARS

CallerOf = Callable[..., Awaitable[Caller]]


async def walk(
    service: Service, caller: Caller, path: str, direction: Direction = "both", depth: int = 1
) -> list[Link]:
    """Return the links from and to a file."""
    async with service.database.transaction(caller.access, snapshot=True) as connection:
        memory = Memory(connection, caller.access)
        return list(await memory.links(path, direction=direction, depth=depth))


async def out(service: Service, caller: Caller, path: str, depth: int = 1) -> list[str]:
    """Return the targets of a file's forward links, in order; one without a file as it was written."""
    return [link.target for link in await walk(service, caller, path, "out", depth)]


async def into(service: Service, caller: Caller, path: str, depth: int = 1) -> list[str]:
    """Return the sources of a file's backlinks, in order."""
    return [link.source for link in await walk(service, caller, path, "in", depth)]


async def read_links(
    service: Service, caller: Caller, path: str, version: int | None = None
) -> list[dict[str, Any]]:
    """Return the links that memory_read shows."""
    arguments = {"path": path, "version": version}
    found: list[dict[str, Any]] = (await service.execute(caller, "memory_read", arguments))["links"]
    return found


def hops(found: list[Link]) -> list[tuple[str, str, int]]:
    """Return source, target and hop of links between user files, named without mount and suffix."""
    return [
        (link.source.removeprefix("user/")[:-3], link.target.removeprefix("user/")[:-3], link.hop)
        for link in found
    ]


@pytest.fixture
async def apollo(service: Service, caller_of: CallerOf) -> Caller:
    """Alice, a member of apollo as bob is, while zeus is his alone."""
    opener = await caller_of(None, role="admin")
    for slug, members in {"apollo": ["alice", "bob"], "zeus": ["bob"]}.items():
        await open_project(service, opener, slug, *members)
    return await caller_of("alice")


@pytest.fixture
async def admin(apollo: Caller, caller_of: CallerOf) -> Caller:
    """An admin of both projects who acts for no user."""
    return await caller_of(None, role="admin")


# Hops.


async def test_a_link_is_followed_from_both_ends(service: Service, alice: Caller) -> None:
    """Ahead from its source, behind from its target, with its heading; the tool says the same."""
    await put(service, alice, {"user/a.md": "See [[b#Next steps]].", "user/b.md": "nothing"})
    link = Link("user/a.md", "user/b.md", "Next steps", exists=True, hop=1)

    assert await walk(service, alice, "user/a.md", "out") == [link]
    assert await walk(service, alice, "user/b.md", "in") == [link]
    assert await walk(service, alice, "user/a.md", "both") == [link]
    assert await walk(service, alice, "user/a.md", "in") == []
    assert await walk(service, alice, "user/b.md", "out") == []
    answer = await service.execute(alice, "memory_links", {"path": "user/b.md"})
    assert answer["links"] == [
        {"source": "user/a.md", "target": "user/b.md", "heading": "Next steps", "exists": True, "hop": 1}
    ]


async def test_a_chain_is_followed_as_deep_as_asked(service: Service, alice: Caller) -> None:
    """Each link bears the number of hops at which it is reached, and the nearest come first."""
    await put(service, alice, {f"user/{n}.md": f"[[{n + 1}]]" for n in range(14)} | {"user/14.md": ""})

    for depth in range(1, 6):
        ahead = [(str(7 + n), str(8 + n), n + 1) for n in range(depth)]
        behind = [(str(6 - n), str(7 - n), n + 1) for n in range(depth)]
        both = [link for pair in zip(ahead, behind, strict=True) for link in pair]
        assert hops(await walk(service, alice, "user/7.md", "out", depth)) == ahead
        assert hops(await walk(service, alice, "user/7.md", "in", depth)) == behind
        assert hops(await walk(service, alice, "user/7.md", "both", depth)) == both


async def test_a_cycle_ends_and_its_links_have_their_shortest_way(service: Service, alice: Caller) -> None:
    """However deep, each link comes once; both ways, at the smaller of its two distances."""
    await put(service, alice, {"user/a.md": "[[b]]", "user/b.md": "[[c]]", "user/c.md": "[[a]]"})

    ahead, behind = (
        await walk(service, alice, "user/a.md", "out", 5),
        await walk(service, alice, "user/a.md", "in", 5),
    )

    assert hops(ahead) == [("a", "b", 1), ("b", "c", 2), ("c", "a", 3)]
    assert hops(behind) == [("c", "a", 1), ("b", "c", 2), ("a", "b", 3)]
    assert hops(await walk(service, alice, "user/a.md", "both", 1)) == [("a", "b", 1), ("c", "a", 1)]
    for depth in (2, 3, 5):
        both = hops(await walk(service, alice, "user/a.md", "both", depth))
        assert both == [("a", "b", 1), ("c", "a", 1), ("b", "c", 2)]


async def test_a_link_to_the_file_itself_comes_once(service: Service, alice: Caller) -> None:
    """By name, by path or by mount: one link of one hop in every direction."""
    await put(service, alice, {"user/n/a.md": "[[a]] [[n/a]] [[user/n/a.md]] [x](a.md) [[#a]]"})

    for direction in ("out", "in", "both"):
        for depth in (1, 5):
            assert hops(await walk(service, alice, "user/n/a.md", direction, depth)) == [("n/a", "n/a", 1)]


async def test_links_alike_are_one_and_headings_tell_them_apart(service: Service, alice: Caller) -> None:
    """In the order in which they stand first; ways that meet are followed on once."""
    await put(
        service,
        alice,
        {
            "user/a.md": "[[c#two]] [[b]] [[c#one]] [again](c.md#two) [[B]] ![[c]] [[c|label]]",
            "user/b.md": "[[d]]",
            "user/c.md": "[[d]]",
            "user/d.md": "[[end]]",
        },
    )

    found = await walk(service, alice, "user/a.md", "out", 3)

    assert [(link.target, link.heading) for link in found if link.hop == 1] == [
        ("user/c.md", "two"),
        ("user/b.md", None),
        ("user/c.md", "one"),
        ("user/c.md", None),
    ]
    assert [(link.source, link.target) for link in found if link.hop > 1] == [
        ("user/c.md", "user/d.md"),
        ("user/b.md", "user/d.md"),
        ("user/d.md", "[[end]]"),
    ]


# Limits.


async def test_a_hub_gives_its_first_thousand_links(service: Service, alice: Caller) -> None:
    """Of 1,500 with two sides each, alive and dead mixed, those that stand first, whole, and at once."""
    leaves = {f"user/leaf/{n}.md": "[[hub]]" for n in range(0, 1500, 50)}
    await put(service, alice, leaves | {"user/hub.md": "".join(f"[[label {n}|{n}]]\n" for n in range(1500))})

    started = time.monotonic()
    found = await walk(service, alice, "user/hub.md", "out", 5)
    seconds = time.monotonic() - started

    assert [(link.target, link.exists) for link in found] == [
        (f"[[label {n}|{n}]]", False) if n % 50 else (f"user/leaf/{n}.md", True) for n in range(1000)
    ]
    assert seconds < 5
    assert await walk(service, alice, "user/hub.md", "both", 5) == found
    assert sorted(await into(service, alice, "user/hub.md")) == sorted(leaves)
    assert len(await read_links(service, alice, "user/hub.md")) == MAX_LINKS


async def test_a_hub_gives_its_first_thousand_backlinks(service: Service, alice: Caller) -> None:
    """By the paths of their files; what lies a hop further does not take their place."""
    anchors = [f"h{n}" for n in range(100)]
    files = {
        f"user/from/{n:02}.md": "".join(f"[[x|hub#{anchor}]]\n" for anchor in anchors) for n in range(15)
    }
    await put(service, alice, files | {"user/hub.md": "", "user/a.md": "[[00]]"})

    found = await walk(service, alice, "user/hub.md", "in", 5)

    expected = [(f"user/from/{n:02}.md", anchor) for n in range(10) for anchor in anchors]
    assert [(link.source, link.heading) for link in found] == expected
    assert {(link.target, link.exists, link.hop) for link in found} == {("user/hub.md", True, 1)}


@pytest.mark.slow
async def test_one_file_many_times_does_not_hide_another(service: Service, alice: Caller) -> None:
    """A file's links are read to the last, and repeats are no part of the thousand."""
    repeats = "[[label|a]] " * (links.MAX_LINKS - 1)
    await put(service, alice, {"user/hub.md": repeats + "[[b]]", "user/a.md": "[[b]]", "user/b.md": "[[c]]"})

    assert hops(await walk(service, alice, "user/hub.md", "out", 2)) == [
        ("hub", "a", 1),
        ("hub", "b", 1),
        ("a", "b", 2),
        ("b", "[[", 2),
    ]
    assert await into(service, alice, "user/b.md") == ["user/a.md", "user/hub.md"]
    await put(service, alice, {"user/hub.md": "other"})
    assert [link["target"] for link in await read_links(service, alice, "user/hub.md", version=1)] == [
        "user/a.md",
        "user/b.md",
    ]


async def test_the_nearest_links_are_kept_whatever_their_direction(service: Service, alice: Caller) -> None:
    """When both ways have too many, the cut takes the farthest of either."""
    fan = "".join(f"[[b#{n}]]\n" for n in range(600))
    await put(
        service,
        alice,
        {
            "user/a.md": "[[b]]",
            "user/b.md": "".join(f"[[c#{n}]]\n" for n in range(1200)),
            "user/c.md": "",
            "user/y.md": "[[a]]",
            "user/z.md": "[[y]]" + fan,
        },
    )

    found = await walk(service, alice, "user/a.md", "both", 5)

    assert len(found) == MAX_LINKS
    assert [link.hop for link in found] == [1, 1] + [2] * 998
    assert hops(found)[:3] == [("a", "b", 1), ("y", "a", 1), ("b", "c", 2)]


async def test_a_name_of_many_files_is_resolved_at_once(service: Service, alice: Caller) -> None:
    """Every folder with an index.md and links to `index.md`: each finds its own, among hundreds."""
    folders = [f"user/{n:03}" for n in range(400)]
    files = {f"{folder}/index.md": "text" for folder in folders}
    await put(service, alice, files)
    await put(
        service,
        alice,
        {f"{folder}/note.md": "[up](index.md) [x](index.md#x) [[index]]" for folder in folders},
    )

    started = time.monotonic()
    own = await walk(service, alice, "user/399/index.md", "in")
    first = await walk(service, alice, "user/000/index.md", "in")
    seconds = time.monotonic() - started

    assert [(link.source, link.heading) for link in own] == [
        ("user/399/note.md", None),
        ("user/399/note.md", "x"),
    ]
    assert [link.source for link in first if link.heading is None] == [
        f"{folder}/note.md" for folder in folders
    ]
    assert seconds < 5


async def test_links_too_long_for_a_path_lead_nowhere(service: Service, alice: Caller) -> None:
    """Not at all in the head and in old versions alike; a long label is cut, and its other side still leads."""
    long = "x" * (MAX_KEY_CHARS + 1)
    text = f"[[{long}]] [[{long}|b]] [[{'y' * MAX_KEY_CHARS}]] [[none|{'z' * 2000}]]"
    await put(service, alice, {"user/a.md": text, "user/b.md": ""})
    head = await read_links(service, alice, "user/a.md")
    await put(service, alice, {"user/a.md": "other"})

    assert [link["target"] for link in head] == [
        "user/b.md",
        f"[[{'y' * MAX_KEY_CHARS}]]",
        f"[[none|{'z' * 2000}]]"[:MAX_RAW_CHARS],
    ]
    assert await read_links(service, alice, "user/a.md", version=1) == head


# Dead and alive.


async def test_a_dead_link_comes_alive_and_dies_with_its_file(service: Service, alice: Caller) -> None:
    """Without its source being written: by a new file, its deletion, its moves away and back."""
    await put(service, alice, {"user/a.md": "![[Plan#Now|the plan]]"})
    dead = [Link("user/a.md", "![[Plan#Now|the plan]]", "Now", exists=False, hop=1)]

    def alive(target: str) -> list[Link]:
        return [Link("user/a.md", target, "Now", exists=True, hop=1)]

    assert await walk(service, alice, "user/a.md") == dead
    await put(service, alice, {"user/deep/plan.md": "[[a]]"})
    assert await walk(service, alice, "user/a.md", "out") == alive("user/deep/plan.md")
    await put(service, alice, {"user/plan.md": ""})
    assert await walk(service, alice, "user/a.md", "out") == alive("user/plan.md")
    assert await into(service, alice, "user/deep/plan.md") == []
    await put(service, alice, {"user/plan.md": None})
    assert await walk(service, alice, "user/a.md", "out") == alive("user/deep/plan.md")
    assert await into(service, alice, "user/a.md") == ["user/deep/plan.md"]
    await service.execute(alice, "memory_move", {"path": "user/deep/plan.md", "to": "user/deep/old.md"})
    assert await walk(service, alice, "user/a.md", "out") == dead
    assert await into(service, alice, "user/a.md") == ["user/deep/old.md"]
    await service.execute(alice, "memory_move", {"path": "user/deep/old.md", "to": "user/plan.md"})
    assert await walk(service, alice, "user/a.md", "out") == alive("user/plan.md")
    assert await into(service, alice, "user/plan.md") == ["user/a.md"]
    await service.execute(alice, "memory_delete", {"path": "user/plan.md"})
    assert await walk(service, alice, "user/a.md") == dead


async def test_a_move_takes_the_links_of_a_file_along(service: Service, apollo: Caller) -> None:
    """They are the new path's, relative ones are read from the new folder, and the old path has none."""
    await put(
        service,
        apollo,
        {
            "user/x/a.md": "[b](b.md) [[c]]",
            "user/x/b.md": "",
            "user/y/b.md": "",
            "user/c.md": "",
            "projects/apollo/b.md": "",
        },
    )
    assert await out(service, apollo, "user/x/a.md") == ["user/x/b.md", "user/c.md"]
    await service.execute(apollo, "memory_move", {"path": "user/x/a.md", "to": "user/y/a.md"})
    assert await out(service, apollo, "user/y/a.md") == ["user/y/b.md", "user/c.md"]
    assert await into(service, apollo, "user/x/b.md") == []
    await service.execute(apollo, "memory_move", {"path": "user/y/a.md", "to": "projects/apollo/a.md"})
    assert await out(service, apollo, "projects/apollo/a.md") == ["projects/apollo/b.md", "user/c.md"]
    assert await into(service, apollo, "user/c.md") == ["projects/apollo/a.md"]
    assert await into(service, apollo, "user/y/b.md") == []


async def test_an_edit_replaces_the_links_of_a_file(service: Service, alice: Caller) -> None:
    """What no longer stands there is neither followed nor a backlink."""
    await put(service, alice, {"user/a.md": "[[b]] [[c]]", "user/b.md": "", "user/c.md": ""})
    await put(service, alice, {"user/a.md": "[[c]] `[[b]]`"})

    assert await out(service, alice, "user/a.md") == ["user/c.md"]
    assert await into(service, alice, "user/b.md") == []
    assert await into(service, alice, "user/c.md") == ["user/a.md"]


# What a link means.


async def test_the_side_of_a_bar_that_resolves_is_the_target(service: Service, alice: Caller) -> None:
    """Whichever it is, ahead and behind; the first when both do, and the backlink is then of the first alone."""
    files = {"user/a.md": "[[plan|label#x]] [[some text|plan]]", "user/plan.md": ""}
    await put(service, alice, files)
    assert await out(service, alice, "user/a.md") == ["user/plan.md", "user/plan.md"]
    assert await into(service, alice, "user/plan.md") == ["user/a.md", "user/a.md"]

    await put(service, alice, {"user/some text.md": "", "user/label.md": ""})

    assert await out(service, alice, "user/a.md") == ["user/plan.md", "user/some text.md"]
    assert await into(service, alice, "user/label.md") == []
    assert len(await into(service, alice, "user/plan.md")) == 1
    await put(service, alice, {"user/plan.md": None, "user/some text.md": None})
    assert await out(service, alice, "user/a.md") == ["user/label.md", "[[some text|plan]]"]


MEANT = {
    "[[My Plan]]": "user/x/My Plan.md",
    "[[my-plan]]": "user/x/My Plan.md",
    "![[MY_PLAN.MD#part]]": "user/x/My Plan.md",
    "[[X/my plan]]": "user/x/My Plan.md",
    "[[/x/My_Plan/]]": "user/x/My Plan.md",
    "[[User/X/my-plan]]": "user/x/My Plan.md",
    "[p](../x/My%20Plan.md)": "user/x/My Plan.md",
    "[p](<../X/my_plan.md> 'title')": "user/x/My Plan.md",
    "[p](x/my-plan)": "user/x/My Plan.md",
    "[p](/x/my-plan.md#part)": "user/x/My Plan.md",
    "[p](b.md)": "user/y/b.md",
    "[p](./b.md)": "user/y/b.md",
    "[p](../b.md)": "user/b.md",
    "[p](/b.md)": "user/b.md",
    "[p][id]\n\n[id]: ../b.md": "user/b.md",
    "[[b]]": "user/b.md",
    "[[y/B]]": "user/y/b.md",
    "[[Straße]]": "user/STRASSE.md",
    "[[cafe\u0301]]": "user/Caf\u00e9.md",
    "[[日本]]": "user/日本.md",
    "[[data.csv]]": "user/y/data.csv",
    "[[%_'\"{},$1]]": "user/%-'\"{},$1.md",
}


async def test_a_link_means_what_a_reader_takes_it_for(service: Service, alice: Caller) -> None:
    """Names and paths without case, `-`, `_` and space alike; destinations from the folder, then the root."""
    sources = {f"user/y/source {n}.md": written for n, written in enumerate(MEANT)}
    files = sources | dict.fromkeys([*MEANT.values(), "user/x/b.md"], "text")
    await put(service, alice, files)

    for source, written in sources.items():
        assert await out(service, alice, source) == [MEANT[written]], written
        assert source in await into(service, alice, MEANT[written]), written
    assert await into(service, alice, "user/x/b.md") == []


async def test_a_destination_out_of_its_mount_is_no_link(service: Service, alice: Caller) -> None:
    """Climbing above the root leads to no file, not even to one of that name."""
    await put(service, alice, {"user/y/a.md": "[p](../../b.md) [q](../../shared/b.md)", "user/b.md": ""})

    assert await out(service, alice, "user/y/a.md") == []


async def test_a_path_goes_before_a_name_then_scope_then_length_then_order(
    service: Service, apollo: Caller, admin: Caller
) -> None:
    """As files that a link would rather mean go one by one, it falls to the next."""
    order = [
        "projects/apollo/plan.md",
        "user/Plan.md",
        "user/plan.md",
        "shared/plan.md",
        "projects/apollo/a/plan.md",
        "projects/apollo/b/plan.md",
        "projects/apollo/aa/plan.md",
        "user/x/y/plan.md",
        "shared/z/plan.md",
    ]
    await put(service, admin, {path: "" for path in order if path.startswith("shared/")})
    await put(service, apollo, {path: "" for path in reversed(order) if not path.startswith("shared/")})
    await put(service, apollo, {"projects/apollo/source.md": "[[plan]]"})

    for place, path in enumerate(order):
        assert await out(service, apollo, "projects/apollo/source.md") == [path]
        assert [len(await into(service, apollo, one)) for one in order[place:]] == [1] + [0] * (
            len(order) - place - 1
        )
        await put(service, admin if path.startswith("shared/") else apollo, {path: None})
    assert await out(service, apollo, "projects/apollo/source.md") == ["[[plan]]"]


# Mounts, and who asks.


async def test_links_lead_from_mount_to_mount(service: Service, apollo: Caller, admin: Caller) -> None:
    """By the name alone or with the mount in front, ahead and behind, over several hops."""
    await put(service, admin, {"shared/guide.md": "[[Projects/Apollo/Plan]] [[only mine]]"})
    await put(
        service,
        apollo,
        {
            "user/a.md": "[[guide]] [[shared/guide#x]] [[projects/apollo/plan]] [[projects/apollo/goal.md]]",
            "user/guide.md": "",
            "user/only-mine.md": "",
            "projects/apollo/plan.md": "[[shared/guide]] [[user/a]] [p](goal.md)",
            "projects/apollo/goal.md": "",
        },
    )

    assert await out(service, apollo, "user/a.md") == [
        *("user/guide.md", "shared/guide.md", "projects/apollo/plan.md", "projects/apollo/goal.md")
    ]
    assert await out(service, apollo, "projects/apollo/plan.md") == [
        *("shared/guide.md", "user/a.md", "projects/apollo/goal.md")
    ]
    assert await out(service, apollo, "shared/guide.md") == ["projects/apollo/plan.md", "user/only-mine.md"]
    assert await into(service, apollo, "shared/guide.md") == ["user/a.md", "projects/apollo/plan.md"]
    assert await into(service, apollo, "projects/apollo/plan.md") == ["user/a.md", "shared/guide.md"]
    assert [
        (link.source, link.target, link.hop)
        for link in await walk(service, apollo, "user/only-mine.md", "in", 3)
    ] == [
        ("shared/guide.md", "user/only-mine.md", 1),
        ("user/a.md", "shared/guide.md", 2),
        ("projects/apollo/plan.md", "shared/guide.md", 2),
        ("user/a.md", "projects/apollo/plan.md", 3),
        ("shared/guide.md", "projects/apollo/plan.md", 3),
        ("projects/apollo/plan.md", "user/a.md", 3),
    ]


async def test_only_what_the_caller_reads_is_linked(
    service: Service, apollo: Caller, admin: Caller, caller_of: CallerOf
) -> None:
    """Files of other users, projects and tenants neither resolve nor count, ahead or behind, at any depth."""
    bob, stranger = await caller_of("bob"), await caller_of("alice", tenant="other")
    to_all = "[[secret]] [[user/secret]] [[projects/zeus/secret]] [[zeus/secret]] [[shared/open]] [[a]]"
    await put(service, admin, {"shared/open.md": to_all})
    await put(service, apollo, {"user/a.md": to_all, "projects/apollo/a.md": to_all})
    before = {
        path: await walk(service, apollo, path, "both", 5)
        for path in ("user/a.md", "projects/apollo/a.md", "shared/open.md")
    }

    await put(
        service, bob, {"user/secret.md": to_all, "user/a.md": to_all, "projects/zeus/secret.md": to_all}
    )
    await put(service, stranger, {"user/secret.md": to_all, "user/a.md": to_all})

    for path, found in before.items():
        assert await walk(service, apollo, path, "both", 5) == found
        assert not any("secret" in link.source for link in found)
        assert all(link.exists != ("secret" in link.target) for link in found)
        assert await read_links(service, apollo, path) == [
            {"target": link.target, "heading": None, "exists": link.exists}
            for link in found
            if link.source == path and link.hop == 1
        ]
    assert await out(service, bob, "shared/open.md") == [
        *("user/secret.md", "projects/zeus/secret.md", "[[zeus/secret]]", "shared/open.md", "user/a.md")
    ]
    assert "user/a.md" in await into(service, bob, "projects/zeus/secret.md")


async def test_a_link_in_a_shared_file_means_the_reader_s_own(
    service: Service, admin: Caller, caller_of: CallerOf
) -> None:
    """Each finds the profile that is theirs, and the backlink from it; without one the link is dead."""
    await put(service, admin, {"shared/start.md": "[[profile]]"})
    alice, bob, carol = [await caller_of(name) for name in ("alice", "bob", "carol")]
    await put(service, alice, {"user/profile.md": "alice"})
    await put(service, bob, {"user/me/profile.md": "bob"})

    assert await out(service, alice, "shared/start.md") == ["user/profile.md"]
    assert await into(service, alice, "user/profile.md") == ["shared/start.md"]
    assert await out(service, bob, "shared/start.md") == ["user/me/profile.md"]
    assert await out(service, carol, "shared/start.md") == ["[[profile]]"]
    assert await out(service, admin, "shared/start.md") == ["[[profile]]"]


async def test_an_admin_without_a_user_sees_no_user(
    service: Service, apollo: Caller, admin: Caller, caller_of: CallerOf
) -> None:
    """Shared files and all projects are linked; a user's own only for the admin who names that user."""
    bob = await caller_of("bob")
    await put(
        service, apollo, {"user/a.md": "[[shared/open]]", "projects/apollo/a.md": "[[open]] [[user/a]]"}
    )
    await put(service, bob, {"projects/zeus/z.md": "[[open]]"})
    await put(service, admin, {"shared/open.md": "[[user/a]] [[z]]"})

    assert await out(service, admin, "projects/apollo/a.md") == ["shared/open.md", "[[user/a]]"]
    assert await out(service, admin, "shared/open.md") == ["[[user/a]]", "projects/zeus/z.md"]
    assert await into(service, admin, "shared/open.md") == ["projects/apollo/a.md", "projects/zeus/z.md"]
    for_alice = await caller_of("alice", role="admin")
    assert await out(service, for_alice, "shared/open.md") == ["user/a.md", "projects/zeus/z.md"]
    assert await into(service, for_alice, "shared/open.md") == [
        *("user/a.md", "projects/apollo/a.md", "projects/zeus/z.md")
    ]


# Old versions.


async def test_the_links_of_an_old_version_resolve_as_of_now(service: Service, alice: Caller) -> None:
    """What stood in it then, alive or dead by the files of today, read from the folder where it stood."""
    text = "[[b#x]] [c](c.md) [[label|b]] [[none]] [[b#x]]"
    await put(service, alice, {"user/f/a.md": text, "user/f/c.md": ""})
    await put(service, alice, {"user/f/a.md": "[[c]]", "user/b.md": "", "user/c.md": ""})
    old: list[dict[str, Any]] = [
        {"target": "user/b.md", "heading": "x", "exists": True},
        {"target": "user/f/c.md", "heading": None, "exists": True},
        {"target": "user/b.md", "heading": None, "exists": True},
        {"target": "[[none]]", "heading": None, "exists": False},
    ]

    assert await read_links(service, alice, "user/f/a.md", version=1) == old
    new = [{"target": "user/c.md", "heading": None, "exists": True}]
    assert await read_links(service, alice, "user/f/a.md") == new
    assert await read_links(service, alice, "user/f/a.md", version=2) == new
    await service.execute(alice, "memory_move", {"path": "user/f/a.md", "to": "user/a.md"})
    await put(service, alice, {"user/f/c.md": None})
    old[1]["target"] = "user/c.md"
    assert await read_links(service, alice, "user/f/a.md", version=1) == old
    await service.execute(alice, "memory_delete", {"path": "user/a.md"})
    assert await read_links(service, alice, "user/f/a.md", version=1) == old
    assert await into(service, alice, "user/b.md") == []


@pytest.mark.slow
async def test_a_long_old_version_is_read_as_its_head_was(service: Service, alice: Caller) -> None:
    """Repeats, both sides and the limit count alike, however the links are come by."""
    parts = [f"[[b#{n}]] [[label|b#{n}]] [[x {n}]]\n" * 2 for n in range(510)]
    text = "".join(parts) + "\n" * UNSERVED_CHARS
    await put(service, alice, {"user/a.md": text, "user/b.md": ""})
    head = await read_links(service, alice, "user/a.md")

    await put(service, alice, {"user/a.md": "short"})

    assert len(head) == MAX_LINKS
    assert await read_links(service, alice, "user/a.md", version=1) == head


# All of it at once.

NAMES = [
    "plan",
    "Plan",
    "a/plan",
    "a/my plan",
    "b/my-plan",
    "b/My_Plan",
    "index",
    "a/index",
    "b/c/index",
    "x",
]
MOUNTS = ["user", "shared", "projects/apollo", "projects/zeus"]
TARGETS = [*NAMES, "my plan", "none", "user/plan", "shared/a/index", "projects/apollo/x", "projects/zeus/x"]


Edge = tuple[str, str, str | None, bool]  # source, target, heading, exists


def text_of(chance: random.Random) -> str:
    """Return a text of a few links of every kind."""

    def link() -> str:
        target, other = chance.choice(TARGETS), chance.choice(TARGETS)
        anchor = chance.choice(["", "", "#part"])
        return chance.choice(
            [
                f"[[{target}{anchor}]]",
                f"![[{target}|{other}{anchor}]]",
                f"[x](<{target}.md{anchor}>)",
                f"[x](<../{target}.md>)",
                f"`[[{target}]]`",
            ]
        )

    return " and ".join(link() for _ in range(chance.randint(0, 6)))


def expected_links(files: Mapping[str, str], mounts: Sequence[str]) -> Iterator[Edge]:
    """Yield every link of the files as `links.resolve` over all of them has it."""
    parsed = {path: parse(path) for path in files}
    for source, text in files.items():
        order = {mount: place for place, mount in enumerate(mounts, start=1)} | {parsed[source].mount_name: 0}
        candidates = {
            links.LinkCandidate(
                order[p.mount_name], p.mount_name, p.relative, *links.path_keys(p.relative)
            ): path
            for path, p in parsed.items()
        }
        for link in links.parse(text, parsed[source].relative):
            chosen = links.resolve(link.targets, list(candidates))
            yield source, candidates[chosen] if chosen else link.raw, link.anchor, chosen is not None


def expected_walk(edges: set[Edge], origin: str, depth: int, *, is_forward: bool) -> dict[Edge, int]:
    """Return the links up to `depth` hops away with the hop of each: breadth first, over all there are."""
    found: dict[Edge, int] = {}
    near, seen = {origin}, {origin}
    for hop in range(1, depth + 1):
        if is_forward:
            step = {edge for edge in edges if edge[0] in near}
            reached = {target for _, target, _, exists in step if exists}
        else:
            step = {edge for edge in edges if edge[1] in near and edge[3]}
            reached = {source for source, *_ in step}
        found |= dict.fromkeys(step - found.keys(), hop)
        near = reached - seen
        seen |= near
    return found


async def test_walks_are_those_of_a_model(
    service: Service, apollo: Caller, admin: Caller, caller_of: CallerOf
) -> None:
    """Files of like names in all mounts, linked at random: for each caller, file, direction and depth."""
    chance = random.Random(11)
    bob = await caller_of("bob")
    writers = {apollo: ["user", "projects/apollo"], bob: ["user", "projects/zeus"], admin: ["shared"]}
    readers = {apollo: MOUNTS[:3], bob: MOUNTS, admin: MOUNTS[1:]}
    written: dict[Caller, dict[str, str]] = {}
    for caller, mounts in writers.items():
        paths = [f"{mount}/{name}.md" for mount in mounts for name in NAMES if chance.random() < 0.5]
        written[caller] = {path: text_of(chance) for path in paths}
        await put(service, caller, written[caller])
    for caller, mounts in readers.items():
        everything = {path: text for files in written.values() for path, text in files.items()}
        everything |= written[caller]  # of two users' files at one path, the caller's own
        own = {path for path in everything if not path.startswith("user/")} | written[caller].keys()
        files = {path: everything[path] for path in own if parse(path).mount_name in mounts}
        edges = set(expected_links(files, mounts))
        async with service.database.transaction(caller.access, snapshot=True) as connection:
            memory = Memory(connection, caller.access)
            for origin, depth in product(files, (1, 2, 5)):
                ahead = expected_walk(edges, origin, depth, is_forward=True)
                behind = expected_walk(edges, origin, depth, is_forward=False)
                both = {edge: min(ahead.get(edge, 9), behind.get(edge, 9)) for edge in ahead | behind}
                walks: dict[Direction, dict[Edge, int]] = {"out": ahead, "in": behind, "both": both}
                for direction, expected in walks.items():
                    found = await memory.links(origin, direction=direction, depth=depth)

                    hop_of = {(one.source, one.target, one.heading, one.exists): one.hop for one in found}
                    assert hop_of == expected
                    assert [one.hop for one in found] == sorted(expected.values())
