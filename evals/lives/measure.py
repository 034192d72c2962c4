"""Figures of a played life, each with the cases that it counts. Pure."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from memex.evals.lives.life import Fact, LifeText, squash
from memex.evals.lives.play import PlayedLife, PlayedQuestion, PlayedText, Unit
from memex.subagent.statements.language import StatementKind
from memex.subagent.statements.places import kind_of_item

BUDGETS = (600, 1_500, 8_000)

# The kinds of statements that a fact of each kind may be; see `memex.subagent.statements.places`.
KINDS: Mapping[str, tuple[StatementKind, ...]] = {
    "fact": ("note", "profile"),
    "event": ("note", "done", "profile"),
    "preference": ("preference",),
    "decision": ("decision",),
    "task": ("pending", "blocker", "objective"),
    "constraint": ("constraint", "preference", "decision"),
    "question": ("blocker", "note"),
}

_BOX = re.compile(r"[-*+] \[([ x])\] ")


@dataclass(frozen=True, slots=True)
class LifeCase:
    """One case that a figure counts: where in the life, and what happened."""

    id: str
    is_hit: bool
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Figure:
    """A share of cases. `aim` is what the share should be at least, or at most if `is_upper`."""

    name: str
    cases: tuple[LifeCase, ...]
    aim: float | None = None
    is_upper: bool = False

    @property
    def count(self) -> int:
        """The number of cases."""
        return len(self.cases)

    @property
    def hits(self) -> int:
        """The number of cases that count."""
        return sum(case.is_hit for case in self.cases)

    @property
    def share(self) -> float | None:
        """The share of the cases that count; None without cases."""
        return self.hits / self.count if self.cases else None


@dataclass(frozen=True, slots=True)
class Size:
    """A mean of sizes, such as the lines of a context."""

    name: str
    values: tuple[int, ...]
    aim: float | None = None

    @property
    def mean(self) -> float | None:
        """The mean; None without values."""
        return sum(self.values) / len(self.values) if self.values else None


@dataclass(frozen=True, slots=True)
class LifeMeasures:
    """The figures of one life, or of several together."""

    name: str
    figures: tuple[Figure, ...]
    sizes: tuple[Size, ...]


def measure(played: PlayedLife) -> LifeMeasures:
    """Return what a played life shows."""
    writes = _Writes(played)
    for step in played.texts:
        writes.take(step)
    return LifeMeasures(
        played.life.name,
        (*writes.figures(), *_question_figures(played)),
        _sizes(played),
    )


def combine(name: str, measured: Sequence[LifeMeasures]) -> LifeMeasures:
    """Return the figures of several lives together: each case counts once."""
    figures = [
        Figure(
            same[0].name,
            tuple(case for figure in same for case in figure.cases),
            same[0].aim,
            same[0].is_upper,
        )
        for same in zip(*(life.figures for life in measured), strict=True)
    ]
    sizes = [
        Size(same[0].name, tuple(value for size in same for value in size.values), same[0].aim)
        for same in zip(*(life.sizes for life in measured), strict=True)
    ]
    return LifeMeasures(name, tuple(figures), tuple(sizes))


def held(fact: Fact, step: PlayedText | None) -> list[Unit]:
    """Return what memory held of a fact after a text: units of files that state it, or else those of entries."""
    return [] if step is None else standing(fact, step.units) or standing(fact, step.entries)


def standing(fact: Fact, units: Sequence[Unit]) -> list[Unit]:
    """Return the units that state a fact."""
    return [unit for unit in units if fact.stands_in(unit.text)] or [
        unit for unit in units if fact.stands_in(unit.whole)
    ]


@dataclass(slots=True)
class _Writes:
    """The effects that the texts of a life had on memory."""

    played: PlayedLife
    before: PlayedText | None = None
    current: dict[str, Fact] = field(default_factory=dict)  # the facts that are true
    stood: set[str] = field(default_factory=set)  # facts that memory has stated at some moment
    cases: dict[str, list[LifeCase]] = field(default_factory=dict)

    def take(self, step: PlayedText) -> None:
        """Judge what one text did."""
        facts = self.played.life.facts
        text = step.text
        gone = self._forgotten(text)
        changed = {
            changed for fact in text.facts if fact.how in ("replaces", "closes") for changed in fact.changes
        }
        for fact in text.facts:
            if held(fact, step):
                self.stood.add(fact.id)
                self._add("kind right", fact.id, _kind_is_right(fact, step), fact.kind)
            else:
                self._add("kind right", fact.id, False, "not kept")
            for earlier in fact.changes:
                if earlier in self.stood and fact.how is not None:
                    self._judge_change(step, fact, facts[earlier])
        self._judge_forgetting(step, gone)
        self._judge_noise(step)
        self._judge_rivals(step, changed)
        expected_gone = changed | set(gone)
        for fact_id, fact in self.current.items():
            if fact_id in expected_gone or not held(fact, self.before):
                continue
            self._add("wrongly removed", f"{text.id} {fact_id}", not held(fact, step))
        for gone_id in changed | set(gone):
            self.current.pop(gone_id, None)
        self.current |= {fact.id: fact for fact in text.facts}
        self.before = step

    def figures(self) -> list[Figure]:
        """Return the figures of writing."""
        for fact in self.current.values():
            self._add("lost", fact.id, not held(fact, self.before))
        wanted: list[tuple[str, float | None, bool]] = [
            ("applied: digests", 0.80, False),
            ("applied: messages", None, False),
            ("applied or shown as rivals", None, False),
            ("earlier statement found", None, False),
            ("applied or shown as rivals, if found", None, False),
            ("amendments: both kept", None, False),
            ("forgotten: one statement", 0.95, False),
            ("forgotten: several", None, False),
            ("forgotten or asked back", None, False),
            ("small talk kept", 0.15, True),
            ("orders and questions kept", None, True),
            ("secrets kept out", 0.95, False),
            ("wrong rivals", 0.05, True),
            ("wrongly removed", 0.005, True),
            ("lost", 0.03, True),
            ("kind right", 0.90, False),
        ]
        return [
            Figure(name, tuple(self.cases.get(name, ())), aim, is_upper) for name, aim, is_upper in wanted
        ]

    def _add(self, name: str, case: str, is_hit: bool, detail: str = "") -> None:
        self.cases.setdefault(name, []).append(LifeCase(case, is_hit, detail))

    def _forgotten(self, text: LifeText) -> list[str]:
        if text.forget is None:
            return []
        return list(self.current) if text.forget == "all" else list(text.forget)

    def _judge_change(self, step: PlayedText, fact: Fact, earlier: Fact) -> None:
        stated = (*standing(earlier, step.units), *standing(earlier, step.entries))
        old = [unit for unit in stated if not fact.stands_in(unit.whole)]
        new = held(fact, step)
        name = f"{fact.id} {fact.how} {earlier.id}"
        if fact.how == "amends":
            self._add("amendments: both kept", name, bool(new) and bool(held(earlier, step)))
            return
        if fact.how == "closes":
            old = [unit for unit in old if not unit.is_done]
        is_applied = bool(new or fact.how == "closes") and not old
        kind = "applied: digests" if step.text.how == "digest" else "applied: messages"
        is_rival = any(_names(rival, earlier) for rival in step.trace.get("rivals", ()))
        self._add(kind, name, is_applied, "rival" if is_rival else "" if new else "new one not kept")
        self._add("applied or shown as rivals", name, is_applied or is_rival)
        if step.candidates is not None and new and held(earlier, self.before):
            is_found = any(earlier.stands_in(squash(text)) for text in step.candidates)
            self._add("earlier statement found", name, is_found)
            if is_found:
                self._add("applied or shown as rivals, if found", name, is_applied or is_rival)

    def _judge_forgetting(self, step: PlayedText, gone: Sequence[str]) -> None:
        text, facts = step.text, self.played.life.facts
        if text.forget is None:
            return
        were = [fact_id for fact_id in gone if held(facts[fact_id], self.before)]
        left = [fact_id for fact_id in were if held(facts[fact_id], step)]
        if not were:
            return
        kind = "forgotten: one statement" if text.forget != "all" and len(gone) == 1 else "forgotten: several"
        said = squash(text.text).strip()
        is_stored = said in _all_text(step) and not (self.before and said in _all_text(self.before))
        is_obeyed = not left and not is_stored
        self._add(kind, text.id, is_obeyed, "stored" if is_stored else ", ".join(left))
        asked = [squash(candidate["text"]) for candidate in step.trace.get("candidates", ())]
        is_asked = all(any(facts[fact_id].stands_in(said) for said in asked) for fact_id in left)
        self._add("forgotten or asked back", text.id, is_asked and not is_stored, ", ".join(left))

    def _judge_noise(self, step: PlayedText) -> None:
        text = step.text
        before = {} if self.before is None else self.before.contents
        is_kept = any(content != before.get(path) for path, content in step.contents.items())
        if text.noise == "smalltalk":
            self._add("small talk kept", text.id, is_kept, text.text[:80])
        elif text.noise in ("order", "question"):
            self._add("orders and questions kept", text.id, is_kept, text.text[:80])
        if text.secrets:
            everything = _all_text(step)
            leaked = [secret for secret in text.secrets if squash(secret) in everything]
            self._add("secrets kept out", text.id, not leaked)

    def _judge_rivals(self, step: PlayedText, changed: set[str]) -> None:
        """Count the statements that were taken for rivals of statements which are still true."""
        facts = self.played.life.facts
        amended = {fact_id for fact in step.text.facts for fact_id in fact.changes}
        wrong = [
            rival
            for rival in step.trace.get("rivals", ())
            if not any(_names(rival, facts[fact_id]) for fact_id in changed | amended)
        ]
        for place, fact in enumerate(step.text.facts):
            self._add("wrong rivals", fact.id, place < len(wrong))


def _all_text(step: PlayedText) -> str:
    """Return all that memory held after a text, files and entries, in the form that `squash` gives."""
    return " ".join(f"{unit.label} {unit.text}" for unit in (*step.units, *step.entries))


def _names(rival: Mapping[str, str], fact: Fact) -> bool:
    return fact.stands_in(squash(rival["older"]))


def _kind_is_right(fact: Fact, step: PlayedText) -> bool:
    return any(_kind_of(unit) in KINDS[fact.kind] for unit in held(fact, step))


def _kind_of(unit: Unit) -> StatementKind:
    """Return what a unit of a file is, as its path, the heading above it and its box say."""
    box = _BOX.match(unit.text)
    return kind_of_item(unit.label.rsplit(" › ", 1)[-1], unit.path, box[1] if box else None)


def _question_figures(played: PlayedLife) -> Iterator[Figure]:
    facts = played.life.facts
    asked = [question for question in played.questions if question.question.expected]
    for budget, aim in zip(BUDGETS, (0.78, 0.89, 0.92), strict=True):
        mine = [question for question in asked if question.question.budget == budget]
        cases = tuple(
            LifeCase(
                f"{question.question.id} {fact_id}",
                bool(standing(facts[fact_id], question.units)),
                question.question.text,
            )
            for question in mine
            for fact_id in question.question.expected
        )
        yield Figure(f"evidence in {budget} characters", cases, aim)
    own = [question for question in asked if question.question.self]
    yield Figure(
        "questions about oneself: answered",
        tuple(
            LifeCase(question.question.id, _is_answered(question, facts), question.question.text)
            for question in own
        ),
        0.95,
    )
    changed = [
        question for question in played.questions if question.question.outdated and question.question.expected
    ]
    old = [(question, _outdated_units(question, facts)) for question in changed]
    yield Figure(
        "old value alone",
        tuple(
            LifeCase(
                question.question.id,
                bool(units) and not _is_answered(question, facts),
                question.question.text,
            )
            for question, units in old
        ),
        0.0,
        is_upper=True,
    )
    yield Figure(
        "old beside new, unmarked",
        tuple(
            LifeCase(
                question.question.id,
                any(not unit.is_marked and not unit.is_done for unit in units),
                question.question.text,
            )
            for question, units in old
            if _is_answered(question, facts)
        ),
        0.10,
        is_upper=True,
    )
    yield Figure(
        "old beside new, the old one first",
        tuple(
            LifeCase(question.question.id, _is_old_first(question, units, facts), question.question.text)
            for question, units in old
            if _is_answered(question, facts)
        ),
        0.10,
        is_upper=True,
    )
    yield Figure("true statements shown as old", tuple(_shown_as_old(played)), 0.02, is_upper=True)
    unknown = [question for question in played.questions if not question.question.expected]
    yield Figure(
        "nothing known: empty context",
        tuple(LifeCase(question.question.id, not question.context) for question in unknown),
    )


def _is_old_first(one: PlayedQuestion, old: Sequence[Unit], facts: Mapping[str, Fact]) -> bool:
    """Return whether an old value stands in a context, unmarked, before each unit that answers its question."""
    answers = [
        unit
        for unit in one.units
        if any(standing(facts[fact_id], [unit]) for fact_id in one.question.expected)
    ]
    first = next(unit for unit in one.units if unit in answers or (unit in old and not unit.is_marked))
    return first not in answers


def _is_answered(one: PlayedQuestion, facts: Mapping[str, Fact]) -> bool:
    """Return whether a context holds any fact that answers its question."""
    return any(standing(facts[fact_id], one.units) for fact_id in one.question.expected)


def _outdated_units(one: PlayedQuestion, facts: Mapping[str, Fact]) -> list[Unit]:
    """Return the units that state an outdated fact, and state no current one as well."""
    current = [facts[fact_id] for fact_id in one.question.expected]
    return [
        unit
        for fact_id in one.question.outdated
        for unit in standing(facts[fact_id], one.units)
        if not any(fact.stands_in(unit.whole) for fact in current)
    ]


def _shown_as_old(played: PlayedLife) -> Iterator[LifeCase]:
    facts = played.life.facts
    for question in played.questions:
        for fact_id in question.question.expected:
            if units := standing(facts[fact_id], question.units):
                yield LifeCase(
                    f"{question.question.id} {fact_id}",
                    all(unit.is_marked for unit in units),
                    question.question.text,
                )


def _sizes(played: PlayedLife) -> tuple[Size, ...]:
    by_budget = {
        budget: [question for question in played.questions if question.question.budget == budget]
        for budget in BUDGETS
    }
    facts = played.life.facts
    answered = [
        question
        for question in played.questions
        if question.question.expected and _is_answered(question, facts)
    ]
    return (
        *(
            Size(f"lines in {budget} characters", tuple(len(question.units) for question in mine), aim)
            for (budget, mine), aim in zip(by_budget.items(), (None, 6, 12), strict=True)
        ),
        Size("characters of a context that answers", tuple(len(question.context) for question in answered)),
    )
