"""The folders where programs keep their settings."""

import os
import sys
from pathlib import Path


def home(variable: str, name: str) -> Path:
    """Return the folder that a variable of the environment names, else that of this name in the user's."""
    return Path(os.environ.get(variable) or Path.home() / name)


def config_home() -> Path:
    """Return the folder of settings by the custom of XDG."""
    return home("XDG_CONFIG_HOME", ".config")


def applications() -> Path:
    """Return the folder where programs keep the settings of the user, by the system's custom."""
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support"
    if sys.platform == "win32":
        return Path(os.environ.get("APPDATA") or Path.home() / "AppData" / "Roaming")
    return config_home()
