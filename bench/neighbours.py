"""Measures the waits of one tenant while another tenant sends expensive requests: `python -m bench.neighbours`.

A service accepts events, documents, declarations and queries of one tenant, one after the other. Clients of another tenant send the
most expensive bodies meanwhile: PROV documents of 4 MB whose clients hang up after three seconds (`documents`), events of 8 kB that consist
of names of secrets (`small`), and valid events of some megabytes (`large`). `--python` names the interpreters of other checkouts. They
take turns with this one, so that both have the same load of the machine. For each kind the command prints the wait (p50, p99) in
milliseconds, the wait at the same service without other senders, and the load of the machine.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import subprocess
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import urlsplit

from bench.service import Service
from headwater.backend.access.keys import KeyRing
from headwater.backend.home.folder import Home
from headwater.graph.access.scopes import Scope

_JSON, _PROVN = {"Content-Type": "application/json"}, {"Content-Type": "text/provenance-notation"}
_HANGS_UP = 3.0  # seconds
_EVENT = {"eventType": "COMPLETE", "eventTime": "2026-01-01T00:00:00Z", "producer": "p", "schemaURL": "s"}
_LINEAGE, _PROV, _DECLARATIONS, _GRAPHQL = "/api/v1/lineage", "/api/v1/prov", "/api/v1/declarations", "/graphql"
_QUESTION = '{ search(text: "d", first: 20) { nodes { id name } } }'
_numbers = count(os.getpid() * 1_000_000)


def event(columns: int, text: str = "", *, has_new_columns: bool = False) -> bytes:
    """Return a new event about a dataset with some columns."""
    number = next(_numbers)
    fields = [{"name": f"c{column}_{number * has_new_columns}"} for column in range(columns)]
    run = {"runId": f"0196e6a0-0000-7000-8000-{number % 16**12:012x}"}
    output = {"namespace": "n", "name": f"d{number % 100}", "facets": {"schema": {"fields": fields}} if fields else {}}
    return json.dumps(_EVENT | {"run": run, "job": {"namespace": "n", "name": f"j{number % 100}"}, "outputs": [output], "x": text}).encode()


def document(entities: int, *, is_chain: bool = False) -> bytes:
    """Return a PROV document with many entities. With `is_chain`, each is a specialization of the next."""
    start = next(_numbers)
    line = "entity(ex:e{0})\nspecializationOf(ex:e{0}, ex:e{1})" if is_chain else "entity(ex:e{0})"
    lines = "\n".join(line.format(number, number + 1) for number in range(start, start + entities))
    return f"document\nprefix ex <http://example.org/>\n{lines}\nendDocument\n".encode()


def declaration() -> bytes:
    return json.dumps({"types": [{"name": f"t{next(_numbers)}", "axis": "data"}]}).encode()


Make = Callable[[], tuple[str, bytes, dict[str, str]]]
KINDS: dict[str, Make] = {
    "small event": lambda: (_LINEAGE, event(5), _JSON),
    "larger event": lambda: (_LINEAGE, event(3_000), _JSON),
    "PROV document": lambda: (_PROV, document(150), _PROVN),
    "declaration": lambda: (_DECLARATIONS, declaration(), _JSON),
    "query": lambda: (_GRAPHQL, json.dumps({"query": _QUESTION}).encode(), _JSON),
}
# name → a body, the number of connections that send such bodies, and the seconds until they hang up
WORST: dict[str, tuple[Make, int, float]] = {
    "documents": (lambda: (_PROV, document(45_000, is_chain=True), _PROVN), 8, _HANGS_UP),
    "small": (lambda: (_LINEAGE, event(0, "pass=@=" * 1_000), _JSON), 32, 60.0),
    "large": (lambda: (_LINEAGE, event(60_000, has_new_columns=True), _JSON), 8, 60.0),
}


def main() -> None:
    """Measure, or act as the clients of the other tenant until standard input ends (`--send`)."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", type=int, default=200, help="of each kind")
    parser.add_argument("--turns", type=int, default=10, help="in how many turns they are taken")
    parser.add_argument("--worst", choices=WORST, nargs="*", default=list(WORST))
    parser.add_argument("--python", nargs="*", default=[], help="interpreters of other checkouts, to be compared with this one")
    parser.add_argument("--send", nargs=3, metavar=("WORST", "URL", "KEY"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.send:
        _send(*options.send)
    else:
        measure(options.samples, options.turns, options.worst, [*options.python, sys.executable])


def measure(samples: int, turns: int, worst: Sequence[str], interpreters: Sequence[str]) -> None:
    """Print the waits of each kind, alone and with each kind of expensive senders, for each interpreter."""
    waits: dict[tuple[str, str, str], list[float]] = defaultdict(list)
    loads: dict[str, list[float]] = defaultdict(list)
    with TemporaryDirectory() as folder, ExitStack() as stack:
        arms = {name: stack.enter_context(_service(Path(folder) / str(number), name)) for number, name in enumerate(interpreters)}
        for turn in range(turns):
            for beside in ("nobody", *worst):
                for name, (service, other, key) in list(arms.items())[:: 1 if turn % 2 else -1]:
                    with _beside(beside, service.url, key):
                        for kind, make in KINDS.items():
                            waits[name, beside, kind] += [_wait(service.url, other, make) for _ in range(samples // turns)]
                        loads[beside].append(os.getloadavg()[0])
    for beside in ("nobody", *worst):
        print(f"beside {beside} (load of the machine {min(loads[beside]):.1f} to {max(loads[beside]):.1f})")
        for kind in KINDS:
            for name in interpreters:
                taken = sorted(waits[name, beside, kind])
                p50, p99 = (1000 * taken[int(share * (len(taken) - 1))] for share in (0.5, 0.99))
                print(f"  {kind:14} p50 {p50:7.0f} ms  p99 {p99:7.0f} ms  of {len(taken)}  {name}")


@contextmanager
def _service(home: Path, interpreter: str) -> Iterator[tuple[Service, str, str]]:
    ring = KeyRing(Home.at(home).create().named_keys)
    rights = {Scope.READ, Scope.INTAKE, Scope.DECLARE}
    keys = [ring.create(tenant, rights, tenant=tenant)[1] for tenant in ("other", "worst")]
    ring.close()
    service = Service(home, log=home / "service.log", python=interpreter)
    try:
        for make in KINDS.values():
            for _ in range(3):
                _wait(service.url, keys[0], make)
        yield service, keys[0], keys[1]
    finally:
        service.stop()


@contextmanager
def _beside(worst: str, url: str, key: str) -> Iterator[None]:
    """Let the other tenant send during the block. The block begins after a second of sending."""
    if worst == "nobody":
        yield
        return
    sender = subprocess.Popen([sys.executable, "-m", "bench.neighbours", "--send", worst, url, key], stdin=subprocess.PIPE)
    try:
        time.sleep(3)
        yield
    finally:
        sender.kill()
        sender.communicate()


def _send(worst: str, url: str, key: str) -> None:
    make, connections, patience = WORST[worst]
    for _ in range(connections):
        threading.Thread(target=_keep_sending, args=[make, url, key, patience], daemon=True).start()
    sys.stdin.read()


def _keep_sending(make: Make, url: str, key: str, patience: float) -> None:
    path, body, headers = make()
    connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=patience)
    while True:
        with suppress(OSError, http.client.HTTPException):
            connection.request("POST", path, body, headers | {"Authorization": f"Bearer {key}"})
            connection.getresponse().read()
            path, body, headers = make()
            continue
        connection.close()


def _wait(url: str, key: str, make: Make) -> float:
    path, body, headers = make()
    connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=300)
    began = time.perf_counter()
    connection.request("POST", path, body, headers | {"Authorization": f"Bearer {key}"})
    answer = connection.getresponse()
    told = answer.read()
    seconds = time.perf_counter() - began
    connection.close()
    if answer.status not in (200, 201):
        raise RuntimeError(f"{path}: {answer.status} {told[:300]!r}")
    return seconds


if __name__ == "__main__":
    main()
