"""The address of the service itself: a page for a browser, and JSON for a program."""

import base64
import hashlib
import re
from html.parser import HTMLParser

import httpx2
import pytest

from memex.distribution import version
from memex.http.routes.greeting import ADDRESS

BROWSER = "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8"
JSON_FIRST = (
    "",
    "*/*",
    "application/json",
    "application/json, text/html;q=0.5",
    "text/html;q=0",
    "text/htmlx",
)


class Page(HTMLParser):
    """The elements of a page, with their attributes."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Keep an element."""
        self.elements.append((tag, dict(attrs)))

    def all(self, tag: str) -> list[dict[str, str | None]]:
        """Return the attributes of each element of a kind."""
        return [attributes for name, attributes in self.elements if name == tag]


def test_a_browser_gets_a_page(alice: httpx2.Client) -> None:
    """The page has a language and a title, its links lead somewhere, and its calls name this service."""
    answered = alice.get("/", headers={"Accept": BROWSER})
    page = Page(answered.text)
    links = [str(each["href"]) for each in page.all("a")]

    assert answered.headers["content-type"] == "text/html; charset=utf-8"
    assert page.all("html") == [{"lang": "en"}]
    assert re.search(r"<title>[^<]+</title>", answered.text)
    assert links == ["docs", "openapi.json", "health/ready"]
    assert [alice.get(f"/{link}").status_code for link in links] == [200, 200, 200]
    assert f"curl -sS {str(alice.base_url).rstrip('/')}/v1/tools/memory_remember/execute" in answered.text


def test_the_page_loads_and_runs_nothing(alice: httpx2.Client) -> None:
    """Its policy allows its own style alone, by digest; there is no script, and no address of another host."""
    answered = alice.get("/", headers={"Accept": BROWSER})
    [style] = re.findall(r"<style>(.*?)</style>", answered.text, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    page = Page(answered.text)

    assert f"default-src 'none'; style-src 'sha256-{digest}';" in answered.headers["content-security-policy"]
    assert page.all("script") == []
    assert not [attributes for _, attributes in page.elements if "style" in attributes]
    assert [str(link["href"])[:19] for link in page.all("link")] == ["data:image/svg+xml,"]


@pytest.mark.parametrize("accept", JSON_FIRST)
def test_a_program_gets_json(alice: httpx2.Client, accept: str) -> None:
    """A request that does not ask for HTML gets the same in JSON; caches keep the two apart."""
    answered = alice.get("/", headers={"Accept": accept})

    assert answered.json() == {
        "name": "Memex",
        "version": version(),
        "docs": "docs",
        "openapi": "openapi.json",
        "health": "health/ready",
    }
    assert answered.headers["vary"] == "Accept"


def test_no_host_that_was_sent_gets_into_the_page(alice: httpx2.Client) -> None:
    """What is no address is not shown: people copy the commands into a shell."""
    for hostile in ('x"><script>alert(1)</script>', "$(id)", "a;id", "`id`", "a'b"):
        page = alice.get("/", headers={"Accept": "text/html", "Host": hostile}).text

        assert hostile not in page
        assert all(ADDRESS.match(url) for url in re.findall(r"curl -sS (\S+)/v1/tools", page))


def test_addresses_are_recognized() -> None:
    """With a port, an IPv6 address, or a path behind a proxy."""
    for url in ("http://127.0.0.1:8630/", "https://[::1]:8630/", "https://memory.example/below/"):
        assert ADDRESS.fullmatch(url)
    for url in ("http://a b/", "http://a'/", "http://a/`id`", "http://a;b/"):
        assert not ADDRESS.fullmatch(url)
