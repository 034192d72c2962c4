"""How turns speak of work, as tables: `rules/<code>.yaml` and `rules/labels.yaml`, read once when first needed."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import yaml

from memex.subagent.statements.language import LanguageTables, compile_tables
from memex.subagent.work.records import WorkAuthor, WorkKind

_YAML_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_FRAGMENT = re.compile(r"\{([a-z_]+)\}")


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
    tables = [_read(f"{code}.yaml") for code in ("en", "de")]
    fragments: dict[str, str] = {}
    for table in tables:
        for name, pattern in table["fragments"].items():
            fragments[name] = _fill("|".join(pattern), fragments)

    def compiled(patterns: Sequence[str]) -> re.Pattern[str]:
        return re.compile(_fill("|".join(patterns), fragments), re.IGNORECASE)

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
    return compile_tables([*texts, _text("labels.yaml")])


def _text(name: str) -> str:
    return (files("memex.subagent.work") / "rules" / name).read_text(encoding="utf-8")


def _read(name: str) -> dict[str, Any]:
    # A safe loader, in C where there is one.
    tables: dict[str, Any] = yaml.load(_text(name), Loader=_YAML_LOADER)  # noqa: S506
    return tables


def _fill(pattern: str, fragments: Mapping[str, str]) -> str:
    return _FRAGMENT.sub(lambda match: f"(?:{fragments[match[1]]})", pattern)
