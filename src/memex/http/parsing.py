"""Strict parsing of requests: no key of JSON and no parameter twice, and no parameter that nobody reads."""

import json
from collections import Counter
from collections.abc import Mapping
from typing import Any, get_args, get_origin

from fastapi import Request
from fastapi.dependencies.models import Dependant
from pydantic import BaseModel, ConfigDict

from memex.errors import ValidationFailed

MAX_SHOWN_CHARS = 100


class RequestBody(BaseModel):
    """A JSON body: it has no other fields than those of its class, and each value has the type of its field."""

    model_config = ConfigDict(extra="forbid", strict=True)


class StrictRequest(Request):
    """A request whose JSON may not name a key of an object twice.

    Parsers disagree on which of two values counts, so a proxy could have checked the other one.
    """

    async def json(self) -> Any:
        """Return the body as JSON; raises ValidationFailed and what `json.loads` raises."""
        if not hasattr(self, "_json"):
            self._json = load_json(await self.body())
        return self._json


def load_json(body: bytes) -> Any:
    """Return JSON of which no object has a key twice; raises ValidationFailed and what `json.loads` raises."""
    return json.loads(body, object_pairs_hook=_unique)


def check_lines(body: bytes) -> None:
    """Refuse JSON lines in which an object has a key twice; raises ValidationFailed.

    What is no JSON is left to the operation, whose error says more.
    """
    for number, line in enumerate(body.split(b"\n"), start=1):
        if line.strip():
            try:
                load_json(line)
            except ValidationFailed as error:
                raise ValidationFailed(f"Line {number}: {error.message}", hint=error.hint) from None
            except (ValueError, RecursionError):
                return


def query_names(dependant: Dependant) -> dict[str, bool]:
    """Return the query parameters that a route takes, each with whether it may come more than once."""
    names = {field.alias: _is_list(field.field_info.annotation) for field in dependant.query_params}
    for dependency in dependant.dependencies:
        names |= query_names(dependency)
    return names


def _is_list(annotation: Any) -> bool:
    return any(get_origin(arg) is list for arg in (annotation, *get_args(annotation)))


def check_query(request: Request, known: Mapping[str, bool]) -> None:
    """Refuse a query parameter that the route does not take, or that came too often; raises ValidationFailed."""
    if not request.scope["query_string"]:
        return
    given = [name for name, _ in request.query_params.multi_items()]
    if unknown := set(given) - known.keys():
        hint = f"It takes {', '.join(sorted(known))}." if known else "It takes none."
        raise ValidationFailed(f"This route takes no query parameter {_shown(min(unknown))}.", hint=hint)
    twice = next((name for name, times in Counter(given).items() if times > 1 and not known[name]), None)
    if twice is not None:
        raise ValidationFailed(
            f"The query parameter {_shown(twice)} came more than once.", hint="Send it once."
        )


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValidationFailed(
            f"The body has the key {_shown(twice)} twice in one object.", hint="Send it once."
        )
    return found


def _shown(name: str) -> str:
    return repr(name[:MAX_SHOWN_CHARS])
