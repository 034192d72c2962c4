"""Erase words for good: a preview, which a person confirms, and a receipt, which can be checked at any time.

No agent may: a person who is signed in to the web UI erases what is the person's own, an administrator also what is
in shared files and projects. Whoever runs commands on the machine acts as a person.
"""

import asyncio
import secrets
from collections.abc import Mapping
from functools import partial
from typing import Annotated, Any, Literal, get_args

from pydantic import Field

from memex.errors import Forbidden, PreviewOutdated, ValidationFailed
from memex.service.call import Caller
from memex.service.erasing import case_files
from memex.service.erasing.remains import remains_entry
from memex.service.erasing.targets import TargetKind, find_target, is_long
from memex.service.operation import LoggedAnswer, LoggedOperation, OperationCall
from memex.service.tools.tool import Arguments, ResultPart, StorableText, ToolResult, example
from memex.store.access import no_user
from memex.store.log.call import digest
from memex.store.search.analyzer import analyzer_of
from memex.store.upkeep.words import erasing, ledger
from memex.store.upkeep.words.digests import SALT_BYTES, ErasedWords
from memex.store.upkeep.words.erasing import WordErasure
from memex.store.upkeep.words.sweep import Reach, Sweep
from memex.subagent.distil.cited import citing_statements

MAX_TEXT_CHARS = 100_000
MAX_SHOWN = 200  # texts of a preview
EXAMPLE: Any = {
    "erasure_id": "0f1e2d3c4b5a0f1e2d3c4b5a", "tenant": "default", "user": "alice", "everywhere": False,
    "conversations": False, "target": "text", "by": {}, "begun_at": "2026-11-29T10:00:00Z", "finished_at": None,
    "counts": {}, "kept": [], "salt": "00" * SALT_BYTES, "digests": {"12": ["00" * 16]}, "whole": [],
}  # fmt: skip
WHY_KEPT = {
    "conversations": "Imported conversations are evidence; they are erased on request alone (`conversations`).",
    "shared": "Shared files and projects belong to others too; an administrator erases there (`everywhere`).",
    "file_names": "So short a name or title of a file stands in many places. Erase it as words if it may not stay.",
    "names": "The words are the name of a user, a project, a key or a folder, by which it is addressed.",
    "document_digests": "By the digest of a whole document, the next sync of its folder does not bring it back.",
}


class EraseArguments(Arguments):
    """What is to be erased, named in one of four ways. Without `confirm` it is only shown what would go."""

    model_config = example(text="My old address is 12 Mill Lane.")

    text: Annotated[StorableText | None, Field(min_length=1, max_length=MAX_TEXT_CHARS)] = None
    path: Annotated[StorableText | None, Field(description="A file, with all its versions.")] = None
    call: Annotated[
        StorableText | None, Field(description="The id of a call: what it was told, and what it wrote.")
    ] = None
    statement: Annotated[StorableText | None, Field(description="The id of a removed line.")] = None
    conversations: Annotated[bool, Field(description="Also in imported conversations.")] = False
    everywhere: Annotated[
        bool, Field(description="Also in shared files and all projects; for administrators alone.")
    ] = False
    confirm: Annotated[StorableText | None, Field(max_length=100, description="Of the preview.")] = None

    @property
    def named(self) -> tuple[TargetKind, str]:
        """How the target is named; raises ValidationFailed unless it is named in one way."""
        given = [(kind, value) for kind in get_args(TargetKind) if (value := getattr(self, kind)) is not None]
        if len(given) != 1:
            raise ValidationFailed("Name what to erase in one way: text, path, call or statement.")
        return given[0]


class KeptPart(ResultPart):
    """Something that holds the words and stays: how many rows, and why."""

    what: str
    count: int
    why: str


class ErasureReceipt(ResultPart):
    """The receipt of an erasure: it holds no word, and anybody who has the words can check it by the digests.

    `counts` says how many rows were changed, by their table. `digests` are BLAKE2b digests of 16 bytes, keyed by
    `salt`, of the normal forms of the words, by the length of each; `whole` are those of files and calls.
    """

    erasure_id: Annotated[str, Field(pattern=r"^[0-9a-f]{24}$")]
    tenant: str
    user: str | None
    everywhere: bool
    conversations: bool
    target: TargetKind
    by: dict[str, Any]
    begun_at: str
    finished_at: str | None
    counts: dict[str, int]
    kept: list[KeptPart]
    salt: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
    digests: dict[Annotated[str, Field(pattern=r"^[1-9][0-9]{0,8}$")], list[str]]
    whole: list[str]


class EraseResult(ToolResult):
    """A preview or a receipt.

    `status` is `preview`, `nothing` if nothing holds the words, or `erased`. A preview has the `words` that would
    go, in how many rows of which table (`counts`), what stays (`kept`), and the `confirm` that erases them.
    """

    status: Literal["preview", "nothing", "erased"]
    target: TargetKind
    words: list[str] = Field(default_factory=list)
    counts: dict[str, int]
    kept: list[KeptPart]
    confirm: str | None = None
    receipt: ErasureReceipt | None = None


class VerifyArguments(Arguments):
    """The receipt to check against the database."""

    model_config = example(receipt=EXAMPLE)

    receipt: ErasureReceipt


class VerifyResult(ToolResult):
    """The outcome of a check.

    `is_known` says whether the database has this receipt, unchanged; `is_erased_again` that it was restored from a
    backup since, and erased these words then by the ledger, so that its times and counts are others. `found` counts
    the rows that hold the words now, by their table: they were told anew since, or came with a backup that was not
    started with the ledger.
    """

    is_known: bool
    is_erased_again: bool = False
    is_gone: bool
    found: dict[str, int]


def citing_digests(content: str, path: str) -> set[bytes]:
    """Return by what the provenance knows the statements of a text that cite messages."""
    return {statement.digest for statement in citing_statements(content, path)}


async def _erase(call: OperationCall, arguments: EraseArguments) -> LoggedAnswer[EraseResult]:
    """Return a preview, or erase what one showed.

    Raises:
        Forbidden: an agent asks, or somebody but an administrator for `everywhere`.
        PreviewOutdated: `confirm` is of another preview; `confirm` in its details is of one that fits.
        StoreUnavailable: the ledger cannot be written, or the database went away; the same request goes on.
    """
    access, confirm = call.access, arguments.confirm
    _check_eraser(call.caller, everywhere=arguments.everywhere)
    if access.user_id is None and not arguments.everywhere:
        raise no_user()
    if confirm is not None and (entry := await _begun(call, confirm)) is not None:
        return await _finish(call, entry)
    async with call.database.transaction(access) as connection:
        target = await find_target(connection, access, *arguments.named)
    if target.mount not in (None, "user") and not arguments.everywhere:
        raise Forbidden(WHY_KEPT["shared"], hint="Ask an administrator, who adds `everywhere`.")
    words = ErasedWords.of(target.texts, secrets.token_bytes(SALT_BYTES), target.whole)
    reach, counts = await _count(
        call, words, access.user_id, everywhere=arguments.everywhere, conversations=arguments.conversations
    )
    kept = await _kept(call, reach, words, counts | {"file_names": len(target.kept_names)})
    nonce = (confirm or secrets.token_hex(8)).partition(".")[0]
    told = [
        *(nonce, access.tenant_id, access.user_id, target.kind, target.texts, target.whole),
        *(arguments.conversations, arguments.everywhere),
    ]
    # By its words a preview is known again; the nonce keeps the token from telling them.
    token = f"{nonce}.{digest(told).hex()[:32]}"
    if confirm is None:
        shown = EraseResult(
            status="preview" if counts else "nothing",
            target=target.kind,
            words=list(target.texts[:MAX_SHOWN]) if counts else [],
            counts=counts,
            kept=kept,
            confirm=token if counts else None,
        )
        return LoggedAnswer(shown, {"status": shown.status, "counts": counts}, status="dry_run")
    if token != confirm:
        raise PreviewOutdated("What would be erased is not what the preview showed.", confirm=token)
    tenant = await erasing.find_tenant(call.database, tenant_id=access.tenant_id) or {}
    entry = words.dump() | {
        "erasure_id": digest(token).hex()[:24],  # the same of two confirmations at once
        "tenant": tenant["tenant"],
        "tenant_made_at": tenant["tenant_made_at"],
        "user_id": access.user_id,
        "is_wide": arguments.everywhere,
        "conversations": arguments.conversations,
        "token": token,
        "target": target.kind,
        "kept": [part.model_dump(mode="json") for part in kept],
        "remains": remains_entry(
            filter(is_long, target.texts),
            analyzer_of(access.language),
            ended_at=call.now,
            tool_call_id=call.log.call.request.tool_call_id,
        ),
        "by": {name: call.caller.logged[name] for name in ("role", "key_id", "actor", "channel")},
    }
    if call.service.erasure_ledger is not None:
        entry = await asyncio.to_thread(ledger.add, call.service.erasure_ledger, entry)
    return await _finish(call, entry)


async def _begun(call: OperationCall, token: str) -> Mapping[str, Any] | None:
    """Return the entry of an erasure that a token has begun, by the database or else by the ledger."""
    found, path = await erasing.find(call.database, token), call.service.erasure_ledger
    written = [found.entry] if found else ledger.read(path) if path else []
    tenant = await erasing.find_tenant(call.database, tenant_id=call.access.tenant_id) or {}
    whose = {"token": token, "tenant_made_at": tenant["tenant_made_at"], "user_id": call.access.user_id}
    return next((receipt for receipt in written if whose.items() <= receipt.items()), None)


async def _finish(call: OperationCall, entry: Mapping[str, Any]) -> LoggedAnswer[EraseResult]:
    fill_cases = partial(case_files.fill, call.service.case_folder)
    erased = await erasing.erase(
        call.database, call.access.tenant_id, entry, citing_digests, beside=fill_cases
    )
    # This call began before, and is logged all the same.
    call.access.standing.epoch = max(call.access.standing.epoch, erased.epoch or 0)
    receipt = _receipt(erased)
    done = EraseResult(
        status="erased", target=receipt.target, counts=receipt.counts, kept=receipt.kept, receipt=receipt
    )
    return LoggedAnswer(done, {"status": "erased", "erasure_id": erased.erasure_id, "counts": receipt.counts})


async def _verify(call: OperationCall, arguments: VerifyArguments) -> LoggedAnswer[VerifyResult]:
    """Compare a receipt with the database; raises Forbidden as `_erase`, and for the receipt of somebody else."""
    receipt = arguments.receipt
    _check_eraser(call.caller, everywhere=receipt.everywhere)
    if receipt.user != call.access.user_id:
        raise Forbidden(
            "The receipt is of another user.", hint="Check it in the name of that user; commands take --user."
        )
    try:
        words = ErasedWords.load(receipt.model_dump())
    except ValueError as error:
        raise ValidationFailed("The receipt holds something that is no digest.") from error
    found = await erasing.find(call.database, receipt.erasure_id)
    own = _receipt(found) if found is not None and found.tenant_id == call.access.tenant_id else None
    is_known, is_erased_again = own == receipt, False
    if own is not None and own.finished_at is not None and own.begun_at != receipt.begun_at:
        ran = {name: getattr(receipt, name) for name in ("begun_at", "finished_at", "counts")}
        is_erased_again = own.model_copy(update=ran) == receipt
    _, counts = await _count(
        call, words, receipt.user, everywhere=receipt.everywhere, conversations=receipt.conversations
    )
    result = VerifyResult(
        is_known=is_known, is_erased_again=is_erased_again, is_gone=not counts, found=counts
    )
    return LoggedAnswer(result, result.body())


async def _count(
    call: OperationCall, words: ErasedWords, user_id: str | None, *, everywhere: bool, conversations: bool
) -> tuple[Reach, dict[str, int]]:
    """Return where words are looked for, and how many rows of which table, and cases, hold them."""
    reach = await erasing.reach_of(
        call.database, call.access.tenant_id, user_id, is_wide=everywhere, with_conversations=conversations
    )
    counts = await Sweep(call.database, reach, words, citing_digests).run()
    return reach, {**counts, **await case_files.fill(call.service.case_folder, words, is_dry_run=True)}


async def _kept(
    call: OperationCall, reach: Reach, words: ErasedWords, counts: Mapping[str, int]
) -> list[KeptPart]:
    held = await erasing.kept(call.database, reach, words, citing_digests)
    if not reach.is_wide:
        beside = [scope.scope_id for scope in call.access.scopes if scope.scope_id not in reach.scope_ids]
        shared = Reach(reach.tenant_id, None, False, beside)
        held["shared"] = (await Sweep(call.database, shared, words, citing_digests).run())["revision"]
    held |= {"document_digests": counts.get("document", 0), "file_names": counts["file_names"]}
    return [
        KeptPart(what=what, count=held[what], why=why) for what, why in WHY_KEPT.items() if held.get(what)
    ]


def _check_eraser(caller: Caller, *, everywhere: bool) -> None:
    is_admin = caller.principal.role == "admin"
    if everywhere and not (is_admin and caller.principal.bound_user is None):
        raise Forbidden(WHY_KEPT["shared"], hint="Use an administrator's key that is not bound to a user.")
    if not is_admin and caller.access.channel != "user" and caller.principal.key_id is not None:
        raise Forbidden(
            "An agent erases nothing for good.",
            hint="Sign in to the web UI, or ask an administrator. A request to forget is memory_remember.",
        )


def _receipt(erased: WordErasure) -> ErasureReceipt:
    told = {name: erased.entry[name] for name in ErasureReceipt.model_fields if name in erased.entry}
    return ErasureReceipt.taken_from(
        erased,
        **told | {"kept": [KeptPart(**part) for part in erased.entry["kept"]]},
        user=erased.user_id,
        everywhere=erased.is_wide,
    )


ERASE = LoggedOperation(
    "memory_erase", EraseArguments, EraseResult, _erase, unlogged=frozenset({"text", "path", "statement"})
)
VERIFY = LoggedOperation(
    "erasure_verify", VerifyArguments, VerifyResult, _verify, unlogged=frozenset({"receipt"})
)
