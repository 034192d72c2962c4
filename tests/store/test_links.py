"""Links between files: parsing, keys, resolution."""

import os
import re
import tarfile
from collections.abc import Iterable, Sequence
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.kit.property_budget import scaled

from memex.errors import InvalidPath
from memex.store import links, markdown, paths
from memex.store.links import LinkCandidate, ParsedLink

EVAL_DATA = os.environ.get("MEMEX_EVAL_DATA")

MARKS = [
    "[[",
    "]]",
    "[",
    "]",
    "](",
    ")",
    "![",
    "!",
    "|",
    "#",
    "\\",
    "`",
    "```",
    "> ",
    "- ",
    "<",
    ">",
    "[a]: b.md\n",
]
SPACES = ["\n", "\r\n", "\r", "\t", " ", "    ", "\n\n", "\n---\n", "\u2028", "\u2003", "\x0b"]
NAMES = ["a", "b.md", "../", "%20", "%00", "https://", "é文🙂"]
TEXTS = st.lists(st.sampled_from([*MARKS, *SPACES, *NAMES]), max_size=40).map("".join)


def targets(text: str, path: str = "index.md") -> list[tuple[str, ...]]:
    """Return the target keys of each link in `text`."""
    return [link.targets for link in links.parse(text, path)]


def candidate(path: str, mount: str = "user", scope_order: int = 0) -> LinkCandidate:
    """Return the candidate for a file."""
    return LinkCandidate(scope_order, mount, path, *links.path_keys(path))


def test_key_ignores_case_separators_and_suffix() -> None:
    """Targets that a reader would take for the same have the same key."""
    for target, key in (
        ("Plan", "plan"),
        ("My Plan_2-b.md", "my-plan-2-b"),
        (" /notes/Plan.MD/ ", "notes/plan"),
        ("cafe\u0301", "caf\u00e9"),
        ("STRASSE", "strasse"),
        ("Straße", "strasse"),
        ("dendron.topic.links", "dendron.topic.links"),
        ("projects/Apollo/plan.md", "projects/apollo/plan"),
        ("_private", "-private"),
        (".md", ""),
        (" ", ""),
    ):
        assert links.key(target) == key


def test_path_has_a_key_and_its_name_another() -> None:
    """A file is known by its whole path and by its file name."""
    assert links.path_keys("Notes/My Plan.md") == ("notes/my-plan", "my-plan")
    assert links.path_keys("plan") == ("plan", "plan")


def test_link_is_found_with_its_place_and_parts() -> None:
    """A link knows its text, span, anchor and label."""
    text = "See [[My Plan#Next steps|the plan]] and ![[fig]].\n"

    assert links.parse(text, "index.md") == (
        ParsedLink(
            raw="[[My Plan#Next steps|the plan]]",
            start=4,
            end=35,
            targets=("my-plan", "the-plan"),
            anchor="Next steps",
            label="the plan",
            embed=False,
        ),
        ParsedLink("![[fig]]", 40, 48, ("fig",), None, None, embed=True),
    )


def test_wiki_link_is_found() -> None:
    """Double brackets are a link wherever text is; both sides of a bar may be the target."""
    for text, found in (
        ("[[a]]", [("a",)]),
        ("[[label|a.b]]", [("label", "a.b")]),
        ("[[A|a.md]]", [("a",)]),
        ("[[a|]] [[|b]]", [("a",), ("b",)]),
        ("| x | [[a\\|b]] |", [("a", "b")]),
        ("[[x|dendron://vault/a.b#c]]", [("x", "a.b")]),
        ("[[user/a]] [[projects/apollo/plan.md]]", [("user/a",), ("projects/apollo/plan",)]),
        ("[[a]][[b]]", [("a",), ("b",)]),
        ("**[[a]]** ~~[[b]]~~ <b>[[c]]</b>", [("a",), ("b",), ("c",)]),
        ("<div>\n[[a]]\n</div>", [("a",)]),
        ("---\nsee: '[[a]]'\n---\n", [("a",)]),
        ("[[[a]]]", [("a",)]),
        ("[[a]](aside)", [("aside",)]),
        ("[[a]](an aside)", [("a",)]),
        ("[b [[a]]](c.md)", [("a",)]),
    ):
        assert targets(text) == found


def test_what_is_no_link_is_not_found() -> None:
    """Code, escapes, URLs, pictures, own headings and ways out of the mount lead to no file."""
    for text in (
        "[[]] [[ ]] [[#here]] [[|]] [[a\nb]] [[a",
        "[[https://example.com]] [[label|https://example.com/x]]",
        "[[1]](https://example.com)",
        "`[[a]]` ``[[b]] ` [c](c.md)``",
        "```\n[[a]]\n```\n\n    [[b]]\n\n~~~\n[c](c.md)",
        "- item\n\n  ```\n  [[a]]\n  ```\n",
        "> ```\n> [[a]]\n",
        "\\[[a]] [b\\](b.md)",
        "\\[c](c.md)",
        "[a](https://example.com/a.md) [b](//example.com/b.md) [c](mailto:a@b) [d](#here) [e]()",
        "![a](a.png) ![[b]](b.png)",
        "[a](javascript:x) <https://example.com/[[a]]>",
        "[unused]: a.md",
        "[a](../a.md) [b](/../b.md) [c](.) [d](./)",
        "[a](a%00b.md) [b](%0a.md)",
    ):
        assert targets(text) == []


def test_destination_without_a_name_is_no_link() -> None:
    """An own heading and the folders above lead to no file in a folder either, not to one of the folder's name."""
    for destination in (
        "#here",
        "",
        "?raw=1",
        ".",
        "./",
        "..",
        "../#here",
        "../../",
        "/",
        "%2E",
    ):
        assert targets(f"[x]({destination})", "projects/heron/plan.md") == []


def test_markdown_destination_is_read_from_the_folder_then_the_root() -> None:
    """A relative destination names a file beside the source first, then one from the mount's root."""
    for text, found in (
        ("[x](c.md)", [("a/b/c", "c")]),
        ("[x](../c.md)", [("a/c",)]),
        ("[x](../../c.md)", [("c",)]),
        ("[x](../../../c.md)", []),
        ("[x](/c/d.md)", [("c/d",)]),
        ("[x](./My%20Plan.md#Next)", [("a/b/my-plan", "my-plan")]),
        ("[x](<My Plan.md> 'title')", [("a/b/my-plan", "my-plan")]),
        ("[x](c%23%3F.md?raw=1)", [("a/b/c#?", "c#?")]),
        ("[x](100%.md)", [("a/b/100%", "100%")]),
        ("[x](%D0%BF.md) [y](п.md)", [("a/b/п", "п")] * 2),
        ("[x](user/c.md)", [("a/b/user/c", "user/c")]),
        ("[x](report.pdf)", [("a/b/report.pdf", "report.pdf")]),
        ("[x][id] [id][] [ID] [no]\n\n[id]: c.md", [("a/b/c", "c")] * 3),
        ("[x\ny](c.md)", [("a/b/c", "c")]),
        ("[![alt](x.png)](c.md)", [("a/b/c", "c")]),
    ):
        assert targets(text, "a/b/index.md") == found


def test_markdown_link_has_anchor_and_label() -> None:
    """The anchor is decoded and the label is plain text."""
    (link,) = links.parse("[the `plan` \\[1\\]](plan.md#next%20steps)", "index.md")

    assert (link.anchor, link.label, link.embed) == ("next steps", "the plan [1]", False)


@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r"])
def test_place_is_exact_in_any_block(ending: str) -> None:
    """Quotes, lists, headings, tabs, trailing space and line endings do not shift a link's place."""
    lines = [
        "---",
        "t: '[[y]]'",
        "---",
        "## [[a]] ##",
        "",
        "> quoted",
        "> - [[b]] [x](b.md)  ",
        "lazy [[c]]",
        "",
    ]
    lines += [
        "1.\t- [[d]]",
        "",
        "\t\t[[d]] [[e]]",
        "",
        "é🙂 [[f]]",
        "===",
        "",
        "* [x",
        "  y](g.md) [[h]]",
        "",
        "[[i]] ",
    ]
    text = ending.join(lines)
    found = links.parse(text, "index.md")

    assert [text[link.start : link.end] for link in found] == [link.raw for link in found]
    assert [link.raw.replace(ending, "\n") for link in found] == [
        *("[[y]]", "[[a]]", "[[b]]", "[x](b.md)", "[[c]]", "[[d]]", "[[d]]", "[[e]]", "[[f]]"),
        *("[x\n  y](g.md)", "[[h]]", "[[i]]"),
    ]


@given(TEXTS)
@example("\u2003\n[[a]]")
@example("> \u2003\n> [[a]]\n> \u2003")
@example("> \t[[a]]\r\n[b](c.md)")
def test_any_text_has_links_in_order_and_in_place(text: str) -> None:
    """Whatever the text, links stand where they say, in order, with clean distinct keys."""
    found = links.parse(text, "folder/note.md")

    for link in found:
        assert text[link.start : link.end] == link.raw
        assert link.raw.startswith(("[", "![["))
        assert link.raw.endswith(("]", ")"))
        assert link.targets
        assert all(re.fullmatch(r"[^\x00-\x1f]+", target) for target in link.targets if "[[" not in link.raw)
        assert len(set(link.targets)) == len(link.targets)
        assert "\x00" not in (link.anchor or "")
    assert [link.start for link in found] == sorted(link.start for link in found)


LINES = st.sampled_from(
    [
        *("---", "title: x", "tags: [a, b]", "# H [[x]]", "text [[a|b]]", "> q [[c]]", "- l [[d]]"),
        *("  m [x](y.md)", "    code [[z]]", "```", "~~~", "[r]: u.md", "[r] and [r][]", "", "<div>"),
        *("</div> [[h]]", "| a | [[t]] |", "|---|---|", "<!-- [[c]] -->", "\r", "\ufeff", "===", "1. [[n]]"),
        *("\ttab [[t]]", "`[[code]]`", "[s]: v 't", "more' [s]", "![[e]]", "\\[[x]]", "[[un", "closed]]"),
        *("> ---", "- ---", "  ---"),
    ]
)
FRONT = st.lists(LINES, max_size=4).map(lambda lines: ["---", *lines, "---"])


@given(st.one_of(st.just([]), FRONT), st.lists(LINES, max_size=12))
@example(["---", "```", "---"], ["[[in a fence that the front matter opens]]"])
@example([], ["<div>", "[[in HTML]]"])
@example(["---", "[r]: one.md", "---"], ["[r]: two.md", "", "[r]"])
def test_links_are_the_same_by_a_structure_that_is_known(front: list[str], body: list[str]) -> None:
    """A text need not be parsed a second time for its links."""
    text = "\n".join(front + body)

    assert links.parse(text, "a/b.md", markdown.parse(text)) == links.parse(text, "a/b.md")


@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20))
def test_every_file_is_found_by_its_own_name(name: str) -> None:
    """A wiki link with a file's path resolves to it, unless the path holds marks of its own."""
    try:
        path = paths.parse(f"user/{name}").relative
    except InvalidPath:
        return
    if set(path) & set("[]|#`\\<&") or "://" in path or not links.key(path):
        return
    file = candidate(path)

    for target in (
        path,
        f"user/{path}",
        path.upper() if path.upper().casefold() == path.casefold() else path,
    ):
        assert links.resolve(targets(f"[[{target}]]")[0], [file]) == file


def test_number_of_links_is_bounded() -> None:
    """Links after the bound are left out."""
    found = links.parse("[[a]] " * (links.MAX_LINKS + 5) + "\n\n[[b]]", "index.md")
    after_brackets = links.parse("[ ] " * (links.MAX_BRACKETS - 4) + "[[a]]\n\n[[b]] [[c]]", "index.md")

    assert len(found) == links.MAX_LINKS
    assert [link.raw for link in after_brackets] == ["[[a]]", "[[b]]"]


@pytest.mark.slow
def test_hostile_repetition_ends() -> None:
    """A long run of opened brackets, quotes or lists is read in bounded work, whatever it means."""
    for unit in (
        "[",
        "[[",
        "![[",
        "[[a ",
        "[[a|",
        "[a](",
        "[](<",
        "> ",
        "- [[a]]\n",
        "`[[a]]",
    ):
        text = unit * (scaled(1 << 16) // len(unit)) + "[[a]](b.md)"

        assert len(links.parse(text, "index.md")) <= links.MAX_LINKS


def test_resolution_prefers_path_then_scope_then_length_then_order() -> None:
    """A path goes before a name, the own scope before others, then the shortest path, then path order."""
    by_name = candidate("deep/folder/plan.md")
    own, shared = candidate("plan.md"), candidate("plan.md", "shared", scope_order=2)
    first, second = candidate("a/plan.md"), candidate("b/plan.md")

    assert links.resolve(["plan"], [by_name, shared]) == shared
    assert links.resolve(["plan"], [shared, own, by_name]) == own
    assert links.resolve(["plan"], [by_name, second, first]) == first
    assert links.resolve(["a/plan"], [candidate("a/plan.md", "shared", 1), second]) is not None
    assert links.resolve(["none"], [own]) is None
    assert links.resolve([], [own]) is None


def test_first_target_that_resolves_wins() -> None:
    """Of two sides the one that resolves is the target; the first when both do."""
    plan, label = candidate("plan.md"), candidate("label.md")

    assert links.resolve(["label", "plan"], [plan]) == plan
    assert links.resolve(["label", "plan"], [plan, label]) == label


def test_target_may_name_the_mount() -> None:
    """With its mount in front a target is a path in that mount."""
    ours, theirs = candidate("plan.md", "user"), candidate("plan.md", "projects/My_Project", 1)

    assert links.resolve(["projects/my-project/plan"], [ours, theirs]) == theirs
    assert links.resolve(["user/plan"], [ours, theirs]) == ours
    assert links.resolve(["shared/plan"], [ours, theirs]) is None


def vault(name: str) -> dict[str, str]:
    """Return the notes of a vault by path."""
    with tarfile.open(Path(str(EVAL_DATA)) / "vaults" / f"{name}.tar.gz") as archive:
        members = [member for member in archive if member.name.endswith(".md")]
        return {m.name: file.read().decode() for m in members if (file := archive.extractfile(m))}


class Tally:
    """Counts over the links of a vault: resolved, and edges from one note to another."""

    def __init__(self, notes: Iterable[str]) -> None:
        self.by_key: dict[str, list[LinkCandidate]] = {}
        for path in notes:
            for key in set(links.path_keys(path)):
                self.by_key.setdefault(key, []).append(candidate(path))
        self.resolved = 0
        self.edges: set[tuple[str, str]] = set()

    def add(self, source: str, targets: Sequence[str]) -> bool:
        """Count a link; say whether it resolves."""
        found = links.resolve(targets, [c for target in targets for c in self.by_key.get(target, [])])
        if found is None:
            return False
        self.resolved += 1
        if found.path != source:
            self.edges.add((source, found.path))
        return True


@pytest.mark.skipif(EVAL_DATA is None, reason="MEMEX_EVAL_DATA is unset")
@pytest.mark.parametrize(
    ("name", "target_side", "counts"),
    [("dendron-site", -1, (3234, 3008, 2317, 130)), ("foam-docs", 0, (199, 197, 179, 2))],
)
def test_published_counts_of_linked_vaults_are_met(
    name: str, target_side: int, counts: tuple[int, int, int, int]
) -> None:
    """Counted as the data's page counts, keys and resolution give its links, resolved, edges and missing.

    It leaves out unindented fences and code spans of one line only, knows which side is the target, takes
    `[[#heading]]` for a link that resolves, and `dendron://vault/note.md` for one that does not.
    """
    notes = vault(name)
    tally, found, missing = Tally(notes), 0, set()
    for path, text in notes.items():
        prose = re.sub(r"`[^`\n]*`", "", re.sub(r"(?ms)^(```|~~~).*?^\1[ \t]*$", "", text))
        for inside in re.findall(r"\[\[([^\[\]\n]+)\]\]", prose):
            found += 1
            target = inside.split("|")[target_side].partition("#")[0].strip()
            if not target:
                tally.resolved += 1
            elif re.search(r"://.*\.md$", target) or not tally.add(path, *targets(f"[[{target}]]") or [()]):
                missing.add(target.casefold())

    assert (found, tally.resolved, len(tally.edges), len(missing)) == counts


@pytest.mark.skipif(EVAL_DATA is None, reason="MEMEX_EVAL_DATA is unset")
@pytest.mark.parametrize(
    ("name", "counts"), [("dendron-site", (3216, 719, 3000, 2321)), ("foam-docs", (199, 0, 197, 179))]
)
def test_vaults_are_read_by_the_rules_of_this_module(name: str, counts: tuple[int, int, int, int]) -> None:
    """Read by `parse`, whole files give links, embeds, resolved and edges.

    The links are fewer than published because indented fences hold none, and `[[#heading]]` is none.
    """
    notes = vault(name)
    tally, found, embeds = Tally(notes), 0, 0
    for path, text in notes.items():
        for link in links.parse(text, path):
            if link.raw.startswith(("[[", "![[")):
                found += 1
                embeds += link.embed
                tally.add(path, link.targets)

    assert (found, embeds, tally.resolved, len(tally.edges)) == counts
