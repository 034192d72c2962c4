"""Checks: what is wrong with an answer, as sentences, and the measures of a case. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from memex.evals.adapter import Recalled, Remembered, Source
from memex.evals.cases import ANY_FILE, JOURNAL, ContextExpected, RememberExpected, fold_whitespace
from memex.evals.metrics import all_found, any_found, reciprocal_rank
from memex.store.markdown import body_start

CUTOFFS = (1, 3, 5, 10)
MAX_QUOTED_CHARS = 120

Files = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class CaseVerdict:
    """The verdict on a case.

    Attributes:
        problems: what is wrong, in sentences; a case without problems passes.
        unknown: the expectations about which the service cannot tell anything.
        measures: the measures of the case, by name.
    """

    problems: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    measures: dict[str, float] = field(default_factory=dict)


@dataclass(slots=True)
class _Findings:
    problems: list[str] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)
    measures: dict[str, float] = field(default_factory=dict)

    def share(self, name: str, found: Sequence[bool]) -> None:
        """Add a measure: the share of `found` that is true. Nothing is added if `found` is empty."""
        if found:
            self.measures[name] = sum(found) / len(found)

    def judged(self) -> CaseVerdict:
        return CaseVerdict(tuple(self.problems), tuple(self.unknown), self.measures)


def judge_context(expected: ContextExpected, got: Recalled, *, budget: int) -> CaseVerdict:
    """Return the verdict on the answer to a question."""
    findings = _Findings()
    if expected.error is not None or got.error is not None:
        _judge_error(expected.error, got.error, findings)
        if expected.error is not None:
            return findings.judged()
    _judge_text(expected, got, findings)
    findings.measures["context-chars"] = float(len(got.context))
    findings.measures["budget-use"] = len(got.context) / budget
    if len(got.context) > budget:
        findings.problems.append(
            f"The context has {len(got.context)} characters, over the budget of {budget}."
        )
    sources = () if got.error is not None else got.sources
    if sources is not None:
        _judge_sources(expected, sources, findings)
    else:
        findings.unknown += [
            name for name in ("paths", "not_paths", "spans", "reasons") if getattr(expected, name)
        ]
    if expected.empty:
        # A context without a source may still say in a sentence that nothing is remembered.
        is_empty = got.error is None and not (got.context if sources is None else sources)
        findings.measures["abstention"] = float(is_empty)
        if not is_empty and got.error is None:
            named = ", ".join(source.path for source in sources or ())
            findings.problems.append(f"Something is recalled: {named or _quote(got.context)}.")
    return findings.judged()


def _judge_error(expected: str | None, got: str | None, findings: _Findings) -> None:
    if expected is None:
        findings.problems.append(f"The call is refused with {got}.")
    elif got is None:
        findings.problems.append(f"The call is not refused; expected {expected}.")
    elif got != expected:
        findings.problems.append(f"The call is refused with {got}, not with {expected}.")


def _judge_text(expected: ContextExpected, got: Recalled, findings: _Findings) -> None:
    context = fold_whitespace(got.context)
    held = [fold_whitespace(fact) in context for fact in expected.facts]
    leaked = [fold_whitespace(fact) in context for fact in expected.not_facts]
    findings.share("fact-recall", held)
    findings.share("forbidden-fact-rate", leaked)
    findings.problems += [
        f"Not in the context: {_quote(fact)}."
        for fact, is_held in zip(expected.facts, held, strict=True)
        if not is_held
    ]
    findings.problems += [
        f"In the context: {_quote(fact)}."
        for fact, is_held in zip(expected.not_facts, leaked, strict=True)
        if is_held
    ]
    if expected.max_chars is not None and len(got.context) > expected.max_chars:
        findings.problems.append(
            f"The context has {len(got.context)} characters; expected at most {expected.max_chars}."
        )


def _judge_sources(expected: ContextExpected, sources: Sequence[Source], findings: _Findings) -> None:
    ranks: dict[str, int] = {}
    for rank, source in enumerate(sources, start=1):
        ranks.setdefault(source.path, rank)
    if expected.paths:
        found = [ranks.get(path) for path in expected.paths]
        for k in CUTOFFS:
            findings.measures[f"all@{k}"] = all_found(found, k)
            findings.measures[f"any@{k}"] = any_found(found, k)
        findings.measures["all"] = float(None not in found)
        findings.measures["mrr"] = reciprocal_rank(found, len(sources))
        findings.share("source-precision", [path in expected.paths for path in ranks])
        _measure_chars(expected.paths, sources, findings)
    findings.problems += [f"Not a source: {path}." for path in expected.paths if path not in ranks]
    findings.problems += [f"A source: {path}." for path in expected.not_paths if path in ranks]
    findings.share("forbidden-source-rate", [path in ranks for path in expected.not_paths])
    _judge_spans(expected, sources, findings)
    _judge_reasons(expected, sources, findings)


def _measure_chars(paths: Sequence[str], sources: Sequence[Source], findings: _Findings) -> None:
    """Add the share of the returned characters that belongs to expected files."""
    sizes = [(source.path, sum(map(len, source.passages or ()))) for source in sources]
    returned = sum(size for _, size in sizes)
    if returned:
        findings.measures["char-precision"] = sum(size for path, size in sizes if path in paths) / returned


def _judge_spans(expected: ContextExpected, sources: Sequence[Source], findings: _Findings) -> None:
    if any(source.passages is None for source in sources) and expected.spans:
        findings.unknown.append("spans")
        return
    held = [
        any(
            span.text in passage
            for source in sources
            if source.path == span.path
            for passage in source.passages or ()
        )
        for span in expected.spans
    ]
    findings.share("span-recall", held)
    findings.problems += [
        f"Not in a passage of {span.path}: {_quote(span.text)}."
        for span, is_held in zip(expected.spans, held, strict=True)
        if not is_held
    ]


def _judge_reasons(expected: ContextExpected, sources: Sequence[Source], findings: _Findings) -> None:
    if any(source.reason is None for source in sources) and expected.reasons:
        findings.unknown.append("reasons")
        return
    given: dict[str, list[str]] = {}
    for source in sources:
        given.setdefault(source.path, []).append(source.reason or "")
    for path, reason in expected.reasons.items():
        if path not in given:
            findings.problems.append(f"Not a source: {path}, for the reason {reason}.")
        elif reason not in given[path]:
            findings.problems.append(
                f"{path} is a source for the reason {', '.join(given[path])}, not {reason}."
            )


def judge_remember(
    expected: RememberExpected,
    got: Remembered,
    before: Files | None,
    after: Files | None,
    *,
    again: Files | None = None,
) -> CaseVerdict:
    """Return the verdict on a text that was remembered.

    Args:
        expected: what is expected.
        got: the answer of the service.
        before: the files that the user could see before, by path, and at `JOURNAL` what the entries hold; None if
            the service cannot tell.
        after: the files afterwards.
        again: the files after the same text was sent once more, if the case asks for that.
    """
    findings = _Findings()
    if expected.error is not None or got.error is not None:
        _judge_error(expected.error, got.error, findings)
    if expected.status is not None and got.error is None:
        if got.status is None:
            findings.unknown.append("status")
        elif got.status != expected.status:
            findings.problems.append(f"The status is {got.status}, not {expected.status}.")
    _judge_skipped(expected, got, findings)
    if before is None or after is None:
        names = ("present", "absent", "touched", "superseded", "idempotent")
        findings.unknown += [name for name in names if name in expected.model_fields_set]
        return findings.judged()
    _judge_files(expected, after, findings)
    _judge_changes(expected, before, after, findings)
    if expected.idempotent:
        changed = sorted(changed_paths(after, again or {}))
        findings.measures["idempotency"] = float(not changed)
        findings.problems += [f"The same text again writes {path}." for path in changed]
    return findings.judged()


def _judge_skipped(expected: RememberExpected, got: Remembered, findings: _Findings) -> None:
    if expected.skipped and got.skipped is None and got.error is None:
        findings.unknown.append("skipped")
        return
    skipped = [(fold_whitespace(text), reason) for text, reason in got.skipped or ()]
    held = [(fold_whitespace(text), reason) in skipped for text, reason in expected.skipped]
    findings.share("skip-recall", held)
    for (text, reason), is_held in zip(expected.skipped, held, strict=True):
        if not is_held:
            others = [other for part, other in skipped if part == fold_whitespace(text)]
            but = f", but as {', '.join(others)}" if others else ""
            findings.problems.append(f"Not skipped as {reason}{but}: {_quote(text)}.")


def _judge_files(expected: RememberExpected, after: Files, findings: _Findings) -> None:
    held = [
        (path, text, text in after.get(path, ""))
        for path, texts in expected.present.items()
        for text in texts
    ]
    findings.share("write-recall", [is_held for _, _, is_held in held])
    findings.problems += [f"Not in {path}: {_quote(text)}." for path, text, is_held in held if not is_held]
    kept = [
        (text, [name for name, content in after.items() if _is_meant(path, name) and text in content])
        for path, texts in expected.absent.items()
        for text in texts
    ]
    findings.share("forbidden-write-rate", [bool(paths) for _, paths in kept])
    findings.problems += [f"Still in {', '.join(paths)}: {_quote(text)}." for text, paths in kept if paths]


def _judge_changes(expected: RememberExpected, before: Files, after: Files, findings: _Findings) -> None:
    touched = changed_paths(before, after) - {JOURNAL}
    if expected.touched is not None:
        wanted = set(expected.touched)
        findings.share("file-recall", [path in touched for path in sorted(wanted)])
        findings.measures["file-precision"] = (
            sum(path in wanted for path in touched) / len(touched) if touched else float(not wanted)
        )
        findings.problems += [f"Not written: {path}." for path in sorted(wanted - touched)]
        findings.problems += [f"Written: {path}." for path in sorted(touched - wanted)]
    replaced = [
        any(
            old in text and old not in after.get(path, "") and new in after.get(path, "")
            for path, text in before.items()
            if path != JOURNAL
        )
        for old, new in expected.superseded
    ]
    findings.share("supersession", replaced)
    findings.problems += [
        f"Not superseded: {_quote(old)} by {_quote(new)}."
        for (old, new), is_done in zip(expected.superseded, replaced, strict=True)
        if not is_done
    ]
    wanted_texts = [text for texts in expected.present.values() for text in texts]
    wanted_texts += [new for _, new in expected.superseded]
    added = [line for path in touched for line in _added_lines(before.get(path, ""), after.get(path, ""))]
    if wanted_texts or expected.status == "nothing" or expected.touched == ():
        is_wanted = [any(_overlap(line, text) for text in wanted_texts) for line in added]
        findings.measures["write-precision"] = (
            sum(is_wanted) / len(added) if added else float(not wanted_texts)
        )


def _is_meant(path: str, name: str) -> bool:
    return path == name or (path == ANY_FILE and name != JOURNAL)


def changed_paths(before: Files, after: Files) -> set[str]:
    """Return the paths of the files that were added, changed or deleted."""
    return {path for path in {*before, *after} if before.get(path) != after.get(path)}


def _added_lines(before: str, after: str) -> Iterator[str]:
    """Yield the new lines of a file, without headings and front matter; bullets lose their mark."""
    known = {line.strip() for line in before.splitlines()}
    for line in after[body_start(after) :].splitlines():
        said = line.strip()
        if said and said not in known and not said.startswith(("#", "---", "```")):
            yield fold_whitespace(said.lstrip("-*+ "))


def _overlap(line: str, text: str) -> bool:
    lines = [fold_whitespace(part.strip().lstrip("-*+ ")) for part in text.splitlines()]
    return any(part and (part in line or line in part) for part in lines)


def merge_verdicts(judged: Sequence[tuple[str, CaseVerdict]]) -> CaseVerdict:
    """Return one verdict for several answers: the problems with their places, and the mean of each measure."""
    figures: dict[str, list[float]] = {}
    for _, verdict in judged:
        for name, value in verdict.measures.items():
            figures.setdefault(name, []).append(value)
    return CaseVerdict(
        tuple(f"{place}: {problem}" for place, verdict in judged for problem in verdict.problems),
        tuple(f"{place}: {name}" for place, verdict in judged for name in verdict.unknown),
        {name: sum(values) / len(values) for name, values in figures.items()},
    )


def _quote(text: str) -> str:
    line = fold_whitespace(text)
    return f"“{line if len(line) <= MAX_QUOTED_CHARS else line[: MAX_QUOTED_CHARS - 1].rstrip() + '…'}”"
