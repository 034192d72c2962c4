"""The plan that an agent makes for itself: over once it says what is left, or proves that all is done."""

from datetime import UTC, datetime, timedelta

from memex.subagent.work.ending.plans import MAX_BEFORE_CHARS, is_step_of_plan
from memex.subagent.work.records import Observation, ToolEvent, WorkAuthor, WorkKind
from memex.subagent.work.state import WorkState, fold

AT = datetime(2026, 11, 24, 9, tzinfo=UTC)


def said(
    minute: int,
    kind: WorkKind,
    text: str,
    *,
    who: WorkAuthor = "agent",
    plan: bool = False,
    session: str = "s1",
) -> Observation:
    """Return an observation of the message of a minute."""
    at = AT + timedelta(minutes=minute)
    return Observation(kind, text, who, True, 0.9, at, session, minute, len(text), 99, is_plan=plan)


PLAN = [said(1, "pending", text, plan=True) for text in ("A nightly timer", "Restore a month", "Metrics")]
TESTED = ToolEvent("command", AT + timedelta(minutes=5), "s1", "uv run pytest", succeeded=True)


def open_texts(state: WorkState) -> list[str]:
    """Return what is open."""
    return [one.text for one in state.open]


def test_a_plan_is_known_by_the_heading_of_its_list() -> None:
    """Its steps stand in a list under `Plan:`; what is left, asked or quoted under another heading is none."""
    plans = ["Plan:\n1. ", "ok\n\n## Plan\n\n- one\n- ", "**My plan:**\n1. a\n   more\n2. "]
    plans += ["Here's the plan for it:\n- "]
    others = ["Remaining:\n- ", "Next steps\n1. ", "Plan:\nfirst this\n", "", "- ", "Plan: "]
    others += ["The plan failed. Left:\n- "]

    assert [one for one in plans if not is_step_of_plan(one)] == []
    assert [one for one in others if is_step_of_plan(one)] == []
    assert not is_step_of_plan("Plan:\n" + "- x\n" * MAX_BEFORE_CHARS + "- ")


def test_what_is_left_takes_the_place_of_a_plan() -> None:
    """Steps that the agent names again stay the same items; a list of another session ends nothing."""
    first = {one.text: one.item_id for one in fold(PLAN).open}
    left = [said(9, "pending", "Restore a month"), said(9, "pending", "Write the docs")]
    elsewhere = [said(9, "pending", "Write the docs", session="s2")]
    planned = [said(9, "pending", "Write the docs", plan=True)]

    after = fold([*PLAN, *left])

    assert open_texts(after) == ["Restore a month", "Write the docs"]
    assert after.open[0].item_id == first["Restore a month"]
    assert after.items[first["Metrics"]].status == "superseded"
    assert after.done == ()
    assert len(fold([*PLAN, *elsewhere]).open) == len(fold([*PLAN, *planned]).open) == 4


def test_a_plan_ends_with_a_claim_that_is_proven() -> None:
    """A claim alone proves nothing, nor does one of before the plan; what a person asked for stays open."""
    claim = said(9, "completion_claim", "Everything is done.")
    asked = said(0, "pending", "Restore a month", who="human")

    assert len(fold([*PLAN, claim]).open) == 3
    assert len(fold([said(0, "completion_claim", "Done."), *PLAN], events=[TESTED]).open) == 3
    assert len(fold([*PLAN, said(9, "completion_claim", "Done.", session="s2")], events=[TESTED]).open) == 3
    assert open_texts(fold([*PLAN, claim], events=[TESTED])) == []
    assert open_texts(fold([asked, *PLAN, claim], events=[TESTED])) == ["Restore a month"]
    assert open_texts(fold([*PLAN, said(9, "completion_claim", "All done, thanks.", who="human")])) == []
    done = fold([*PLAN, claim], events=[TESTED]).done
    assert {one.resolved_by for one in done} == {claim.reference}
