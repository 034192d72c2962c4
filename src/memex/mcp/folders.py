"""The folders of this machine whose documents a program over stdin and stdout pushes, as its client asks."""

import shlex
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from memex.api.protocol import CallsOperations
from memex.call_context import CallContext
from memex.errors import ValidationFailed


@dataclass(frozen=True, slots=True)
class LocalFolders:
    """The folders that are noted on this machine for a service and a user.

    Attributes:
        url: of the service; "" for a database of this process's own.
        user: for whom they are pushed; "" for the user of the key.
    """

    url: str
    user: str
    watchers: list[Callable[[Any], None]] = field(default_factory=list)  # told of each root that is added

    async def add(
        self, api: CallsOperations, context: CallContext, project: str, path: str
    ) -> dict[str, Any]:
        """Note a folder as one of a project, push it, and return what the push did.

        Raises:
            ValidationFailed: it is no folder to push, or none that a person opened to this program.
            MostlyGone, Forbidden, …: as the service answers.
        """
        from memex.mirror.roots import RootsFile, choose_root, find_folder  # noqa: PLC0415  # only if it is asked for

        folder, noted = find_folder(Path(path)), RootsFile()
        known = noted.read()
        mine = [root.folder for root in known if (root.url, root.user) == (self.url, self.user)]
        _check_opened(folder, mine, project)
        root = choose_root(known, folder, url=self.url, user=self.user, project=project)
        noted.put(root)
        pushed = await _push(api, context, root)
        for watch in self.watchers:
            watch(root)
        return pushed

    async def sync(self, api: CallsOperations, context: CallContext, project: str) -> list[dict[str, Any]]:
        """Push each folder that is noted for a project, and return what each push did; raises as `add`."""
        from memex.mirror.roots import RootsFile  # noqa: PLC0415  # as above

        mine = [root for root in RootsFile().read() if root.is_at(self.url, self.user, project)]
        return [await _push(api, context, root) for root in mine]


async def _push(api: CallsOperations, context: CallContext, root: Any) -> dict[str, Any]:
    from memex.mirror.opening import open_push  # noqa: PLC0415  # as above

    async with open_push(api, context, root) as pushing:
        report = (await pushing.sync()).document()
    kept = ("root", "documents", "created", "changed", "renamed", "removed", "left_out")
    return {name: report[name] for name in kept} | {"refused": report["refused_files"]}


def _check_opened(folder: Path, roots: list[Path], project: str) -> None:
    """Refuse a folder that is neither in the folder that this program was started in, nor in a root of a person.

    Raises:
        ValidationFailed: it is another one. The word of an agent opens no folder.
    """
    started_in = Path.cwd().resolve()
    is_wide = Path.home().resolve().is_relative_to(started_in)  # as of a client that is started from a menu
    opened = roots if is_wide else [started_in, *roots]
    if not any(folder.is_relative_to(there) for there in opened):
        raise ValidationFailed(
            f"{folder} is neither in the folder of this session nor in one that a person pushes.",
            hint=f"A person opens it with `memex docs push {shlex.quote(str(folder))} --project {project}`.",
        )
