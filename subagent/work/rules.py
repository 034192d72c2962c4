"""The tables of how turns speak of work, read once: `rules/cues.yaml` and `rules/labels.yaml`."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from memex.subagent.statements.language import LanguageTables, compile_tables, fill_fragments
from memex.subagent.work.records import WorkAuthor, WorkKind
from memex.tables import load_tables


@dataclass(frozen=True, slots=True)
class WorkCue:
    """A pattern, what a clause is that fits it, and whose clauses it is tried on; None for everybody's."""

    match: re.Pattern[str]
    kind: WorkKind
    who: WorkAuthor | None


@dataclass(frozen=True, slots=True)
class WorkCues:
    """The compiled table; `rules/cues.yaml` says what each part holds."""

    cues: Sequence[WorkCue]
    unreal: re.Pattern[str]
    clauses: re.Pattern[str]


@cache
def load_cues() -> WorkCues:
    """Return the cues of all languages, in their order."""
    table = load_tables("memex.subagent.work", "rules", "cues.yaml")
    fragments: dict[str, str] = {}
    for name, pattern in table["fragments"].items():
        fragments[name] = fill_fragments("|".join(pattern), fragments)

    def compiled(patterns: Sequence[str]) -> re.Pattern[str]:
        return re.compile(fill_fragments("|".join(patterns), fragments), re.IGNORECASE)

    return WorkCues(
        [WorkCue(compiled(row["match"]), row["is"], row.get("who")) for row in table["cues"]],
        unreal=compiled([table["unreal"]]),
        clauses=compiled([table["clauses"]]),
    )


@cache
def load_labels() -> LanguageTables:
    """Return the tables of statements, with the labels of reports on work."""
    folder = files("memex.subagent.statements") / "languages"
    names = sorted(file.name for file in folder.iterdir() if file.name.endswith(".yaml"))
    names.sort(key=lambda name: name != "en.yaml")
    texts = [(folder / name).read_text(encoding="utf-8") for name in names]
    labels = files("memex.subagent.work") / "rules" / "labels.yaml"
    return compile_tables([*texts, labels.read_text(encoding="utf-8")])
