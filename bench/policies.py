"""Measures the check of a run against a policy of a thousand rules, in a lake of a million nodes.

python -m bench.policies [--nodes 1000000] [--rules 1000] [--runs 200] [--no-whole]

*repeated*: the run states what earlier runs of its job stated. *first*: the job was not checked before, so all flows upstream and
downstream of it are read. *whole*: all flows of the lake, which takes minutes (`--no-whole` leaves it out). The figures are processor
time of the process, in milliseconds.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from pathlib import Path

import yaml

from bench.graphs.filled import TENANT, sqlite_lake
from bench.graphs.lake import Lake
from headwater.backend.home.settings import load_settings
from headwater.backend.policies.service import Policies
from headwater.graph.index import open_indexed
from headwater.graph.model import EdgeKind
from headwater.graph.stores import Direction

_INDEX_BYTES = 1 << 30


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=1_000_000)
    parser.add_argument("--rules", type=int, default=1_000)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--no-whole", action="store_true")
    options = parser.parse_args(arguments)
    lake = Lake.of(options.nodes)
    file = sqlite_lake(options.nodes) / "graph.db"
    asyncio.run(_measure(file, lake, options.rules, options.runs, has_whole=not options.no_whole))


async def _measure(file: Path, lake: Lake, rules: int, runs: int, *, has_whole: bool) -> None:
    graph = open_indexed(f"sqlite:///{file}", index_bytes=_INDEX_BYTES)
    await graph.open()
    await graph.reach(
        TENANT, [lake.dataset(0)], direction=Direction.DOWNSTREAM, kinds=[EdgeKind.READS], depth=1, limit=1
    )  # reads the index
    with tempfile.TemporaryDirectory() as home:
        policies = Policies(load_settings(home=Path(home)), graph)
        text = yaml.safe_dump(_policy(lake, rules))
        if has_whole:
            await _timed("apply and whole check", [partial(policies.apply, TENANT, text, "bench", allows_unknown=True)])
        else:
            policies.store.add_version(TENANT, "bench", text, "bench")
        chosen = random.Random(1).sample(range(len(lake.reads)), runs)
        for name in ("first", "repeated"):
            await _timed(name, [partial(policies.check_jobs, TENANT, [lake.job(index)]) for index in chosen])
        await policies.close()
    await graph.close()


def _policy(lake: Lake, rules: int) -> dict[str, object]:
    names = random.Random(2).sample(range(len(lake.reads)), 2 * rules)
    return {
        "policy": "bench",
        "rules": [
            {
                "name": f"rule {number}",
                "must_not_flow": {"from": _selector(lake, names[2 * number]), "to": _selector(lake, names[2 * number + 1])},
            }
            for number in range(rules)
        ],
    }


def _selector(lake: Lake, index: int) -> dict[str, str]:
    return {"dataset": f"{lake.dataset(index).rpartition(':')[2]}*"}


async def _timed(name: str, steps: Sequence[Callable[[], Awaitable[object]]]) -> None:
    taken = []
    for step in steps:
        began = time.process_time()
        await step()
        taken.append(1_000 * (time.process_time() - began))
    taken.sort()
    middle, high = statistics.median(taken), taken[int(0.95 * (len(taken) - 1))]
    print(f"{name}, {len(taken)} times: median {middle:.1f} ms, p95 {high:.1f} ms, most {taken[-1]:.1f} ms")


if __name__ == "__main__":
    main()
