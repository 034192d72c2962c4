"""Facts about a server that `memex doctor` reports: the powers of the login, and a collation that changed."""

import uuid
from functools import partial

import psycopg
import pytest
from psycopg.conninfo import make_conninfo
from tests.kit.postgres_servers import Server

from memex.service.health.findings import examine_collation, examine_login
from memex.store.migrate import migrate
from memex.store.upkeep.checkup import examine


async def test_a_login_with_powers_is_noted(server: Server, conninfo: str) -> None:
    """The login that a service should have has none; a superuser, and whoever bypasses policies, are named.

    So are tables that do not bind their owner.

    Also by a role of which the login is a member.
    """
    plain = await examine(conninfo)
    assert plain.powers == []
    assert examine_login(plain, acts_by_role=True).state == "ok"

    with psycopg.connect(conninfo, autocommit=True) as owner:
        owner.execute("alter table revision no force row level security")
        told = examine_login(await examine(conninfo), acts_by_role=False)
        owner.execute("alter table revision force row level security")
    assert (told.state, told.detail) == ("problem", "row-level security is not forced on revision")

    name = psycopg.conninfo.conninfo_to_dict(conninfo)["dbname"]
    strong = await examine(make_conninfo(server.admin, dbname=name))
    assert "superuser" in strong.powers
    found = examine_login(strong, acts_by_role=True)
    assert found.state == "note"
    assert "is a superuser" in found.detail

    login, password = f"memex_test_{uuid.uuid4().hex[:8]}", uuid.uuid4().hex
    with psycopg.connect(server.admin, autocommit=True) as admin:
        admin.execute(f"create role {login} login bypassrls password '{password}'")
        admin.execute(f"create role {login}_member login password '{password}'")
        admin.execute(f"grant {login}, pg_execute_server_program to {login}_member")
        to = partial(make_conninfo, server.admin, dbname="postgres", password=password)
        try:
            beyond, member = await examine(to(user=login)), await examine(to(user=f"{login}_member"))
        finally:
            admin.execute(f"drop role {login}_member, {login}")
    assert beyond.powers == ["bypassrls"]
    assert member.powers == [f"bypassrls by {login}", "server by pg_execute_server_program"]
    told = examine_login(member, acts_by_role=True)
    assert (told.state, f"as a member of {login}," in told.detail) == ("note", True)
    assert "bypasses row-level security" in examine_login(beyond, acts_by_role=False).detail


async def test_a_collation_that_changed_is_a_problem(stock_server: Server) -> None:
    """The versions, the indexes that are sorted by it, and the order of repair are named."""
    name = f"memex_test_{uuid.uuid4().hex[:12]}"
    with psycopg.connect(stock_server.admin, autocommit=True) as admin:
        try:
            admin.execute(
                f'create database "{name}" owner "{stock_server.owner}" template template0 '
                "locale_provider icu icu_locale 'en' locale 'C.UTF-8' encoding 'UTF8'"
            )
        except psycopg.errors.FeatureNotSupported:
            pytest.skip("this server has no ICU")
        try:
            conninfo = make_conninfo(stock_server.login, dbname=name)
            await migrate(conninfo)
            assert examine_collation(await examine(conninfo)).state == "ok"
            admin.execute("update pg_database set datcollversion = '1.2.3' where datname = %s", [name])
            found = examine_collation(await examine(conninfo))
        finally:
            admin.execute(f'drop database "{name}" with (force)')
    assert found.state == "problem"
    assert "1.2.3" in found.detail
    assert "public." in found.detail
    assert found.hint.index("reindex database") < found.hint.index("refresh collation version")
