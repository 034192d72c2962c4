"""Every regular expression of the package, and how it is used. Run as a program, it prints them as JSON.

It is a program of its own because a pattern is seen where it is compiled, and other tests compile some before.
"""

import ast
import importlib
import json
import pkgutil
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

ANCHORED = frozenset({"match", "fullmatch"})  # methods that look at one place
EVERYWHERE = "finditer"  # stands for all methods that look further
NEEDS_EXTRA = ("memex.integrations.", "memex.evals.", "memex.__main__")

# In each language one text that has much of what the rules look for.
TEXTS = (
    "# Notes\n\n- On Monday, 3 May 2027 we meet Anna at 10 am. My pin is 4711; call +49 30 1234567.\n",
    "Am Montag, dem 3. Mai 2027, treffen wir Anna um 10 Uhr. Vergiss bitte meine alte Adresse.\n",
    "Lundi 3 mai 2027, nous voyons Anna à 10 heures. Oublie mon ancienne adresse, s'il te plaît.\n",
    "El lunes 3 de mayo de 2027 vemos a Anna a las 10. Olvida mi antigua dirección, por favor.\n",
)


@dataclass(frozen=True, slots=True)
class UsedPattern:
    """A pattern of texts.

    Attributes:
        module: where it is compiled, without `memex.`.
        name: of the variable that holds it; empty if it is part of something else, such as a table.
        text: the pattern.
        flags: with which it is compiled.
        methods: by which it is used.
    """

    module: str
    name: str
    text: str
    flags: int
    methods: tuple[str, ...]

    @property
    def compiled(self) -> re.Pattern[str]:
        """The pattern itself."""
        return re.compile(self.text, self.flags)


def all_patterns() -> list[UsedPattern]:
    """Return the patterns of all modules, those of each language included, in a fixed order."""
    ran = subprocess.run([sys.executable, "-m", __name__], capture_output=True, text=True, check=True)
    return [UsedPattern(**found | {"methods": tuple(found["methods"])}) for found in json.loads(ran.stdout)]


def _collect() -> list[UsedPattern]:
    """Load every module, read a text in each language, and note what is compiled meanwhile."""
    found: dict[tuple[str, int], UsedPattern] = {}
    compile_once = re._compile  # type: ignore[attr-defined]  # the one place that all calls pass

    def noting(pattern: object, flags: int) -> re.Pattern[str]:
        compiled: re.Pattern[str] = compile_once(pattern, flags)
        module, file, line = _caller()
        if module.startswith("memex.") and isinstance(compiled.pattern, str):
            name = _assigned(file, line)
            key = compiled.pattern, compiled.flags
            found[key] = UsedPattern(module.removeprefix("memex."), name, *key, _methods(file, name))
        return compiled

    re._compile = noting  # type: ignore[attr-defined]
    package = importlib.import_module("memex")
    for module in pkgutil.walk_packages(package.__path__, "memex."):
        if not module.name.startswith(NEEDS_EXTRA):
            importlib.import_module(module.name)
    read_each_language()
    found |= {(one.text, one.flags): one for one in _lazy_patterns()}
    return sorted(found.values(), key=lambda one: (one.module, one.name, one.text))


def _caller() -> tuple[str, str, int]:
    """Return module, file and line of the code that asked `re` for a pattern."""
    frame = sys._getframe(2)
    while frame.f_back is not None and frame.f_globals["__name__"] in {"re", "functools"}:
        frame = frame.f_back
    return frame.f_globals["__name__"], frame.f_globals.get("__file__") or "", frame.f_lineno


def read_each_language() -> None:
    """Let patterns be compiled that are made for a language, or at first use."""
    # Imported here: a module that is loaded before is not seen.
    from memex.store.search.analyzer import analyzer_of
    from memex.store.search.dates import parse_days, with_iso_days
    from memex.store.search.snippet import snippet
    from memex.subagent.context.intents import intent_of
    from memex.subagent.statements.comparison.holders import is_about_another
    from memex.subagent.statements.comparison.putting_right import correcting_spans
    from memex.subagent.statements.comparison.views import view
    from memex.subagent.statements.days.mentions import find_days
    from memex.subagent.statements.extraction import extract_statements
    from memex.subagent.statements.forgetting import find_forget_request
    from memex.subagent.work.ending.evidence import proves
    from memex.subagent.work.records import ToolEvent
    from memex.subagent.work.turns import SessionTurn, observe

    now, english = datetime(2027, 5, 1, tzinfo=UTC), analyzer_of("english")
    for text in TEXTS:
        extract_statements(text)
        find_forget_request(text)
        parse_days(text, now)
        with_iso_days(text, ())
        find_days(text, now.date())
        view(text, "note", english)
        snippet(text, ["anna"], english, max_chars=40)
        correcting_spans([(0, len(text))], text)
        is_about_another(text)
        intent_of(text)
        observe(SessionTurn("user", text, human_authored=True))
        proves(ToolEvent("command", now, command=text, succeeded=True))


def _lazy_patterns() -> Iterator[UsedPattern]:
    """Yield the patterns that are compiled at first use."""
    from memex.subagent.statements.secrets import forms, lock_codes, patterns, statement

    lazy = type(patterns.lazy_pattern(""))
    for form in forms._FORMS:
        yield UsedPattern(
            "subagent.statements.secrets.forms",
            form.kind,
            form.pattern.pattern,
            form.pattern.flags,
            (EVERYWHERE,),
        )
    for module in (statement, lock_codes):
        for name, value in vars(module).items():
            if isinstance(value, lazy):
                methods = _methods(module.__file__ or "", name)
                yield UsedPattern(
                    module.__name__.removeprefix("memex."), name, value.pattern, value.flags, methods
                )


def _assigned(file: str, line: int) -> str:
    """Return the variable of the module to which the statement at a line assigns a pattern; empty if none."""
    if not file:
        return ""
    for node in _module_tree(file).body:
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.lineno <= line <= (node.end_lineno or 0):
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            is_alone = isinstance(node.value, ast.Call) and ast.unparse(node.value.func) == "re.compile"
            return target.id if isinstance(target, ast.Name) and is_alone else ""
    return ""


def _methods(file: str, name: str) -> tuple[str, ...]:
    """Return by which methods a pattern is used: `finditer` for all that do not look at one place alone."""
    used = {method for one in _users(file, name) for method in _uses(one, name)} if name else set()
    return tuple(sorted(used)) if used and used <= ANCHORED else (EVERYWHERE,)


def _users(file: str, name: str) -> list[str]:
    """Return the modules that may use a name of a module."""
    if name.startswith("_"):
        return [file]
    root = Path(importlib.import_module("memex").__path__[0])
    return [str(one) for folder in (root, *_linked(root)) for one in folder.rglob("*.py")]


def _linked(root: Path) -> Iterator[Path]:
    """Yield the folders of the package that are links, into which `rglob` does not go."""
    return (one for one in root.iterdir() if one.is_symlink() and one.is_dir())


@cache
def _uses(file: str, name: str) -> frozenset[str]:
    """Return the methods of a name that a module calls; `finditer` where the name is passed on."""
    tree, found = _module_tree(file), set[str]()
    called = {id(one.value): one.attr for one in ast.walk(tree) if isinstance(one, ast.Attribute)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Load):
            found.add(called.get(id(node), EVERYWHERE))
    return frozenset(found)


@cache
def _module_tree(file: str) -> ast.Module:
    return ast.parse(Path(file).read_text(encoding="utf-8"))


if __name__ == "__main__":
    sys.stdout.write(json.dumps([asdict(one) for one in _collect()]))
