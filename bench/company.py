"""A simulated company: the jobs of a year, in one home, and every kind of question about them.

python -m bench.company --runs 1000000 --jobs 10000 [--store sqlite|neo4j] [--home FOLDER] [--questions 50] [--seed 1] [--no-rebuild]

`bench.data.company` describes the company. Record traces go through the small real pipeline of `bench.data.captures`; the suite `captures`
measures traces in homes with many captures.

The home is filled once and reused. Each question is asked once before the others (*first*). Its processor time is that of the service
with all its processes, without the server of Neo4j. The check of a job against a policy of a hundred rules runs in this process, as the
worker of a service does it. The rebuild is `headwater store rebuild`, on the same home. *anonymous* memory leaves out mapped files (the
graph's, libraries), which are the system's cache. The result is written to build/bench.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from bench.data import captures
from bench.data.cache import kept
from bench.data.company import AREAS, CAPTURED, PIPELINE, THINGS, Company, Json
from bench.figures import rounded
from bench.results import ROOT, head, write
from bench.service import Service
from headwater.backend.home.settings import DEFAULT_TENANT, load_settings
from headwater.backend.policies.service import Policies
from headwater.backend.process.garbage_collection import settle
from headwater.backend.workspace import Workspace, graph_store
from headwater.errors import HeadwaterError
from headwater.graph.model import NodeKind, node_id
from headwater.transport import GraphQLClient
from tests.neo4j_server import start, stop

_BATCH = 1_000  # events of one request
_ASKED_HUBS = 0.2  # the share of questions about hubs
_FILLED = "filled.json"

_IMPACT = """query ($node: ID!) { impact(focus: [$node], first: 100) {
  rows { node { id name } distance owners lastRun updated } total beyond exact } }"""
_VIEW = """query ($view: ViewInput!) { view(view: $view, first: 200, edges: 2000) {
  nodes { node { id kind name containers { kind name } } members focus wholly } edges { src dst weight direct via }
  totals { nodes edges masked beyond } cursor notes } }"""
_FIND = "query ($text: String!) { find(text: $text, first: 20) { hits { node { id name } score } total facets { name values { value } } } }"
_VERSIONS = """query ($node: ID!) { versions(dataset: $node, first: 20) { nodes { id properties } pageInfo { hasNextPage } }
  blocks(dataset: $node, first: 20) { total blocks { sequence run writtenAt mode rows } } }"""
_CONSUMERS = "query ($node: ID!) { consumers(dataset: $node) { job { id name } run cursor unreadBlocks unreadSince } }"
_MAP = """query ($lens: Lens!) { lakeMap(lens: $lens, first: 200) {
  groups { node { id name } members toRest fromRest } flows { src dst weight } total members } }"""
_TRACE = """query ($dataset: String!, $rows: [RowRef!]) { trace(dataset: $dataset, rows: $rows) {
  total exact records { dataset file row } path { run } } }"""

Variables = Callable[[random.Random], Json]


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=1_000_000)
    parser.add_argument("--jobs", type=int, default=10_000, help=f"a multiple of {PIPELINE}, and more than --questions")
    parser.add_argument("--store", choices=("sqlite", "neo4j"), default="sqlite")
    parser.add_argument("--home", type=Path, help="folder of the home, filled if it is not complete; default: a folder that is kept")
    parser.add_argument("--questions", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--no-rebuild", action="store_true", help="do not measure the rebuild, which takes as long as the fill")
    options = parser.parse_args(arguments)
    if options.jobs % PIPELINE or options.jobs <= options.questions:
        parser.error(f"--jobs must be a multiple of {PIPELINE}, and more than --questions.")
    company = Company(options.runs, options.jobs, options.seed)
    folder = options.home or kept(
        f"company-{company.runs}-{company.jobs}-{company.seed}-{options.store}", lambda made: _fill(made, company, options.store)
    )
    if not (folder / _FILLED).exists():
        _fill(folder, company, options.store)
    result: Json = {"runs": company.runs, "jobs": company.jobs, "store": options.store, "seed": company.seed}
    result["fill"] = json.loads((folder / _FILLED).read_text(encoding="utf-8"))
    with _store(folder, options.store):
        policies = _check_jobs(folder / "home", company, options.questions)
        answers, megabytes = _ask_service(folder / "home", company, options.questions)
        result |= {"questions": [policies, *answers], "service": {"megabytes": megabytes}}
        if not options.no_rebuild:
            result["rebuild"] = _rebuild(folder / "home")
    target = write(head(f"company-{company.runs}-{options.store}") | result, ROOT / "build" / "bench")
    print(f"\n{_table(result)}\n\nThe result is in {target}.")


@contextmanager
def _store(folder: Path, store: str) -> Iterator[None]:
    """Run the graph's server, if it needs one. The environment names it to this process and all that it starts."""
    if store == "sqlite":
        yield
        return
    server, process = start(folder / "neo4j", heap="2g", page_cache="1g", java=())
    os.environ |= {"HEADWATER_STORE": server.uri, "HEADWATER_STORE_USER": server.user, "HEADWATER_STORE_PASSWORD": server.password}
    try:
        yield
    finally:
        stop(process)


def _fill(folder: Path, company: Company, store: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    with _store(folder, store):
        figures = asyncio.run(_take_in(folder / "home", company))
    figures["graph_bytes"] = _size(folder / "neo4j" / "data" / "databases") if store == "neo4j" else _size(folder / "home", "graph.db*")
    figures |= {"log_bytes": _size(folder / "home", "ingest.db*"), "captures_bytes": _size(folder / "home" / "associations")}
    (folder / _FILLED).write_text(json.dumps(figures), encoding="utf-8")


async def _take_in(home: Path, company: Company) -> Json:
    """Take in and project all events, as a service does. Returns the figures."""
    settle()
    total, generated, anonymous = 2 * company.runs, 0.0, 0.0
    began, processor = time.perf_counter(), time.process_time()
    async with await Workspace.open(load_settings(home=home)) as workspace:
        workspace.keep_services_out()
        for document, segments in captures.pipeline(captures.lake()):
            _submit_capture(workspace, document, segments)
        for first in range(0, total, _BATCH):
            last = min(total, first + _BATCH)
            before = time.process_time()
            body = b"[" + b",".join(company.events(first, last - first)) + b"]"
            generated += time.process_time() - before
            report = await asyncio.to_thread(workspace.events.submit(DEFAULT_TENANT, body).result)
            if report.rejected:
                raise RuntimeError(f"{len(report.rejected)} events were refused: {report.rejected[0]}")
            for run in range(-(-first // 2 // CAPTURED) * CAPTURED, last // 2, CAPTURED):
                _submit_capture(workspace, *company.capture(run))
            await workspace.projector.catch_up()
            anonymous = max(anonymous, _megabytes("self", "RssAnon:"))
            if last % (10 * _BATCH) == 0 or last == total:
                seconds, used = time.perf_counter() - began, time.process_time() - processor
                rate = f"{last / seconds:,.0f} a second, {1000 * used / last:.3f} ms of processor time each"
                print(f"  {last:,} of {total:,} events: {rate}", flush=True)
        seconds, used, peak = time.perf_counter() - began, time.process_time() - processor, _megabytes("self", "VmHWM:")
        if letters := workspace.log.dead_letters(DEFAULT_TENANT, after=0, first=1):
            raise RuntimeError(f"an entry could not be projected: {letters[0]}")
        nodes = sum((await workspace.graph.counts(DEFAULT_TENANT)).values())
        edges = sum([len(portion.edges) async for portion in workspace.graph.dump(DEFAULT_TENANT)])
    return {
        "events": total, "seconds": rounded(seconds), "events_per_second": rounded(total / seconds), "cpu_seconds": rounded(used),
        "generator_cpu_seconds": rounded(generated), "nodes": nodes, "edges": edges, "peak_megabytes": rounded(peak),
        "peak_anonymous_megabytes": rounded(anonymous),
    }  # fmt: skip


def _submit_capture(workspace: Workspace, document: Json, segments: Mapping[str, bytes]) -> None:
    for name, data in segments.items():
        workspace.records.stage_segment(DEFAULT_TENANT, document["capture"], name, data)
    workspace.captures.submit(DEFAULT_TENANT, json.dumps(document).encode())


def _check_jobs(home: Path, company: Company, count: int) -> Json:
    """Apply the policy, and check jobs against it for the first time."""
    settings = load_settings(home=home)
    graph = graph_store(settings, indexed=True)
    policies = Policies(settings, graph)
    jobs = [node_id(NodeKind.JOB, *company.job_name(job)) for job in random.Random(company.seed).sample(range(company.jobs), count + 1)]
    with asyncio.Runner() as runner:
        runner.run(graph.open())
        began = time.perf_counter()
        _, report = runner.run(policies.apply(DEFAULT_TENANT, company.policy(), "bench", allows_unknown=True))
        whole = {"whole_seconds": rounded(time.perf_counter() - began), "deviations": len(report.deviations)}
        asks = [partial(runner.run, policies.check_jobs(DEFAULT_TENANT, [job])) for job in jobs]
        found = _measure("policies of a job", asks, time.process_time, bound=1_000) | whole
        runner.run(policies.close())
        runner.run(graph.close())
    return found


def _ask_service(home: Path, company: Company, count: int) -> tuple[list[Json], float]:
    """Ask a service all questions. Returns the figures, and the memory of the service afterwards."""
    service = Service(home, log=home.parent / "service.log")
    client, processor = GraphQLClient(service.url, service.key, timeout=600), service.processes().cpu_seconds
    try:
        answers = []
        for name, document, variables, bound in _questions(company):
            drawn = random.Random(company.seed)
            asks = [partial(client.execute, document, **variables(drawn)) for _ in range(count + 1)]
            answers.append(_measure(name, asks, processor, bound=bound))
        return answers, rounded(service.memory_megabytes())
    finally:
        service.stop()


def _questions(company: Company) -> list[tuple[str, str, Variables, int]]:
    def node(drawn: random.Random) -> Json:
        is_hub = drawn.random() < _ASKED_HUBS
        return {"node": company.dataset_id(company.hub(drawn) if is_hub else drawn.randrange(company.datasets))}

    def written(drawn: random.Random) -> Json:  # by some run, so mostly datasets with many versions
        return {"node": company.dataset_id(company.job_of(drawn.randrange(company.runs)))}

    def view(drawn: random.Random, **more: Any) -> Json:
        return {"view": {"focus": [node(drawn)["node"]], "depth": 6, **more}}

    def record(drawn: random.Random) -> Json:
        report = captures.lake() / "asked" / captures.STEPS[-1]
        return {"dataset": str(report), "rows": [{"file": str(report / "part-00000.parquet"), "row": drawn.randrange(captures.ROWS)}]}

    masks = [{"by": "NAME", "values": ["joined/*"]}, {"by": "TAG", "values": ["personal"]}]
    return [
        ("impact", _IMPACT, node, 1_000),
        ("view", _VIEW, view, 500),
        ("view, masked", _VIEW, lambda drawn: view(drawn, masks=masks), 500),
        ("view, zoomed", _VIEW, lambda drawn: view(drawn, data="PLATFORM", actors="PIPELINE"), 500),
        ("search", _FIND, lambda drawn: {"text": f"{drawn.choice(AREAS)} {drawn.choice(THINGS)}"}, 300),
        ("versions", _VERSIONS, written, 300),
        ("consumers", _CONSUMERS, node, 300),
        ("map", _MAP, lambda drawn: {"lens": drawn.choice(("NAMESPACE", "PIPELINE", "OWNER", "TAG"))}, 1_000),
        ("trace", _TRACE, record, 1_000),
    ]


def _measure(name: str, asks: Sequence[Callable[[], object]], processor: Callable[[], float], *, bound: int) -> Json:
    """Ask, and return the figures. The first question may read an index, so it has a figure of its own."""
    waits, used, sizes, errors = [], [], [], []
    for ask in asks:
        before, began = processor(), time.perf_counter()
        try:
            sizes.append(len(str(ask())))
        except HeadwaterError as error:
            errors.append(str(error))
        waits.append(1000 * (time.perf_counter() - began))
        used.append(1000 * (processor() - before))
    later = sorted(waits[1:])
    p95 = later[int(0.95 * (len(later) - 1))]
    verdict = "failed" if errors else "met" if p95 <= bound else "missed"
    found = {
        "question": name, "times": len(later), "first_ms": rounded(waits[0]), "p50_ms": rounded(statistics.median(later)),
        "p95_ms": rounded(p95), "cpu_ms": rounded(statistics.mean(used[1:])), "bound_ms": bound, "verdict": verdict,
        "answer_letters": statistics.median(sizes or [0]), "errors": errors[:5],
    }  # fmt: skip
    print(f"  {found}", flush=True)
    return found


def _rebuild(home: Path) -> Json:
    """Rebuild the graph from the log with the command. Returns its times, and its peak memory."""
    print("  rebuilding", flush=True)
    began = time.perf_counter()
    process = subprocess.Popen([sys.executable, "-m", "headwater", "store", "rebuild", "--home", str(home)], stdout=subprocess.DEVNULL)
    peak = anonymous = 0.0
    while True:
        ended, status, used = os.wait4(process.pid, os.WNOHANG)
        if ended:
            break
        # The peak in `used` counts the memory of this process, too, until the command is started.
        peak, anonymous = max(peak, _megabytes(process.pid, "VmHWM:")), max(anonymous, _megabytes(process.pid, "RssAnon:"))
        time.sleep(0.2)  # between two looks at its memory
    process.returncode = os.waitstatus_to_exitcode(status)
    if status:
        raise RuntimeError(f"the rebuild ended with {process.returncode}")
    return {
        "seconds": rounded(time.perf_counter() - began), "cpu_seconds": rounded(used.ru_utime + used.ru_stime),
        "peak_megabytes": rounded(peak), "peak_anonymous_megabytes": rounded(anonymous),
    }  # fmt: skip


def _table(result: Json) -> str:
    keys = ("question", "times", "first_ms", "p50_ms", "p95_ms", "cpu_ms", "bound_ms", "verdict")
    rows = [keys, ["---"] * len(keys), *([str(asked[key]) for key in keys] for asked in result["questions"])]
    figures = {f"{part}, {name}": value for part in ("fill", "rebuild", "service") for name, value in result.get(part, {}).items()}
    rows += [(), ("figure", "value"), ("---", "---"), *((name, f"{value:,}") for name, value in figures.items())]
    return "\n".join(f"| {' | '.join(row)} |" if row else "" for row in rows)


def _size(folder: Path, pattern: str = "**/*") -> int:
    return sum(path.stat().st_size for path in folder.glob(pattern) if path.is_file())


def _megabytes(process: int | str, part: str) -> float:
    lines = Path(f"/proc/{process}/status").read_text(encoding="utf-8").splitlines()
    return sum(int(line.split()[1]) for line in lines if line.startswith(part)) * 1024 / 1e6


if __name__ == "__main__":
    main()
