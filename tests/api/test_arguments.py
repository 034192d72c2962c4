"""The Python methods offer what the tools take."""

import inspect
from collections.abc import Mapping
from typing import Any, cast

import pytest

from memex.api.memex import UserMemory
from memex.api.protocol import MemexApi
from memex.call_context import CallContext
from memex.service.tools.registry import TOOLS

# Arguments of tools that no method offers, by tool, each with the reason.
WITHOUT_PARAMETER: dict[str, dict[str, str]] = {}
# What methods take besides the arguments of their tool.
OF_EVERY_CALL = {"self", "tool_call_id"}
# Values of parameters whose form a method changes before it sends them.
SHAPED: dict[str, Any] = {
    "as_of": {"user": 1},
    "span": (0, 1),
    "tags": ("a",),
    "outdated": ("a",),
    "both_hold": ("b",),
    "include": ("conversations",),
    "edits": ({"kind": "delete", "path": "user/a.md"},),
}


class Sent(Exception):  # no error: the call has come as far as the test follows it
    """A call that would now be sent: the tool and its arguments."""


class NoApi:
    """Sends nothing, and raises the call instead."""

    async def execute(self, context: CallContext, tool: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Raise what was called."""
        raise Sent(tool, arguments)


async def test_every_argument_that_a_method_takes_is_sent() -> None:
    """The arguments of a method arrive under the names that the tool has for them."""
    memory = UserMemory(cast("MemexApi", NoApi()), CallContext("alice"))
    for name, tool in TOOLS.items():
        names = [one for one in tool.arguments.model_fields if one not in WITHOUT_PARAMETER.get(name, {})]
        values = {one: SHAPED.get(one, f"the {one}") for one in names}

        with pytest.raises(Sent) as sent:
            await getattr(memory, name.removeprefix("memory_"))(**values)

        expected = {one: list(value) if isinstance(value, tuple) else value for one, value in values.items()}
        assert sent.value.args == (name, expected)


def test_every_tool_has_a_method_that_offers_its_arguments() -> None:
    """A method has the name of its tool, the same parameters with the same defaults, and `tool_call_id`."""
    for name, tool in TOOLS.items():
        method = getattr(UserMemory, name.removeprefix("memory_"), None)
        assert method is not None, f"UserMemory has no method for {name}"
        parameters = inspect.signature(method).parameters
        offered = set(parameters) - OF_EVERY_CALL
        fields = tool.arguments.model_fields

        assert offered == set(fields) - set(WITHOUT_PARAMETER.get(name, {})), name
        for argument in offered:
            default = parameters[argument].default
            is_required = default is inspect.Parameter.empty
            assert is_required == fields[argument].is_required(), f"{name}: {argument}"
            if not is_required:
                expected = fields[argument].get_default(call_default_factory=True)
                assert default == (tuple(expected) if isinstance(expected, list) else expected), argument


def test_every_exception_is_one() -> None:
    """An argument that a method offers by now is no exception any more."""
    for name, reasons in WITHOUT_PARAMETER.items():
        method = getattr(UserMemory, name.removeprefix("memory_"))

        assert not set(reasons) & set(inspect.signature(method).parameters)
