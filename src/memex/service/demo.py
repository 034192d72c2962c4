"""The sample memory: a small vault of an invented person, put into a user's files and taken out again."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.resources import files
from importlib.resources.abc import Traversable

from memex.service.call import Caller
from memex.service.log import references
from memex.service.service import Service
from memex.store.log.call import CallAnswer
from memex.store.memory import Memory
from memex.store.records import FileChange, Revision
from memex.store.writes.draft import Draft

ACTOR = "demo"  # what tells its versions from others
REASON = "the sample memory"


@dataclass(frozen=True, slots=True)
class LoadedSample:
    """The files that a load wrote, and the paths that it left as they stood; no call if it wrote nothing."""

    tool_call_id: str | None
    created: Sequence[str]
    left: Sequence[str]


@dataclass(frozen=True, slots=True)
class RemovedSample:
    """The deleted files, and those that were left because their newest version is another's."""

    tool_call_id: str | None
    removed: Sequence[str]
    left: Sequence[Revision]


async def load_sample(service: Service, caller: Caller) -> LoadedSample:
    """Write the files of the sample that are missing, in one commit; what stands at the paths of others is left."""
    caller = _as_demo(await service.identities.admit(caller))
    sample = dict(_walk(files("memex.demo") / "memory", "user/"))
    standing = {revision.virtual_path for revision in await _current_sample_files(service, caller, sample)}
    created = [path for path in sample if path not in standing]
    draft = service.draft(caller)
    for path in created:
        draft.write(path, sample[path], reason=REASON)
    call = await _commit(service, caller, "demo_load", draft) if created else None
    return LoadedSample(call, created, sorted(standing))


async def remove_sample(service: Service, caller: Caller) -> RemovedSample:
    """Delete the files of the sample of which the newest version is the demo's, in one commit."""
    caller = _as_demo(caller)
    sample = dict(_walk(files("memex.demo") / "memory", "user/"))
    standing = await _current_sample_files(service, caller, sample)
    ours = [revision for revision in standing if revision.actor == ACTOR]
    draft = service.draft(caller)
    for revision in ours:
        draft.delete(revision.virtual_path, base_version=revision.version, reason=REASON)
    call = await _commit(service, caller, "demo_remove", draft) if ours else None
    left = [revision for revision in standing if revision.actor != ACTOR]
    return RemovedSample(call, [revision.virtual_path for revision in ours], left)


def _as_demo(caller: Caller) -> Caller:
    return replace(caller, access=replace(caller.access, actor=ACTOR))


def _walk(folder: Traversable, prefix: str) -> Iterator[tuple[str, str]]:
    """Yield the Markdown files below a folder, each with its path, in order."""
    for entry in sorted(folder.iterdir(), key=lambda entry: entry.name):
        if entry.is_dir():
            yield from _walk(entry, f"{prefix}{entry.name}/")
        elif entry.name.endswith(".md"):
            yield prefix + entry.name, entry.read_text(encoding="utf-8")


async def _current_sample_files(
    service: Service, caller: Caller, sample: Mapping[str, str]
) -> Sequence[Revision]:
    """Return what stands at the paths of the sample."""
    async with service.database.transaction(caller.access) as connection:
        memory = Memory(connection, caller.access)
        return await memory.read_files(list(sample), with_content=False)


async def _commit(service: Service, caller: Caller, name: str, draft: Draft) -> str:
    """Commit a draft as a call of its own, and return the call's id."""
    async with service.recorder.recorded(caller, name, {}) as log:
        await draft.commit(log.call, _answer)
    return log.call.request.tool_call_id


def _answer(changes: tuple[FileChange, ...]) -> CallAnswer:
    result = {"files": [change.new_reference for change in changes]}
    return CallAnswer(result, {"files": [references.of_change(change) for change in changes]}, result)
