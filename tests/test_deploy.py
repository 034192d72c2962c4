"""The examples of deployment name what there is: fields of Kubernetes, variables, routes, versions, files."""

import json
import re
import shutil
import subprocess
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from memex.http.app import create_app
from memex.settings import Settings

ROOT = Path(__file__).parents[1]
MANIFESTS = sorted((ROOT / "deploy" / "kubernetes").glob("*.yaml"))
COMPOSE = yaml.safe_load((ROOT / "deploy" / "compose.yaml").read_text(encoding="utf-8"))
SCHEMAS = json.loads((Path(__file__).parent / "deploy" / "kubernetes-1.36.json").read_text(encoding="utf-8"))
VARIABLES = {str(field.validation_alias) for field in Settings.model_fields.values()}
ROUTES = set(create_app(lambda: None).openapi()["paths"])  # type: ignore[arg-type,return-value]


def objects() -> Iterator[dict[str, Any]]:
    """Every object of the manifests."""
    for manifest in MANIFESTS:
        yield from yaml.safe_load_all(manifest.read_text(encoding="utf-8"))


def pods() -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """The specification of each pod, with its one container."""
    for each in objects():
        if each["kind"] in {"Deployment", "Job"}:
            pod = each["spec"]["template"]["spec"]
            [container] = pod["containers"]
            yield pod, container


def test_manifests_fit_the_schemas_of_kubernetes() -> None:
    """No field is misspelt or of another type; every object has its place."""
    found = list(objects())
    for each in found:
        schema = {**SCHEMAS["kinds"][each["kind"]], "definitions": SCHEMAS["definitions"]}
        jsonschema.Draft202012Validator(schema).validate(each)

    assert {each["kind"] for each in found} == set(SCHEMAS["kinds"])
    assert all(each["metadata"]["namespace"] == "memex" for each in found if each["kind"] != "Namespace")


def test_a_misspelt_field_is_noticed() -> None:
    """The schemas are strict: what Kubernetes does not know is refused."""
    [service] = [each for each in objects() if each["kind"] == "Service"]
    schema = {**SCHEMAS["kinds"]["Service"], "definitions": SCHEMAS["definitions"]}

    with pytest.raises(jsonschema.ValidationError):
        jsonschema.Draft202012Validator(schema).validate(service | {"spec": {"selectors": {}}})


def test_pods_have_few_rights() -> None:
    """No root, no writing to the image, no capabilities, no token; the user is that of the image."""
    dockerfile = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    for pod, container in pods():
        assert pod["securityContext"]["runAsNonRoot"]
        assert (
            f"USER {pod['securityContext']['runAsUser']}:{pod['securityContext']['runAsGroup']}" in dockerfile
        )
        assert pod["automountServiceAccountToken"] is False
        assert container["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }


def test_examples_name_what_there_is() -> None:
    """Variables are settings, probes are routes, secrets have their keys, and the image is of this version."""
    version = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    [secret] = [each for each in objects() if each["kind"] == "Secret"]
    for _, container in pods():
        assert container["image"] == f"memex:{version}"
        assert {one["name"] for one in container["env"]} <= VARIABLES
        keys = {one["valueFrom"]["secretKeyRef"]["key"] for one in container["env"] if "valueFrom" in one}
        assert keys <= set(secret["stringData"])
        for probe in ("startupProbe", "readinessProbe", "livenessProbe"):
            if probe in container:
                assert container[probe]["httpGet"]["path"] in ROUTES
    assert set(COMPOSE["services"]["memex"]["environment"]) <= VARIABLES


def test_two_replicas_are_ready_before_they_are_asked() -> None:
    """Of the Deployment one replica always answers: readiness, rolling update and disruption budget agree."""
    [deployment] = [each for each in objects() if each["kind"] == "Deployment"]
    [budget] = [each for each in objects() if each["kind"] == "PodDisruptionBudget"]
    [service] = [each for each in objects() if each["kind"] == "Service"]
    labels = deployment["spec"]["template"]["metadata"]["labels"]
    [container] = deployment["spec"]["template"]["spec"]["containers"]

    assert deployment["spec"]["replicas"] == 2
    assert deployment["spec"]["strategy"]["rollingUpdate"]["maxUnavailable"] == 0
    assert budget["spec"]["minAvailable"] == 1
    assert labels == deployment["spec"]["selector"]["matchLabels"]
    assert labels == budget["spec"]["selector"]["matchLabels"] == service["spec"]["selector"]
    assert container["readinessProbe"]["httpGet"]["path"] == "/health/ready"
    assert container["livenessProbe"]["httpGet"]["path"] == "/health/live"
    assert service["spec"]["ports"][0]["targetPort"] == container["ports"][0]["name"]


def test_compose_waits_for_a_database_with_vectors() -> None:
    """Memex starts once Postgres answers; nothing listens beyond this machine; no password stands there."""
    text = (ROOT / "deploy" / "compose.yaml").read_text(encoding="utf-8")
    postgres, memex = COMPOSE["services"]["postgres"], COMPOSE["services"]["memex"]

    assert postgres["image"].startswith("pgvector/pgvector:pg")
    assert memex["depends_on"] == {"postgres": {"condition": "service_healthy"}}
    assert "pg_isready" in postgres["healthcheck"]["test"]
    assert "ports" not in postgres
    assert memex["ports"] == ["127.0.0.1:8630:8630"]
    assert set(re.findall(r"\$\{(\w+PASSWORD)([^}]*)", text)) == {
        ("MEMEX_DB_PASSWORD", ":?set it to a long random text")
    }
    for volume in postgres["volumes"]:
        source = volume.split(":")[0]
        assert source in COMPOSE["volumes"] or (ROOT / "deploy" / source).exists()


def test_the_first_start_of_the_database_is_a_script() -> None:
    """The login that it makes is no superuser; the shell understands the file."""
    script = ROOT / "deploy" / "compose-init.sh"

    subprocess.run([shutil.which("sh") or "sh", "-n", script], check=True)
    assert re.search(r"create role memex login createrole password", script.read_text())
    assert "superuser" not in script.read_text().split("<<'SQL'")[1]
