"""A session with a service over HTTP, with the key of an agent or an admin, on the routes of that role."""

# ruff: noqa: D102  # `CommandSession` says what each method does

import gc
import io
import time
import zipfile
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, closing
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from memex.cli.options import UserOptions
from memex.cli.session.session import ACTOR, CommandSession, Document, Options, ReplayableKind, not_over_http
from memex.errors import InvalidPath, LimitExceeded, Refused, ValidationFailed
from memex.remote import CallContext, Remote, new_tool_call_id, quote_segment

if TYPE_CHECKING:
    from memex.service.log.replay.bundle import Bundle
    from memex.service.log.replay.counterfactual import ChangedResult, ReplayChange
    from memex.service.log.replay.replay import ReplayResult
    from memex.service.tools.transfer import Progress, Writer
    from memex.settings import Settings
    from memex.sources.vault import Vault
    from memex.subagent.planner import Planner

TRANSFER_S = 1_800.0  # seconds that a whole memory may take
MAX_ZIP_BYTES = 16 << 20  # of a vault, in one request


@asynccontextmanager
async def remote_session(settings: "Settings", options: Options) -> AsyncIterator["RemoteSession"]:
    """A session with the service at MEMEX_URL, as the owner of MEMEX_API_KEY.

    Raises:
        ValidationFailed: there is no key, or --tenant is given although the key determines the tenant.
        Unauthenticated: the key is unknown or revoked.
        StoreUnavailable: no Memex answers at the URL.
    """
    gc.enable()
    given = asdict(options)
    async with remote_from_settings(settings) as remote:
        if options.tenant != type(options)().tenant:
            raise ValidationFailed(
                "The key determines the tenant, so --tenant cannot be given.",
                hint="Leave out --tenant, and use a key of that tenant.",
            )
        me = await remote.me()
        remote.role = me["role"]
        if me["user"] is not None and given.get("user") == UserOptions().user:
            given["user"] = None  # the default value; the key names the user
        yield RemoteSession(**given, remote=remote)


def remote_from_settings(settings: "Settings") -> Remote:
    """Return the client of the service at MEMEX_URL; raises ValidationFailed if there is no key for it."""
    if settings.url is None or settings.api_key is None:
        raise ValidationFailed(
            f"There is no key for {settings.url}.",
            hint="Set MEMEX_API_KEY. Create a key with `memex keys create` where the service runs.",
        )
    return Remote(settings.url, settings.api_key.get_secret_value())


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteSession(CommandSession):
    """A service over HTTP, and for whom the command acts."""

    remote: Remote

    @property
    def who(self) -> CallContext:
        """The user, actor and project of each call."""
        return CallContext(self.user, ACTOR, self.project)

    async def execute(self, tool: str, **arguments: Any) -> Document:
        return await self.remote.execute(self.who, tool, arguments, tool_call_id=self.tool_call_id)

    async def revert(self, call: str, *, reason: str | None) -> Document:
        return await self.remote.revert(self.who, call, reason=reason, tool_call_id=self.tool_call_id)

    async def operations(self, *, limit: int, cursor: str | None = None) -> Document:
        return await self.remote.operations(self.who, limit=limit, cursor=cursor)

    async def operation(self, call: str) -> list[Document]:
        return await self.remote.operation(self.who, call)

    async def catalogue(self, *, max_chars: int) -> str:
        return await self.remote.catalogue(self.who, max_chars=max_chars)

    async def languages(self) -> dict[str, str]:
        mounts = (await self.remote.me(self.who))["mounts"] or []
        return {mount["mount"]: mount["language"] for mount in mounts}

    async def prompt_block(self, *, budget: int | None) -> Document:
        return await self.remote.prompt_block(
            self.who, budget=budget, project=None, tool_call_id=self.tool_call_id
        )

    async def blame(self, path: str, version: int | None) -> Document:
        return await self._get("/blame", path=path, version=version)

    async def calls_that_saw(self, path: str, version: int, *, limit: int, cursor: str | None) -> Document:
        return await self._get("/seen/calls", path=path, version=version, limit=limit, cursor=cursor)

    async def revisions_seen(self, call: str) -> Document:
        return await self._get("/seen/revisions", tool_call_id=call)

    async def queue(self, *, limit: int, cursor: str | None) -> Document:
        return await self._get("/queue", limit=limit, cursor=cursor)

    async def retry(self, call: str) -> Document:
        return await self._administer("POST", f"/queue/{quote_segment(call)}/retry", is_repeatable=False)

    async def replayable(
        self, *, which: ReplayableKind, since: datetime | None, only_degraded: bool, limit: int
    ) -> Sequence[str]:
        found = await self._get(
            "/replayable",
            tool=which,
            since=since.isoformat() if since else None,
            degraded=only_degraded,
            limit=limit,
        )
        return list(found["calls"])

    async def replay(self, call: str) -> "ReplayResult":
        from memex.service.log.replay.replay import ReplayResult

        return ReplayResult.model_validate(await self.remote.replay(self.who, call, {}))

    async def replay_changed(
        self, call: str, change: "ReplayChange", planner: "Planner | None" = None
    ) -> "ChangedResult":
        from memex.service.log.replay.counterfactual import ChangedResult

        if planner is not None:
            raise not_over_http()
        return ChangedResult.model_validate(await self.remote.replay(self.who, call, change.named))

    async def import_vault(
        self, source: Path, *, into: str | None, dry_run: bool, progress: "Progress"
    ) -> Document:
        from memex.sources.vault import open_vault

        zipped = _content(source)
        if zipped is not None:
            return await self._import(zipped, into, dry_run=dry_run)
        with open_vault(source) as vault:
            content, refused = _pack(vault, progress)
            done = await self._import(content, into, dry_run=dry_run)
        return _add_unsent_files(done, vault, refused)

    async def export_files(self, writer: "Writer", *, source: str | None, progress: "Progress") -> Document:
        started_s = time.monotonic()
        own_id = self.tool_call_id or new_tool_call_id()
        with closing(writer):
            answer = await self.remote.request(
                "GET",
                f"{self.remote.base}/export",
                params={"from": source},
                headers=self.who.headers(own_id),
                timeout_s=TRANSFER_S,
            )
            report = (await self.operation(own_id))[0]["response"]
            done = {**report, "tool_call_id": own_id}
            _unpack(answer.content, writer, done, progress)
        return done | {"duration_s": round(time.monotonic() - started_s, 3)}

    async def export_call(self, call: str) -> "Bundle":
        from memex.service.log.replay.bundle_archive import read

        answer = await self.remote.request(
            "GET",
            f"{self.remote.base}/operations/{quote_segment(call)}/bundle",
            headers=self.who.headers(self.tool_call_id),
            timeout_s=TRANSFER_S,
        )
        return read(answer.content)

    async def spending(self, *, days: int) -> Document:
        return await self._administer("GET", "/spend", params={"days": days})

    async def list_projects(self) -> Document:
        return await self._administer("GET", "/projects")

    async def open_project(self, slug: str) -> Document:
        return await self._administer("PUT", f"/projects/{quote_segment(slug)}")

    async def close_project(self, slug: str) -> Document:
        return await self._administer("DELETE", f"/projects/{quote_segment(slug)}")

    async def set_member(self, slug: str, user: str, *, member: bool) -> Document:
        method = "PUT" if member else "DELETE"
        return await self._administer(
            method, f"/projects/{quote_segment(slug)}/members/{quote_segment(user)}"
        )

    async def create_key(
        self, role: Literal["agent", "admin"], user: str | None, label: str | None
    ) -> Document:
        body = {"role": role, "user": user, "label": label}
        return await self._administer("POST", "/keys", body=body, is_repeatable=False)

    async def list_keys(self) -> Document:
        return await self._administer("GET", "/keys")

    async def revoke_key(self, key: int) -> Document:
        return await self._administer("DELETE", f"/keys/{key}")

    async def _get(self, route: str, /, **params: Any) -> Document:
        headers = self.who.headers(self.tool_call_id)
        return dict(await self.remote.json("GET", route, headers=headers, params=params))

    async def _administer(self, method: str, path: str, **options: Any) -> Document:
        """Call a route for admins; the service refuses the key of an agent and says what is needed."""
        headers = self.who.headers()
        return dict(await self.remote.json(method, path, headers=headers, role="admin", **options))

    async def _import(self, content: bytes, into: str | None, *, dry_run: bool) -> Document:
        if len(content) > MAX_ZIP_BYTES:
            raise LimitExceeded(
                f"The zip has {len(content):,} bytes; the limit over HTTP is {MAX_ZIP_BYTES:,}.",
                hint="Import its folders one at a time.",
                limit_bytes=MAX_ZIP_BYTES,
            )
        answer = await self.remote.request(
            "POST",
            f"{self.remote.base}/import",
            params={"into": into, "dry_run": dry_run},
            headers=self.who.headers(self.tool_call_id or new_tool_call_id())
            | {"Content-Type": b"application/zip"},
            content=content,
            timeout_s=TRANSFER_S,
        )
        return dict(answer.json())


def _content(source: Path) -> bytes | None:
    """Return the content of a file, or None for a folder; raises ValidationFailed."""
    if source.is_dir():
        return None
    try:
        return source.read_bytes()
    except OSError as error:
        raise ValidationFailed(
            f"There is no vault at {source}: {error.strerror}.",
            hint="Name a folder of Markdown files, or a zip of one.",
        ) from None


def _pack(vault: "Vault", progress: "Progress") -> tuple[bytes, list[Document]]:
    """Return the notes of a vault as a zip, and the notes that cannot be sent. The service checks their content."""
    from memex.sources.vault import ZipWriter

    buffer, refused = io.BytesIO(), []
    now = datetime.now(UTC)
    with closing(ZipWriter(buffer)) as writer:
        for number, name in enumerate(vault.notes, start=1):
            try:
                writer.add(name, vault.content(name), now)
            except Refused as error:
                refused.append({"path": name, "code": error.code, "message": error.message})
            except UnicodeEncodeError:
                shown = name.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
                refused.append({"path": shown, "code": InvalidPath.code, "message": "The name is not UTF-8."})
            progress(number, len(vault.notes))
    return buffer.getvalue(), refused


def _add_unsent_files(done: Document, vault: "Vault", refused: list[Document]) -> Document:
    """Return the report on a folder: what the service did, and which files were not sent to it."""
    refused = refused + [
        {"path": one.name, "code": one.error.code, "message": one.error.message} for one in vault.refused
    ]
    done["refused"] = sorted([*done["refused"], *refused], key=lambda one: str(one["path"]))
    done["skipped"] = sorted([*done["skipped"], *vault.skipped])
    done["counts"] |= {
        "refused": len(done["refused"]),
        "skipped": len(done["skipped"]),
        "hidden": done["counts"]["hidden"] + vault.hidden,
    }
    return done


def _unpack(content: bytes, writer: "Writer", done: Document, progress: "Progress") -> None:
    """Write the files of a zip, and report those that cannot be written here as refused."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = archive.infolist()
        for number, info in enumerate(members, start=1):
            try:
                writer.add(info.filename, archive.read(info), datetime(*info.date_time, tzinfo=UTC))
            except InvalidPath as error:
                refusal = {"path": info.filename, "code": error.code, "message": error.message}
                done["refused"].append(refusal)
                done["files"] -= 1
                done["size_bytes"] -= info.file_size
            progress(number, len(members))
    writer.close()
