"""The projects of a tenant and their members."""

from fastapi import Response

from memex.ui.page import Page, page_router

router = page_router("/people/projects")

PROJECTS_PAGE = "/ui/people/projects"


@router.get("")
async def show_projects(page: Page) -> Response:
    """Return the list of open projects with their members."""
    listed = await page.call("project_list")
    return page.render("people_projects.html", projects=listed["projects"])


@router.post("")
async def open_project(page: Page) -> Response:
    """Make a project, or open a closed one again."""
    opened = await page.call("project_open", {"slug": page.form.get("slug", "").strip()})
    notice = "project-made" if opened["created"] else "project-opened"
    return page.redirect(PROJECTS_PAGE, notice=notice)


@router.post("/close")
async def close_project(page: Page) -> Response:
    """Close a project."""
    await page.call("project_close", {"slug": page.form.get("slug", "")})
    return page.redirect(PROJECTS_PAGE, notice="project-closed")


@router.post("/members")
async def set_member(page: Page) -> Response:
    """Add a member to a project, or remove one."""
    slug, user = page.form.get("slug", ""), page.form.get("user", "").strip()
    is_member = page.form.get("member") != "false"
    name = "project_member_add" if is_member else "project_member_remove"
    await page.call(name, {"slug": slug, "user": user})
    return page.redirect(PROJECTS_PAGE, notice="member-added" if is_member else "member-removed")
