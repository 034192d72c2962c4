"""The address of a database, as providers and other programs write it, turned into what libpq takes.

Parameters of pools and drivers, such as `pgbouncer=true` of Prisma, are left out with a note. What cannot be
read is named by its part; no message quotes a part, because it may be the password.
"""

import difflib
import re
from collections.abc import Iterator
from urllib.parse import parse_qsl, quote

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.pq import Conninfo

from memex.errors import ValidationFailed

FORM = "Use the form postgresql://user:password@host:5432/database."
ENCODED = "Write it percent-encoded: @ is %40, / is %2F, : is %3A, # is %23, ? is %3F and % is %25."
POOL = "Memex keeps its own pool: MEMEX_MAX_CONNECTIONS is its size"
NOTICED = "Memex notices a pooler by itself, and prepares no statements behind one"
# Parameters of other programs, and why Memex does without them.
LEFT_OUT = {
    **dict.fromkeys(
        ("connection_limit", "pool_size", "max_overflow", "pool_timeout", "pool_max_conns"), POOL
    ),
    **dict.fromkeys(("pgbouncer", "supa", "workaround"), NOTICED),
    **dict.fromkeys(("statement_cache_size", "prepared_statement_cache_size", "preparethreshold"), NOTICED),
    **dict.fromkeys(("uselibpqcompat", "sslaccept"), "TLS is as sslmode says"),
    "socket_timeout": "MEMEX_STATEMENT_SECONDS is the limit of a statement",
}
SSL = {"true": "require", "1": "require", "require": "require", "false": "disable", "0": "disable"}
VALUES = {
    "sslmode": ("disable", "allow", "prefer", "require", "verify-ca", "verify-full"),
    "target_session_attrs": ("any", "read-write", "read-only", "primary", "standby", "prefer-standby"),
    "channel_binding": ("disable", "prefer", "require"),
}
NUMBERS = ("connect_timeout", "keepalives", "keepalives_idle", "keepalives_interval", "tcp_user_timeout")


def read_url(given: str, name: str) -> tuple[str, list[str]]:
    """Return the connection string of a URL or of `key=value` pairs, and what was left out of it and why.

    Args:
        given: what the variable `name` holds.
        name: of the variable, for messages.

    Raises:
        ValidationFailed: a part cannot be read; the message names the part.
    """
    text = given.strip()
    if text[:1] in "\"'" and text[-1:] == text[:1]:
        raise _unreadable(name, "is in quotes", "Leave the quotes out.")
    if "://" not in text:
        return _parsed(text, name), []
    scheme, _, rest = text.partition("://")
    if scheme.partition("+")[0].lower() not in ("postgresql", "postgres"):
        raise _unreadable(name, "does not begin with postgresql://", FORM)
    if "#" in rest or re.search(r"\s", rest):
        raise _unreadable(name, "has a space or a # that is not percent-encoded", ENCODED)
    place, _, query = rest.partition("?")
    authority, slash, database = place.partition("/")
    login, at, hosts = authority.rpartition("@")
    if "@" in login or "@" in database or "/" in database or ("@" in query and not at):
        raise _unreadable(
            name, "has an @, / or ? in its user or password that is not percent-encoded", ENCODED
        )
    for part, content in {"user or password": login, "database": database, "query": query}.items():
        if re.search(r"%(?![0-9A-Fa-f]{2})", content):
            raise _unreadable(name, f"has a % in its {part} that encodes nothing", ENCODED)
    _check_hosts(hosts, name)
    kept: dict[str, str] = {}
    notes = []
    for key, value in parse_qsl(query, keep_blank_values=True):
        if why := LEFT_OUT.get(key.lower()):
            notes.append(f"{key} of {name} is not used: {why}")
        else:
            kept.update(_parameters(key, value, name))
    words = "&".join(f"{key}={quote(value, safe='')}" for key, value in kept.items())
    return _parsed(f"postgresql://{authority}{slash}{database}{'?' if words else ''}{words}", name), notes


def _check_hosts(hosts: str, name: str) -> None:
    for part in hosts.split(","):
        host, _, port = part.partition("]")[2].partition(":") if part.startswith("[") else part.partition(":")
        if ":" in port:
            raise _unreadable(name, "has an IPv6 address without brackets", "Write [::1]:5432.")
        if port and not (port.isascii() and port.isdigit() and 0 < int(port) < 1 << 16):
            hint = f"The port is a number up to 65535. {ENCODED}" if host else FORM
            raise _unreadable(name, "has a port that is no number from 1 to 65535", hint)


def _parameters(key: str, value: str, name: str) -> Iterator[tuple[str, str]]:
    """Yield a parameter as libpq takes it."""
    if key == "ssl":
        key, value = "sslmode", SSL.get(value.lower(), value)
    if key == "schema":  # Prisma's; the tables of Memex are in public
        if value != "public":
            raise _unreadable(name, "names another schema than public", "Give Memex a database of its own.")
        return
    known = {option.keyword.decode() for option in Conninfo.get_defaults()}
    if key not in known:
        near = difflib.get_close_matches(key, known, 1)
        hint = f"Did you mean {near[0]}?" if near else "Remove it, or see the parameters of libpq."
        raise _unreadable(name, f"has a parameter that Postgres does not know: {key[:40]}", hint)
    if key in VALUES and value not in VALUES[key]:
        raise _unreadable(
            name, f"has a value of {key} that there is not", f"One of {', '.join(VALUES[key])}."
        )
    if key in NUMBERS and not (value.isascii() and value.isdigit()):
        raise _unreadable(name, f"has a value of {key} that is no number", "It is a number of seconds.")
    yield key, value


def _parsed(text: str, name: str) -> str:
    try:
        given = conninfo_to_dict(text)
    except psycopg.ProgrammingError:
        raise _unreadable(name, "is not a valid connection URL of Postgres", f"{FORM} {ENCODED}") from None
    return make_conninfo("", **given)


def _unreadable(name: str, what: str, hint: str) -> ValidationFailed:
    return ValidationFailed(f"{name} {what}.", hint=hint)
