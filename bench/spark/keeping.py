"""Measures the later cost of storing a capture: a separate process compacts it, and its processor time is counted.

`python -m bench.spark.keeping MANIFEST SEGMENTS FOLDER` publishes a capture into an association store below FOLDER, as the service does,
and prints {"kept": bytes, "cpu": seconds}.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bench.results import ROOT

_FEW = 1_000_000  # rows; storing them takes little longer than loading the modules


def keep(manifest: Mapping[str, Any], segments: Path, folder: Path) -> tuple[float, float]:
    """Return the stored bytes, and the processor seconds of storing them.

    Raises:
        subprocess.CalledProcessError: the capture cannot be stored. Standard error has the reason.
    """
    folder.mkdir(parents=True, exist_ok=True)
    stated = folder / f"{manifest['capture']}.json"
    stated.write_text(json.dumps(manifest), encoding="utf-8")
    command = [sys.executable, "-m", "bench.spark.keeping", str(stated), str(segments), str(folder)]
    printed = subprocess.run(command, check=True, cwd=ROOT, stdout=subprocess.PIPE, text=True).stdout
    answer = json.loads(printed)
    return float(answer["kept"]), float(answer["cpu"])


def _main(manifest_path: str, segments: str, folder: str) -> None:
    import duckdb  # noqa: F401  # loading it is no part of keeping

    from headwater.graph.associations import Manifest
    from headwater.graph.records import ANYWHERE, AssociationStore

    manifest = Manifest.from_json(json.loads(Path(manifest_path).read_text(encoding="utf-8")), manifest_path)
    store = AssociationStore(Path(folder) / "associations", sources=ANYWHERE)

    def publish(tenant: str) -> float:
        began = time.process_time()
        for entry in manifest.segments:
            store.stage_segment(tenant, manifest.capture, entry.name, Path(segments) / entry.name)
        store.publish(tenant, manifest)
        return time.process_time() - began

    if sum(entry.rows for entry in manifest.segments) < _FEW:
        publish("before")  # loads the modules, as a running service has
    cpu = publish("default")
    store.close()
    kept = sum(path.stat().st_size for path in (store.root / "default").glob(f"*/{manifest.capture}/*"))
    print(json.dumps({"kept": kept, "cpu": cpu}))


if __name__ == "__main__":
    _main(*sys.argv[1:4])
