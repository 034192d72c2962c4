"""Notes that try to run a script, to load from elsewhere, or to break the page of others, in a real browser."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from playwright.sync_api import Browser
from tests.kit.property_budget import sampled
from tests.ui.browser import signed_in
from tests.ui.conftest import Site

NOTES = 120
TOKEN = "ghp_" + "a1B2c3D4e5F6" * 3  # looks like a secret
IS_WHOLE = """
  document.querySelectorAll("body > header.site-header, body > main, body > footer").length === 3
  && document.querySelectorAll("script").length === 2
  && document.querySelectorAll("iframe, object, embed, base, img, main style").length === 0
  && document.documentElement.scrollWidth <= innerWidth
"""
BY_HAND = (
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "<svg onload=alert(1)><script>alert(2)</script></svg>",
    "<style>body{display:none}</style><link rel=stylesheet href=//evil.example/x.css>",
    "<iframe src=javascript:alert(1)></iframe><base href=//evil.example/>",
    "<form action=//evil.example><input name=key autofocus onfocus=alert(1)></form>",
    "<meta http-equiv=refresh content='0;url=//evil.example'>",
    "[x](javascript:alert(1)) [y](JaVaScRiPt&colon;alert(1)) [z](&#106;avascript:alert(1)) [w](\tjavascript:x)",
    "[x](data:text/html,<script>alert(1)</script>) [y](vbscript:x) <javascript:alert(1)>",
    "![x](https://evil.example/a.png) ![y](data:image/svg+xml,<svg/onload=alert(1)>) [r]: //evil.example\n[r]",
    "[[<img src=x onerror=alert(1)>]] [[a|<script>alert(1)</script>]] [[../../etc/passwd]] [[javascript:alert(1)]]",
    "---\ntitle: <script>alert(1)</script>\ntags: ['<b onmouseover=alert(1)>x', \"'\\\"><script>\"]\n---\nx",
    "{{ 7 * 7 }} {% include 'base.html' %} ${alert(1)} {{ config }}",
    "</textarea><script>alert(1)</script></pre></table></main></body></html>",
    "--></title><script>alert(1)</script><!--",
    "\u202e evil \u202d\u2066 mixed \u2069\u200b\u200d\ufeff and \U000e0041 tags",
    "a\u0301" * 500 + " Z\u0351\u036b" * 300,
    "x" * 100_000,
    "# " + "H" * 5_000,
    "[[a]] " * 10_000,
    "> " * 500 + "deep",
    "|a|b|\n|-|-|\n" + "|<b>|</td></table><script>alert(1)</script>|\n" * 50,
    "<div hx-get=/ui/sessions hx-trigger=load data-hx-on:load=alert(1)>x</div>",
    "```html\n</code></pre><script>alert(1)</script>\n```",
)


def notes() -> list[str]:
    """Return hostile texts: ours, and of public lists, where they are, 96 or in a quick run a part of them."""
    found: list[str] = []
    if folder := os.environ.get("MEMEX_EVAL_DATA"):
        listed = json.loads((Path(folder) / "paths" / "blns.json").read_text(encoding="utf-8"))
        found += [text for text in listed if any(mark in text for mark in "<&\"'{%$\u202e") and text.strip()]
        for group in json.loads(
            (Path(folder) / "injection" / "bipia_code_attack_train.json").read_text(encoding="utf-8")
        ).values():
            found += group
    listed_notes = [text for text in found if "\x00" not in text][: NOTES - len(BY_HAND)]
    return [*BY_HAND, *sampled(listed_notes, 4)]


@pytest.mark.slow
def test_hostile_notes_run_nothing(site: Site, in_browser: Callable[..., Any]) -> None:
    """On each page that shows text no script runs, nothing is loaded from elsewhere, and the frame stays whole."""
    api, paths = site.api(bound_to="alice"), []
    for number, text in enumerate(notes()):
        path = f"user/hostile/{number:03}.md"
        for content in ("# before\n", text):
            written = api.put(
                "/v1/file",
                params={"path": path, "reason": text[:200]},
                content=content.encode("utf-8", "replace"),
                headers={"If-Match": "*"},
            )
            assert written.is_success, written.text
        paths.append(path)

    for number, text in enumerate(BY_HAND):  # each in the line of a secret, which waits in the review
        line = " ".join(text.split())[:300]
        content = f"{line} {TOKEN}\n"
        place = {"path": f"user/review/{number:03}.md"}
        assert api.put("/v1/file", params=place, content=content.encode()).is_success

    def look(browser: Browser) -> list[str]:
        broken = []
        with signed_in(browser, site) as page:
            page.goto("/ui/review?kind=secret")
            if page.locator(".review-item").count() < len(BY_HAND) - 2 or not page.evaluate(IS_WHOLE):
                broken.append("review")
            for where in ("search", "ask"):
                page.goto(f"/ui/{where}?query=alert+script+evil+style+svg+javascript&limit=50")
                if page.locator("mark").count() < 5 or not page.evaluate(IS_WHOLE):
                    broken.append(where)
            for number, text in enumerate(BY_HAND):
                page.goto("/ui/ask/remember")
                page.fill("#text", f"I prefer oolong tea. {text}")
                page.get_by_role("button", name="Show what would be written").click()
                page.get_by_role("heading", name="What would be written").wait_for()
                if not page.evaluate(IS_WHOLE):
                    broken.append(f"remember {number}")
                question = quote(" ".join(text.split())[:2_000] or "x")
                page.goto(f"/ui/search?query={question}+oolong&why={paths[number]}")
                if page.locator(".explained").count() != 1 or not page.evaluate(IS_WHOLE):
                    broken.append(f"why {number}")
            page.goto("/ui/memory?folder=user/hostile/")
            for number, path in enumerate(paths):
                for where in ("file", "edit", "diff", "blame", "versions")[
                    : 5 if number < len(BY_HAND) else 2
                ]:
                    page.goto(f"/ui/memory/{where}?path={path}")
                    is_whole = page.evaluate(IS_WHOLE)
                    if not is_whole:
                        broken.append(f"{where} {path}")
        return broken

    assert in_browser(look) == []
