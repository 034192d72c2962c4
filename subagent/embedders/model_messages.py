"""The messages between a service and the process that holds its model, as bytes. Pure.

A message is its length in four bytes and then a document in JSON. An answer with vectors has their numbers behind
the document: the vector of each text, and then the states of each text, as float32.
"""

import json
import struct
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from memex.errors import ModelUnavailable
from memex.subagent.embedders.interface import EmbeddedText

if TYPE_CHECKING:
    from memex.subagent.embedders.interface import InputType

HELLO = b"\x01"  # what the process sends first to whoever connects: the model is loaded
LENGTH = struct.Struct("!I")
MAX_REQUEST_BYTES = 1 << 22
NUMBER_BYTES = 4


def pack_request(texts: Sequence[str], kind: "InputType") -> bytes:
    """Return the message that asks for the vectors of texts."""
    return _pack({"kind": kind, "texts": texts})


def pack_answer(made: Sequence[EmbeddedText], *, with_spans: bool) -> bytes:
    """Return the message with embedded texts, and if asked with where their word pieces stand."""
    states = [embedded.states for embedded in made if embedded.states is not None]
    numbers = [embedded.vector.tobytes() for embedded in made] + [of_text.tobytes() for of_text in states]
    document: dict[str, Any] = {
        "texts": len(made),
        "dimensions": len(made[0].vector) if made else 0,
        "pieces": [len(of_text) for of_text in states],
    }
    if with_spans:
        document["spans"] = [embedded.spans for embedded in made]
    return b"".join([_pack(document), *numbers])


def pack_failure(error: ModelUnavailable) -> bytes:
    """Return the message that says why there are no vectors."""
    failure = {"message": error.message, "hint": error.hint, "reason": error.details.get("reason")}
    return _pack({"error": failure})


def size_of_numbers(answer: dict[str, Any]) -> int:
    """Return how many bytes of numbers stand behind the document of an answer.

    Raises:
        ModelUnavailable: the answer is a failure.
    """
    if "error" in answer:
        error = answer["error"]
        raise ModelUnavailable(error["message"], hint=error["hint"], reason=error["reason"])
    pieces: list[int] = answer["pieces"]
    size: int = (answer["texts"] + sum(pieces)) * answer["dimensions"] * NUMBER_BYTES
    return size


def unpack_numbers(answer: dict[str, Any], numbers: bytes) -> list[EmbeddedText]:
    """Return the embedded texts of an answer."""
    import numpy as np  # noqa: PLC0415  # of the extra

    pieces: list[int] = answer["pieces"]
    rows = np.frombuffer(numbers, np.float32).reshape(-1, answer["dimensions"])
    if not pieces:  # of a model without token states
        return [EmbeddedText(row) for row in rows]
    made, start = [], len(pieces)
    for at, count in enumerate(pieces):
        spans = answer["spans"][at] if "spans" in answer else None
        made.append(EmbeddedText(rows[at], rows[start : start + count], spans))
        start += count
    return made


def _pack(document: dict[str, Any]) -> bytes:
    packed = json.dumps(document).encode()
    return LENGTH.pack(len(packed)) + packed
