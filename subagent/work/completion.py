"""Test whether work is done: nothing is open or in the way, all that counts is met, and a proof exists. Pure.

A claim is no proof: what an agent says of its own work never makes it done.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from memex.subagent.work.ending.evidence import last_change, newest_proof, proves
from memex.subagent.work.records import Observation, ToolEvent
from memex.subagent.work.state import WorkState

EvidenceKind = Literal["test", "build", "commit", "statement"]
OpenReason = Literal[
    "pending_open", "blockers_open", "dod_incomplete", "missing_evidence", "closure_mismatch"
]


@dataclass(frozen=True, slots=True)
class CompletionEvidence:
    """A proof that work is done, and where it is recorded."""

    kind: EvidenceKind
    reference: str
    text: str
    at: datetime


@dataclass(frozen=True, slots=True)
class CompletionCheck:
    """The result of the check whether work is done, and why not.

    Attributes:
        claim: the newest text that says that all is done; with reasons against it, it is a mismatch.
    """

    is_done: bool
    reasons: tuple[OpenReason, ...]
    evidence: tuple[CompletionEvidence, ...]
    claim: Observation | None


def check(state: WorkState, said: Sequence[Observation], events: Sequence[ToolEvent] = ()) -> CompletionCheck:
    """Return whether work is done.

    Args:
        state: where it stands.
        said: the observations that the state was made of.
        events: what clients report of tools.
    """
    evidence = tuple(_evidence(said, events))
    reasons: list[OpenReason] = []
    if state.open:
        reasons.append("pending_open")
    if state.blockers:
        reasons.append("blockers_open")
    if any(point.met_by is None for point in state.definition_of_done):
        reasons.append("dod_incomplete")
    if not evidence:
        reasons.append("missing_evidence")
    claim = state.claims[0] if state.claims else None
    if claim is not None and reasons:
        reasons.append("closure_mismatch")
    return CompletionCheck(not reasons, tuple(reasons), evidence, claim)


def _evidence(said: Sequence[Observation], events: Sequence[ToolEvent]) -> list[CompletionEvidence]:
    """Return what proves the newest work: it is newer than the last change, and of the session that ends it."""
    worked = [
        observation
        for observation in said
        if observation.kind in {"done", "pending"} and observation.who == "agent"
    ]
    newest = max(worked, key=lambda record: record.order, default=None)
    found: list[CompletionEvidence] = []
    proof = newest_proof(events)
    if proof is not None and _is_of(proof, newest):
        kind = proves(proof)
        found.append(CompletionEvidence(kind, proof.reference, proof.command, proof.at))  # type: ignore[arg-type]
    changed = max(filter(None, (last_change(events), newest.at if newest else None)), default=None)
    for observation in sorted(said, key=lambda each: each.order, reverse=True):
        if observation.who == "human" and observation.kind in {"done", "completion_claim"}:
            if changed is None or observation.at >= changed:
                found.append(
                    CompletionEvidence("statement", observation.reference, observation.text, observation.at)
                )
            break
    return found


def _is_of(proof: ToolEvent, newest: Observation | None) -> bool:
    return newest is None or proof.at >= newest.at or proof.conversation_id == newest.conversation_id
