"""The files for deployment: each fits the schema of the program that reads it, and all of them fit together.

    python3 tests/deploy/check.py      with what requirements.txt names on PYTHONPATH
"""

import json
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import compose_spec
import kubernetes_validate
import yaml

ROOT = Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "docs/deploy"
KUBERNETES = DEPLOY / "kubernetes"
# The oldest that is supported still, and the newest that there are schemas of.
VERSIONS = ["1.33.0", "1.37.0"]
# Read by kustomize and by Helm, not by Kubernetes.
OTHERS = {"kustomization.yaml", "prometheus-adapter.yaml"}
# Of 10, as systemd counts; less is better.
EXPOSURE = 1.5

failures: list[str] = []


def check(holds, rule):
    if not holds:
        failures.append(rule)
    return holds


def text(path):
    return (ROOT / path).read_text(encoding="utf-8")


def seconds(duration):
    number, unit = re.fullmatch(r"(\d+)(s|m|)", str(duration)).groups()
    return int(number) * (60 if unit == "m" else 1)


class Image:
    """Last stage of the Dockerfile: what it promises of the image."""

    def __init__(self):
        source = re.sub(r"\\\n\s*", "", text("Dockerfile"))
        self.stage = source[source.rindex("\nFROM "):]
        self.environment = dict(re.findall(r"(PROOFBOX_\w+)=(\S+)", re.search(r"^ENV (.*)$", self.stage, re.M)[1]))
        self.user = re.search(r"^USER (\d+):(\d+)$", self.stage, re.M)
        self.volumes = re.search(r"^VOLUME (.*)$", self.stage, re.M)[1].split()
        self.port = int(re.search(r"^EXPOSE (\d+)$", self.stage, re.M)[1])

    def check(self):
        check(self.user and int(self.user[1]) > 0, "Dockerfile: the user is a number, and not root's")
        check(f"--uid {self.user[1]}" in self.stage, "Dockerfile: USER is the user that is made")
        check(len(self.volumes) == 1, "Dockerfile: one volume")
        for name in ("PROOFBOX_DATA_DIR", "PROOFBOX_RECEIPT_KEY"):
            below = self.environment[name].startswith(self.volumes[0])
            check(below, f"Dockerfile: {name} is on the volume, the only place that can be written")
        check(self.environment["PROOFBOX_LISTEN"] == f"0.0.0.0:{self.port}", "Dockerfile: EXPOSE is the port it listens on")
        check("HEALTHCHECK" in self.stage and f"/{self.port} " in self.stage, "Dockerfile: it is asked for its health")
        check(re.search(r"^ARG BASE_IMAGE=", text("Dockerfile"), re.M), "Dockerfile: the base image is an argument")


def settings():
    """Variables that there are, by the table of docs/reference/settings.md, which a test compares with the flags."""
    return set(re.findall(r"^\| `--[\w-]+` \| `(PROOFBOX_\w+)`", text("docs/reference/settings.md"), re.M))


def drain(environment):
    return int(environment.get("PROOFBOX_DRAIN_SECONDS", 30))


def interpolated(source):
    """Compose's `${NAME:-default}` and `${NAME:?message}`."""
    source = re.sub(r"\$\{\w+:-([^}]*)\}", r"\1", source)
    return re.sub(r"\$\{\w+:\?[^}]*\}", "given", source)


def compose(image, known):
    path = DEPLOY / "docker-compose.yml"
    source = interpolated(path.read_text(encoding="utf-8"))
    try:
        compose_spec.PyCompose.from_yaml(source)
    except ValueError as error:
        check(False, f"{path.name}: {error}")
        return
    parsed = yaml.safe_load(source)
    for name, service in parsed["services"].items():
        where = f"{path.name}: {name}"
        check(service.get("read_only") is True, f"{where}: the root file system is read-only")
        check(service.get("cap_drop") == ["ALL"], f"{where}: no capabilities")
        check("no-new-privileges:true" in service.get("security_opt", []), f"{where}: no new privileges")
        limits = service["deploy"]["resources"]["limits"]
        check({"cpus", "memory", "pids"} <= limits.keys(), f"{where}: limits of CPU, memory and processes")
        for network in service["networks"]:
            check(network in parsed["networks"], f"{where}: network {network} is there")
        check(all(port.startswith("127.0.0.1:") for port in service["ports"]), f"{where}: published on loopback only")
        for volume in service.get("volumes", []):
            origin = volume.split(":")[0]
            there = (DEPLOY / origin).is_file() if origin.startswith(".") else origin in parsed["volumes"]
            check(there, f"{where}: {origin} is there")
    ours = parsed["services"]["proofbox"]
    check(ours["volumes"] == [f"data:{image.volumes[0]}"], f"{path.name}: the volume is the image's")
    check(ours["ports"][0].endswith(f":{image.port}"), f"{path.name}: the port is the image's")
    check(set(ours["environment"]) <= known, f"{path.name}: all variables are settings of ours")
    check(seconds(ours["stop_grace_period"]) > drain(ours["environment"]), f"{path.name}: it may drain")


def workload(where, specification, image, known, routes):
    pod = specification["template"]["spec"]
    context = pod["securityContext"]
    user, group = int(image.user[1]), int(image.user[2])
    check(context["runAsNonRoot"] and context["runAsUser"] == user, f"{where}: the user is the image's")
    check(context["runAsGroup"] == group and context["fsGroup"] == group, f"{where}: the group is the image's")
    check(context["seccompProfile"] == {"type": "RuntimeDefault"}, f"{where}: the runtime's seccomp profile")
    check(pod["automountServiceAccountToken"] is False, f"{where}: no token of the cluster's")
    volumes = {volume["name"] for volume in pod["volumes"]}
    volumes |= {claim["metadata"]["name"] for claim in specification.get("volumeClaimTemplates", [])}
    for container in pod["initContainers"] + pod["containers"]:
        own = container["securityContext"]
        confined = own["readOnlyRootFilesystem"] and own["capabilities"] == {"drop": ["ALL"]}
        check(confined and own["allowPrivilegeEscalation"] is False, f"{where}: {container['name']} is confined")
        check("memory" in container["resources"]["limits"], f"{where}: {container['name']} has a limit of memory")
        mounts = {mount["name"]: mount["mountPath"] for mount in container["volumeMounts"]}
        check(mounts.keys() <= volumes, f"{where}: {container['name']} mounts what is there")
        check(mounts.get("data") == image.volumes[0], f"{where}: {container['name']} has the data directory")
    ours = pod["containers"][0]
    environment = {variable["name"]: variable["value"] for variable in ours["env"]}
    check(environment.keys() <= known, f"{where}: all variables are settings of ours")
    check(ours["ports"][0]["containerPort"] == image.port, f"{where}: the port is the image's")
    before = int(ours["lifecycle"]["preStop"]["exec"]["command"][-1])
    enough = pod["terminationGracePeriodSeconds"] > before + drain(environment)
    check(enough, f"{where}: the grace period holds preStop and the drain")
    probes = {"startupProbe": "/healthz", "livenessProbe": "/healthz", "readinessProbe": "/readyz"}
    for probe, path in probes.items():
        check(ours[probe]["httpGet"] == {"path": path, "port": "http"}, f"{where}: {probe} asks {path}")
        check(f'"{path}"' in routes, f"{where}: {path} is a route")
    cores, workers = float(ours["resources"]["limits"]["cpu"]), int(environment["PROOFBOX_WORKERS"])
    check(workers <= cores, f"{where}: no more workers than cores")
    gibibytes = float(re.fullmatch(r"(\d+)Gi", ours["resources"]["limits"]["memory"])[1])
    most = workers * int(environment["PROOFBOX_SLOTS"]) * 320 / 1024
    check(most < gibibytes, f"{where}: all places at the default limit of memory fit")


def kubernetes(image, known):
    routes = text("src/http/mod.rs")
    objects, before = [], len(failures)
    for path in sorted(KUBERNETES.glob("*.yaml")):
        for item in yaml.safe_load_all(path.read_text(encoding="utf-8")):
            if path.name in OTHERS:
                continue
            objects.append(item)
            for version in VERSIONS:
                try:
                    kubernetes_validate.validate(item, version, strict=True)
                except (kubernetes_validate.ValidationError, kubernetes_validate.SchemaNotFoundError) as error:
                    check(False, f"{path.name}: {item.get('kind')}, Kubernetes {version}: {error}")
            check(item["kind"] == "Namespace" or item["metadata"].get("namespace") == "proofbox", f"{path.name}: namespace")
    if len(failures) > before:
        return
    names = {(item["kind"], item["metadata"]["name"]): item for item in objects}
    by_labels = []
    for (kind, name), item in names.items():
        where = f"kubernetes: {kind} {name}"
        if kind in ("Deployment", "StatefulSet"):
            labels = item["spec"]["template"]["metadata"]["labels"]
            by_labels.append(labels)
            check(item["spec"]["selector"]["matchLabels"] == labels, f"{where}: it selects its pods")
            workload(where, item["spec"], image, known, routes)
    selectors = {
        "Service": lambda item: item["spec"]["selector"],
        "PodDisruptionBudget": lambda item: item["spec"]["selector"]["matchLabels"],
        "NetworkPolicy": lambda item: item["spec"]["podSelector"]["matchLabels"],
    }
    for (kind, name), item in names.items():
        if kind in selectors:
            wanted = selectors[kind](item).items()
            found = any(wanted <= labels.items() for labels in by_labels)
            check(found, f"kubernetes: {kind} {name}: there are pods that it selects")
    policy = names["NetworkPolicy", "proofbox"]
    for labels in by_labels:
        selected = selectors["NetworkPolicy"](policy).items() <= labels.items()
        check(selected, f"kubernetes: the network policy holds for {labels}")
    scaler = names["HorizontalPodAutoscaler", "proofbox"]["spec"]
    target = scaler["scaleTargetRef"]
    check((target["kind"], target["name"]) in names, "kubernetes: what is scaled is there")
    check("replicas" not in names["Deployment", "proofbox"]["spec"], "kubernetes: the autoscaler alone sets replicas")
    metric = next(entry["pods"]["metric"]["name"] for entry in scaler["metrics"] if entry["type"] == "Pods")
    check(f'"{metric}"' in text("src/metrics.rs"), f"kubernetes: there is a metric {metric}")
    rule = yaml.safe_load((KUBERNETES / "prometheus-adapter.yaml").read_text(encoding="utf-8"))["rules"]["custom"][0]
    check(rule["name"]["as"] == metric and rule["seriesQuery"].startswith(metric + "{"), "kubernetes: the adapter's rule is for it")
    listed = yaml.safe_load((KUBERNETES / "kustomization.yaml").read_text(encoding="utf-8"))["resources"]
    for name in listed:
        check((KUBERNETES / name).is_file(), f"kustomization.yaml: {name} is there")
    secret = names["Secret", "proofbox-keys"]["stringData"].values()
    check(not any(re.fullmatch(r"(proofbox|e2b)_[0-9a-f]{40}", key) for key in secret), "kubernetes: no usable key is in the repository")


def unit(image, known):
    path = DEPLOY / "proofbox.service"
    source = path.read_text(encoding="utf-8")
    entries = re.findall(r"^(\w+)=(.*)$", source, re.M)
    environment = dict(value.split("=", 1) for name, value in entries if name == "Environment" and "PROOFBOX" in value)
    check(set(environment) <= known, f"{path.name}: all variables are settings of ours")
    last = dict(entries)
    check(int(last["TimeoutStopSec"]) > drain(environment), f"{path.name}: it may drain")
    port = environment["PROOFBOX_LISTEN"].rsplit(":", 1)[1]
    check(last["SocketBindAllow"] == f"tcp:{port}", f"{path.name}: the port may be bound")
    check(environment["PROOFBOX_DATA_DIR"] == f"/var/lib/{last['StateDirectory']}", f"{path.name}: the data directory is its own")
    if not shutil.which("systemd-analyze"):
        print("systemd-analyze is not there: the unit is not verified", file=sys.stderr)
        return
    with tempfile.TemporaryDirectory() as directory:
        # With a program that is there: it need not be installed.
        copy = Path(directory) / path.name
        copy.write_text(source.replace("/usr/local/bin/proofbox", "/bin/true"), encoding="utf-8")
        verified = subprocess.run(["systemd-analyze", "verify", "--man=no", copy], capture_output=True, text=True)
        said = [line for line in verified.stderr.splitlines() if path.name in line]
        check(verified.returncode == 0 and not said, f"{path.name}: {verified.stderr}")
        command = ["systemd-analyze", "security", "--offline=true", "--no-pager", f"--threshold={EXPOSURE * 10:.0f}", copy]
        rated = subprocess.run(command, capture_output=True, text=True)
        check(rated.returncode == 0, f"{path.name}: {(rated.stdout.splitlines() or [rated.stderr])[-1]}")


def grafana():
    datasources = yaml.safe_load((DEPLOY / "grafana/datasources.yml").read_text(encoding="utf-8"))["datasources"]
    yaml.safe_load((DEPLOY / "grafana/dashboards.yml").read_text(encoding="utf-8"))
    dashboard = DEPLOY / "grafana-dashboard.json"
    if dashboard.exists():
        used = set(re.findall(r'"uid": "([^"$]+)"', json.dumps(json.loads(dashboard.read_text(encoding="utf-8")).get("panels", []))))
        there = {source["uid"] for source in datasources}
        check(used <= there, f"grafana: the dashboard asks {used - there}, which is not provisioned")


def main():
    image, known = Image(), settings()
    check(len(known) > 10, "the table of settings is read")
    image.check()
    check(set(image.environment) <= known, "Dockerfile: all variables are settings of ours")
    compose(image, known)
    kubernetes(image, known)
    unit(image, known)
    grafana()
    for failure in failures:
        print(failure, file=sys.stderr)
    print(f"deployment files: {len(failures)} wrong")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
