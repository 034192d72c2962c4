"""The examples of deployment name what there is: fields of Kubernetes, variables, routes, versions, files."""

import ipaddress
import json
import re
import shutil
import subprocess
import tomllib
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
import yaml
from fastapi.routing import iter_route_contexts
from tests.kit import json_schema

from memex.http.app import create_app
from memex.settings import Settings

ROOT = Path(__file__).parents[1]
MANIFESTS = sorted((ROOT / "deploy" / "kubernetes").glob("*.yaml"))
COMPOSE = yaml.safe_load((ROOT / "deploy" / "compose.yaml").read_text(encoding="utf-8"))
SCHEMAS = json.loads((Path(__file__).parent / "deploy" / "kubernetes-1.36.json").read_text(encoding="utf-8"))
VARIABLES = {str(field.validation_alias) for field in Settings.model_fields.values()}
APP = create_app(nullcontext)  # type: ignore[arg-type]  # never started


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


@pytest.mark.slow
def test_manifests_fit_the_schemas_of_kubernetes() -> None:
    """No field is misspelt or of another type; every object has its place."""
    found = list(objects())
    for each in found:
        schema = {**SCHEMAS["kinds"][each["kind"]], "definitions": SCHEMAS["definitions"]}
        json_schema.validate(each, schema)

    assert {each["kind"] for each in found} == set(SCHEMAS["kinds"])
    assert all(each["metadata"]["namespace"] == "memex" for each in found if each["kind"] != "Namespace")


def test_a_misspelt_field_is_noticed() -> None:
    """The schemas are strict: what Kubernetes does not know is refused."""
    [service] = [each for each in objects() if each["kind"] == "Service"]
    schema = {**SCHEMAS["kinds"]["Service"], "definitions": SCHEMAS["definitions"]}

    from jsonschema import ValidationError  # two seconds of loading

    with pytest.raises(ValidationError):
        json_schema.validate(service | {"spec": {"selectors": {}}}, schema)


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
    routes = {route.path for route in iter_route_contexts(APP.routes)}
    for _, container in pods():
        assert container["image"] == f"memex:{version}"
        assert {one["name"] for one in container["env"]} <= VARIABLES
        keys = {one["valueFrom"]["secretKeyRef"]["key"] for one in container["env"] if "valueFrom" in one}
        assert keys <= set(secret["stringData"])
        for probe in ("startupProbe", "readinessProbe", "livenessProbe"):
            if probe in container:
                assert container[probe]["httpGet"]["path"] in routes
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


def policies() -> dict[str, dict[str, Any]]:
    """The specifications of the network policies by their names."""
    return {each["metadata"]["name"]: each["spec"] for each in objects() if each["kind"] == "NetworkPolicy"}


def selects(selector: dict[str, Any], labels: dict[str, str]) -> bool:
    """Tell whether a selector of pods, of labels or of sets with `In`, covers a pod with these labels."""
    return all(labels.get(key) == value for key, value in selector.get("matchLabels", {}).items()) and all(
        one["operator"] == "In" and labels.get(one["key"]) in one["values"]
        for one in selector.get("matchExpressions", [])
    )


def ports_of(kind: str, labels: dict[str, str]) -> set[tuple[int | str, str]]:
    """The ports that the policies open to a pod in one direction, with their protocols."""
    return {
        (port["port"], port["protocol"])
        for spec in policies().values()
        if selects(spec["podSelector"], labels)
        for rule in spec.get(kind, [])
        for port in rule["ports"]
    }


def test_the_network_is_closed_but_for_what_memex_needs() -> None:
    """The service is reached on its port; it and the migrations reach names and Postgres; the rest is denied."""
    labels = [
        each["spec"]["template"]["metadata"]["labels"]
        for each in objects()
        if each["kind"] in {"Deployment", "Job"}
    ]
    needed: set[tuple[int | str, str]] = {(53, "UDP"), (53, "TCP"), (5432, "TCP")}
    [service] = [each for each in objects() if each["kind"] == "Service"]
    deny = policies()["default-deny"]

    assert deny == {"podSelector": {}, "policyTypes": ["Ingress", "Egress"]}
    by_name = {one["app.kubernetes.io/name"]: one for one in labels}
    assert ports_of("ingress", by_name["memex"]) == {(service["spec"]["ports"][0]["targetPort"], "TCP")}
    assert ports_of("egress", by_name["memex"]) == needed | {(443, "TCP")}
    assert ports_of("ingress", by_name["memex-migrate"]) == set()
    assert ports_of("egress", by_name["memex-migrate"]) == needed
    assert ports_of("ingress", {"app.kubernetes.io/name": "other"}) == set()


def test_models_are_reached_on_public_addresses_only() -> None:
    """The policy for providers opens neither the cluster nor a cloud's metadata service, and can be left out."""
    [manifest] = [each for each in MANIFESTS if each.name == "network-policy-models.yaml"]
    [policy] = yaml.safe_load_all(manifest.read_text(encoding="utf-8"))
    [rule] = policy["spec"]["egress"]
    [peer] = rule["to"]
    closed = [ipaddress.ip_network(each) for each in peer["ipBlock"]["except"]]

    for address in ("10.96.0.1", "172.20.1.1", "192.168.1.1", "169.254.169.254", "100.64.1.1"):
        assert any(ipaddress.ip_address(address) in network for network in closed)
    assert not any(ipaddress.ip_address("104.18.6.192") in network for network in closed)


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
