"""Measures the check of a run against a policy of a thousand rules, in a lake of a million nodes.

python -m bench.policies [--nodes 1000000] [--rules 1000] [--runs 200]

*repeated*: the run states what earlier runs of its job stated. *first*: the job was not checked before, so all flows upstream and
downstream of it are read. *whole*: all flows of the lake. The figures are processor time of the process, in milliseconds.
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

_INDEX_BYTES = 1 << 30


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=1_000_000)
    parser.add_argument("--rules", type=int, default=1_000)
    parser.add_argument("--runs", type=int, default=200)
    options = parser.parse_args(arguments)
    asyncio.run(_measure(sqlite_lake(options.nodes) / "graph.db", Lake.of(options.nodes), options.rules, options.runs))


async def _measure(file: Path, lake: Lake, rules: int, runs: int) -> None:
    graph = open_indexed(f"sqlite:///{file}", index_bytes=_INDEX_BYTES)
    await graph.open()
    with tempfile.TemporaryDirectory() as home:
        policies = Policies(load_settings(home=Path(home)), graph)
        text = yaml.safe_dump(_policy(lake, rules))
        await _timed("apply and whole check", [partial(policies.apply, TENANT, text, "bench", allows_unknown=True)])
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
    print(f"{name}: median {statistics.median(taken):.1f} ms, p95 {taken[int(0.95 * (len(taken) - 1))]:.1f} ms, most {taken[-1]:.1f} ms")


if __name__ == "__main__":
    main()
