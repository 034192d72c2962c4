"""memory_remember: of a pasted document the journal keeps the words, and pages what it states."""

import re
import time
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from tests.kit.memory import open_project, remember

from memex.errors import FileNotFound
from memex.service.service import Caller, Service

CallerOf = Callable[..., Awaitable[Caller]]

pytestmark = pytest.mark.embedded_only

RECORD = """# ADR 12: Where pictures live

## Context

The gallery holds 40,000 pictures, and the disk of the web server is full each spring.

## Decision

We decided to keep the pictures in the object store of the hoster in Linz.

## Consequences

- Thumbnails are made when a picture is uploaded.
- Old links must keep working for a year.

## Next steps

- Ravi: copy the pictures of 2019 by Monday
- AI Lena: measure the bill of the first month
"""

MAIL = """From: Tove Lindqvist <tove@boats.example>
To: me@mail.example
Subject: Re: Winter storage for the Alma
Date: 3 October

Dear Ines,

thank you for your call. We keep a place for the Alma in hall 2 from 20 October to 15 April. The place costs 780
euros, paid in two parts, and the first part is due on 1 November. The mast has to be taken down before she comes
in, and we ask all owners to empty the water tank and to take the batteries home. Please bring the paper of the
insurance with you when you hand her over, as the hall may not take boats without one.

The door of hall 2 opens with 7731, and the crane is free on Tuesdays and Thursdays.

Kind regards
Tove Lindqvist
"""

PROCESS = """# How we ship a release

To ship a release:

1. Run the long tests.
2. Raise the version.
3. Tag the commit and push the tag.

## When it fails

Tell the channel first, then roll back with the button of the dashboard. Never patch the running server.

## Who may ship

Only Ana and Piet may press the button.
"""


async def read(service: Service, caller: Caller, path: str) -> str:
    """Return the text at a path, "" where no file stands."""
    try:
        return str((await service.execute(caller, "memory_read", {"path": path}))["content"])
    except FileNotFound:
        return ""


def bullets(text: str) -> list[str]:
    """Return the bullets of a file without their boxes and stamps."""
    stamp = re.compile(r"^- (?:\[.\] )?| \(\d{4}-\d\d-\d\d(?:, due \d{4}-\d\d-\d\d)?\)")
    return [stamp.sub("", line) for line in text.splitlines() if line[:2] == "- "]


def written(result: dict[str, Any]) -> list[str]:
    """Return the paths that a call wrote."""
    return [write["path"] for write in result["writes"]]


async def test_the_words_of_a_record_are_kept_and_what_it_states_is_filed(
    service: Service, alice: Caller
) -> None:
    """The journal has the record, and pages what is sure of it; the same record again writes nothing."""
    result = await remember(service, alice, RECORD)
    again = await remember(service, alice, RECORD)
    entry = result["entry"].rpartition("@")[0]

    assert (again["status"], written(again)) == ("nothing", [])
    assert await read(service, alice, entry) == RECORD
    assert not any("/notes/" in path for path in written(result))
    assert bullets(await read(service, alice, "user/decisions.md")) == [
        "We decided to keep the pictures in the object store of the hoster in Linz.",
        "Old links must keep working for a year.",
    ]
    assert bullets(await read(service, alice, "user/tasks.md")) == [
        "Ravi: copy the pictures of 2019 by Monday",
        "Lena: measure the bill of the first month",
    ]


async def test_the_secret_of_a_mail_is_kept_nowhere(service: Service, alice: Caller) -> None:
    """The code is replaced by its kind before anything reads the mail; the rest of the mail is kept."""
    result = await remember(service, alice, MAIL)
    files = [file["path"] for file in (await service.execute(alice, "memory_list", {}))["files"]]
    texts = [await read(service, alice, path) for path in (*files, result["entry"].rpartition("@")[0])]

    assert not any("7731" in text for text in texts)
    assert any("[secret: pin]" in text and "empty the water tank" in text for text in texts)
    assert [(one["kind"], one["action"]) for one in result["secrets"]] == [("pin", "redacted")]


async def test_a_process_keeps_its_order_and_its_lead_in(service: Service, caller_of: CallerOf) -> None:
    """The steps are one statement; in a project its rules are constraints."""
    admin = await caller_of(None, role="admin")
    await open_project(service, admin, "apollo", "alice")
    alice = await caller_of("alice")
    await remember(service, alice, PROCESS, project="apollo")
    notes = await read(service, alice, "projects/apollo/notes.md")
    rules = await read(service, alice, "projects/apollo/decisions.md")

    assert re.search(
        r"To ship a release: .*\n  1\. Run the long tests\.\n  2\. Raise the version\.\n  3\. Tag", notes
    )
    assert "Never patch the running server." in rules


@pytest.mark.slow
async def test_a_text_of_many_tiny_sentences_takes_time_as_its_length(
    service: Service, alice: Caller
) -> None:
    """Four times as many statements take no sixteen times as long, whatever becomes of them."""
    taken_s = {}
    for count in (2_500, 10_000):
        started = time.process_time()
        await service.execute(alice, "memory_remember", {"text": "A b. " * count})
        taken_s[count] = time.process_time() - started

    assert taken_s[10_000] < 6 * taken_s[2_500]
