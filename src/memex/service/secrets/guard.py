"""Look for secrets in the arguments of a call, before anything else sees them.

A text for memory_remember and the reason of a change are changed (`redact`): the planner, the model, the queue, the
digest of the request, the log and a replay see only `[secret: kind]`. A file stays as it was sent (`flag`), and the
answer and the log say where its secrets stand. What is logged of a call that fails, and what is traced, is redacted
in both cases.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

from memex.errors import SecretRefused
from memex.store.log.call import Call
from memex.store.text_pool import offload
from memex.subagent.secrets.finding import find_secrets, places, redact
from memex.subagent.secrets.forms import find_forms
from memex.subagent.secrets.found import FoundSecret

SecretPolicy = Literal["redact", "flag", "refuse", "off"]

TEXTS = {
    "memory_remember": ("text",),
    "memory_write": ("content", "reason"),
    "memory_patch": ("text", "reason"),
    "memory_move": ("reason",),
    "memory_delete": ("reason",),
    "memory_restore": ("reason",),
    "memory_revert": ("reason",),
}
NO_FILE = ("reason",)  # it is kept in the history and the log, and need not stay as it was sent
QUERIES = {"memory_context": ("query",), "memory_find": ("query",)}
LOGGED_ONLY = ("match",)  # text that stands in a file already: it must stay as it is to be found there
BATCH = "memory_write_many"
MAX_REPORTED = 100


@dataclass(frozen=True, slots=True)
class SecretPolicies:
    """What is done about a secret in a text to remember, and in a file."""

    remember: SecretPolicy = "redact"
    files: SecretPolicy = "flag"


@dataclass(frozen=True, slots=True)
class GuardedArguments:
    """The arguments of a call: those that it runs with, those that may be logged, and where secrets were found."""

    used: dict[str, Any]
    logged: dict[str, Any]
    found: list[dict[str, Any]] = field(default_factory=list)
    is_refused: bool = False

    def enter(self, call: Call) -> dict[str, Any]:
        """Return the arguments for a call, and let its log say where secrets stand; may raise SecretRefused."""
        call.record.secrets.extend(self.found)
        if self.is_refused:
            first = self.found[0]
            raise SecretRefused(
                f"{first['argument']}, line {first['line']}, column {first['column']}: this looks like a secret "
                f"({first['kind']}). Nothing was stored.",
                secrets=self.found,
            )
        return self.used

    def reported(self, result: dict[str, Any]) -> dict[str, Any]:
        """Return a result with the places of the secrets, if there are any."""
        return result | {"secrets": self.found} if self.found else result


async def guard(policies: SecretPolicies, tool: str, arguments: dict[str, Any]) -> GuardedArguments:
    """Return the arguments of a call as the policies let them through."""
    used, logged, found = arguments, arguments, []
    is_refused = False
    for place, text in _texts(tool, arguments):
        policy = _policy(policies, tool, place[-1])
        secrets = await _find(text, is_query=tool in QUERIES) if policy != "off" else []
        if not secrets:
            continue
        clean = redact(text, secrets)
        logged = _replaced(logged, place, clean)
        if place[-1] in LOGGED_ONLY:
            continue
        if policy == "redact":
            used = _replaced(used, place, clean)
        is_refused |= policy == "refuse"
        name = ".".join(map(str, place))
        found += [{"argument": name} | one for one in _reports(text, secrets, policy)]
    return GuardedArguments(used, logged, found[:MAX_REPORTED], is_refused=is_refused)


async def guard_file(policies: SecretPolicies, path: str, text: str) -> tuple[str, list[dict[str, Any]]]:
    """Return the text of a file as the policy of files lets it through, and where secrets stand in it.

    Raises:
        SecretRefused: there is one, and the policy refuses it.
    """
    secrets = await offload.run_on(text, find_secrets, text) if policies.files != "off" else []
    if not secrets:
        return text, []
    found = [{"path": path} | one for one in _reports(text, secrets, policies.files)]
    if policies.files == "refuse":
        first = found[0]
        raise SecretRefused(
            f"Line {first['line']}, column {first['column']}: this looks like a secret ({first['kind']}).",
            secrets=found[:MAX_REPORTED],
        )
    return redact(text, secrets) if policies.files == "redact" else text, found


def _policy(policies: SecretPolicies, tool: str, argument: str | int) -> SecretPolicy:
    """Return what is done about a secret in an argument; a question is answered, whatever it holds."""
    if tool in QUERIES:
        return "off" if policies.remember == "off" else "redact"
    return policies.remember if tool == "memory_remember" or argument in NO_FILE else policies.files


def _reports(text: str, secrets: list[FoundSecret], policy: SecretPolicy) -> Iterator[dict[str, Any]]:
    """Yield where each secret of a text stands, its kind, and what was done about it; never the secret."""
    action = {"redact": "redacted", "refuse": "refused"}.get(policy, "flagged")
    for one in places(text, secrets):
        yield {"line": one.line, "column": one.column, "kind": one.kind, "action": action}


async def _find(text: str, *, is_query: bool) -> list[FoundSecret]:
    """Return the secrets of a text; of a question, only those with a form of their own."""
    if is_query:
        return [
            FoundSecret(start, end, kind)
            for kind, start, end in sorted(find_forms(text), key=lambda one: one[1])
        ]
    return await offload.run_on(text, find_secrets, text)


def _texts(tool: str, arguments: dict[str, Any]) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """Yield the texts among the arguments, with the place of each."""
    if tool == BATCH:
        edits = arguments.get("edits")
        for index, edit in enumerate(edits if isinstance(edits, list) else ()):
            for name in ("content", "text", "reason", "match"):
                if isinstance(edit, dict) and isinstance(edit.get(name), str):
                    yield ("edits", index, name), edit[name]
        return
    for name in (
        *TEXTS.get(tool, ()),
        *QUERIES.get(tool, ()),
        *(LOGGED_ONLY if tool == "memory_patch" else ()),
    ):
        if isinstance(arguments.get(name), str):
            yield (name,), arguments[name]


def _replaced(value: Any, place: tuple[str | int, ...], text: str) -> Any:
    """Return a JSON value with another text in one place."""
    if not place:
        return text
    copied: Any = list(value) if isinstance(value, list) else dict(value)
    copied[place[0]] = _replaced(value[place[0]], place[1:], text)
    return copied
