"""The records that admins keep: tenants, their keys, projects and members."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from memex.errors import Forbidden, ProjectNotFound, ValidationFailed
from memex.store.access import Access, Role
from memex.store.database import Connection, Database, row, rows
from memex.store.identity.authentication import key_digest, new_secret
from memex.store.identity.look_alikes import skeleton
from memex.store.paths import check_id, check_new_id, check_slug
from memex.store.sql import sql

DEFAULT_TENANT = "default"
MAX_COUNTED_CALLS = 1_000  # of each user who is listed


@dataclass(frozen=True, slots=True)
class ApiKey:
    """A key as it is listed: never its secret."""

    key_id: int
    role: Role
    user_id: str | None
    label: str | None
    created_at: datetime
    revoked_at: datetime | None


@dataclass(frozen=True, slots=True)
class FirstKeys:
    """The secrets of a new tenant's keys."""

    agent: str = field(repr=False)
    admin: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Project:
    """A project that is open."""

    slug: str
    created_at: datetime
    files: int
    members: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class User:
    """A user who wrote at least once; `bytes` is None until its texts were counted."""

    user_id: str
    created_at: datetime
    files: int
    bytes: int | None
    calls: int
    last_call_at: datetime | None


async def ensure_tenant(database: Database, name: str) -> int:
    """Return the id of the tenant of this name, made if need be."""
    check_id(name, "tenant")
    async with database.maintenance() as connection:
        found = (
            await row(connection, "identity/tenant_find", name=name)  # a standby has it, and cannot make it
            or await row(connection, "identity/tenant_ensure", name=name)
            or await row(connection, "identity/tenant_find", name=name)
        )
    assert found is not None  # noqa: S101  # it was there or was made
    tenant_id: int = found["tenant_id"]
    return tenant_id


async def find_tenant(database: Database, name: str) -> int:
    """Return the id of a tenant; the tenant `default` is made if need be.

    Raises:
        ValidationFailed: there is no tenant of this name.
    """
    if name == DEFAULT_TENANT:
        return await ensure_tenant(database, name)
    check_id(name, "tenant")
    async with database.maintenance() as connection:
        found = await row(connection, "identity/tenant_find", name=name)
    if found is None:
        raise ValidationFailed(
            f"There is no tenant {name!r}.", hint="`memex keys create --tenant` makes one with its first key."
        )
    tenant_id: int = found["tenant_id"]
    return tenant_id


async def tenant_name(database: Database, tenant_id: int) -> str:
    """Return the name of a tenant that there is."""
    async with database.maintenance() as connection:
        found = await row(connection, "identity/tenant_name", tenant_id=tenant_id)
    assert found is not None  # noqa: S101  # it has a key
    return str(found["name"])


async def create_key(
    database: Database, tenant: str, role: Role, *, user_id: str | None = None, label: str | None = None
) -> tuple[str, ApiKey]:
    """Make a key, and with it its tenant; return the secret, which is shown this once, and the key.

    Args:
        database: the database that stores the digest of the key.
        tenant: the name of the tenant.
        role: agent for tools and files, admin for everything of the tenant.
        user_id: binds the key to this user; None lets an agent's key name the user with each call.
        label: what it is for.
    """
    _check_key(user_id, label)
    tenant_id = await ensure_tenant(database, tenant)
    async with database.maintenance() as connection:
        return await add_key(connection, tenant_id, role, user_id, label)


async def add_key(
    connection: Connection, tenant_id: int, role: Role, user_id: str | None, label: str | None
) -> tuple[str, ApiKey]:
    """Make a key of a tenant, and return the secret and the key. For maintenance; see `create_key`."""
    _check_key(user_id, label)
    if user_id is not None:
        await check_user(connection, tenant_id, user_id)
    secret = new_secret()
    made = await row(
        connection,
        "identity/key_add",
        tenant_id=tenant_id,
        key_sha256=key_digest(secret),
        role=role,
        user_id=user_id,
        label=label,
    )
    assert made is not None  # noqa: S101  # an insert that returns its row
    return secret, ApiKey(made["key_id"], role, user_id, label, made["created_at"], None)


async def list_keys_of(connection: Connection, tenant_id: int) -> Sequence[ApiKey]:
    """Return the keys of a tenant, the revoked ones too. For maintenance."""
    return [ApiKey(**record) for record in await rows(connection, "identity/key_list", tenant_id=tenant_id)]


async def revoke_key_of(connection: Connection, tenant_id: int, key_id: int) -> ApiKey:
    """Revoke a key of a tenant. For maintenance.

    Raises:
        ValidationFailed: the tenant has no such key.
    """
    revoked = await row(connection, "identity/key_revoke", tenant_id=tenant_id, key_id=key_id)
    if revoked is None:
        raise ValidationFailed(f"There is no key {key_id}.", hint="See them with `memex keys list`.")
    return ApiKey(**revoked)


async def first_keys(database: Database, tenant: str) -> FirstKeys | None:
    """Make an agent's and an admin's key for a tenant that never had any, and return them; else None."""
    tenant_id = await ensure_tenant(database, tenant)
    async with database.maintenance() as connection:
        # Of services that start at once, one makes them.
        await row(connection, "identity/tenant_lock", tenant_id=tenant_id)
        if await rows(connection, "identity/key_list", tenant_id=tenant_id):
            return None
        agent, _ = await add_key(connection, tenant_id, "agent", None, "made by the first start")
        admin, _ = await add_key(connection, tenant_id, "admin", None, "made by the first start")
    return FirstKeys(agent, admin)


async def list_keys(database: Database, tenant: str) -> Sequence[ApiKey]:
    """Return the keys of a tenant, the revoked ones too; none for a tenant that does not exist."""
    check_id(tenant, "tenant")
    async with database.maintenance() as connection:
        found = await row(connection, "identity/tenant_find", name=tenant)
        if found is None:
            return []
        return await list_keys_of(connection, found["tenant_id"])


async def revoke_key(database: Database, tenant: str, key_id: int) -> ApiKey:
    """Revoke a key at once and for ever.

    Raises:
        ValidationFailed: the tenant has no such key.
    """
    check_id(tenant, "tenant")
    async with database.maintenance() as connection:
        found = await row(connection, "identity/tenant_find", name=tenant)
        revoked = found and await row(
            connection, "identity/key_revoke", tenant_id=found["tenant_id"], key_id=key_id
        )
    if not revoked:
        raise ValidationFailed(
            f"Tenant {tenant!r} has no key {key_id}.", hint="See them with `memex keys list`."
        )
    return ApiKey(**revoked)


async def open_project(connection: Connection, access: Access, slug: str) -> bool:
    """Make a project, or open a closed one with its files; tell whether it was made."""
    check_slug(slug)
    opened = await row(connection, "identity/project_open", tenant_id=access.tenant_id, slug=slug)
    assert opened is not None  # noqa: S101  # an upsert that returns its row
    await connection.execute(
        sql("identity/scope_stat_add"), {"tenant_id": access.tenant_id, "scope_id": opened["scope_id"]}
    )
    return bool(opened["created"])


async def start_project(database: Database, tenant_id: int, slug: str, user_id: str) -> None:
    """Make a project with one member, for a user who may not administer.

    Raises:
        Forbidden: there is a project of this name, open or closed.
    """
    check_slug(slug)
    check_id(user_id, "user id")
    async with database.maintenance() as connection:
        opened = await row(connection, "identity/project_open", tenant_id=tenant_id, slug=slug)
        if opened is None or not opened["created"]:
            raise Forbidden(
                f"The name {slug!r} is taken by another project.",
                hint=f"Choose another name, or ask an administrator: memex projects add {slug} {user_id}",
            )
        named = {"tenant_id": tenant_id, "scope_id": opened["scope_id"]}
        await connection.execute(sql("identity/scope_stat_add"), named)
        await row(connection, "identity/project_member_add", **named, user_id=user_id)


async def close_project(connection: Connection, access: Access, slug: str) -> None:
    """Close a project: its members go, its files stay for the day it is opened again.

    Raises:
        ProjectNotFound: it is not open.
    """
    if await row(connection, "identity/project_close", tenant_id=access.tenant_id, slug=slug) is None:
        raise _no_project(slug)


async def list_projects(connection: Connection, access: Access) -> Sequence[Project]:
    """Return the tenant's open projects by slug."""
    found = await rows(connection, "identity/project_list", tenant_id=access.tenant_id)
    return [Project(r["slug"], r["created_at"], r["files"], tuple(r["members"])) for r in found]


async def add_member(connection: Connection, access: Access, slug: str, user_id: str) -> bool:
    """Make a user a member of a project; tell whether it was none before.

    Raises:
        ProjectNotFound: it is not open.
    """
    await check_user(connection, access.tenant_id, user_id)
    scope_id = await _project(connection, access, slug)
    return (
        await row(
            connection,
            "identity/project_member_add",
            tenant_id=access.tenant_id,
            scope_id=scope_id,
            user_id=user_id,
        )
        is not None
    )


async def remove_member(connection: Connection, access: Access, slug: str, user_id: str) -> bool:
    """End a membership; tell whether there was one.

    Raises:
        ProjectNotFound: it is not open.
    """
    scope_id = await _project(connection, access, slug)
    return (
        await row(connection, "identity/project_member_remove", scope_id=scope_id, user_id=user_id)
        is not None
    )


async def list_users(
    connection: Connection,
    access: Access,
    *,
    limit: int,
    after: str = "",
    query: str = "",
    user_id: str | None = None,
) -> Sequence[User]:
    """Return the tenant's users by id, after one of them.

    Args:
        connection: in a transaction begun for `access`.
        access: the access of an admin.
        limit: the largest number of users.
        after: only ids behind this one.
        query: only ids that contain this text, in whatever case.
        user_id: only this user.
    """
    found = await rows(
        connection,
        "identity/user_list",
        tenant_id=access.tenant_id,
        after=after,
        limit=limit,
        query=query,
        user_id=user_id,
        counted=MAX_COUNTED_CALLS,
    )
    return [User(**record) for record in found]


async def check_user(connection: Connection, tenant_id: int, user_id: str) -> None:
    """Refuse an id that no user can have, or no new one.

    Raises:
        ValidationFailed: no user can have it.
        InvalidId: there is no such user yet, and the id is one that no new user may have.
    """
    check_id(user_id, "user id")
    known = await row(connection, "identity/user_known", tenant_id=tenant_id, user_id=user_id)
    if known is None:
        check_new_id(user_id, "user id")


async def ids_like(connection: Connection, access: Access, users: Sequence[User]) -> dict[str, list[str]]:
    """Return for each of these users the ids of others that look alike, if there are any; at most ten each."""
    found = await rows(connection, "identity/user_ids", tenant_id=access.tenant_id)
    alike: dict[str, list[str]] = {}
    for record in found:
        alike.setdefault(skeleton(record["user_id"]), []).append(record["user_id"])
    shown = {user.user_id: alike.get(skeleton(user.user_id), []) for user in users}
    return {user: [other for other in ids if other != user][:10] for user, ids in shown.items()}


def _check_key(user_id: str | None, label: str | None) -> None:
    if user_id is not None:
        check_id(user_id, "user id")
    if label is not None:
        check_id(label, "label")


async def _project(connection: Connection, access: Access, slug: str) -> int:
    found = await row(connection, "identity/project_find", tenant_id=access.tenant_id, slug=check_slug(slug))
    if found is None:
        raise _no_project(slug)
    scope_id: int = found["scope_id"]
    return scope_id


def _no_project(slug: str) -> ProjectNotFound:
    """Return the error for an administrator; what a user may use is said by `Access`."""
    return ProjectNotFound(
        f"There is no project {slug!r}.",
        hint="List the projects with GET /v1/admin/projects or `memex projects list`.",
        reason="tenant",
    )
