"""The chart: what it renders is valid for Kubernetes, restricted, and starts the service that it says it starts."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import httpx
import kubernetes_validate
import pytest
import yaml

from headwater.backend.home.settings import Settings
from headwater.backend.process.metrics import Metrics
from headwater.backend.rerun.runners.kubernetes import KubernetesJob
from tests.backend.service import ServiceProcess
from tests.lake import helm

pytestmark = [pytest.mark.lake, pytest.mark.timeout(300)]

CHART = Path(__file__).parent.parent.parent / "helm" / "headwater"
_FULL = {
    "hosts": ["lineage.internal"],
    "existingSecret": "headwater-key",
    "files": {"existingSecret": "headwater-files", "names": ["storage.toml", "people.toml"]},
    "persistence": {"storageClass": "fast"},
    "graph": {"url": "neo4j+s://graph:7687", "existingSecret": "neo4j"},
    "associations": "s3://lineage/kept",
    "settings": {"HEADWATER_QUESTION_SECONDS": "60"},
    "image": {"repository": "registry.example.com/headwater", "digest": "sha256:" + "a" * 64, "pullSecrets": ["registry"]},
    "ingress": {"enabled": True, "className": "nginx", "host": "lineage.example.com", "tlsSecret": "tls", "trustedProxies": ["10.0.0.0/8"]},
    "networkPolicy": {"egress": [{"ports": [{"protocol": "TCP", "port": 443}]}]},
    "metrics": {
        "serviceMonitor": {"enabled": True, "labels": {"release": "prometheus"}, "existingSecret": "operator"},
        "rules": {"enabled": True}, "dashboard": {"enabled": True},
    },
    "backup": {"enabled": True, "existingClaim": "backups"},
    "tolerations": [{"key": "data", "operator": "Exists"}],
    "nodeSelector": {"disk": "ssd"},
}  # fmt: skip
_REPLICAS = {
    **{name: value for name, value in _FULL.items() if name != "backup"},
    "replicas": 3,
    "ingestLog": {"url": "postgresql://db:5432/headwater", "existingSecret": "database"},
}
_SCALED = {**_REPLICAS, "autoscaling": {"enabled": True, "minReplicas": 2, "maxReplicas": 5, "cpuPercent": 60}}
_OF_OTHERS = {"ServiceMonitor", "PrometheusRule"}  # of Prometheus' operator


def _run(folder: Path, values: dict[str, Any], *command: str) -> subprocess.CompletedProcess[str]:
    file = folder / "values.json"
    file.write_text(json.dumps(values))
    return subprocess.run([str(helm()), *command, str(CHART), "--values", str(file)], capture_output=True, text=True)


def _rendered(folder: Path, values: dict[str, Any], release: str = "lineage") -> list[dict[str, Any]]:
    done = _run(folder, values, "template", release, "--namespace", "data", "--kube-version", "1.31.0")
    assert done.returncode == 0, done.stderr
    return [document for document in yaml.safe_load_all(done.stdout) if document]


def _pods(documents: list[dict[str, Any]]) -> list[dict[str, Any]]:
    found = []
    for document in documents:
        spec = document.get("spec", {})
        if document["kind"] == "Pod":
            found.append(spec)
        elif document["kind"] == "CronJob":
            found.append(spec["jobTemplate"]["spec"]["template"]["spec"])
        elif document["kind"] == "StatefulSet":
            found.append(spec["template"]["spec"])
    return found


@pytest.fixture(params=[{}, _FULL, _REPLICAS, _SCALED], ids=["bare", "full", "replicas", "scaled"])
def documents(request: pytest.FixtureRequest, tmp_path: Path) -> list[dict[str, Any]]:
    return _rendered(tmp_path, request.param)


def test_it_is_valid_for_kubernetes(documents: list[dict[str, Any]]) -> None:
    assert {"StatefulSet", "Service", "NetworkPolicy", "PodDisruptionBudget", "ServiceAccount", "Pod"} <= {d["kind"] for d in documents}
    for document in documents:
        if document["kind"] not in _OF_OTHERS:
            kubernetes_validate.validate(document, "1.31", strict=True)
    names = [(document["kind"], document["metadata"]["name"]) for document in documents]
    assert len(names) == len(set(names))


def test_helm_finds_no_fault(tmp_path: Path) -> None:
    for values in ({}, _FULL, _REPLICAS, _SCALED):
        done = _run(tmp_path, values, "lint", "--strict")
        assert done.returncode == 0, done.stdout + done.stderr


def test_every_pod_is_restricted(documents: list[dict[str, Any]]) -> None:
    """The profile `restricted` of the Pod Security Standards, and a root file system that nobody writes to."""
    pods = _pods(documents)
    assert len(pods) >= 2
    for pod in pods:
        security = pod["securityContext"]
        assert security["runAsNonRoot"]
        assert security["runAsUser"] > 0
        assert security["seccompProfile"] == {"type": "RuntimeDefault"}
        assert pod["automountServiceAccountToken"] is False
        assert pod["enableServiceLinks"] is False, "a service called headwater would set HEADWATER_PORT to an address"
        assert not {"hostNetwork", "hostPID", "hostIPC"} & pod.keys()
        assert all({"emptyDir", "secret", "persistentVolumeClaim"} & volume.keys() for volume in pod.get("volumes", ()))
        for container in pod["containers"]:
            own = container["securityContext"]
            assert own == {"allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"]}}
            assert "memory" in container["resources"]["limits"]
            assert not container["image"].endswith(":latest")


def test_the_service_reaches_the_service_alone(tmp_path: Path) -> None:
    documents = {document["kind"]: document for document in _rendered(tmp_path, _FULL)}
    selector = documents["Service"]["spec"]["selector"].items()
    assert selector <= documents["StatefulSet"]["spec"]["template"]["metadata"]["labels"].items()
    assert not selector <= documents["CronJob"]["spec"]["jobTemplate"]["spec"]["template"]["metadata"]["labels"].items()
    assert selector <= documents["Service"]["metadata"]["labels"].items(), "by which the ServiceMonitor finds it"
    backup = documents["CronJob"]["spec"]["jobTemplate"]["spec"]["template"]["spec"]
    assert "files" in {volume["name"] for volume in backup["volumes"]}, "the backup needs storage.toml, too"
    claim = documents["CronJob"]["spec"]["jobTemplate"]["spec"]["template"]["spec"]["volumes"][1]["persistentVolumeClaim"]["claimName"]
    assert claim == f"home-{documents['StatefulSet']['metadata']['name']}-0"


def test_replicas_have_a_home_each_and_one_key(tmp_path: Path) -> None:
    documents = {document["kind"]: document for document in _rendered(tmp_path, _REPLICAS)}
    spec = documents["StatefulSet"]["spec"]
    assert (spec["replicas"], spec["podManagementPolicy"]) == (3, "Parallel")
    assert [claim["metadata"]["name"] for claim in spec["volumeClaimTemplates"]] == ["home"]
    environment = {entry["name"]: entry for entry in spec["template"]["spec"]["containers"][0]["env"]}
    assert environment["HEADWATER_API_KEY"]["valueFrom"]["secretKeyRef"] == {"name": "headwater-key", "key": "api-key"}
    assert environment["HEADWATER_INGEST_LOG_PASSWORD"]["valueFrom"]["secretKeyRef"] == {"name": "database", "key": "password"}
    assert documents["PodDisruptionBudget"]["spec"]["maxUnavailable"] == 1


def test_the_number_of_replicas_is_left_to_the_autoscaler_where_there_is_one(tmp_path: Path) -> None:
    documents = {document["kind"]: document for document in _rendered(tmp_path, _SCALED)}
    assert "replicas" not in documents["StatefulSet"]["spec"], "each upgrade would set it back"
    scaler = documents["HorizontalPodAutoscaler"]["spec"]
    assert scaler["scaleTargetRef"]["name"] == documents["StatefulSet"]["metadata"]["name"]
    assert (scaler["minReplicas"], scaler["maxReplicas"]) == (2, 5)
    (metric,) = scaler["metrics"]
    assert metric["resource"] == {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 60}}
    container = documents["StatefulSet"]["spec"]["template"]["spec"]["containers"][0]
    assert "cpu" in container["resources"]["requests"], "a share of nothing is nothing"
    assert scaler["behavior"]["scaleDown"]["policies"][0]["value"] == 1
    assert "HorizontalPodAutoscaler" not in {document["kind"] for document in _rendered(tmp_path, _REPLICAS)}


def test_what_it_sets_are_settings_and_a_probe_is_answered(tmp_path: Path) -> None:
    full = {**_FULL, "existingSecret": "", "graph": {}, "associations": "", "files": {}}
    documents = {document["kind"]: document for document in _rendered(tmp_path, full)}
    container = documents["StatefulSet"]["spec"]["template"]["spec"]["containers"][0]
    rendered = [*_pods(_rendered(tmp_path, _FULL)), *_pods(_rendered(tmp_path, _REPLICAS))]
    everything = [entry["name"] for document in rendered for entry in document["containers"][0].get("env", ())]
    assert {"HEADWATER_INGEST_LOG", "HEADWATER_INGEST_LOG_USER", "HEADWATER_INGEST_LOG_PASSWORD"} <= set(everything)
    assert {name.removeprefix("HEADWATER_").lower() for name in everything} <= set(Settings.model_fields)
    environment = {entry["name"]: entry["value"] for entry in container["env"] if entry["name"] != "HEADWATER_HOME"}
    with ServiceProcess(tmp_path / "home", **environment) as service, httpx.Client(base_url=service.url, trust_env=False) as client:
        for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
            get = container[probe]["httpGet"]
            # A kubelet calls a pod by its address; without the header the service would not answer to that name.
            assert client.get(get["path"], headers={"Host": "10.1.2.3:8765"}).status_code == 403
            headers = {header["name"]: header["value"] for header in get["httpHeaders"]}
            assert client.get(get["path"], headers=headers).status_code == 200
        for name in ("lineage-headwater.data.svc.cluster.local:8765", "lineage.example.com", "lineage.internal"):
            assert client.get("/healthz", headers={"Host": name}).status_code == 200
        assert client.get("/metrics").status_code == 401
        test = next(pod for pod in _pods(list(documents.values())) if pod["containers"][0]["name"] == "ask")
        (url,) = re.findall(r"http://[^\"]+", test["containers"][0]["args"][0])
        assert client.get("/readyz", headers={"Host": url.removeprefix("http://")}).status_code == 200


def test_rules_and_the_dashboard_ask_for_measures_that_there_are() -> None:
    known = set(re.findall(rb"^# TYPE (\S+)", Metrics().exposition(), re.MULTILINE))
    asked = (CHART / "files" / "rules.yaml").read_text() + (CHART / "files" / "dashboard.json").read_text()
    names = set(re.findall(r"headwater_[a-z_]+", asked))
    assert len(names) > 8
    for name in names:
        base = re.sub(r"_(bucket|count|sum)$", "", name)
        assert base.encode() in known, name


def test_each_alert_has_a_section_of_the_runbook_that_names_what_there_is() -> None:
    (group,) = yaml.safe_load((CHART / "files" / "rules.yaml").read_text())["groups"]
    alerts = {rule["alert"]: rule["annotations"]["runbook"] for rule in group["rules"]}
    page = (CHART.parents[1] / "docs" / "operate" / "runbook.md").read_text()
    assert sorted(re.findall(r"^## (\w+)$", page, re.MULTILINE)) == sorted(alerts)
    assert list(alerts.values()) == [f"docs/operate/runbook.md#{name.lower()}" for name in alerts]
    known = set(re.findall(rb"^# TYPE (\S+)", Metrics().exposition(), re.MULTILINE))
    for name in re.findall(r"headwater_[a-z_]+", page):
        assert name.removesuffix("_count").encode() in known, name
    fields = {f"HEADWATER_{name.upper()}" for name in Settings.model_fields}
    assert set(re.findall(r"HEADWATER_[A-Z_]+", page)) <= fields
    commands = (CHART.parents[1] / "docs" / "reference" / "commands.md").read_text()
    for command in re.findall(r"`(headwater [a-z]+(?: [a-z]+)?)", page):
        assert command in commands, command


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"replicas": 3}, "ingestLog.url"),
        ({"replicas": 0}, "replicas"),
        ({"autoscaling": {"enabled": True}}, "ingestLog.url"),
        ({**_REPLICAS, "autoscaling": {"enabled": True, "minReplicas": 9, "maxReplicas": 3}}, "maxReplicas"),
        ({"ingestLog": {"url": "postgresql://db/headwater"}}, "existingSecret"),
        ({**_REPLICAS, "associations": ""}, "associations"),
        ({**_REPLICAS, "persistence": {"existingClaim": "home"}}, "home of its own"),
        ({**_REPLICAS, "backup": {"enabled": True, "existingClaim": "backups"}}, "database and the bucket"),
        ({**_REPLICAS, "ingestLog": {"url": "postgresql://user:hunter2@db/headwater"}}, "ingestLog"),
        ({"ingress": {"enabled": True, "host": "a.example"}}, "in the clear"),
        ({"backup": {"enabled": True}}, "another disk"),
        ({"files": {"names": ["people.toml"]}}, "existingSecret"),
        ({"files": {"existingSecret": "s", "names": ["../../etc/passwd"]}}, "files"),
        ({"settings": {"PATH": "/tmp"}}, "PATH"),
        ({"metrics": {"serviceMonitor": {"enabled": True}}}, "metrics.enabled"),
        ({"metrics": {"enabled": True}, "ingress": {"enabled": True, "host": "a.example", "tlsSecret": "tls"}}, "reaches the ingress"),
    ],
)
def test_what_cannot_work_is_refused(tmp_path: Path, values: dict[str, Any], message: str) -> None:
    done = _run(tmp_path, values, "template", "lineage", "--kube-version", "1.31.0")
    assert done.returncode != 0
    assert message in done.stderr


def test_a_value_stays_a_value(tmp_path: Path) -> None:
    odd = 'x"\n          command: [sh]\n#'
    container = _pods(_rendered(tmp_path, {"settings": {"HEADWATER_PRUNE_NAMESPACE": odd}}))
    env = {entry["name"]: entry.get("value") for pod in container for entry in pod["containers"][0].get("env", ())}
    assert env["HEADWATER_PRUNE_NAMESPACE"] == odd


def test_the_job_of_programs_is_valid_and_the_runner_only_names_it(tmp_path: Path) -> None:
    volumes = [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]
    programs = {
        "enabled": True,
        "image": "registry.example.com/jobs:1",
        "volumes": volumes,
        "mounts": [{"name": "data", "mountPath": "/data"}],
    }
    for document in (documents := _rendered(tmp_path, {"programs": programs})):
        kubernetes_validate.validate(document, "1.31", strict=True)
    (config,) = (each for each in documents if each["kind"] == "ConfigMap" and each["metadata"]["name"].endswith("-programs"))
    template = tmp_path / "program-job.json"
    template.write_text(config["data"]["program-job.json"])
    given = json.loads(template.read_text())
    job = KubernetesJob(template=template).job_for("0123456789abcdef" * 2, Path("/var/lib/headwater/replays/x/step-1"))
    kubernetes_validate.validate(job, "1.31", strict=True)
    pod = job["spec"]["template"]["spec"]
    assert pod["containers"][0]["command"] == ["headwater"]
    assert pod["containers"][0]["args"] == ["jobs", "launch", "/var/lib/headwater/replays/x/step-1"]
    assert pod["securityContext"]["runAsNonRoot"]
    assert pod["automountServiceAccountToken"] is False
    pod["containers"][0]["args"], job["metadata"]["name"] = ["jobs", "launch"], given["metadata"]["name"]
    assert job == given
    (role,) = (each for each in documents if each["kind"] == "Role")
    assert role["rules"] == [{"apiGroups": ["batch"], "resources": ["jobs"], "verbs": ["create"]}]
    refused = _run(tmp_path, {**_REPLICAS, "programs": programs}, "template", "lineage", "--kube-version", "1.31.0")
    assert "needs one service" in refused.stderr
    assert not [each for each in _rendered(tmp_path, {}) if each["kind"] in ("Role", "RoleBinding")]
