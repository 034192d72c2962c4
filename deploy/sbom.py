"""Write what the image holds, as a CycloneDX document: `python deploy/sbom.py FILE [--debian STATUS] [EXTRA …]`.

The document names the packages of requirements.lock that the image installs, with the version and the digests of
each. `--debian` names a copy of the image's file /var/lib/dpkg/status; with it, the document names the packages of
Debian too. Run the program in the folder of requirements.lock, pyproject.toml and the Dockerfile.
"""

import argparse
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

from cyclonedx.contrib.hash.factories import HashTypeFactory
from cyclonedx.contrib.this.builders import this_component
from cyclonedx.model import ExternalReference, ExternalReferenceType, Property, XsUri
from cyclonedx.model.bom import Bom
from cyclonedx.model.component import Component, ComponentType
from cyclonedx.model.license import DisjunctiveLicense
from cyclonedx.output import make_outputter
from cyclonedx.schema import OutputFormat, SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
from locked import asked_for_by, locked
from packageurl import PackageURL
from packaging.markers import Marker

VERSION = SchemaVersion.V1_6
HASHES = HashTypeFactory()
MACHINES = ("x86_64", "aarch64")  # the image is built for either


def python_components(extras: list[str]) -> Iterator[tuple[Component, set[str]]]:
    """Yield each locked package that the image installs, and the names of the packages that need it."""
    for name, entries in locked(extras, builds=False).items():
        for entry in filter(_is_installed, entries):
            version = entry.partition("==")[2].split()[0]
            hashes = [HASHES.from_composite_str(found) for found in re.findall(r"--hash=(\S+)", entry)]
            distribution = ExternalReference(
                type=ExternalReferenceType.DISTRIBUTION,
                url=XsUri(f"https://pypi.org/project/{name}/{version}/"),
                comment="the digests are those of the files that the lock allows, one of which is installed",
                hashes=hashes,
            )
            package_url = PackageURL("pypi", name=name, version=version)
            yield _component(name, version, package_url, [distribution]), asked_for_by([entry])


def debian_components(status: str) -> Iterator[Component]:
    """Yield each installed package of a file /var/lib/dpkg/status."""
    for paragraph in status.split("\n\n"):
        fields = dict(re.findall(r"^([A-Za-z-]+): (.*)$", paragraph, re.MULTILINE))
        if fields.get("Status", "").endswith(" installed"):
            name, version = fields["Package"], fields["Version"]
            package_url = PackageURL("deb", "debian", name, version, {"arch": fields["Architecture"]})
            yield _component(name, version, package_url, [])


def bill_of_materials(extras: list[str], debian_status: str | None) -> Bom:
    """Return what the image holds with these extras."""
    project = tomllib.loads(Path("pyproject.toml").read_text(encoding="utf-8"))["project"]
    image = Component(
        name=project["name"],
        version=project["version"],
        type=ComponentType.CONTAINER,
        bom_ref="image",
        description=project["description"],
        licenses=[DisjunctiveLicense(id=project["license"])],
        properties=[
            Property(name="memex:extras", value=" ".join(extras)),
            Property(name="memex:debian-packages", value="missing" if debian_status is None else "listed"),
        ],
    )
    bom = Bom()
    bom.metadata.component = image
    bom.metadata.tools.components.add(this_component())
    found = list(python_components(extras))
    debian = list(debian_components(debian_status or ""))
    for component in [*(component for component, _ in found), *debian]:
        bom.components.add(component)
    for package, _ in found:
        needs = [component for component, asked_by in found if package.name in asked_by]
        bom.register_dependency(package, needs)
    direct = [component for component, asked_by in found if image.name in asked_by]
    bom.register_dependency(image, [*direct, *debian])
    return bom


def _component(
    name: str, version: str, package_url: PackageURL, references: list[ExternalReference]
) -> Component:
    return Component(
        name=name,
        version=version,
        type=ComponentType.LIBRARY,
        bom_ref=package_url.to_string(),
        purl=package_url,
        external_references=references,
    )


def _is_installed(entry: str) -> bool:
    """Tell whether the Python of the image installs a locked package; some are for other systems or versions."""
    marker = re.match(r"[^\n;]*;([^\\\n]*)", entry)
    if marker is None:
        return True
    dockerfile = Path("Dockerfile").read_text(encoding="utf-8")
    [version] = re.findall(r"^FROM python:(\d+\.\d+)", dockerfile, re.MULTILINE)
    environment = {
        "implementation_name": "cpython",
        "os_name": "posix",
        "platform_python_implementation": "CPython",
        "platform_system": "Linux",
        "python_full_version": f"{version}.0",
        "python_version": version,
        "sys_platform": "linux",
    }
    parsed = Marker(marker[1].strip())
    return any(parsed.evaluate({**environment, "platform_machine": machine}) for machine in MACHINES)


def main() -> None:
    """Write the document, and check it against the schema of CycloneDX."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition(":")[0])
    parser.add_argument("file", type=Path)
    parser.add_argument("extras", nargs="*")
    parser.add_argument("--debian", type=Path, help="a copy of the image's /var/lib/dpkg/status")
    arguments = parser.parse_intermixed_args()
    status = arguments.debian.read_text(encoding="utf-8") if arguments.debian else None
    bom = bill_of_materials(arguments.extras, status)
    document = make_outputter(bom, OutputFormat.JSON, VERSION).output_as_string(indent=2)
    if problem := JsonStrictValidator(VERSION).validate_str(document):
        raise SystemExit(f"The document does not fit the schema of CycloneDX: {problem}")
    arguments.file.parent.mkdir(parents=True, exist_ok=True)
    arguments.file.write_text(document + "\n", encoding="utf-8")
    debian = "with the packages of Debian" if status is not None else "without the packages of Debian"
    print(f"{arguments.file}: {len(bom.components)} packages, {debian}")  # noqa: T201  # its output


if __name__ == "__main__":
    main()
