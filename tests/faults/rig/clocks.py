"""A clock that a test can set, for a process that is started with it: libfaketime."""

from pathlib import Path

LIBRARIES = (
    Path("/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1"),
    Path("/usr/lib/aarch64-linux-gnu/faketime/libfaketimeMT.so.1"),
)
CACHED_S = 1  # a process reads the file this often


def library() -> Path | None:
    """Return the library, None if it is not installed."""
    return next((path for path in LIBRARIES if path.is_file()), None)


def clock_environment(folder: Path) -> dict[str, str]:
    """Return the variables of a process whose clock `set_clock` sets; none without the library.

    Only the time of day jumps: timers go by the monotonic clock, as after a change of the time on a real machine.
    """
    if (found := library()) is None:
        return {}
    set_clock(folder, 0)
    return {
        "LD_PRELOAD": str(found),
        "FAKETIME_TIMESTAMP_FILE": str(_file(folder)),
        "FAKETIME_CACHE_DURATION": str(CACHED_S),
        "FAKETIME_DONT_FAKE_MONOTONIC": "1",
    }


def set_clock(folder: Path, seconds: int) -> None:
    """Set the clock so many seconds ahead of the real one, or back."""
    _file(folder).write_text(f"{seconds:+d}\n")


def _file(folder: Path) -> Path:
    return folder / "clock"
