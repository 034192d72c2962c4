"""What a command may do: by default what the user's agent may do, and with --as-admin what an administrator may."""

import json
from pathlib import Path

import pytest
from tests.cli.conftest import Memex, Serving

PLAN, GUIDE = "projects/apollo/plan.md", "shared/guide.md"
READING: dict[str, tuple[str, ...]] = {
    "list": ("list",),
    "catalogue": ("list", "--catalogue"),
    "find": ("find", "secret"),
    "context": ("context", "what is secret?"),
    "prompt": ("prompt",),
    "log": ("log", "--limit", "500"),
}


@pytest.fixture(scope="module")
def ways(memex: Memex, serving: Serving, server_folder: Path) -> dict[str, Memex]:
    """The command over a database, over HTTP by an admin's key, and by an agent's key; and a project of bob's."""
    remote = {"MEMEX_URL": serving.ready["url"]}
    nowhere = server_folder / "nowhere"
    memex.plain("projects", "create", "apollo")
    memex.plain("projects", "add", "apollo", "bob")
    memex.plain("write", PLAN, "--content", "# Plan\n\nThe secret plan.\n", "--user", "bob")
    memex.plain("write", GUIDE, "--content", "# Guide\n\nNo secret here.\n", "--as-admin")
    memex.plain("write", "user/bobs.md", "--content", "mine", "--as-admin", "--tool-call-id", "by-admin")
    return {
        "here": memex,
        "there": memex.elsewhere(nowhere, MEMEX_API_KEY=serving.ready["admin_key"], **remote),
        "agent": memex.elsewhere(nowhere, MEMEX_API_KEY=serving.ready["agent_key"], **remote),
    }


@pytest.mark.parametrize("way", [pytest.param("here", marks=pytest.mark.slow), "there"])
@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=() if name in ("list", "context") else pytest.mark.slow) for name in READING],
)
def test_a_command_shows_what_the_users_agent_sees(ways: dict[str, Memex], way: str, name: str) -> None:
    """No project that the user is not a member of, and no call of an admin; with --as-admin both."""
    by_default = ways[way].plain(*READING[name])
    as_admin = ways[way].plain(*READING[name], "--as-admin")
    hidden = {"log": "by-admin", "context": "The secret plan."}.get(name, "projects/apollo")

    assert hidden not in by_default
    assert hidden in as_admin
    assert hidden in ways[way].plain(*READING[name], "--as-admin", "--json")


@pytest.mark.parametrize("way", [pytest.param("here", marks=pytest.mark.slow), "there"])
def test_what_takes_an_admin_is_refused_with_the_option(ways: dict[str, Memex], way: str) -> None:
    """A project without membership, writing to shared/, and a call of an admin: the hint says --as-admin."""
    refused = {
        ("read", PLAN): "PROJECT_NOT_FOUND",
        ("context", "plan?", "--project", "apollo"): "PROJECT_NOT_FOUND",
        ("write", GUIDE, "--content", "x", "--overwrite"): "READ_ONLY_MOUNT",
        ("log", "by-admin"): "OPERATION_NOT_FOUND",
        ("revert", "by-admin"): "OPERATION_NOT_FOUND",
    }

    for words, code in refused.items():
        error = json.loads(ways[way].run(*words, "--json").err)
        assert (error["code"], "--as-admin" in error["hint"]) == (code, True), words


@pytest.mark.parametrize("way", [pytest.param("here", marks=pytest.mark.slow), "there"])
def test_an_admin_may_do_more(ways: dict[str, Memex], way: str) -> None:
    """Read any project, write to shared/, and undo it, each by the option alone."""
    call = f"guide-{way}"

    assert "The secret plan." in ways[way].plain("read", PLAN, "--as-admin")
    ways[way].plain(
        "write", GUIDE, "--content", "changed", "--overwrite", "--as-admin", "--tool-call-id", call
    )
    ways[way].plain("revert", call, "--as-admin")
    assert "No secret here." in ways[way].plain("read", GUIDE)


def test_what_is_printed_to_be_run_next_keeps_the_option(ways: dict[str, Memex]) -> None:
    """A file of shared/ is restored by an admin alone, as it was deleted."""
    ways["here"].plain("write", "shared/gone.md", "--content", "x", "--as-admin")

    deleted = ways["here"].plain("delete", "shared/gone.md", "--as-admin")

    assert deleted.endswith("To restore it: memex files restore shared/gone.md 1 --as-admin\n")


def test_a_member_needs_no_option(ways: dict[str, Memex]) -> None:
    """Bob reads and writes the project, and the log of a call is bob's."""
    for way in ("here", "there", "agent"):
        assert "The secret plan." in ways[way].plain("read", PLAN, "--user", "bob")
    ways["there"].plain("context", "plan", "--user", "bob", "--tool-call-id", "bobs-question")

    [attempt] = ways["agent"].json("log", "bobs-question", "--user", "bob")["attempts"]
    assert attempt["principal"]["role"] == "agent"


def test_an_agents_key_cannot_act_as_an_admin(ways: dict[str, Memex]) -> None:
    """The option is refused; no call is made."""
    refused = json.loads(ways["agent"].run("list", "--as-admin", "--json").err)

    assert (refused["code"], "agent's" in refused["message"]) == ("VALIDATION_ERROR", True)
    assert "--as-admin" not in json.loads(ways["agent"].run("read", PLAN, "--json").err)["hint"]
