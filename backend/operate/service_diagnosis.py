"""Checks a running service from outside, through its endpoints.

`headwater doctor --service` runs the checks. The module uses the standard library only, never changes anything, and sends no key
to an address that does not belong to the user.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping
from http.client import HTTPException
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, ProxyHandler, Request, build_opener

from headwater import __version__
from headwater.backend.home.folder import Home
from headwater.backend.operate.machine_diagnosis import Finding

_SECONDS = 10
_LAG = 10_000  # in entries; the alert rules of the Helm chart have the same limit
_LOOPBACK = ("127.0.0.1", "localhost", "::1")
# A service can answer without these, and reports what is missing.
_BORNE = frozenset({"associations", "segments", "intakes", "replicas", "audit_copy", "quarantine"})
_ADVICE = {
    "log": "headwater store check, then headwater store repair.",
    "graph": "If the store is away, start it; else headwater store check.",
    "projector": "Its log says what it met; headwater store check.",
    "catalog": "headwater store repair makes it again.",
    "key": "See the file `key` of the home.",
    "disk": "Make room: what is sent waits with its senders.",
    "audit": "Until it can be written, no records are told.",
    "intakes": "See the service's log for why an intake waits.",
    "audit_copy": "Lines of the audit log wait in this home until the shared log's database takes them.",
    "quarantine": "headwater store check says why; headwater store retry projects them once more.",
    "replicas": "Give all replicas the same settings.",
}


def diagnose_service(home: str | os.PathLike[str] | None = None) -> list[Finding]:
    """Check the service in `HEADWATER_URL`, or else the service that runs on the home."""
    place = Home.at(home)
    record = place.service()
    url = (os.environ.get("HEADWATER_URL") or (record.url if record else "")).rstrip("/")
    if not url:
        return [Finding("service", "bad", f"none runs on {place.path}, and HEADWATER_URL is not set", "Start it: headwater serve.")]
    try:
        version = str(json.loads(_get(f"{url}/healthz")[1])["version"])
        status, body = _get(f"{url}/readyz")
        ready = json.loads(body)
        checks: Mapping[str, Any] = ready["checks"]
    except (URLError, HTTPException, OSError, ValueError, KeyError, TypeError) as error:
        return [Finding("service", "bad", f"{url} does not answer as Headwater does: {error}", "Start it: headwater serve.")]
    key = os.environ.get("HEADWATER_API_KEY") or (place.key() if record and record.url == url and place.key_file.exists() else None)
    return [_version(url, version), *_checks(checks, status), _pending(ready.get("pending")), *_asked_with(url, key), *_exposed(url)]


def _version(url: str, version: str) -> Finding:
    detail = f"{url} runs Headwater {version}"
    if version == __version__:
        return Finding("service", "ok", detail)
    return Finding("service", "note", f"{detail}, this command is of {__version__}", "Use the same version of both.")


def _checks(checks: Mapping[str, Any], status: int) -> Iterator[Finding]:
    for name, stated in checks.items():
        text = str(stated)
        fine = text == "ok" or (name == "projector" and not text.startswith(("failed", "behind"))) or (name == "intakes" and not stated)
        is_borne = name in _BORNE or (name == "projector" and text.startswith("behind"))  # the service still works for all other tenants
        state = "ok" if fine else "note" if is_borne else "bad"
        yield Finding(name, state, text or "ok", "" if fine else _ADVICE.get(name, "headwater store check names the files."))
    if status != 200 and all(str(stated) == "ok" for stated in checks.values()):
        yield Finding("ready", "bad", f"/readyz answers {status}", "See its log.")


def _pending(pending: Any) -> Finding:
    if not isinstance(pending, int):
        return Finding("lag", "bad", "nobody knows how many entries wait for the graph", "See the check of the graph, above.")
    lags = pending > _LAG
    advice = "If it does not shrink: is the disk full, or the graph store away or slow?"
    return Finding("lag", "bad" if lags else "ok", f"{pending} entries of the default tenant wait for the graph", advice if lags else "")


def _asked_with(url: str, key: str | None) -> Iterator[Finding]:
    if _get(f"{url}/metrics")[0] == 200:
        yield Finding("measures", "note", "anybody may read /metrics", "Leave it out of HEADWATER_OPEN_ENDPOINTS unless a proxy guards it.")
    if key is None:
        yield Finding("key", "note", "none to ask with", "Set HEADWATER_API_KEY to look further.")
        return
    status, _ = _get(f"{url}/api/v1/session", key)
    if status != 200:
        yield Finding("key", "bad", f"the service refuses the key ({status})", "Set HEADWATER_API_KEY to a key of that service.")
        return
    yield Finding("key", "ok", "the service knows it")
    status, text = _get(f"{url}/metrics", key)
    if status != 200:
        yield Finding("measures", "note", "the key may not read /metrics", "Ask with a key that has the scope operate.")
        return
    letters = re.search(r"^headwater_dead_letters (\S+)", text, re.MULTILINE)
    count = int(float(letters[1])) if letters else 0
    advice = "headwater store check says which, and why." if count else ""
    yield Finding("dead letters", "note" if count else "ok", f"{count} documents were refused", advice)


def _exposed(url: str) -> Iterator[Finding]:
    address = urlsplit(url)
    if address.scheme == "http" and address.hostname not in _LOOPBACK:
        yield Finding("TLS", "note", f"{address.hostname} is asked without TLS: keys travel in the clear", "Put a proxy with TLS in front.")


class _Stays(HTTPRedirectHandler):
    """Follows no redirect, because the key would be sent to its target."""

    def redirect_request(self, *_: object, **__: object) -> None:
        return None


def _get(url: str, key: str | None = None) -> tuple[int, str]:
    request = Request(url, headers={"Authorization": f"Bearer {key}"} if key else {})  # noqa: S310 - the address is the user's own
    try:
        # Proxies in the environment must not see loopback traffic.
        with build_opener(ProxyHandler({}), _Stays()).open(request, timeout=_SECONDS) as response:
            return int(response.status), response.read().decode("utf-8", "replace")
    except HTTPError as error:
        return error.code, error.read(100_000).decode("utf-8", "replace")
