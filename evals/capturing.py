"""A call of the log as a case: the memory that it saw as a state, and what it answered as what is expected."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from memex.errors import OperationNotFound, ValidationFailed
from memex.evals.cases import load_suite
from memex.evals.freezing import Wanted, freeze
from memex.evals.redaction import Redactor
from memex.evals.states import State, check_empty
from memex.service.context import CONTEXT, DEFAULT_BUDGET
from memex.service.moment import to_time
from memex.service.remember import REMEMBER
from memex.service.service import Caller, Service
from memex.store import operations as log
from memex.store import retention
from memex.store.markdown import body_start
from memex.store.records import Operation

DONE = ("answered", "committed")
HEADER = """\
# Made of the call {call}. It expects what the call returned, right or wrong: now say what should have come.
# Keep what matters (paths, spans, facts), take out what does not, and try it: memex eval run {file}
"""


class _Dumper(yaml.SafeDumper):
    """Writes texts of several lines as such."""


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)


_Dumper.add_representer(str, _text)


@dataclass(frozen=True, slots=True)
class Captured:
    """A call that is a case now.

    Attributes:
        case: the file of the case.
        state: that it asks.
        left_out: what could not be expected, in sentences.
    """

    case: Path
    state: State
    left_out: tuple[str, ...]


async def capture(
    service: Service, caller: Caller, tool_call_id: str, folder: Path, *, name: str, redactor: Redactor
) -> Captured:
    """Write a call as a case, with the state that it saw, and keep it in the log whatever its age.

    The case goes to `<folder>/<name>.yaml` and the state to `<folder>/<name>/`.

    Raises:
        OperationNotFound: the caller made no such call.
        ValidationFailed: it is no context and nothing that was remembered, or there is such a case.
        VersionNotFound: a revision that it wrote is gone.
    """
    path = folder / f"{name}.yaml"
    check_empty(folder / name)
    if path.exists():
        raise ValidationFailed(f"There is {path} already.", hint="Give the case another name: --name.")
    operation = await _done(service, caller, tool_call_id)
    user, project = caller.access.user_id or "", _project(operation)
    state = _state(operation)
    state.setdefault("user", 0)
    state |= {f"projects/{project}": 0} if project and f"projects/{project}" not in state else {}
    moment = operation.request.get("as_of")
    now = to_time(moment) if isinstance(moment, str) else operation.now or operation.started_at
    wanted = Wanted(
        name=name,
        users=[user],
        projects=sorted(mount.removeprefix("projects/") for mount in state if mount.startswith("projects/")),
        has_shared="shared" in state,
        as_of=state,
        at=now,
        purpose=f"What the call {tool_call_id} saw.",
    )
    frozen = await freeze(service, caller.principal.tenant_id, wanted, folder / name, redactor)
    left_out: list[str] = []
    if operation.kind == CONTEXT.name:
        sources = [await _with_texts(service, caller, one) for one in operation.response["result"]["sources"]]
        inputs, expected = _context(operation, sources, frozen, redactor, left_out)
    else:
        inputs, expected = await _remember(service, caller, operation, redactor)
    inputs = {"state": name, **inputs, "user": redactor.name(user)}
    if project:
        inputs["project"] = redactor.name(project)
    case = {
        "name": name,
        "inputs": inputs,
        "expected_output": expected,
        "metadata": {"tags": ["captured"], "note": f"The call {tool_call_id}."},
    }
    text = yaml.dump({"cases": [case]}, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=110)
    path.write_text(HEADER.format(call=tool_call_id, file=path) + text, encoding="utf-8")
    load_suite(str(path))
    async with service.database.maintenance() as connection:
        await retention.keep(connection, caller.access, tool_call_id)
    return Captured(path, frozen, tuple(left_out))


async def _done(service: Service, caller: Caller, tool_call_id: str) -> Operation:
    """Return the newest attempt at a call that gave an answer."""
    async with service.database.transaction(caller.access) as connection:
        found = await log.read_call(connection, caller.access, tool_call_id)
    if not found:
        raise OperationNotFound(f"No call {tool_call_id!r} of this user.", tool_call_id=tool_call_id)
    for operation in found:
        if operation.kind in (CONTEXT.name, REMEMBER.name) and operation.status in DONE:
            return operation
    raise ValidationFailed(
        f"{tool_call_id} is no case: {found[0].kind} is {found[0].status}.",
        hint="A case is made of a memory_context that was answered, or a memory_remember that was written.",
    )


def _project(operation: Operation) -> str | None:
    """Return the project that a call was about, by its arguments or its context."""
    named: str | None = operation.request.get("project") or operation.principal.get("project")
    return named


def _state(operation: Operation) -> dict[str, int]:
    """Return what a call saw first of each mount; where it wrote, what it wrote upon."""
    state: dict[str, int] = {}
    for inner in operation.inner:
        for mount, rev in (inner.state or {}).items():
            state.setdefault(mount, rev)
    return state | (operation.state or {})


async def _with_texts(service: Service, caller: Caller, source: dict[str, Any]) -> dict[str, Any]:
    """Return a source with the texts of its spans."""
    read = await service.execute(
        caller, "memory_read", {"path": source["path"], "version": source["version"]}
    )
    return source | {"texts": [read["content"][span["start"] : span["end"]] for span in source["spans"]]}


def _context(
    operation: Operation,
    sources: list[dict[str, Any]],
    state: State,
    redactor: Redactor,
    left_out: list[str],
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the inputs and the expectations of a case that asks."""
    request = operation.request
    inputs: dict[str, Any] = {
        "query": redactor.text(request["query"]),
        "budget": request.get("budget", DEFAULT_BUDGET),
    }
    if "max_hops" in request:
        inputs["max_hops"] = request["max_hops"]
    if not sources:
        return inputs, {"empty": True}
    paths = [_virtual(source["path"], redactor) for source in sources]
    return inputs, {"paths": list(dict.fromkeys(paths))} | _spans(sources, state, redactor, left_out)


def _spans(
    sources: list[dict[str, Any]], state: State, redactor: Redactor, left_out: list[str]
) -> dict[str, Any]:
    seen = state.seen_by(state.default_user)
    spans = []
    for source in sources:
        path = _virtual(source["path"], redactor)
        for text in source["texts"]:
            if redactor.text(text) in seen.get(path, ""):
                spans.append({"path": path, "text": redactor.text(text)})
            else:
                left_out.append(f"a passage of {path}, whose ends were replaced")
    return {"spans": spans} if spans else {}


async def _remember(
    service: Service, caller: Caller, operation: Operation, redactor: Redactor
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the inputs and the expectations of a case that remembers."""
    text, result = operation.request["text"], operation.response["result"]
    said = redactor.text(text)
    expected: dict[str, Any] = {
        "status": result["status"],
        "touched": [_virtual(write["path"], redactor) for write in result["writes"]],
    }
    present: dict[str, list[str]] = {}
    absent: dict[str, list[str]] = {}
    for write in result["writes"]:
        path, version = write["path"], write["version"]
        after = await _lines(service, caller, path, version)
        before = [] if write["operation"] == "create" else await _lines(service, caller, path, version - 1)
        name = _virtual(path, redactor)
        present[name] = [redactor.text(line) for line in after if line not in before]
        absent[name] = [redactor.text(line) for line in before if line not in after]
    skipped = [
        [redactor.text(text[one["start"] : one["end"]].strip()), one["reason"]] for one in result["skipped"]
    ]
    expected |= {"present": {path: lines for path, lines in present.items() if lines}}
    expected |= {"absent": {path: lines for path, lines in absent.items() if lines}}
    expected |= {"skipped": [pair for pair in skipped if pair[0] and pair[0] in said]}
    return {"text": said}, {name: value for name, value in expected.items() if value or name == "touched"}


async def _lines(service: Service, caller: Caller, path: str, version: int) -> list[str]:
    """Return the lines of a version that say something: without front matter, headings and marks of lists."""
    read = await service.execute(caller, "memory_read", {"path": path, "version": version})
    lines = (line.strip() for line in read["content"][body_start(read["content"]) :].splitlines())
    return [line.removeprefix("- ") for line in lines if line and not line.startswith(("#", "---", "```"))]


def _virtual(path: str, redactor: Redactor) -> str:
    """Return a virtual path as it is in the state."""
    mount, _, rest = path.partition("/")
    if mount == "projects":
        slug, _, rest = rest.partition("/")
        return f"projects/{redactor.name(slug)}/{redactor.name(rest)}"
    return f"{mount}/{redactor.name(rest)}"
