"""Bodies of JSON lines for requests that are generated."""

from typing import Any


def register_json_lines() -> None:
    """Let schemathesis send what it generated for a body of JSON lines as it is: nearly always no JSON."""
    import schemathesis  # a second of loading

    @schemathesis.serializer("application/x-ndjson")
    def lines(_: Any, value: Any) -> bytes:
        generated = getattr(value, "data", value)
        return generated.encode(errors="replace") if isinstance(generated, str) else bytes(generated)
