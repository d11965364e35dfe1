"""Time from a data cause to the start of its action: `python -m bench.trigger_latency --causes 500 --rate 10`.

A service gets events of runs that complete a new version, one after the other, at a steady rate. A trigger calls a webhook in this process
for each of them. The time counts from the moment before an event is sent until the call arrives. `--neighbours` sends that many other
events with each one. The command prints p50, p99 and the longest time in milliseconds, and the load of the machine.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import threading
import time
from collections.abc import Sequence
from contextlib import ExitStack
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from uuid import uuid4

import requests

from bench.service import Service

_EVENT = {"eventType": "COMPLETE", "producer": "p", "schemaURL": "s"}
_DATASET = "/out/watched"
_PATIENCE = 120.0  # seconds


def measure(folder: Path, *, causes: int, rate: float, neighbours: int) -> dict[str, Any]:
    """Measure the times of some causes."""
    arrived: dict[str, float] = {}
    enough = threading.Event()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            now = time.monotonic()
            document = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            arrived.setdefault(document["facts"][0]["run"].removeprefix("run:"), now)
            if len(arrived) == causes:
                enough.set()
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *arguments: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    (folder / "secret").write_text("a secret of both")
    (folder / "targets.toml").write_text(
        f'[[webhook]]\nname = "there"\nurl = "http://127.0.0.1:{server.server_port}/"\nsecret_file = "secret"\nprivate = true\n'
    )
    service = Service(folder, log=folder / "service.log")
    with ExitStack() as stack, requests.Session() as session:
        stack.callback(service.stop)
        session.headers["Authorization"] = f"Bearer {service.key}"
        definition = {
            "name": "watch", "when": {"data": {"dataset": f"dataset:file:{_DATASET}"}}, "do": {"webhook": {"target": "there"}},
            "limits": {"concurrent": 16},
        }  # fmt: skip
        create: dict[str, Any] = {"query": "mutation ($d: JSON!) { createTrigger(definition: $d) { id } }", "variables": {"d": definition}}
        made = session.post(f"{service.url}/graphql", json=create, timeout=60).json()
        if "errors" in made:
            raise RuntimeError(made["errors"])
        _send(session, service.url, causes=1, rate=rate, neighbours=0)  # the first cause loads modules that the others need
        while not arrived:
            time.sleep(0.05)
        arrived.clear()
        sent = _send(session, service.url, causes=causes, rate=rate, neighbours=neighbours)
        enough.wait(_PATIENCE)
    server.shutdown()
    waits = sorted((arrived[run] - at) * 1_000 for run, at in sent.items() if run in arrived)
    return {
        "causes": causes, "arrived": len(waits), "rate": rate, "neighbours": neighbours, "p50_ms": round(_quantile(waits, 0.5)),
        "p99_ms": round(_quantile(waits, 0.99)), "longest_ms": round(waits[-1]), "load": os.getloadavg()[0],
    }  # fmt: skip


def _send(session: requests.Session, url: str, *, causes: int, rate: float, neighbours: int) -> dict[str, float]:
    sent: dict[str, float] = {}
    began = time.monotonic()
    for number in range(causes):
        time.sleep(max(0.0, began + number / rate - time.monotonic()))
        run = str(uuid4())
        others = [_event(str(uuid4()), f"/out/{number % 50}-{other}") for other in range(neighbours)]
        sent[run] = time.monotonic()
        answer = session.post(f"{url}/api/v1/lineage", json=[*others, _event(run, _DATASET)], timeout=60)
        answer.raise_for_status()
    return sent


def _event(run: str, output: str) -> dict[str, Any]:
    now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    job, outputs = {"namespace": "bench", "name": output}, [{"namespace": "file", "name": output}]
    return _EVENT | {"eventTime": now, "run": {"runId": run}, "job": job, "inputs": [], "outputs": outputs}


def _quantile(values: Sequence[float], share: float) -> float:
    return values[min(len(values) - 1, int(share * len(values)))]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--causes", type=int, default=500)
    parser.add_argument("--rate", type=float, default=10.0, help="causes a second")
    parser.add_argument("--neighbours", type=int, default=0, help="other events with each cause")
    given = parser.parse_args()
    with TemporaryDirectory(prefix="headwater-triggers-") as folder:
        found = measure(Path(folder), causes=given.causes, rate=given.rate, neighbours=given.neighbours)
    print(json.dumps(found))
    sys.exit(0 if found["arrived"] == found["causes"] else 1)


if __name__ == "__main__":
    main()
