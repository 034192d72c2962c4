"""The statements of a list that a question asks for, by their kind."""

from collections.abc import Sequence
from datetime import date
from types import SimpleNamespace
from typing import Any

from memex.store.search.analyzer import Analyzer
from memex.store.snapshot.reads import Reads
from memex.subagent.context.intents import intent_of
from memex.subagent.context.lists import MAX_FILES, listed_statements
from memex.subagent.planner import ContextRequest


class Files:
    """Memory tools over files in this process."""

    def __init__(self, **contents: str) -> None:
        self.contents = {f"{name.replace('__', '/')}.md": text for name, text in contents.items()}
        self.analyzer = Analyzer()
        self.was_read: list[str] = []

    async def list_series(self, names: Sequence[str], *, limit: int) -> list[Any]:
        """Return the files whose names begin so."""
        assert limit > 0
        begin = tuple(f"{mount}/{name}" for mount in ("user", "projects/boat") for name in names)
        return [SimpleNamespace(path=path) for path in sorted(self.contents) if path.startswith(begin)]

    async def read_ahead(self, reads: Reads) -> None:
        """Name files that exist; they are at hand."""
        assert set(reads.files) <= self.contents.keys()

    async def read_file(self, path: str) -> Any:
        """Return the only version of a file."""
        self.was_read.append(path)
        return SimpleNamespace(version=1, content=self.contents[path])


async def listed(question: str, files: Files) -> list[str]:
    """Return the statements that answer a question."""
    intent = intent_of(question)
    assert intent is not None
    request = ContextRequest(question, 1_500, 1, date(2027, 3, 10))
    units = await listed_statements(intent, request, files)  # type: ignore[arg-type]  # only what it reads
    return [unit.candidate.text for unit in units]


async def test_tasks_are_listed_the_newest_first() -> None:
    """Those of projects too; what is done or said elsewhere is no task."""
    files = Files(
        user__tasks="## To do\n\n- Oil the oars. (2027-03-01)\n- Ask Ines. (2027-03-03)\n\n"
        "## Done\n\n- Sail. (2027-03-04)\n",
        user__notes="## Notes\n\n- Ines rows. (2027-03-05)\n",
        projects__boat__tasks="## Blocked\n\n- We wait for the permit. (2027-03-02)\n",
        projects__boat__plan="## To do\n\n- Not a file of statements. (2027-03-09)\n",
    )

    assert await listed("What's on my to-do list?", files) == [
        "- Ask Ines. (2027-03-03)",
        "- We wait for the permit. (2027-03-02)",
        "- Oil the oars. (2027-03-01)",
    ]
    assert files.was_read == ["projects/boat/tasks.md", "user/tasks.md"]


async def test_a_note_may_be_an_open_question() -> None:
    """It says itself that it is open."""
    files = Files(
        user__notes="## Notes\n\n- Open: who paints the mast? (2027-03-01)\n- Ines paints. (2027-03-02)\n"
        "- Die Farbe ist noch ungeklärt. (2027-03-03)\n- La couleur est en suspens. (2027-03-04)\n",
    )

    assert await listed("What is still undecided?", files) == [
        "- La couleur est en suspens. (2027-03-04)",
        "- Die Farbe ist noch ungeklärt. (2027-03-03)",
        "- Open: who paints the mast? (2027-03-01)",
    ]


async def test_a_question_reads_few_files() -> None:
    """However many a series has; without any there is nothing to list."""
    files = Files(**{f"user__tasks-{n}": f"## To do\n\n- Oar {n} (2027-03-01)\n" for n in range(2, 30)})

    assert len(await listed("What's on my to-do list?", files)) == len(files.was_read) == MAX_FILES
    assert await listed("What's on my to-do list?", Files()) == []
