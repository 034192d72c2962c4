"""The use and the limits of storage: of a tenant, its users and its projects."""

from typing import Any

from pydantic import ConfigDict, Field

from memex.errors import Forbidden, ValidationFailed
from memex.service.call import Caller
from memex.service.choice import CallerChoice
from memex.service.service import Service
from memex.service.tools.tool import ResultPart
from memex.store.database import row, rows
from memex.store.identity import tenants
from memex.store.paths import check_slug
from memex.store.sql import sql
from memex.store.writes.quota import MEASURES, Kind

MAX_LIMIT = 2**62


class UsageResult(ResultPart):
    """The stored texts: the files that stand, their bytes, and both over the whole history."""

    files: int
    bytes: int
    revisions: int
    stored_bytes: int


class JournalUsage(ResultPart):
    """The bytes of the texts of the journal, and their limit.

    `max_bytes` is `MEMEX_JOURNAL_BYTES`, which holds for each user; null for a tenant, and where there is no limit.
    """

    bytes: int
    max_bytes: int | None


class MessageUsage(ResultPart):
    """The number and the bytes of the kept messages of imported conversations, and the limit.

    `max_messages` is `MEMEX_MAX_MESSAGES`, which holds for each user; null for a tenant.
    """

    messages: int
    bytes: int
    max_messages: int | None


class DocumentUsage(ResultPart):
    """The number and the bytes of the mirrored documents, and the limits of both.

    The limits are `MEMEX_MAX_DOCUMENTS` and `MEMEX_MAX_DOCUMENT_BYTES`, which hold for each user and each project;
    null for a tenant.
    """

    documents: int
    bytes: int
    max_documents: int | None
    max_bytes: int | None


class QuotaLimits(CallerChoice):
    """The limits of what may be stored; null for no limit."""

    model_config = ConfigDict(
        strict=True,
        json_schema_extra={"examples": [{"files": 1_000, "stored_bytes": 100_000_000}]},
    )

    files: int | None = Field(None, ge=0, le=MAX_LIMIT)
    bytes: int | None = Field(None, ge=0, le=MAX_LIMIT)
    revisions: int | None = Field(None, ge=0, le=MAX_LIMIT)
    stored_bytes: int | None = Field(None, ge=0, le=MAX_LIMIT)


NO_LIMITS = QuotaLimits()


class QuotaResult(ResultPart):
    """The limits of a tenant, a user or a project; an empty `name` stands for all users, or all projects.

    `used` is null for these, and for one that has stored nothing. The texts of messages and documents count in
    `bytes` and `stored_bytes`: `conversations` has the messages, null for projects and for all users, and
    `documents` the documents, null for all users and all projects. Entries of the journal count only in `revisions`
    and `stored_bytes`; `journal` has those that stand, null where `conversations` is.
    """

    kind: Kind
    name: str
    used: UsageResult | None
    limits: QuotaLimits
    journal: JournalUsage | None
    conversations: MessageUsage | None
    documents: DocumentUsage | None


class QuotasResult(ResultPart):
    """The tenant first, then its users and projects with quotas of their own."""

    quotas: list[QuotaResult]


async def list_quotas(service: Service, caller: Caller) -> QuotasResult:
    """Return what the caller's tenant stores and may store, and its other quotas; raises Forbidden for agents."""
    given = {"tenant_id": caller.access.tenant_id, "kind": None, "key": None, "only_asked": False}
    async with service.maintaining(caller, "quota_list", {}) as connection:
        found = await rows(connection, "identity/quota_list", **given)
    return QuotasResult(quotas=[_render(record, service) for record in found])


async def set_quota(
    service: Service, caller: Caller, kind: Kind, name: str = "", limits: QuotaLimits = NO_LIMITS
) -> QuotaResult:
    """Set the limits of a tenant, a user or a project, and return them with what is stored.

    An empty `name` means all users, or projects, without limits of their own. Limits that are not given do not
    hold any more.

    Raises:
        Forbidden: the caller is no admin of all users, or limits the tenant over the network.
        ValidationFailed: there can be no user, or project, of this name.
    """
    asked = {"kind": kind, "name": name, "limits": limits.model_dump(exclude_none=True)}
    async with service.maintaining(caller, "quota_set", asked) as connection:
        if caller.principal.bound_user is not None or (
            kind == "tenant" and caller.principal.key_id is not None
        ):
            raise Forbidden(
                "This key may not set this quota.",
                hint="Quotas of users and projects are set by an administrator's key that is not bound to a user, "
                "and those of a tenant by `memex service quota set tenant` on the machine of the database.",
            )
        _check_name(kind, name)
        if kind == "user" and name:
            await tenants.check_user(connection, caller.access.tenant_id, name)
        place = {"tenant_id": caller.access.tenant_id, "kind": kind, "key": name}
        await connection.execute(sql("identity/quota_set"), place | limits.model_dump())
    return await read_quota(service, caller.access.tenant_id, kind, name)


async def read_quota(service: Service, tenant_id: int, kind: Kind, name: str) -> QuotaResult:
    """Return what a tenant, a user or a project stores and may store."""
    async with service.database.maintenance() as connection:
        given = {"tenant_id": tenant_id, "kind": kind, "key": name, "only_asked": True}
        found = await row(connection, "identity/quota_list", **given)
    assert found is not None  # noqa: S101  # the one that was asked for
    return _render(found, service)


def _check_name(kind: Kind, name: str) -> None:
    if kind == "tenant" and name:
        raise ValidationFailed("The quota of a tenant takes no name.", hint="Choose the tenant by its key.")
    if kind == "project" and name:
        check_slug(name)


def _render(record: dict[str, Any], service: Service) -> QuotaResult:
    is_tenant = record["kind"] == "tenant"
    has_journal = has_conversations = is_tenant or (record["kind"] == "user" and record["key"])
    has_used = record["files"] is not None
    return QuotaResult(
        kind=record["kind"],
        name=record["key"],
        used=UsageResult(**{name: record[name] for name in MEASURES}) if has_used else None,
        limits=QuotaLimits(**{name: record[f"max_{name}"] for name in MEASURES}),
        journal=JournalUsage(
            bytes=record["journal_bytes"],
            max_bytes=None if is_tenant else service.max_journal_bytes or None,
        )
        if has_journal
        else None,
        conversations=MessageUsage(
            messages=record["messages"],
            bytes=record["message_bytes"],
            max_messages=None if is_tenant else service.max_messages,
        )
        if has_conversations
        else None,
        documents=DocumentUsage(
            documents=record["documents"],
            bytes=record["document_bytes"],
            max_documents=None if is_tenant else service.document_limits.documents,
            max_bytes=None if is_tenant else service.document_limits.text_bytes,
        )
        if is_tenant or record["key"]
        else None,
    )
