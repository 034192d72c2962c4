"""Progress bars for long work."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

Progress = Callable[[str, int, int], None]


@contextmanager
def progress_bar() -> Iterator[Progress]:
    """Return a function that shows a progress bar on stderr, if stderr is a terminal.

    Its arguments are the name of the work, how much is done, and the total.
    """
    if not sys.stderr.isatty():
        yield lambda _what, _done, _total: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(file=sys.stderr), transient=True) as bar:
        tasks: dict[str, Any] = {}

        def show(what: str, done: int, total: int) -> None:
            if what not in tasks:
                tasks[what] = bar.add_task(what, total=total)
            bar.update(tasks[what], completed=done, visible=done < total)

        yield show


@contextmanager
def counting_bar(what: str, total: int) -> Iterator[Callable[[int], None]]:
    """Return a function that shows one bar; its argument is how many more of `total` are done."""
    with progress_bar() as show:
        done = 0
        show(what, done, total)

        def count(more: int) -> None:
            nonlocal done
            done += more
            show(what, done, total)

        yield count


@contextmanager
def rising_count(text: str) -> Iterator[Callable[[int], None]]:
    """Return a function that counts on stderr what is done of work whose total is unknown.

    Its argument is how many more are done. `text` shows the count, such as `"Read {:,} messages"`. Nothing is
    shown if stderr is no terminal.
    """
    with _status_line(text.format(0)) as show:
        done = 0

        def count(more: int) -> None:
            nonlocal done
            done += more
            show(text.format(done))

        yield count


@contextmanager
def counting_files(text: str) -> Iterator[tuple[Callable[[int], None], Callable[[int, int], None]]]:
    """Return functions that show on stderr how far an import is: by more messages, and by files of all.

    `text` shows three numbers: messages, files that are done, and all files.
    """
    counted = [0, 0, 0]
    with _status_line(text.format(*counted)) as show:

        def count(more: int) -> None:
            counted[0] += more
            show(text.format(*counted))

        def file(done: int, total: int) -> None:
            counted[1:] = done, total
            show(text.format(*counted))

        yield count, file


@contextmanager
def _status_line(text: str) -> Iterator[Callable[[str], None]]:
    """Return a function that shows a text beside the time that has passed, if stderr is a terminal."""
    if not sys.stderr.isatty():
        yield lambda _text: None
        return
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False), TimeElapsedColumn())
    with Progress(*columns, console=Console(file=sys.stderr), transient=True) as bar:
        task = bar.add_task(text, total=None)
        yield lambda shown: bar.update(task, description=shown)
