"""`memex remember` and `memex context`, and the log of what they did."""

import json
import re
from pathlib import Path

import pytest
from tests.cli.conftest import Memex
from tests.kit.model_server import ModelServer, calls

pytestmark = pytest.mark.usefixtures("server_up")

SAID = "I prefer green tea over coffee. How are you? We decided to paint the oars red."
STYLE = re.compile(r"\x1b\[[0-9;]*m")


@pytest.fixture
def filing(memex: Memex) -> Memex:
    """The command with no journal, where a page of notes holds what is no preference, decision or task."""
    return memex.elsewhere(memex.data_dir, MEMEX_JOURNAL="off")


def shown(memex: Memex, *arguments: str) -> str:
    """Return what stands on a terminal of 100 columns, without its colours."""
    return STYLE.sub("", memex.on_terminal(*arguments).decode()).replace("\r\n", "\n")


def test_remember_shows_what_became_of_the_text(memex: Memex) -> None:
    """The difference of each file, what was skipped and why, and how to undo it, which works."""
    ann = ("--user", "ann")

    said = memex.plain("remember", SAID, *ann, "--tool-call-id", "tea-1")
    twice = memex.plain("remember", SAID, *ann)
    again = memex.plain("remember", "I prefer green tea over coffee.", *ann, "--tool-call-id", "tea-2")

    assert said.startswith(
        "Remembered in 2 files.\n\nuser/preferences.md  version 1  1 added\n--- /dev/null\n"
    )
    assert "+- We decided to paint the oars red. (" in said
    assert re.search(r"^“How are you\?” +small talk$", said, re.MULTILINE)
    assert said.endswith("call     tea-1\nundo     memex revert tea-1 --user ann\n")
    assert twice.startswith("Nothing to remember: ")
    assert "undo" not in twice
    assert again.startswith("Kept in the journal alone: user/journal/")
    assert re.search(
        r"^“I prefer green tea over coffee\.” +known in user/preferences\.md@1$", again, re.MULTILINE
    )
    assert again.endswith("undo     memex revert tea-2 --user ann\n")
    for call in ("tea-2", "tea-1"):
        assert memex.json("revert", call, *ann)["reverted"] == call
    assert memex.json("list", *ann)["files"] == []
    assert memex.json("list", *ann)["journal"] == []


@pytest.mark.slow
def test_remember_replaces_in_colours(memex: Memex) -> None:
    """On a terminal the statement that goes is red, and the one that comes is green."""
    memex.plain("remember", "My favorite color is blue.", "--user", "cal")

    written = memex.on_terminal("remember", "My favorite color is red.", "--user", "cal").decode()

    assert "1 replaced" in written
    assert "\x1b[31m-- My favorite color is blue." in written
    assert "\x1b[32m+- My favorite color is red." in written


def test_remember_names_what_may_be_out_of_date_and_forget_takes_it_out(filing: Memex) -> None:
    """Both stay until the user forgets the older one, by the command that the answer names; `revert` undoes it."""
    ida = ("--user", "ida")
    filing.plain(
        "remember", "The session cache runs on Redis, and Anna looks after Redis. I hate cilantro.", *ida
    )

    said = filing.plain("remember", "The session cache also no longer runs on Redis.", *ida)
    tried = filing.plain(
        "forget", "The session cache runs on Redis, and Anna looks after Redis.", "--dry-run", *ida
    )
    gone = filing.plain(
        "forget",
        "The session cache runs on Redis, and Anna looks after Redis.",
        *ida,
        "--tool-call-id",
        "gone-1",
    )
    left = filing.plain("read", "user/notes.md", *ida)

    assert re.search(
        r"^may be out of date +handle\nThe session cache runs on Redis, and Anna looks after Redis\."
        r" +notes-[a-z2-7]{8}\n",
        said,
        re.MULTILINE,
    )
    assert re.search(
        r"To take the first one out: memex remember --outdated notes-[a-z2-7]{8} --user ida\n", said
    )
    assert tried.startswith("Dry run: 1 file would lose what is to be forgotten.\n")
    assert gone.startswith(
        "Forgotten in 1 file. Earlier versions still hold it.\n\nuser/notes.md  version 3  1 removed\n"
    )
    assert "-- The session cache runs on Redis, and Anna looks after Redis. (" in gone
    assert gone.endswith("undo     memex revert gone-1 --user ida\n")
    assert ["Anna" in left, "no longer" in left] == [False, True]
    assert filing.json("revert", "gone-1", *ida)["reverted"] == "gone-1"
    assert "Anna" in filing.plain("read", "user/notes.md", *ida)


@pytest.mark.slow
def test_remember_shows_what_it_took_out(filing: Memex) -> None:
    """The older statement and the one for which it went; what else it said stays in its line."""
    kim = ("--user", "kim")
    older = "The session cache runs on Redis, and Anna looks after Redis."
    filing.plain("remember", older, *kim)

    said = filing.plain("remember", "The session cache no longer runs on Redis.", *kim)
    left = filing.plain("read", "user/notes.md", *kim)

    assert re.search(rf"^taken out +for\n{re.escape(older)} +The session cache no longer", said, re.MULTILINE)
    assert "- Anna looks after Redis. (" in left
    assert older not in left


@pytest.mark.slow
def test_forget_lists_what_may_be_meant(memex: Memex) -> None:
    """Nothing changes where two fit or none does; whatever the words are, they are never stored."""
    jon = ("--user", "jon")
    owed = ["I need to pay Karim 200 euros for the tent.", "I need to pay Karim 350 euros for the stove."]
    memex.plain("remember", *owed, "I hate cilantro.", *jon)
    before = memex.json("list", *jon)["files"]

    several, document = memex.both("forget", "I", "need", "to", "pay", "Karim", *jon)
    none = memex.plain("forget", "Remember that the unicorn limps, and don't forget the milk", *jon)
    refused = [memex.run("forget", words, *jon) for words in (" ", "x" * 501)]

    assert several.startswith(
        "Nothing is forgotten: it is not clear which statement is meant.\n\nmay be meant "
    )
    assert sorted(one["text"] for one in document["candidates"]) == owed
    assert "`outdated`" in document["note"]
    assert none.startswith("Nothing is forgotten: no stored statement fits these words.\n")
    assert [(done.code, "VALIDATION_ERROR" in done.err) for done in refused] == [(1, True)] * 2
    assert memex.json("list", *jon)["files"] == before


@pytest.mark.slow
def test_remember_says_what_was_forgotten_before(memex: Memex) -> None:
    """An older text with it is not kept; a new one is, and both answers say why."""
    pia = ("--user", "pia")
    text = "My parking space has the number 4417."
    memex.plain("remember", text, "--said-at", "2026-01-10", *pia)
    memex.plain("forget", "4417", *pia)

    older = memex.plain("remember", text, "--said-at", "2026-01-05", *pia)
    anew = memex.plain("remember", text, *pia)

    assert "forgotten on request; to have it again" in older
    assert re.search(rf"^holds again +forgotten +by\n{re.escape(text)} ", anew, re.MULTILINE)


@pytest.mark.slow
def test_remember_takes_its_text_from_anywhere(memex: Memex, tmp_path: Path) -> None:
    """From words, a file, a dash and stdin alike; a dry run writes nothing."""
    source = tmp_path / "said.txt"
    source.write_text(SAID)
    dry = ("--user", "dan", "--dry-run")

    words = memex.plain("remember", *SAID.split(" "), *dry)
    documents = [
        memex.json("remember", "--file", str(source), *dry),
        memex.json("remember", "--file", "-", *dry, stdin=SAID),
        memex.json("remember", "-", *dry, stdin=SAID),
        memex.json("remember", *dry, stdin=SAID),
    ]

    assert words.startswith("Dry run: 2 files would be written.\n")
    assert {document["status"] for document in documents} == {"dry_run"}
    assert all(document["writes"] == documents[0]["writes"] for document in documents)
    assert memex.plain("list", "--user", "dan") == "No files.\n"


@pytest.mark.parametrize(
    "arguments",
    [("tea", "--file", "-"), ("--file", "/nonexistent/said.txt")],
    ids=["two", "absent"],
)
def test_remember_needs_one_text(memex: Memex, arguments: tuple[str, ...]) -> None:
    """Two texts and a file that is not there are refused."""
    done = memex.run("remember", *arguments)

    assert (done.code, done.out) == (1, "")
    assert done.err.startswith("error VALIDATION_ERROR: ")


@pytest.mark.parametrize("arguments", [(), ("",), (" \n ",)], ids=["stdin", "empty", "spaces"])
def test_a_text_without_a_word_is_a_misuse(memex: Memex, arguments: tuple[str, ...]) -> None:
    """Nothing is asked of memory: the command says what to give it."""
    done = memex.run("remember", *arguments)

    assert (done.code, done.out) == (2, "")
    assert "The text is empty" in done.err


def test_context_in_a_pipe_is_the_bare_context(memex: Memex) -> None:
    """Byte by byte, so that it can go into a prompt; the same answer has the same hash, and is sent once."""
    evil = "# Tea\n\nOolong \x1b[31m from Fujian.\n"
    memex.plain("write", "user/tea.md", "--content", evil, "--user", "eve")
    ask = ("context", "Which", "oolong?", "--user", "eve")

    plain, found = memex.both(*ask)
    known = memex.run(*ask, "--known-hash", found["hash"])

    assert plain == found["context"]
    assert "] tea\nOolong ⟨U+001B⟩[31m from Fujian.\n" in plain
    assert len(plain) == found["budget"]["used"]
    assert (known.code, known.out) == (0, "")
    assert known.err == "Not modified: the context has the known hash.\n"


@pytest.mark.slow
def test_nothing_found_is_said_beside_the_pipe(memex: Memex) -> None:
    """Nothing on stdout, a word on stderr, and no failure; with a band the context itself says so."""
    ask = ("context", "nothingofthesort", "--user", "nobody")

    done = memex.run(*ask, "--min-confidence", "none")
    judged = memex.run(*ask)

    assert (done.code, done.out, done.err.split("\n")[0]) == (0, "", "Nothing found.")
    assert (judged.code, judged.out.split("\n")[1]) == (0, "Nothing is remembered about this.")
    assert "Nothing found." not in judged.err


@pytest.mark.slow
def test_a_terminal_says_what_to_try_when_nothing_is_found(memex: Memex) -> None:
    """One line with the command that shows what is there, for the same user."""
    for command, said in (("context", "Nothing is remembered about this."), ("find", "Nothing found.")):
        screen = shown(memex, command, "nothingofthesort", "--user", "nobody")

        assert f"{said}\n" in screen
        assert "or list all files: memex list --catalogue --user nobody\n" in screen


@pytest.mark.slow
def test_context_on_a_terminal_tells_its_sources(memex: Memex) -> None:
    """The context made harmless, a row for each source with its reason, and what it cost."""
    fay = ("--user", "fay")
    memex.plain("write", "user/a.md", "--content", "# Oolong\n\n\x1b]0;title\x07 From [[b]].\n", *fay)
    memex.plain("write", "user/b.md", "--content", "# Fujian\n\nA province by the sea.\n", *fay)

    screen = shown(memex, "context", "oolong", "--budget", "1000", *fay)
    table = memex.plain("context", "oolong", "--sources", *fay)
    near = memex.plain("context", "oolong", "--sources", "--max-hops", "0", *fay)

    assert "⟨U+001B⟩]0;title⟨U+0007⟩ From [[b]]." in screen
    assert "\x1b" not in screen
    assert re.search(r"^user/a\.md@1 +words +10-\d+ +\d+ *$", screen, re.MULTILINE)
    assert re.search(r"^user/b\.md@1 +link from user/a\.md +10-\d+ +\d+ *$", screen, re.MULTILINE)
    assert re.search(r"^budget   █+░+  \d+ of 1,000 characters$", screen, re.MULTILINE)
    assert [line.split()[0] for line in screen.splitlines()[-4:]] == ["hash", "state", "planner", "call"]
    assert table.startswith("source ")
    assert "Fujian" not in table
    assert "link from" not in near


def test_the_log_tells_the_story_of_a_call(memex: Memex) -> None:
    """A tree of the operations in their order, of what was chosen and returned, and of the time; with the state."""
    gus = ("--user", "gus")
    memex.plain("write", "user/a.md", "--content", "# Oolong\n\nFrom Fujian.\n", *gus)
    memex.plain("context", "oolong", *gus, "--tool-call-id", "asked")

    plain, document = memex.both("log", "asked", *gus)
    raw = memex.plain("log", "asked", "--raw", *gus)

    branches = re.findall(r"^[├└]── (.+)$", plain, re.MULTILINE)
    attempt = document["attempts"][0]
    steps = attempt["trace"]["steps"]
    assert [one["tool"] for one in steps] == [one["tool"] for one in attempt["inner"]]
    assert re.fullmatch(r'find \d+\.\d ms "oolong" → 1 hit', branches[0])
    assert len(branches) == len(steps) + 4
    assert re.search(r"^│   └── user/a\.md@1:0-\d+  score ", plain, re.MULTILINE)
    assert [branch.split()[0] for branch in branches[-4:]] == ["planned", "chose", "returned", "took"]
    assert re.search(r"^│   └── user/a\.md@1:10-\d+  words$", plain, re.MULTILINE)
    assert re.search(r"^  saw +(user 1, shared 0|shared 0, user 1)$", plain, re.MULTILINE)
    assert ('"hash": ' in plain, '"hash": ' in raw) == (False, True), (
        "request and response as they are logged"
    )


@pytest.mark.slow
def test_the_log_keeps_ids_on_one_line(memex: Memex) -> None:
    """On a terminal of 100 columns the other columns give way."""
    call = memex.json("remember", SAID, "--user", "hal")["tool_call_id"]

    screen = shown(memex, "log", "--user", "hal")

    assert call in screen
    assert max(map(len, screen.splitlines())) <= 100


@pytest.mark.slow
def test_a_state_asks_the_memory_of_then(memex: Memex) -> None:
    """What context, find, list and read said is said again; a catalogue is of now."""
    evelyn = ("--user", "evelyn")
    memex.plain("write", "user/tea.md", "--content", "# Tea\n\nOolong.\n", *evelyn)
    before = memex.json("context", "oolong", *evelyn)
    memex.plain("write", "user/tea.md", "--content", "Coffee.", "--overwrite", *evelyn)
    then = ("--as-of", json.dumps(before["state"]), *evelyn)

    assert memex.json("context", "oolong", *then)["hash"] == before["hash"]
    assert memex.plain("context", "oolong", *then).rstrip("\n") == before["context"].rstrip("\n")
    assert [hit["path"] for hit in memex.json("find", "oolong", *then)["hits"]] == ["user/tea.md"]
    assert [file["version"] for file in memex.json("list", *then)["files"]] == [1]
    assert memex.plain("read", "user/tea.md", *then) == "# Tea\n\nOolong.\n"
    assert memex.plain("find", "oolong", *evelyn).startswith("Nothing found")
    assert "exclude each other" in memex.run("list", "--catalogue", *then).err


@pytest.mark.slow
def test_a_model_that_plans_is_seen_in_the_log_and_paid(memex: Memex, model_server: ModelServer) -> None:
    """`context` says who planned, `log` what was asked and answered, `spend` what the day has cost."""
    bea = ("--user", "bea")
    memex.plain("remember", "I prefer oolong tea.", *bea)
    model_server.play(calls(("answer", {"lines": [1]})))
    asking = memex.elsewhere(
        memex.data_dir,
        MEMEX_MODEL="openai:scripted",
        OPENAI_BASE_URL=model_server.url,
        MEMEX_MODEL_PRICE="100/1000",
        MEMEX_DAILY_USD="2",
    )

    found = asking.json("context", "which tea?", *bea, "--tool-call-id", "tea-9")
    logged = asking.plain("log", "tea-9", *bea)
    said, spent = asking.both("spend")
    assert (found["planner"], found["degraded"]) == ("openai:scripted", None)
    assert "I prefer oolong tea." in found["context"]
    assert re.search(
        r"── model openai:scripted [\d,.]+ ms tools, 100 \+ 10 tokens, 0\.0200 USD$", logged, re.MULTILINE
    )
    assert "called answer {" in logged
    assert re.search(r"model 1 request, [\d,.]+ ms, 100 \+ 10 tokens, 0\.0200 USD  \d+%", logged)
    [day] = spent["spent"]
    assert (day["model"], day["requests"], day["usd"]) == ("openai:scripted", 1, 0.02)
    assert "A day may cost 2 US dollars" in said


@pytest.mark.slow
def test_a_host_says_how_sure_a_context_must_be(memex: Memex) -> None:
    """Below that the context says that nothing is remembered; the terminal shows the band."""
    kim = ("--user", "kim")
    memex.plain("write", "user/tea.md", "--content", "# Tea\n\nOolong from Fujian.\n", *kim)
    ask = ("context", "Which oolong did the neighbours order yesterday evening?", *kim)

    plain, found = memex.both(*ask, "--min-confidence", "strong")
    screen = shown(memex, *ask)
    hits = memex.plain("find", "oolong", *kim)

    assert plain == found["context"]
    assert plain.split("\n")[1] == "Nothing is remembered about this."
    assert found["omitted"]["best"][0]["reason"] == "nothing_fits"
    assert "Oolong from Fujian." in screen
    assert re.search(r"^band +weak \(0\.\d\d\)$", screen, re.MULTILINE)
    assert re.search(r"^user/tea\.md@1.* confidence 0\.\d\d$", hits, re.MULTILINE)
    assert memex.run(*ask, "--min-confidence", "sure").code == 2
