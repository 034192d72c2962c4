"""The evidence of a file: which statements were taken from which messages, and what the person said there."""

from typing import Annotated, Any

from fastapi import Query, Response

from memex.store.conversations.records import parse_reference
from memex.ui.markdown import EVIDENCE_PAGE, citation_anchor
from memex.ui.page import Page, page_router

router = page_router(EVIDENCE_PAGE.removeprefix("/ui"))


@router.get("")
async def show_evidence(page: Page, path: Annotated[str, Query(max_length=2_000)]) -> Response:
    """Return the statements of a file that cite messages, each with who said what when."""
    read = await page.execute("memory_read", {"path": path})
    found = await page.call("evidence_read", {"of": read["path"]})
    anchors: set[str] = set()
    statements = [
        statement | {"evidence": [_placed(cited, anchors) for cited in statement["evidence"]]}
        for statement in found["statements"]
    ]
    return page.render("evidence.html", file=read, statements=statements)


def _placed(cited: dict[str, Any], anchors: set[str]) -> dict[str, Any]:
    """Return a citation with the message that it names, and the anchor of the one that is first on the page."""
    conversation_id, number = parse_reference(cited["message"]) or ("", None)
    written = parse_reference(cited.get("cited_as") or cited["message"]) or ("", None)
    anchor = citation_anchor(written[0], written[1] or 0)
    is_first = anchor not in anchors
    anchors.add(anchor)
    return cited | {
        "conversation": conversation_id,
        "number": number,
        "anchor": anchor if is_first else None,
    }
