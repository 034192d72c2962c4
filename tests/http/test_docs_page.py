"""The page /docs, which works where there is no internet."""

import re

import httpx2


def test_docs_page_takes_nothing_from_another_host(alice: httpx2.Client) -> None:
    """Every script and style of the page is served by the service itself."""
    page = alice.get("/docs").text
    used = re.findall(r'(?:src|href)="([^"]+)"', page)

    assert len(used) == 3
    for address in used:
        assert address.startswith("/docs/static/")
        assert alice.get(address).status_code == 200
    assert re.findall(r"https?://", page) == []
