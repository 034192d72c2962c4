"""Sessions of coding agents over four days in three repositories: what the pack says after each of them.

The conversations and the expectations of `four_days.yaml` were written before anybody looked at the rules.
"""

from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.capture.test_three_days import holds, workplace_of

from memex.service.service import Service

SESSIONS: list[dict[str, Any]] = yaml.safe_load(Path(__file__).with_name("four_days.yaml").read_text("utf-8"))

# Open work that a person gave up, or called done, in other words: these stand in the pack too.
KNOWN_GAPS = ["Logo auf dem Bon", "ask legal", "turn on export_v2"]


@pytest.mark.slow
async def test_each_pack_says_what_the_next_session_has_to_know(
    service: Service, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A session is told of goals, limits, wishes and open work of those before it, and of nothing that is over."""
    workplace = await workplace_of(service, tmp_path, monkeypatch)
    workplace.turn_on()
    missed = []
    for one in SESSIONS:
        client = workplace.client(one["client"], one["id"], one["at"], one["repository"])
        await workplace.play(client, one["turns"])
        pack = await workplace.pack(client)
        missed += [each["text"] for each in one["expected"] if not holds(pack, each)]

    assert sum(len(one["expected"]) for one in SESSIONS) == 100
    assert missed == KNOWN_GAPS
