"""Values of the command line that need no coercion: typer gives each of them to pydantic, the default values too.

To load pydantic takes as long as everything else that a command over HTTP does.
"""

from typing import Any

import typer


def skip_needless_coercion(command: Any) -> None:
    """Let the parameters of a command, and of those below it, take values that have their type as they are."""
    get_params = command.get_params

    def get_params_that_know(ctx: typer.Context) -> list[Any]:
        parameters: list[Any] = get_params(ctx)
        for parameter in parameters:
            if getattr(parameter, "_runtime_param", None) is None:  # where it is None, typer makes its own
                parameter._runtime_param = _KnownValues()  # noqa: SLF001
        return parameters

    command.get_params = get_params_that_know
    for below in getattr(command, "commands", {}).values():
        skip_needless_coercion(below)


class _KnownValues:
    """The coercion of one parameter: typer's own for each value that typer could change or refuse."""

    def coerce(self, value: Any, param: Any, ctx: typer.Context) -> Any:
        """Return the value in the type of the parameter; raises BadParameter as typer does."""
        wanted = param.type_descriptor.annotation
        if value is None:
            return () if param.multiple or param.nargs == -1 else None
        if param.type_descriptor.parameter_info.parser is None:
            if wanted is str and _is_text(value):
                return value
            if wanted == list[str] and isinstance(value, list | tuple) and all(map(_is_text, value)):
                return list(value)
            if wanted is int and type(value) is int and value == param.default:
                return value
        param._runtime_param = None  # noqa: SLF001  # from now on typer's own
        return param.get_runtime_param().coerce(value, param=param, ctx=ctx)


def _is_text(value: Any) -> bool:
    """Tell whether a value is text that UTF-8 can hold. The system hands on other bytes as lone surrogates."""
    if type(value) is not str:
        return False
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True
