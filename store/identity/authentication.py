"""Make an `Access` from a key and the context of a request; no other code makes one.

How soon a change is heeded of what a key, a member or a project opens, by whichever process, or by `psql`:

- Each transaction of a call looks at the tenant's access epoch before it reads or writes anything
  (`identity/access_set`). So a change that was committed before a transaction began is heeded by this transaction.
- A commit of a draft looks again once it holds the locks of the writers (`identity/access_check`). So a change that
  was committed while the draft waited for the locks is heeded, and the draft writes nothing. A change that is
  committed later than this finds the draft under way; the draft may be committed after the change.
- If the epoch is another one than the access knows, the database looks the rights up. The transaction fails if the
  key was revoked (`Unauthenticated`) or a right was taken away (`AccessChanged`); if the access was cached, it also
  fails if a right was added. So a change that is not of this caller's rights stops no call of the caller.

The triggers of schema.sql raise the epoch, in the transaction that makes the change.
"""

import hashlib
import secrets
from dataclasses import dataclass, field, replace

from memex.call_context import CallContext
from memex.errors import Forbidden, Unauthenticated, ValidationFailed
from memex.store.access import Access, Role, Scope, SecretPolicy, Standing, TenantSecretPolicies
from memex.store.database import Connection, Database, row, row_as
from memex.store.paths import check_id, check_new_id, check_slug
from memex.store.waiting.failures import KEY_REFUSED

KEY_PREFIX = "mx_"
DOCUMENTS = ("documents", "project_documents")  # the kinds of scopes that hold documents


@dataclass(frozen=True, slots=True)
class Principal:
    """The holder of a key. `key_id` is None for whoever runs commands on the machine itself."""

    tenant_id: int
    role: Role
    key_id: int | None = None
    bound_user: str | None = None
    key_sha256: bytes | None = field(default=None, repr=False)

    def acting_as(self, role: Role | None) -> "Principal":
        """Return the holder in a role that has fewer rights; None keeps the role of the key."""
        return self if role is None else replace(self, role=role)


@dataclass(frozen=True, slots=True)
class _ResolvedScope:
    """A scope that a caller may read."""

    scope_id: int
    kind: str
    key: str
    writable: bool
    language: str

    @property
    def mount(self) -> str:
        """The mount by which the caller names the scope."""
        if self.kind == "documents":
            return "user"
        return self.kind if self.kind in ("user", "shared", "conversations") else f"projects/{self.key}"

    @property
    def scope(self) -> Scope:
        """The scope under this mount."""
        return Scope(self.scope_id, self.mount, self.writable, self.language)


@dataclass(frozen=True, slots=True)
class _ResolvedAccess:
    """The row of `identity/access_resolve`. The columns of the scopes are None if there are no scopes."""

    epoch: int
    is_allowed: bool
    rights: bytes
    scope_ids: list[int] | None
    kinds: list[str] | None
    keys: list[str] | None
    writables: list[bool] | None
    languages: list[str] | None
    visitors_id: int | None
    secrets_remember: SecretPolicy | None
    secrets_files: SecretPolicy | None

    @property
    def scopes(self) -> list[_ResolvedScope]:
        """The scopes that the caller may read."""
        columns = (self.scope_ids, self.kinds, self.keys, self.writables, self.languages)
        return [_ResolvedScope(*values) for values in zip(*(column or () for column in columns), strict=True)]

    @property
    def names(self) -> set[tuple[str, str]]:
        """The kinds and keys of these scopes."""
        return {(scope.kind, scope.key) for scope in self.scopes}

    def knows(self, role: Role, user_id: str) -> bool:
        """Return whether there is such a user: one who has written, or who is a member of a project."""
        is_member = role == "agent" and any(kind == "project" for kind, _ in self.names)
        return is_member or ("user", user_id) in self.names


def new_secret() -> str:
    """Return a new key: 256 random bits after a prefix by which a leaked one is recognised."""
    return KEY_PREFIX + secrets.token_urlsafe(32)


def key_digest(secret: str) -> bytes:
    """Return what is stored of a key. A random 256-bit secret needs no salt and no slow hash."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).digest()


async def authenticate(database: Database, secret: str) -> Principal:
    """Return who holds a key.

    Raises:
        Unauthenticated: it is unknown or revoked.
    """
    digest = key_digest(secret)
    async with database.connection(("", digest)) as connection:  # whose key it is, only the database knows
        found = await row(connection, "identity/key_authenticate", key_sha256=digest)
    if found is None:
        raise Unauthenticated(KEY_REFUSED)
    return Principal(found["tenant_id"], found["role"], found["key_id"], found["user_id"], digest)


async def resolve(
    database: Database,
    principal: Principal,
    context: CallContext,
    *,
    language: str = "english",
    makes_user: bool = False,
    makes_conversations: bool = False,
    makes_documents: str | None = None,
) -> Access:
    """Return what a call of `principal` may touch.

    Args:
        database: the database that says so.
        principal: the holder of the key.
        context: for whom the call acts.
        language: of the files in a scope that this call makes.
        makes_user: make the scope of a user who has none. Otherwise such a user is a visitor (see `Access`).
        makes_conversations: make the scope of the user's conversations, if there is none.
        makes_documents: make the scope of documents of this mount, `user` or `projects/<slug>`, if there is none.

    Raises:
        Unauthenticated: the key was revoked since.
        Forbidden: the key is bound to another user.
        ValidationFailed: an unbound agent's call names no user, or a name is malformed.
        InvalidId: there is no such user yet, and the id is one that no new user may have.
        ProjectNotFound: the context's project does not exist, or the user is not a member of it.
    """
    user_id = _user(principal, context)
    actor = None if context.actor is None else check_id(context.actor, "actor")
    if context.project == "":
        raise ValidationFailed("The project has no name.", hint="Give its slug, or leave the project out.")
    project = None if context.project is None else check_slug(context.project)
    log_kind = "user" if principal.role == "agent" else "admin"
    async with database.connection((principal.tenant_id, user_id)) as connection:
        resolved = await _resolve(connection, principal, user_id)
        if (
            user_id is not None
            and not user_id.isascii()
            and principal.bound_user is None
            and not resolved.knows(principal.role, user_id)
        ):
            check_new_id(user_id, "user id")
        needed = {("shared", "")} | ({("admin", "")} if log_kind == "admin" else set())
        if makes_user and user_id is not None:
            needed.add(("user", user_id))
        if makes_conversations and user_id is not None:
            needed.add(("conversations", user_id))
        if makes_documents is not None:
            needed |= _documents(makes_documents, user_id, resolved)
        missing = needed - resolved.names
        is_visitor = user_id is not None and not {("user", user_id)} & (resolved.names | missing)
        if is_visitor and resolved.visitors_id is None:
            missing.add(("visitor", ""))
        for kind, key in sorted(missing):
            await row(
                connection,
                "identity/scope_ensure",
                tenant_id=principal.tenant_id,
                kind=kind,
                key=key,
                language=language,
            )
        if missing:
            resolved = await _resolve(connection, principal, user_id)
    found = resolved.scopes
    scopes = [
        found_scope.scope
        for found_scope in found
        if found_scope.kind not in ("admin", "conversations", *DOCUMENTS)
    ]
    conversations = next(
        (found_scope.scope for found_scope in found if found_scope.kind == "conversations"), None
    )
    documents = sorted(
        (found_scope.scope for found_scope in found if found_scope.kind in DOCUMENTS),
        key=lambda scope: (scope.is_project, scope.mount),
    )
    logs = {found_scope.kind: found_scope.scope_id for found_scope in found}
    visitors_id = resolved.visitors_id
    if user_id is not None and "user" not in logs and visitors_id is not None:
        scopes.append(Scope(visitors_id, "user", True, language))
        logs["user"] = visitors_id
    access = Access(
        tenant_id=principal.tenant_id,
        role=principal.role,
        user_id=user_id,
        actor=actor,
        channel=context.channel or principal.role,
        scopes=tuple(
            sorted(scopes, key=lambda scope: (scope.is_project, scope.mount != "user", scope.mount))
        ),
        log_scope_id=logs[log_kind],
        standing=Standing(resolved.epoch, resolved.rights, principal.key_id, principal.key_sha256),
        project=project,
        visitors_id=visitors_id,
        secrets=TenantSecretPolicies(resolved.secrets_remember, resolved.secrets_files),
        conversations=conversations,
        documents=tuple(documents),
    )
    if project is not None:
        access.scope_at(f"projects/{project}")
    return access


def _documents(mount: str, user_id: str | None, resolved: _ResolvedAccess) -> set[tuple[str, str]]:
    """Return the scope of documents that a mount needs; none for a project that the caller may not use."""
    if mount == "user":
        return set() if user_id is None else {("documents", user_id)}
    slug = mount.removeprefix("projects/")
    return {("project_documents", slug)} if ("project", slug) in resolved.names else set()


async def _resolve(connection: Connection, principal: Principal, user_id: str | None) -> _ResolvedAccess:
    resolved = await row_as(
        _ResolvedAccess,
        connection,
        "identity/access_resolve",
        tenant_id=principal.tenant_id,
        role=principal.role,
        user_id=user_id,
        key_id=principal.key_id,
        key_sha256=principal.key_sha256,
    )
    if resolved is None or not resolved.is_allowed:
        raise Unauthenticated(KEY_REFUSED)
    return resolved


def _user(principal: Principal, context: CallContext) -> str | None:
    named = None if context.user_id is None else check_id(context.user_id, "user id")
    if principal.bound_user is not None:
        if named is not None and named != principal.bound_user:
            raise Forbidden(
                "The key is bound to another user.", hint="Leave the user out, or use another key."
            )
        return principal.bound_user
    if named is None and principal.role == "agent":
        raise ValidationFailed(
            "This key acts for many users, so each call must name one.",
            hint="Send context.userId (or the header Memex-User), or use a key that is bound to a user.",
            reason="no_user",
        )
    return named
