"""Templates become pages, or one block of a page for htmx."""

from datetime import UTC, datetime
from functools import cache
from importlib.resources import as_file, files
from typing import Any
from urllib.parse import urlencode

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from jinja2_fragments import render_block
from markupsafe import Markup

from memex import distribution
from memex.errors import MemexError
from memex.store.entry_path import is_entry_at
from memex.store.identity.look_alikes import spelled
from memex.ui.assets import asset, icon

# What a person does next; the general hints of these errors name tools and commands.
PEOPLE_HINTS = {
    "FILE_NOT_FOUND": "Look for it in the list of files, or search for its words.",
    "VERSION_NOT_FOUND": "Choose one of the versions that the file has.",
    "CONVERSATION_NOT_FOUND": "Look for it in the list of conversations, or search for its words.",
    "LINE_NOT_FOUND": "Load the list of removed lines again.",
    "PROPOSAL_NOT_FOUND": "Load the list of proposals again.",
    "WORK_ITEM_NOT_FOUND": "Look for it among the open work of the project.",
    "PROJECT_NOT_FOUND": "Choose a project that you are a member of. An administrator adds members.",
    "OPERATION_NOT_FOUND": "Look for it in the list of calls. Old calls are removed from the log.",
    "FORBIDDEN": "Sign in with a key that may do this, or ask an administrator.",
    "VALIDATION_ERROR": "Go back, and correct what is named above.",
    "VERSION_CONFLICT": "Load the page again, and look at what changed meanwhile.",
    "FILE_EXISTS": "Go back, and choose another path.",
    "ENTRY_IMMUTABLE": "Remember what is true now, or delete the entry.",
    "SCOPE_BUSY": "Go back, and try it again in a moment. Nothing was changed.",
    "OVERLOADED": "Wait a moment, and load the page again. Nothing was changed.",
}


def render(template: str, values: dict[str, Any], *, block: str | None = None) -> str:
    """Return a template as HTML, or one of its blocks alone."""
    if block is not None:
        return render_block(environment(), template, block, **values)
    return environment().get_template(template).render(values)


@cache
def environment() -> Environment:
    """Return the environment of all templates: values are escaped, and an unknown name is an error."""
    with as_file(files("memex.ui") / "templates") as folder:
        made = Environment(
            loader=FileSystemLoader(folder),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            auto_reload=False,
        )
    made.filters |= {
        "hint": hint_for_people,
        "time": time_tag,
        "day": day_tag,
        "number": number,
        "is_entry": is_entry_at,
    }
    made.filters["spelled"] = spelled
    made.globals |= {
        "address": address,
        "asset": lambda name: asset(name).address,
        "icon": icon,
        "memex_version": distribution.version(),
    }
    return made


def address(path: str, /, **query: Any) -> str:
    """Return the address of a page with a query; values that are None or "" are left out."""
    given = {name: value for name, value in query.items() if value not in (None, "")}
    return f"{path}?{urlencode(given)}" if given else path


def time_tag(value: datetime | str) -> Markup:
    """Return a time as an element, in UTC until a script puts it into the zone of the reader."""
    return _moment_tag(value, "%Y-%m-%d %H:%M UTC", "")


def day_tag(value: datetime | str) -> Markup:
    """Return the day of a time as an element like that of `time_tag`, whose title has the time."""
    return _moment_tag(value, "%Y-%m-%d", Markup(" data-day"))


def _moment_tag(value: datetime | str, shown: str, attribute: str) -> Markup:
    moment = (datetime.fromisoformat(value) if isinstance(value, str) else value).astimezone(UTC)
    return Markup('<time datetime="{}" title="{}"{}>{}</time>').format(
        moment.isoformat(timespec="milliseconds"),
        f"{moment:%Y-%m-%d %H:%M:%S} UTC",
        attribute,
        f"{moment:{shown}}",
    )


def hint_for_people(error: MemexError) -> str:
    """Return what to do next, as a page says it."""
    is_general = error.hint == type(error).default_hint
    return (PEOPLE_HINTS.get(error.code, error.hint) if is_general else error.hint) or ""


def number(value: int) -> str:
    """Return a number with commas between its thousands."""
    return f"{value:,}"
