"""The log of the process: one JSON object for each line, on stderr. The log holds no key and no memory text."""

import logging
import sys
import traceback
from typing import Any

import structlog
from structlog.stdlib import ProcessorFormatter
from structlog.typing import EventDict, Processor

LAST_FRAMES = 8


def configure(level: str) -> None:
    """Send the events of Memex, and the records of its libraries, to stderr from this level on.

    Libraries are logged from `warning` on: uvicorn reports its start and end as `info`, and the events of Memex say
    this better.
    """
    least = logging.getLevelNamesMapping()[level.upper()]
    common: list[Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", key="time"),
        _without_message,
    ]
    as_json = structlog.processors.JSONRenderer(ensure_ascii=False, default=str)
    structlog.configure(
        processors=[*common, as_json],
        wrapper_class=structlog.make_filtering_bound_logger(least),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        cache_logger_on_first_use=True,
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        ProcessorFormatter(
            foreign_pre_chain=[*common, structlog.stdlib.add_logger_name],
            processors=[ProcessorFormatter.remove_processors_meta, as_json],
        )
    )
    logging.basicConfig(handlers=[handler], level=max(least, logging.WARNING), force=True)


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
