"""Look for secrets in the arguments of a call, before anything else sees them.

A text for memory_remember, and a reason, is changed (`redact`): the planner, the model, the queue, the digest of
the request, the log and a replay see only `[secret: kind]`. A file stays as it was sent (`flag`), and the answer
and the log say where its secrets stand. What is logged of a call that fails, and what is traced, is redacted in
both cases. A tenant may have other policies (`policies.py`).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from memex.errors import SecretRefused
from memex.store.access import SecretPolicies, SecretPolicy
from memex.store.log.call import Call
from memex.store.text_pool import offload
from memex.store.writes.hidden_characters import find_hidden
from memex.subagent.statements.secrets.finding import (
    FoundSecret,
    find_secrets,
    find_told_secrets,
    place_before,
    places,
    redact,
)
from memex.subagent.statements.secrets.forms import find_forms

REMEMBERED = {"memory_remember": ("text",), "store_memory": ("content", "source")}
FILES = {"memory_write": ("content",), "memory_patch": ("text",)}
QUERIES = {"memory_context": ("query",), "memory_find": ("query",), "memory_find_explain": ("query",)}
REASON = "reason"  # of any tool; the log keeps it, and no file
BATCH = "memory_write_many"
BATCH_FILES = ("content", "text")
MAX_REPORTED = 100
MAX_HIDDEN = 20  # hidden characters that an answer names

Place = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class GuardedArguments:
    """The arguments of a call: those that it runs with, those that may be logged, and what was found in them.

    `given` are the arguments as they came, and `policies` those by which they were looked at. `found` says where
    secrets stand, `redacted` which of the told text were, and `hidden` which characters of the texts nobody sees.
    """

    tool: str
    given: dict[str, Any]
    policies: SecretPolicies
    used: dict[str, Any]
    logged: dict[str, Any]
    found: list[dict[str, Any]] = field(default_factory=list)
    is_refused: bool = False
    hidden: dict[str, Any] | None = None
    redacted: Sequence[FoundSecret] = ()

    async def under(self, policies: SecretPolicies, call: Call) -> "GuardedArguments":
        """Return the arguments for a call as these policies let them through, which may have changed since.

        The log of the call will say where secrets stand.

        Raises:
            SecretRefused: they must not be stored.
        """
        checked = self if policies == self.policies else await guard(policies, self.tool, self.given)
        call.record.secrets[:] = checked.found
        if checked.is_refused:
            first = next(secret for secret in checked.found if secret["action"] == "refused")
            raise refusal(first["argument"], first, checked.found)
        return checked

    def with_argument(self, name: str, value: Any) -> "GuardedArguments":
        """Return the same with an argument of the service's own, in which nobody looks for secrets."""
        return replace(self, given=self.given | {name: value}, used=self.used | {name: value})

    def reported(self, result: dict[str, Any]) -> dict[str, Any]:
        """Return a result with the places of secrets and of hidden characters, if there are any.

        Spans that were skipped are those of the text as it came; the log has those of the redacted one.
        """
        added: dict[str, Any] = {"secrets": self.found or None, "hidden_characters": self.hidden}
        if self.redacted and result.get("skipped"):
            added["skipped"] = [
                skip | {end: place_before(skip[end], self.redacted) for end in ("start", "end")}
                for skip in result["skipped"]
            ]
        return result | {name: value for name, value in added.items() if value is not None}


def refusal(where: str, first: dict[str, Any], found: list[dict[str, Any]]) -> SecretRefused:
    """Return the error for a text with secrets that must not be stored."""
    return SecretRefused(
        f"{where}, line {first['line']}, column {first['column']}: this looks like a secret "
        f"({first['kind']}). Nothing was stored.",
        secrets=found,
    )


async def guard(policies: SecretPolicies, tool: str, arguments: dict[str, Any]) -> GuardedArguments:
    """Return the arguments of a call as the policies let them through."""
    used, logged, found = arguments, arguments, list[dict[str, Any]]()
    hidden_count, hidden = 0, list[dict[str, Any]]()
    redacted: Sequence[FoundSecret] = ()
    for place, text in _texts(arguments):
        door = _door(tool, place)
        if door in ("file", "remember"):
            count, first = await find_hidden_in(text)
            hidden_count += count
            hidden += [
                {"argument": _name(place)} | character for character in first[: MAX_HIDDEN - len(hidden)]
            ]
        policy = policies.files if door == "file" else policies.remember
        secrets = await _find_at(door, text) if policy != "off" else []
        if not secrets:
            continue
        clean = redact(text, secrets)
        logged = _replaced(logged, place, clean)
        if door == "other":
            continue
        if door == "query":
            policy = "redact"
        if policy == "redact":
            used = _replaced(used, place, clean)
            redacted = secrets if place == ("text",) else redacted
        found += [{"argument": _name(place)} | secret for secret in report(text, secrets, policy)]
    is_refused = any(secret["action"] == "refused" for secret in found)
    found.sort(key=lambda secret: secret["action"] != "refused")  # the first ones are reported
    return GuardedArguments(
        tool,
        arguments,
        policies,
        used,
        logged,
        found[:MAX_REPORTED],
        is_refused=is_refused,
        hidden={"count": hidden_count, "first": hidden} if hidden else None,
        redacted=redacted,
    )


async def _find_at(door: str, text: str) -> list[FoundSecret]:
    if door == "remember":
        return await offload.run_on(text, find_told_secrets, text)
    return await find(text, only_forms=door in ("query", "other"))


async def find(text: str, *, only_forms: bool = False) -> list[FoundSecret]:
    """Return the secrets of a text; with `only_forms` those that tell by their form what they are."""
    if only_forms:
        return [
            FoundSecret(start, end, kind)
            for kind, start, end in sorted(find_forms(text), key=lambda form: form[1])
        ]
    return await offload.run_on(text, find_secrets, text)


async def guard_file(policies: SecretPolicies, path: str, text: str) -> tuple[str, list[dict[str, Any]]]:
    """Return the text of a file as the policy of files lets it through, and where secrets stand in it.

    Raises:
        SecretRefused: there is one, and the policy refuses it.
    """
    secrets = await find(text) if policies.files != "off" else []
    if not secrets:
        return text, []
    found = [{"path": path} | secret for secret in report(text, secrets, policies.files)]
    if policies.files == "refuse":
        raise refusal("The file", found[0], found[:MAX_REPORTED])
    return redact(text, secrets) if policies.files == "redact" else text, found


async def find_hidden_in(text: str) -> tuple[int, list[dict[str, Any]]]:
    """Return what `find_hidden_places` does; of a long text from another process."""
    return await offload.run_on(text, find_hidden_places, text)


def find_hidden_places(text: str) -> tuple[int, list[dict[str, Any]]]:
    """Return how many characters of a text nobody sees, and where the first of them stand."""
    found = list(find_hidden(text))
    first = [FoundSecret(result.offset, result.offset + 1, result.name) for result in found[:MAX_HIDDEN]]
    shown = [
        {"line": place.line, "column": place.column, "code_point": place.kind}
        for place in places(text, first)
    ]
    return len(found), shown


def report(text: str, secrets: list[FoundSecret], policy: SecretPolicy) -> Iterator[dict[str, Any]]:
    """Yield where each secret of a text stands, its kind, and what was done about it; never the secret."""
    action = {"redact": "redacted", "refuse": "refused"}.get(policy, "flagged")
    for place in places(text, secrets):
        yield {"line": place.line, "column": place.column, "kind": place.kind, "action": action}


def _name(place: Place) -> str:
    return ".".join(map(str, place))


def _door(tool: str, place: Place) -> str:
    """Return what a text is for: `file`, `remember` (which the log keeps), `query`, or `other`.

    A text of another kind stands in a file already, as the `match` of a patch does, or it is an argument that the
    tool does not have. It must stay as it is for the call, and is redacted in the log of a call that fails.
    """
    if place[-1] == REASON:
        return "remember"
    if tool == "store_memory" and place[0] == "tags":
        return "remember"
    if tool == BATCH:
        return "file" if len(place) == 3 and place[-1] in BATCH_FILES else "other"
    for door, names in (("remember", REMEMBERED), ("file", FILES), ("query", QUERIES)):
        if len(place) == 1 and place[0] in names.get(tool, ()):
            return door
    return "other"


def _texts(value: Any, place: Place = ()) -> Iterator[tuple[Place, str]]:
    """Yield the texts among the arguments, with the place of each."""
    if isinstance(value, str):
        yield place, value
    elif isinstance(value, dict | list):
        for name, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _texts(inner, (*place, name))


def _replaced(value: Any, place: tuple[str | int, ...], text: str) -> Any:
    """Return a JSON value with another text in one place."""
    if not place:
        return text
    copied: Any = list(value) if isinstance(value, list) else dict(value)
    copied[place[0]] = _replaced(value[place[0]], place[1:], text)
    return copied
