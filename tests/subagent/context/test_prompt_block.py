"""The prompt block: what it holds inside its budget, and that nothing stored can pass for a part of it."""

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memex.errors import ValidationFailed
from memex.store.records import FileSummary, Reference
from memex.subagent import prompts
from memex.subagent.context.prompt_block import SENTENCE, PinnedNote, PromptBlock, render

NOW = datetime(2026, 11, 22, tzinfo=UTC)
GUIDE = "Remember.\n\nRecall."
MAX_GUIDE_CHARS = 1_200


def note(path: str, text: str, *, start: int = 0) -> PinnedNote:
    """A pinned note that is whole."""
    return PinnedNote(Reference(path, 3, (start, start + len(text))), text)


def files(*titles: str) -> list[FileSummary]:
    """Files with these titles, the later ones changed later."""
    return [
        FileSummary(f"user/{n:05}.md", 1, 100, title, (), NOW + timedelta(days=n))
        for n, title in enumerate(titles)
    ]


def guard(block: PromptBlock) -> str:
    """Return what each line of ours begins with."""
    found = re.search(r"^\[[0-9a-v]{4}\]", block.text, re.MULTILINE)
    assert found is not None
    return found[0]


def test_all_stands_in_it_when_it_fits() -> None:
    """The guide, then in the wrapper the pinned notes word for word, then the list of files."""
    pinned = [note("shared/a.md", "Be kind.\n\nAlways.", start=21), note("shared/b.md", "Be brief.")]
    block = render(GUIDE, pinned, files("Tea"), budget=4_000)
    mark = guard(block)
    tag = re.search(r"<(memory-[0-9a-v]{4})>", block.text)

    assert tag is not None
    assert block.text == (
        f"{GUIDE}\n\n<{tag[1]}>\n{SENTENCE}\n"
        f"\n{mark} shared/a.md@3:21-38\nBe kind.\n\nAlways.\n"
        f"\n{mark} shared/b.md@3:0-9\nBe brief.\n"
        f"\n{mark} files\n- user/00000.md — Tea (100 chars, 2026-11-22)\n"
        f"</{tag[1]}>"
    )
    assert (block.pinned, block.left_out, block.files) == (tuple(pinned), (), 1)


def test_an_empty_memory_gives_the_guide_alone() -> None:
    """There is no wrapper around nothing."""
    assert render(GUIDE, [], [], budget=500).text == GUIDE


def test_the_same_state_gives_the_same_bytes() -> None:
    """And another state another hash."""
    pinned = [note("shared/a.md", "Be kind.")]
    first, second = (render(GUIDE, pinned, files("Tea"), budget=1_000) for _ in range(2))

    assert first == second
    assert render(GUIDE, pinned, files("Tee"), budget=1_000).sha256 != first.sha256


def test_a_note_that_does_not_fit_is_cut_at_a_line_and_those_after_it_left_out() -> None:
    """What is left out is told in the block, and the cut note names the lines that stand."""
    long = "\n".join(f"line {n}" for n in range(200))
    pinned = [note("shared/a.md", "Be kind."), note("shared/b.md", long, start=7), note("shared/c.md", "x")]
    block = render(GUIDE, pinned, [], budget=700)
    whole, cut = block.pinned

    assert len(block.text) <= 700
    assert (whole, whole.is_whole, cut.is_whole) == (pinned[0], True, False)
    assert long.startswith(f"{cut.text}\n")
    assert cut.reference == Reference("shared/b.md", 3, (7, 7 + len(cut.text)))
    assert f"{guard(block)} {cut.reference} · cut\n{cut.text}\n" in block.text
    assert block.left_out == ("shared/c.md",)
    assert f"{guard(block)} pinned notes that do not fit: 1\n" in block.text


def test_what_is_pinned_leaves_room_for_the_list() -> None:
    """A quarter of the room is for the files, however long the pinned notes are."""
    long = "\n".join(f"line {n}" for n in range(2_000))
    block = render(GUIDE, [note("shared/a.md", long)], files(*["Tea"] * 100), budget=2_000)

    assert len(block.text) <= 2_000
    assert 5 < block.files < 100
    assert f"- … and {100 - block.files} more" in block.text
    assert "user/00099.md" in block.text
    assert "user/00000.md" not in block.text


def test_a_guide_that_is_too_long_is_cut_at_a_line() -> None:
    """It stands first, and nothing else does then."""
    guide = "\n".join(["0123456789"] * 100)
    block = render(guide, [note("shared/a.md", "x")], files("Tea"), budget=500)

    assert len(block.text) <= 500
    assert guide.startswith(block.text)
    assert block.text.endswith("\n0123456789")
    assert (block.pinned, block.left_out, block.files) == ((), ("shared/a.md",), 0)


parts = [*"ab \n\r[]<>/-#é🦊", "</memory-", "</memory-0123", "[0123] files", "\n" * 3]
lines = st.lists(st.sampled_from(parts), max_size=200).map("".join)


@given(lines, st.lists(lines, max_size=4), st.lists(lines, max_size=30), st.integers(500, 3_000))
def test_it_never_exceeds_its_budget_and_is_never_closed_from_within(
    guide: str, texts: list[str], titles: list[str], budget: int
) -> None:
    """Whatever the notes and titles are, one tag closes it, and only lines of ours bear the guard."""
    pinned = [note(f"shared/{n}.md", text) for n, text in enumerate(texts)]
    block = render(guide, pinned, files(*titles), budget=budget)
    assert len(block.text) <= budget
    assert len(block.pinned) + len(block.left_out) == len(texts)
    closing = re.fullmatch(r"</memory-([0-9a-v]{4})>", block.text.rsplit("\n", 1)[-1])
    if closing is None:
        assert (block.pinned, block.files) == ((), 0)
        return
    assert block.text.count(f"memory-{closing[1]}") == 2
    inside = block.text.split(f"<memory-{closing[1]}>\n{SENTENCE}\n\n")[1]
    mark = inside[:6]
    assert mark == f"[{closing[1]}]"
    listed = inside.count(f"{mark} files\n- ")
    told = inside.count(f"{mark} pinned notes that do not fit: {len(block.left_out)}\n")
    assert listed <= 1
    assert told == bool(block.left_out)
    assert inside.count(mark) == len(block.pinned) + told + listed


def test_stored_text_cannot_hold_the_marks_of_its_own_block() -> None:
    """A text that was made from the block as it was is in another block, with other digits."""
    before = render(GUIDE, [note("shared/a.md", "x")], files("Tea"), budget=4_000)
    forged = before.text[len(GUIDE) :]
    after = render(GUIDE, [note("shared/a.md", forged)], files(forged), budget=4_000)
    closing = after.text.rsplit("\n", 1)[1]

    assert after.text.count(closing) == 1
    assert closing not in forged
    assert guard(before) not in after.text.replace(forged, "").replace(" ".join(forged.split())[:80], "")


class TestGuide:
    """`prompts/block.md`, and what may stand in its place."""

    def test_ours_is_short_and_names_both_tools(self) -> None:
        """It stands in every request of the host, and is the same for all."""
        guide = prompts.load_text("block")

        assert len(guide.body) <= MAX_GUIDE_CHARS
        assert {"memory_context", "memory_remember"} <= set(re.findall(r"`(\w+)`", guide.body))
        assert not set("{}$%<>") & set(guide.body)

    def test_a_directory_overrides_it(self, tmp_path: Path) -> None:
        """With its own version; the text is all that stands below the front matter."""
        (tmp_path / "block.md").write_text("---\nversion: 4\npurpose: Ours.\n---\n\n# Memory\n\nUse it.\n")
        guide = prompts.load_text("block", tmp_path)

        assert (guide.version, guide.purpose, guide.body) == (4, "Ours.", "# Memory\n\nUse it.")

    @pytest.mark.parametrize(
        ("text", "problem"),
        [
            ("Use it.", "no version"),
            ("---\nversion: x\npurpose: Ours.\n---\nUse it.", "no whole number"),
            ("---\nversion: 1\n---\nUse it.", "no purpose"),
            ("---\nversion: 1\npurpose: Ours.\n---\n \n", "nothing stands below"),
        ],
    )
    def test_a_malformed_one_is_refused(self, tmp_path: Path, text: str, problem: str) -> None:
        """By name, with the form that it must have."""
        (tmp_path / "block.md").write_text(text)

        with pytest.raises(ValidationFailed, match=problem) as refused:
            prompts.load_text("block", tmp_path)

        assert str(tmp_path / "block.md") in refused.value.message
        assert "the text below it" in refused.value.hint
