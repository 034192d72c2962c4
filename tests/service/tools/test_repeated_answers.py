"""A call that is sent again under its tool call id gets the bytes of the first answer."""

import json
from typing import Any

import pytest
from tests.kit.memory import remember, run_tool

from memex.service.distil.answer import DistilResult
from memex.service.distil.removal import WithdrawResult
from memex.service.review.items import DecidedResult
from memex.service.service import Caller, Service
from memex.service.tools.context import CONTEXT
from memex.service.tools.file_edits import WriteResult
from memex.service.tools.registry import BY_NAME
from memex.service.tools.revisions import REVERT
from memex.service.vaults.vault_import import _Batch

pytestmark = pytest.mark.embedded_only

CALL = "call-1"


def as_sent(answer: dict[str, Any]) -> str:
    """Return the JSON of an answer, with its members in their order."""
    return json.dumps(answer)


async def test_a_repeated_answer_is_the_same_byte_for_byte(service: Service, alice: Caller) -> None:
    """With writes, skipped parts, candidates and rivals, and where nothing is written."""
    await remember(service, alice, "The bookbinding workshop of the guild takes place in room 204.")
    for number, text in enumerate(
        (
            "I prefer oolong tea. I live in Lisbon. Thanks! What is the time?",
            "In room 311 the guild holds its bookbinding workshop.",
            "Forget what I said about the guild.",
            "Thanks a lot!",
        )
    ):
        first = await remember(service, alice, text, call=f"{CALL}-{number}")
        again = await remember(service, alice, text, call=f"{CALL}-{number}")
        assert as_sent(again) == as_sent(first)


async def test_other_tools_that_write_repeat_their_bytes(service: Service, alice: Caller) -> None:
    """Each tool has an order of its own."""
    for tool, arguments in (
        ("write", {"path": "user/a.md", "content": "# A\n\nOne line.\n"}),
        ("patch", {"path": "user/a.md", "operation": "append", "text": "More.\n"}),
        ("move", {"path": "user/a.md", "to": "user/b.md"}),
        ("delete", {"path": "user/b.md"}),
    ):
        first = await run_tool(service, alice, tool, f"{CALL}-{tool}", **arguments)
        again = await run_tool(service, alice, tool, f"{CALL}-{tool}", **arguments)
        assert as_sent(again) == as_sent(first), tool


async def test_a_queued_answer_is_repeated_as_it_was(service: Service, alice: Caller) -> None:
    """The caller does not wait, and asks again."""
    first = await remember(service, alice, "I prefer oolong tea.", call=CALL, wait=False)
    again = await remember(service, alice, "I prefer oolong tea.", call=CALL, wait=False)

    assert first["status"] == "queued"
    assert as_sent(again) == as_sent(first)


# What the answers of writes are required to have. Nothing is added: a member that comes later has a default.
REQUIRED = """
_Batch: created unchanged updated
CandidateResult: path text
DecidedItem: decision id status
DecidedResult: items
DistilResult: outdated planner read remaining rivals skipped statements status writes
DistilledConversation: after conversation human_messages until
DistilledStatement: end heading kind message outcome path said_at start
EditResult: changed created deleted kind path replaced_version sha256 version
HiddenCharacterResult: argument code_point column line
HiddenCharactersResult: count first
KeptFile: code deleted message path updated_at version
OutdatedResult: end message path said_at start
PatchResult: changed diff path version
PlacedResult: path version
RememberResult: degraded planner skipped status writes
RevertResult: reverted writes
RevertedResult: deleted diff path version
RivalResult: newer older path
SecretResult: action argument column kind line
SkippedPart: end message reason start
SkippedResult: end known_in reason start
StatementResult: end heading kind outcome path replaced start text
StoreMemoryResult: id note rivals status
StoredRivalResult: id text
UnresolvedResult: handle reason
WithdrawResult: status writes
WriteMade: diff operation path reason version
WriteManyResult: results
WriteResult: changed created path replaced_version sha256 version
"""


def test_what_a_version_adds_to_a_stored_answer_is_not_required() -> None:
    """The log gives answers of older versions, which lack it."""
    known = {line.split(":")[0]: set(line.split()[1:]) for line in REQUIRED.strip().splitlines()}
    of_tools = [tool.result for tool in BY_NAME.values() if not tool.is_read_only and tool is not CONTEXT]
    own = [REVERT.result, DistilResult, WithdrawResult, DecidedResult, _Batch]
    for kind in (*of_tools, *own):
        schema = kind.model_json_schema()
        for name, part in {kind.__name__: schema, **schema.get("$defs", {})}.items():
            added = set(part.get("required", ())) - known.get(name, set(part.get("required", ())))
            assert not added, (
                f"{name} requires {added}, which answers of older versions lack: give it a default."
            )


def test_an_answer_that_is_none_of_this_version_stays_as_it_is() -> None:
    """Another version may have had other members, or other values."""
    for stored in ({"path": "user/a.md"}, {"version": "one", "path": "user/a.md"}, {"path": 1, "more": []}):
        assert WriteResult.in_order(stored) == stored
