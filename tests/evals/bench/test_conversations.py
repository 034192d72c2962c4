"""The section of the benchmark that measures conversations, in its smallest size."""

from pathlib import Path

import pytest
from tests.kit.exports import read_path

from memex.evals.bench.conversations.corpus import write_export
from memex.evals.bench.conversations.files import bench_large_files
from memex.evals.bench.conversations.section import bench_conversations
from memex.evals.bench.workbench import Bench, RandomText
from memex.service.service import Service
from memex.store.database import Database
from memex.store.identity import tenants


def test_the_export_holds_as_many_messages(tmp_path: Path) -> None:
    """Of some 500 characters, in conversations of 50, over a year; the reader of ChatGPT reads each of them."""
    corpus = write_export(RandomText(), tmp_path / "conversations.json", 120)
    read = read_path(corpus.path)

    assert read.kinds == ["chatgpt"]
    assert [len(messages) for _, messages in read.conversations] == [50, 50, 20]
    rows = list(corpus.rows())
    assert [(one.at, one.role, one.text) for one in read.messages] == rows
    assert 400 < corpus.text_bytes / 120 < 600
    assert (rows[-1][0] - rows[0][0]).days in range(360, 366)


@pytest.mark.slow
async def test_import_and_search_are_measured(
    database: Database, conninfo: str, service: Service, capsys: pytest.CaptureFixture[str]
) -> None:
    """An import that stores other than what is measured, and a search without a hit, would fail the section."""
    async with database.connection() as connection:
        pid = connection.info.backend_pid
    tenant_id = await tenants.ensure_tenant(database, "bench")

    bench = Bench(service, tenant_id, pid, RandomText(), conninfo=conninfo)
    await bench_conversations(bench, messages=300, rounds=1)
    await bench_large_files(bench, scale=0.003)

    printed = capsys.readouterr().out
    assert "21 new lines of it" in printed
    assert "import of 300 messages" in printed
    assert "conversation_find, since" in printed
