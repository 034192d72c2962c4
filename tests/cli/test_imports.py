"""What commands load: a library that takes long to load waits until it is needed."""

import sys
from dataclasses import replace

import pytest
from tests.cli.conftest import Memex

OF_MODELS_AND_MCP = ("mcp", "openai", "pydantic_ai")
OF_THE_SERVICE = ("fastapi", "numpy", "psycopg", "pydantic", "pydantic_settings", "structlog", "uvicorn")

# Runs the command that follows as `PROGRAM` does; the named modules cannot be imported.
WITHOUT = """
import sys

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name in {names}:
            raise ModuleNotFoundError(f"{{name}} is not to be loaded here")

sys.meta_path.insert(0, Absent())
sys.argv = ["memex", *sys.argv[4:]]
from memex.cli.main import main
main()
"""


def without(memex: Memex, *names: str) -> Memex:
    """Return the command in a process where these modules cannot be imported."""
    return replace(memex, within=(sys.executable, "-c", WITHOUT.format(names=names)))


def test_the_help_text_loads_nothing_of_the_service(memex: Memex) -> None:
    """All commands are listed."""
    printed = without(memex, *OF_MODELS_AND_MCP, *OF_THE_SERVICE).plain("--help")

    assert {"remember", "find", "serve", "eval"} <= set(printed.split())


@pytest.mark.slow
def test_a_service_starts_and_is_asked_without_what_is_for_models_and_mcp(memex: Memex) -> None:
    """The service needs none of it to answer; a command that asks over HTTP needs no library of the service."""
    with without(memex, *OF_MODELS_AND_MCP).serve() as serving:
        service = {"MEMEX_URL": serving.ready["url"], "MEMEX_API_KEY": serving.ready["admin_key"]}
        remote = replace(memex, environment={**memex.environment, **service})
        command = without(remote, *OF_MODELS_AND_MCP, *OF_THE_SERVICE, "rich")
        command.plain("remember", "I prefer oolong tea.")

        found = command.json("find", "oolong")
        context = command.plain("context", "Which tea do I prefer?")
        path = found["hits"][0]["path"]
        read = command.plain("read", path)

    assert "oolong" in context
    assert "oolong" in read
