"""Measure how many secrets are found, and how many ordinary lines are taken for one."""

import random
import tarfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from memex.errors import ValidationFailed
from memex.evals.secrets.samples import SEED, Sample, samples
from memex.subagent.statements.secrets.finding import find_secrets

LIBRARY = "kingfisher_sdk"  # of the distribution kingfisher-secret-scanner
LINES = 4_000
MIN_LINES = 2_000
MIN_LINE_CHARS = 12
WANTED_FOUND = 0.97
WANTED_FALSE_HITS = 0.005

Span = tuple[int, int]
Finder = Callable[[str], Iterable[Span]]


@dataclass(frozen=True, slots=True)
class SecretsMeasure:
    """The results of one finder: shares of the secrets in the two halves, and of ordinary lines."""

    finder: str
    tuned: float
    held_out: float
    false_hits: float
    missed: dict[str, int]  # by kind

    @property
    def is_good_enough(self) -> bool:
        """Return whether it finds enough in both halves, and takes few lines for a secret."""
        return min(self.tuned, self.held_out) >= WANTED_FOUND and self.false_hits <= WANTED_FALSE_HITS


@dataclass(frozen=True, slots=True)
class SecretsRun:
    """The finders over the same texts."""

    secrets: int
    kinds: int
    lines: int
    measures: list[SecretsMeasure]


def run(root: Path, *, seed: int = SEED) -> SecretsRun:
    """Measure Memex, and the library kingfisher-secret-scanner where it is installed.

    Args:
        root: the folder of the data, whose vaults give the ordinary lines.
        seed: of the made-up secrets and of the choice of lines.

    Raises:
        ValidationFailed: the vaults have too few lines.
    """
    made, lines = list(samples(seed)), ordinary_lines(root, seed)
    measures = [_measure(name, finder, made, lines) for name, finder in _finders()]
    return SecretsRun(len(made), len({sample.kind for sample in made}), len(lines), measures)


def ordinary_lines(root: Path, seed: int) -> list[str]:
    """Return different lines of the public vaults, chosen by the seed."""
    found = {line for path in sorted((root / "vaults").glob("*.tar.gz")) for line in _lines(path)}
    if len(found) < MIN_LINES:
        raise ValidationFailed(
            f"The vaults hold {len(found):,} lines; {MIN_LINES:,} are needed.",
            hint="Put archives of Markdown files into the folder vaults of the data.",
        )
    rng = random.Random(seed)  # noqa: S311  # no secret of anybody's
    return rng.sample(sorted(found), min(LINES, len(found)))


def _lines(path: Path) -> Iterator[str]:
    with tarfile.open(path) as archive:
        for member in archive:
            file = archive.extractfile(member) if member.name.endswith(".md") else None
            text = file.read().decode(errors="replace") if file else ""
            yield from (line for line in text.splitlines() if len(line) >= MIN_LINE_CHARS)


def _finders() -> Iterator[tuple[str, Finder]]:
    yield "memex", lambda text: [(secret.start, secret.end) for secret in find_secrets(text)]
    if find_spec(LIBRARY):
        scanner = import_module(LIBRARY).Scanner()
        yield "kingfisher-secret-scanner", lambda text: _scan(scanner, text)


def _scan(scanner: Any, text: str) -> Iterator[Span]:
    """Yield where the library finds secrets, which counts in bytes."""
    data = text.encode()
    scanner.reset_dedup()
    for finding in scanner.scan(data):
        if finding.visible:
            start, end = finding.location["start_offset"], finding.location["end_offset"]
            yield len(data[:start].decode(errors="ignore")), len(data[:end].decode(errors="ignore"))


def _measure(name: str, finder: Finder, made: list[Sample], lines: list[str]) -> SecretsMeasure:
    missed: dict[str, int] = {}
    halves: dict[bool, list[bool]] = {False: [], True: []}
    for sample in made:
        is_found = _covers(finder(sample.text), sample)
        halves[sample.is_held_out].append(is_found)
        if not is_found:
            missed[sample.kind] = missed.get(sample.kind, 0) + 1
    hits = sum(bool(list(finder(line))) for line in lines)
    tuned, held_out = (sum(half) / len(half) for half in (halves[False], halves[True]))
    return SecretsMeasure(name, tuned, held_out, hits / len(lines), missed)


def _covers(spans: Iterable[Span], sample: Sample) -> bool:
    """Return whether each line of a secret lies in what was found."""
    found = list(spans)
    for piece in sample.pieces:
        start = sample.text.find(piece)
        if not any(a <= start and start + len(piece) <= b for a, b in found):
            return False
    return True
