"""Time until the page draws the lineage of a dataset in a large lake, and its longest frame.

`python -m bench.page --nodes 10000`, or with another home `python -m bench.page --home headwater-demo/home --dataset ID`.

A real service serves a home whose graph holds a generated lake (`bench.graphs.lake`). Chromium opens datasets of it: the one with the
most readers, those with some 1,200 nodes upstream, and the last one. `ui/dev/measure.ts` drives the browser and describes each figure.
The home is made once, and kept. The page must have been built: `make page`.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import subprocess
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.data.cache import kept
from bench.graphs.lake import Lake
from bench.results import ROOT
from headwater.backend.home.settings import DEFAULT_TENANT, load_settings
from headwater.backend.process.logs import configure
from headwater.backend.serving import LocalService
from headwater.graph.stores import open_store

_REACHED, _HOPS = 1_200, 6


def lake_home(nodes: int) -> Path:
    """Return a home whose graph has a lake with about this number of nodes, and `foci.json` with the datasets to open."""

    def make(folder: Path) -> None:
        asyncio.run(fill(folder, Lake.of(nodes)))

    return kept(f"page-{nodes}", make)


async def fill(home: Path, lake: Lake) -> None:
    """Write a lake into the graph of a new home, and the datasets to open into its `foci.json`."""
    store = open_store(f"sqlite:///{home / 'graph.db'}")
    await store.open()
    try:
        for batch in lake.batches():
            await store.apply(DEFAULT_TENANT, [batch])
    finally:
        await store.close()
    (home / "foci.json").write_text(json.dumps(_foci(lake)), encoding="utf-8")


def _foci(lake: Lake) -> list[str]:
    readers = Counter(source for sources in lake.reads for source in sources)
    hub = lake.dataset(readers.most_common(1)[0][0])
    return [hub, *lake.foci(_REACHED, depth=_HOPS, count=3), lake.dataset(len(lake.reads) - 1)]


def main() -> None:
    """Print a line of JSON for each dataset, and one with the worst values."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--nodes", type=int, default=10_000, help="nodes of the lake")
    parser.add_argument("--rounds", type=int, default=5, help="how often each dataset is opened")
    parser.add_argument("--home", type=Path, help="a home to open in place of a generated lake")
    parser.add_argument("--dataset", action="append", help="id of a dataset to open, with --home")
    options = parser.parse_args()
    home = options.home or lake_home(options.nodes)
    foci = json.dumps(options.dataset) if options.dataset else (home / "foci.json").read_text(encoding="utf-8")
    settings = load_settings(home=home, port=0, log_level="warning")
    configure(settings.log_level, settings.log_format)
    service = LocalService(settings)
    service.start()
    try:
        with TemporaryDirectory() as folder:
            environment = os.environ | {
                "HEADWATER_E2E_LINK": service.link(),
                "HEADWATER_E2E_SERVICE": service.url,
                "MEASURE_SERVICE_PID": str(os.getpid()),
                "MEASURE_FOCI": foci,
                "MEASURE_ROUNDS": str(options.rounds),
                "MEASURE_FOLDER": folder,
            }
            subprocess.run([str(ROOT / "scripts" / "npm"), "run", "--silent", "measure"], env=environment, check=True)
    finally:
        service.stop()


if __name__ == "__main__":
    main()
