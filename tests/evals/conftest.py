"""Small data sets in the formats of the real ones, which are tested everywhere, and measurements as commands."""

import gzip
import io
import json
import tarfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import Memex, new_memex
from tests.kit.forked_commands import Forks

CONVERSATION = {
    "sample_id": "conv-1",
    "conversation": {
        "speaker_a": "Ada",
        "speaker_b": "Bert",
        "session_1_date_time": "1:56 pm on 8 May, 2023",
        "session_1": [
            {"speaker": "Ada", "dia_id": "D1:1", "text": "Hello Bert!"},
            {"speaker": "Bert", "dia_id": "D1:2", "text": "I adopted a greyhound\nyesterday.\n"},
            {"speaker": "Ada", "dia_id": "D1:3", "text": "Look!", "blip_caption": "a photo of a lighthouse"},
        ],
        "session_2_date_time": "9:00 am on 12 June, 2023",
        "session_2": [
            {"speaker": "Ada", "dia_id": "D2:1", "text": "My sailing course begins on Monday."},
            {"speaker": "Bert", "dia_id": "D2:2", "text": "The greyhound is called Pixel."},
        ],
        "session_3_date_time": "9:00 am on 13 June, 2023",
    },
    "qa": [
        {"question": "What is the greyhound called?", "evidence": ["D2:2"], "category": 4},
        {"question": "Which greyhound?", "evidence": ["D1:2; D:2:02"], "category": 1},
        {"question": "When does the sailing course begin?", "evidence": ["D2:1"], "category": 2},
        {"question": "Who shared a lighthouse?", "evidence": ["D1:3"], "category": 3},
        {"question": "What did nobody say?", "evidence": ["D1:1"], "category": 5},
        {"question": "What has no evidence?", "evidence": ["D9:9"], "category": 4},
        {"question": "What has an empty list?", "evidence": [], "category": 4},
    ],
}
CUE = {
    "n": 7,
    "relation_type": "causal",
    "cue_dialogue": "A: My dog ate the map.\nB: Then we stay at home.",
    "trigger_query": "A: Why did we never set out?",
}
CHAT = {
    "chat": "100K-1",
    "topic": {},
    "messages": [
        {"id": 0, "batch": 1, "role": "user", "content": "Budget tracker?", "time_anchor": "March-15-2024"},
        {"id": 1, "batch": 1, "role": "assistant", "content": "Use SQLite for the tracker."},
        {"id": 2, "batch": 2, "role": "user", "content": "The deadline is Friday."},
    ],
    "questions": [
        {
            "qid": "a",
            "ability": "information_extraction",
            "question": "When is the deadline?",
            "evidence_ids": [2],
        },
        {
            "qid": "b",
            "ability": "summarization",
            "question": "Sum up the tracker.",
            "evidence_ids": [0, 1],
        },
        {"qid": "c", "ability": "abstention", "question": "What is my name?", "evidence_ids": []},
    ],
}
# Ranked for "heat flow": first B, which says both words in the fewest, then A, which says one; C says neither.
DOCUMENTS = [
    {"_id": "A", "title": "Flow", "text": "In pipes and in channels of many kinds, among other things."},
    {"_id": "B", "title": "Heat flow", "text": "Heat flow."},
    {"_id": "C", "title": "", "text": "Wings of aircraft."},
]
QUERIES = [
    {"_id": "1", "text": "heat flow"},
    {"_id": "2", "text": "aircraft wings"},
    {"_id": "3", "text": "never judged"},
]
JUDGEMENTS = [("1", "A", 1), ("1", "C", 1), ("1", "B", 0), ("2", "C", 1)]
NOTES = {
    "dendron-site.tar.gz": {
        "vault/dendron.topic.workspace.commands.sync.md": (
            "# Sync\n\nWorkspace sync will first commit all your changes, then pull, finally push.\n"
        ),
        "vault/other.md": "# Other\n\nNothing of it.\n",
    },
    "foam-docs.tar.gz": {"docs/readme.md": "# Foam\n\nA workspace.\n"},
}


def write_jsonl(path: Path, lines: Iterable[Mapping[str, Any]]) -> None:
    """Write lines of JSON, zipped."""
    with gzip.open(path, "wt", encoding="utf-8") as file:
        file.writelines(json.dumps(line) + "\n" for line in lines)


@pytest.fixture
def measurement(server_folder: Path, forked: Forks) -> Callable[[str], Memex]:
    """Returns a measurement as a command, such as that of `memex.evals.beam`."""
    return lambda name: replace(new_memex(server_folder, forked), module=f"memex.evals.{name}")


@pytest.fixture
def retrieval_data(tmp_path: Path) -> Path:
    """A folder with small data sets of every suite, some with the slips that the published ones have."""
    root = tmp_path / "data"
    for name in ("locomo", "locomo_plus", "beam", "scifact", "cranfield", "vaults"):
        (root / name).mkdir(parents=True)
    for path, held in (
        ("locomo/locomo5.json.gz", [CONVERSATION]),
        ("locomo_plus/locomo_plus.json.gz", [CUE]),
        ("beam/beam-100K-01.json.gz", CHAT),
    ):
        with gzip.open(root / path, "wt", encoding="utf-8") as file:
            json.dump(held, file)
    for name in ("scifact", "cranfield"):
        write_jsonl(root / name / "corpus.jsonl.gz", DOCUMENTS)
        write_jsonl(root / name / "queries.jsonl.gz", QUERIES)
        rows = ["query-id\tcorpus-id\tscore", *("\t".join(map(str, row)) for row in JUDGEMENTS)]
        (root / name / "qrels-test.tsv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    for archive, notes in NOTES.items():
        with tarfile.open(root / "vaults" / archive, "w:gz") as file:
            for path, text in notes.items():
                member = tarfile.TarInfo(path)
                member.size = len(text.encode())
                file.addfile(member, io.BytesIO(text.encode()))
    return root
