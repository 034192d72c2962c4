"""The review: what waits for a person, and what a person decides about it."""

from typing import Annotated

from fastapi import Query
from pydantic import Field

from memex.http.parsing import RequestBody
from memex.http.routers import RouterPair
from memex.service.review.items import MAX_DECISIONS, DecidedResult, ItemDecision, ItemKind, ReviewResult
from memex.service.tools.tool import example

PAIR = RouterPair("/review", "review")

Kind = Annotated[ItemKind | None, Query(description="Items of this kind only.")]
Limit = Annotated[int, Query(ge=1, le=500)]


class DecideBody(RequestBody):
    """Decisions of a person about items."""

    model_config = example(decisions=[{"id": "statement:user/notes.md:notes-gu2mw2rx", "decision": "keep"}])

    decisions: Annotated[list[ItemDecision], Field(min_length=1, max_length=MAX_DECISIONS)]


@PAIR.operation(
    "review_list",
    summary="List what waits for a person",
    admin_description="Return what waits in the memory of the user in Memex-User; without a user, the queued calls "
    "of the whole tenant that were given up, and what calls of admins left.",
)
def review(kind: Kind = None, limit: Limit = 50, cursor: str | None = None) -> ReviewResult:
    """Return what waits for a person, the newest first.

    These are statements that probably contradict newer ones, statements that a request to forget may mean, secrets
    in files, and queued calls that were given up. An item is gone as soon as its reason is.
    """


@PAIR.operation(
    "review_decide",
    summary="Decide what waits for a person",
    admin_description="Carry out decisions about items in the memory of the user in Memex-User.",
)
def decide_review(body: DecideBody) -> DecidedResult:
    """Carry out decisions: `apply` what an item proposes, `keep` things as they are, or `reopen` what was kept.

    The answer says how each is undone. An item that is settled already is `gone`, and nothing happens.
    """
