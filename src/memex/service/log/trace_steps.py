"""The steps of the story of a call: one for each operation inside it, read from its row of the log."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field

from memex.service.included.sections import OPERATION
from memex.service.tools.tool import ResultPart
from memex.store.log.call import digest
from memex.store.records import Operation
from memex.store.search.hybrid.statement_states import SIMILARITY_SCALE

MAX_MODEL_TEXT_CHARS = 1_000  # of a model's words

FILE_LISTS = {"memory_list", "memory_catalogue", "memory_pinned", "memory_passages", "memory_history"}


LogValue = Mapping[str, Any]


def to_ms(duration_ms: float) -> float:
    """Return a duration in milliseconds as the trace shows it."""
    return round(duration_ms, 3)


def to_records(value: Any) -> list[LogValue]:
    """Return the objects of a JSON list; of anything else none."""
    return [item for item in to_items(value) if isinstance(item, dict)]


def to_items(value: Any) -> list[Any]:
    """Return the values of a JSON list; of anything else none."""
    return value if isinstance(value, list) else []


def to_texts(value: Any) -> list[str]:
    """Return the texts of a JSON list; of anything else none."""
    return [item for item in to_items(value) if isinstance(item, str)]


def to_text(value: Any) -> str | None:
    """Return a JSON value if it is a text."""
    return value if isinstance(value, str) else None


def to_number(value: Any) -> int:
    """Return a JSON value if it is a whole number, else 0."""
    return value if isinstance(value, int) else 0


def to_number_or_none(value: Any) -> int | None:
    """Return a JSON value if it is a whole number."""
    return value if isinstance(value, int) else None


# Values of the log, of whatever type they are there.
Name = Annotated[str, BeforeValidator(lambda value: "" if value is None else str(value))]
Text = Annotated[str | None, BeforeValidator(to_text)]
Number = Annotated[int, BeforeValidator(to_number)]
Flag = Annotated[bool, BeforeValidator(bool)]


class LoggedPart(ResultPart):
    """A part of a story that stands in the log as an object; what is missing or of another type is nothing."""

    @classmethod
    def read(cls, logged: LogValue, **known: Any) -> Self:
        """Return the part as the log has it, with what is known otherwise."""
        return cls(**{name: logged.get(name) for name in cls.model_fields} | known)


class _Step(ResultPart):
    """An operation inside a call; `at_ms` is when it began, counted from the call's beginning."""

    ordinal: int
    tool: str
    at_ms: float
    duration_ms: float
    error_code: str | None


class TracedHit(LoggedPart):
    """A file that a search found: its best span, and the score by which it was ranked."""

    path: Name
    version: Number
    start: Number
    end: Number
    score: Number


class FindStep(_Step):
    """A search of memory, or, as `context_include`, of what a context can hold beside it.

    `query` is null where it was too long to be logged again and is not that of the call.
    """

    kind: Literal["find"] = "find"
    query: str | None
    limit: int | None
    hits: list[TracedHit]


class ReadStep(_Step):
    """The spans that were read: `path@version:start-end` each."""

    kind: Literal["read"] = "read"
    spans: list[str]


class Hop(ResultPart):
    """A link that was followed; `target` is null where no file stands."""

    source: str
    target: str | None


class LinksStep(_Step):
    """Links from or to these files, and where they lead."""

    kind: Literal["links"] = "links"
    paths: list[str]
    direction: str | None
    hops: list[Hop]


class FilesStep(_Step):
    """Files that were listed, or whose passages were scored: `path@version`, of pinned ones `path`."""

    kind: Literal["files"] = "files"
    files: list[str]


class CompareStep(_Step):
    """Statements that were compared with the question in meaning.

    `compared` counts those that the embedder had seen, and `best` is the similarity of the nearest, at most 1; null
    where none was compared.
    """

    kind: Literal["compare"] = "compare"
    query: str | None
    statements: int
    compared: int
    best: float | None


class ToolCallMade(ResultPart):
    """A tool that a model called, with the arguments as it wrote them."""

    tool: str
    arguments: Any


class ModelStep(_Step):
    """A request to a model.

    `mode` is `tools` where it may look for itself and `single` where it answers at once; `shown` are the spans that
    it saw for the first time, `said` the beginning of its words. `usd` is null where no price is known;
    `is_estimated`: its tokens were guessed, since no answer said them. `failure` says why it gave no answer.
    """

    kind: Literal["model"] = "model"
    model: str | None
    agent: str | None
    mode: str | None
    form: str | None
    sent_chars: int | None
    shown: list[str]
    called: list[ToolCallMade]
    said: str | None
    failure: str | None
    input_tokens: int
    output_tokens: int
    usd: float | None
    is_estimated: bool


class OtherStep(_Step):
    """An operation of another kind, as it was asked."""

    kind: Literal["other"] = "other"
    asked: dict[str, Any]


Step = Annotated[
    FindStep | ReadStep | LinksStep | FilesStep | CompareStep | ModelStep | OtherStep,
    Field(discriminator="kind"),
]


def read_step(one: Operation, call: Operation) -> Step:
    """Return the step of one operation inside a call, or of the call itself where there is none inside."""
    response = find_answer(one) if one is call else one.response if isinstance(one.response, dict) else {}
    common: dict[str, Any] = {
        "ordinal": one.ordinal,
        "tool": one.kind,
        "at_ms": 0.0 if one is call else to_ms((one.started_at - call.started_at).total_seconds() * 1000),
        "duration_ms": to_ms(one.duration_ms),
        "error_code": one.error_code,
    }
    match one.kind:
        case "memory_find":
            return FindStep(
                **common,
                query=_query(one.request.get("query"), call),
                limit=to_number_or_none(one.request.get("limit")),
                hits=[_hit(hit) for hit in to_records(response.get("hits"))],
            )
        case kind if kind == OPERATION:
            return FindStep(
                **common,
                query=_query(one.request.get("query"), call),
                limit=None,
                hits=[_passage(passage) for passage in to_items(response.get("passages"))],
            )
        case "memory_read":
            return ReadStep(**common, spans=_spans_read(one.request, response))
        case "memory_links":
            return LinksStep(
                **common,
                paths=to_texts(one.request.get("paths", [one.request.get("path")])),
                direction=to_text(one.request.get("direction")),
                hops=[_hop(link) for link in to_items(response.get("links"))],
            )
        case kind if kind in FILE_LISTS:
            return FilesStep(**common, files=to_texts(response.get("files", response.get("revisions"))))
        case "memory_compare":
            return _compare_step(one, response, common, call)
        case "model_request":
            return _model_step(one, response, common)
    return OtherStep(**common, asked=one.request)


def _compare_step(one: Operation, response: LogValue, common: dict[str, Any], call: Operation) -> CompareStep:
    similar = [value for value in to_items(response.get("similar")) if isinstance(value, int)]
    return CompareStep(
        **common,
        query=_query(one.request.get("query"), call),
        statements=to_number(one.request.get("statements")),
        compared=len(similar),
        best=max(similar) / SIMILARITY_SCALE if similar else None,
    )


def _model_step(one: Operation, response: LogValue, common: dict[str, Any]) -> ModelStep:
    usage = one.usage or {}
    parts = to_records(response.get("parts"))
    said = "\n".join(str(part.get("content", "")) for part in parts if part.get("part_kind") == "text")
    return ModelStep(
        **common,
        model=one.model,
        agent=to_text(one.request.get("agent")),
        mode=to_text(one.request.get("mode")),
        form=to_text(one.request.get("form")),
        sent_chars=to_number_or_none(one.request.get("chars")),
        shown=to_texts(one.request.get("shown")),
        called=[
            ToolCallMade(tool=str(part.get("tool_name", "")), arguments=part.get("args"))
            for part in parts
            if part.get("part_kind") == "tool-call"
        ],
        said=said[:MAX_MODEL_TEXT_CHARS] or None,
        failure=to_text(response.get("failure")),
        input_tokens=to_number(usage.get("input_tokens")),
        output_tokens=to_number(usage.get("output_tokens")),
        usd=usage.get("usd"),
        is_estimated=bool(usage.get("estimated")),
    )


def _query(logged: Any, call: Operation) -> str | None:
    """Return what was searched: of a long query only the digest is logged, which may be that of the call's own."""
    if isinstance(logged, str):
        return logged
    asked = call.request.get("query")
    is_callers = isinstance(asked, str) and isinstance(logged, dict)
    return asked if is_callers and logged.get("$sha256") == digest(asked).hex() else None


def _hit(hit: LogValue) -> TracedHit:
    start, end = _span(hit.get("span"))
    return TracedHit.read(hit, start=start, end=end)


def _passage(passage: Any) -> TracedHit:
    """Return a passage beside memory as a hit; see `memex.service.included.sections`."""
    return TracedHit.read(dict(zip(TracedHit.model_fields, to_items(passage), strict=False)))


def _span(span: Any) -> tuple[int, int]:
    match span:
        case {"start": int(start), "end": int(end)} | [int(start), int(end)]:
            return start, end
    return 0, 0


def _hop(link: Any) -> Hop:
    match link:
        case [str(source), str(target)]:
            return Hop(source=source, target=target)
        case {"source": str(source)}:
            return Hop(source=source, target=to_text(link.get("target")))
    return Hop(source=str(link), target=None)


def _spans_read(request: LogValue, response: LogValue) -> list[str]:
    """Return what a read came back with; where it failed, what it asked for."""
    read = [response.get("content"), *to_items(response.get("texts"))]
    found = [part["$text"] for part in read if isinstance(part, dict) and isinstance(part.get("$text"), str)]
    return found or to_texts(request.get("spans", [request.get("path")]))


def find_answer(operation: Operation) -> LogValue:
    """Return the answer that a call gave, as the log has it."""
    response = operation.response if isinstance(operation.response, dict) else {}
    result = response.get("result")
    return result if isinstance(result, dict) else {}
