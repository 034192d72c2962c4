"""What the data sets become: questions with their evidence, and files as an importer would write them."""

import datetime
import os
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memex.errors import ValidationFailed
from memex.evals.retrieval import datasets, opaque_names, render, suites
from memex.evals.retrieval.datasets import ConversationSession, Turn
from memex.evals.retrieval.suites import SuitePart
from memex.store import markdown

EVAL_DATA = os.environ.get("MEMEX_EVAL_DATA")
DAY = datetime.date(2023, 5, 8)
LINES = st.text(st.characters(codec="utf-8", exclude_categories=["C", "Zl", "Zp"]), min_size=1, max_size=80)


def test_locomo_leaves_out_what_has_no_answer(retrieval_data: Path) -> None:
    """Adversarial questions go, and those whose evidence is no turn; slips in ids are read as they are meant."""
    [conversation] = datasets.load_conversations(retrieval_data)

    assert [(asked.kinds, asked.evidence) for asked in conversation.asked] == [
        (("single-hop",), ("D2:2",)),
        (("multi-hop",), ("D1:2", "D2:2")),
        (("temporal",), ("D2:1",)),
        (("open-domain",), ("D1:3",)),
    ]
    assert [session.day.isoformat() for session in conversation.sessions] == ["2023-05-08", "2023-06-12"]


def test_beam_leaves_out_abstention(retrieval_data: Path) -> None:
    """What has no evidence cannot be found; the factual abilities are a group of their own."""
    [chat] = datasets.load_chats(retrieval_data, "100K")

    assert [asked.kinds for asked in chat.asked] == [
        ("factual", "information_extraction"),
        ("summarization",),
    ]
    assert [message.day for message in chat.messages] == [datetime.date(2024, 3, 15), None, None]


def test_judgements_of_0_are_not_relevant(retrieval_data: Path) -> None:
    """A query has the documents that are judged relevant; one without any is left out."""
    judged = datasets.load_corpus(retrieval_data, "scifact")

    assert [asked.evidence for asked in judged.asked] == [("A", "C"), ("C",)]


def test_missing_data_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The variable when it is unset or wrong, else the file that is not there."""
    with pytest.raises(ValidationFailed, match=re.escape("locomo/locomo5.json.gz")):
        datasets.load_conversations(tmp_path)
    monkeypatch.delenv("MEMEX_EVAL_DATA", raising=False)
    with pytest.raises(ValidationFailed, match="MEMEX_EVAL_DATA is not set"):
        datasets.find_data_folder()
    monkeypatch.setenv("MEMEX_EVAL_DATA", str(tmp_path / "nowhere"))
    with pytest.raises(ValidationFailed, match="names no folder"):
        datasets.find_data_folder()


def test_a_session_is_one_file(retrieval_data: Path) -> None:
    """Its date in front, a heading, and a paragraph a turn: who spoke, the words, what a picture shows."""
    part = suites.locomo_sessions(retrieval_data)

    [first, _] = part.collections[0].files.values()
    assert first == (
        '---\ndate: 2023-05-08\ntitle: "Conversation at 1:56 pm on 8 May, 2023"\n---\n'
        "# Conversation at 1:56 pm on 8 May, 2023\n"
        "\n**Ada**: Hello Bert!\n"
        "\n**Bert**: I adopted a greyhound yesterday.\n"
        "\n**Ada**: Look! [shares an image: a photo of a lighthouse]\n"
    )
    assert markdown.describe("user/x.md", first).date == "2023-05-08"


def test_a_turn_is_one_file(retrieval_data: Path) -> None:
    """The turns of a session lie in one folder, numbered in their order."""
    part = suites.locomo_turns(retrieval_data)

    paths = list(part.collections[0].files)
    assert [path.rpartition("/")[2] for path in paths] == [
        "0001.md",
        "0002.md",
        "0003.md",
        "0001.md",
        "0002.md",
    ]
    assert len({path.rpartition("/")[0] for path in paths}) == 2
    assert part.collections[0].files[paths[0]] == "---\ndate: 2023-05-08\n---\n**Ada**: Hello Bert!\n"


def test_a_cue_stands_among_the_turns_of_a_conversation(retrieval_data: Path) -> None:
    """Both lines of it in a file of its own, which a later remark asks for."""
    part = suites.locomo_plus(retrieval_data)

    [collection] = part.collections
    [question] = collection.questions
    assert (part.files, question.kinds, question.text) == (6, ("causal",), "A: Why did we never set out?")
    assert collection.files[question.relevant[0]] == "A: My dog ate the map.\n\nB: Then we stay at home.\n"


def test_user_messages_alone_leave_evidence_out_of_reach(retrieval_data: Path) -> None:
    """What the assistant said is no file there, and still counts as evidence."""
    user, every = suites.beam_user(retrieval_data), suites.beam_all(retrieval_data)

    assert (user.files, every.files) == (2, 3)
    question = user.collections[0].questions[1]
    assert [path in user.collections[0].files for path in question.relevant] == [True, False]
    assert question == every.collections[0].questions[1]
    first = user.collections[0].files[question.relevant[0]]
    assert first == "---\ndate: 2024-03-15\n---\nuser: Budget tracker?\n"


def test_a_document_is_its_title_and_text(retrieval_data: Path) -> None:
    """Without a title there is no heading."""
    contents = suites.abstracts(retrieval_data, "cranfield").collections[0].files.values()

    assert "# Heat flow\n\nHeat flow.\n" in contents
    assert "Wings of aircraft.\n" in contents


def test_vault_questions_know_their_notes(retrieval_data: Path) -> None:
    """Files keep their paths, which are part of a vault; a case asks for texts, and names its sources."""
    part = suites.vaults(retrieval_data)

    dendron = part.collections[0]
    assert "user/vault/other.md" in dendron.files
    assert all(piece.text for question in dendron.questions for piece in question.evidence)
    assert dendron.questions[0].relevant == ("user/vault/dendron.topic.workspace.commands.sync.md",)


def test_linked_cases_are_read(retrieval_data: Path) -> None:
    """Each needs two notes, and says how they are linked."""
    part = suites.vaults_linked(retrieval_data)

    assert part.questions >= 60
    assert {kind for c in part.collections for q in c.questions for kind in q.kinds} >= {
        "forward",
        "dev",
        "test",
    }
    assert all(len(q.relevant) == 2 for collection in part.collections for q in collection.questions)


@given(st.lists(st.tuples(st.sampled_from(["Ada", "Bert"]), LINES, st.none() | LINES), max_size=8))
def test_spans_hold_the_turns(said: list[tuple[str, str, str | None]]) -> None:
    """Each span of a session is the line of its turn, whatever was said."""
    turns = tuple(Turn(str(number), *one) for number, one in enumerate(said))

    rendered = render.session(ConversationSession("1 pm", DAY, turns))

    assert [rendered.content[slice(*rendered.spans[turn.id])] for turn in turns] == [*map(render.line, turns)]
    for turn in turns:
        alone = render.turn(turn, DAY)
        assert alone.content[slice(*alone.spans[turn.id])] == render.line(turn)


@given(st.text(max_size=20), st.text(max_size=20))
def test_names_say_nothing(first: str, second: str) -> None:
    """Nine consonants: no word, no number; the same for the same parts, others under another key."""
    name = opaque_names.opaque_name(first, second)

    assert re.fullmatch(r"[bcdfghjklmnpqrstvwxz]{9}", name)
    assert opaque_names.opaque_name(first, second) == name
    assert opaque_names.opaque_name(first, second, key=b"another") != name


@pytest.mark.slow
def test_no_id_of_the_data_stands_in_a_path_or_question(retrieval_data: Path) -> None:
    """Paths hold names made by a key, and orders within a session; ids of questions are digests."""
    parts = [reader(retrieval_data) for reader in suites.readers_of("all")]
    guarded = [part for part in parts if not part.has_names]

    for part in guarded:
        for collection in part.collections:
            for path in collection.files:
                assert re.fullmatch(r"user/\w+/[b-z]{9}(/\d{4})?\.md", path)
            assert all(re.fullmatch(r"[0-9a-f]{16}", question.id) for question in collection.questions)


@pytest.mark.skipif(EVAL_DATA is None, reason="MEMEX_EVAL_DATA names no folder of real data")
@pytest.mark.slow
def test_the_real_data_is_read_whole() -> None:
    """As many files and questions as the protocol counts, and every path of a part is one of its own."""
    parts: dict[str, SuitePart] = {}
    for reader in suites.readers_of("all"):
        part = reader(Path(str(EVAL_DATA)))
        parts[part.name] = part

    counts = {name: (len(part.collections), part.files, part.questions) for name, part in parts.items()}
    assert counts["locomo-sessions"] == (5, 136, 786)
    assert counts["locomo-turns"] == (5, 2_960, 786)
    assert counts["locomo-plus"] == (1, 620, 201)
    assert counts["beam-user"][::2] == counts["beam-all"][::2] == (10, 179)
    assert counts["scifact"] == (1, 5_183, 300)
    assert counts["cranfield"] == (1, 1_400, 225)
    factual = [q for c in parts["beam-user"].collections for q in c.questions if "factual" in q.kinds]
    assert len(factual) == 100
