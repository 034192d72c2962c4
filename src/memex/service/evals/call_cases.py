"""A case made of a call: the memory that the call saw becomes a state, and its answer what is expected. Pure.

NAME.yaml                                  the case
NAME/state.yaml, NAME/users/<user>/**/*.md, NAME/shared/…, NAME/projects/…        the state
"""

import io
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from pydantic import ConfigDict, Field

from memex.errors import ValidationFailed
from memex.service.choice import CallerChoice
from memex.service.evals.redaction import Redactor
from memex.service.evals.states import MANIFEST, Manifest, State, check_state, manifest_text
from memex.service.included.kinds import KINDS
from memex.service.log.replay.bundle import Bundle
from memex.service.snapshots import parse_time
from memex.service.tools.context import CONTEXT, DEFAULT_BUDGET
from memex.service.tools.remember import REMEMBER
from memex.service.tools.tool import ResultPart, StorableText
from memex.store.markdown import body_start
from memex.store.records import Operation

CASE_STATUSES = ("answered", "committed")
MAX_FACTS = 100
HEADER = """\
# Made of the call {call}. It expects what the call returned, right or wrong: now say what should have come.
# Keep what matters (paths, spans, facts), take out what does not, and try it: memex eval run {file}
"""
_EPOCH = (1980, 1, 1, 0, 0, 0)  # the first moment that a zip can name


class CaseChoice(CallerChoice):
    """The expectations of a case, in the place of all that the call returned.

    Attributes:
        name: the name of the case and of its files.
        spans: the numbers of the passages that must come back, as they are listed; null for all.
        facts: texts that must come back, also ones that did not.
        nothing: whether nothing may come back.
        redact: whether addresses, numbers and secrets are replaced by placeholders.
    """

    model_config = ConfigDict(
        strict=True,
        json_schema_extra={"examples": [{"name": "tea", "facts": ["The user prefers oolong."]}]},
    )

    name: str = Field(pattern=r"^\w[\w.-]{0,99}$")
    spans: list[int] | None = None
    facts: list[StorableText] = Field(default_factory=list, max_length=MAX_FACTS)
    nothing: bool = False
    redact: bool = True


class CasePassageResult(ResultPart):
    """A passage that the call returned; `expected` is false where its ends were replaced, so that it cannot be."""

    number: int
    path: str
    text: str
    reason: str
    expected: bool


@dataclass(frozen=True, slots=True)
class CallCase:
    """A case of a call, not yet written.

    Attributes:
        tool: memory_context or memory_remember.
        asked: the question or the text.
        text: the YAML of the case.
        passages: what the call returned, for a question.
        left_out: the parts of the answer that cannot be expected, in sentences.
    """

    name: str
    tool: str
    asked: str
    text: str
    state: State
    passages: tuple[CasePassageResult, ...]
    left_out: tuple[str, ...]

    @property
    def files(self) -> dict[str, str]:
        """The texts of all files, by their paths."""
        manifest = self.state.manifest.model_copy(update={"sha256": self.state.sha256})
        files = {f"{self.name}.yaml": self.text, f"{self.name}/{MANIFEST}": manifest_text(manifest)}
        return files | {f"{self.name}/{place}": text for place, text in sorted(self.state.files.items())}

    def pack(self) -> bytes:
        """Return the files as a zip, of the same case the same bytes."""
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w") as archive:
            for path, text in self.files.items():
                info = zipfile.ZipInfo(path, _EPOCH)
                info.compress_type, info.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
                archive.writestr(info, text)
        return buffer.getvalue()


def case_of(bundle: Bundle, choice: CaseChoice, redactor: Redactor) -> CallCase:
    """Return the case of an exported call.

    Raises:
        ValidationFailed: the call is neither a question that was answered nor a text that was written; a text that
            should come back stands in no file; or the case would expect nothing.
    """
    operation = bundle.operation
    if operation.kind not in (CONTEXT.name, REMEMBER.name) or operation.status not in CASE_STATUSES:
        raise ValidationFailed(
            f"{operation.tool_call_id} is no case: {operation.kind} is {operation.status}.",
            hint="A case is made of a memory_context that was answered, or a memory_remember that was written.",
        )
    user = operation.principal.get("user")
    if not user:
        raise ValidationFailed(
            f"{operation.tool_call_id} is no case: it names no user.", hint="Take a call for a user."
        )
    project: str | None = operation.request.get("project") or operation.principal.get("project")
    state = _state(bundle, choice.name, user, project, redactor)
    texts = _texts(bundle)
    left_out: list[str] = []
    passages: list[CasePassageResult] = []
    if operation.kind == CONTEXT.name:
        passages = list(_passages(operation, texts, state, redactor, left_out))
        inputs = _question(operation, redactor)
        expected = _expected_context(choice, passages, state, redactor)
    else:
        inputs = {"text": redactor.text(operation.request["text"])}
        expected = _expected_writes(operation, texts, redactor)
    inputs = {"state": choice.name, **inputs, "user": redactor.name(user)}
    if project:
        inputs["project"] = redactor.name(project)
    case = {
        "name": choice.name,
        "inputs": inputs,
        "expected_output": expected,
        "metadata": {"tags": ["captured"], "note": f"The call {operation.tool_call_id}."},
    }
    text = yaml.dump({"cases": [case]}, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=110)
    call = " ".join(operation.tool_call_id.split())  # in a comment, which ends with its line
    return CallCase(
        name=choice.name,
        tool=operation.kind,
        asked=inputs.get("query") or inputs["text"],
        text=HEADER.format(call=call, file=f"{choice.name}.yaml") + text,
        state=state,
        passages=tuple(passages),
        left_out=tuple(left_out),
    )


def _state(bundle: Bundle, name: str, user: str, project: str | None, redactor: Redactor) -> State:
    """Return the memory that a call saw, as it stood for the first operation that looked at each mount."""
    operation = bundle.operation
    seen = _revs_seen(operation)
    seen.setdefault("user", 0)
    if project:
        seen.setdefault(f"projects/{project}", 0)
    files: dict[str, str] = {}
    for scope in bundle.scopes:
        root, rev = _root(scope.mount, user, redactor), seen.get(scope.mount, 0)
        for revision in scope.revisions:
            if revision.rev > rev or revision.deleted or (revision.rev_end or rev + 1) <= rev:
                continue
            place = f"{root}/{redactor.name(revision.path)}"
            if place in files:
                raise ValidationFailed(
                    f"Two files would stand at {place} once names are replaced.",
                    hint="Make the case without replacing.",
                )
            files[place] = redactor.text(revision.content)
    moment = operation.request.get("as_of")
    who = redactor.name(user)
    manifest = Manifest(
        name=redactor.name(name),
        purpose=f"What the call {operation.tool_call_id} saw.",
        language=next((scope.language for scope in bundle.scopes if scope.mount == "user"), "english"),
        at=parse_time(moment) if isinstance(moment, str) else operation.now or operation.started_at,
        users=(who,),
        projects={
            redactor.name(mount.removeprefix("projects/")): (who,)
            for mount in sorted(seen)
            if mount.startswith("projects/")
        },
    )
    state = State(Path(name), manifest, files)
    check_state(state)
    return state


def _revs_seen(operation: Operation) -> dict[str, int]:
    """Return the rev of each mount that a call saw first; for a mount that it wrote, the rev before the write."""
    state: dict[str, int] = {}
    for inner in operation.inner:
        for mount, rev in (inner.state or {}).items():
            state.setdefault(mount, rev)
    return state | (operation.state or {})


def _root(mount: str, user: str, redactor: Redactor) -> str:
    if mount == "user":
        return f"users/{redactor.name(user)}"
    kind, _, slug = mount.partition("/")
    return f"{kind}/{redactor.name(slug)}" if slug else kind


def _texts(bundle: Bundle) -> dict[str, str]:
    """Return the text of each revision of a bundle, by `path@version`."""
    held = {
        f"{scope.mount}/{revision.path}@{revision.version}": revision.content
        for scope in bundle.scopes
        for revision in scope.revisions
    }
    return held | dict(bundle.texts)


def _text(texts: Mapping[str, str], path: str, version: int) -> str:
    try:
        return texts[f"{path}@{version}"]
    except KeyError:
        raise ValidationFailed(
            f"{path} has no version {version} any more.", hint="Make the case of a newer call."
        ) from None


def _question(operation: Operation, redactor: Redactor) -> dict[str, Any]:
    request = operation.request
    asked = {"query": redactor.text(request["query"]), "budget": request.get("budget", DEFAULT_BUDGET)}
    return asked | ({"max_hops": request["max_hops"]} if "max_hops" in request else {})


def _passages(
    operation: Operation, texts: Mapping[str, str], state: State, redactor: Redactor, left_out: list[str]
) -> Iterable[CasePassageResult]:
    seen = state.seen_by(state.default_user)
    number = 0
    beside_memory = {kind.reason for kind in KINDS.values()}
    for source in operation.response["result"]["sources"]:
        if source["reason"] in beside_memory:
            left_out.append(f"a passage of {source['path']}, which is no memory")
            number += len(source["spans"])
            continue
        path = _redacted_path(source["path"], redactor)
        content = _text(texts, source["path"], source["version"])
        for span in source["spans"]:
            text = redactor.text(content[span["start"] : span["end"]])
            is_held = text in seen.get(path, "")
            if not is_held:
                left_out.append(f"a passage of {path}, whose ends were replaced")
            yield CasePassageResult(
                number=number, path=path, text=text, reason=source["reason"], expected=is_held
            )
            number += 1


def _expected_context(
    choice: CaseChoice, passages: Sequence[CasePassageResult], state: State, redactor: Redactor
) -> dict[str, Any]:
    """Return what a question expects: what was chosen of the passages, and more texts."""
    facts = [redactor.text(fact) for fact in choice.facts if fact.strip()]
    if choice.nothing:
        if facts:
            raise ValidationFailed("A case expects texts or nothing.", hint="Leave out one of them.")
        return {"empty": True}
    if not passages and not facts and choice.spans is None:
        return {"empty": True}
    if choice.spans is not None and (unknown := set(choice.spans) - {passage.number for passage in passages}):
        raise ValidationFailed(f"The call returned no passage {min(unknown)}.", hint="Load the page again.")
    chosen = [passage for passage in passages if choice.spans is None or passage.number in choice.spans]
    if not chosen and not facts:
        raise ValidationFailed(
            "The case would expect nothing.",
            hint="Choose a passage, write a text, or say that nothing may come.",
        )
    held = [" ".join(text.split()) for text in state.seen_by(state.default_user).values()]
    for fact in facts:
        if not any(" ".join(fact.split()) in text for text in held):
            raise ValidationFailed(
                f"No file that the call could see holds {fact[:200]!r}.",
                hint="Write a text as a file holds it.",
            )
    expected = {
        "paths": list(dict.fromkeys(passage.path for passage in chosen)),
        "spans": [{"path": passage.path, "text": passage.text} for passage in chosen if passage.expected],
        "facts": facts,
    }
    return {name: value for name, value in expected.items() if value}


def _expected_writes(operation: Operation, texts: Mapping[str, str], redactor: Redactor) -> dict[str, Any]:
    """Return what a text expects: what the call wrote, took out and skipped."""
    text, result = operation.request["text"], operation.response["result"]
    present: dict[str, list[str]] = {}
    absent: dict[str, list[str]] = {}
    for write in result["writes"]:
        path, version = write["path"], write["version"]
        after = _content_lines(_text(texts, path, version))
        before = [] if write["operation"] == "create" else _content_lines(_text(texts, path, version - 1))
        name = _redacted_path(path, redactor)
        present[name] = [redactor.text(line) for line in after if line not in before]
        absent[name] = [redactor.text(line) for line in before if line not in after]
    said = redactor.text(text)
    skipped = [
        [redactor.text(text[part["start"] : part["end"]].strip()), part["reason"]]
        for part in result["skipped"]
    ]
    expected = {
        "status": result["status"],
        "touched": [_redacted_path(write["path"], redactor) for write in result["writes"]],
        "present": {path: lines for path, lines in present.items() if lines},
        "absent": {path: lines for path, lines in absent.items() if lines},
        "skipped": [pair for pair in skipped if pair[0] and pair[0] in said],
    }
    return {name: value for name, value in expected.items() if value or name == "touched"}


def _content_lines(content: str) -> list[str]:
    """Return the lines of a version that hold content, without front matter, headings and list marks."""
    lines = (line.strip() for line in content[body_start(content) :].splitlines())
    return [line.removeprefix("- ") for line in lines if line and not line.startswith(("#", "---", "```"))]


def _redacted_path(path: str, redactor: Redactor) -> str:
    """Return the virtual path that a file has in the redacted state."""
    mount, _, rest = path.partition("/")
    if mount == "projects":
        slug, _, rest = rest.partition("/")
        return f"projects/{redactor.name(slug)}/{redactor.name(rest)}"
    return f"{mount}/{redactor.name(rest)}"


class _Dumper(yaml.SafeDumper):
    """Writes texts of several lines as YAML blocks."""


def _represent_text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)


_Dumper.add_representer(str, _represent_text)
