"""Print the structure of the source in numbers. `make structure` runs it.

Another checkout is measured with `--root DIR`, by the interpreter of that checkout if calls are to be traced:

    cd DIR && .venv/bin/python path/to/tests/structure --root .
"""

import argparse
from collections.abc import Iterator, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path

from counts import LONG_LINES, OPERATIONS, PACKAGE, Module, Source, Walk, median_length, walks
from traced import traced_calls

MAX_SHOWN = 8
NOT_WALKED = Walk((), ())


def main() -> None:
    """Print all tables."""
    parser = argparse.ArgumentParser(description="Print the structure of the source in numbers.")
    parser.add_argument(
        "--root", type=Path, default=Path(__file__).parents[2], help="the checkout (this one)"
    )
    parser.add_argument("--static", action="store_true", help="trace no calls")
    parser.add_argument("--modules", action="store_true", help="name the modules of each traced call")
    arguments = parser.parse_args()
    source = Source.read(arguments.root)
    for line in _report(source, is_traced=not arguments.static, is_long=arguments.modules):
        print(line, flush=True)  # noqa: T201


def _report(source: Source, *, is_traced: bool, is_long: bool) -> Iterator[str]:
    yield f"{len(source.modules)} modules, {_lines(list(source.modules.values())):,} lines"
    if is_traced and _imported_package() == (source.root / "src" / PACKAGE).resolve():
        yield from _calls(source, is_long=is_long)
    elif is_traced:
        yield "No call is traced, because this interpreter imports another checkout. See --help."
    yield from _modules(source)
    yield from _classes(source)
    circles = source.circles()
    yield f"\n## Circles of imports: {len(circles)}\n"
    yield from ("  " + " ⇄ ".join(circle) for circle in circles)


def _calls(source: Source, *, is_long: bool) -> Iterator[str]:
    """Yield a row for each tool, and then what the walk-through and the call do not agree on."""
    walked = walks(source, source.root / "docs" / "architecture.md")
    traced = traced_calls()
    called = {tool: [source.by_path[file] for file in sorted(call.files)] for tool, call in traced.items()}
    yield "\n## Modules of one call over HTTP, and those that docs/architecture.md names for it\n"
    yield (
        f"{'tool':<18} {'run':>4} {'lines':>7} {'functions':>9} {'switches':>8}  "
        f"{'named':>6} {'lines':>6}  named, a long one twice"
    )
    for tool, modules in called.items():
        walk = walked.get(tool)
        named = f"{len(walk.modules):>6} {_lines(walk.modules):>6,}  {walk.weight}" if walk else f"{'–':>6}"
        ran = f"{len(traced[tool].functions):>9,} {traced[tool].switches:>8,}"
        yield f"{tool:<18} {len(modules):>4} {_lines(modules):>7,} {ran}  {named}"
    for tool, modules in called.items():
        walk = walked.get(tool, NOT_WALKED)
        yield from (f"{tool}: the page names {path}, which is no module" for path in walk.missing)
        yield from (
            f"{tool}: the page names {source.shown(one)}, which did not run"
            for one in walk.modules
            if one not in modules
        )
        if is_long:
            yield f"\n{tool} runs (* is named):"
            yield from (
                f"{one.lines:>5} {'*' if one in walk.modules else ' '} {source.shown(one)}" for one in modules
            )


def _modules(source: Source) -> Iterator[str]:
    yield "\n## Fullest folders, in modules without __init__.py\n"
    yield from _most(source.folders())
    yield "\n## Largest modules, in lines\n"
    yield from _most(source.largest())
    long = [one for one in source.modules.values() if one.lines > LONG_LINES]
    yield f"{len(long):>5}  modules have more than {LONG_LINES} lines"
    lengths = source.function_lengths()
    yield "\n## Functions, in lines\n"
    yield f"{len(lengths):,} functions, median {median_length(lengths):g}, longest {max(lengths)}"


def _classes(source: Source) -> Iterator[str]:
    yield "\n## Classes that define each operation of a memory\n"
    for operation in OPERATIONS:
        classes = source.classes_of(operation)
        yield f"{operation:<13} {len(classes):>3}  {', '.join(one.rpartition(':')[2] for one in classes)}"
    repeated = source.repeated_class_names()
    yield f"\n## Public class names that occur twice or more: {len(repeated)}\n"
    yield from (f"{name:<18} {', '.join(places)}" for name, places in repeated.items())


def _most(counts: Mapping[str, int]) -> Iterator[str]:
    return (f"{count:>5,}  {name}" for name, count in list(counts.items())[:MAX_SHOWN])


def _lines(modules: Sequence[Module]) -> int:
    return sum(one.lines for one in modules)


def _imported_package() -> Path | None:
    """Return the folder from which this interpreter would import the package."""
    spec = find_spec(PACKAGE)
    return Path(spec.origin).resolve().parent if spec and spec.origin else None


main()
