"""The whole job: what is read as evidence, what counts as recalled, and a tiny chat told to a real service."""

import gzip
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from memex.evals.retrieval.datasets import VARIABLE
from memex.evals.told.chats import SETS, ToldChat, as_log, load_beam_chats, load_locomo_chats
from memex.evals.told.measure import ContextFigures, figures_table, to_markdown
from memex.evals.told.play import is_indexed
from memex.evals.told.recall import content_words, document_frequencies, is_recalled, key_sentence
from memex.evals.told.simple_program import MIN_ROOM_CHARS, WRAPPER_CHARS, SimpleProgram

DEADLINE_S = 300
SAID = (
    "I live in Trondheim. I work there as a nurse.",
    "I prefer oolong tea. Could you help me with a list of tea shops?",
    "I adopted a greyhound called Pixel.",
)
ASKED = (
    ("preference_following", "Which tea do I prefer?", "oolong tea", [2]),
    ("information_extraction", "What is my greyhound called?", "Pixel", [4]),
    ("summarization", "Sum up what I said.", "Much.", [0, 2, 4]),
    ("knowledge_update", "What did the assistant say?", "Nothing.", [1]),
)


@pytest.fixture
def beam_data(tmp_path: Path) -> Path:
    """A folder with one small chat, as BEAM is published."""
    messages = [{"id": 1, "role": "assistant", "content": "How nice."}]
    messages += [{"id": 2 * at, "role": "user", "content": text} for at, text in enumerate(SAID)]
    questions = [
        {"qid": f"q{at}", "ability": ability, "question": text, "answer": answer, "evidence_ids": ids}
        for at, (ability, text, answer, ids) in enumerate(ASKED)
    ]
    chat = {"chat": "x", "messages": messages, "questions": questions}
    (tmp_path / "beam").mkdir()
    (tmp_path / "beam" / "beam-100K-01.json.gz").write_bytes(gzip.compress(json.dumps(chat).encode()))
    return tmp_path


def run_told(*options: str, data: str) -> subprocess.CompletedProcess[str]:
    """Run the measure as a user of a checkout does."""
    return subprocess.run(
        [sys.executable, "-m", "memex.evals.told", *options],
        env=os.environ | {VARIABLE: data},
        capture_output=True,
        text=True,
        timeout=DEADLINE_S,
        check=False,
    )


def test_content_words_are_stems_without_stop_words() -> None:
    """What stands behind an apostrophe is no content word."""
    assert content_words("Ada's boats don’t leak, and Bert rows.") == ["ada", "boat", "leak", "bert", "row"]


def test_the_key_sentence_shares_most_rare_words_with_question_and_answer() -> None:
    """A word that every text has counts less than a rare one, and a long sentence less than a short one."""
    texts = [
        "My budget is set.",
        "My budget grew.",
        "The budget of the boat is $500. My budget is my budget.",
    ]
    df = document_frequencies(texts)

    assert df["budget"] == 3
    assert (
        key_sentence(texts[2], "What is the budget of my boat? $500", df, 3)
        == "The budget of the boat is $500."
    )
    assert key_sentence("Yes.\nNo.", "Yes or no?", df, 3) == "Yes.\nNo."


def test_evidence_is_recalled_word_for_word_or_by_most_words_of_a_line() -> None:
    """Marks and line ends do not matter word for word; 80 % of the content words must stand in one line."""
    sentence = "Pixel, the old greyhound, sleeps on the red sofa."

    assert is_recalled("… pixel the old\ngreyhound SLEEPS on the red sofa!", sentence)
    assert is_recalled("- An old greyhound, Pixel, sleeps on a red cushion. (2026-11-22)", sentence)
    assert not is_recalled("- Pixel sleeps.\n- The old greyhound is red.\n- A sofa.", sentence)
    assert not is_recalled("Nothing of it.", "It is what it is")


def test_the_simple_program_fills_the_budget_with_the_best_texts() -> None:
    """The best text comes first, equal ones in their order; the last text is cut, and the wrapper has its room."""
    program = SimpleProgram(
        ["It rained.", "The greyhound is called Pixel.", "It snowed.", "A greyhound " + "x" * 500]
    )

    context = program.context("What is the greyhound called?", 600)

    assert context.split("\n")[0] == "The greyhound is called Pixel."
    assert 600 - WRAPPER_CHARS - MIN_ROOM_CHARS < len(context) <= 600 - WRAPPER_CHARS + 1
    assert program.context("What is the greyhound called?", 2_000).split("\n")[2:] == [
        "It rained.",
        "It snowed.",
        "",
    ]


def test_a_chat_of_beam_is_the_users_messages_with_their_key_sentences(beam_data: Path) -> None:
    """Questions of other abilities, and those that only the assistant answers, are not asked."""
    [chat] = load_beam_chats(beam_data)

    assert chat.texts == SAID
    assert [(asked.group, asked.evidence) for asked in chat.questions] == [
        ("preference", ("I prefer oolong tea.",)),
        ("factual", ("I adopted a greyhound called Pixel.",)),
    ]


def test_a_conversation_of_locomo_is_told_turn_by_turn(retrieval_data: Path) -> None:
    """Each turn has its speaker in front and its picture behind; the turn without its speaker is evidence."""
    [chat] = load_locomo_chats(retrieval_data)

    assert chat.texts[1:3] == (
        "Bert: I adopted a greyhound yesterday.",
        "Ada: Look! [a photo of a lighthouse]",
    )
    assert [asked.evidence for asked in chat.questions][1:] == [
        ("I adopted a greyhound yesterday.", "The greyhound is called Pixel."),
        ("My sailing course begins on Monday.",),
        ("Look! [a photo of a lighthouse]",),
    ]


def test_a_log_has_a_line_for_each_text() -> None:
    """A chat that is too long for one text becomes two."""
    short = as_log(ToldChat("ana", ("Ana: We moved.\n\nTo Linz.", "Bert: When?"), ()))
    long = as_log(ToldChat("ana", ("tea " * 20_000,) * 3, ()))

    assert short.texts == ("Ana: We moved. To Linz.\nBert: When?",)
    assert [text.count("\n") for text in long.texts] == [1, 0]


def test_the_data_have_the_pieces_of_evidence_that_are_known() -> None:
    """137 questions and 243 pieces of BEAM, 786 and 1,229 of LoCoMo."""
    if VARIABLE not in os.environ:
        pytest.skip(f"{VARIABLE} is not set")
    root = Path(os.environ[VARIABLE])
    asked = {
        name: [question for chat in data_set.load(root) for question in chat.questions]
        for name, data_set in SETS.items()
    }

    counts = {name: (len(all_), sum(len(one.evidence) for one in all_)) for name, all_ in asked.items()}
    assert counts == {"beam": (137, 243), "locomo": (786, 1_229)}


def test_figures_count_pieces_characters_and_evidence(beam_data: Path) -> None:
    """A sentence that two pieces name counts twice as a piece, and once as characters."""
    [chat] = load_beam_chats(beam_data)
    tea, dog = chat.questions
    figures = ContextFigures()
    figures.count(tea, "[1] I prefer oolong tea.")
    figures.count(dog, "")

    assert (figures.recalled_percent(), figures.recalled_percent("preference")) == (50, 100)
    assert (figures.mean_chars, figures.evidence_percent) == (12, 100 * 20 / 24)
    table = to_markdown(figures_table("Title", {"program": {600: figures}}, [600], with_groups=True))
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in table.splitlines() if "…" in line]
    assert rows == [["… factual", "0.0"], ["… preference", "100.0"]]


def test_an_index_is_done_when_its_model_lacks_nothing_and_no_job_waits() -> None:
    """The texts of other models do not count, and a service by words has nothing to wait for."""
    idle = {"waiting": 0, "running": 0, "failed": 0}
    done = {"embedder": "local", "models": [{"is_current": True, "missing": 0}], "jobs": idle}
    old = {"is_current": False, "missing": 7}

    assert is_indexed(done)
    assert is_indexed({"embedder": None, "models": [old], "jobs": idle | {"waiting": 3}})
    assert is_indexed(done | {"models": [old, *done["models"]]})
    assert not is_indexed(done | {"jobs": idle | {"running": 1}})
    assert not is_indexed(done | {"models": [{"is_current": True, "missing": 1}]})


@pytest.mark.process
@pytest.mark.slow
def test_without_data_the_measure_says_so() -> None:
    """It ends with 2, and with a sentence instead of a traceback."""
    done = run_told(data="")

    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"{VARIABLE} is not set")


@pytest.mark.slow
@pytest.mark.process
def test_a_tiny_chat_is_told_to_a_real_service(beam_data: Path, tmp_path: Path) -> None:
    """By words and in the default mode, at once and indexed, all evidence of so small a memory comes back."""
    written = tmp_path / "figures.json"
    done = run_told("--budgets", "600", "--json", str(written), data=str(beam_data))

    assert done.returncode == 0, done.stderr
    assert "Chats: 1; texts: 3; questions: 2; pieces of evidence: 2." in done.stdout
    ways = json.loads(written.read_text())["ways"]
    assert list(ways) == [
        "simple program",
        "service, words, at once",
        "service, words, indexed",
        "service, default, at once",
        "service, default, indexed",
    ]
    assert {way: by_budget["600"]["recalled"] for way, by_budget in ways.items()} == dict.fromkeys(ways, 2)
    assert all(0 < by_budget["600"]["used_chars"] <= 1_200 for by_budget in ways.values())
