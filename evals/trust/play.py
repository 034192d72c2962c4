"""Cases played to a running service over HTTP, and judged by the words of contexts."""

import io
import json
import unicodedata
import zipfile
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from memex.api.memex import Memex
from memex.api.remote import RemoteMemex
from memex.call_context import CallContext
from memex.evals.bench.felt.processes import memex_service
from memex.evals.fixtures.data_folder import temporary_data_folder
from memex.evals.trust.cases import Step, TrustCase, Twin

BUDGET = 2_000
MAX_SHOWN = 600


@dataclass(frozen=True, slots=True)
class TrustClient:
    """A running service, asked with a key that may name any user; and with an administrator's, if it made one."""

    api: RemoteMemex
    memex: Memex
    data_dir: Path

    async def context(self, user: str, query: str) -> str:
        """Return the context of a question, whatever its confidence."""
        memory = self.memex.for_user(user, actor="trust")
        return (await memory.context(query, budget=BUDGET, min_confidence="none")).context or ""

    async def bring(self, user: str, step: Step) -> None:
        """Tell or bring in a text by its door."""
        memory, context = self.memex.for_user(user, actor="trust"), CallContext(user, actor="trust")
        if step.door == "tell":
            await memory.remember(step.text, said_at=step.day)
        elif step.door == "write":
            await memory.write("user/old.md", f"# Old\n\n- {step.text} ({step.day})\n")
        elif step.door == "vault":
            await self.import_zip(user, {"old.md": f"# Old\n\n- {step.text} ({step.day})\n"})
        else:
            message = {"id": "1", "role": "user", "text": step.text, "said_at": f"{step.day}T10:00:00Z"}
            chat = {"id": "old", "title": "", "messages": [message]}
            lines = "".join(f"{json.dumps(line)}\n" for line in ({"kind": "trust"}, chat)).encode()
            done = await self.api.call(context, "conversation_put", {}, lines=lines)
            conversation = done["conversations"][0]["id"]
            await self.api.call(context, "conversation_distil", {"conversation": conversation, "apply": True})

    async def import_zip(self, user: str, files: dict[str, str]) -> None:
        """Import files as a vault."""
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w") as written:
            for name, content in files.items():
                written.writestr(name, content)
        await self.api.import_vault(
            CallContext(user, actor="trust"), packed.getvalue(),
            into=None, dry_run=False, projects=False, replace=False, progress=lambda *_: None,
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class TrustVerdict:
    """The outcome of a case, asked once and also by the old wording; `why` is empty if both are right."""

    id: str
    family: str
    is_right_once: bool
    is_right_by_old_wording: bool
    why: str


@asynccontextmanager
async def serve(
    data_dir: Path | None = None, key: str | None = None, variables: Mapping[str, str] | None = None
) -> AsyncIterator[TrustClient]:
    """Run `memex serve` with variables in its environment, on an empty memory by default."""
    with (
        temporary_data_folder() as made,
        memex_service(data_dir or Path(made), key, **(variables or {})) as process,
    ):
        async with (
            Memex(url=process.url, api_key=process.key) as client,
            RemoteMemex(process.url, process.key) as api,
        ):
            yield TrustClient(api, client, data_dir or Path(made))


async def play(client: TrustClient, case: TrustCase) -> TrustVerdict:
    """Play a case to a memory of its own, and judge it."""
    for step in case.steps:
        await client.bring(case.id, step)
    once, old = await client.context(case.id, case.ask), await client.context(case.id, case.old)
    wrong = [f"not kept: {words}" for query, words in case.kept.items()
             if _fold(words) not in _fold(await client.context(case.id, query))]  # fmt: skip
    if case.new is not None and _fold(case.new) not in _fold(once):
        wrong.append(f"the new value is not there: {case.new}")
    said = _fold(case.steps[-1].text) if case.family == "negation" else ""  # a denial repeats what it denies
    again = [_shown(case, _without(_fold(context), said)) for context in (once, old)]
    why = [*wrong, *(part for part in again if part)]
    told = " | ".join(f"[{step.door} {step.day or 'now'}] {step.text}" for step in case.steps)
    return TrustVerdict(
        case.id, case.family, not wrong and not again[0], not wrong and not any(again),
        f"{'; '.join(why)} <- {told}"[:MAX_SHOWN] if why else "",
    )  # fmt: skip


async def play_twin(client: TrustClient, twin: Twin) -> TrustVerdict:
    """Tell a text that takes nothing out, and judge whether it did."""
    memory = client.memex.for_user(twin.id, actor="trust")
    for text in twin.told:
        await memory.remember(text)
    before = {query: words for query, words in twin.known.items()
              if _fold(words) in _fold(await client.context(twin.id, query))}  # fmt: skip
    done = await memory.remember(twin.text)
    lost = [words for query, words in before.items()
            if _fold(words) not in _fold(await client.context(twin.id, query))]  # fmt: skip
    taken = [result.older for result in done.replaced]
    why = f"{lost} {taken} <- {twin.text}" if lost or taken else ""
    return TrustVerdict(
        twin.id, "control" if len(before) < len(twin.known) else "twin", not why, not why, why
    )


def _shown(case: TrustCase, folded: str) -> str:
    return next((f"still there: {words.strip()}" for words in case.gone if _fold(words) in folded), "")


def _fold(text: str) -> str:
    """Return a text without case, widths and invisible characters, and with Latin letters for look-alikes."""
    plain = unicodedata.normalize("NFKC", text).translate(_LATIN).casefold()
    return "".join(char for char in plain if unicodedata.category(char) != "Cf")


_LATIN = str.maketrans("аеорсхуіАЕОКМТВНСРХ", "aeopcxyiAEOKMTBHCPX")


def _without(folded: str, said: str) -> str:
    return folded.replace(said, "") if said else folded
