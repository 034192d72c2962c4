"""Suites stored as documents: the same texts under the same names, in a root of the user's own."""

import hashlib
from collections.abc import Callable
from functools import partial

from memex.evals.retrieval.runs import QuestionOutcome
from memex.evals.retrieval.suites import Collection, Question, Reader, abstracts, vaults
from memex.service.conversations.lines import to_lines
from memex.service.documents import pushing, reading
from memex.service.service import Caller, Service
from memex.store.documents.put import MAX_FILES
from memex.store.search.find import MAX_HITS

SUITES: dict[str, tuple[Reader, ...]] = {
    "scifact": (partial(abstracts, which="scifact"),),
    "cranfield": (partial(abstracts, which="cranfield"),),
    "vaults": (vaults,),
}
ROOT = {"root": "eval"}
HOME = "user/"  # before the path of each file of a suite


async def write_documents(
    service: Service, caller: Caller, collection: Collection, on_documents: Callable[[int], None]
) -> None:
    """Push the files of a collection through the service; `on_documents` is told how many."""
    files = [
        {"path": path.removeprefix(HOME), "sha256": hashlib.sha256(text.encode()).hexdigest(), "text": text}
        for path, text in collection.files.items()
    ]
    for first in range(0, len(files), MAX_FILES):
        batch = files[first : first + MAX_FILES]
        done = await pushing.PUT.call(service, caller, ROOT, to_lines(batch))
        refused = [file for file in done.files if file.change == "refused"]
        if refused:
            raise ValueError(f"{refused[0].path} was refused: {refused[0].message}")
        on_documents(len(batch))


async def ask_question(service: Service, caller: Caller, question: Question) -> QuestionOutcome:
    """Return the ranks that document_find gives the documents which answer a question."""
    found = await reading.FIND.call(service, caller, {"query": question.text, "limit": MAX_HITS})
    ranks = {HOME + hit.document.path: rank for rank, hit in enumerate(found.hits, start=1)}
    return QuestionOutcome(
        id=question.id,
        kinds=question.kinds,
        ranks=tuple(ranks.get(path) for path in question.relevant),
        contexts={},
    )
