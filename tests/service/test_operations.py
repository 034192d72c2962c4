"""One declaration an operation: what runs here, and where it is asked for over HTTP."""

import ast
from contextlib import nullcontext
from pathlib import Path

from fastapi.routing import iter_route_contexts

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
    app = create_app(nullcontext)  # type: ignore[arg-type]  # never started
    served = {(method, one.path) for one in iter_route_contexts(app.routes) for method in one.methods or ()}
    for name, route in ROUTES.items():
        bases = ("/v1/admin",) if route.role == "admin" else ("/v1",)
        for base in bases:
            assert (route.method, base + route.path) in served, f"{name}: {route.method} {base}{route.path}"


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


def test_only_a_declaration_has_no_body() -> None:
    """The type checker lets functions below this folder be empty, and a decorator makes what runs."""
    empty = [
        (path.name, node)
        for path in (SOURCE / "http" / "routes").rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        if len(node.body) == 1 and isinstance(node.body[0], ast.Expr) and node.returns is not None
        if ast.unparse(node.returns) != "None"
    ]

    assert len(empty) > 50
    for name, node in empty:
        made = {ast.unparse(one).partition("(")[0].rpartition(".")[2] for one in node.decorator_list}
        assert made & {"operation", "tool"}, f"{name}: {node.name}"
