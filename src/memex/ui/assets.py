"""The files that pages load: style, scripts and icons. Each has an address that changes with its content."""

import gzip
import hashlib
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files

from markupsafe import Markup

from memex.errors import FileNotFound

BASE = "/ui/static"
DIGEST_CHARS = 12
MEDIA_TYPES = {
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
}
SERVED = (
    "memex.css",
    "memex.js",
    "favicon.svg",
    "vendor/htmx.min.js",
    "vendor/pico.classless.min.css",
    "vendor/uplot.iife.min.js",
    "vendor/uplot.min.css",
)


@dataclass(frozen=True, slots=True)
class Asset:
    """A file that pages load."""

    name: str
    content: bytes = field(repr=False)
    gzipped: bytes = field(repr=False)
    digest: str

    @property
    def address(self) -> str:
        """The address, which no other content will ever have."""
        return f"{BASE}/{self.digest}/{self.name}"

    @property
    def media_type(self) -> str:
        """The value of the header Content-Type."""
        return MEDIA_TYPES[self.name.rpartition(".")[2]]


@cache
def asset(name: str) -> Asset:
    """Return a file that pages load; raises FileNotFound if there is no such file."""
    if name not in SERVED:
        raise FileNotFound(f"There is no file {name!r}.", hint="Load the page again.")
    content = (files("memex.ui") / "static" / name).read_bytes()
    digest = hashlib.sha256(content).hexdigest()[:DIGEST_CHARS]
    return Asset(name, content, gzip.compress(content, mtime=0), digest)


@cache
def icon(name: str) -> Markup:
    """Return an icon as inline SVG, which screen readers skip."""
    text = (files("memex.ui") / "static" / "vendor" / "icons" / f"{name}.svg").read_text(encoding="utf-8")
    inner = text[text.index(">", text.index("<svg")) + 1 : text.rindex("</svg>")]
    shape = " ".join(inner.split())
    return Markup(  # noqa: S704  # our own file
        '<svg class="icon" viewBox="0 0 24 24" width="18" height="18" fill="none" stroke="currentColor" '
        f'stroke-width="2" stroke-linecap="round" stroke-linejoin="round" aria-hidden="true">{shape}</svg>'
    )
