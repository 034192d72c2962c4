"""The operations on documents."""

from typing import Any

from memex.service.documents.pushing import COMPARE, FINISH, PUT, REMOVE
from memex.service.documents.reading import FIND, LIST, READ, ROOTS
from memex.service.documents.watching import REQUEST_SYNC, WATCH
from memex.service.operation import RunsOnLines, RunsOperation

OPERATIONS: dict[str, RunsOperation[Any]] = {
    operation.name: operation.call
    for operation in (FIND, FINISH, LIST, READ, REMOVE, REQUEST_SYNC, ROOTS, WATCH)
}
ON_LINES: dict[str, RunsOnLines[Any]] = {operation.name: operation.call for operation in (COMPARE, PUT)}
