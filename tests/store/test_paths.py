"""The gate for virtual paths and ids."""

import json
import os
import unicodedata
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from memex.errors import InvalidId, InvalidPath, PhysicalPathForbidden, UnknownMount, ValidationFailed
from memex.store import paths
from memex.store.paths import Prefix, VirtualPath

EVAL_DATA = os.environ.get("MEMEX_EVAL_DATA")

# Names made of what the rules are about, so that many are accepted and many just not.
NAMES = st.text(
    st.sampled_from("ab.A é\u0301\u0915%~-_\u00a0\u3000文\u212b🙂'\\\u200d\n"), min_size=1, max_size=8
)
ANY_TEXT = st.text(st.characters(exclude_categories=()), max_size=40)
LIKELY_PATHS = st.builds(
    lambda head, names: head + "/".join(names),
    st.sampled_from(["user/", "shared/", "projects/apollo/", "projects/", "", "/", "users/"]),
    st.lists(NAMES, max_size=18),
)


def test_clean_path_is_its_mount_and_the_rest() -> None:
    """An accepted path is split at its mount, kept otherwise, and prints as it came."""
    for path, parsed in (
        ("user/profile.md", VirtualPath("user", None, "profile.md")),
        ("shared/a/b c/d", VirtualPath("shared", None, "a/b c/d")),
        ("projects/apollo/plan.md", VirtualPath("project", "apollo", "plan.md")),
        ("projects/user/index.md", VirtualPath("project", "user", "index.md")),
        ("user/Users/%2e%2e/..hidden", VirtualPath("user", None, "Users/%2e%2e/..hidden")),
        ("user/users/tenants/x", VirtualPath("user", None, "users/tenants/x")),
        ("user/O'Brien; drop table", VirtualPath("user", None, "O'Brien; drop table")),
        ("user/日本語/🙂.md", VirtualPath("user", None, "日本語/🙂.md")),
    ):
        assert paths.parse(path) == parsed
        assert str(parsed) == path


def test_path_knows_its_file_name_and_mount_name() -> None:
    """The file name is the last segment; the mount name is what `state` and links call the mount."""
    plan = paths.parse("projects/apollo/2026/plan.md")

    assert plan.name == "plan.md"
    assert plan.mount_name == "projects/apollo"
    assert paths.parse("user/plan.md").mount_name == "user"


def test_spellings_of_one_text_are_one_path() -> None:
    """Composed and decomposed input give the same path, in NFC."""
    assert paths.parse("user/cafe\u0301.md") == paths.parse("user/caf\u00e9.md")
    assert paths.parse("user/\u212bngstrom").relative == "\u00c5ngstrom"


def test_case_is_kept() -> None:
    """Paths that differ in case only are different paths."""
    assert paths.parse("user/Plan.md") != paths.parse("user/plan.md")


def test_broken_rule_is_named() -> None:
    """A refused path is told which rule it breaks, and by which character."""
    for path, says in (
        ("", "1 to 512 characters"),
        ("user/" + "x" * 508, "1 to 512 characters; this has 513"),
        ("user/" + "x" * 5_000_000, "1 to 512 characters"),
        ("user" + "/x" * 16, "at most 16 segments; this has 17"),
        ("user", "names a mount, not a file"),
        ("user/", "empty segment"),
        ("/user/x", "empty segment"),
        ("user//x", "empty segment"),
        ("user/x/", "empty segment"),
        ("projects", "names no file"),
        ("projects/apollo", "names no file"),
        ("projects//x", "empty segment"),
        ("./user/x", "'.'"),
        ("../user/x", "'..'"),
        ("user/../shared/x", "'..'"),
        ("projects/../x", "'..'"),
        ("user/x\\y", "backslash (U+005C)"),
        ("user/x\x00", "control character (U+0000)"),
        ("user/x\ny", "control character (U+000A)"),
        ("user/x\x85y", "control character (U+0085)"),
        ("user/\udc80", "lone surrogate (U+DC80)"),
        ("user/x\u2028y", "line separator (U+2028)"),
        ("user/\u202egpj.md", "bidirectional control (U+202E)"),
        ("user/x\u2066y", "bidirectional control (U+2066)"),
        ("user/x\u200fy", "bidirectional control (U+200F)"),
        ("user/x\u200by", "shows as nothing (U+200B)"),
        ("user/👩\u200d💻.md", "shows as nothing (U+200D)"),
        ("user/❤\ufe0f.md", "shows as nothing (U+FE0F)"),
        ("user/x\u00ady", "shows as nothing (U+00AD)"),
        ("user/x\ufeffy", "shows as nothing (U+FEFF)"),
        ("user/x\u2060y", "shows as nothing (U+2060)"),
        ("user/x\U000e0041y", "shows as nothing (U+E0041)"),
        ("user/ x", "begins with a space (U+0020)"),
        ("user/x /y", "ends with a space (U+0020)"),
        ("user/x\u3000", "ends with a space (U+3000)"),
        ("user/\u00a0x", "begins with a space (U+00A0)"),
        ("user/x.", "ends with a dot"),
        ("user/.../y", "ends with a dot"),
    ):
        with pytest.raises(InvalidPath) as refused:
            paths.parse(path)

        assert refused.value.code == "INVALID_PATH"
        assert says in refused.value.message


def test_longest_and_deepest_path_pass() -> None:
    """The limits themselves are allowed, counted after normalisation."""
    assert len(str(paths.parse("user/" + "x" * 507))) == 512
    assert len(str(paths.parse("user/" + "e\u0301" * 507))) == 512
    assert str(paths.parse("user" + "/x" * 15)).count("/") == 15


@pytest.mark.parametrize("path", ["users/alice/profile.md", "tenants/acme/users/bob", "users", "users/../x"])
def test_physical_path_is_forbidden(path: str) -> None:
    """A path cannot name a user or tenant."""
    with pytest.raises(PhysicalPathForbidden):
        paths.parse(path)


def test_unknown_mount_is_refused() -> None:
    """The first segment must be a mount, letter by letter."""
    for path in (
        "etc/passwd",
        "User/x",
        "USERS/x",
        "project/apollo/x",
        "memory.md",
        "ｕser/x",
    ):
        with pytest.raises(UnknownMount):
            paths.parse(path)


def test_hint_mends_the_case_of_a_mount() -> None:
    """Whoever writes a mount in capitals is told to write it in lower case."""
    with pytest.raises(UnknownMount) as refused:
        paths.parse("Projects/apollo/x")

    assert refused.value.hint == "Mounts are lower case: write projects/…"


def test_prefix_is_a_mount_and_a_literal_beginning() -> None:
    """A prefix names everything, a mount, a project, or the beginning of relative paths there."""
    for prefix, parsed in (
        ("", Prefix(None, None, "")),
        ("user", Prefix("user", None, "")),
        ("user/", Prefix("user", None, "")),
        ("user/no", Prefix("user", None, "no")),
        ("user/a/b/", Prefix("user", None, "a/b/")),
        ("user/my ", Prefix("user", None, "my ")),
        ("user/v1.", Prefix("user", None, "v1.")),
        ("projects", Prefix("project", None, "")),
        ("projects/", Prefix("project", None, "")),
        ("projects/apollo", Prefix("project", "apollo", "")),
        ("projects/apollo/", Prefix("project", "apollo", "")),
        ("projects/apollo/no", Prefix("project", "apollo", "no")),
        ("shared/cafe\u0301", Prefix("shared", None, "caf\u00e9")),
    ):
        assert paths.parse_prefix(prefix) == parsed


def test_prefix_under_which_nothing_can_stand_is_refused() -> None:
    """A prefix obeys the rules of paths but for the end of its last segment."""
    for prefix, error in (
        ("use", UnknownMount),
        ("users/", PhysicalPathForbidden),
        ("/", InvalidPath),
        ("user//", InvalidPath),
        ("user/..", InvalidPath),
        ("user/../shared/", InvalidPath),
        ("user/ x", InvalidPath),
        ("user/a /b", InvalidPath),
        ("user/%\x00", InvalidPath),
        ("projects//x", InvalidPath),
        ("projects/apollo /x", InvalidPath),
        ("user/" + "x" * 508, InvalidPath),
    ):
        with pytest.raises(error):
            paths.parse_prefix(prefix)


@given(LIKELY_PATHS | ANY_TEXT)
@example("user/\u0344\u0301")
@example("user/=\u0338/x")
def test_gate_lets_clean_paths_through_and_nothing_else(text: str) -> None:
    """Arbitrary text is a path with every invariant, or InvalidPath; never anything else."""
    try:
        parsed = paths.parse(text)
    except InvalidPath:
        return

    assert_invariants(parsed)
    assert paths.parse(str(parsed)) == parsed
    assert paths.parse(unicodedata.normalize("NFD", text)) == parsed
    assert str(parsed) == unicodedata.normalize("NFC", text)


def test_refusal_never_echoes_what_could_harm_a_terminal() -> None:
    """Messages name a forbidden character by its code point and never hold it."""
    for character in (
        "\x00",
        "\x1b",
        "\x9b",
        "\u202e",
        "\u2028",
        "\u200b",
        "\ud800",
    ):
        for path in (
            character,
            f"user/{character}x",
            f"{character}/x",
            f"nowhere{character}/x",
            f"users/{character}",
        ):
            with pytest.raises(InvalidPath) as refused:
                paths.parse(path)
            assert character not in refused.value.message + refused.value.hint


@given(LIKELY_PATHS | ANY_TEXT)
def test_every_beginning_of_a_path_is_a_prefix_of_it(text: str) -> None:
    """Cut anywhere behind its mount, an accepted path gives a prefix that it matches."""
    try:
        parsed = paths.parse(text)
    except InvalidPath:
        return
    for length in range(len(parsed.mount_name), len(str(parsed)) + 1):
        beginning = str(parsed)[:length]
        if beginning.endswith(("/.", "/..")):
            continue
        prefix = paths.parse_prefix(beginning)
        assert (prefix.mount, prefix.project) == (parsed.mount, parsed.project)
        assert parsed.relative.startswith(prefix.relative)


@given(LIKELY_PATHS | ANY_TEXT)
def test_arbitrary_prefix_parses_or_is_refused(text: str) -> None:
    """Arbitrary text is a prefix or InvalidPath; never anything else."""
    try:
        prefix = paths.parse_prefix(text)
    except InvalidPath:
        return
    assert prefix.relative == unicodedata.normalize("NFC", prefix.relative)


@pytest.mark.skipif(EVAL_DATA is None, reason="MEMEX_EVAL_DATA is unset")
def test_published_traversal_payloads_stay_inside() -> None:
    """Every payload, bare and below a mount, is refused or is a plain relative path."""
    folder = Path(str(EVAL_DATA)) / "paths"
    payloads: list[str] = json.loads((folder / "blns.json").read_text(encoding="utf-8"))
    for file in folder.glob("*.txt"):
        for line in file.read_bytes().splitlines():
            payloads += [line.decode("utf-8", "surrogateescape"), line.decode("latin-1")]
    assert len(payloads) > 2000

    accepted = 0
    for payload in payloads:
        for path in (payload, f"user/{payload}", f"projects/{payload}/x"):
            try:
                parsed = paths.parse(path)
            except InvalidPath:
                continue
            assert_invariants(parsed)
            accepted += 1
    assert accepted > 500


def assert_invariants(path: VirtualPath) -> None:
    """Fail unless the path keeps every rule, restated here without the gate's own code."""
    text = str(path)
    segments = text.split("/")
    assert segments[0] in {"user": ["user"], "shared": ["shared"], "project": ["projects"]}[path.mount]
    assert (path.project is not None) == (path.mount == "project")
    assert path.relative == "/".join(segments[2 if path.project else 1 :])
    assert unicodedata.is_normalized("NFC", text)
    assert 1 <= len(text) <= 512
    assert 2 <= len(segments) <= 16
    assert path.relative
    for segment in segments:
        assert segment not in ("", ".", "..")
        assert segment == segment.strip()
        assert not segment.endswith(".")
    assert "\\" not in text
    assert not {unicodedata.category(c) for c in text} & {"Cc", "Cs", "Zl", "Zp"}
    assert not {unicodedata.bidirectional(c) for c in text} & {"LRE", "RLE", "LRO", "RLO", "PDF", "BN"}
    assert not {unicodedata.bidirectional(c) for c in text} & {"LRI", "RLI", "FSI", "PDI"}
    assert not set(text) & set("\u200b\u200c\u200d\u200e\u200f\u2060\ufeff\u00ad\u061c\u180e\u034f\u3164")


def test_id_is_any_printable_text() -> None:
    """Ids are data: whatever is printable is an id, unchanged."""
    for value in (
        "a",
        "x" * 200,
        "alice@example.com",
        "../%_'\"\\",
        "Ünï 文 🙂",
        "e\u0301",
        "a b",
    ):
        assert paths.check_id(value, "user_id") == value


def test_unprintable_id_is_refused_by_name() -> None:
    """Whatever is empty, too long or unprintable is refused, and the message names the argument."""
    for value in (
        "",
        "x" * 201,
        "a\x00",
        "a\nb",
        "a\x7f",
        "\ud800",
        "a\u2028b",
        "a\u2029b",
        "\x9b",
        " ",
        " a",
        "a\u3000",
    ):
        with pytest.raises(ValidationFailed, match=r"^actor must ") as refused:
            paths.check_id(value, "actor")

        assert not paths._UNPRINTABLE.search(refused.value.message)


def test_slug_is_one_segment_of_a_path() -> None:
    """A slug can stand in a path as it is."""
    for value in (
        "apollo",
        "Apollo 11",
        "日本",
        "..x",
        "users",
        "x" * 200,
    ):
        assert paths.check_slug(value) == value
        assert paths.parse(f"projects/{value}/plan.md").project == value


def test_slug_that_no_path_can_name_is_refused() -> None:
    """A slug that the gate would refuse or change is refused when the project is made."""
    for value in (
        "",
        "a/b",
        "..",
        ".",
        "a.",
        " a",
        "a ",
        "a\\b",
        "e\u0301",
        "a\u200bb",
        "x" * 201,
        "\n",
    ):
        with pytest.raises(ValidationFailed, match=r"^slug must ") as refused:
            paths.check_slug(value)

        assert type(refused.value) in (ValidationFailed, InvalidId)


@given(ANY_TEXT | NAMES)
def test_every_slug_can_be_named_in_a_path(text: str) -> None:
    """Whatever is accepted as a slug comes back unchanged from the gate."""
    try:
        slug = paths.check_slug(text)
    except ValidationFailed:
        return
    assert paths.parse(f"projects/{slug}/x").project == text


@pytest.mark.parametrize("value", ["toolu_01ABC", "call/1%", "x" * 200, "日本"])
def test_tool_call_id_is_printable(value: str) -> None:
    """Any printable text without white space is a tool call id."""
    assert paths.check_tool_call_id(value) == value


def test_tool_call_id_holds_no_white_space() -> None:
    """White space of any kind, like what is unprintable, is refused."""
    for value in (
        "",
        "a b",
        "a\u00a0b",
        "a\u3000",
        "a\tb",
        "x" * 201,
        "\udfff",
    ):
        with pytest.raises(ValidationFailed, match=r"^tool_call_id must "):
            paths.check_tool_call_id(value)
