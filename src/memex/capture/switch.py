"""Capture is turned on, paused, and kept out of folders; and what there is to know about it on this machine."""

import json
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from memex.errors import ValidationFailed
from memex.hook.packs import GIVEN, PACK_FILE
from memex.hook.state import (
    DELIVERED,
    DROPPED,
    NOT_HERE,
    PAUSED,
    SETTINGS,
    SPOOL,
    TRANSCRIPTS,
    WHY_OFF,
    CaptureState,
    state_folder,
)
from memex.projects.detection import detect_project


@dataclass(frozen=True, slots=True)
class CaptureSettings:
    """Settings for the delivery of events, in a file that only the user can read, since it may hold a key.

    Attributes:
        url: of a service; None to use the Memex of this machine.
        key: for the service; None to use MEMEX_API_KEY of the agent's environment.
        user: whose conversations they are, if the key does not say it.
        data_dir: of the Memex of this machine, if it is not the default one.
        everywhere: capture also in folders without a project.
        prompts: give a changed pack with a prompt too.
        deliver: the command that is Memex.
        clients: those that `memex setup` turned it on for.
    """

    url: str | None = None
    key: str | None = None
    user: str | None = None
    data_dir: str | None = None
    everywhere: bool = False
    prompts: bool = False
    deliver: tuple[str, ...] = ()
    clients: tuple[str, ...] = ()

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> "CaptureSettings":
        """Return the settings of a file; what is of another type is left out."""
        taken: dict[str, Any] = {}
        for field in fields(cls):
            value = given.get(field.name)
            if isinstance(field.default, tuple):
                value = tuple(map(str, value)) if isinstance(value, list) else None
            if isinstance(value, str if field.default is None else type(field.default)):
                taken[field.name] = value
        return cls(**taken)

    def document(self) -> dict[str, Any]:
        """Return the settings as the file has them."""
        return {name: value for name, value in asdict(self).items() if value is not None}


def open_state() -> CaptureState:
    """Return the state of capture of this user; raises ValidationFailed if its folder is not the user's own."""
    with usable_state() as state:
        return state


@contextmanager
def usable_state() -> Iterator[CaptureState]:
    """Give the state of capture of this user; raises ValidationFailed where the system refuses a change of it."""
    try:
        yield CaptureState(state_folder())
    except OSError as error:
        raise ValidationFailed(
            f"The state of capture cannot be kept: {error}.",
            hint="The folder of the state of capture must belong to you, and have room; see XDG_STATE_HOME.",
        ) from None


def read_settings(state: CaptureState) -> CaptureSettings | None:
    """Return the settings, None if capture was never turned on."""
    given = state.read_json(SETTINGS)
    return CaptureSettings.of(given) if given else None


def turn_on(state: CaptureState, settings: CaptureSettings) -> None:
    """Write the settings: from now on, `memex-hook` notes events."""
    state.write(SETTINGS, json.dumps(settings.document()).encode())


def turn_off(state: CaptureState) -> None:
    """Forget the settings and the packs on disk; what waits in the spool stays for a delivery by hand."""
    state.remove(SETTINGS)
    _remove_packs(state)
    state.remove(GIVEN)


def pause(state: CaptureState) -> None:
    """Note nothing from now on. Sessions that go on meanwhile are not captured afterwards either."""
    state.write(PAUSED, b"")


def resume(state: CaptureState) -> None:
    """Note events again."""
    state.remove(PAUSED)


def exclude(state: CaptureState, folder: Path) -> None:
    """Note nothing in a folder and below it, and forget the packs of these folders."""
    named = str(folder.resolve())
    if "\n" in named:
        raise ValidationFailed("The name of the folder has a line break.", hint="Name its parent folder.")
    kept = sorted({*state.folders_off(), named})
    state.write(NOT_HERE, "".join(f"{path}\n" for path in kept).encode())
    _remove_packs(state, named)


def _remove_packs(state: CaptureState, folder: str | None = None) -> None:
    """Remove the packs on disk: all, or those of a folder and of what is below it."""
    for name in state.files():
        if not name.startswith(PACK_FILE):
            continue
        cwd = Path(str(state.read_json(name).get("cwd") or ""))
        if folder is None or cwd.is_relative_to(folder):
            state.remove(name)


def include(state: CaptureState, folder: Path) -> None:
    """Note events in a folder again; raises ValidationFailed if the folder itself is not excluded."""
    named = str(folder.resolve())
    known = state.folders_off()
    if named not in known:
        raise ValidationFailed(
            f"{named} is not left out.", hint=f"Left out are: {', '.join(known) or 'no folders'}."
        )
    state.write(NOT_HERE, "".join(f"{path}\n" for path in known if path != named).encode())


def local_status(state: CaptureState) -> dict[str, Any]:
    """Return what this machine knows of capture: switches, what waits, and the last delivery."""
    settings = read_settings(state)
    waiting = state.read(SPOOL, 1 << 30)
    return {
        "on": settings is not None,
        "paused": state.exists(PAUSED),
        "not_here": state.folders_off(),
        "off": [
            {"session": key, "why": told[0], "folder": told[1]}
            for key, told in state.read_json(WHY_OFF).items()
            if isinstance(told, list) and len(told) == 2 and key in state.sessions_off()
        ],
        "folders": [_decided(folder) for folder in state.read_json(TRANSCRIPTS)],
        "everywhere": bool(settings and settings.everywhere),
        "prompts": bool(settings and settings.prompts),
        "url": settings.url if settings else None,
        "waiting": {"events": waiting.count(b"\n"), "bytes": len(waiting)},
        "dropped": state.read_json(DROPPED) or None,
        "delivered": state.read_json(DELIVERED) or None,
    }


def _decided(folder: str) -> dict[str, Any]:
    """Return which project a folder is of, as a session that begins there is told."""
    found = detect_project(Path(folder))
    return {
        "folder": folder,
        "label": found.label if found else "",
        "project": found.slug if found else None,
        "unconfirmed": found.unconfirmed if found else "",
    }


def memex_command() -> tuple[str, ...]:
    """Return the command by which a detached process starts Memex, which may not have the shell's PATH."""
    beside = Path(sys.executable).with_name("memex")
    return (str(beside),) if os.access(beside, os.X_OK) else (sys.executable, "-P", "-m", "memex")
