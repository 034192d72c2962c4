"""What must not leave: addresses, numbers, keys and names, replaced alike wherever they stand. Pure.

A placeholder says of what kind the value was, and the same value has the same one in all texts: `<email-1>`. Where
matches overlap, all of them go.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, model_validator

from memex.errors import ValidationFailed
from memex.evals.states import read_yaml
from memex.service.tool import told
from memex.subagent import secrets

Finder = Callable[[str], Iterable[tuple[int, int]]]

SUFFIX = ".md"
_DOMAIN = re.compile(r"@[\w-]+(?:\.[\w-]+)+")
_IP = re.compile(r"(?<![\w.:])[0-9A-Fa-f:.]{7,45}(?<![.:])(?![\w:])")
_PHONE = re.compile(
    r"(?<![\w.@/#:+-])(?:"
    r"(?:\+\d{1,3}[ .-]?|\(?0\d{1,4}\)?[ ./-]?)(?:\(?\d{1,4}\)?[ .-]?){1,5}\d{2,4}"
    r"|\(?\d{3}\)?[ .-]\d{3}[ .-]\d{4}"
    r")(?![\w:-])"
)
_DAY = re.compile(r"\d{1,2}([./-])\d{1,2}\1\d{2,4}")
PHONE_DIGITS = range(7, 16)


class Replacement(BaseModel):
    """A replacement of one's own: a literal text or a regular expression, by a kind of placeholder or by a text."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)

    literal: Annotated[str, Field(min_length=1)] | None = None
    regex: re.Pattern[str] | None = None
    kind: Annotated[str, Field(pattern=r"^[\w-]{1,40}$")] | None = Field(None, alias="as")
    text: str | None = Field(None, alias="with")

    @model_validator(mode="after")
    def _is_one(self) -> "Replacement":
        if (self.literal is None) is (self.regex is None):
            raise ValueError("takes either literal or regex")
        if (self.kind is None) is (self.text is None):
            raise ValueError("takes either as, a kind of placeholder, or with, a text")
        return self

    def find(self, text: str) -> Iterator[tuple[int, int]]:
        """Yield where it stands in a text."""
        pattern = self.regex or re.compile(re.escape(self.literal or ""))
        return (match.span() for match in pattern.finditer(text) if match[0])


@dataclass(frozen=True, slots=True)
class _Rule:
    kind: str
    find: Finder
    text: str | None = None


class Redactor:
    """Replaces values by placeholders, and remembers both.

    Args:
        own: replacements besides those of addresses, numbers and keys.
        is_on: False to leave everything as it is.
    """

    def __init__(self, own: Sequence[Replacement] = (), *, is_on: bool = True) -> None:
        ours = [_Rule("secret", secrets.spans), _Rule("email", _emails)]
        ours += [_Rule("ip", _addresses), _Rule("phone", _phones)]
        theirs = [_Rule(one.kind or "text", one.find, one.text) for one in own]
        self._rules = [*theirs, *ours] if is_on else []
        self._placeholders: dict[tuple[str, str], str] = {}
        self._numbers: Counter[str] = Counter()
        self.replaced: Counter[str] = Counter()

    def text(self, text: str) -> str:
        """Return a text with its values replaced."""
        parts, done = [], 0
        for start, end, rule in self._merged(text):
            parts += [text[done:start], self._placeholder(rule, text[start:end])]
            done = end
        return "".join((*parts, text[done:]))

    def name(self, name: str) -> str:
        """Return the name of a user, a project or a file, as one that a path can hold."""
        stem = name.removesuffix(SUFFIX)  # `.md` would pass for the end of an address
        return self.text(stem).replace("<", "").replace(">", "") + name[len(stem) :]

    @property
    def values(self) -> dict[str, int]:
        """How many different values of each kind were replaced."""
        return dict(Counter(kind for kind, _ in self._placeholders))

    def _merged(self, text: str) -> list[tuple[int, int, _Rule]]:
        """Return the spans that go, in their order; those that overlap as one, of the rule that comes first."""
        found = sorted(
            (start, end, at)
            for at, rule in enumerate(self._rules)
            for start, end in rule.find(text)
            if start < end
        )
        merged: list[tuple[int, int, int]] = []
        for start, end, at in found:
            if merged and start < merged[-1][1]:
                first, last, rule = merged[-1]
                merged[-1] = (first, max(last, end), min(rule, at))
            else:
                merged.append((start, end, at))
        return [(start, end, self._rules[at]) for start, end, at in merged]

    def _placeholder(self, rule: _Rule, value: str) -> str:
        self.replaced[rule.kind] += 1
        known = self._placeholders.get((rule.kind, value))
        if known is None:
            if rule.text is None:
                self._numbers[rule.kind] += 1
            known = f"<{rule.kind}-{self._numbers[rule.kind]}>" if rule.text is None else rule.text
            self._placeholders[rule.kind, value] = known
        return known


def own_replacements(path: Path | None) -> list[Replacement]:
    """Return the replacements that a YAML file lists; none without one.

    Raises:
        ValidationFailed: it cannot be read, or does not fit.
    """
    if path is None:
        return []
    try:
        return TypeAdapter(list[Replacement]).validate_python(read_yaml(path))
    except ValidationError as error:
        problems = "; ".join(told(problem) for problem in error.errors(include_url=False))
        raise ValidationFailed(
            f"{path}: {problems}.",
            hint="It is a list of {literal: TEXT, as: KIND} or {regex: PATTERN, with: TEXT}.",
        ) from None


def _emails(text: str) -> Iterator[tuple[int, int]]:
    """Yield where addresses stand; from their `@` on, since a long word may be the beginning of none."""
    last = 0
    for match in _DOMAIN.finditer(text):
        start = match.start()
        while start > last and (text[start - 1].isalnum() or text[start - 1] in "_.+-"):
            start -= 1
        if start < match.start():
            yield start, match.end()
            last = match.end()


def _addresses(text: str) -> Iterator[tuple[int, int]]:
    for match in _IP.finditer(text):
        try:
            ip_address(match[0])
        except ValueError:
            continue
        yield match.span()


def _phones(text: str) -> Iterator[tuple[int, int]]:
    for match in _PHONE.finditer(text):
        digits = sum(char.isdigit() for char in match[0])
        if digits in PHONE_DIGITS and not _DAY.fullmatch(match[0]):
            yield match.span()
