"""The folder of runs, as a service reads it: nothing outside it, no link, no huge file, and nothing is written."""

import os
import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Lock

from memex.errors import FileNotFound, ValidationFailed
from memex.service.evals.run_documents import RunDocument, RunFile, parse_run
from memex.service.evals.runs import Run, RunSummary, RunTime, Status

MAX_RUN_BYTES = 16 << 20  # of one file
MAX_RUNS = 200  # the newest files that are looked at

_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+-]{0,199}")
_SUFFIX = ".json"


class _CaseHead(RunDocument):
    status: Status


class _RunHead(RunFile):
    """What a list shows of a run; the contexts of its cases are not kept in memory."""

    suite: str
    started_at: RunTime
    planner: str
    cases: tuple[_CaseHead, ...]


@dataclass(frozen=True, slots=True)
class PassedOverFile:
    """A file of the folder that is no run of cases, and why it is not shown."""

    name: str
    reason: str


@dataclass(frozen=True, slots=True)
class FolderListing:
    """The runs of a folder, and the files that are passed over; `more` files are older than those looked at."""

    runs: tuple[RunSummary, ...] = ()
    passed_over: tuple[PassedOverFile, ...] = ()
    more: int = 0


class RunFolder:
    """The folder in which runs are kept; it need not be there."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._heads: dict[str, tuple[tuple[int, int, int], RunSummary | PassedOverFile]] = {}
        self._lock = Lock()

    def list(self) -> FolderListing:
        """Return the runs of the newest files. A file that has not changed since is not read again."""
        with self._lock, self._opened() as folder:
            if folder is None:
                return FolderListing()
            found = sorted(_candidates(folder), key=lambda one: (-one[1].st_mtime_ns, one[0]))
            heads = {name: self._head(folder, name, state) for name, state in found[:MAX_RUNS]}
            self._heads = heads
        shown = [head for _, head in heads.values()]
        return FolderListing(
            tuple(head for head in shown if isinstance(head, RunSummary)),
            tuple(head for head in shown if isinstance(head, PassedOverFile)),
            more=max(0, len(found) - MAX_RUNS),
        )

    def read(self, run_id: str) -> Run:
        """Return the run that the file of this name holds.

        Raises:
            FileNotFound: there is no such file, or it is no plain file.
            ValidationFailed: it is too large, or holds no run of cases.
        """
        with self._opened() as folder:
            if folder is None or not _NAME.fullmatch(run_id):
                raise no_run(run_id)
            try:
                content = _read(folder, run_id + _SUFFIX)
            except OSError:
                raise no_run(run_id) from None
        return parse_run(content, run_id, Run).model_copy(update={"run_id": run_id})

    @contextmanager
    def _opened(self) -> Iterator[int | None]:
        """The folder, opened once, so that it stays the same folder; None if there is none."""
        try:
            folder = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY)
        except OSError:
            yield None
            return
        try:
            yield folder
        finally:
            os.close(folder)

    def _head(
        self, folder: int, name: str, state: os.stat_result
    ) -> tuple[tuple[int, int, int], RunSummary | PassedOverFile]:
        key = (state.st_ino, state.st_mtime_ns, state.st_size)
        known = self._heads.get(name)
        return known if known is not None and known[0] == key else (key, _summary(folder, name))


def no_run(run_id: str) -> FileNotFound:
    """Return the error of a name that is no run's."""
    return FileNotFound(
        f"There is no run {run_id[:200]!r}.",
        hint="List the runs: GET /v1/admin/evals/runs, or `memex eval runs`.",
    )


def _candidates(folder: int) -> Iterator[tuple[str, os.stat_result]]:
    with os.scandir(folder) as entries:
        for entry in entries:
            if not entry.name.endswith(_SUFFIX):
                continue
            try:
                state = entry.stat(follow_symlinks=False)
            except OSError:
                continue
            if stat.S_ISREG(state.st_mode):
                yield entry.name, state


def _summary(folder: int, name: str) -> RunSummary | PassedOverFile:
    run_id = name.removesuffix(_SUFFIX)
    if not _NAME.fullmatch(run_id):
        return PassedOverFile(name.encode(errors="replace").decode(), "the name is none of a run")
    try:
        head = parse_run(_read(folder, name), run_id, _RunHead)
    except OSError as error:
        return PassedOverFile(name, f"it cannot be read: {error.strerror}")
    except ValidationFailed as error:
        return PassedOverFile(name, error.message)
    statuses = [case.status for case in head.cases]
    return RunSummary(
        run_id=run_id,
        suite=head.suite,
        started_at=head.started_at,
        planner=head.planner,
        cases=len(statuses),
        passed=sum(status in ("passed", "fixed") for status in statuses),
        failed=statuses.count("failed"),
        where="folder",
    )


def _read(folder: int, name: str) -> bytes:
    """Return the content of a plain file; raises OSError for a link, and ValidationFailed for a huge file."""
    file = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=folder)
    with os.fdopen(file, "rb") as opened:
        if not stat.S_ISREG(os.fstat(file).st_mode):
            raise OSError(0, "it is no plain file")
        content = opened.read(MAX_RUN_BYTES + 1)
    if len(content) > MAX_RUN_BYTES:
        raise ValidationFailed(
            f"{name} is larger than {MAX_RUN_BYTES >> 20} MiB.", hint="Run fewer cases at a time."
        )
    return content
