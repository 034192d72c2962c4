"""Connection URLs as providers, poolers and other programs write them; what cannot be read is named by its part."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from psycopg.conninfo import conninfo_to_dict

from memex.errors import ValidationFailed
from memex.store.waiting.database_url import read_url

SECRET = "s3cret"  # stands in URLs, and in no message
WHOLE = {"user": "u", "password": SECRET, "host": "h", "dbname": "d"}
READ = {  # a URL, what libpq takes of it, and what is left out
    f"postgresql://u:{SECRET}@h/d": (WHOLE, []),
    f" postgres://u:{SECRET}@h/d\n": (WHOLE, []),
    f"postgresql+psycopg://u:{SECRET}@h/d": (WHOLE, []),
    f"postgresql+asyncpg://u:{SECRET}@h/d?ssl=true": (WHOLE | {"sslmode": "require"}, []),
    f"postgresql://u:{SECRET}@h:6543/d?pgbouncer=true&connection_limit=1": (
        WHOLE | {"port": "6543"},
        ["pgbouncer", "connection_limit"],
    ),
    f"postgresql://u:{SECRET}@h/d?schema=public&sslmode=require&channel_binding=require": (
        WHOLE | {"sslmode": "require", "channel_binding": "require"},
        [],
    ),
    f"postgresql://u:{SECRET}@h/d?options=endpoint%3Dep-x&prepareThreshold=0": (
        WHOLE | {"options": "endpoint=ep-x"},
        ["prepareThreshold"],
    ),
    f"postgresql://u:{SECRET}@/d?host=/cloudsql/p:r:i": (WHOLE | {"host": "/cloudsql/p:r:i"}, []),
    f"postgresql://u:{SECRET}@h,[::1]:5433/d?target_session_attrs=read-write": (
        WHOLE | {"host": "h,::1", "port": ",5433", "target_session_attrs": "read-write"},
        [],
    ),
    f"postgresql://u.ref:p%40{SECRET}@h/d": (WHOLE | {"user": "u.ref", "password": f"p@{SECRET}"}, []),
    f"host=h dbname=d user=u password={SECRET}": (WHOLE, []),
    "postgresql:///d": ({"dbname": "d"}, []),
}
UNREADABLE = {  # a URL, and the part that is named
    f"mysql://u:{SECRET}@h/d": "does not begin with postgresql://",
    f"jdbc:postgresql://h/d?password={SECRET}": "does not begin with postgresql://",
    f"'postgresql://u:{SECRET}@h/d'": "in quotes",
    f"postgresql://u:{SECRET}#@h/d": "a space or a #",
    f"postgresql://u:{SECRET} @h/d": "a space or a #",
    f"postgresql://u:{SECRET}@@h/d": "in its user or password",
    f"postgresql://u:{SECRET}/x@h/d": "in its user or password",
    f"postgresql://u:{SECRET}?x@h/d": "in its user or password",
    f"postgresql://u:{SECRET}%zz@h/d": "a % in its user or password",
    f"postgresql://u:{SECRET}@h/d%": "a % in its database",
    f"postgresql://u:{SECRET}@h/d?sslmode=%zz": "a % in its query",
    f"postgresql://u:{SECRET}@h:x/d": "port",
    f"postgresql://u:{SECRET}@h:0/d": "port",
    f"postgresql://u:{SECRET}@h:65536/d": "port",
    f"postgresql://u:{SECRET}@::1/d": "IPv6",
    f"postgresql://u:{SECRET}": "port",
    f"postgresql://u:{SECRET}@h/d?schema=app": "schema",
    f"postgresql://u:{SECRET}@h/d?sslmod={SECRET}": "sslmod",
    f"postgresql://u:{SECRET}@h/d?sslmode=no-verify": "sslmode",
    f"postgresql://u:{SECRET}@h/d?ssl={SECRET}": "sslmode",
    f"postgresql://u:{SECRET}@h/d?target_session_attrs=rw": "target_session_attrs",
    f"postgresql://u:{SECRET}@h/d?connect_timeout=5s": "connect_timeout",
    f"user=u password={SECRET} colour=red": "not a valid connection URL",
}


def test_urls_of_providers_and_programs_are_read() -> None:
    """Schemes with a driver, parameters of pools, several hosts, a socket; what is left out is told."""
    for url, (wanted, left_out) in READ.items():
        conninfo, notes = read_url(url, "DATABASE_URL")

        assert conninfo_to_dict(conninfo) == wanted, url
        assert [note.split()[0] for note in notes] == left_out
        assert SECRET not in "".join(notes)


def test_each_part_that_cannot_be_read_is_named() -> None:
    """Each with a hint of its own, and without the password."""
    for url, part in UNREADABLE.items():
        with pytest.raises(ValidationFailed) as refused:
            read_url(url, "DATABASE_URL")

        said = f"{refused.value.message} {refused.value.hint}"
        assert refused.value.message.startswith("DATABASE_URL "), url
        assert part in refused.value.message, (url, said)
        assert SECRET not in said
        assert refused.value.hint


@given(st.text(max_size=60), st.sampled_from(["", "postgresql://", "postgres://u:p@h/d?"]))
def test_any_text_is_read_or_refused(text: str, begin: str) -> None:
    """Nothing else happens, whatever stands in the variable."""
    try:
        conninfo, _ = read_url(begin + text, "DATABASE_URL")
    except ValidationFailed:
        return
    conninfo_to_dict(conninfo)
