"""The prompt block over HTTP: what it holds, for whom, and how it is logged."""

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx2
import pytest

from memex.errors import ValidationFailed
from memex.service.service import Service
from memex.subagent import prompts

ClientOf = Callable[..., httpx2.Client]
FRONT = "---\nversion: 7\npurpose: Ours.\n---\n\n"
PINNED = "---\npinned: true\n---\n\n# House rules\n\nAnswer in English.\n"


def write(client: httpx2.Client, path: str, content: str) -> None:
    """Write a file, as an admin where the path is of shared/."""
    role = "/v1/admin/tools" if path.startswith("shared/") else "/v1/tools"
    arguments = {"path": path, "content": content, "overwrite": True}
    written = client.post(f"{role}/memory_write/execute", json={"arguments": arguments})
    assert written.is_success, written.text


def block(client: httpx2.Client, **query: Any) -> dict[str, Any]:
    """Return the block that a client gets."""
    answered = client.get("/v1/prompt-block", params=query)
    assert answered.is_success, answered.text
    found: dict[str, Any] = answered.json()
    assert found["budget"]["used"] == len(found["text"]) <= found["budget"]["limit"]
    return found


def test_it_tells_of_the_tools_the_pinned_notes_and_the_files(
    alice: httpx2.Client, root: httpx2.Client
) -> None:
    """Pinned notes of shared/ word for word and without front matter; pinned files of the user only by name."""
    write(root, "shared/rules.md", PINNED)
    write(root, "shared/other.md", "# Other\n\nNot pinned.\n")
    write(alice, "user/mine.md", "---\npinned: true\n---\n# Mine\n\nquetzalcoatl\n")
    found = block(alice)
    body = "# House rules\n\nAnswer in English."
    start = PINNED.index(body)

    assert found["text"].startswith(prompts.load_text("block").body)
    assert f"shared/rules.md@1:{start}-{start + len(body)}\n{body}\n" in found["text"]
    assert "- shared/other.md — Other" in found["text"]
    assert "- user/mine.md — Mine" in found["text"]
    assert "quetzalcoatl" not in found["text"]
    assert "Not pinned." not in found["text"]
    assert found["state"] == {"user": 1, "shared": 2}
    assert found["sources"] == [
        {
            "path": "shared/rules.md",
            "version": 1,
            "reason": "pinned",
            "linked_from": None,
            "spans": [
                {
                    "start": start,
                    "end": start + len(body),
                    "sha256": hashlib.sha256(body.encode()).hexdigest(),
                    "why": "pinned",
                }
            ],
            "truncated": False,
        }
    ]
    assert (found["notes_left_out"], found["files_left_out"]) == ([], 0)


def test_what_does_not_fit_is_told(alice: httpx2.Client, root: httpx2.Client) -> None:
    """A long pinned file is cut at a line, later ones are named, and files are counted."""
    lines = "".join(f"Rule {n} of many.\n" for n in range(3_000))
    write(root, "shared/long.md", f"---\npinned: true\n---\n{lines}")
    write(root, "shared/next.md", PINNED)
    for n in range(30):
        write(alice, f"user/{n:02}.md", f"# Note {n}\n")
    found = block(alice, budget=3_000)
    [source] = found["sources"]

    assert source["truncated"]
    assert found["notes_left_out"] == ["shared/next.md"]
    assert 0 < found["files_left_out"] < 32
    assert f"and {found['files_left_out']} more" in found["text"]
    whole = alice.get("/v1/file", params={"path": "shared/long.md"}).json()["content"]
    [span] = source["spans"]
    text = whole[span["start"] : span["end"]]
    assert f"· cut\n{text}\n" in found["text"]
    assert whole[span["end"]] == "\n"
    assert hashlib.sha256(text.encode()).hexdigest() == span["sha256"]


def test_the_same_state_gives_the_same_bytes(alice: httpx2.Client, root: httpx2.Client) -> None:
    """So that a provider's prompt cache holds it; who knows its hash is told that it is the same."""
    write(root, "shared/rules.md", PINNED)
    first, second = block(alice), block(alice)
    etag = alice.get("/v1/prompt-block").headers["etag"]
    same = alice.get("/v1/prompt-block", headers={"If-None-Match": f'"x", W/{etag}'})
    write(alice, "user/new.md", "# New\n")
    other = alice.get("/v1/prompt-block", headers={"If-None-Match": etag})

    assert first["text"] == second["text"]
    assert etag == f'"{first["hash"]}"'
    assert (same.status_code, same.content, other.status_code) == (304, b"", 200)
    assert other.json()["hash"] != first["hash"]


def test_a_project_narrows_the_list(alice: httpx2.Client, root: httpx2.Client) -> None:
    """Named in the query or in the context; one that is none of the user's is refused."""
    for slug in ("apollo", "gemini"):
        root.put(f"/v1/admin/projects/{slug}")
        root.put(f"/v1/admin/projects/{slug}/members/alice")
        write(alice, f"projects/{slug}/plan.md", "# Plan\n")

    both, one = block(alice)["text"], block(alice, project="apollo")["text"]
    by_context = alice.get("/v1/prompt-block", headers={"Memex-Project": "apollo"}).json()["text"]

    assert "projects/gemini/plan.md" in both
    assert "projects/gemini/plan.md" not in one
    assert "projects/apollo/plan.md" in one
    assert by_context == one
    refused = alice.get("/v1/prompt-block", params={"project": "other"})
    assert refused.json()["code"] == "PROJECT_NOT_FOUND"


@pytest.mark.parametrize(
    ("budget", "code"),
    [(499, "BUDGET_TOO_SMALL"), (50_001, "VALIDATION_ERROR"), ("x", "VALIDATION_ERROR")],
)
def test_a_budget_out_of_bounds_is_refused(alice: httpx2.Client, budget: Any, code: str) -> None:
    """500 to 50,000 characters."""
    assert alice.get("/v1/prompt-block", params={"budget": budget}).json()["code"] == code


def test_it_is_logged_without_its_text(alice: httpx2.Client, root: httpx2.Client) -> None:
    """The call, what it saw, and the version and digest of the guide; the text can be made again from these."""
    write(root, "shared/rules.md", PINNED)
    headers = {"Memex-Tool-Call-Id": "call-block"}
    answered = alice.get("/v1/prompt-block", params={"budget": 900}, headers=headers).json()
    [attempt] = alice.get("/v1/operations/call-block").json()["attempts"]
    guide = prompts.load_text("block")

    assert answered["tool_call_id"] == "call-block"
    assert (attempt["tool"], attempt["status"]) == ("prompt_block", "answered")
    assert attempt["request"] == {"budget": 900}
    assert attempt["state"] == answered["state"]
    assert attempt["config"] == {
        "prompt": f"block-{guide.version}",
        "prompt_sha256": guide.sha256.hex(),
    }
    assert attempt["response"]["sources"] == answered["sources"]
    assert "House rules" not in str(attempt)


def test_an_admin_gets_it_over_what_admins_read(alice: httpx2.Client, client_of: ClientOf) -> None:
    """For a user whom it names, or for none."""
    write(alice, "user/mine.md", "# Mine\n")
    admin = client_of("admin")
    of_none = admin.get("/v1/admin/prompt-block").json()
    of_alice = admin.get("/v1/admin/prompt-block", headers={"Memex-User": "alice"}).json()

    assert "user/mine.md" not in of_none["text"]
    assert "user/mine.md" in of_alice["text"]


class TestDirectory:
    """Prompts from MEMEX_PROMPTS_DIR."""

    def test_its_words_stand_in_the_block_and_in_the_tools(
        self, tmp_path: Path, embedded_server: Any, http_conninfo: str, serving: Callable[..., Any]
    ) -> None:
        """What it does not hold is as it is without it."""
        (tmp_path / "block.md").write_text(f"{FRONT}You remember with Memex.\n")
        (tmp_path / "context.md").write_text(
            f"{FRONT}# Tool\n\nAsk memory.\n\n## Arguments\n\n- `query`: Anything.\n\n# Instructions\n\nChoose.\n"
        )
        with serving(
            http_conninfo,
            wrap=lambda service: Service(service.database, max_files=100, prompts_dir=tmp_path),
        ) as served:
            from memex.store.identity import tenants

            key = served.run(tenants.create_key(served.service.database, "words", "agent", user_id="al"))[0]
            with httpx2.Client(
                base_url=served.url, headers={"Authorization": f"Bearer {key}"}, timeout=30
            ) as client:
                text = block(client)["text"]
                described = client.get("/v1/tools").json()["tools"]
                client.post(
                    "/v1/tools/memory_context/execute",
                    json={"context": {"toolCallId": "asked"}, "arguments": {"query": "tea"}},
                )
                [attempt] = client.get("/v1/operations/asked").json()["attempts"]
        tools = {tool["name"]: tool for tool in described}

        assert text == "You remember with Memex."
        assert tools["memory_context"]["description"] == "Ask memory."
        query = tools["memory_context"]["input_schema"]["properties"]["query"]
        assert query["description"] == "Anything."
        assert tools["memory_remember"]["description"] == prompts.load("remember").tool
        assert attempt["config"]["prompt"] == "context-7"

    @pytest.mark.parametrize(
        ("name", "text", "problem"),
        [
            ("context.md", "no prompt", "context.md cannot be used: it has no heading Tool"),
            ("block.md", "no prompt", "block.md cannot be used: its front matter has no version"),
            (
                "remember.md",
                FRONT + "# Tool\n\nx\n\n## Arguments\n\n- `colour`: x\n\n# Instructions\n\nx\n",
                "speaks of an argument colour",
            ),
        ],
    )
    async def test_a_malformed_prompt_is_refused_at_the_start(
        self, tmp_path: Path, served: Any, name: str, text: str, problem: str
    ) -> None:
        """By the variable's name, the file's, and what is wrong in it."""
        (tmp_path / name).write_text(text)

        with pytest.raises(ValidationFailed, match=problem) as refused:
            Service(served.service.database, max_files=1, prompts_dir=tmp_path)

        assert refused.value.message.startswith("MEMEX_PROMPTS_DIR: ")

    async def test_a_directory_that_is_not_there_is_refused(self, tmp_path: Path, served: Any) -> None:
        """It would else be the prompts of Memex without a word."""
        with pytest.raises(ValidationFailed, match="MEMEX_PROMPTS_DIR: there is no folder"):
            Service(served.service.database, max_files=1, prompts_dir=tmp_path / "none")
