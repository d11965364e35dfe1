"""Check the locked packages of the service and its page for known vulnerabilities, by pip-audit and npm audit.

python scripts/audit.py

The exit code is 1 if a fixed version exists for a known vulnerability: lock that version. Vulnerabilities without a fix are printed,
and do not fail the run, because nobody could act. If an advisory service does not answer, this is printed, and does not fail
the run either, because a check must not depend on the network. The packages are those of the image (deploy/image), and all those of
ui/package-lock.json.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
PIP_AUDIT = "2.10.1"
_SECONDS = 300


@dataclass(frozen=True)
class Advisory:
    """A known vulnerability of a package. `fixed` are versions without it."""

    package: str
    name: str
    fixed: str

    def __str__(self) -> str:
        return f"{self.package}: {self.name}, {f'mended in {self.fixed}' if self.fixed else 'and no version without it'}"


class UnansweredError(Exception):
    """An advisory service was not reached, or did not answer the query."""


def main() -> int:
    mended = 0
    for what, ask in (("Python", of_python), ("the page", of_page)):
        try:
            found = ask()
        except UnansweredError as error:
            print(f"{what}: not audited, as the service of advisories did not answer: {error}")
            continue
        print("\n".join([f"{what}: {len(found)} known faults", *(f"  {advisory}" for advisory in found)]))
        mended += sum(1 for advisory in found if advisory.fixed)
    return int(mended > 0)


def of_python(requirements: Path | None = None, *options: str) -> list[Advisory]:
    """Return known vulnerabilities of pinned requirements with hashes, by default those of the image.

    `options` are further options of pip-audit.

    Raises:
        UnansweredError: pip-audit did not answer.
    """
    with tempfile.TemporaryDirectory() as folder:
        if requirements is None:
            subprocess.run([str(ROOT / "deploy" / "image"), "lists", folder], check=True)
            requirements = Path(folder) / "requirements.txt"
        command = [
            *_pip_audit(), "--requirement", str(requirements), "--require-hashes", "--disable-pip", "--vulnerability-service", "osv",
            "--format", "json", "--progress-spinner", "off", "--timeout", "20", *options,
        ]  # fmt: skip
        return python_advisories(*_said(command))


def python_advisories(answer: str, otherwise: str) -> list[Advisory]:
    """Parse the answer of pip-audit. If it stopped early, it wrote no JSON, and the reason to standard error."""
    document = _document(answer)
    if "dependencies" not in document:
        raise UnansweredError(_reason(otherwise))
    return [
        Advisory(f"{package['name']} {package['version']}", fault["id"], ", ".join(fault["fix_versions"]))
        for package in document["dependencies"]
        for fault in package.get("vulns", ())
    ]


def of_page(*options: str, folder: Path = ROOT / "ui") -> list[Advisory]:
    """Return known vulnerabilities of the page's locked packages. `options` are further options of npm.

    Raises:
        UnansweredError: npm did not answer.
    """
    command = [str(ROOT / "scripts" / "npm"), "--prefix", str(folder), "audit", "--package-lock-only", "--json", *options]
    return page_advisories(*_said(command))


def page_advisories(answer: str, otherwise: str) -> list[Advisory]:
    """Parse the answer of npm. The answer is an object with an error if the registry does not support audits."""
    document = _document(answer)
    if "vulnerabilities" not in document:
        raise UnansweredError(_reason(document.get("message") or otherwise))
    found = []
    for name, package in sorted(document["vulnerabilities"].items()):
        own = [via["title"] for via in package.get("via", ()) if isinstance(via, dict)]  # entries that are texts refer to another package
        fix = package.get("fixAvailable")
        version = f"{fix['name']} {fix['version']}" if isinstance(fix, dict) else "a version that the lock may have" if fix else ""
        found += [Advisory(f"{name} {package['range']}", title, version) for title in own]
    return found


def _pip_audit() -> list[str]:
    """Return the command for pip-audit. uv runs it in a cached environment, because it is not a dependency of the project."""
    uv = ROOT / ".tools" / "uv" / "bin" / "uv"
    return [str(uv) if uv.exists() else "uv", "tool", "run", "--quiet", "--from", f"pip-audit=={PIP_AUDIT}", "pip-audit"]


def _said(command: Sequence[str]) -> tuple[str, str]:
    try:
        done = subprocess.run(command, cwd=ROOT, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=_SECONDS, check=False)
    except subprocess.TimeoutExpired as error:
        raise UnansweredError(f"nothing within {_SECONDS} s") from error
    return done.stdout, done.stderr


def _document(answer: str) -> dict[str, Any]:
    try:
        document = json.loads(answer)
    except ValueError:
        return {}
    return document if isinstance(document, dict) else {}


def _reason(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1][:300] if lines else "it gave no reason"


if __name__ == "__main__":
    sys.exit(main())
