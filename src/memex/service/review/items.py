"""Items that wait for a person, as callers see them."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from memex.service.tools.tool import ResultPart, ToolResult
from memex.store.records import Span

ItemKind = Literal["rival", "forget", "secret", "queue"]
Decision = Literal["apply", "keep", "reopen"]
Undo = Literal["revert", "reopen"]

MAX_DECISIONS = 100  # that one call may carry out


class ReviewItem(ResultPart):
    """Something that waits for a person.

    | kind | meaning | `apply` | `keep` |
    | --- | --- | --- | --- |
    | rival | `newer` probably contradicts the stored statement `text` | takes `text` out | both hold |
    | forget | the request to forget `detail` may mean the stored statement `text` | takes `text` out | it holds |
    | secret | the file holds what looks like a secret of the kind `detail` | puts a mark in its place | it stays |
    | queue | a queued call was given up with the error `detail` | tries it again | it stays given up |

    `detail` is null for a request that stood in a longer text. `path`, `version` and `span` say where the statement
    or the secret stands; null for `queue`. A secret itself is never in `text`. `tool_call_id` is the call that left
    the item, `since` its time, and `decisions` says what the caller may decide.
    """

    id: str
    kind: ItemKind
    user: str
    path: str | None
    version: int | None
    span: Span | None
    text: str
    newer: str | None = None
    detail: str | None = None
    since: str
    tool_call_id: str
    decisions: list[Decision]


class ReviewResult(ToolResult):
    """The items that wait for a person, the newest first; `next_cursor` is null after the last.

    `counts` counts all items by kind. `is_complete` is false if the log has more than 10,000 calls of the user,
    more than 1,000 that left something, or if these speak of more than 1,000 files or 20 million characters: what
    only the rest left is then not listed.
    """

    items: list[ReviewItem]
    counts: dict[ItemKind, int]
    next_cursor: str | None
    is_complete: bool


class ItemDecision(BaseModel):
    """A person's decision about one item, by its id."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    id: Annotated[str, Field(min_length=1, max_length=400)]
    decision: Decision


class DecidedItem(ResultPart):
    """The outcome of a decision.

    `status` is `done`, or `gone` if the item does not wait any more: it was settled, or its file changed. `undo`
    says how to undo it: `revert` the call `tool_call_id`, or decide `reopen`; null if nothing undoes it.
    """

    id: str
    decision: Decision
    status: Literal["done", "gone"]
    tool_call_id: str | None = None
    undo: Undo | None = None


class DecidedResult(ToolResult):
    """The outcomes of decisions, in their order; `tool_call_id` is the call that logged them."""

    items: list[DecidedItem]
