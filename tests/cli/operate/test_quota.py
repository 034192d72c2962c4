"""`memex service quota`."""

import json
import re
from pathlib import Path

import pytest
from tests.cli.conftest import Memex

pytestmark = pytest.mark.usefixtures("server_up")


def test_quotas_show_what_is_stored_of_files_and_of_conversations(memex: Memex, tmp_path: Path) -> None:
    """Of the tenant and of each user with a limit: files, and how many messages and how large they are."""
    tenant = ("--tenant", "measured")
    memex.plain("keys", "create", "--role", "admin", *tenant)
    export = tmp_path / "chat.json"
    export.write_text(
        json.dumps([{"role": "user", "content": "How hot?"}, {"role": "assistant", "content": "90 °C"}])
    )
    memex.plain("ingest", str(export), "--user", "ann", *tenant)
    memex.plain("write", "user/tea.md", "--content", "Oolong", "--user", "ann", *tenant)
    memex.plain("quota", "set", "user", "ann", "--files", "1000", *tenant)

    plain, document = memex.both("quota", "show", *tenant)

    held = {one["kind"]: one["conversations"] for one in document["quotas"]}
    assert held["tenant"] == {"messages": 2, "bytes": 14, "max_messages": None}
    assert held["user"] == {"messages": 2, "bytes": 14, "max_messages": 2_000_000}
    assert re.search(
        r"^user ann +1 of 1,000 .* 2 of 2,000,000, 14 B +0 of 200,000, 0 B of .*$", plain, re.MULTILINE
    ), plain
    assert re.search(r"^tenant +1 .* 2, 14 B +0, 0 B$", plain, re.MULTILINE), plain
