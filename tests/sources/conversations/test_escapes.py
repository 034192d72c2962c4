"""Halves of surrogate pairs in the JSON of exports: they cost one character, and not the rest of the file."""

import io
import json

from hypothesis import given
from hypothesis import strategies as st

from memex.sources.conversations.escapes import PairedEscapes
from memex.sources.conversations.files import ExportFile, JsonElements
from memex.sources.conversations.records import ReadReport

PARTS = st.sampled_from(["a", "\\", "\\ud83d", '"', "\n", "é", "😀", "\ud83d", "\ude00", "\udfff", "\\u"])


@given(st.lists(PARTS, max_size=12).map("".join), st.integers(1, 9))
def test_lone_halves_are_replaced_wherever_the_pieces_end(text: str, size: int) -> None:
    """All other characters stay as they are, also backslashes, and pairs that are cut between two pieces."""
    whole = json.dumps(text).encode()
    escapes = PairedEscapes()
    pieces = [escapes.mend(whole[at : at + size], is_last=False) for at in range(0, len(whole), size)]
    mended = b"".join([*pieces, escapes.mend(b"", is_last=True)])

    paired = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    assert json.loads(mended) == paired
    assert len(mended) == len(whole)


def test_elements_after_a_lone_half_are_read() -> None:
    """A high half alone, a low half alone, and both in the wrong order."""
    content = json.dumps(["x\ud83d", "\udfffy", "\ude00\ud83d", "last 😀"]).encode()
    report = ReadReport()

    found = list(JsonElements(ExportFile("x.json", lambda: io.BytesIO(content))).read(report))

    assert found == ["x\ufffd", "\ufffdy", "\ufffd\ufffd", "last 😀"]
    assert report.damaged == 0
