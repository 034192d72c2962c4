"""The kinds of tools: a `ReadTool` reads one snapshot, a `WriteTool` commits a draft, a `CallTool` may do either.

An instance of a tool has a name, a class of arguments, a class of results and the functions that do the work. HTTP,
MCP and the definitions for models take name and arguments from the instance, so a new argument needs no change
there.
"""

import math
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, Generic, Literal, Self, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from memex.errors import ValidationFailed
from memex.service.call import to_plain
from memex.service.journal.forgotten import WhatIsForgotten
from memex.service.query_embedding import QueryEmbeddings
from memex.service.snapshots import MemoryView, as_of_in
from memex.service.tools.tool_context import ToolContext
from memex.settings import FindMode
from memex.store.log.call import CallAnswer
from memex.store.memory import Memory
from memex.store.records import Span, Tombstone
from memex.store.snapshot.reads import NO_READS, Reads
from memex.store.writes.draft import Draft

MAX_PROBLEMS = 5
MAX_PLACE_CHARS = 100  # of the name of an argument, which is the caller's
MAX_SHOWN_CHARS = 40  # of a value that is refused
EMPTY_TEXT = "The text is empty. Say in plain sentences what to remember"
EXPECTED_TYPES = {  # by pydantic's name of the kind
    "string": "a string",
    "int": "a whole number",
    "int_from_float": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "list": "a list",
    "tuple": "a list",
    "dict": "an object",
    "model": "an object",
    "model_attributes": "an object",
}
BOUNDS = {
    "greater_than": ("gt", "more than"),
    "greater_than_equal": ("ge", "at least"),
    "less_than": ("lt", "less than"),
    "less_than_equal": ("le", "at most"),
}
MAX_VERSION = 2**31 - 1
MAX_NESTING = 16


class Arguments(BaseModel):
    """The arguments of a tool. The docstring of each subclass is the tool's description: a model reads it."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    def canonical(self) -> dict[str, Any]:
        """Return the arguments as they are logged and compared: those at their default left out."""
        return self.model_dump(mode="json", exclude_defaults=True)


def example(**arguments: Any) -> ConfigDict:
    """Return the configuration of a class that shows an example in the OpenAPI document."""
    return ConfigDict(json_schema_extra={"examples": [arguments]})


class ResultPart(BaseModel):
    """A part of a result."""

    model_config = ConfigDict(frozen=True)

    @classmethod
    def taken_from(cls, value: object, /, **others: Any) -> Self:
        """Return a part with the attributes of a value that are called as its fields, and others; times as text."""
        names = (name for name in cls.model_fields if name not in others)
        return cls(**{name: to_plain(getattr(value, name)) for name in names}, **others)


LEFT_OUT = Field(exclude_if=lambda value: value is None)  # a field that an answer without it has not


class SecretResult(ResultPart):
    """A place in a call's text that looks like a secret, and its handling; line and column count from 1."""

    argument: str
    line: int
    column: int
    kind: str
    action: Literal["redacted", "flagged", "refused"]


class HiddenCharacterResult(ResultPart):
    """A character of a text that nobody sees, such as `U+E0041`; line and column count from 1."""

    argument: str
    line: int
    column: int
    code_point: str


class HiddenCharactersResult(ResultPart):
    """The hidden characters of the texts of a call: how many, and the first 20 of them."""

    count: int
    first: list[HiddenCharacterResult]


class ToolResult(ResultPart):
    """The result of a tool; the service puts in the `tool_call_id` that the call was logged under.

    The service also adds where the texts of the call hold `secrets`, and `hidden_characters` of texts to store.
    Both are left out if there are none.
    """

    tool_call_id: str = ""
    secrets: Annotated[list[SecretResult] | None, LEFT_OUT] = None
    hidden_characters: Annotated[HiddenCharactersResult | None, LEFT_OUT] = None

    def body(self) -> dict[str, Any]:
        """Return the result as JSON, without what the service adds."""
        return self.model_dump(mode="json", exclude={"tool_call_id", "secrets", "hidden_characters"})

    @classmethod
    def in_order(cls, body: dict[str, Any]) -> dict[str, Any]:
        """Return a body that jsonb kept in the order of the first answer; one of another version stays as it is."""
        try:
            ordered = cls.model_validate(body).body()
        except ValidationError:
            return body
        return ordered if ordered == body else body


class ReadAnswer(ToolResult):
    """The result of a reading tool; `degraded` is a code if no embedder answered, or no row was logged."""

    degraded: Annotated[str | None, LEFT_OUT] = None


def is_storable(text: str) -> bool:
    """Return whether Postgres can store a text: it holds neither NUL nor a lone surrogate."""
    return "\0" not in text and not any("\ud800" <= character <= "\udfff" for character in text)


def check_storable(text: str) -> str:
    """Return a text that Postgres can hold, unchanged; a pydantic validator."""
    if not is_storable(text):
        raise ValueError("holds a NUL character or a lone surrogate")
    return text


StorableText = Annotated[str, AfterValidator(check_storable)]

A = TypeVar("A", bound=Arguments)


@dataclass(frozen=True, slots=True)
class Tool(Generic[A]):
    """A tool: its name, the classes of its arguments and of its result, and whether it changes nothing."""

    name: str
    arguments: type[A]
    result: type[ToolResult]
    is_read_only: bool = field(default=False, kw_only=True)

    def description(self, prompts_dir: Path | None = None) -> str:  # noqa: ARG002  # for tools with a prompt
        """Return the description for a model. Prompts in `prompts_dir` replace those of Memex."""
        return " ".join((self.arguments.__doc__ or "").split())

    def input_schema(self, prompts_dir: Path | None = None) -> dict[str, Any]:  # noqa: ARG002  # likewise
        """Return the JSON Schema of the arguments. Prompts in `prompts_dir` replace those of Memex."""
        return self.arguments.model_json_schema()

    def as_first(self, work: ToolContext, result: dict[str, Any]) -> dict[str, Any]:
        """Return the result of a call; of a repeated call byte for byte as it was at first."""
        outcomes = work.call.record.outcomes
        is_repeated = bool(outcomes) and outcomes[-1].status == "repeated"
        return self.result.in_order(result) if is_repeated else result

    def parse(self, arguments: dict[str, Any]) -> A:
        """Return the arguments, checked; null means absent, and so does a project without a name.

        Raises:
            ValidationFailed: with the first problems, each naming its argument.
        """
        given = {name: value for name, value in arguments.items() if value is not None}
        if given.get("project") == "":
            del given["project"]
        try:
            return self.arguments.model_validate(given)
        except ValidationError as error:
            problems = "; ".join(map(describe_problem, error.errors(include_url=False)[:MAX_PROBLEMS]))
            hint = f"The arguments are: {', '.join(self.arguments.model_fields)}."
            raise ValidationFailed(
                f"{self.name}: {problems}.", hint=hint, reason="arguments", tool=self.name
            ) from None


@dataclass(frozen=True, slots=True)
class BesideMemory:
    """The parts of an answer beside memory: members of the result, and of what the log keeps of it."""

    result: dict[str, Any] = field(default_factory=dict)
    logged: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ReadTool(Tool[A]):
    """A tool that only reads.

    Attributes:
        answer: answers the arguments from one snapshot of memory.
        searched: gives the query and the search mode, for a tool that can search by vectors. `run` embeds the query
            before it opens the snapshot, so `answer` does not see the mode.
        beside: finds what the answer holds beside memory, before the snapshot is opened too.
        ahead: says what `answer` reads of the present memory, so that it comes with the first round trip.
    """

    answer: Callable[[Memory, A], Awaitable[CallAnswer]]
    searched: Callable[[A], tuple[str, FindMode | None]] | None = None
    beside: Callable[[ToolContext, A], Awaitable[BesideMemory]] | None = None
    ahead: Callable[[A], Reads] | None = None
    is_read_only: bool = field(default=True, kw_only=True)

    async def run(self, work: ToolContext, arguments: A) -> dict[str, Any]:
        """Answer a call from one snapshot, and log it in the same transaction."""
        as_of = as_of_in(arguments)
        vectors = QueryEmbeddings()
        if self.searched is not None and as_of is None:  # before any connection is held
            searched = self.searched(arguments)
            vectors = await work.query_embedder.of(*searched, work.call, language=work.access.language)
        more = await self.beside(work, arguments) if self.beside is not None else BesideMemory()
        view = MemoryView(as_of, work.call.request.now, vectors.by_query)
        ahead = NO_READS if self.ahead is None or as_of is not None else self.ahead(arguments)
        async with work.snapshots.begin(view, "held", ahead) as snapshots, snapshots.open() as snapshot:
            answer = await self.answer(snapshot.memory, arguments)
            lacking = {} if vectors.degraded is None else {"degraded": vectors.degraded}
            if more.result or lacking:
                result, logged = answer.result | more.result, answer.response | more.logged
                answer = replace(answer, result=result | lacking, response=logged | lacking)
            await snapshots.note_state()
            await work.log.add("answered", answer, state=snapshot.state, connection=snapshots.connection)
        return answer.result


@dataclass(frozen=True, slots=True)
class WriteTool(Tool[A]):
    """A tool that stages edits on a draft and answers from what became of them.

    Attributes:
        stage: stages the edits.
        answer: makes the answer of the changes; where there are `texts`, also of the spans of each that say what
            was forgotten.
        texts: returns the texts that the arguments bring into memory, each with the path of its file.
    """

    stage: Callable[[Draft, A], Awaitable[None]]
    answer: Callable[..., CallAnswer]
    texts: Callable[[A], Sequence[tuple[str, str]]] | None = None

    async def run(self, work: ToolContext, arguments: A) -> dict[str, Any]:
        """Commit the edits and the row of the log together; a call that was committed before gets its answer."""
        draft = work.new_draft()
        await self.stage(draft, arguments)
        if self.texts is None:
            commit = await work.commit(draft, lambda changes: self.answer(arguments, changes))
            return self.as_first(work, commit.result)
        texts = self.texts(arguments)
        said: list[list[Span]] = [[] for _ in texts]

        async def compare(tombstones: Sequence[Tombstone]) -> None:
            said[:] = await WhatIsForgotten(tombstones, work.access.language).spans_of(texts)

        draft.compare(compare)
        commit = await work.commit(draft, lambda changes: self.answer(arguments, changes, said))
        return self.as_first(work, commit.result)


@dataclass(frozen=True, slots=True)
class CallTool(Tool[A]):
    """A tool that reads, stages, commits and logs by itself, such as one that reads what it stages."""

    answer: Callable[[ToolContext, A], Awaitable[dict[str, Any]]]

    async def run(self, work: ToolContext, arguments: A) -> dict[str, Any]:
        """Answer a call; one that was committed before gets its answer."""
        return self.as_first(work, await self.answer(work, arguments))


def check_json(arguments: dict[str, Any]) -> None:
    """Refuse arguments that could not be logged, not even as a failed call's.

    Raises:
        ValidationFailed: they hold NaN or an infinity, or are nested deeper than 16 levels.
    """
    values: list[Any] = [arguments]
    for _ in range(MAX_NESTING + 1):
        if any(isinstance(value, float) and not math.isfinite(value) for value in values):
            raise ValidationFailed("The arguments hold a number that is not finite: JSON has none.")
        values = [inner for value in values for inner in _inside(value)]
        if not values:
            return
    raise ValidationFailed(f"The arguments are nested deeper than {MAX_NESTING} levels.")


def is_dry_run(arguments: Arguments) -> bool:
    """Return whether a call only asks what it would write."""
    return getattr(arguments, "dry_run", False) is True


def _inside(value: Any) -> Iterable[Any]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()


def describe_problem(problem: Mapping[str, Any]) -> str:
    """Return what is wrong with an argument in plain words, from one of pydantic's errors."""
    where = ".".join(str(part) for part in problem["loc"])[:MAX_PLACE_CHARS]
    kind, limits = problem["type"], problem.get("ctx", {})
    match kind.removesuffix("_parsing").removesuffix("_type"):
        case "missing":
            return f"{where} is missing"
        case "extra_forbidden":
            return f"there is no argument {where}"
        case "too_short" | "string_too_short" if not problem["input"]:
            return EMPTY_TEXT if where == "text" else f"{where} is empty"
        case "too_short" | "string_too_short":
            return f"{where} must have at least {_length(limits['min_length'], problem['input'])}"
        case "too_long" | "string_too_long":
            return f"{where} must have at most {_length(limits['max_length'], problem['input'])}"
        case "string_pattern_mismatch":
            return f"{where} is malformed: {str(problem['input'])[:MAX_SHOWN_CHARS]!r}"
        case "literal_error":
            return f"{where} must be {limits['expected']}"
        case known if known in EXPECTED_TYPES:
            return f"{where} must be {EXPECTED_TYPES[known]}"
        case known if known in BOUNDS:
            name, words = BOUNDS[known]
            return f"{where} must be {words} {limits[name]:,}"
    what = problem["msg"].removeprefix("Value error, ")
    return f"{where}: {what}" if where else what


def _length(number: int, given: Any) -> str:
    noun = "character" if isinstance(given, str) else "item"
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
