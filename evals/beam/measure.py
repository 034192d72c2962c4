"""Figures of a played chat of BEAM, each with the cases that it counts. Pure."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial

from memex.evals.beam.chats import ABILITIES
from memex.evals.beam.play import BUDGETS, AskedQuestion, PlayedChat, PlayedMessage
from memex.evals.beam.sides import Update, key_sentence, states, update_of
from memex.evals.lives.measure import Figure, LifeCase, LifeMeasures
from memex.evals.lives.play import Unit

_Claim = Callable[[str], bool]  # tells whether a text states something


def measure_chat(played: PlayedChat) -> LifeMeasures:
    """Return what a played chat shows."""
    updates = [
        (asked, update)
        for asked in played.questions
        if asked.question.ability == "knowledge_update" and (update := update_of(asked.question))
    ]
    figures = (
        *_evidence_figures(played),
        *_value_figures(updates),
        *_decision_figures(
            "updates",
            [
                (asked.question.id, played.messages[update.later.id], update.is_older, update.is_newer)
                for asked, update in updates
            ],
        ),
        *_decision_figures("contradictions", list(_contradictions(played))),
    )
    return LifeMeasures(played.chat.name, figures, ())


def _evidence_figures(played: PlayedChat) -> Iterator[Figure]:
    for ability in ABILITIES:
        asked = [question for question in played.questions if question.question.ability == ability]
        name = ability.replace("_", " ")
        yield Figure(f"{name}: evidence stored", tuple(_stored(asked, played)))
        for budget in BUDGETS:
            yield Figure(f"{name}: evidence in {budget} characters", tuple(_recalled(asked, budget)))


def _stored(asked: Sequence[AskedQuestion], played: PlayedChat) -> Iterator[LifeCase]:
    for question in asked:
        for message in question.question.evidence:
            sentence = key_sentence(message, question.question)
            is_stored = _stands(partial(states, sentence=sentence), played.messages[message.id].after)
            yield LifeCase(f"{question.question.id} {message.id}", is_stored, sentence)


def _recalled(asked: Sequence[AskedQuestion], budget: int) -> Iterator[LifeCase]:
    for question in asked:
        for message in question.question.evidence:
            sentence = key_sentence(message, question.question)
            is_held = _stands(partial(states, sentence=sentence), question.contexts[budget])
            yield LifeCase(f"{question.question.id} {message.id}", is_held, sentence)


def _value_figures(updates: Sequence[tuple[AskedQuestion, Update]]) -> Iterator[Figure]:
    for budget in BUDGETS:
        held = [
            (asked, _stands(update.is_newer, asked.contexts[budget]), _older(update, asked.contexts[budget]))
            for asked, update in updates
        ]
        newest = tuple(LifeCase(asked.question.id, is_new, asked.question.text) for asked, is_new, _ in held)
        alone = tuple(
            LifeCase(asked.question.id, bool(old) and not is_new, asked.question.text)
            for asked, is_new, old in held
        )
        beside = tuple(
            LifeCase(asked.question.id, any(not unit.is_marked for unit in old), asked.question.text)
            for asked, is_new, old in held
            if is_new
        )
        yield Figure(f"newest value in {budget} characters", newest)
        yield Figure(f"old value alone in {budget} characters", alone, is_upper=True)
        yield Figure(f"old value beside the newest, unmarked, in {budget} characters", beside, is_upper=True)


def _older(update: Update, units: Iterable[Unit]) -> list[Unit]:
    return [unit for unit in units if update.is_older(unit.text)]


def _contradictions(played: PlayedChat) -> Iterator[tuple[str, PlayedMessage, _Claim, _Claim]]:
    """Yield the later side of each contradiction, with what tells the earlier side, and the later one."""
    for asked in played.questions:
        if asked.question.ability == "contradiction_resolution" and len(asked.question.evidence) > 1:
            first, last = (
                key_sentence(message, asked.question) for message in asked.question.evidence[:: _ends(asked)]
            )
            yield (
                asked.question.id,
                played.messages[asked.question.evidence[-1].id],
                partial(states, sentence=first),
                partial(states, sentence=last),
            )


def _ends(one: AskedQuestion) -> int:
    """Return the step from the first message of evidence to the last one."""
    return len(one.question.evidence) - 1


def _decision_figures(name: str, cases: Sequence[tuple[str, PlayedMessage, _Claim, _Claim]]) -> list[Figure]:
    """Return how far the pairs of an earlier and a later statement come: stored, found, decided.

    A pair is found if search gave the earlier statement to the comparison with the later text. It is decided if
    the earlier statement was replaced or taken out, or if the answer named it as a rival.
    """
    stored, found, decided, applied = [], [], [], []
    for case, played, is_earlier, is_later in cases:
        is_stored = _stands(is_earlier, played.before) and _stands(is_later, played.after)
        stored.append(LifeCase(case, is_stored, "earlier and later statement"))
        if not is_stored:
            continue
        is_applied = not _stands(is_earlier, played.after)
        is_rival = any(map(is_earlier, played.rivals))
        is_found = any(map(is_earlier, played.candidates or ()))
        if played.candidates is not None:
            found.append(LifeCase(case, is_found))
            if is_found:
                decided.append(LifeCase(case, is_applied or is_rival, "rival" if is_rival else ""))
        applied.append(LifeCase(case, is_applied))
    return [
        Figure(f"{name}: both statements stored", tuple(stored)),
        Figure(f"{name}: earlier statement found, if both are stored", tuple(found)),
        Figure(f"{name}: applied or named as rivals, if found", tuple(decided)),
        Figure(f"{name}: applied, if both are stored", tuple(applied)),
    ]


def _stands(claim: _Claim, units: Iterable[Unit]) -> bool:
    return any(claim(unit.text) for unit in units)
