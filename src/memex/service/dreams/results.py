"""Dreams and their proposals, as callers see them."""

from collections.abc import Iterable, Sequence
from typing import Any, Literal

from pydantic import Field

from memex.service.tools.tool import ResultPart, ToolResult
from memex.store.dreams.proposals import EditState, MountChoice, StoredProposal
from memex.subagent.dream.edits import EditKind, diff_of, edit_of
from memex.subagent.dream.signals import Signal, SignalKind

Mode = Literal["off", "propose", "auto"]


class SignalResult(ResultPart):
    """Something that may be tidied: where it stands, and what stands there."""

    kind: SignalKind
    places: list[str]
    texts: list[str]
    note: str


class FileEditResult(ResultPart):
    """The edit of one file; `diff` is what it would change in the file as it stands."""

    path: str
    base_version: int | None
    diff: str


class GroupResult(ResultPart):
    """Edits that are applied together or not at all.

    `removed` are lines that go, as `path@version:start-end`, and `kept` says of each what stays in its place. In
    the state `held` the edits did not pass the questions that were asked before and after, and are never applied.
    """

    group: int
    kind: EditKind
    state: EditState
    why: str
    removed: list[str]
    kept: list[str]
    edits: list[FileEditResult]
    tool_call_id: str | None


class GateFigures(ResultPart):
    """What contexts kept of what they said before.

    `kept_share` is the share of the statements in contexts that stay in them, or their twins; `emptied` counts
    the questions that lost all, and `growth` is by how much contexts grow in the median.
    """

    kept_share: float
    emptied: int
    growth: float


class GateResult(GateFigures):
    """The figures of the gate: how many questions were asked before and after, and what their contexts kept.

    `held` are the groups that were taken out so that it passes, and `with_held` the figures of all groups. With
    fewer than 20 real questions nothing is applied by itself.
    """

    passed: bool
    real_questions: int
    own_questions: int
    cases: int
    held: list[int]
    with_held: GateFigures | None = None  # proposals of earlier versions have none


class ProposalResult(ResultPart):
    """A proposal for one mount. `listed` is what no edit is proposed for: contradictions, names that look alike."""

    proposal_id: str
    mount: str
    made_at: str
    state: Literal["open", "expired", "decided"]
    planner: str
    counts: dict[str, int]
    groups: list[GroupResult]
    listed: list[SignalResult]
    gate: GateResult | None


class DreamResult(ToolResult):
    """The outcome of a dream: `proposed`, `nothing`, `waiting` for a decision on an earlier one, or `refused`.

    With `dry_run` the status is `dry_run`, and nothing was written. `left_out` counts groups of edits that are more
    than one proposal holds.
    """

    status: Literal["proposed", "nothing", "waiting", "refused", "dry_run"]
    proposal: ProposalResult | None = None
    counts: dict[str, int] = Field(default_factory=dict)
    left_out: int = 0
    detail: str | None = None


class ProposalListResult(ToolResult):
    """The proposals of the caller's mounts, the newest first."""

    proposals: list[ProposalResult]


class MountChoiceResult(ResultPart):
    """The choice for a mount: who decides, and until when no dream begins by itself."""

    mount: str
    mode: Mode
    auto_kinds: list[str]
    paused_until: str | None
    dreamt_at: str | None


class ChoicesResult(ToolResult):
    """The choices for the mounts of the caller."""

    mounts: list[MountChoiceResult]


class HealthReport(ToolResult):
    """The health of a memory: how much of each kind may be tidied, and the first places of each."""

    mount: str
    pages: int
    statements: int
    counts: dict[str, int]
    signals: list[SignalResult]
    choice: MountChoiceResult


class DecidedGroup(ResultPart):
    """The outcome of a decision about one group; `outdated` if a file was written since and the edit does not fit.

    `revert` of the call `tool_call_id` undoes it.
    """

    group: int
    state: EditState
    tool_call_id: str | None
    detail: str | None = None


class DecidedGroups(ToolResult):
    """The outcomes of a decision, by group."""

    proposal_id: str
    groups: list[DecidedGroup]


def signal_results(signals: Iterable[Signal]) -> list[SignalResult]:
    """Return signals as callers see them."""
    return [
        SignalResult(kind=signal.kind, places=signal.references, texts=signal.texts, note=signal.note)
        for signal in signals
    ]


def choice_result(mount: str, choice: MountChoice) -> MountChoiceResult:
    """Return what was chosen for a mount, as callers see it."""
    return MountChoiceResult.taken_from(choice, mount=mount, auto_kinds=list(choice.auto_kinds))


def proposal_result(stored: StoredProposal, mount: str, texts: dict[str, str]) -> ProposalResult:
    """Return a proposal as callers see it; `texts` are the files as they stand, from which the diffs are made."""
    return ProposalResult.taken_from(
        stored,
        mount=mount,
        groups=[group_result(part, rows, texts) for part, rows in stored.parts().items()],
        listed=[SignalResult.model_validate(signal) for signal in stored.listed],
        gate=GateResult.model_validate(stored.gate) if stored.gate else None,
    )


def group_result(part: int, rows: Sequence[dict[str, Any]], texts: dict[str, str]) -> GroupResult:
    """Return a group of edits as callers see it."""
    first = rows[0]
    edits = [edit_of(row) for row in rows]
    return GroupResult(
        group=part,
        kind=first["kind"],
        state=first["state"],
        why=first["why"],
        removed=[reference for edit in edits for reference in edit.removed],
        kept=[reference for edit in edits for reference in edit.kept],
        edits=[
            FileEditResult(
                path=edit.path, base_version=edit.base_version, diff=diff_of(edit, texts.get(edit.path))
            )
            for edit in edits
            if not edit.is_need
        ],
        tool_call_id=first["tool_call_id"],
    )
