"""Readers of the published data sets, in the folder that MEMEX_EVAL_DATA names. Nothing of the data is kept."""

import csv
import gzip
import json
import os
import re
import tarfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from pathlib import Path
from typing import Any

from memex.errors import ValidationFailed

VARIABLE = "MEMEX_EVAL_DATA"

_EVIDENCE = re.compile(r"D:?(\d+):(\d+)")  # as published: `D8:6; D9:17`, `D:11:26`, `D30:05`
_CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop"}  # 5 has no answer
_FACTUAL = {
    "contradiction_resolution",
    "information_extraction",
    "knowledge_update",
    "multi_session_reasoning",
    "temporal_reasoning",
}


@dataclass(frozen=True, slots=True)
class DatasetQuestion:
    """A question of a data set, with the ids of the parts that answer it."""

    text: str
    kinds: tuple[str, ...]
    evidence: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Turn:
    """The words that one speaker said at once, on one line; `caption` describes a picture shared with it."""

    id: str
    speaker: str
    text: str
    caption: str | None


@dataclass(frozen=True, slots=True)
class ConversationSession:
    """A session: turns in their order, the time as the data set writes it, and the day."""

    time: str
    day: date
    turns: tuple[Turn, ...]


@dataclass(frozen=True, slots=True)
class PublishedConversation:
    """A conversation of LoCoMo: the sessions of two speakers, and the questions about them."""

    id: str
    sessions: tuple[ConversationSession, ...]
    asked: tuple[DatasetQuestion, ...]


@dataclass(frozen=True, slots=True)
class Cue:
    """An exchange of LoCoMo-Plus, and a later remark that only makes sense with it but shares few words with it.

    Attributes:
        id: the number as published.
        relation: how the remark depends on the exchange: causal, state, goal or value.
        said: the lines of the exchange, each with its speaker in front, who is A or B.
        trigger: the remark.
    """

    id: str
    relation: str
    said: tuple[str, ...]
    trigger: str


@dataclass(frozen=True, slots=True)
class ChatMessage:
    """A message of a chat. `batch` is the number of its session, `day` the day of the session's first message."""

    id: str
    batch: int
    role: str
    content: str
    day: date | None


@dataclass(frozen=True, slots=True)
class Chat:
    """A chat of BEAM, and the questions about it."""

    id: str
    messages: tuple[ChatMessage, ...]
    asked: tuple[DatasetQuestion, ...]


@dataclass(frozen=True, slots=True)
class CorpusDocument:
    """A document of a test collection."""

    id: str
    title: str
    text: str


@dataclass(frozen=True, slots=True)
class JudgedCorpus:
    """A test collection: documents, and queries with the documents that are judged relevant."""

    documents: tuple[CorpusDocument, ...]
    asked: tuple[DatasetQuestion, ...]


def find_data_folder() -> Path:
    """Return the folder of the data.

    Raises:
        ValidationFailed: MEMEX_EVAL_DATA is unset, or names no folder.
    """
    named = os.environ.get(VARIABLE)
    hint = f"Set {VARIABLE} to the folder that holds locomo/, beam/, scifact/, cranfield/ and vaults/."
    if not named:
        raise ValidationFailed(f"{VARIABLE} is not set: there is no data to evaluate on.", hint=hint)
    path = Path(named)
    if not path.is_dir():
        raise ValidationFailed(f"{VARIABLE} names no folder.", hint=hint)
    return path


def load_conversations(root: Path) -> list[PublishedConversation]:
    """Return the conversations of LoCoMo, without the questions that have no answer or no evidence."""
    return [_to_conversation(published) for published in _read_json(root / "locomo" / "locomo5.json.gz")]


def load_cues(root: Path) -> list[Cue]:
    """Return the cues of LoCoMo-Plus."""
    return [
        Cue(
            str(published["n"]),
            published["relation_type"],
            tuple(filter(None, map(str.strip, published["cue_dialogue"].splitlines()))),
            published["trigger_query"],
        )
        for published in _read_json(root / "locomo_plus" / "locomo_plus.json.gz")
    ]


def load_chats(root: Path, size: str) -> list[Chat]:
    """Return the chats of BEAM of one size, such as `100K`, without the questions that have no evidence."""
    paths = sorted((root / "beam").glob(f"beam-{size}-*.json.gz"))
    if not paths:
        raise _missing_file(root / "beam" / f"beam-{size}-*.json.gz")
    return [_to_chat(_read_json(path)) for path in paths]


def load_corpus(root: Path, name: str) -> JudgedCorpus:
    """Return `scifact` or `cranfield`, without the queries that have no relevant document."""
    home = root / name
    relevant: dict[str, list[str]] = {}
    for query, document, score in _read_judgements(home / "qrels-test.tsv"):
        if score > 0:
            relevant.setdefault(query, []).append(document)
    documents = [
        CorpusDocument(str(line["_id"]), line.get("title") or "", line["text"])
        for line in _read_json_lines(home / "corpus.jsonl.gz")
    ]
    asked = [
        DatasetQuestion(line["text"], (), tuple(dict.fromkeys(relevant[str(line["_id"])])))
        for line in _read_json_lines(home / "queries.jsonl.gz")
        if str(line["_id"]) in relevant
    ]
    return JudgedCorpus(tuple(documents), tuple(asked))


def load_vault(root: Path, archive: str) -> dict[str, str]:
    """Return the Markdown files of a vault, by their path in the vault."""
    path = root / "vaults" / archive
    try:
        with tarfile.open(path) as opened:
            return {
                member.name.removeprefix("./"): content.read().decode()
                for member in opened
                if member.name.endswith(".md") and (content := opened.extractfile(member))
            }
    except FileNotFoundError:
        raise _missing_file(path) from None


def _to_conversation(published: Mapping[str, Any]) -> PublishedConversation:
    talk = published["conversation"]
    numbers = sorted(int(name[8:]) for name in talk if re.fullmatch(r"session_\d+", name))
    sessions = [_to_session(talk[f"session_{n}"], talk[f"session_{n}_date_time"]) for n in numbers]
    known = {turn.id for session in sessions for turn in session.turns}
    asked = []
    for question in published["qa"]:
        evidence = tuple(turn for turn in _turn_ids(question["evidence"]) if turn in known)
        if evidence and question["category"] in _CATEGORIES:
            asked.append(
                DatasetQuestion(question["question"], (_CATEGORIES[question["category"]],), evidence)
            )
    return PublishedConversation(published["sample_id"], tuple(sessions), tuple(asked))


def _to_session(turns: Sequence[Mapping[str, Any]], time: str) -> ConversationSession:
    day = datetime.strptime(time.rpartition(" on ")[2], "%d %B, %Y").date()
    return ConversationSession(
        time,
        day,
        tuple(
            Turn(turn["dia_id"], turn["speaker"], " ".join(turn["text"].split()), turn.get("blip_caption"))
            for turn in turns
        ),
    )


def _turn_ids(evidence: Sequence[str]) -> Iterator[str]:
    """Yield the ids of the turns that the evidence names, each id once, without leading zeros."""
    found = (_EVIDENCE.findall(item) for item in evidence)
    yield from dict.fromkeys(f"D{int(session)}:{int(turn)}" for pairs in found for session, turn in pairs)


def _to_chat(published: Mapping[str, Any]) -> Chat:
    messages = [
        ChatMessage(
            str(message["id"]),
            message["batch"],
            message["role"],
            message["content"],
            _anchor_day(message.get("time_anchor")),
        )
        for message in published["messages"]
    ]
    asked = [
        DatasetQuestion(
            question["question"],
            (*(("factual",) if question["ability"] in _FACTUAL else ()), question["ability"]),
            tuple(dict.fromkeys(map(str, question["evidence_ids"]))),
        )
        for question in published["questions"]
        if question["evidence_ids"] and question["ability"] != "abstention"
    ]
    return Chat(str(published["chat"]), tuple(messages), tuple(asked))


def _anchor_day(written: str | None) -> date | None:
    """Return the day of a time anchor such as `March-15-2024`."""
    if not written:
        return None
    return datetime.strptime(written, "%B-%d-%Y").date()


def _read_judgements(path: Path) -> Iterator[tuple[str, str, int]]:
    try:
        with path.open(encoding="utf-8", newline="") as file:
            rows = csv.reader(file, delimiter="\t")
            next(rows)
            yield from ((query, document, int(score)) for query, document, score in rows)
    except FileNotFoundError:
        raise _missing_file(path) from None


def _read_json_lines(path: Path) -> Iterator[dict[str, Any]]:
    try:
        with gzip.open(path, "rt", encoding="utf-8") as file:
            yield from map(json.loads, file)
    except FileNotFoundError:
        raise _missing_file(path) from None


def _read_json(path: Path) -> Any:
    try:
        with gzip.open(path, "rt", encoding="utf-8") as file:
            return json.load(file)
    except FileNotFoundError:
        raise _missing_file(path) from None


def _missing_file(path: Path) -> ValidationFailed:
    return ValidationFailed(
        f"{VARIABLE} has no {path.parent.name}/{path.name}.", hint="Get the data set, or leave its suite out."
    )
