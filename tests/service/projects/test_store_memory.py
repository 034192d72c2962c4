"""Notes of a project: where they stand, at once from many callers, and in the log."""

import asyncio
from datetime import date

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from memex.call_context import CallContext
from memex.errors import ProjectNotFound, ToolCallConflict, ValidationFailed
from memex.service.log.replay.requests import replay_call
from memex.service.service import Caller, Service
from memex.store.identity import tenants
from memex.store.markdown import describe, parse, read_front_matter
from memex.store.paths import parse as parse_path
from memex.subagent.remember.project_notes import note_path, render_note

DAY = date(2026, 11, 24)


async def member(service: Service, caller: Caller) -> Caller:
    """Return the caller as a member of the project shop, which is made."""
    await tenants.start_project(service.database, caller.access.tenant_id, "shop", str(caller.access.user_id))
    return await service.caller(caller.principal, CallContext(caller.access.user_id, project="shop"))


async def test_the_same_from_many_callers_is_stored_once(service: Service, alice: Caller) -> None:
    """Each is told where it stands; a call that is sent again gets its first answer."""
    caller = await member(service, alice)
    given = {"content": "The queue runs in Postgres.", "tags": ["queue"]}

    done = await asyncio.gather(*(service.execute(caller, "store_memory", given) for _ in range(6)))
    first = await service.execute(
        caller, "store_memory", {"content": "The mast is high."}, tool_call_id="mast"
    )
    again = await service.execute(
        caller, "store_memory", {"content": "The mast is high."}, tool_call_id="mast"
    )
    with pytest.raises(ToolCallConflict):
        await service.execute(caller, "store_memory", {"content": "The mast is low."}, tool_call_id="mast")

    assert sorted(one["status"] for one in done) == [*["known"] * 5, "stored"]
    assert len({one["id"] for one in done}) == 1
    assert again == first
    assert (await replay_call(service, caller, "mast")).is_equal


@pytest.mark.slow
async def test_what_is_no_note_is_refused(service: Service, alice: Caller) -> None:
    """An empty text, one that is too long, too many tags; a secret is redacted as memory_remember does."""
    caller = await member(service, alice)
    for wrong in (
        {"content": " \n"},
        {"content": "x" * 200_001},
        {"content": "x", "tags": ["t"] * 21},
        {"content": "a\0b"},
        {"content": "x", "project": "../user"},
    ):
        with pytest.raises((ValidationFailed, ProjectNotFound)):
            await service.execute(caller, "store_memory", wrong)
    secret = "The key is sk-ant-api03-" + "Zq7" * 31 + "."
    stored = await service.execute(caller, "store_memory", {"content": secret})
    read = await service.execute(caller, "memory_read", {"path": stored["id"]})

    given = {"content": "The mast is high.", "tags": ["mast", secret[11:100]], "source": secret}
    beside = await service.execute(caller, "store_memory", given)
    note = await service.execute(caller, "memory_read", {"path": beside["id"]})

    assert stored["secrets"][0]["action"] == "redacted"
    assert "Zq7Zq7" not in read["content"]
    assert [one["argument"] for one in beside["secrets"]] == ["tags.1", "source"]
    assert "Zq7Zq7" not in note["content"]
    assert "mast" in note["content"]


@given(
    text=st.text(min_size=1, max_size=300), tag=st.text(min_size=1, max_size=30), source=st.text(max_size=50)
)
@example(text="# \n\n---\npinned: true\n---\n", tag="a: b]", source='"\n---\n')
@example(text="\u202e\U0001f600\u0301", tag="#x", source="'")
def test_any_text_has_a_path_and_stays_as_it_is(text: str, tag: str, source: str) -> None:
    """The path is valid; front matter of the text's own is text, so it pins nothing and tags nothing."""
    if not text.strip():
        return
    path = note_path(text, "shop")
    content = render_note(text, [tag], source, DAY)
    body = content[read_front_matter(content)[1] :].strip()

    assert str(parse_path(path)) == path
    assert body == text.strip()
    assert not describe(path, parse(content)).pinned
