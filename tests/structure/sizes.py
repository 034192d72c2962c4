"""Count lines of Python by room, and bytes of the tables that users install. `make count` runs it.

Tracked files alone are counted. Another checkout is measured with `--root DIR`.
"""

import argparse
import ast
import subprocess
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from hatchling.builders.wheel import WheelBuilder

PRODUCT = ("src", "subagent", "store", "prompts")
TABLES = (".tsv", ".yaml", ".npz", ".gz", ".json")
LINKED = ("evals", "prompts", "store", "subagent")  # by src/memex


@dataclass(frozen=True, slots=True)
class Tree:
    """The tracked files of a checkout, and which of them its wheel holds; paths start at the root."""

    root: Path
    tracked: frozenset[str]
    installed: frozenset[str]

    @classmethod
    def read(cls, root: Path) -> "Tree":
        """Return the files of a checkout."""
        root = root.resolve()
        listed = subprocess.run(
            ["git", "ls-files", "-z"], cwd=root, capture_output=True, text=True, check=True
        )
        tracked = frozenset(name for name in listed.stdout.split("\0") if (root / name).is_file())
        included = WheelBuilder(str(root)).recurse_included_files()
        places = {Path(file.path).resolve().relative_to(root).as_posix() for file in included}
        return cls(root, tracked, tracked & places)

    def lines(self) -> Counter[str]:
        """Return the lines of Python of each room."""
        found: Counter[str] = Counter()
        for name in self.tracked:
            if name.endswith(".py") and (room := self._room(name)):
                found[room] += (self.root / name).read_bytes().count(b"\n")
        return found

    def table_bytes(self) -> Counter[str]:
        """Return the bytes of the installed tables: of the product, and of the evals."""
        found: Counter[str] = Counter()
        for name in self.installed:
            if name.endswith(TABLES):
                found["evals" if name.startswith("evals/") else "product"] += (
                    (self.root / name).stat().st_size
                )
        return found

    def absent_imports(self) -> list[str]:
        """Return the imports of installed modules, anywhere in them, that lead to what is not installed."""
        modules = {_module(name): name for name in self.tracked if name.endswith(".py")}
        absent = {module for module, name in modules.items() if module and name not in self.installed}
        return [
            f"{name} imports {module}"
            for name in sorted(self.installed)
            if name.endswith(".py")
            for module in _imported((self.root / name).read_text(encoding="utf-8"))
            if module in absent
        ]

    def _room(self, name: str) -> str | None:
        top = name.split("/", maxsplit=1)[0]
        if top == "evals":
            return "installed evals" if name in self.installed else "other evals"
        return "product" if top in PRODUCT else "tests" if top == "tests" else None


def _module(name: str) -> str:
    """Return the full name of a module of the package; an empty one for a file beside it."""
    if not name.startswith(("src/memex/", *(f"{folder}/" for folder in LINKED))):
        return ""
    inside = name.removeprefix("src/memex/").removesuffix(".py").removesuffix("/__init__")
    return f"memex.{inside.replace('/', '.')}"


def _imported(text: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description="Count lines of Python, and bytes of installed tables.")
    parser.add_argument(
        "--root", type=Path, default=Path(__file__).parents[2], help="the checkout (this one)"
    )
    tree = Tree.read(parser.parse_args().root)
    lines, tables = tree.lines(), tree.table_bytes()
    print("Python, in lines")
    for room in ("product", "installed evals", "other evals", "tests"):
        print(f"  {room:<16} {lines[room]:>10,}")
    print("Installed tables, in bytes")
    for name, size in [*sorted(tables.items(), reverse=True), ("together", tables.total())]:
        print(f"  {name:<16} {size:>10,}")


if __name__ == "__main__":
    main()
