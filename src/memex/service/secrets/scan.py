"""Find the secrets that are stored already: where they stand and of what kind they are, never their text."""

from typing import Any

from memex.errors import Forbidden, LimitExceeded
from memex.service.call import Caller, check_role
from memex.service.secrets import guard
from memex.service.service import Service
from memex.service.tools.cursor import from_cursor, to_cursor
from memex.service.tools.tool import ResultPart
from memex.store.database import rows
from memex.store.log.call import CallAnswer
from memex.subagent.statements.secrets.finding import places

BATCH_TEXTS = 8  # read at once; a text has at most 1 MiB
MAX_TEXTS = 400  # of a page
MAX_CHARS = 4 << 20  # of the texts of a page
MAX_FINDINGS = 500  # after which a page ends

Position = tuple[int, str, int]


class StoredSecret(ResultPart):
    """A place in a stored text that looks like a secret; line and column count from 1.

    `user` is the user whose file it is, null for files in shared/ and in projects. `is_standing` is false for a
    version that another one has replaced.
    """

    user: str | None
    path: str
    version: int
    line: int
    column: int
    kind: str
    is_standing: bool


class ScanResult(ResultPart):
    """Places of stored secrets by path and version. `next_cursor` is null on the last page, and only there.

    `texts` says how many texts this page looked through; `unread` names those that take too long to look through.
    """

    secrets: list[StoredSecret]
    texts: int
    unread: list[str]
    next_cursor: str | None


async def scan(
    service: Service,
    caller: Caller,
    *,
    all_users: bool = False,
    history: bool = False,
    cursor: str | None = None,
) -> ScanResult:
    """Return a page of the secrets that are stored.

    Without `all_users`, the texts that the caller may read are looked through; with `history` also versions that
    do not stand any more.

    Raises:
        Forbidden: the caller is no administrator, or none of all users.
        ValidationFailed: the cursor is malformed.
    """
    given = {"all_users": all_users, "history": history}
    async with service.recorder.recorded(caller, "secrets_scan", given) as log:
        check_role(caller.principal, "admin")
        if all_users and caller.principal.bound_user is not None:
            raise Forbidden(
                "This key may not look through the files of all users.",
                hint="Use an administrator's key that is not bound to a user, or leave out all_users.",
            )
        scope_id, path, version = from_cursor(cursor, int, str, int) if cursor is not None else (0, "", 0)
        page = _Page(service, caller, all_users=all_users, history=history)
        result = await page.read((scope_id, path, version))
        counted = {"texts": result.texts, "secrets": len(result.secrets), "unread": len(result.unread)}
        await log.add("answered", CallAnswer(counted, given, counted))
    return result


class _Page:
    """One page of a scan, which ends after so many texts, characters or findings."""

    def __init__(self, service: Service, caller: Caller, *, all_users: bool, history: bool) -> None:
        self._service = service
        self._access = caller.access
        self._all_users = all_users
        self._history = history
        self._found: list[StoredSecret] = []
        self._unread: list[str] = []
        self._texts = 0
        self._chars = 0

    async def read(self, position: Position) -> ScanResult:
        """Return the page that begins after a position."""
        while batch := await self._batch(position):
            for text in batch:
                await self._look(text)
                position = text["scope_id"], text["path"], text["version"]
                if self._is_full:
                    return self._result(to_cursor(*position))
        return self._result(None)

    async def _batch(self, after: Position) -> list[dict[str, Any]]:
        asked = {
            "tenant_id": self._access.tenant_id,
            "scope_ids": None if self._all_users else sorted(self._access.by_id),
            "history": self._history,
            "limit": BATCH_TEXTS,
            **dict(zip(("after_scope", "after_path", "after_version"), after, strict=True)),
        }
        database = self._service.database
        opened = database.maintenance() if self._all_users else database.transaction(self._access)
        async with opened as connection:
            return await rows(connection, "upkeep/secret_texts", **asked)

    async def _look(self, text: dict[str, Any]) -> None:
        content = text["content"]
        path, version = _virtual_path(text), text["version"]
        self._texts += 1
        self._chars += len(content)
        try:
            secrets = await guard.find(content)
        except LimitExceeded:
            self._unread.append(f"{path}@{version}")
            return
        self._found += [
            StoredSecret.taken_from(
                place,
                user=text["key"] if text["kind"] == "user" else None,
                path=path,
                version=version,
                is_standing=text["is_standing"],
            )
            for place in places(content, secrets)
        ]

    @property
    def _is_full(self) -> bool:
        return self._texts >= MAX_TEXTS or self._chars >= MAX_CHARS or len(self._found) >= MAX_FINDINGS

    def _result(self, next_cursor: str | None) -> ScanResult:
        return ScanResult(
            secrets=self._found, texts=self._texts, unread=self._unread, next_cursor=next_cursor
        )


def _virtual_path(text: dict[str, Any]) -> str:
    mount = f"projects/{text['key']}" if text["kind"] == "project" else text["kind"]
    return f"{mount}/{text['path']}"
