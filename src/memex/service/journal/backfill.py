"""Entries of what was told before there was a journal: from the texts that stand in the log of earlier calls."""

from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime

from memex.errors import FileTooLarge, LimitExceeded, QuotaExceeded, ValidationFailed
from memex.service.call import Caller, new_call
from memex.service.journal.backfilled_lines import PageWords, filed_lines, words_of_pages
from memex.service.journal.telling import HIDDEN
from memex.service.said_at import said_day, said_moment
from memex.service.service import Service
from memex.store.database import Statement
from memex.store.entry_path import entry_path
from memex.store.journal import earlier_calls
from memex.store.journal.earlier_calls import EarlierCall, PageLines, Writes, WrittenPage
from memex.store.journal.removal import JournalOwner
from memex.store.log.call import CallAnswer
from memex.store.records import FileChange
from memex.store.writes.edits import Told
from memex.store.writes.statements import FiledLine, LineRecords, statements_of
from memex.subagent.remember.recalled import without_spans
from memex.subagent.statements.courtesy import is_courtesy

NAME = "journal_backfill"
BATCH_CALLS = 100


@dataclass(slots=True)
class Backfilled:
    """The outcomes of the texts of earlier calls.

    Attributes:
        calls: how many texts the log has.
        made: entries that were made.
        again: texts that were counted as told again, because an entry holds them.
        known: texts of which there was an entry already.
        reverted: texts of calls that were taken back.
        forgetting: texts that say nothing but what to forget, or are courtesies.
        forgotten: texts that hold words which were forgotten since.
        refused: texts that a quota or a limit refuses.
    """

    calls: int = 0
    made: int = 0
    again: int = 0
    known: int = 0
    reverted: int = 0
    forgetting: int = 0
    forgotten: int = 0
    refused: int = 0


@dataclass(frozen=True, slots=True)
class _Text:
    """A text that is to be kept, and where."""

    path: str
    content: str
    told: Told
    call: EarlierCall


@dataclass(frozen=True, slots=True)
class _Teller:
    """A user whose calls are read, and what is known of all of them."""

    owner: JournalOwner
    reverted: Collection[str]
    writes: Writes
    lines: PageLines
    harmless: Collection[str]
    caller: Caller
    done: Backfilled = field(default_factory=Backfilled)

    def is_forgotten(self, call: EarlierCall) -> bool:
        """Return whether a line that the call brought into a page went without a newer one in its place."""
        found = [self.writes[reference] for reference in call.writes if reference in self.writes]
        if len(found) < len(call.writes):
            return True  # a version was erased
        return not self.lines.taken_out_by(write.version for write in found) <= set(self.harmless)

    async def pages_of(self, text: _Text) -> list[PageWords]:
        """Return the lines of pages that may have been made from a text."""
        day = said_day(text.call.said_at, text.call.now)
        return await words_of_pages(self.caller.access, text.call, text.content, day, self.writes, self.lines)

    def tied(self, text: _Text, filed: Sequence[FiledLine]) -> list[Statement]:
        """Return the statement that ties lines of pages to the words of a text."""
        call, scope = text.call, self.caller.access.by_mount["user"]
        records = LineRecords(filed, said_on=said_day(call.said_at, call.now))
        return statements_of(
            self.caller.access, (), records, (scope, text.path), call.tool_call_id, call.now, locked=()
        )


async def backfill_journals(
    service: Service, tenant_id: int, user_id: str | None = None, *, is_dry_run: bool = False
) -> Backfilled:
    """Make entries of the texts in the log of a tenant's users, or of one; return what became of them.

    A text is left out whole if a line that was made from it was forgotten later: if a call that asked to forget,
    one that named a statement as outdated, a person or another program took the line out. What a newer statement
    replaced stays, as it does in the journal. What is done already is not done again.

    Raises:
        ValidationFailed: no journal is kept.
    """
    if not service.keeps_journal:
        raise ValidationFailed(
            "No journal is kept: MEMEX_JOURNAL is off.",
            hint="Set MEMEX_JOURNAL=on, and run the command again.",
        )
    total: dict[str, int] = asdict(Backfilled())
    for owner in await earlier_calls.tellers(service.database, tenant_id, user_id):
        teller = await _read_teller(service, owner)
        after = 0
        while calls := await earlier_calls.read_calls(
            service.database, owner, after=after, limit=BATCH_CALLS
        ):
            after = calls[-1].operation_id
            await _keep(service, teller, calls, is_dry_run=is_dry_run)
        total = {name: count + total[name] for name, count in asdict(teller.done).items()}
    return Backfilled(**total)


async def _read_teller(service: Service, owner: JournalOwner) -> _Teller:
    database = service.database
    writes: dict[str, WrittenPage] = {}
    after = 0
    while calls := await earlier_calls.read_calls(database, owner, after=after, limit=BATCH_CALLS):
        after = calls[-1].operation_id
        references = sorted({reference for call in calls for reference in call.writes})
        writes |= await earlier_calls.find_writes(database, owner, references)
    versions = [write.version for write in writes.values()]
    lines = await earlier_calls.read_lines(database, versions)
    removers = lines.taken_out_by(versions)
    return _Teller(
        owner,
        await earlier_calls.reverted_calls(database, owner),
        writes,
        lines,
        await earlier_calls.harmless_calls(database, owner, removers),
        await service.identities.memex_for(owner.tenant_id, owner.user_id),
    )


async def _keep(service: Service, teller: _Teller, calls: Sequence[EarlierCall], *, is_dry_run: bool) -> None:
    done, texts = teller.done, list[_Text]()
    done.calls += len(calls)
    for call in calls:
        if call.tool_call_id in teller.reverted:
            done.reverted += 1
        elif teller.is_forgotten(call):
            done.forgotten += 1
        elif (text := _text_of(call)) is None:
            done.forgetting += 1
        else:
            texts.append(text)
    new, again = await _new_texts(service, teller, texts)
    if not is_dry_run:
        await _write(service, teller, new)
        await earlier_calls.add_told_again(service.database, teller.owner, again)
    else:
        done.made += len(new)


async def _new_texts(
    service: Service, teller: _Teller, texts: Sequence[_Text]
) -> tuple[list[_Text], list[tuple[str, datetime, str]]]:
    """Return the texts that get an entry, and those that an entry holds, which were told again."""
    done, new, again = teller.done, dict[tuple[str, str | None], _Text](), list[tuple[str, datetime, str]]()
    wanted = [(text.path, text.content, text.told.about, text.call.tool_call_id) for text in texts]
    known = await earlier_calls.known_texts(service.database, teller.owner, wanted)
    for text, state in zip(texts, known, strict=True):
        first = new.get((text.content, text.told.about))
        if state.is_made:
            done.known += 1
        elif state.was_held:
            done.forgotten += 1
        elif (holder := first.path if first else state.held_by) is not None:
            done.again += 1
            again.append((holder, text.told.said_at, text.call.tool_call_id))
        else:
            new[text.content, text.told.about] = text
    return list(new.values()), again


def _text_of(call: EarlierCall) -> _Text | None:
    """Return what is kept of the text of a call; None for a courtesy, and where nothing is left to keep."""
    spans = [(part["start"], part["end"]) for part in call.skipped if part["reason"] in HIDDEN]
    content = without_spans(call.text, spans)
    if is_courtesy(content):
        return None
    moment = said_moment(call.said_at, call.now)
    told = Told("user", moment, call.project, call.actor, call.tool_call_id)
    return _Text(entry_path(moment, call.tool_call_id), content, told, call)


async def _write(service: Service, teller: _Teller, texts: Sequence[_Text]) -> None:
    """Make entries with one commit, tied to the lines that were made of them; where a limit refuses, each alone."""
    if not texts:
        return
    pages = [await teller.pages_of(text) for text in texts]
    draft = service.draft(teller.caller)
    receipt = {"entries": len(texts)}
    call = new_call(teller.caller, NAME, receipt, None)

    def tied(changes: tuple[FileChange, ...]) -> list[Statement]:
        return [
            statement
            for text, mine in zip(texts, pages, strict=True)
            for statement in teller.tied(text, filed_lines(mine, changes, teller.lines))
        ]

    try:
        for text in texts:
            draft.enter(f"user/{text.path}", text.content, text.told)
        for path in sorted({page.path for mine in pages for page in mine}):
            draft.revise(path, _as_it_stands)
        await draft.commit(call, lambda _: CallAnswer(receipt, receipt, receipt), tied)
    except (LimitExceeded, QuotaExceeded, FileTooLarge):
        if len(texts) == 1:
            teller.done.refused += 1
            return
        for text in texts:
            await _write(service, teller, [text])
    else:
        teller.done.made += len(texts)


def _as_it_stands(content: str | None) -> str | None:
    """Leave a page as it is: it is read under the lock, so that its lines are those that stand."""
    return content
