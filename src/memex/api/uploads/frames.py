"""Messages between the service and the process that reads an upload: JSON behind its length, and bytes behind it.

The process reads what strangers wrote, so nothing that it sends is unpickled.
"""

import json
import struct
from dataclasses import dataclass
from typing import Any

HEAD = struct.Struct(">II")  # the lengths of the JSON and of the bytes
MAX_JSON_BYTES = 4 << 20
MAX_BODY_BYTES = 24 << 20  # of a batch: at most 6 MiB, and one message of 1 Mi characters


class BrokenFrameError(Exception):
    """The received bytes are no frame."""


@dataclass(frozen=True, slots=True)
class PipeFrame:
    """A message: what it says, and the bytes that it carries."""

    said: dict[str, Any]
    body: bytes = b""

    def packed(self) -> bytes:
        """Return the frame as it is sent."""
        said = json.dumps(self.said).encode()
        return HEAD.pack(len(said), len(self.body)) + said + self.body


def lengths(head: bytes) -> tuple[int, int]:
    """Return how long the JSON and the bytes of a frame are.

    Raises:
        BrokenFrameError: they are longer than any frame.
    """
    said, body = HEAD.unpack(head)
    if said > MAX_JSON_BYTES or body > MAX_BODY_BYTES:
        raise BrokenFrameError
    return said, body


def parse(said: bytes, body: bytes) -> PipeFrame:
    """Return a frame; raises BrokenFrameError."""
    try:
        parsed = json.loads(said)
    except ValueError as error:
        raise BrokenFrameError from error
    if not isinstance(parsed, dict):
        raise BrokenFrameError
    return PipeFrame(parsed, body)
