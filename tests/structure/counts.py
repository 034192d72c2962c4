"""What the structure of the source is in numbers, read from its syntax trees; nothing is imported."""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from statistics import median

PACKAGE = "memex"
# The operations of a memory, each of which should be written in few places.
OPERATIONS = ("execute", "revert", "operations", "operation", "replay", "catalogue", "prompt_block")
# A module of more lines than this counts twice among those that a reader has to read.
LONG_LINES = 350

Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Module:
    """One module of the package: its dotted name, its file without symbolic links, its text."""

    name: str
    path: Path
    text: str

    @property
    def lines(self) -> int:
        """The number of lines."""
        return len(self.text.splitlines())

    @cached_property
    def tree(self) -> ast.Module:
        """The syntax tree."""
        return ast.parse(self.text)

    @property
    def classes(self) -> Iterator[ast.ClassDef]:
        """The classes at the top of the module."""
        return (node for node in self.tree.body if isinstance(node, ast.ClassDef))

    @property
    def function_lengths(self) -> list[int]:
        """The lines of each function and method, with its docstring and without its decorators."""
        return [
            (node.end_lineno or node.lineno) - node.lineno + 1
            for node in ast.walk(self.tree)
            if isinstance(node, Function)
        ]


@dataclass(frozen=True)
class Source:
    """The package of one checkout: `root` is the checkout, `modules` are by their dotted names."""

    root: Path
    modules: Mapping[str, Module]

    @classmethod
    def read(cls, root: Path) -> "Source":
        """Read all modules of the package, also those that `src/memex` holds as links."""
        root = root.resolve()
        package = root / "src" / PACKAGE
        found = {}
        for path in _python_files(package):
            parts = path.relative_to(package.parent).with_suffix("").parts
            name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
            found[name] = Module(name, path.resolve(), path.read_text(encoding="utf-8"))
        return cls(root, dict(sorted(found.items())))

    @cached_property
    def by_path(self) -> dict[Path, Module]:
        """The modules by their files."""
        return {module.path: module for module in self.modules.values()}

    def shown(self, module: Module) -> str:
        """Return the file of a module, relative to the checkout."""
        return module.path.relative_to(self.root).as_posix()

    def module_at(self, path: str) -> Module | None:
        """Return the module of a path that a page names, from the checkout's root or from `src/memex`."""
        places = (self.root / path, self.root / "src" / PACKAGE / path)
        return next(
            (self.by_path[place.resolve()] for place in places if place.resolve() in self.by_path), None
        )

    def folders(self) -> dict[str, int]:
        """Return the number of modules in each folder, the fullest first; `__init__.py` does not count."""
        counts: defaultdict[str, int] = defaultdict(int)
        for module in self.modules.values():
            if module.path.name != "__init__.py":
                counts[module.path.parent.relative_to(self.root).as_posix()] += 1
        return _most_first(counts)

    def largest(self) -> dict[str, int]:
        """Return the number of lines of each module, the largest first."""
        return _most_first({self.shown(module): module.lines for module in self.modules.values()})

    def function_lengths(self) -> list[int]:
        """Return the lines of every function."""
        return [length for module in self.modules.values() for length in module.function_lengths]

    def classes_of(self, operation: str) -> list[str]:
        """Return the classes that define a method of this name, as `folder/module.py:Class`."""
        return [
            f"{self.shown(module)}:{node.name}"
            for module in self.modules.values()
            for node in ast.walk(module.tree)
            if isinstance(node, ast.ClassDef)
            and any(isinstance(one, Function) and one.name == operation for one in node.body)
        ]

    def repeated_class_names(self) -> dict[str, list[str]]:
        """Return the public class names that more than one module defines, with the files."""
        places: defaultdict[str, list[str]] = defaultdict(list)
        for module in self.modules.values():
            for node in module.classes:
                if not node.name.startswith("_"):
                    places[node.name].append(self.shown(module))
        return {name: where for name, where in sorted(places.items()) if len(where) > 1}

    def imports(self) -> dict[str, set[str]]:
        """Return the modules that each module imports: at its top, in functions and under TYPE_CHECKING."""
        return {name: set(self._imported(module)) - {name} for name, module in self.modules.items()}

    def circles(self) -> list[list[str]]:
        """Return the groups of modules that import each other, directly or through others."""
        graph = self.imports()
        reached = {name: _reached(graph, name) for name in graph}
        groups = {
            frozenset(other for other in reached[name] if name in reached[other])
            for name in graph
            if name in reached[name]
        }
        return sorted(sorted(group) for group in groups)

    def _imported(self, module: Module) -> Iterator[str]:
        for node in ast.walk(module.tree):
            if isinstance(node, ast.Import):
                yield from (alias.name for alias in node.names if alias.name in self.modules)
            elif isinstance(node, ast.ImportFrom) and node.module in self.modules:  # none is relative
                inner = {f"{node.module}.{alias.name}" for alias in node.names}
                yield from (name if name in self.modules else str(node.module) for name in inner)


@dataclass(frozen=True)
class Walk:
    """The modules that a page names for one tool, in the order of a call.

    Attributes:
        modules: that the page names.
        missing: paths on the page that no module has.
    """

    modules: Sequence[Module]
    missing: Sequence[str]

    @property
    def weight(self) -> int:
        """The number of modules, where a long one counts twice."""
        return sum(2 if module.lines > LONG_LINES else 1 for module in self.modules)


def walks(source: Source, page: Path) -> dict[str, Walk]:
    """Return the walk of each tool that a page describes.

    A walk is a heading that names the tool, and below it numbered lines that begin with the path of a module:

        ## A context: `memory_context`

        1. `src/memex/http/tools.py`: parses the request.
    """
    paths: dict[str, dict[str, None]] = {}
    tool, fenced = "", False
    for line in page.read_text(encoding="utf-8").splitlines() if page.exists() else ():
        fenced ^= line.startswith("```")
        if not fenced and line.startswith("#"):
            named = re.search(r"\bmemory_[a-z]+\b", line)
            tool = named[0] if named else ""
        step = re.match(r"\d+\. `([^`]+\.py)`", line)
        if tool and step and not fenced:
            paths.setdefault(tool, {})[step[1]] = None
    found = {tool: {path: source.module_at(path) for path in steps} for tool, steps in paths.items()}
    return {
        tool: Walk(
            [module for module in steps.values() if module], [path for path, at in steps.items() if not at]
        )
        for tool, steps in found.items()
    }


def median_length(lengths: Sequence[int]) -> float:
    """Return the median, 0 of none."""
    return float(median(lengths)) if lengths else 0.0


def _python_files(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.iterdir()):
        if path.is_dir():
            yield from _python_files(path)
        elif path.suffix == ".py":
            yield path


def _most_first(counts: Mapping[str, int]) -> dict[str, int]:
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))


def _reached(graph: Mapping[str, set[str]], start: str) -> set[str]:
    """Return what can be reached from a node by one step or more; itself only where a way leads back."""
    seen: set[str] = set()
    waiting = list(graph[start])
    while waiting:
        name = waiting.pop()
        if name not in seen:
            seen.add(name)
            waiting.extend(graph[name])
    return seen
