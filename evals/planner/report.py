"""The figures of picked lines as a text of a few lines. Pure."""

from collections.abc import Iterator, Sequence
from operator import ge

from memex.evals.planner.measure import WORTHS, PlannerFigures


def to_text(figures: PlannerFigures, budgets: Sequence[int]) -> str:
    """Return the figures as lines of text."""
    return "\n".join(_lines(figures, budgets)) + "\n"


def best_worth(figures: PlannerFigures, who: str, budgets: Sequence[int]) -> float:
    """Return what a pick should be worth: the least that recalls most, and nowhere less than the rules."""
    ruled = [figures.rules[budget].recalled.total() for budget in budgets]
    picked = figures.picked
    recalled = {worth: [picked[who, worth, room].recalled.total() for room in budgets] for worth in WORTHS}
    safe = [worth for worth in WORTHS if all(map(ge, recalled[worth], ruled))]
    return max(safe, key=lambda worth: (sum(recalled[worth]), -worth))


def _lines(figures: PlannerFigures, budgets: Sequence[int]) -> Iterator[str]:
    asked = max(1, figures.questions)
    yield (
        f"Questions: {figures.questions}; pieces of evidence: {figures.pieces}; "
        f"among the lines of the first prompt: {_share(figures.offered, figures.pieces)}; "
        f"characters of a first prompt: {figures.prompt_chars // asked:,}; "
        f"so sure that nobody picks: {_share(figures.sure, asked)}."
    )
    yield ""
    yield f"Evidence recalled, per cent, in {' / '.join(f'{budget:,}' for budget in budgets)} characters:"
    ruled = (f"{figures.rules[budget].recalled_percent():.1f}" for budget in budgets)
    yield f"  rules{'':29}{' / '.join(ruled)}"
    for who in figures.picks:
        for worth in WORTHS:
            shares = (f"{figures.picked[who, worth, budget].recalled_percent():.1f}" for budget in budgets)
            yield f"  {who}, a pick is worth {worth:g}".ljust(36) + " / ".join(shares)
    yield ""
    for who, picks in figures.picks.items():
        yield (
            f"{who}: {picks / asked:.1f} picks a question, right {_share(figures.right[who], picks)}; of their "
            f"characters, evidence {_share(figures.right_chars[who], figures.picked_chars[who])}; "
            f"a pick should be worth {best_worth(figures, who, budgets):g}."
        )
    if figures.seconds:
        used = figures.usage
        yield (
            f"Model: {used['requests'] / asked:.2f} requests, {used['input_tokens'] // asked:,} tokens in and "
            f"{used['output_tokens'] // asked:,} out a question, {sum(figures.seconds) / asked:.1f} s in the mean, "
            f"{max(figures.seconds):.1f} s at most; failed: {used['failed']}; US dollars: {figures.usd:.4f}."
        )


def _share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f} %" if whole else "-"
