"""What an empty memory offers: the demo, a key for the first calls, and the import of a vault."""

from fastapi import Response

from memex.errors import Forbidden, ValidationFailed
from memex.service import demo
from memex.service.vaults.transfer_report import ignore_progress
from memex.ui.page import HOME, Page, page_router
from memex.ui.pages.memory import show_first_minute

router = page_router("/memory")


@router.post("/demo")
async def load_demo(page: Page) -> Response:
    """Write the files of the sample memory."""
    done = await demo.load_sample(page.service, await page.caller("demo_load"))
    return page.redirect(HOME, notice="demo-loaded", call=done.tool_call_id)


@router.post("/demo/remove")
async def remove_demo(page: Page) -> Response:
    """Delete the files of the sample memory that nobody changed since."""
    done = await demo.remove_sample(page.service, await page.caller("demo_remove"))
    return page.redirect(HOME, notice="demo-removed", call=done.tool_call_id)


@router.post("/first-key")
async def make_first_key(page: Page) -> Response:
    """Make a key that is bound to the user, and fill it into the first calls. Only this answer holds it."""
    if page.session.user_id is None:
        raise ValidationFailed("No user was chosen.", hint="Choose a user in the menu at the top right.")
    if page.session.principal.role != "admin":
        raise Forbidden("Only an administrator makes keys.")
    made = await page.memex.create_key(page.context, "agent", page.session.user_id, "first calls")
    return await show_first_minute(page, made["key"])


@router.post("/import")
async def import_vault(page: Page) -> Response:
    """Import a zip of Markdown files."""
    sent = page.files.get("vault")
    if sent is None or not sent.filename:
        raise ValidationFailed("The form holds no file.", hint="Choose a zip of a folder of Markdown files.")
    done = await page.memex.import_vault(
        page.context,
        await sent.read(),
        into=None,
        dry_run=False,
        projects=False,
        replace=False,
        progress=ignore_progress,
    )
    return page.render("imported.html", report=done)
