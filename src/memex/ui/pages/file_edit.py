"""Changing files: new, edit, move, delete, restore, pin, and undoing what a call wrote."""

from typing import Annotated, Any

from fastapi import Query, Response

from memex.errors import FileExists, FileNotFound, ValidationFailed, VersionConflict
from memex.store.diff import unified
from memex.store.entry_path import is_entry_at
from memex.store.text_pool import offload
from memex.store.writes.edits import entry_immutable
from memex.ui.comparison import diff_lines
from memex.ui.markdown import FILE_PAGE
from memex.ui.page import HOME, Page, PageRequest, page_router
from memex.ui.pages.file import PathQuery, read_file, text_as_page
from memex.ui.pinning import with_pin

router = page_router("/memory")


@router.get("/new")
async def show_new(page: Page, path: Annotated[str, Query(max_length=2_000)] = "user/") -> Response:
    """Return the form of a new file."""
    return page.render("edit.html", **_form(path=path))


@router.get("/edit")
async def show_edit(page: Page, path: PathQuery) -> Response:
    """Return the form of a file that there is; raises EntryImmutable for an entry of the journal."""
    _check_no_entry(path)
    read = await read_file(page, path)
    return page.render("edit.html", **_form(path=path, content=read["content"], version=read["version"]))


@router.post("/preview")
async def show_preview(page: Page) -> Response:
    """Return a text as its page would show it. Nothing is stored."""
    path, content = page.form.get("path", "user/preview.md"), _text_of(page)
    text = await text_as_page(content, path)
    form = _form(path, content, _version_of(page), page.form.get("reason", ""))
    return page.render("edit.html", block="preview", **form | {"preview": text})


@router.post("/save")
async def save(page: Page) -> Response:
    """Store a text as the next version of its file, or of a new file; a conflict shows both texts."""
    path, version = page.form.get("path", "").strip(), _version_of(page)
    content, reason = _text_of(page), page.form.get("reason", "").strip() or None
    if version is not None and "\r\n" in await _stored(page, path):
        content = content.replace("\n", "\r\n")
    arguments = {"path": path, "content": content, "base_version": version, "reason": reason}
    try:
        done = await page.execute("memory_write", arguments)
    except (VersionConflict, FileExists, FileNotFound):
        return await _conflict(page, path, content, reason)
    saved = "saved-forgotten" if done.get("forgotten") else "saved"
    notice = saved if done["changed"] else "unchanged"
    call = done["tool_call_id"] if done["changed"] else None
    return page.redirect(FILE_PAGE, path=done["path"], notice=notice, call=call)


@router.get("/move")
async def show_move(page: Page, path: PathQuery) -> Response:
    """Return the form that moves a file; raises EntryImmutable for an entry of the journal."""
    _check_no_entry(path)
    return page.render("move.html", file=await read_file(page, path))


@router.post("/move")
async def move(page: Page) -> Response:
    """Move a file to another path."""
    arguments = {
        "path": page.form.get("path", ""),
        "to": page.form.get("to", "").strip(),
        "base_version": _version_of(page),
    }
    done = await page.execute("memory_move", arguments)
    return page.redirect(FILE_PAGE, path=done["path"], notice="moved", call=done["tool_call_id"])


@router.post("/delete")
async def delete(page: Page) -> Response:
    """Delete a file; its versions stay."""
    arguments = {"path": page.form.get("path", ""), "base_version": _version_of(page)}
    done = await page.execute("memory_delete", arguments)
    return page.redirect(HOME, notice="deleted", call=done["tool_call_id"])


@router.post("/restore")
async def restore(page: Page) -> Response:
    """Put an earlier version back as the next one."""
    restored = _version_of(page, "restored_version")
    if restored is None:
        raise ValidationFailed("The form names no version.", hint="Go back to the versions of the file.")
    arguments = {"path": page.form.get("path", ""), "version": restored}
    done = await page.execute("memory_restore", arguments)
    return page.redirect(FILE_PAGE, path=done["path"], notice="restored", call=done["tool_call_id"])


@router.post("/pin")
async def pin(page: Page) -> Response:
    """Pin a file, or take the pin away: a pinned file is part of every context."""
    path, is_pinned = page.form.get("path", ""), page.form.get("pinned") == "true"
    read = await read_file(page, path)
    content = with_pin(read["content"], is_pinned)
    arguments = {"path": path, "content": content, "base_version": read["version"]}
    done = await page.execute("memory_write", arguments)
    notice = "pinned" if is_pinned else "unpinned"
    return page.redirect(FILE_PAGE, path=path, notice=notice, call=done["tool_call_id"])


@router.post("/revert")
async def revert(page: Page) -> Response:
    """Undo everything that a call wrote."""
    done = await page.call("memory_revert", {"tool_call_id": page.form.get("tool_call_id", "")})
    path = page.form.get("path")
    call = done["tool_call_id"]
    if not path:
        return page.redirect(HOME, notice="reverted", call=call)
    return page.redirect("/ui/memory/versions", path=path, notice="reverted", call=call)


async def _conflict(page: PageRequest, path: str, content: str, reason: str | None) -> Response:
    """Return the page that shows the text that was sent beside the one that somebody else stored."""
    try:
        stored = await read_file(page, path)
    except FileNotFound:
        stored = None
    theirs = stored["content"] if stored else ""
    compared = await offload.run(len(theirs) + len(content), unified, theirs, content, "stored", "yours")
    lines = await offload.run(len(compared), diff_lines, compared)
    form = _form(path, content, stored["version"] if stored else None, reason or "")
    return page.render("conflict.html", status=409, stored=stored, lines=lines, **form)


async def _stored(page: PageRequest, path: str) -> str:
    try:
        return str((await read_file(page, path))["content"])
    except FileNotFound:
        return ""


def _form(path: str, content: str = "", version: int | None = None, reason: str = "") -> dict[str, Any]:
    return {
        "file_path": path,
        "content": content,
        "version": version,
        "reason": reason,
        "preview": None,
    }


def _text_of(page: PageRequest) -> str:
    """Return the text of the form, with the line breaks that browsers change put back."""
    return page.form.get("content", "").replace("\r\n", "\n")


def _version_of(page: PageRequest, name: str = "base_version") -> int | None:
    given = page.form.get(name, "")
    if given == "":
        return None
    if not (given.isascii() and given.isdigit() and len(given) < 10):
        raise ValidationFailed(f"{given[:40]!r} is no version.", hint="Load the page again.")
    return int(given)


def _check_no_entry(path: str) -> None:
    if is_entry_at(path):
        raise entry_immutable(path)
