"""The suites: the files that are written for each user, and the questions about them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import Any

import yaml

from memex.evals.retrieval import datasets, render
from memex.evals.retrieval.datasets import Chat, DatasetQuestion, PublishedConversation
from memex.evals.retrieval.opaque_names import opaque_name, question_id
from memex.evals.retrieval.render import RenderedFile, Span

ARCHIVES = {"dendron": "dendron-site.tar.gz", "foam": "foam-docs.tar.gz"}


@dataclass(frozen=True, slots=True)
class ExpectedEvidence:
    """The evidence expected of a file: `text` anywhere, else the whole `span`, else any part of the file."""

    path: str
    span: Span | None = None
    text: str | None = None


@dataclass(frozen=True, slots=True)
class Question:
    """A question, the paths of the documents that answer it, and the evidence that a context should hold.

    A path may belong to no file: evidence that a part leaves out cannot be found by any ranking, and still counts.
    """

    id: str
    text: str
    kinds: tuple[str, ...]
    relevant: tuple[str, ...]
    evidence: tuple[ExpectedEvidence, ...]


@dataclass(frozen=True, slots=True)
class Collection:
    """The memory of one user: files by their virtual path, and the questions about them."""

    user: str
    files: Mapping[str, str]
    questions: tuple[Question, ...]


@dataclass(frozen=True, slots=True)
class SuitePart:
    """One setting of a suite, reported by itself.

    `has_names` says that the paths are part of the content, `is_foreign` that questions of other memories are asked
    too. `language` is the language of the files, as MEMEX_LANGUAGE names it.
    """

    name: str
    collections: tuple[Collection, ...]
    has_names: bool = False
    is_foreign: bool = False
    language: str = "english"

    @property
    def files(self) -> int:
        """The number of files that are written."""
        return sum(len(collection.files) for collection in self.collections)

    @property
    def questions(self) -> int:
        """The number of questions that are asked."""
        return sum(len(collection.questions) for collection in self.collections)


def locomo_sessions(root: Path) -> SuitePart:
    """LoCoMo, one file for each session. Evidence: the sessions of the turns; a context should hold the turns."""
    return SuitePart("locomo-sessions", tuple(map(_session_collection, datasets.load_conversations(root))))


def locomo_turns(root: Path) -> SuitePart:
    """LoCoMo, one file for each turn."""
    return SuitePart("locomo-turns", tuple(map(_turn_collection, datasets.load_conversations(root))))


def locomo_plus(root: Path) -> SuitePart:
    """LoCoMo-Plus: its cues beside the turns of one conversation of LoCoMo; the questions are the later remarks."""
    held = _turn_collection(datasets.load_conversations(root)[0])
    contents, places, asked = dict(held.files), {}, []
    for cue in datasets.load_cues(root):
        path = f"user/conversations/{opaque_name('locomo-plus', cue.id)}/0001.md"
        rendered = render.cue(cue)
        contents[path] = rendered.content
        places[cue.id] = ExpectedEvidence(path, rendered.spans[cue.id])
        asked.append(DatasetQuestion(cue.trigger, (cue.relation,), (cue.id,)))
    return SuitePart("locomo-plus", (_to_collection("locomo-plus", "all", contents, asked, places),))


def beam_user(root: Path, size: str = "100K") -> SuitePart:
    """BEAM, only the user's messages. A quarter of the evidence is the assistant's, and cannot be found here."""
    suffix = "" if size == "100K" else f"-{size.lower()}"
    chats = datasets.load_chats(root, size)
    return SuitePart(f"beam{suffix}-user", tuple(_chat_collection(chat, {"user"}) for chat in chats))


def beam_all(root: Path, size: str = "100K") -> SuitePart:
    """BEAM, all messages."""
    suffix = "" if size == "100K" else f"-{size.lower()}"
    chats = datasets.load_chats(root, size)
    return SuitePart(
        f"beam{suffix}-all", tuple(_chat_collection(chat, {"user", "assistant"}) for chat in chats)
    )


def abstracts(root: Path, which: str) -> SuitePart:
    """SciFact or Cranfield, one file for each abstract. All files belong to one user."""
    held = datasets.load_corpus(root, which)
    contents, places = {}, {}
    for document in held.documents:
        path = f"user/abstracts/{opaque_name(which, document.id)}.md"
        contents[path] = render.document(document).content
        places[document.id] = ExpectedEvidence(path)
    return SuitePart(which, (_to_collection(which, "all", contents, held.asked, places),))


def vaults(root: Path) -> SuitePart:
    """Two real vaults with the questions of `vaults.yaml`: facts on one page, or behind a link of the page."""
    return _vault_part("vaults", root, ARCHIVES, map(_fact_case, _load_cases("vaults.yaml")))


def vaults_linked(root: Path) -> SuitePart:
    """The same vaults with the questions of `linked.yaml`: each question needs passages of two linked notes."""
    archives = {archive.removesuffix(".tar.gz"): archive for archive in ARCHIVES.values()}
    return _vault_part("vaults-linked", root, archives, map(_linked_case, _load_cases("linked.yaml")))


Reader = Callable[[Path], SuitePart]

SUITES: dict[str, tuple[Reader, ...]] = {
    "locomo": (locomo_sessions, locomo_turns),
    "locomo-plus": (locomo_plus,),
    "beam": (beam_user, beam_all),
    "beam-500k": (partial(beam_user, size="500K"), partial(beam_all, size="500K")),
    "scifact": (partial(abstracts, which="scifact"),),
    "cranfield": (partial(abstracts, which="cranfield"),),
    "vaults": (vaults, vaults_linked),
}
ALL = ("locomo", "locomo-plus", "beam", "scifact", "cranfield", "vaults")  # 500K chats have too few questions


def readers_of(suite: str) -> tuple[Reader, ...]:
    """Return the functions that read the parts of a suite, or of `all`."""
    return tuple(reader for name in (ALL if suite == "all" else (suite,)) for reader in SUITES[name])


def _session_collection(conversation: PublishedConversation) -> Collection:
    contents, places = {}, {}
    for number, held in enumerate(conversation.sessions):
        path = f"user/conversations/{opaque_name('locomo', conversation.id, str(number))}.md"
        rendered = render.session(held)
        contents[path] = rendered.content
        places.update(_turn_evidence(path, rendered))
    return _to_collection("locomo", conversation.id, contents, conversation.asked, places)


def _turn_collection(conversation: PublishedConversation) -> Collection:
    contents, places = {}, {}
    for number, held in enumerate(conversation.sessions):
        home = f"user/conversations/{opaque_name('locomo', conversation.id, str(number))}"
        for order, said in enumerate(held.turns, start=1):
            path = f"{home}/{order:04}.md"
            rendered = render.turn(said, held.day)
            contents[path] = rendered.content
            places.update(_turn_evidence(path, rendered))
    return _to_collection("locomo", conversation.id, contents, conversation.asked, places)


def _chat_collection(chat: Chat, roles: set[str]) -> Collection:
    contents, places = {}, {}
    orders: dict[int, int] = {}
    for sent in chat.messages:
        order = orders[sent.batch] = orders.get(sent.batch, 0) + 1
        path = f"user/chats/{opaque_name('beam', chat.id, str(sent.batch))}/{order:04}.md"
        places[sent.id] = ExpectedEvidence(path)
        if sent.role in roles:
            contents[path] = render.message(sent).content
    return _to_collection("beam", chat.id, contents, chat.asked, places)


def _turn_evidence(path: str, rendered: RenderedFile) -> dict[str, ExpectedEvidence]:
    return {turn: ExpectedEvidence(path, span) for turn, span in rendered.spans.items()}


def _to_collection(
    origin: str,
    key: str,
    contents: Mapping[str, str],
    asked: Sequence[DatasetQuestion],
    places: Mapping[str, ExpectedEvidence],
) -> Collection:
    questions = [
        _to_question(question, question_id(origin, key, str(number)), places)
        for number, question in enumerate(asked)
    ]
    return Collection(opaque_name(origin, key), contents, tuple(questions))


def _to_question(question: DatasetQuestion, key: str, places: Mapping[str, ExpectedEvidence]) -> Question:
    evidence = tuple(places[piece] for piece in question.evidence)
    relevant = tuple(dict.fromkeys(piece.path for piece in evidence))
    return Question(key, question.text, question.kinds, relevant, evidence)


def _load_cases(file: str) -> list[dict[str, Any]]:
    """Return the written cases of a file; none if the file does not exist yet."""
    source = files("memex.evals") / "cases" / file
    if not source.is_file():
        return []
    read = yaml.safe_load(source.read_text(encoding="utf-8"))
    cases: list[dict[str, Any]] = read["cases"] if isinstance(read, dict) else read
    return cases


def _fact_case(case: Mapping[str, Any]) -> tuple[str, Question]:
    paths = tuple(f"user/{path}" for path in case["sources"])
    evidence = tuple(ExpectedEvidence(paths[-1], text=text) for text in case["expect"])
    kinds = ("linked" if case.get("linked") else "one page",)
    return case["vault"], Question(question_id(case["name"]), case["question"], kinds, paths, evidence)


def _linked_case(case: Mapping[str, Any]) -> tuple[str, Question]:
    paths = tuple(f"user/{path}" for path in case["notes"])
    evidence = tuple(ExpectedEvidence(f"user/{part['path']}", text=part["text"]) for part in case["expect"])
    kinds = (case["kind"], case["split"]) if "split" in case else (case["kind"],)
    return case["vault"], Question(question_id(case["id"]), case["question"], kinds, paths, evidence)


def _vault_part(
    part: str, root: Path, archives: Mapping[str, str], cases: "map[tuple[str, Question]]"
) -> SuitePart:
    asked = list(cases)
    collections = []
    for vault, archive in archives.items():
        contents = {f"user/{path}": text for path, text in datasets.load_vault(root, archive).items()}
        questions = tuple(question for about, question in asked if about == vault)
        if questions:
            collections.append(Collection(opaque_name(part, vault), contents, questions))
    return SuitePart(part, tuple(collections), has_names=True)
