"""The caller and the scopes that the caller may use. Memex resolves them before it reads any path."""

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal

from memex.errors import ProjectNotFound, ReadOnlyMount, ValidationFailed
from memex.store.near import did_you_mean, near_names
from memex.store.paths import VirtualPath

Role = Literal["agent", "admin"]
# How a write came. `dream` is for writes of the memory service itself; no code of Memex makes one yet.
Channel = Literal["user", "agent", "import", "dream", "admin"]
# What is done about a secret in a text that comes in.
SecretPolicy = Literal["redact", "flag", "refuse", "off"]
SEARCHED_PROJECTS = 20


@dataclass(frozen=True, slots=True)
class SecretPolicies:
    """The policies on secrets: `remember` for texts to remember and for reasons, `files` for files."""

    remember: SecretPolicy = "redact"
    files: SecretPolicy = "flag"


@dataclass(frozen=True, slots=True)
class TenantSecretPolicies:
    """A tenant's own policies on secrets; None where those of the service's settings hold."""

    remember: SecretPolicy | None = None
    files: SecretPolicy | None = None

    def over(self, defaults: SecretPolicies) -> SecretPolicies:
        """Return the policies that hold."""
        return SecretPolicies(self.remember or defaults.remember, self.files or defaults.files)


@dataclass(frozen=True, slots=True)
class Scope:
    """A place that holds files, under the mount by which the caller names the place."""

    scope_id: int
    mount: str  # user, shared or projects/<slug>
    writable: bool
    language: str = "english"  # of its files, as search reads them

    @property
    def is_project(self) -> bool:
        """Return whether the scope belongs to a project."""
        return self.mount.startswith("projects/")

    def virtual(self, relative_path: str) -> str:
        """Return the path as a caller writes it."""
        return f"{self.mount}/{relative_path}"


@dataclass(slots=True)
class Standing:
    """By what each transaction of an access sees that the access still holds; see `check_access` in schema.sql.

    Attributes:
        epoch: the tenant's access epoch in which the rights were last seen to be these. It moves on with each
            transaction that saw them in a newer one.
        rights: a digest of them.
        key_id: the key of the caller; None for whoever runs commands on the machine itself.
        key_sha256: the digest by which the key was shown; None for a call from the queue.
    """

    epoch: int
    rights: bytes
    key_id: int | None = None
    key_sha256: bytes | None = field(default=None, repr=False)


def no_user() -> ValidationFailed:
    """Return the error for a call that names no user, though it is about one."""
    return ValidationFailed(
        "This call names no user.", hint="Name the user in the context: userId.", reason="no_user"
    )


@dataclass(frozen=True)
class Access:
    """The scopes that one call may read and write. `authentication.resolve` makes it from key and context alone.

    `scopes` are in the order of mounts: user, shared, projects by slug. `log_scope_id` is the scope whose log holds
    the call: the user's scope, or the tenant's admin scope for an admin.

    A user who never wrote is a visitor, who has no scope. The mount `user` is then the tenant's scope of visitors,
    which never holds files; an agent's calls are logged there, and row-level security shows each visitor only its
    own rows. `visitors_id` is this scope, for users who have one of their own too: they may have been visitors.
    Before the first write for a visitor, `Identities.admit` makes its scope.

    `conversations` is where the user's imported conversations are, None before the first import. It is none of
    `scopes`, so calls about memory can read nothing of it; `for_conversations` opens it.

    `documents` are where documents are: the user's, and those of each project. The mount of each says whose
    documents it holds (`user`, `projects/<slug>`). There is none before the first push. `limited_to` opens them.

    Each transaction checks that none of these rights was taken away. One that `is_cached` was not made for this
    call, so each transaction also checks that none was added since.
    """

    tenant_id: int
    role: Role
    user_id: str | None
    actor: str | None
    channel: Channel
    scopes: tuple[Scope, ...]
    log_scope_id: int
    standing: Standing = field(compare=False)
    project: str | None = None
    is_cached: bool = field(default=False, compare=False)
    visitors_id: int | None = field(default=None, compare=False)
    secrets: TenantSecretPolicies = TenantSecretPolicies()
    conversations: Scope | None = None
    documents: tuple[Scope, ...] = ()

    @property
    def is_visitor(self) -> bool:
        """Return whether the user of the call has no scope, as it never wrote."""
        user = self.by_mount.get("user")
        return user is not None and user.scope_id == self.visitors_id

    @property
    def language(self) -> str:
        """The language of the first scope: that of the user's own files, where there are any."""
        return self.scopes[0].language if self.scopes else "english"

    @cached_property
    def by_mount(self) -> dict[str, Scope]:
        """The scopes by their mount."""
        return {scope.mount: scope for scope in self.scopes}

    @cached_property
    def by_id(self) -> dict[int, Scope]:
        """The scopes by their id."""
        return {scope.scope_id: scope for scope in self.scopes}

    def searched(self, project: str | None = None) -> tuple[Scope, ...]:
        """Return the scopes that a search reads: user and shared, and the named project.

        If neither the call nor its context names a project, the search reads the first 20 projects.

        Raises:
            ProjectNotFound: the user is not a member of the named one.
        """
        named = project if project is not None else self.project
        if named is not None:
            projects = [self.scope_at(f"projects/{named}")]
        else:
            projects = [scope for scope in self.scopes if scope.is_project][:SEARCHED_PROJECTS]
        return (*(scope for scope in self.scopes if not scope.is_project), *projects)

    def narrowed(self, project: str | None = None) -> "Access":
        """Return an access to the scopes of `searched` alone; raises the same errors."""
        named = project if project is not None else self.project
        return replace(self.limited_to(self.searched(named)), project=named)

    def limited_to(self, scopes: tuple[Scope, ...]) -> "Access":
        """Return an access to some of the scopes alone.

        A transaction for it sees that these are still open, which says nothing of the other ones. So it has a
        standing of its own, unless it is cached: then each transaction compares all rights.
        """
        standing = self.standing if self.is_cached else replace(self.standing)
        return replace(self, scopes=scopes, standing=standing)

    def for_conversations(self) -> "Access":
        """Return an access to the user's conversations alone, and to the log."""
        return self.limited_to(() if self.conversations is None else (self.conversations,))

    def documents_at(self, mount: str) -> Scope | None:
        """Return where the documents of a mount are, `user` or `projects/<slug>`; None before the first push.

        Raises:
            ProjectNotFound, ValidationFailed: as `scope_at`.
        """
        self.scope_at(mount)
        return next((scope for scope in self.documents if scope.mount == mount), None)

    def documents_searched(self, project: str | None = None) -> tuple[Scope, ...]:
        """Return the scopes of documents beside those that `searched` returns; raises the same error."""
        mounts = {scope.mount for scope in self.searched(project)} | {"user"}
        return tuple(scope for scope in self.documents if scope.mount in mounts)

    def for_log(self) -> "Access":
        """Return an access to nothing but the log that holds the call."""
        return replace(self, is_cached=False).limited_to(())

    @cached_property
    def logs(self) -> list[int]:
        """The scopes whose logs the caller reads: the caller's own, and for an admin also the named user's."""
        user = self.by_mount.get("user")
        return sorted({self.log_scope_id, *([user.scope_id] if user else [])})

    @cached_property
    def visible_logs(self) -> list[int]:
        """The scopes whose logs the caller sees: those of a user with what it did as a visitor.

        For an admin without a user also shared and projects.
        """
        if self.user_id is None:
            return sorted({*self.logs, *self.by_id}) if self.role == "admin" else self.logs
        return sorted({*self.logs, *self._visitors})

    @cached_property
    def readable_ids(self) -> list[int]:
        """The scopes that row-level security lets this caller read, including the logs."""
        return sorted({self.log_scope_id, *self.by_id, *self._visitors})

    @cached_property
    def rights_to_read(self) -> list[int]:
        """The same without the scope of visitors, which is nobody's right."""
        return sorted({*self.readable_ids} - self._visitors)

    @cached_property
    def writable_ids(self) -> list[int]:
        """The scopes that row-level security lets this caller write, including the log; never that of visitors."""
        writable = {scope.scope_id for scope in self.scopes if scope.writable}
        return sorted({self.log_scope_id, *writable} - self._visitors)

    @property
    def _visitors(self) -> set[int]:
        return set() if self.visitors_id is None else {self.visitors_id}

    def scope_of(self, path: VirtualPath) -> Scope:
        """Return the scope that a path lies in; raises as `scope_at`."""
        return self.scope_at(path.mount_name)

    def scope_at(self, mount: str) -> Scope:
        """Return the scope of a mount: user, shared or projects/<slug>.

        Raises:
            ProjectNotFound: no such project, or the user is not a member of it.
            ValidationFailed: an admin who named no user asks for user/….
        """
        if scope := self.by_mount.get(mount):
            return scope
        if mount == "user":
            raise no_user()
        raise self._project_not_found(mount.removeprefix("projects/"))

    def _project_not_found(self, slug: str) -> ProjectNotFound:
        """Return the error, which names only projects that this caller may use."""
        near = near_names(
            slug, [scope.mount.removeprefix("projects/") for scope in self.scopes if scope.is_project]
        )
        return ProjectNotFound(
            f"There is no project {slug!r} for this user.",
            hint=did_you_mean(near) + ProjectNotFound.default_hint,
            did_you_mean=near or None,
        )

    def writable_scope_of(self, path: VirtualPath) -> Scope:
        """Return the scope that a path lies in, to write there.

        Raises:
            ReadOnlyMount: agents read shared/ and do not write it.
            ProjectNotFound, ValidationFailed: as `scope_at`.
        """
        scope = self.scope_of(path)
        if not scope.writable:
            raise ReadOnlyMount(f"{path}: {scope.mount}/ is read-only for agents.")
        return scope
