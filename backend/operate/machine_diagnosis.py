"""Checks for the software and files that Headwater needs on this machine.

`headwater doctor` runs the checks, on a laptop and on a cluster's node. The module uses the standard library only, because it
must work if nothing else does. It never changes anything.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import stat
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from http.client import HTTPException
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from urllib.error import HTTPError, URLError
from urllib.request import ProxyHandler, Request, build_opener

from headwater.backend.home.folder import Home

_JAVA = (17, 21)
_PYSPARK = ((3, 5), (5, 0))
_LOW_DISK = 1024**3
_SERVER = (
    "duckdb",
    "fastapi",
    "strawberry",
    "pydantic_settings",
    "structlog",
    "uvicorn",
    "rfc8785",
    "prometheus_client",
    "tenacity",
)


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of one check. `state` is ok, note (optional) or bad; `advice` tells the user what to do."""

    check: str
    state: str
    detail: str
    advice: str = ""


def diagnose(home: str | os.PathLike[str] | None = None) -> list[Finding]:
    place = Home.at(home)
    return [_versions(), _java(), _pyspark(), _server(), *_home(place), _disk(place.path), _service(place)]


def _versions() -> Finding:
    python = ".".join(map(str, sys.version_info[:3]))
    return Finding("versions", "ok", f"Headwater {_version('headwater')}, Python {python}, {sys.platform}")


def _java() -> Finding:
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home, "bin", "java")) if home else shutil.which("java")
    advice = "Install a JDK 17: apt-get install openjdk-17-jdk-headless; or let JAVA_HOME name one."
    if java is None:
        return Finding("java", "bad", "no java on the PATH, and no JAVA_HOME", advice)
    try:
        output = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=30, check=False).stderr
    except (OSError, subprocess.TimeoutExpired) as error:
        return Finding("java", "bad", f"{java}: {error}", advice)
    found = re.search(r'version "(\d+)(?:\.(\d+))?', output)
    major = int(found[1]) if found else 0
    major = int(found[2]) if found and major == 1 and found[2] else major  # Java 1.8 is Java 8
    line = next((line for line in output.splitlines() if "version" in line), "it says no version")
    detail = f"{line} ({java})"
    if major < _JAVA[0]:
        return Finding("java", "bad", detail, advice)
    if major > _JAVA[1]:
        return Finding("java", "note", detail, f"Spark is tried on Java {_JAVA[0]} to {_JAVA[1]}; if it fails, use 17.")
    return Finding("java", "ok", detail)


def _pyspark() -> Finding:
    found = _version("pyspark")
    if found is None:
        return Finding(
            "pyspark", "bad", "not installed in this environment", 'pip install "headwater[server]", or the PySpark of your cluster.'
        )
    parts = tuple(int(part) for part in re.findall(r"\d+", found)[:2])
    if not _PYSPARK[0] <= parts < _PYSPARK[1]:
        return Finding("pyspark", "bad", found, "Headwater captures PySpark 3.5 to 4.x.")
    return Finding("pyspark", "ok", found)


def _server() -> Finding:
    missing = [name for name in _SERVER if find_spec(name) is None]
    if missing:
        advice = 'For `serve`, `trace` and the rest: pip install "headwater[server]".'
        return Finding("server extra", "note", f"light install (without {', '.join(missing)}): `headwater run` works", advice)
    return Finding("server extra", "ok", "installed")


def _home(home: Home) -> Iterator[Finding]:
    there = next(place for place in (home.path, *home.path.parents) if place.exists())
    if not os.access(there, os.W_OK | os.X_OK) or not there.is_dir():
        yield Finding(
            "home", "bad", f"{home.path}: {there} is not a folder that you may write to", "Name another: --home or HEADWATER_HOME."
        )
        return
    yield Finding("home", "ok", str(home.path) if home.path.exists() else f"{home.path} (made at the first use)")
    if not home.key_file.exists():
        yield Finding("key", "ok", "made at the first start of the service")
        return
    mode = stat.S_IMODE(home.key_file.stat().st_mode)
    if mode & 0o077:
        yield Finding("key", "bad", f"{home.key_file} has mode {mode:o}: others can read it", f"chmod 600 {home.key_file}")
    else:
        yield Finding("key", "ok", str(home.key_file))


def _disk(path: Path) -> Finding:
    there = next(place for place in (path, *path.parents) if place.exists())
    free = shutil.disk_usage(there).free
    detail = f"{free / 1024**3:.1f} GiB free at {there}"
    return Finding("disk", "ok" if free >= _LOW_DISK else "bad", detail, "" if free >= _LOW_DISK else "Make room: at least 1 GiB.")


def _service(home: Home) -> Finding:
    named = os.environ.get("HEADWATER_URL")
    record = home.service()
    url = named or (record.url if record else None)
    if url is None:
        return Finding(
            "service", "note", "none runs on this home, and HEADWATER_URL is not set", "None is needed; `headwater serve` starts one."
        )
    # Proxies in the environment must not see loopback traffic.
    request = Request(f"{url.rstrip('/')}/readyz")  # noqa: S310 - the address is the user's own
    try:
        with build_opener(ProxyHandler({})).open(request, timeout=5) as response:
            state = json.load(response)
    except HTTPError as error:
        return Finding("service", "bad", f"{url} answers {error.code}: {error.read(300).decode('utf-8', 'replace')}", "See its log.")
    except (URLError, HTTPException, OSError, ValueError) as error:
        return Finding("service", "bad", f"{url} does not answer: {error}", "Start it: headwater serve.")
    return Finding("service", "ok", f"{url} is {state.get('status')}, {state.get('pending')} entries wait for projection")


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
