"""The other ways to run the service: the container file, compose, systemd."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from headwater.backend.home.settings import Settings

DEPLOY = Path(__file__).parent.parent.parent / "deploy"


def test_the_container_file_has_no_fault() -> None:
    """By hadolint: DL3006 and its like, and shellcheck over the commands."""
    program = Path(sys.executable).parent / "hadolint"
    done = subprocess.run([str(program), str(DEPLOY / "Containerfile")], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    lines = (DEPLOY / "Containerfile").read_text().splitlines()
    assert [line for line in lines if line.startswith("USER")] == ["USER 10001:10001"]
    assert any("--require-hashes" in line for line in lines)


def test_the_bill_of_materials_lists_what_is_installed(tmp_path: Path) -> None:
    """The lock lists each package once, with the hashes that its installation demands, for the same extras."""
    done = subprocess.run([str(DEPLOY / "image"), "lists", str(tmp_path)], capture_output=True, text=True, cwd=DEPLOY.parent)
    assert done.returncode == 0, done.stdout + done.stderr
    required = (tmp_path / "requirements.txt").read_text()
    installed = set(re.findall(r"^([\w.-]+)(?:\[[^]]*])?==([^ \\]+)", required, re.MULTILINE))
    bill = json.loads((tmp_path / "sbom.json").read_text())
    assert (bill["bomFormat"], bill["specVersion"]) == ("CycloneDX", "1.5")
    assert len(installed) > 50
    assert {(part["name"], part["version"]) for part in bill["components"]} == installed
    assert len(bill["components"]) == len(installed)
    for part in bill["components"]:
        assert part["purl"] == f"pkg:pypi/{part['name']}@{part['version']}"
        known = [one["content"] for of in part["externalReferences"] for one in of.get("hashes", ())]
        assert any(f"sha256:{one}" in required for one in known), part["name"]
    assert "COPY sbom.json" in (DEPLOY / "Containerfile").read_text()


def test_what_compose_sets_are_settings() -> None:
    stated: dict[str, Any] = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
    service = stated["services"]["headwater"]
    assert {name.removeprefix("HEADWATER_").lower() for name in service["environment"]} <= set(Settings.model_fields)
    assert all(port.startswith("127.0.0.1:") for port in service["ports"]), "others reach it by a proxy with TLS"
    assert {volume.partition(":")[0] for service in stated["services"].values() for volume in service["volumes"]} == set(stated["volumes"])


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="needs systemd")
def test_systemd_takes_the_unit(tmp_path: Path) -> None:
    unit = tmp_path / "headwater.service"
    unit.write_text((DEPLOY / "headwater.service").read_text().replace("/opt/headwater/bin/headwater", sys.executable))
    done = subprocess.run(["systemd-analyze", "verify", "--man=no", str(unit)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "headwater.service" not in done.stderr, done.stderr
