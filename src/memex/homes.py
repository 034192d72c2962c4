"""The folders where programs keep their settings."""

import os
import sys
from pathlib import Path


def home(variable: str, name: str) -> Path:
    """Return the folder that a variable of the environment names, else that of this name in the user's."""
    return Path(os.environ.get(variable) or Path.home() / name)


def config_home() -> Path:
    """Return the folder of settings by the custom of XDG."""
    return _xdg_folder("XDG_CONFIG_HOME", ".config")


def state_home() -> Path:
    """Return the folder of what programs remember by the custom of XDG."""
    return _xdg_folder("XDG_STATE_HOME", ".local/state")


def applications() -> Path:
    """Return the folder where programs keep the settings of the user, by the system's custom."""
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support"
    if sys.platform == "win32":
        return Path(os.environ.get("APPDATA") or Path.home() / "AppData" / "Roaming")
    return config_home()


def _xdg_folder(variable: str, name: str) -> Path:
    """Return the folder that a variable names; a relative path is none, or a repository could hold the folder."""
    named = Path(os.environ.get(variable) or "")
    return named if named.is_absolute() else Path.home() / name
