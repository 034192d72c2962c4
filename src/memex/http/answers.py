"""Results of tools as answers over HTTP."""

from collections.abc import Mapping
from typing import Any

import orjson
from fastapi import Response


def json_answer(result: Mapping[str, Any], headers: Mapping[str, str] | None = None) -> Response:
    """Return a result as a JSON response.

    Nothing checks the result again: the service made it from the model that the route names as its
    `response_model`, and FastAPI validates no Response.
    """
    return Response(orjson.dumps(result), media_type="application/json", headers=headers)
