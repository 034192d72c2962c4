"""One declaration an operation: what runs here, and where it is asked for over HTTP."""

import ast
import json
import re
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import memex
from memex.http.app import create_app
from memex.routes import ROUTES
from memex.service.operations import ON_LINES, OPERATIONS

SOURCE = Path(memex.__file__).parent


def test_every_operation_runs_here_and_has_a_route() -> None:
    """Whoever asks by a name is answered in this process and over HTTP."""
    assert OPERATIONS.keys() | ON_LINES.keys() == ROUTES.keys()
    assert not OPERATIONS.keys() & ON_LINES.keys()


def test_every_route_is_one_of_the_app() -> None:
    """With its method and path, for agents and admins, or for one of them."""
    served = create_app(nullcontext).openapi()["paths"]  # type: ignore[arg-type]  # never started
    for name, route in ROUTES.items():
        path = route.path.replace(":path}", "}")
        bases = ("/v1/admin",) if route.role == "admin" else ("/v1",)
        for base in bases:
            assert route.method.lower() in served.get(base + path, {}), f"{name}: {route.method} {base}{path}"


def test_every_name_that_is_called_is_an_operation() -> None:
    """A name is text, which no type checker knows."""
    called = {
        (path.name, argument.value)
        for path in SOURCE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call)
        if ast.unparse(node.func).rpartition(".")[2] in ("call", "_run", "operation")
        for argument in node.args[:2]
        if isinstance(argument, ast.Constant) and isinstance(argument.value, str)
    }

    assert len(called) > 50
    assert {one for one in called if one[1] not in ROUTES} == set()


def test_every_argument_of_the_python_api_is_one_of_its_route() -> None:
    """A method without a body sends its parameters by their names, as the decorator changes them."""
    served = create_app(nullcontext).openapi()  # type: ignore[arg-type]  # never started
    declared = 0
    for path in (SOURCE / "api").rglob("*.py"):
        for method in ast.walk(ast.parse(path.read_text())):
            for decorator in method.decorator_list if isinstance(method, ast.AsyncFunctionDef) else ():
                if not isinstance(decorator, ast.Call) or ast.unparse(decorator.func) != "operation":
                    continue
                declared += 1
                [name] = [ast.literal_eval(one) for one in decorator.args]
                names = {one.arg: ast.literal_eval(one.value) for one in decorator.keywords}
                assert isinstance(method, ast.AsyncFunctionDef)
                parameters = [one.arg for one in (*method.args.args, *method.args.kwonlyargs)]
                sent = {names.get(one, one) for one in parameters if one not in ("self", "tool_call_id")} - {
                    "lines"
                }
                assert sent <= _arguments_of(name, served), f"{path.name}: {method.name}"

    assert declared > 25


def test_only_a_declaration_has_no_body() -> None:
    """The type checker lets functions below these folders be empty, and a decorator makes what runs."""
    empty = [
        (path.name, node)
        for folder in ("api", "http/routes")
        for path in (SOURCE / folder).rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        if len(node.body) == 1 and isinstance(node.body[0], ast.Expr) and node.returns is not None
        if ast.unparse(node.returns) != "None"
    ]

    assert len(empty) > 90
    for name, node in empty:
        made = {ast.unparse(one).partition("(")[0].rpartition(".")[2] for one in node.decorator_list}
        assert made & {"operation", "tool"}, f"{name}: {node.name}"


def _arguments_of(name: str, served: dict[str, Any]) -> set[str]:
    """Return the arguments that the route of an operation takes."""
    route = ROUTES[name]
    path = "/v1" + route.path.replace(":path}", "}")
    taken: set[str] = set()
    for one in (path, re.sub(r"/{\w+}", "", path)) if route.omits_absent else (path,):
        shown = served["paths"][one][route.method.lower()]
        taken |= {route.names.get(each["name"], each["name"]) for each in shown.get("parameters", ())}
        body = json.dumps(shown.get("requestBody", {}).get("content", {}).get("application/json", {}))
        for kind in re.findall(r'"#/components/schemas/(\w+)"', body):
            taken |= served["components"]["schemas"][kind]["properties"].keys()
    return taken
