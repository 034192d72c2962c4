"""What MkDocs asks while it builds the site."""

from pathlib import Path
from typing import Any

# In this order where they are there; others follow by name.
FIRST = ("install", "clients", "mcp", "http", "python", "frameworks", "remote-cli")


def on_config(config: Any) -> Any:
    """Put every page of docs/guides into the navigation, so that a new one needs no second place."""
    docs = Path(config["docs_dir"])
    names = [page.stem for page in (docs / "guides").glob("*.md")]
    names.sort(key=lambda name: (FIRST.index(name) if name in FIRST else len(FIRST), name))
    pages = [f"guides/{name}.md" for name in names]
    for section in config["nav"]:
        if "Guides" in section:
            section["Guides"] = pages
    return config
