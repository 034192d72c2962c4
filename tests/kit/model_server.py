"""A chat model for tests: a server that speaks as OpenAI's on a port of this machine, and plays a script.

Coding agents are answered too, with events: as OpenAI's Responses API, and as Anthropic's Messages API.

    with serving() as model:
        model.play(calls(("memory_find", {"query": "tea"})), fails(503), says("Oolong."))
        ...  # ask model.url
        assert model.requests[0].headers["authorization"] == "Bearer secret"

Each request is answered by the next step. A step may be a function of the request: a model that does what it reads.
"""

import json
import os
import socket
import struct
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Literal, cast

from tests.kit.model_streams import anthropic_events, completion_events, response_events

ERROR_TEXT = "a text of the request"  # that an error's message quotes
CREATED = 1_700_000_000
POLL_S = 0.01  # how soon the server notices that it shall end
DRIP_S = 0.02  # between two bytes of a body that drips
AT_ONCE = struct.pack("ii", 1, 0)  # SO_LINGER: a close is a reset

Fault = Literal["hangs", "drips", "cut", "reset"]


@dataclass(frozen=True, slots=True)
class Request:
    """What the model was asked: path, headers by their names in lower case, and the JSON body."""

    path: str
    headers: Mapping[str, str]
    body: Mapping[str, Any]

    @property
    def messages(self) -> list[dict[str, Any]]:
        """The conversation so far: messages, of the Responses API the input's items."""
        return cast("list[dict[str, Any]]", self.body.get("messages") or self.body.get("input") or [])

    @property
    def tools(self) -> dict[str, dict[str, Any]]:
        """The tools that it may call, with the JSON Schema of their arguments."""
        offered = [tool.get("function", tool) for tool in self.body.get("tools") or []]
        return {tool["name"]: tool["parameters"] for tool in offered}

    @property
    def text(self) -> str:
        """All that it reads, instructions included."""
        return "\n".join(_texts([self.body.get("instructions"), self.messages]))

    @property
    def tool_results(self) -> list[str]:
        """What its tool calls brought, in their order."""
        return [
            "\n".join(_texts(item.get("content", item.get("output"))))
            for item in self.messages
            if item.get("role") == "tool" or item.get("type") == "function_call_output"
        ]


@dataclass(frozen=True, slots=True)
class Usage:
    """The tokens that an answer says it used."""

    input_tokens: int = 100
    output_tokens: int = 10
    cached_tokens: int = 0


@dataclass(frozen=True, slots=True)
class Turn:
    """What the model says: text, a refusal, tool calls (name and arguments as JSON text), the tokens used."""

    text: str | None = None
    refusal: str | None = None
    calls: tuple[tuple[str, str], ...] = ()
    finish_reason: str = "stop"
    usage: Usage | None = Usage()


@dataclass(frozen=True, slots=True)
class Step:
    """One answer: a turn of the model, or `body` in its place (bytes go out as they are), and what goes wrong."""

    turn: Turn | None = None
    body: Any = None
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    fault: Fault | None = None


Act = Step | Callable[[Request], Step]


def calls(
    *tool_calls: tuple[str, Mapping[str, Any] | str], text: str | None = None, usage: Usage | None = Usage()
) -> Step:
    """Return a step that calls tools, all in one answer; arguments that are a text go out as they are."""
    written = tuple(
        (name, given if isinstance(given, str) else json.dumps(given)) for name, given in tool_calls
    )
    return Step(Turn(text, calls=written, finish_reason="tool_calls", usage=usage))


def says(answer: str | Mapping[str, Any], *, usage: Usage | None = Usage()) -> Step:
    """Return a step that answers with text, or with a document as JSON."""
    return Step(Turn(answer if isinstance(answer, str) else json.dumps(answer), usage=usage))


def refuses(reason: str = "I cannot help with that.") -> Step:
    """Return a step in which the model refuses."""
    return Step(Turn(refusal=reason))


def filtered() -> Step:
    """Return a step whose answer a content filter took away."""
    return Step(Turn(finish_reason="content_filter"))


def cut_off(text: str = '{"choices": [{"pa') -> Step:
    """Return a step whose answer ends where the tokens did."""
    return Step(Turn(text, finish_reason="length"))


def empty() -> Step:
    """Return a step that says nothing at all."""
    return Step(Turn(""))


def choiceless() -> Step:
    """Return a step without a choice in it, or without output."""
    return Step(
        body={"id": "none", "object": "chat.completion", "created": CREATED, "model": "m", "choices": []}
    )


def fails(status: int, *, code: str = "no", retry_after: str | int | None = None) -> Step:
    """Return a step with an error's status, and when to come again: seconds, or a date."""
    headers = {} if retry_after is None else {"Retry-After": str(retry_after)}
    error = {"message": ERROR_TEXT, "type": "error", "param": None, "code": code}
    return Step(body={"error": error}, status=status, headers=headers)


def garbage(body: bytes = b"<html>a gateway's page</html>", content_type: str = "text/html") -> Step:
    """Return a step whose body is no JSON."""
    return Step(body=body, headers={"Content-Type": content_type})


def embeds(request: Request) -> Step:
    """Return a step that answers with a vector for each text of a request for embeddings."""
    rows = [
        {"object": "embedding", "index": at, "embedding": [1.0, float(len(text)), 0.0]}
        for at, text in enumerate(request.body["input"])
    ]
    return Step(body={"object": "list", "model": "e", "data": rows})


def hangs() -> Step:
    """Return a step that never begins to answer."""
    return Step(fault="hangs")


def drips(step: Step) -> Step:
    """Return a step whose body comes byte by byte, and never whole."""
    return replace(step, fault="drips")


def cut(step: Step) -> Step:
    """Return a step whose body ends, with the connection, in its middle."""
    return replace(step, fault="cut")


def resets() -> Step:
    """Return a step that resets the connection instead of an answer."""
    return Step(fault="reset")


class _Server(ThreadingHTTPServer):
    request_queue_size = 128  # a hundred callers may come at the same moment


class ModelServer:
    """The server: its `url` (with /v1), the script, and the `requests` that came, in their order."""

    def __init__(self) -> None:
        self.requests: list[Request] = []
        self.surplus = 0  # requests that the script had no step for
        self._steps: list[Act] = []
        self._is_endless = False
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._open: set[socket.socket] = set()
        self._server = _Server(("127.0.0.1", 0), self._handler())
        self.url = f"http://127.0.0.1:{self._server.server_port}/v1"
        self._thread = threading.Thread(target=self._server.serve_forever, args=[POLL_S])
        self._thread.start()

    def play(self, *steps: Act, endless: bool = False) -> None:
        """Answer with these steps from now on; with `endless` the last one again and again."""
        with self._lock:
            self._steps, self._is_endless = list(steps), endless

    def stop(self) -> None:
        """Answer no more: connections are closed, and new ones refused."""
        if self._ended.is_set():
            return
        self._ended.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
        with self._lock:
            for connection in self._open:
                _end(connection)

    def _next(self, request: Request) -> tuple[int, Step]:
        """Record a request, and return its number, from 1, and its answer."""
        with self._lock:
            self.requests.append(request)
            number = len(self.requests)
            if not self._steps:
                self.surplus += 1
                return number, fails(400, code="script_ended")
            act = self._steps[0] if self._is_endless and len(self._steps) == 1 else self._steps.pop(0)
        return number, act if isinstance(act, Step) else act(request)

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        model = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True  # else each body waits 40 ms for the acknowledgment of its headers

            def setup(self) -> None:
                super().setup()
                with model._lock:
                    model._open.add(self.connection)

            def finish(self) -> None:
                with model._lock:
                    model._open.discard(self.connection)
                super().finish()

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                headers = {name.lower(): value for name, value in self.headers.items()}
                number, step = model._next(Request(self.path, headers, body))
                if step.fault == "hangs":
                    model._ended.wait()
                    self.close_connection = True
                elif step.fault == "reset":
                    self._reset()
                else:
                    model_name = str(body.get("model"))
                    if step.turn is not None and (sent := _stream(self.path, step.turn, number, body)):
                        self._answer(replace(step, headers={"Content-Type": "text/event-stream"}), sent)
                    else:
                        self._answer(step, _document(self.path, step, number, model_name))

            def _answer(self, step: Step, document: Any) -> None:
                data = document if isinstance(document, bytes) else json.dumps(document).encode()
                self.send_response(step.status)
                for name, value in {"Content-Type": "application/json", **step.headers}.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                if step.fault is None:
                    self.wfile.write(data)
                    return
                self.close_connection = True
                half = data[: len(data) // 2]
                if step.fault == "cut":
                    self.wfile.write(half)
                else:
                    self._drip(half)

            def _drip(self, data: bytes) -> None:
                try:
                    for at in range(len(data)):
                        self.wfile.write(data[at : at + 1])
                        if model._ended.wait(DRIP_S):
                            return
                    model._ended.wait()
                except OSError:  # the client had enough
                    return

            def _reset(self) -> None:
                self.close_connection = True
                self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, AT_ONCE)
                with model._lock:
                    model._open.discard(self.connection)
                os.close(self.connection.detach())

            def log_message(self, *_: Any) -> None:
                pass

        return Handler


@contextmanager
def serving() -> Iterator[ModelServer]:
    """A model server for a while; fails at the end when it was asked more often than its script says."""
    model = ModelServer()
    try:
        yield model
    finally:
        model.stop()
    assert model.surplus == 0, f"{model.surplus} requests more than the script has steps for"


def _end(connection: socket.socket) -> None:
    try:
        connection.shutdown(socket.SHUT_RDWR)
    except OSError:  # the other side was quicker
        return


def _texts(value: Any) -> Iterator[str]:
    """Yield the texts of messages, of which a content may be a text or a list of parts."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item)
    elif isinstance(value, dict):
        for name in ("content", "text", "output", "arguments", "tool_calls", "function"):
            yield from _texts(value.get(name))


def _document(path: str, step: Step, number: int, model: str) -> Any:
    if step.turn is None:
        return step.body
    if path.endswith("/responses"):
        return _response(step.turn, number, model)
    return _completion(step.turn, number, model)


def _stream(path: str, turn: Turn, number: int, body: Mapping[str, Any]) -> bytes | None:
    """Return a turn as the events that a coding agent asks for; None for a request of one document."""
    model = str(body.get("model"))
    if not body.get("stream"):
        return None
    if "/messages" in path:
        return anthropic_events(turn.text or "", turn.calls, number=number, model=model)
    if path.endswith("/responses"):
        return response_events(_response(turn, number, model))
    if path.endswith("/chat/completions"):
        return completion_events(_completion(turn, number, model))
    return None


def _completion(turn: Turn, number: int, model: str) -> dict[str, Any]:
    """Return a turn as an answer of Chat Completions."""
    message: dict[str, Any] = {"role": "assistant", "content": turn.text, "refusal": turn.refusal}
    if turn.calls:
        message["tool_calls"] = [
            {
                "id": f"call_{number}_{at}",
                "type": "function",
                "function": {"name": name, "arguments": arguments},
            }
            for at, (name, arguments) in enumerate(turn.calls, start=1)
        ]
    answer: dict[str, Any] = {
        "id": f"chatcmpl-{number}",
        "object": "chat.completion",
        "created": CREATED,
        "model": model,
        "choices": [{"index": 0, "finish_reason": turn.finish_reason, "logprobs": None, "message": message}],
    }
    if turn.usage is not None:
        answer["usage"] = {
            "prompt_tokens": turn.usage.input_tokens,
            "completion_tokens": turn.usage.output_tokens,
            "total_tokens": turn.usage.input_tokens + turn.usage.output_tokens,
            "prompt_tokens_details": {"cached_tokens": turn.usage.cached_tokens},
        }
    return answer


def _named(name: str) -> dict[str, str]:
    """Return the name of a called tool; `server.tool` is one in a namespace, as Codex has those of MCP."""
    namespace, _, tool = name.rpartition(".")
    return {"name": tool} | ({"namespace": namespace} if namespace else {})


def _response(turn: Turn, number: int, model: str) -> dict[str, Any]:
    """Return a turn as an answer of the Responses API."""
    output: list[dict[str, Any]] = [
        {
            "type": "function_call",
            "id": f"fc_{number}_{at}",
            "call_id": f"call_{number}_{at}",
            **_named(name),
            "arguments": arguments,
            "status": "completed",
        }
        for at, (name, arguments) in enumerate(turn.calls, start=1)
    ]
    content: list[dict[str, Any]] = []
    if turn.text:
        content.append({"type": "output_text", "text": turn.text, "annotations": []})
    if turn.refusal:
        content.append({"type": "refusal", "refusal": turn.refusal})
    if content:
        output.append(
            {
                "type": "message",
                "id": f"msg_{number}",
                "role": "assistant",
                "status": "completed",
                "content": content,
            }
        )
    is_cut = turn.finish_reason in {"length", "content_filter"}
    reason = "max_output_tokens" if turn.finish_reason == "length" else turn.finish_reason
    answer: dict[str, Any] = {
        "id": f"resp_{number}",
        "object": "response",
        "created_at": CREATED,
        "model": model,
        "status": "incomplete" if is_cut else "completed",
        "incomplete_details": {"reason": reason} if is_cut else None,
        "error": None,
        "output": output,
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
    }
    if turn.usage is not None:
        answer["usage"] = {
            "input_tokens": turn.usage.input_tokens,
            "input_tokens_details": {"cached_tokens": turn.usage.cached_tokens},
            "output_tokens": turn.usage.output_tokens,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": turn.usage.input_tokens + turn.usage.output_tokens,
        }
    return answer
