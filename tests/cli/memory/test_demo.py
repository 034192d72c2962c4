"""`memex demo`: the sample loaded, asked and removed, by the commands that a user has."""

import shlex
from importlib.resources import files

import pytest
import yaml
from tests.cli.conftest import Memex

pytestmark = pytest.mark.usefixtures("server_up")


def test_the_demo_shows_what_its_questions_are_for(memex: Memex) -> None:
    """One commit for its own user, and three answers that hold what they must, from where they must."""
    questions = yaml.safe_load((files("memex.demo") / "questions.yaml").read_text(encoding="utf-8"))

    done = memex.json("demo")

    assert done["user"] == "demo"
    assert len(done["created"]) == 14
    for question, answer in zip(questions, done["answers"], strict=True):
        result = answer["result"]
        assert len(result["context"]) <= answer["budget"] == question["budget"]
        assert [expected for expected in question["expect"] if expected not in result["context"]] == []
        sources = {source["path"] for source in result["sources"]}
        assert {f"user/{path}" for path in question["sources"]} <= sources
    assert [call["tool"] for call in done["log"]] == [*["memory_context"] * 3, "demo_load"]
    assert len(done["log"][-1]["writes"]) == 14
    assert memex.plain("list") == "No files.\n", "nothing of the caller's is touched"


@pytest.mark.slow
def test_the_demo_can_be_run_again(memex: Memex) -> None:
    """What stands is left, also another's file at a path of the sample; what is missing is written."""
    ida = ("--user", "ida")
    memex.plain("write", "user/profile.md", "--content", "# Ida\n", *ida)

    first = memex.json("demo", *ida)
    second = memex.plain("demo", *ida)

    assert first["left"] == ["user/profile.md"]
    assert len(first["created"]) == 13
    assert second.startswith("The sample memory of the user ida: ")
    assert "   14 files found there, and left so\n" in second
    assert second.count("\nbudget   ") == 3
    assert memex.plain("read", "user/profile.md", *ida) == "# Ida\n"


@pytest.mark.slow
def test_the_commands_that_the_demo_names_work(memex: Memex) -> None:
    """Pasted one after the other, each does what it says."""
    done = memex.json("demo", "--user", "jo")

    printed = [memex.plain(*shlex.split(command)[1:]) for command in done["next"]]

    remembered, recalled, logged, removed = printed
    assert remembered.startswith("Remembered in 1 file.")
    assert "We decided to paint the oars red." in recalled
    assert "── links " in logged
    assert removed.startswith("Deleted 14 files of the sample.")


def test_removing_the_demo_leaves_what_was_changed(memex: Memex) -> None:
    """It deletes its own files alone, in one commit that can be undone, and says what it left and why."""
    kim = ("--user", "kim")
    memex.json("demo", *kim)
    memex.plain(
        "write", "user/profile.md", "--append", "--content", "- Sings.", *kim, "--tool-call-id", "mine"
    )

    removed = memex.json("demo", "--remove", *kim)
    again = memex.plain("demo", "--remove", *kim)

    assert len(removed["removed"]) == 13
    assert removed["left"] == [
        {"path": "user/profile.md", "version": 2, "actor": "cli", "tool_call_id": "mine"}
    ]
    assert [file["path"] for file in memex.json("list", *kim)["files"]] == ["user/profile.md"]
    assert again == (
        "No file of the sample is there as the demo wrote it: nothing is deleted.\n"
        "left user/profile.md  version 2 is by cli, mine\n"
    )
    assert len(memex.json("revert", removed["tool_call_id"], *kim)["writes"]) == 13
