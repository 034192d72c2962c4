"""The address of the service itself: a browser is led to the web UI, and a program gets JSON."""

import httpx2

from memex.distribution import version

BROWSER = "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8"
JSON_FIRST = (
    "",
    "*/*",
    "application/json",
    "application/json, text/html;q=0.5",
    "text/html;q=0",
    "text/htmlx",
)


def test_a_browser_is_led_to_the_web_ui(alice: httpx2.Client) -> None:
    """The address is relative, so it repeats no host that was sent."""
    answered = alice.get("/", headers={"Accept": BROWSER, "Host": "evil.example"})

    assert (answered.status_code, answered.headers["location"]) == (303, "ui")
    assert answered.headers["vary"] == "Accept"


def test_a_program_gets_json(alice: httpx2.Client) -> None:
    """A request that does not ask for HTML gets JSON; caches keep the two apart."""
    for accept in JSON_FIRST:
        answered = alice.get("/", headers={"Accept": accept})

        assert answered.json() == {
            "name": "Memex",
            "version": version(),
            "ui": "ui",
            "docs": "docs",
            "openapi": "openapi.json",
            "health": "health/ready",
        }
        assert answered.headers["vary"] == "Accept"
