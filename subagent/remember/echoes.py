"""Echoes in a told text of words that were forgotten, or replaced since: see `store.writes.tombstones`.

A text that was said before does not bring it back, and neither does one in which invisible or look-alike characters
disguise it. What somebody says anew does, and lifts the tombstone.
"""

from dataclasses import dataclass, replace
from datetime import UTC

from memex.store.records import Span, Tombstone
from memex.store.text_pool import offload
from memex.subagent.memory_tools import MemoryTools
from memex.subagent.planner import RememberPlan, RememberRequest
from memex.subagent.statements.comparison.remains import Echo, find_echoes
from memex.subagent.statements.extraction import SkippedSpan

_NEGATED = frozenset({"not", "no", "never", "n't", "nicht", "kein", "keine", "nie", "pas", "jamais", "nunca"})
_SAID = frozenset({"unfiled", "duplicate"})  # of what a text states, and pages do not get


@dataclass(frozen=True, slots=True)
class ToldEchoes:
    """The sentences of a text that say what was taken out.

    Attributes:
        withheld: those that are kept nowhere.
        past: those that say what has been replaced since: the journal alone keeps them, as what holds no more.
        anew: those that may say it anew, if the text states them.
    """

    withheld: tuple[Echo, ...] = ()
    past: tuple[Echo, ...] = ()
    anew: tuple[Echo, ...] = ()

    @property
    def spans(self) -> list[Span]:
        """The spans of the withheld sentences."""
        return [echo.span for echo in self.withheld]

    def lifted(self, plan: RememberPlan) -> list[Echo]:
        """Return the sentences that state anew what was taken out, by the plan for the text."""
        stated = [(add.statement.start, add.statement.end) for add in plan.adds]
        stated += [(known.statement.start, known.statement.end) for known in plan.known]
        stated += [(skip.start, skip.end) for skip in plan.skipped if skip.reason in _SAID]
        return [echo for echo in self.anew if any(_meet(echo.span, span) for span in stated)]

    def without_past(self, plan: RememberPlan) -> RememberPlan:
        """Return a plan by which no page gets what has been replaced since."""
        past = [
            add.statement
            for add in plan.adds
            if any(_meet(echo.span, (add.statement.start, add.statement.end)) for echo in self.past)
        ]
        if not past:
            return plan
        skipped = [SkippedSpan(echo.start, echo.end, "superseded") for echo in past]
        return replace(
            plan,
            adds=tuple(add for add in plan.adds if add.statement not in past),
            removals=tuple(removal for removal in plan.removals if removal.statement not in past),
            rivals=tuple(rival for rival in plan.rivals if rival.statement not in past),
            overtaken=tuple(overtaking for overtaking in plan.overtaken if overtaking.statement not in past),
            skipped=tuple(sorted((*plan.skipped, *skipped), key=lambda skip: skip.start)),
        )


NO_ECHOES = ToldEchoes()


async def told_echoes(request: RememberRequest, tools: MemoryTools) -> ToldEchoes:
    """Return what a text says that was forgotten or replaced in the mounts to which it goes."""
    tombstones = await tools.tombstones()
    if not tombstones:
        return NO_ECHOES
    text = request.text
    found = await offload.run_on(text, find_echoes, text, tombstones, tools.analyzer)
    withheld, past, anew = [], [], []
    for echo in found:
        is_older = is_before(request, echo.tombstone)
        is_forgotten = echo.tombstone.strength == "forgotten"
        if is_forgotten and echo.tombstone.mount == "user" and is_kept_out(echo, is_older=is_older):
            withheld.append(echo)
        elif is_older and echo.is_outright:
            past.append(echo)
        elif echo.is_outright and not is_older and not is_negated(text[slice(*echo.span)]):
            anew.append(echo)
    return ToldEchoes(tuple(withheld), tuple(past), tuple(anew))


def is_kept_out(echo: Echo, *, is_older: bool) -> bool:
    """Return whether a sentence does not bring back what was taken out: `is_older` if it was said before that."""
    if echo.tombstone.strength == "replaced":
        return is_older and echo.is_outright
    return is_older or (echo.is_disguised and echo.is_outright)


def is_before(request: RememberRequest, tombstone: Tombstone) -> bool:
    """Return whether a text was said before something was taken out, as far as is known."""
    if request.moment is not None:
        return request.moment < tombstone.ended_at
    return request.day < tombstone.ended_at.astimezone(UTC).date()


def is_negated(sentence: str) -> bool:
    """Return whether a sentence denies something, so that it does not say it anew."""
    words = sentence.casefold().replace("’", "'").replace("n't", " n't").split()
    return not _NEGATED.isdisjoint(word.strip(".,;:!?") for word in words)


def _meet(one: Span, other: Span) -> bool:
    return one[0] < other[1] and other[0] < one[1]
