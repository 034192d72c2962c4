"""Reference pages made from the code: routes, commands, classes, settings.

`python docs/site/reference.py` writes docs/reference/environment.md; the other pages are made when the site
is built.
"""

import inspect
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

from typer.cli import get_docs_for_click

import memex
from memex import errors
from memex.api import memex as client
from memex.cli.main import command_line
from memex.http.app import create_app
from memex.service.tools import definitions
from memex.settings import Settings

ROOT = Path(__file__).parents[2]
ENVIRONMENT = ROOT / "docs" / "reference" / "environment.md"
QUOTES = "'"  # around a name that is used before it is defined
METHODS = ("get", "put", "post", "patch", "delete")
TYPES = {
    "int": "whole number",
    "float": "number",
    "bool": "`true` or `false`",
    "Path": "path",
    "SecretStr": "secret",
}

ENVIRONMENT_HEAD = """# Environment

Every setting of Memex is an environment variable. A process reads the variables once, when it
starts. An empty variable counts as unset. If a value is invalid, the process does not start: it
prints the error `VALIDATION_ERROR` with the name of the variable. Memex ignores a variable that it
does not know, such as a misspelt one; `memex doctor` shows the database, planner, embedder and pool
that the variables lead to. A command-line option, such as `memex serve --port`, overrides the
variable of the same meaning.

| variable | type | default | meaning |
| --- | --- | --- | --- |
"""
ENVIRONMENT_END = """
These variables are secrets: {secrets}, and a
`DATABASE_URL` or `MEMEX_AGENT_DATABASE_URL` that contains a password. Set them in the environment
or in a secret store, and never in a file under version control. Memex never logs them.

## Variables of libraries

Memex does not read these variables itself, or reads them only in one place:

| variable | who reads it |
| --- | --- |
| `ANTHROPIC_API_KEY`, `GOOGLE_API_KEY`, `AWS_REGION` and others | The library of a model provider ([models](../models.md)). |
| `OTEL_SERVICE_NAME`, `OTEL_EXPORTER_OTLP_HEADERS` and the other `OTEL_…` variables | The SDK of OpenTelemetry ([traces](../observability.md#traces)). |
| `FORWARDED_ALLOW_IPS` | The HTTP server uvicorn: the addresses of the proxies whose `X-Forwarded-Proto` and `X-Forwarded-For` it trusts, separated by commas; `127.0.0.1` by default ([behind a proxy](../operations.md#behind-a-proxy)). |
| `HTTPS_PROXY`, `HTTP_PROXY`, `NO_PROXY` | The HTTP clients that call model providers. |
| `ORT_DISABLE_TELEMETRY` | The library of the local model. Memex sets it to `1` unless it is set: the library would send its maker how it is used, and keep a database for that in the home folder. |
| `CODEX_HOME`, `XDG_CONFIG_HOME`, `XDG_STATE_HOME` | `memex setup`, to find the configuration of clients and to note what it changed. |
"""  # noqa: E501  # rows of a table
HTTP_HEAD = """# HTTP

A running service shows the same routes at `/docs`, where you can try calls, and as a document at
`/openapi.json`.

- **Key**: send `Authorization: Bearer mx_…`. The key of an agent is for all routes except those
  below `/v1/admin`, which need the key of an administrator, and `/metrics`.
- **User**: with a key that is bound to a user, a call names no user. With any other key, each call
  names the user: in the member `context` of the body, or in the header `Memex-User`. The headers
  `Memex-Project`, `Memex-Actor` and `Memex-Tool-Call-Id` name the rest of the context. With
  `Memex-Role: agent`, the key of an administrator gets only the rights of the user's agent.
- **Errors** are problem bodies (RFC 9457) with a stable `code`, a `hint` and the `request_id`: [all
  codes](../errors.md).
- **Lists** come in pages. To get the next page, send the `next_cursor` of a page as `cursor`.
- A request has at most 8 MiB, an import 16 MiB. Every answer has the header `X-Request-ID`.

## The tools

`POST /v1/tools/{tool}/execute` runs a tool, with `{"context": {…}, "arguments": {…}}`. Agents get
the first two tools; `GET /v1/tools?profile=files` lists all tools.

| tool | arguments | what it does |
| --- | --- | --- |
"""
CLI_HEAD = """# Command line

This page shows the same text as `memex COMMAND --help`. With `--json`, a command prints its answer as one
JSON document. Errors go to stderr; the exit code is then 1, or 2 if the arguments are invalid. Run
`memex --install-completion` once, and the shell completes commands and options.

"""
PYTHON_HEAD = """# Python

The package `memex-memory` ([install](../guides/install.md)) is imported as `memex`; its extra `embedded`
brings a Postgres of its own. Every method is asynchronous, and works the same in your process and over HTTP;
the [guide](../guides/python.md) shows an example.
"""
PYTHON_ERRORS = """
## Errors

`from memex import errors`. Each error has `code`, `message`, `hint` and `details`; [errors](../errors.md)
says what the codes mean.
"""


def environment() -> str:
    """Return the page of environment variables, of the settings class."""
    rows, secrets = [], []
    for field in Settings.model_fields.values():
        name = str(field.validation_alias)
        default = "" if field.default is None else f"`{_value(field.default)}`"
        rows.append(f"| `{name}` | {_type(field)} | {default} | {_cell(field.description)} |\n")
        if _type(field) == "secret":
            secrets.append(f"`{name}`")
    return ENVIRONMENT_HEAD + "".join(rows) + ENVIRONMENT_END.format(secrets=", ".join(secrets))


def http() -> str:
    """Return the page of routes, of the OpenAPI document."""
    document = create_app(lambda: None).openapi()  # type: ignore[arg-type,return-value]  # it is never started
    by_tag: dict[str, list[str]] = {}
    for path, operations in document["paths"].items():
        for method in METHODS:
            if method in operations:
                operation = operations[method]
                lines = by_tag.setdefault(operation["tags"][0], [])
                lines += ["", f"### `{method.upper()} {path}`", "", f"**{operation['summary']}**"]
                lines += ["", operation["description"]] if operation.get("description") else []
                lines += _parameters(operation)
                schemas = document["components"]["schemas"]
                for content in operation.get("requestBody", {}).get("content", {}).items():
                    lines += _body("Body", *content, schemas)
                for content in operation["responses"].get("200", {}).get("content", {}).items():
                    lines += _body("Answer", *content, schemas)
    sections = "".join("\n".join(["", f"## {tag.capitalize()}", *lines, ""]) for tag, lines in by_tag.items())
    return HTTP_HEAD + "".join(_tools()) + sections


def _tools() -> Iterator[str]:
    agent = [tool.name for tool in definitions.define("agent")]
    for tool in sorted(definitions.define("files"), key=lambda tool: tool.name not in agent):
        required = tool.parameters.get("required", [])
        names = [f"`{name}`" if name in required else f"`{name}?`" for name in tool.parameters["properties"]]
        yield f"| `{tool.name}` | {', '.join(names)} | {_cell(tool.description)} |\n"


def _parameters(operation: Mapping[str, Any]) -> list[str]:
    # The headers of identity are the same everywhere, and stand at the top of the page.
    shown = [one for one in operation.get("parameters", []) if not one["name"].startswith("memex-")]
    rows = []
    for one in shown:
        optional = "" if one.get("required") else ", optional"
        kind = _schema(one["schema"]) + optional
        rows.append(f"| `{one['name']}` | {one['in']} | {kind} | {_cell(one.get('description'))} |")
    return ["", "| parameter | in | type | what |", "| --- | --- | --- | --- |", *rows] if rows else []


def _body(title: str, media_type: str, content: Mapping[str, Any], schemas: Mapping[str, Any]) -> list[str]:
    schema = content.get("schema", {})
    schema = schemas.get(schema.get("$ref", "").rsplit("/", 1)[-1], schema)
    required = schema.get("required", ()) if title == "Body" else schema.get("properties", ())
    rows = []
    for name, field in schema.get("properties", {}).items():
        optional = "" if name in required else ", optional"
        rows.append(f"| `{name}` | {_schema(field)}{optional} | {_cell(field.get('description'))} |")
    if rows:
        return ["", f"{title}: `{media_type}`", "", "| member | type | what |", "| --- | --- | --- |", *rows]
    kind = _schema(schema)
    return ["", f"{title}: `{media_type}`" + ("." if kind == "any" else f", {kind}.")]


def _schema(schema: Mapping[str, Any]) -> str:
    """Return a type of JSON Schema in a few characters."""
    if "$ref" in schema:
        return str(schema["$ref"]).rsplit("/", 1)[-1]
    if "enum" in schema:
        return " · ".join(f"`{one}`" for one in schema["enum"])
    if "anyOf" in schema:
        return " or ".join(_schema(one) for one in schema["anyOf"] if one.get("type") != "null")
    if schema.get("type") == "array":
        return f"list of {_schema(schema.get('items', {}))}"
    return str(schema.get("type", "any"))


def cli() -> str:
    """Return the page of commands, as the command line itself describes them."""
    command = command_line()
    context = command.context_class(command, info_name="memex")
    text = get_docs_for_click(obj=command, ctx=context, name="memex")
    shown = [line for line in text.splitlines()[1:] if "Show this message and exit." not in line]
    return CLI_HEAD + "\n".join(shown).replace("**Options**:\n\n\n", "") + "\n"


def python() -> str:
    """Return the page of the Python API: what a program calls, with its docstrings."""
    lines = []
    for kind in (memex.Memex, client.UserMemory):
        lines += ["", f"## {kind.__name__}", "", _prose(inspect.getdoc(kind))]
        if kind is memex.Memex:
            lines += ["", "```python", _signature("Memex", kind.__init__), "```"]
        for name, method in vars(kind).items():
            if name.startswith("_") or not inspect.isfunction(method):
                continue
            word = "await " if inspect.iscoroutinefunction(method) else ""
            lines += ["", f"### `{name}`", "", "```python", _signature(f"{word}{name}", method), "```"]
            lines += ["", _prose(inspect.getdoc(method))]
    tree = [line[4:] for line in (inspect.getdoc(errors) or "").splitlines() if line.startswith("    ")]
    return PYTHON_HEAD + "\n".join(lines) + "\n" + PYTHON_ERRORS + "\n".join(["", "```", *tree, "```", ""])


def _signature(name: str, method: Any) -> str:
    signature = inspect.signature(method)
    given = [one for one in signature.parameters.values() if one.name != "self"]
    parameters = [re.sub(r"^(\w+: .+?) = $", r"\1", str(one)) for one in given]
    named = [at for at, one in enumerate(given) if one.kind is one.KEYWORD_ONLY]
    if named:
        parameters.insert(named[0], "*")
    text = ", ".join(parameters)
    if len(text) > 80:
        text = "\n" + "".join(f"    {one},\n" for one in parameters)
    returned = signature.return_annotation
    shown = (
        ""
        if returned in (signature.empty, None)
        else f" -> {inspect.formatannotation(returned).strip(QUOTES)}"
    )
    return re.sub(
        r"\b(?:memex|pathlib|datetime|collections\.abc)(?:\.[a-z_]+)*\.(\w+)", r"\1", f"{name}({text}){shown}"
    )


def changelog() -> str:
    """Return the changelog, with its links as they are from inside the site."""
    return (ROOT / "CHANGELOG.md").read_text(encoding="utf-8").replace("](docs/", "](")


def title(markdown: str) -> str:
    """Return a page's first heading."""
    found = re.search(r"^# (.+)$", markdown, re.MULTILINE)
    return found[1] if found else ""


def summary(markdown: str) -> str:
    """Return the first sentence of a page's first paragraph, without its markup."""
    prose = re.sub(r"^```.*?^```$|<[^>]+>", "", markdown, flags=re.MULTILINE | re.DOTALL)
    for paragraph in re.split(r"\n\s*\n", prose):
        if paragraph.strip() and not re.match(r"[#>|\-\d]", paragraph.strip()):
            plain = re.sub(r"\[([^\]]+)\]\([^)]+\)", r"\1", " ".join(paragraph.split())).replace("**", "")
            return re.split(r"(?<=[.!?:]) (?=[A-Z])", plain)[0].rstrip(":")
    return ""


def _type(field: Any) -> str:
    if get_origin(field.annotation) is Literal:
        return " · ".join(f"`{one}`" for one in get_args(field.annotation))
    kind = next(one for one in (*get_args(field.annotation), field.annotation) if one is not type(None))
    low = next((one.ge for one in field.metadata if hasattr(one, "ge")), None)
    high = next((one.le for one in field.metadata if hasattr(one, "le")), None)
    limits = "" if low is None else f", from {low:,}" if high is None else f", {low:,} to {high:,}"
    above = next((one.gt for one in field.metadata if hasattr(one, "gt")), None)
    if above is not None:
        limits = f", above {above:,}" + ("" if high is None else f", up to {high:,}")
    return TYPES.get(kind.__name__, "text") + limits


def _value(default: Any) -> str:
    """Return a default value as it is written in the environment."""
    return str(default).lower() if isinstance(default, bool) else str(default)


def _cell(text: str | None) -> str:
    return " ".join((text or "").split()).replace("|", "\\|").replace("<", "&lt;")


def _prose(text: str | None) -> str:
    """Return a docstring as Markdown: its sections as paragraphs, its parameters as a list."""
    text = inspect.cleandoc(text or "")
    text = re.sub(r"^(Args|Raises|Yields|Returns):$", r"**\1**\n", text, flags=re.MULTILINE)
    text = re.sub(r"^    (\w+): ", r"- `\1`: ", text, flags=re.MULTILINE)
    return re.sub(r"^ +(?=\S)", "  ", text, flags=re.MULTILINE).replace("<", "&lt;")


if __name__ == "__main__":
    ENVIRONMENT.write_text(environment(), encoding="utf-8")
