"""Measure how well the rules read and file statements. `make eval-remember` plays all, without a database.

The cases in `cases/remember.yaml` say what each text should become; a case passes when all of it does, exactly.
"""

import argparse
import datetime
import json
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import yaml
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from memex.subagent.remember.filing.entries import Entry, EntryOutcome
from memex.subagent.remember.filing.page import revise
from memex.subagent.statements.bullets import parse_bullet
from memex.subagent.statements.extraction import Extraction, Statement, extract_statements
from memex.subagent.statements.language import STATEMENT_KINDS
from memex.subagent.statements.places import destination

DEFAULT_DATE = datetime.date(2026, 11, 22)

Pair = tuple[str, str]


@dataclass(frozen=True, slots=True)
class RuleCase:
    """One text and what should become of it."""

    name: str
    text: str
    given: Mapping[str, str]
    project: str | None
    date: datetime.date
    expect: Mapping[str, Any]
    is_known_failure: bool


@dataclass(frozen=True, slots=True)
class RuleOutput:
    """The outcome for a case's text: the reading, its statements' outcomes, and the files afterwards."""

    reading: Extraction
    outcomes: tuple[tuple[Statement, EntryOutcome], ...]
    contents: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class RuleVerdict:
    """The expected and the found results of a case, as pairs that can be counted, and why it fails."""

    case: RuleCase
    expected: Mapping[str, Counter[Pair]]
    found: Mapping[str, Counter[Pair]]
    failures: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Score:
    """Counts of what was expected, of what was found, and of what of it is right."""

    expected: int
    found: int
    correct: int

    @property
    def precision(self) -> float:
        """The part of what was found that is right."""
        return self.correct / self.found if self.found else 1.0

    @property
    def recall(self) -> float:
        """The part of what is right that was found."""
        return self.correct / self.expected if self.expected else 1.0

    @property
    def f1(self) -> float:
        """The harmonic mean of precision and recall."""
        return 2 * self.correct / (self.expected + self.found) if self.expected + self.found else 1.0


@cache
def load_cases() -> tuple[RuleCase, ...]:
    """Return the written cases."""
    text = (files("memex.evals") / "cases" / "remember.yaml").read_text(encoding="utf-8")
    return tuple(_to_case(row) for row in yaml.safe_load(text))


def _to_case(row: Mapping[str, Any]) -> RuleCase:
    return RuleCase(
        name=row["name"],
        text=row["text"],
        given=row.get("given", {}),
        project=row.get("project"),
        date=row.get("date", DEFAULT_DATE),
        expect=row["expect"],
        is_known_failure=row.get("known_failure", False),
    )


def run_rules(case: RuleCase) -> RuleOutput:
    """Read a case's text and file what it states."""
    reading = extract_statements(case.text)
    entries: dict[str, list[Entry]] = {}
    titles: dict[str, str] = {}
    for statement in reading.statements:
        place = destination(statement.kind, case.project, statement.text)
        titles[place.path] = place.title
        entries.setdefault(place.path, []).append(Entry(statement, place.heading, case.date))
    contents = dict(case.given)
    outcomes: list[tuple[Statement, EntryOutcome]] = []
    for path, put in entries.items():
        revised = revise(case.given.get(path), put, title=titles[path])
        contents[path] = revised.content
        outcomes += zip((entry.statement for entry in put), revised.outcomes, strict=True)
    return RuleOutput(reading, tuple(outcomes), contents)


def judge_case(case: RuleCase) -> RuleVerdict:
    """Play a case and compare what becomes of it with what should."""
    played = run_rules(case)
    expected: dict[str, Counter[Pair]] = {
        "statement": Counter(_expected_statements(case)),
        "skip": Counter((reason, text) for text, reason in case.expect.get("skips", ())),
        "supersession": Counter((old, new) for old, new in case.expect.get("superseded", ())),
        "duplicate": Counter((kind, text) for kind, text in case.expect.get("duplicates", ())),
    }
    found: dict[str, Counter[Pair]] = {
        "statement": Counter((statement.kind, statement.text) for statement in played.reading.statements),
        "skip": Counter((skip.reason, case.text[skip.start : skip.end]) for skip in played.reading.skipped),
        "supersession": Counter(
            (outcome.replaced or "", statement.text)
            for statement, outcome in played.outcomes
            if outcome.action == "superseded"
        ),
        "duplicate": Counter(
            (statement.kind, statement.text)
            for statement, outcome in played.outcomes
            if outcome.action == "duplicate"
        ),
    }
    failures = [*_differences(expected, found), *_placement_errors(case, played)]
    return RuleVerdict(case, expected, found, tuple(failures))


def _expected_statements(case: RuleCase) -> Iterable[Pair]:
    """Yield kind and text of every statement that the text makes; a bullet's kind follows from its place."""
    kinds = {
        (place.path, place.heading): kind
        for kind in STATEMENT_KINDS
        for place in (destination(kind, project) for project in (None, case.project))
    }
    by_path = {path: kind for (path, _), kind in kinds.items()}
    for path, headings in case.expect.get("writes", {}).items():
        for heading, texts in headings.items():
            yield from ((kinds.get((path, heading), by_path[path]), text) for text in texts)
    for pair in [*case.expect.get("duplicates", ()), *case.expect.get("passing", ())]:
        yield pair[0], pair[1]


def _differences(expected: Mapping[str, Counter[Pair]], found: Mapping[str, Counter[Pair]]) -> Iterable[str]:
    for sort, pairs in expected.items():
        yield from (f"missing {sort}: {' | '.join(pair)}" for pair in pairs - found[sort])
        yield from (f"wrong {sort}: {' | '.join(pair)}" for pair in found[sort] - pairs)


def _placement_errors(case: RuleCase, played: RuleOutput) -> Iterable[str]:
    for path, headings in case.expect.get("writes", {}).items():
        sections = _sections(played.contents.get(path, ""))
        for heading, texts in headings.items():
            bullets = sections.get(heading, [])
            yield from (f"not in {path} under {heading}: {text}" for text in texts if text not in bullets)
    for text in case.expect.get("absent", ()):
        yield from (f"still in {path}: {text}" for path, kept in played.contents.items() if text in kept)


def _sections(content: str) -> dict[str, list[str]]:
    """Return the bullets under each heading, with what is nested and without."""
    sections: dict[str, list[str]] = {}
    heading, is_code = "", False
    for line in content.replace("\r\n", "\n").split("\n"):
        is_code ^= line.lstrip(" -").startswith("```")
        if line.startswith("#") and not is_code:
            heading = line.lstrip("#").strip()
        elif line.startswith(("- ", "* ")):
            sections.setdefault(heading, []).append(line)
        elif line.startswith("  ") and sections.get(heading):
            sections[heading][-1] += f"\n{line}"
        elif not line and is_code and sections.get(heading):
            sections[heading][-1] += "\n"
    return {
        heading: [parse_bullet(text) for item in items for text in (item, item.partition("\n")[0])]
        for heading, items in sections.items()
    }


def score_by_kind(results: Sequence[RuleVerdict]) -> dict[str, Score]:
    """Return a score for each kind of statement, for all of them, and for skips and outcomes."""
    counted: dict[str, Score] = {}
    for kind in STATEMENT_KINDS:
        counted[kind] = _score(results, "statement", kind)
    counted["all statements"] = _score(results, "statement")
    for sort, name in (("skip", "skips"), ("supersession", "supersessions"), ("duplicate", "duplicates")):
        counted[name] = _score(results, sort)
    return counted


def _score(results: Sequence[RuleVerdict], sort: str, kind: str | None = None) -> Score:
    expected = found = correct = 0
    for result in results:
        wanted, had = result.expected[sort], result.found[sort]
        if kind is not None:
            wanted, had = _filter_by_kind(wanted, kind), _filter_by_kind(had, kind)
        expected += wanted.total()
        found += had.total()
        correct += (wanted & had).total()
    return Score(expected, found, correct)


def _filter_by_kind(pairs: Counter[Pair], kind: str) -> Counter[Pair]:
    return Counter({pair: count for pair, count in pairs.items() if pair[0] == kind})


def _table(counted: Mapping[str, Score]) -> Table:
    table = Table("", "expected", "found", "correct", "precision", "recall", "F1")
    for column in table.columns[1:]:
        column.justify = "right"
    for name, score in counted.items():
        figures = [f"{value:.3f}" for value in (score.precision, score.recall, score.f1)]
        table.add_row(name, str(score.expected), str(score.found), str(score.correct), *figures)
    return table


def _report(results: Sequence[RuleVerdict]) -> dict[str, object]:
    return {
        "cases": len(results),
        "passed": sum(not result.failures for result in results),
        "scores": {
            name: {"precision": score.precision, "recall": score.recall, "f1": score.f1, "n": score.expected}
            for name, score in score_by_kind(results).items()
        },
        "failures": [
            {"case": result.case.name, "known": result.case.is_known_failure, "why": list(result.failures)}
            for result in results
            if result.failures
        ],
    }


def main() -> None:
    """Play the cases, print what came out, and end with 1 when a case fails that is not known to."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--json", action="store_true", help="print JSON")
    arguments = parser.parse_args()
    results = [judge_case(case) for case in load_cases()]
    console = Console(width=110)
    if arguments.json:
        console.print_json(json.dumps(_report(results)))
    else:
        console.print(_table(score_by_kind(results)))
        for result in results:
            if result.failures:
                known = " (known)" if result.case.is_known_failure else ""
                console.print(f"[bold]{escape(result.case.name)}[/]{known}")
                console.print("\n".join(f"  {escape(why)}" for why in result.failures))
        passed = sum(not result.failures for result in results)
        console.print(f"{passed} of {len(results)} cases pass")
    sys.exit(any(result.failures and not result.case.is_known_failure for result in results))


if __name__ == "__main__":
    main()
