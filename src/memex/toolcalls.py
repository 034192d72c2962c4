"""A tool call of a model: run for one user, and answered with a text that the model reads.

It needs no other part of Memex than its errors, as `remote`.
"""

import json
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from memex.errors import MemexError, UnknownTool, ValidationFailed, error_document

# Runs a tool for one user, under the id of the call, and returns its result; raises MemexErrors.
Execute = Callable[[str, Mapping[str, Any]], Awaitable[dict[str, Any]]]

# What a model of the profile `agent` may fill in; the other arguments are the host's.
AGENT_ARGUMENTS = {
    "memory_remember": ("text", "outdated", "project"),
    "memory_context": ("query", "budget", "project"),
}
NOTHING_KNOWN = "Nothing is remembered about this."
FORGET = "forget"  # the reason of a request to forget
SECRET = "secret"  # noqa: S105  # the reason of a part that holds one
KEPT_ALONE = "unfiled"  # the reason of a text that the journal keeps, though no page has a line of it
NO_WORK = "No earlier session says anything about this work."
MAX_LANE_BRANCHES = 3
LANE_PARTS = ("label", "folder", "branches", "last_at")
MORE = "More was found: a larger budget shows it."
NO_HITS = "Nothing was found."
MAX_THREAD_CHARS = 20_000
MORE_MESSAGES = "There is more: name a message as ID#number to read around it."


@dataclass(frozen=True, slots=True)
class ToolCallOutcome:
    """The outcome of a tool call: `text` for the model, and for the host either `result` or `error`."""

    text: str
    result: dict[str, Any] | None = None
    error: MemexError | None = None


async def run(
    execute: Execute,
    tool: str,
    arguments: Mapping[str, Any] | str | None,
    *,
    allowed: Mapping[str, tuple[str, ...]] = AGENT_ARGUMENTS,
) -> ToolCallOutcome:
    """Run a call as a model made it. An error of Memex is an answer that the model can act on; nothing is raised.

    Args:
        execute: runs the tool for the user whom the host chose, never the model, and under the id that the model
            gave the call. A call that is run twice under one id is done once.
        tool: the name that the model gave.
        arguments: as an object or as its JSON, or None for none; null means absent.
        allowed: the tools that the model was told of, each with the arguments it may fill in.
    """
    try:
        given = parse_arguments(tool, arguments, allowed)
        result = await execute(tool, given)
    except MemexError as error:
        if error.details.get("tool") == tool:  # the tool's own hint names the host's arguments too
            error.hint = _arguments_hint(allowed[tool])
        return ToolCallOutcome(error_text(error), error=error)
    return ToolCallOutcome(result_text(tool, result), result=result)


def parse_arguments(
    tool: str,
    arguments: Mapping[str, Any] | str | None,
    allowed: Mapping[str, tuple[str, ...]] = AGENT_ARGUMENTS,
) -> dict[str, Any]:
    """Return the arguments that a model gave, without those that are null.

    Raises:
        UnknownTool: the model was not told of that tool.
        ValidationFailed: they are no JSON object, or hold an argument that the model was not told of.
    """
    if tool not in allowed:
        raise UnknownTool(f"There is no tool {tool[:100]!r}.", hint=f"The tools are: {', '.join(allowed)}.")
    try:
        given = json.loads(arguments or "{}") if isinstance(arguments, str) else dict(arguments or {})
    except (TypeError, ValueError, RecursionError):
        given = None
    if not isinstance(given, dict):
        raise ValidationFailed("The arguments are no JSON object.", hint="Send a JSON object.")
    names = allowed[tool]
    if unknown := [str(name)[:100] for name in given if name not in names]:
        raise ValidationFailed(f"{tool}: there is no argument {unknown[0]}.", hint=_arguments_hint(names))
    return {name: value for name, value in given.items() if value is not None}


def including(tool: str, arguments: Mapping[str, Any], include: Sequence[str] | None) -> dict[str, Any]:
    """Return the arguments of a call with what the host includes beside memory, where the call does not say."""
    given = dict(arguments)
    if tool in ("memory_context", "memory_find") and include is not None and given.get("include") is None:
        given["include"] = list(include)
    return given


def result_text(tool: str, result: Mapping[str, Any]) -> str:
    """Return a result in the few words that a model needs; of a tool without such a text the whole, as JSON."""
    render = _TEXTS.get(tool)
    return json.dumps(dict(result), ensure_ascii=False) if render is None else render(result)


def has_text(tool: str) -> bool:
    """Return whether a model reads the results of a tool as a text, which says less than the whole result."""
    return tool in _TEXTS


def _messages_text(result: Mapping[str, Any]) -> str:
    """Return the passages that were found, each with the reference by which it is cited."""
    found = [
        f"[{hit['reference']}] {hit['conversation']['title'] or 'without a title'}, {_speaker(hit['message'])}\n"
        f"{hit['message']['text']}"
        for hit in result["hits"]
    ]
    return "\n\n".join([*found, *result["guidance"]])


def _thread_text(result: Mapping[str, Any]) -> str:
    """Return who said what in a conversation, at most `MAX_THREAD_CHARS` characters."""
    parts = [f"# {result['conversation']['title'] or 'Without a title'}"]
    parts += [
        f"[{message['reference']}] {_speaker(message)}\n{message['text']}" for message in result["messages"]
    ]
    text = "\n\n".join(parts)
    if len(text) <= MAX_THREAD_CHARS:
        return text if result["next_cursor"] is None else f"{text}\n\n{MORE_MESSAGES}"
    return f"{text[:MAX_THREAD_CHARS]}…\n\n{MORE_MESSAGES}"


def _pack_text(result: Mapping[str, Any]) -> str:
    """Return a pack, or which lanes there are and what to do next."""
    if result["not_modified"]:
        return "Nothing has changed since."
    parts = [result["text"]] if result["text"] else []
    if result["text"] and result["captured_until"]:
        parts.append(f"What was said after {result['captured_until']} is not in it.")
    parts += [text for text in (result["warning"], result["next"]) if text]
    parts += ["lane " + json.dumps(_lane_parts(lane), ensure_ascii=False) for lane in result["candidates"]]
    return "\n".join(parts) or NO_WORK


def _lane_parts(lane: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a model needs to tell a lane from others."""
    return {name: lane[name] for name in LANE_PARTS} | {"branches": lane["branches"][:MAX_LANE_BRANCHES]}


def _speaker(message: Mapping[str, Any]) -> str:
    return f"{message['role']}, {message['said_at']}" if message["said_at"] else str(message["role"])


def error_text(error: MemexError) -> str:
    """Return an error as JSON: its code, what happened, and what to do next."""
    told = {name: value for name, value in error_document(error).items() if value}
    text = json.dumps({"error": told}, ensure_ascii=False)
    # A model's lone surrogate would break the request that carries the answer to it.
    return text.encode("utf-8", "replace").decode()


def _arguments_hint(names: Iterable[str]) -> str:
    return f"The arguments are: {', '.join(names)}."


def _context_text(result: Mapping[str, Any]) -> str:
    if result["not_modified"]:
        return "Nothing has changed since."
    if not result["context"]:
        return NOTHING_KNOWN
    did_not_fit = any(passage["reason"] == "budget" for passage in result["omitted"]["best"])
    told = f"{result['context']}\n{MORE}"
    return told if did_not_fit and len(told) <= result["budget"]["limit"] else str(result["context"])


def _hits_text(result: Mapping[str, Any]) -> str:
    """Return hits, each on a line behind its place; titles and passages are quoted, for they are data."""
    lines = []
    for hit in result["hits"]:
        span = hit["span"]
        said = [hit["snippet"]] if not hit["heading"] else [" › ".join(hit["heading"]), hit["snippet"]]
        place = f"{hit['path']}@{hit['version']}:{span['start']}-{span['end']}"
        lines.append(" · ".join([place, *(json.dumps(value, ensure_ascii=False) for value in said)]))
    for kind in result.get("included") or ():
        lines += [f"{kind['name']}:"] if kind["hits"] else []
        lines += [
            f"{hit['path']}:{hit['start']}-{hit['end']} · {json.dumps(hit['text'], ensure_ascii=False)}"
            for hit in kind["hits"]
        ]
    return "\n".join(lines) or NO_HITS


def _remember_text(result: Mapping[str, Any]) -> str:
    status = result["status"]
    if status == "queued":
        return "It will be remembered in a moment."
    lines = [f"{write['path']}@{write['version']}: {write['reason']}" for write in result["writes"]]
    said = {"committed": "Remembered.", "nothing": "Nothing was written.", "dry_run": "Would be remembered:"}
    reasons = {skipped["reason"] for skipped in result["skipped"]} - {KEPT_ALONE}
    if FORGET in reasons:  # `note` says what became of it
        said["committed"] = "Done."
    if SECRET in reasons:
        lines.append("The secret is not kept.")
    if others := sorted(reasons - {FORGET, SECRET}):
        place = "In the journal, on no page" if result.get("entry") else "Not written"
        lines.append(f"{place}: {', '.join(others)}.")
    lines += [
        f"Taken out: {json.dumps(replaced['older'], ensure_ascii=False)}, now "
        f"{json.dumps(replaced['newer'], ensure_ascii=False)}."
        for replaced in result.get("replaced", ())
    ]
    lines += _statement_lines("May be out of date", result.get("rivals", ()), "older")
    lines += _statement_lines("May be meant", result.get("candidates", ()), "text")
    lines += [
        f"Nothing taken out for {json.dumps(unresolved['handle'])}."
        for unresolved in result.get("unresolved", ())
    ]
    if result.get("note"):
        lines.append(result["note"])
    return "\n".join([said.get(status, status), *lines])


def _statement_lines(title: str, statements: Sequence[Mapping[str, Any]], text: str) -> list[str]:
    """Return stored statements, each on a line behind its handle; the texts are quoted, for they are data."""
    lines = [
        f"{statement['handle']}: {json.dumps(statement[text], ensure_ascii=False)}"
        for statement in statements
    ]
    return [f"{title}, by handle:", *lines] if lines else []


_TEXTS: Mapping[str, Callable[[Mapping[str, Any]], str]] = {
    "memory_context": _context_text,
    "memory_remember": _remember_text,
    "memory_find": _hits_text,
    "conversation_find": _messages_text,
    "conversation_read": _thread_text,
    "work_context": _pack_text,
}
