"""Links of remotes that are older than confirmations go on in the folders that they were made of.

An earlier version gave every folder the label of the remote that it named. A person who linked such a label saw its
sessions; their folders are confirmed once, and those of later sessions are not.
"""

import json
import time
from datetime import datetime
from pathlib import Path
from typing import Any

from memex.api.protocol import CallsOperations
from memex.call_context import CallContext
from memex.hook.state import EARLIER_LINKS, SETTINGS, CaptureState
from memex.projects.detection import names_brought
from memex.projects.trust import TrustedFolders

MAX_SESSIONS = 1_000


async def confirm_earlier_links(state: CaptureState, api: CallsOperations, context: CallContext) -> None:
    """Confirm the folders of linked remotes, once for each service and user; raises what the service raises."""
    done, settings = state.read_json(EARLIER_LINKS), state.read_json(SETTINGS)
    service = f"{settings.get('url') or ''} {context.user_id or ''}"
    if service in done:
        return
    trusted = TrustedFolders()
    for label in (await api.call(context, "work_labels"))["labels"]:
        if label["label"].startswith("remote:") and label["project"] and label["linked_at"]:
            asked = {"project": label["label"], "limit": MAX_SESSIONS}
            for session in (await api.call(context, "work_sessions", asked))["sessions"]:
                if session["label"] == label["label"] and _is_earlier(session, label["linked_at"]):
                    _confirm(trusted, session["folder"], label["label"], label["project"])
    state.write(EARLIER_LINKS, json.dumps(done | {service: int(time.time())}).encode())


def _is_earlier(session: dict[str, Any], linked_at: str) -> bool:
    begun = session["started_at"]
    return begun is not None and datetime.fromisoformat(begun) <= datetime.fromisoformat(linked_at)


def _confirm(trusted: TrustedFolders, folder: str, label: str, project: str) -> None:
    """Confirm a folder of this machine that still calls itself so, unless a person decided about it already."""
    here = Path(folder)
    if not here.is_absolute() or not here.is_dir():
        return
    root, names = names_brought(here)
    if any(name == label for _, name in names) and trusted.project_of(root, label) is None:
        trusted.add(root, label, project)
