"""The list of what the image holds names each locked package, with its version and its digests."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.slow  # it reads the metadata of every installed package

ROOT = Path(__file__).parents[1]
EXTRAS = ("embedded", "vectors", "otel")
STATUS = """Package: libc6
Status: install ok installed
Architecture: amd64
Multi-Arch: same
Version: 2.41-12
Description: GNU C Library: Shared libraries
 Contains the standard libraries.

Package: removed
Status: deinstall ok config-files
Architecture: amd64
Version: 1.0
"""


def program(*arguments: str) -> str:
    """What a program of `deploy` prints, run as make and the Dockerfile run it."""
    command = [sys.executable, *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout


@pytest.fixture(scope="module")
def document(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The document for an image of Debian with three extras."""
    folder = tmp_path_factory.mktemp("sbom")
    (folder / "status").write_text(STATUS, encoding="utf-8")
    made = folder / "build" / "memex.cdx.json"
    printed = program("deploy/sbom.py", "--debian", str(folder / "status"), str(made), *EXTRAS)
    found: dict[str, Any] = json.loads(made.read_text(encoding="utf-8"))
    assert f"{len(found['components'])} packages, with the packages of Debian" in printed
    return found


def test_every_locked_package_is_named(document: dict[str, Any]) -> None:
    """What Docker would install is there with its version and all digests, but for what other systems need."""
    locked = program("deploy/locked.py", *EXTRAS)
    built_with = {"hatchling", "pathspec", "pluggy", "trove-classifiers"}  # not in the image
    elsewhere = {"pywin32", "pywin32-ctypes", "httpx2-jsfetch", "colorama"}
    named = {(one["name"], one["version"]): one for one in document["components"] if "pypi" in one["purl"]}
    versions = set()
    for entry in re.split(r"^(?=[a-z0-9])", locked, flags=re.MULTILINE)[1:]:
        pinned = re.match(r"(\S+)==(\S+)", entry)
        assert pinned is not None
        name, version = pinned.groups()
        versions.add((name, version))
        if (name, version) in named:
            [reference] = named[name, version]["externalReferences"]
            digests = {one["content"] for one in reference["hashes"] if one["alg"] == "SHA-256"}
            assert digests == set(re.findall(r"--hash=sha256:(\w+)", entry))
            assert named[name, version]["purl"] == f"pkg:pypi/{name}@{version}"
        elif name not in built_with | elsewhere:
            # Another version of the same package stands for the Python of the image.
            assert "python_full_version <" in entry

    assert set(named) <= versions
    assert {name for name, _ in versions} - built_with - elsewhere <= {name for name, _ in named}


def test_packages_of_debian_are_named_if_they_are_installed(document: dict[str, Any]) -> None:
    """The status of the package manager is read; a package that was removed is left out."""
    debian = [one["purl"] for one in document["components"] if one["purl"].startswith("pkg:deb/")]

    assert debian == ["pkg:deb/debian/libc6@2.41-12?arch=amd64"]


def test_the_document_says_what_needs_what(document: dict[str, Any]) -> None:
    """The image needs the packages of pyproject.toml, and these need theirs."""
    needs = {one["ref"]: one.get("dependsOn", []) for one in document["dependencies"]}
    names = {one["bom-ref"]: one["name"] for one in document["components"]}

    assert document["metadata"]["component"]["type"] == "container"
    assert {"fastapi", "psycopg", "libc6"} <= {names[ref] for ref in needs["image"]}
    [starlette] = [ref for ref, name in names.items() if name == "starlette"]
    [fastapi] = [ref for ref, name in names.items() if name == "fastapi"]
    assert starlette in needs[fastapi]
