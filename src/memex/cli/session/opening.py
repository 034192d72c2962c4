"""Sessions are opened: with a service in this process, or if MEMEX_URL is set with one over HTTP."""

import gc
import os
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING, Literal

from memex.cli.loading import load_structlog
from memex.cli.options import TenantOptions, UserOptions
from memex.cli.session.session import CommandSession, Options, check_local
from memex.errors import ValidationFailed

if TYPE_CHECKING:
    from concurrent.futures import Future

    from memex.api.remote import RemoteMemex
    from memex.postgres import Postgres
    from memex.settings import Settings


def open_session(options: Options) -> AbstractAsyncContextManager[CommandSession]:
    """A session for the options of a command; raises as `running_service` or as a service over HTTP."""
    url = os.environ.get("MEMEX_URL")
    return _remote_session(url, options) if url else _local_session(options)


def start_database(*, is_quiet: bool = True) -> "tuple[Settings, Future[Postgres]]":
    """Begin to start the database that a command needs itself; the command loads its modules meanwhile.

    A quiet command logs warnings alone, unless MEMEX_LOG_LEVEL says otherwise: its own output is for people.

    Raises:
        ValidationFailed: MEMEX_URL names a service.
    """
    load_structlog()
    from memex import logging, postgres
    from memex.settings import read_settings

    settings = read_settings()
    check_local(settings)
    is_level_chosen = "log_level" in settings.model_fields_set
    logging.configure(settings.log_level if is_level_chosen or not is_quiet else "warning")
    return settings, postgres.start_in_background(settings, migrates=False)


def remote_client(url: str) -> "RemoteMemex":
    """Return the client of the service at MEMEX_URL; raises ValidationFailed if there is no key for it.

    The settings of a service are not read: loading them takes longer than the call.
    """
    from memex.api.remote import RemoteMemex

    api_key = os.environ.get("MEMEX_API_KEY")
    if not api_key:
        raise ValidationFailed(
            f"There is no key for {url}.",
            hint="Set MEMEX_API_KEY. Create a key with `memex keys create` where the service runs.",
        )
    return RemoteMemex(url, api_key)


@asynccontextmanager
async def _local_session(options: Options) -> AsyncIterator[CommandSession]:
    """A session on DATABASE_URL or the embedded Postgres. It may act as an admin, because it has the database."""
    settings, started = start_database()
    from memex.api.local import OwnedMemex  # loads while the database starts
    from memex.wiring import running_service

    gc.enable()
    start = partial(running_service, settings, started=started)
    async with OwnedMemex(start, options.tenant, role="admin", is_tenant_made=False) as api:
        yield CommandSession(api=api, owned=api, role=_role(options), **asdict(options))


@asynccontextmanager
async def _remote_session(url: str, options: Options) -> AsyncIterator[CommandSession]:
    """A session with the service at MEMEX_URL, as the owner of MEMEX_API_KEY, on the routes of the key's role.

    Raises:
        ValidationFailed: there is no key, --tenant is given although the key determines the tenant, or --as-admin
            is given although the key is an agent's.
        Unauthenticated: the key is unknown or revoked.
        StoreUnavailable: no Memex answers at the URL.
    """
    gc.enable()
    given = asdict(options)
    async with remote_client(url) as remote:
        if options.tenant != type(options)().tenant:
            raise ValidationFailed(
                "The key determines the tenant, so --tenant cannot be given.",
                hint="Leave out --tenant, and use a key of that tenant.",
            )
        me = await remote.me()
        remote.role = me["role"]
        if me["user"] is not None and given.get("user") == UserOptions().user:
            given["user"] = None  # the default value; the key names the user
        if remote.role == "agent" and given.get("as_admin"):
            raise ValidationFailed(
                "The key is an agent's, so --as-admin cannot be given.",
                hint="Leave out --as-admin, or set MEMEX_API_KEY to an admin's key.",
            )
        yield CommandSession(api=remote, role=_role(options) if remote.role == "admin" else None, **given)


def _role(options: Options) -> Literal["agent"] | None:
    """Return the role of a command: that of the user's agent, unless --as-admin is given or there is no user."""
    is_for_tenant = isinstance(options, TenantOptions)
    return None if is_for_tenant or (isinstance(options, UserOptions) and options.as_admin) else "agent"
