"""The tables of how turns speak of work, read once: `rules/<code>.yaml` and `rules/labels.yaml`."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from memex.subagent.statements.language import LanguageTables, compile_tables, fill_fragments
from memex.subagent.work.records import WorkAuthor, WorkKind
from memex.tables import load_tables


@dataclass(frozen=True, slots=True)
class WorkRule:
    """A pattern, what a clause is that fits it, and whose clauses it is tried on; None for everybody's."""

    match: re.Pattern[str]
    kind: WorkKind
    who: WorkAuthor | None


@dataclass(frozen=True, slots=True)
class WorkRules:
    """The compiled tables; `rules/en.yaml` says what each of them holds."""

    rules: Sequence[WorkRule]
    unreal: re.Pattern[str]
    clauses: re.Pattern[str]


@cache
def load_rules() -> WorkRules:
    """Return the rules of all languages, English first."""
    tables = [load_tables("memex.subagent.work", "rules", f"{code}.yaml") for code in ("en", "de")]
    fragments: dict[str, str] = {}
    for table in tables:
        for name, pattern in table["fragments"].items():
            fragments[name] = fill_fragments("|".join(pattern), fragments)

    def compiled(patterns: Sequence[str]) -> re.Pattern[str]:
        return re.compile(fill_fragments("|".join(patterns), fragments), re.IGNORECASE)

    return WorkRules(
        rules=[
            WorkRule(compiled(row["match"]), row["is"], row.get("who"))
            for table in tables
            for row in table["rules"]
        ],
        unreal=compiled([table["unreal"] for table in tables]),
        clauses=compiled([table["clauses"] for table in tables]),
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
