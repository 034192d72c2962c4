"""The demo: the memory of an invented person, one click to load and one click to remove."""

from fastapi import Response

from memex.service import demo
from memex.ui.page import HOME, Page, page_router

router = page_router("/memory/demo")


@router.post("")
async def load_demo(page: Page) -> Response:
    """Write the files of the sample memory."""
    done = await demo.load_sample(page.service, await page.caller("demo_load"))
    return page.redirect(HOME, notice="demo-loaded", call=done.tool_call_id)


@router.post("/remove")
async def remove_demo(page: Page) -> Response:
    """Delete the files of the sample memory that nobody changed since."""
    done = await demo.remove_sample(page.service, await page.caller("demo_remove"))
    return page.redirect(HOME, notice="demo-removed", call=done.tool_call_id)
