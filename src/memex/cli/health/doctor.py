"""`memex doctor`: check the installation and the database. It works without a database too."""

import platform
import stat
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, suppress
from dataclasses import asdict
from typing import TYPE_CHECKING

from memex.cli.health.findings import examine_backups, examine_disk, show
from memex.cli.output import CommandOutput
from memex.cli.session.commands import plain_command
from memex.errors import MemexError
from memex.service.health.findings import (
    Finding,
    count_embedded,
    examine_collation,
    examine_degraded,
    examine_index,
    examine_jobs,
    examine_login,
    examine_pgvector,
    examine_schema,
    examine_size,
    problem,
)

if TYPE_CHECKING:
    from memex.settings import Settings
    from memex.store.upkeep.checkup import DatabaseReport
    from memex.subagent.model.chat import ChatModel


OF_MODELS = ("planner", "embedder", "vectors", "degraded")  # what an administrator's key shows of a service


@plain_command
def doctor() -> CommandOutput:
    """Check this installation and its database.

    The exit code is 1 if something is wrong.
    """
    import asyncio

    from memex.cli.operate.setup_hooks import capture_findings

    findings = [*asyncio.run(_collect()), *capture_findings()]
    is_well = all(finding.state != "problem" for finding in findings)
    document = {"ok": is_well, "checks": [asdict(finding) for finding in findings]}
    return CommandOutput(document, lambda screen: show(screen, findings), exit_code=0 if is_well else 1)


async def _collect() -> list[Finding]:
    return [finding async for finding in _examine()]


async def _examine() -> AsyncIterator[Finding]:
    from memex import logging
    from memex.distribution import version
    from memex.homes import config_home
    from memex.postgres import backups_of, conninfo_of
    from memex.settings import config_file, read_settings, unknown_settings
    from memex.store.waiting.database_url import read_url

    yield Finding("memex", version())
    older = config_home() / "memex" / "documents.toml"
    if read := [str(file) for file in (config_file(), older) if file.exists()]:
        yield Finding("settings", f"{' and '.join(read)}, beside the environment")
    yield Finding("python", f"{platform.python_version()} ({sys.executable})")
    logging.configure("warning")
    with ExitStack() as held:
        try:
            settings = read_settings()
            for name, near in unknown_settings().items():
                meant = f"Do you mean {near}? Else unset it." if near else "Unset it."
                yield Finding(name, "no setting of this version: it does nothing", "note", meant)
            if settings.url is not None:
                async for finding in _examine_service(settings.url):
                    yield finding
                return
            if settings.database_url is None:
                for finding in _examine_embedded(settings):
                    yield finding
                conninfo = _start_embedded(settings, held)
            else:
                conninfo = conninfo_of(settings.database_url)
                for said in read_url(settings.database_url, "DATABASE_URL")[1]:
                    yield Finding("database", said, "note")
            if conninfo is None:
                yield Finding(
                    "database", "not made yet", "note", "`memex serve` makes it, or any other command."
                )
                return
            async for finding in _examine_database(conninfo, settings):
                yield finding
            yield examine_backups(backups_of(settings))
        except MemexError as error:
            yield problem("settings" if error.code == "VALIDATION_ERROR" else "database", error)


async def _examine_service(url: str) -> AsyncIterator[Finding]:
    """Check the service at MEMEX_URL and the key. The doctor on its own machine checks its database."""
    from memex.call_context import CallContext
    from memex.cli.session.opening import remote_client
    from memex.distribution import version

    named = f"MEMEX_URL: {url}"
    try:
        async with remote_client(url) as remote:
            await remote.request("GET", "/health/ready")
            yield Finding("service", f"{named} answers, and so does its database")
            me = await remote.me()
            health = (
                await remote.call(CallContext(), "health_show") if me["role"] == "admin" else {"checks": []}
            )
    except MemexError as error:
        name = "key" if error.code == "UNAUTHENTICATED" else "service"
        yield Finding(name, f"{named}: {error.code}: {error.message}", "problem", error.hint)
        return
    own = version()
    if me["version"] == own:
        yield Finding("version", f"the service has {own}, as this command")
    else:
        said = f"the service has {me['version']}, and this command {own}"
        yield Finding("version", said, "note", "Install the version of the service here.")
    whose = f"bound to the user {me['user']}" if me["user"] else "each call names its user"
    yield Finding("key", f"an {me['role']}'s of the tenant {me['tenant']}; {whose}")
    for check in health["checks"]:
        if check["name"] in OF_MODELS:
            yield Finding(**check)


def _examine_embedded(settings: "Settings") -> Iterator[Finding]:
    from memex.postgres import data_dir_of
    from memex.store.embedded import server as embedded
    from memex.store.embedded.binaries import find_binaries

    data_dir = data_dir_of(settings)
    if data_dir.exists():
        about = data_dir.stat()
        mode = stat.S_IMODE(about.st_mode)
        said = f"{data_dir} (owner {_user_name(about.st_uid)}, mode {mode:04o})"
        if mode & 0o077:
            yield Finding("data", said, "problem", f"Others can look into it: chmod 700 {data_dir}")
        else:
            yield Finding("data", said)
    else:
        yield Finding("data", f"{data_dir} (not made yet)", "note")
    yield examine_disk(data_dir)
    try:
        yield Finding("programs", str(find_binaries(settings.pg_bin_dir)))
        report = embedded.inspect(data_dir)
    except MemexError as error:
        yield problem("programs", error)
        return
    if report.running and not report.supervisor_alive:
        yield Finding(
            "server",
            f"runs (pid {report.pid}), but its supervising process was killed",
            "note",
            "This command repairs it.",
        )
    elif report.running:
        yield Finding("server", f"runs (pid {report.pid}, as {report.os_user}), supervised")
    elif report.version:
        yield Finding("server", "stopped, as nobody uses it; started for this check", "note")


def _start_embedded(settings: "Settings", held: ExitStack) -> str | None:
    """Return how to connect to the embedded server, and start it if needed; None if there is no data yet."""
    from memex.postgres import data_dir_of
    from memex.store.embedded import server as embedded

    if embedded.inspect(data_dir_of(settings)).version is None:
        return None
    lease = embedded.start(data_dir_of(settings), bin_dir=settings.pg_bin_dir, port=settings.pg_port)
    return held.enter_context(lease).conninfo


async def _examine_database(conninfo: str, settings: "Settings") -> AsyncIterator[Finding]:
    from memex.postgres import agent_conninfo_of
    from memex.store.database import Database
    from memex.store.log import queue
    from memex.store.log.degraded import count_degraded
    from memex.store.upkeep import checkup
    from memex.store.upkeep.health import read_coverage
    from memex.wiring import embedder_of

    report = await checkup.examine(conninfo, settings.pooler)
    yield Finding("postgres", f"{report.server_version} at {_target(conninfo)}")
    if report.is_pooled:
        yield _pooler(settings)
    yield examine_schema(report.schema_version, report.newest_version)
    if report.stale_scopes is not None:
        yield examine_index(report.stale_scopes)
    yield examine_collation(report)
    yield examine_pgvector(report)
    yield await _embedder(report, settings)
    yield await _models(settings)
    if settings.max_database_bytes is not None:
        yield examine_size(report.database_bytes, settings.max_database_bytes)
    yield _pool(settings.max_connections, None if report.is_pooled else report.max_connections)
    agent_conninfo = agent_conninfo_of(settings)
    database = await Database.open(
        conninfo, max_connections=1, pooler_setting=settings.pooler, agent_conninfo=agent_conninfo
    )
    if report.schema_version == report.newest_version:
        async with database.maintenance() as connection:
            yield examine_jobs(report, await queue.count(connection))
            yield examine_degraded(await count_degraded(connection))
            with suppress(MemexError):  # which the finding on the embedder tells
                if report.has_vectors and (embedder := embedder_of(settings)) is not None:
                    found = await read_coverage(connection, embedder.name)
                    yield Finding("vectors", count_embedded(embedder.name, found))
    await database.close()
    yield examine_login(report, acts_by_role=database.acts_by_role)
    if settings.database_url is not None:
        yield Finding(
            "logins",
            "one login owns the tables and runs the calls of agents"
            if agent_conninfo is None
            else "the calls of agents run by a login that owns nothing",
        )


async def _models(settings: "Settings") -> Finding:
    """Check the planner: set up its model, but do not send a request to it."""
    from memex.service.tools.definitions import check_prompts
    from memex.wiring import chat_models

    try:
        if settings.prompts_dir is not None:
            check_prompts(settings.prompts_dir)
        chats = chat_models(settings)
    except MemexError as error:
        return problem("planner", error)
    if chats == (None, None):
        return Finding("planner", "builtin: by rules, and no text is sent to any model", "note")
    names = ["builtin" if chat is None else chat.name for chat in chats]
    if (failed := await _set_up("planner", *filter(None, chats))) is not None:
        return failed
    where = f" at {settings.openai_base_url}" if settings.openai_base_url else ""
    said = (
        f"context {names[0]}, remember {names[1]}{where}; mode {settings.model_mode}; not asked by this check"
    )
    return Finding("planner", said, "note")


async def _set_up(name: str, *chats: "ChatModel") -> Finding | None:
    """Set models up, and return what is missing; None if nothing is."""
    try:
        for chat in chats:
            await chat.model()
            await chat.close()
    except Exception as error:  # noqa: BLE001  # raised by the library of a provider
        said = (str(error).splitlines() or [""])[0].partition(" or pass")[0][:200] or type(error).__name__
        named = ", ".join(dict.fromkeys(chat.name for chat in chats))
        return Finding(name, f"{named}: {said}", "problem", "Set what the provider needs.")
    return None


async def _embedder(report: "DatabaseReport", settings: "Settings") -> Finding:
    """Check the embedder: let it embed a word, if the database can use the vectors."""
    from memex.subagent.embedders.interface import embed_texts
    from memex.wiring import embedder_of

    try:
        embedder = embedder_of(settings)
    except MemexError as error:
        return problem("embedder", error)
    if embedder is None and settings.search_mode == "hybrid":
        return Finding(
            "embedder",
            "none; search mode hybrid, so that every search is refused",
            "problem",
            "Set MEMEX_EMBEDDER, or MEMEX_SEARCH_MODE=auto.",
        )
    if embedder is None:
        return Finding(
            "embedder", f"none; search mode {settings.search_mode}, which is by words alone", "note"
        )
    said = f"{embedder.name}; search mode {settings.search_mode}"
    if not report.has_vectors and not embedder.gives_states:
        return Finding(
            "embedder",
            f"{said}; this database cannot hold its vectors",
            "problem",
            "Give the database pgvector, as said above, or set MEMEX_EMBEDDER=none.",
        )
    try:
        await embed_texts(embedder, ["memory"], "query")
    except MemexError as error:
        return problem("embedder", error)
    finally:
        await embedder.close()
    if not report.has_vectors:
        return Finding(
            "embedder",
            f"{said}; without pgvector, only what words find is compared in meaning",
            "note",
            "Give the database pgvector, as said above, to find by meaning what shares no word.",
        )
    return Finding("embedder", f"{said}; it embedded a word; `memex index status` says how far it is")


def _pooler(settings: "Settings") -> Finding:
    why = "as MEMEX_POOLER says" if settings.pooler == "transaction" else "noticed"
    return Finding(
        "pooler",
        f"connections lead through one ({why}): Memex prepares no statements, so a call takes longer",
        "note",
        "See how PgBouncer is set up in docs/operations.md. Without a pooler, Memex pools by itself.",
    )


def _pool(wanted: int, offered: int | None) -> Finding:
    if offered is None:
        return Finding("pool", f"up to {wanted} connections a process for requests, to the pooler", "note")
    said = f"up to {wanted} connections a process for requests, of {offered} that the server takes"
    if wanted >= offered:
        return Finding("pool", said, "problem", "Lower MEMEX_MAX_CONNECTIONS.")
    return Finding("pool", said)


def _target(conninfo: str) -> str:
    """Return the address of a database, without the password."""
    from psycopg.conninfo import conninfo_to_dict

    given = conninfo_to_dict(conninfo)
    host, port = given.get("host") or "the local socket", given.get("port") or 5432
    return f"{host}:{port}/{given.get('dbname') or ''}, login {given.get('user') or 'default'}"


def _user_name(uid: int) -> str:
    import pwd

    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)
