"""The health of a project's work: what is proposed, put away, taken back, and kept by rules."""

from datetime import timedelta
from typing import Any

import pytest
from tests.conftest import CallerOf
from tests.kit.memory import open_project
from tests.service.work.test_standing import START, put, refreshed

from memex.errors import ValidationFailed
from memex.service.call import Caller
from memex.service.service import Service
from memex.service.work import asking, health, packing

OLD = ["TODO: document the flags of the importer. Constraint: never use Redis", "Decision: use Postgres"]
NEW = [
    "TODO: document the flags of the importer well. TODO: write a changelog #idea\n\nMission DoD: all tests pass",
    "Decision: use Redis for sessions",
]


async def project_of(service: Service, caller_of: CallerOf) -> Caller:
    """Return a caller with two sessions of a project, forty days from each other."""
    caller = await caller_of("alice")
    await open_project(service, await caller_of(None, role="admin"), "apollo", "alice")
    caller = await put(
        service, await refreshed(service, caller), "one", ["TODO: rotate the old keys", "ok"], day=-40
    )
    caller = await put(service, caller, "two", OLD, day=-2)
    return await put(service, caller, "three", NEW)


async def test_health_names_what_a_person_may_want_to_look_at(service: Service, caller_of: CallerOf) -> None:
    """Near-equal tasks, one that rests, a decision that a constraint forbids, and a point that nothing meets."""
    alice = await project_of(service, caller_of)
    asked = {"project": "apollo"}

    found = await health.HEALTH.call(service, alice, asked)
    ids = [one.id for one in found.repairs]
    done = await health.REPAIR.call(service, alice, asked | {"items": ids})
    after = await asking.SHOW.call(service, alice, asked)
    with pytest.raises(ValidationFailed):
        await health.REPAIR.call(service, alice, asked | {"items": [after.open[0].id]})
    await health.REPAIR.call(service, alice, asked | {"items": ids, "undo": True})
    again = await asking.SHOW.call(service, alice, asked)

    assert [(pair.kept.text, pair.other.text) for pair in found.duplicates] == [
        ("document the flags of the importer well.", "document the flags of the importer.")
    ]
    assert [one.text for one in found.stale] == ["rotate the old keys"]
    assert [(pair.kept.text, pair.other.text) for pair in found.contradictions] == [
        ("use Redis for sessions", "never use Redis")
    ]
    assert [point.text for point in found.gaps] == ["all tests pass"]
    assert sorted(one.action for one in found.repairs) == ["archive", "join"]
    assert not found.is_healthy
    assert sorted(done.repaired) == sorted(ids)
    assert [one.text for one in after.open] == [
        "document the flags of the importer well.",
        "write a changelog #idea",
    ]
    assert len(again.open) == 4


async def test_policies_are_lines_of_a_file(service: Service, caller_of: CallerOf) -> None:
    """They archive what rests but for what a pattern keeps, leave out by tag, and go when the line goes."""
    alice = await project_of(service, caller_of)
    asked = {"project": "apollo"}

    async def set_rule(rule: str, **more: Any) -> health.WorkPolicyResult:
        return await health.POLICY.call(service, alice, asked | {"rule": rule} | more)

    await set_rule("Archive after 1 day")
    await set_rule("Never archive: changelog*")
    later = (START + timedelta(days=60)).isoformat()
    kept = await asking.SHOW.call(service, alice, asked | {"as_of": later})
    ruled = await set_rule("Leave out: #idea")
    same = await set_rule("Leave out: #idea")
    pack = await packing.PACK.call(service, alice, asked)
    for rule in ruled.policies:
        gone = await set_rule(rule, remove=True)
    back = await asking.SHOW.call(service, alice, asked)

    assert ruled.policy_file == "projects/apollo/work-policies.md"
    assert (ruled.changed, same.changed) == (True, False)
    assert [one.text for one in kept.open] == ["write a changelog #idea"]
    assert {one.status for one in kept.archived} == {"archived"}
    assert "changelog" not in pack.text
    assert (gone.policies, len(back.open)) == ([], 4)
    with pytest.raises(ValidationFailed):
        await set_rule("Burn after reading")


async def test_a_policy_gives_tags_by_which_others_go(service: Service, caller_of: CallerOf) -> None:
    """The tag stands at the item, and a rule for the tag takes it."""
    alice = await project_of(service, caller_of)
    asked = {"project": "apollo"}
    await health.POLICY.call(service, alice, asked | {"rule": "Tag: changelog* as #Release"})
    await health.POLICY.call(service, alice, asked | {"rule": "Leave out: #release"})
    shown = await asking.SHOW.call(service, alice, asked)
    pack = await packing.PACK.call(service, alice, asked)

    assert {one.text: one.tags for one in shown.open if one.tags} == {"write a changelog #idea": ["#release"]}
    assert "changelog" not in pack.text
