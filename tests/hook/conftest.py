"""A user's own state, a repository, and the program `memex-hook` as an agent starts it."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from memex.hook.packs import pack_file
from memex.projects.trust import TrustedFolders

LABEL = "remote:example.test/acme/shop"  # what the repository calls itself
PROGRAM = "import sys; from memex.hook.main import main; main()"


@dataclass
class Hook:
    """The program, with a state of its own; `settings` turns it on."""

    folder: Path
    repository: Path
    environment: dict[str, str] = field(default_factory=dict)

    @property
    def state(self) -> Path:
        """The folder of the state."""
        return self.folder / "state" / "memex" / "capture"

    @property
    def spool(self) -> list[dict[str, Any]]:
        """The events that wait."""
        spool = self.state / "spool.jsonl"
        return [json.loads(line) for line in spool.read_bytes().splitlines()] if spool.exists() else []

    def turn_on(self, **settings: Any) -> None:
        """Turn capture on; deliveries are another program's, which does nothing."""
        self.state.mkdir(mode=0o700, parents=True, exist_ok=True)
        given = {"deliver": ["/bin/true"]} | settings
        (self.state / "settings.json").write_text(json.dumps(given))

    def trust(self) -> None:
        """Confirm what the repository calls itself, as a person does."""
        TrustedFolders(self.folder / "state" / "memex" / "trusted-folders.json").add(
            self.repository, LABEL, ""
        )

    def keep_pack(self, text: str, label: str = LABEL) -> None:
        """Put a pack of the repository on disk, as a delivery does."""
        kept = {"cwd": str(self.repository.resolve()), "label": label, "text": text, "made_at": 0}
        (self.state / pack_file(str(self.repository))).write_text(json.dumps(kept))

    def start(
        self, client: str, given: bytes | Mapping[str, Any], *arguments: str, **options: Any
    ) -> subprocess.CompletedProcess[bytes]:
        """Run the program to its end with an event on stdin."""
        data = given if isinstance(given, bytes) else json.dumps(given).encode()
        return subprocess.run(
            [sys.executable, "-c", PROGRAM, client, *arguments],
            input=data,
            capture_output=True,
            env=os.environ | self.environment,
            timeout=30,
            check=False,
            **options,
        )


@pytest.fixture
def hook(tmp_path: Path) -> Hook:
    """The program, turned on, with a repository to work in."""
    repository = tmp_path / "repo"
    (repository / ".git").mkdir(parents=True)
    (repository / ".git" / "HEAD").write_text("ref: refs/heads/clock\n")
    (repository / ".git" / "config").write_text(
        '[core]\n\tbare = false\n[remote "origin"]\n\turl = https://bob:secret@example.test/acme/shop.git\n'
    )
    made = Hook(tmp_path, repository)
    made.environment = {"XDG_STATE_HOME": str(tmp_path / "state"), "MEMEX_PROJECT": ""}
    made.turn_on()
    made.trust()
    return made
