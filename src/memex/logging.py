"""The log of the process, on stderr: a line of JSON for each event, or a line for people if stderr is a terminal.

The log holds no key and no memory text.
"""

import json
import logging
import os
import sys
import threading
import time
import traceback
from typing import Any, Protocol

import structlog
from structlog.stdlib import ProcessorFormatter
from structlog.typing import EventDict, Processor

LAST_FRAMES = 8
MAX_HELD_S = 10.0  # a start that takes longer says why


class LogStream(Protocol):
    """A stream that takes the lines of the log: stderr, or an object that holds them back for a while."""

    def write(self, text: str, /) -> object:
        """Take some text."""

    def flush(self) -> None:
        """Send what was taken."""

    def isatty(self) -> bool:
        """Return whether a person reads along."""


class HeldLines:
    """Holds the lines of a start back until `release`, so that the greeting of a program comes first.

    A line that is written more than `MAX_HELD_S` after the start releases all lines: a person who waits that long
    wants to know why.

    Args:
        target: where the lines go then.
    """

    def __init__(self, target: LogStream) -> None:
        self._target = target
        self._held: list[str] | None = []
        self._lock = threading.RLock()
        self._began_s = time.monotonic()

    def write(self, text: str, /) -> None:
        """Hold the text back, or pass it on if nothing is held back any more."""
        with self._lock:
            if self._held is None:
                self._target.write(text)
                return
            self._held.append(text)
            if time.monotonic() - self._began_s > MAX_HELD_S:
                self.release()

    def release(self) -> None:
        """Pass on what was held back, and from now on each text as it comes."""
        with self._lock:
            held, self._held = self._held or [], None
            self._target.write("".join(held))
            self._target.flush()

    def flush(self) -> None:
        """Send what was passed on."""
        self._target.flush()

    def isatty(self) -> bool:
        """Return whether the lines go to a terminal."""
        return self._target.isatty()


def configure(level: str, stream: LogStream | None = None, *, worker: int | None = None) -> None:
    """Send the events of Memex, and the records of its libraries, to a stream from this level on.

    Libraries are logged from `warning` on: uvicorn reports its start and end as `info`, and the events of Memex say
    this better.

    Args:
        level: the lowest level.
        stream: stderr by default.
        worker: the number of this worker, which each line then names; None if there is one process.
    """
    target = stream or sys.stderr
    least = logging.getLevelNamesMapping()[level.upper()]
    common: list[Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        _time_stamper(target),
        _without_message,
        *([] if worker is None else [_naming(worker)]),
    ]
    rendered = _renderer(target)
    structlog.configure(
        processors=[*common, rendered],
        wrapper_class=structlog.make_filtering_bound_logger(least),
        logger_factory=structlog.WriteLoggerFactory(target),  # type: ignore[arg-type]  # it only writes and flushes
        cache_logger_on_first_use=True,
    )
    handler = logging.StreamHandler(target)
    handler.setFormatter(
        ProcessorFormatter(
            foreign_pre_chain=[*common, structlog.stdlib.add_logger_name],
            processors=[ProcessorFormatter.remove_processors_meta, rendered],
        )
    )
    logging.basicConfig(handlers=[handler], level=max(least, logging.WARNING), force=True)


def _naming(worker: int) -> Processor:
    """Return what adds the number of the worker to an event."""

    def add_worker(_logger: Any, _method: str, event: EventDict) -> EventDict:
        event["worker"] = worker
        return event

    return add_worker


def _time_stamper(target: LogStream) -> Processor:
    if target.isatty():
        return structlog.processors.TimeStamper(fmt="%H:%M:%S", utc=False, key="time")
    return structlog.processors.TimeStamper(fmt="iso", key="time")


def _renderer(target: LogStream) -> Processor:
    """Return what makes a line of an event: for a person at a terminal, or JSON."""
    if target.isatty():
        return structlog.dev.ConsoleRenderer(
            colors="NO_COLOR" not in os.environ, pad_event_to=0, timestamp_key="time", sort_keys=False
        )
    encoder = json.JSONEncoder(ensure_ascii=False, default=str)  # json.dumps would make one for each line
    return structlog.processors.JSONRenderer(serializer=lambda event, **_: encoder.encode(event))


def frames(error: BaseException) -> list[dict[str, Any]]:
    """Return the innermost frames of the place where an error was raised, the innermost one last."""
    return [
        {"file": frame.filename, "line": frame.lineno, "function": frame.name}
        for frame in traceback.extract_tb(error.__traceback__)[-LAST_FRAMES:]
    ]


def _without_message(_logger: Any, _method: str, event: EventDict) -> EventDict:
    """Replace an exception by its class and place, because its message can quote a row and so a memory."""
    found = event.pop("exc_info", None)
    if found is True:
        found = sys.exc_info()
    error = found[1] if isinstance(found, tuple) else found
    if isinstance(error, BaseException):
        event.update(error=type(error).__name__, where=frames(error))
    return event
