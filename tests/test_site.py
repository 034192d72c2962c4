"""The documentation site: whole, of the code as it is, and by itself."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

from memex.cli.main import command_line
from memex.http.app import create_app
from memex.settings import Settings

ROOT = Path(__file__).parents[1]
FETCHING = {"link": "href", "script": "src", "img": "src", "iframe": "src", "source": "src"}


class Fetched(HTMLParser):
    """Collects what a browser fetches for a page, canonical links aside."""

    def __init__(self) -> None:
        super().__init__()
        self.addresses: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note the address of what a tag fetches."""
        address = dict(attrs).get(FETCHING.get(tag, ""))
        if address:
            self.addresses.append(address)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built as the check builds it: every warning is an error."""
    folder = tmp_path_factory.mktemp("site")
    quiet = {"NO_MKDOCS_2_WARNING": "1", "DISABLE_MKDOCS_2_WARNING": "true"}
    built = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)],
        cwd=ROOT,
        env={**os.environ, **quiet},
        capture_output=True,
        text=True,
        check=False,
    )
    assert built.returncode == 0, built.stderr
    return folder


@pytest.mark.slow
def test_no_page_needs_another_host(site: Path) -> None:
    """Scripts, styles, fonts and images are the site's own."""
    pages = list(site.rglob("*.html"))
    for page in pages:
        parser = Fetched()
        parser.feed(page.read_text(encoding="utf-8"))
        assert [one for one in parser.addresses if re.match(r"(https?:)?//", one)] == [], page
    for style in site.rglob("*.css"):
        assert not re.search(r"(@import|url\()\s*[\"']?(https?:)?//", style.read_text(encoding="utf-8")), (
            style
        )

    assert len(pages) > 30


@pytest.mark.slow
def test_every_page_is_found(site: Path) -> None:
    """Each document of docs/ became a page, and llms.txt leads to all that stand in the navigation."""
    listed = (site / "llms.txt").read_text(encoding="utf-8")
    for document in (ROOT / "docs").rglob("*.md"):
        name = document.relative_to(ROOT / "docs").with_suffix("")
        assert (site / ("" if name.name == "index" else name) / "index.html").exists(), document
        if not name.name.startswith("0"):
            assert f"]({'./' if name.name == 'index' else f'{name.as_posix()}/'})" in listed, document
    for address in re.findall(r"\]\(([^)]+)\)", listed):
        assert (site / address / "index.html").exists(), address
    assert "oolong tea" in (site / "llms-full.txt").read_text(encoding="utf-8")


@pytest.mark.slow
def test_every_route_command_and_setting_has_its_place(site: Path) -> None:
    """The pages of reference are those of the code."""
    http, cli, environment = (
        (site / "reference" / name / "index.html").read_text(encoding="utf-8")
        for name in ("http", "cli", "environment")
    )
    document = create_app(lambda: None).openapi()  # type: ignore[arg-type,return-value]  # never started
    for path, operations in document["paths"].items():
        for method in operations:
            assert f"{method.upper()} {path}<" in http
    for name in _commands("memex", command_line()):
        assert f"<code>{name}</code>" in cli
    for field in Settings.model_fields.values():
        assert f"<code>{field.validation_alias}</code>" in environment


def test_the_page_of_the_environment_is_current() -> None:
    """The page of the repository is of the settings as they are: `python docs/site/reference.py` writes it."""
    page = ROOT / "docs" / "reference" / "environment.md"
    spec = spec_from_file_location("reference", ROOT / "docs" / "site" / "reference.py")
    assert spec is not None
    assert spec.loader is not None
    reference = module_from_spec(spec)
    spec.loader.exec_module(reference)

    assert page.read_text(encoding="utf-8") == reference.environment()


def _commands(name: str, command: object) -> Iterator[str]:
    if " " in name:
        yield name
    for below, inner in getattr(command, "commands", {}).items():
        if not getattr(inner, "hidden", False):
            yield from _commands(f"{name} {below}", inner)
