"""Cases made of calls: what they expect, the memory that they bring along, and where they are kept."""

import io
import zipfile
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.conftest import CallerOf

from memex.errors import FileExists, Forbidden, OperationNotFound, ValidationFailed
from memex.evals.cases import read_suite
from memex.service.evals.call_cases import CallCase, CaseChoice
from memex.service.evals.case_requests import draft_case, keep_case, make_case, write_case
from memex.service.service import Caller, Service
from memex.store.identity.tenants import DEFAULT_TENANT

# What is read of the log is the same on each server.
pytestmark = pytest.mark.embedded_only

ASKED = {"query": "Which tea do I like, and from whom?", "budget": 2_000}
TEA = "# Tea\n\nI like oolong tea. Ada sells it: ada@example.com.\n"
SHOP = "# Shop\n\nThe tea shop in Hamburg opens at nine.\n"


@pytest.fixture
async def asked(service: Service, alice: Caller) -> str:
    """A question over two files, one of which was changed and one deleted since."""
    for path, text in (("user/tea.md", TEA), ("user/shop.md", SHOP)):
        await service.execute(alice, "memory_write", {"path": path, "content": text})
    await service.execute(alice, "memory_context", ASKED, tool_call_id="asked")
    await service.execute(alice, "memory_delete", {"path": "user/shop.md"})
    changed = {"path": "user/tea.md", "content": "# Tea\n\nNone.\n", "base_version": 1}
    await service.execute(alice, "memory_write", changed)
    return "asked"


def expected_of(case: CallCase) -> dict[str, Any]:
    """Return what a case expects."""
    [one] = yaml.safe_load(case.text)["cases"]
    expected: dict[str, Any] = one["expected_output"]
    return expected


async def test_a_case_brings_the_memory_that_the_call_saw(
    service: Service, alice: Caller, asked: str, tmp_path: Path
) -> None:
    """As it stood then, without addresses; the files of the zip are a suite without problems."""
    case = await make_case(service, alice, asked, CaseChoice(name="tea"))
    with zipfile.ZipFile(io.BytesIO(case.pack())) as archive:
        archive.extractall(tmp_path)
    found, problems = read_suite(str(tmp_path))

    assert problems == []
    assert [one.id for one in found] == ["context/tea"]
    assert found[0].state.seen_by("alice") == {
        "user/tea.md": TEA.replace("ada@example.com", "<email-1>"),
        "user/shop.md": SHOP,
    }
    assert "user/tea.md" in expected_of(case)["paths"]
    assert case.pack() == (await make_case(service, alice, asked, CaseChoice(name="tea"))).pack()
    assert "ada@example.com" in str(
        (await make_case(service, alice, asked, CaseChoice(name="tea", redact=False))).files
    )


async def test_a_person_chooses_what_is_expected(service: Service, alice: Caller, asked: str) -> None:
    """Some of the passages, more texts that a file holds, or nothing."""
    draft = await draft_case(service, alice, asked, CaseChoice(name="tea"))
    first = draft.passages[0]
    chosen = await make_case(
        service, alice, asked, CaseChoice(name="tea", spans=[first.number], facts=["opens  at nine"])
    )
    nothing = await make_case(service, alice, asked, CaseChoice(name="tea", spans=[], nothing=True))

    assert draft.asked == ASKED["query"]
    assert draft.replaced == {"email": 1} or draft.replaced["email"] > 0
    assert not draft.can_keep
    assert expected_of(chosen) == {
        "paths": [first.path],
        "spans": [{"path": first.path, "text": first.text}],
        "facts": ["opens  at nine"],
    }
    assert expected_of(nothing) == {"empty": True}
    for choice, told in (
        ({"spans": []}, "expect nothing"),
        ({"spans": [99]}, "no passage 99"),
        ({"facts": ["I like rooibos"]}, "No file"),
        ({"nothing": True, "facts": ["tea"]}, "texts or nothing"),
    ):
        with pytest.raises(ValidationFailed, match=told):
            await make_case(service, alice, asked, CaseChoice.of(name="tea", **choice))


def test_a_name_is_no_path() -> None:
    """It becomes the name of a file and of a folder."""
    for name in (
        "",
        "../tea",
        "a/b",
        ".hidden",
        "-x",
        "a\0",
        "a\n",
        "x" * 101,
        "a b",
    ):
        with pytest.raises(ValidationFailed):
            CaseChoice.of(name=name)


async def test_only_calls_of_two_tools_become_cases(
    service: Service, caller_of: CallerOf, alice: Caller
) -> None:
    """And only one's own; a user whose name can be no folder makes no case."""
    await service.execute(alice, "memory_list", {}, tool_call_id="listed")
    hostile = await caller_of("../../etc")
    await service.execute(hostile, "memory_context", ASKED, tool_call_id="hostile")

    for caller, call in ((alice, "listed"), (hostile, "hostile")):
        with pytest.raises(ValidationFailed):
            await make_case(service, caller, call, CaseChoice(name="tea"))
    with pytest.raises(OperationNotFound):
        await make_case(service, alice, "hostile", CaseChoice(name="tea"))


async def test_cases_are_kept_in_the_folder_alone(
    service: Service, alice: Caller, caller_of: CallerOf, asked: str, tmp_path: Path
) -> None:
    """By an admin of the tenant `default`; nothing is replaced, and no link is followed."""
    folder, outside = tmp_path / "cases", tmp_path / "outside"
    outside.mkdir()
    choice = CaseChoice(name="tea")
    admin = await caller_of("alice", role="admin")
    theirs = await caller_of("alice", role="admin", tenant="another")
    with pytest.raises(ValidationFailed, match="keeps no cases"):
        await keep_case(service, admin, asked, choice)
    service.case_folder = folder
    for caller in (alice, theirs):
        with pytest.raises(Forbidden):
            await keep_case(service, caller, asked, choice)
    assert not folder.exists()
    kept = await keep_case(service, admin, asked, choice)
    with pytest.raises(FileExists):
        await keep_case(service, admin, asked, choice)
    (folder / "link").symlink_to(outside)
    with pytest.raises(FileExists):
        await keep_case(service, admin, asked, CaseChoice(name="link"))

    assert (await draft_case(service, admin, asked, choice)).can_keep
    assert Path(kept.case) == folder / "tea.yaml"
    assert read_suite(kept.case)[1] == []
    assert list(outside.iterdir()) == []
    assert sorted(path.name for path in folder.iterdir()) == ["link", "tea", "tea.yaml"]
    assert DEFAULT_TENANT == "default"


def test_a_case_that_cannot_be_written_leaves_nothing(tmp_path: Path) -> None:
    """The state goes again if the case does not come to stand beside it."""
    files = {"tea.yaml": "cases: []\n", "tea/users/alice/a.md": "a", "tea/users/alice/a.md/b.md": "b"}

    with pytest.raises(ValidationFailed, match="Cannot write"):
        write_case(tmp_path, "tea", files)
    assert list(tmp_path.iterdir()) == []
