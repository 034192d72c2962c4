"""Findings of `memex doctor` and of a running service: what was checked, and what to do next. Pure."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from memex.errors import MemexError

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from memex.store.log.degraded import DegradedCount
    from memex.store.upkeep.checkup import DatabaseReport

REFUSED = "nothing is stored any more, while reading and deleting go on"


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of one check. The hint says what to do next; what nothing was tried for is a note without one."""

    name: str
    detail: str
    state: Literal["ok", "note", "problem"] = "ok"
    hint: str = ""


FEW_DEGRADED = 3  # answers that say little of a model
MOST_DEGRADED_FRACTION = 0.1


def problem(name: str, error: MemexError) -> Finding:
    """Return the finding that a check failed."""
    return Finding(name, f"{error.code}: {error.message}", "problem", error.hint)


def examine_left_alone(name: str, said: str, left_alone: "Collection[str]") -> Finding:
    """Return which models are used, and which of them are not asked at present as they did not answer."""
    if not left_alone:
        return Finding(name, f"{said}; not asked by this check", "note")
    return Finding(
        name,
        f"{said}; {' and '.join(sorted(left_alone))} did not answer and is left alone for a moment, "
        "so answers are degraded",
        "problem",
        "Check the model, its key and its address, and MEMEX_MODEL_SECONDS. Memex tries it again by itself.",
    )


def examine_degraded(counts: "Sequence[DegradedCount]") -> Finding:
    """Return the share of answers that lacked the part of a model or an embedder."""
    degraded = [count for count in counts if count.degraded]
    if not counts:
        return Finding("degraded", "no answers in the last hour", "note")
    if not degraded:
        answers = sum(count.answers for count in counts)
        return Finding("degraded", f"none of the {answers:,} newest answers of the last hour")
    said = ", ".join(
        f"{count.degraded:,} of {count.answers:,} answers of {count.tool} ({count.degraded / count.answers:.0%})"
        for count in degraded
    )
    is_bad = any(
        count.degraded >= FEW_DEGRADED and count.degraded > count.answers * MOST_DEGRADED_FRACTION
        for count in degraded
    )
    return Finding(
        "degraded",
        f"{said}, of the newest of the last hour, were given without the model",
        "problem" if is_bad else "note",
        "`memex log replay --degraded --since 1h` lists the calls, and `memex log ID` says why.",
    )


def examine_size(database_bytes: int, max_bytes: int) -> Finding:
    """Return how large the database is, and how large it may become."""
    said = f"{database_bytes >> 20:,} of {max_bytes >> 20:,} MiB (MEMEX_MAX_DATABASE_BYTES)"
    if database_bytes < max_bytes:
        return Finding("size", said)
    return Finding("size", f"{said}; {REFUSED}", "problem", "Raise the limit, if the disk has space.")


def examine_schema(version: int, newest: int) -> Finding:
    """Return whether the schema is the one that this Memex needs."""
    if version == newest:
        return Finding("schema", f"version {version}")
    if version > newest:
        return Finding(
            "schema", f"version {version}; this Memex knows up to {newest}", "problem", "Upgrade this Memex."
        )
    said = f"version {version} of {newest}" if version else "not made yet"
    return Finding("schema", said, "problem", "Run `memex service migrate`.")


def examine_index(stale_scopes: int) -> Finding:
    """Return how many indexes another version made."""
    if not stale_scopes:
        return Finding("index", "up to date")
    return Finding(
        "index",
        f"{stale_scopes:,} {'scope' if stale_scopes == 1 else 'scopes'} indexed by another version; "
        "search finds their texts less well",
        "note",
        "Run `memex index rebuild --only-stale`; Memex can be used meanwhile.",
    )


def examine_login(report: "DatabaseReport", *, acts_by_role: bool) -> Finding:
    """Return for whom requests act, and whether row-level security binds the login itself."""
    acts = "requests act by the roles memex_agent and memex_admin"
    if not acts_by_role:
        acts = (
            "requests act as the login itself, which may not create roles; forced row-level security binds it"
        )
    if unforced := report.unforced_tables:
        return Finding(
            "roles",
            f"row-level security is not forced on {', '.join(unforced[:5])}"
            f"{f' and {len(unforced) - 5} more tables' if len(unforced) > 5 else ''}",
            "problem",
            "Run `alter table NAME enable row level security, force row level security` for each, as their owner.",
        )
    if not report.powers:
        return Finding("roles", acts)
    powers = " and ".join(map(_power, report.powers))
    return Finding(
        "roles",
        f"{acts}; the login {powers}, so nothing binds what acts as it",
        "note",
        "Use a login with `nosuperuser nobypassrls createrole` that owns the database (docs/operations.md).",
    )


def _power(power: str) -> str:
    """Return in words what a login may, such as `superuser`, or `bypassrls by admins` as a member of a role."""
    named = {
        "superuser": "is a superuser",
        "bypassrls": "bypasses row-level security",
        "server": "reaches the files or programs of the server",
    }
    kind, _, role = power.partition(" by ")
    return f"{named[kind]}, as a member of {role}," if role else named[kind]


def examine_collation(report: "DatabaseReport") -> Finding:
    """Return whether the indexes are sorted as the server sorts now; the system's library may have changed it."""
    if report.stale_collation is None:
        return Finding("collation", "as the database was made with")
    indexes = ", ".join(report.collated_indexes) or "none"
    return Finding(
        "collation",
        f"the database was made with version {report.stale_collation}, and the server sorts by "
        f"{report.collation_version}: indexes that are sorted by it may miss rows: {indexes}",
        "problem",
        "While nothing writes, run `reindex database NAME`, then `alter database NAME refresh collation version`.",
    )


def examine_pgvector(report: "DatabaseReport") -> Finding:
    """Return whether the database can hold vectors."""
    if report.vectors_error is not None:
        return Finding(
            "pgvector",
            f"{report.pgvector}; vectors cannot be compared, so search is by words alone: {report.vectors_error}",
            "problem",
            "Restore what the error names, or grant the login, memex_agent and memex_admin their rights on it, "
            "such as usage on the schema of the extension; then start Memex again.",
        )
    if report.has_vectors:
        return Finding("pgvector", f"{report.pgvector}; this database holds vectors")
    if report.pgvector is None:
        return Finding(
            "pgvector",
            "not installed on this server; search uses words only, which works without it",
            "note",
            "For vectors, install pgvector 0.8 or newer on the server, and run `memex service migrate`.",
        )
    if report.pgvector_is_installed:
        said = f"{report.pgvector} is installed, and this database holds no vectors yet"
        hint = (
            "Run `memex service migrate`; it needs pgvector 0.8 or newer, and the right to create a schema."
        )
    else:
        said = f"{report.pgvector} can be installed, and is not"
        hint = (
            "Run `memex service migrate`. If the login may not, a superuser runs `create extension vector`."
        )
    return Finding("pgvector", f"{said}; search is by words alone", "note", hint)


def count_embedded(model: str, passages: "Sequence[Mapping[str, Any]]") -> str:
    """Return how many passages of each kind a model has embedded, in words."""
    counts = [f"{one['embedded']:,} of {one['passages']:,} passages of {one['kind']}" for one in passages]
    return f"{model} has embedded {', '.join(counts) or 'nothing yet: there are no passages'}"


def examine_jobs(report: "DatabaseReport", calls: "Mapping[str, int] | None" = None) -> Finding:
    """Return whether there is a queue of jobs, and how many of these calls wait in it or were given up."""
    if report.has_jobs and calls and calls["quarantined"]:
        hint = "`memex service queue list` says why, and `memex service queue retry --all` tries again."
        return Finding("queue", f"{calls['quarantined']:,} calls were given up", "problem", hint)
    if report.has_jobs:
        said = "the tables for background work are there, in the schema procrastinate"
        return Finding("queue", said if calls is None else f"{said}; {calls['queued']:,} calls wait")
    return Finding(
        "queue",
        "no tables for background work: texts cannot be queued, and no vectors are made",
        "note",
        "Let the login create schemas (`grant create on database NAME to LOGIN`), and run `memex service migrate`.",
    )
