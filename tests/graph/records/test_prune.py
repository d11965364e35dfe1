"""Pruning over random histories: every trace of kept data stays as it was, wherever the prune stops, and answers name pruned data."""

import asyncio
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headwater.errors import InvalidQueryError
from headwater.graph.records import ANYWHERE, AssociationStore, prune
from headwater.graph.records import store as store_module
from headwater.graph.records.prune import Policy
from headwater.graph.records.prune_candidates import Prunable
from headwater.graph.trace import TraceAnswer, TraceRequest, trace
from tests.graph.jobs import TENANT, Job, write_csv

COLUMNS = {"k": "string", "v": "int"}
RAW = {"header": "true", "nullvalue": "NA"}
_START = datetime(2026, 1, 1, tzinfo=UTC)
DATASETS = ("a", "b", "c")
_MOST_ROWS = 12


class History:
    """Runs over a few datasets in a folder. The output of each run stays known, though its files may be gone."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.store = AssociationStore(root / "associations", sources=ANYWHERE)
        self.clock = 0
        self.jobs: list[tuple[str, Job]] = []

    def run(self, target: str, source: str | None, *, appends: bool = False, groups: bool = False, joins: str | None = None) -> None:
        """One run. It reads a dataset, or a file of its own if that is empty, and `joins` another dataset by `k`."""
        self.clock += 1
        job = Job(self.store, f"to_{target}", self.clock, part=f"run{self.clock}", said={"mode": "append" if appends else "overwrite"})
        if source is None or not self._holds(source):
            raw = write_csv(self.root / "raw" / f"{self.clock}.csv", list(COLUMNS), [[k, self.clock * 10 + n] for n, k in enumerate("xyx")])
            rows = job.scan(raw, "csv", COLUMNS, RAW)
        else:
            rows = job.scan(self.root / source, "parquet", COLUMNS)
        if joins is not None and self._holds(joins):
            rows = job.join(rows, job.scan(self.root / joins, "parquet", COLUMNS), [("k", "k")])
            rows.rows = rows.rows[:_MOST_ROWS]  # a history of joins would grow without end
        if groups:
            total = job.aggregation("max", job.attr(rows, "v"))
            rows = job.aggregate(rows, ["k"], {"v": (total, lambda members: max(row.values["v"] for row in members), "int")})
        if not appends and (self.root / target).exists():
            shutil.rmtree(self.root / target)
        job.write(rows, self.root / target, "parquet", list(COLUMNS), files=1)
        self.jobs.append((target, job))

    def _holds(self, dataset: str) -> bool:
        return any((self.root / dataset).glob("*.parquet"))

    def reopen(self) -> None:
        self.store.close()
        self.store = AssociationStore(self.root / "associations", sources=ANYWHERE)

    def ask(self, **request: Any) -> TraceAnswer:
        return asyncio.run(trace(None, self.store, TENANT, TraceRequest(**{"values": False, **request})))

    def kept(self, now: datetime, days: float) -> list[tuple[str, Job]]:
        """The runs whose output is current, or was replaced less than so many days ago, by the history and not by the catalog."""
        found = []
        for place, (target, job) in enumerate(self.jobs):
            later = [other for name, other in self.jobs[place + 1 :] if name == target and other.said["mode"] == "overwrite"]
            if not later or _ended(later[0]) >= now - timedelta(days=days):
                found.append((target, job))
        return found

    def traces(self, runs: list[tuple[str, Job]]) -> dict[str, Any]:
        """Back from each version, as far as the run wrote it, and forward from each raw file to the files of these runs."""
        files = {file.block.path for _, job in runs for file in self.store.files(TENANT, job.capture)}
        found: dict[str, Any] = {}
        for target, job in runs:
            rows = [(file.block.path, row) for file in self.store.files(TENANT, job.capture) for row in range(file.rows)]
            back = self.ask(dataset=str(self.root / target), rows=rows, as_of=job.run)
            found[job.run] = (_told(back), back.exact, [hop.run for hop in back.path], [str(item) for item in back.incomplete])
        for raw in sorted((self.root / "raw").glob("*.csv")):
            for target in sorted({target for target, _ in runs}):
                on = self.ask(dataset=str(raw), rows=[(str(raw), 0)], forward=True, to=str(self.root / target))
                found[f"{raw} to {target}"] = {place for place in _told(on) if place[0] in files}
        return found


def _told(answer: TraceAnswer) -> set[tuple[str, int]]:
    return {(record.file, record.row) for record in answer.records}


def _ended(job: Job) -> datetime:
    return _START + timedelta(minutes=job.clock, seconds=30)


def tables(store: AssociationStore) -> int:
    return sum(1 for _ in store.root.glob("*/*/*/b*.parquet"))


@pytest.fixture
def history(tmp_path: Path) -> Iterator[History]:
    made = History(tmp_path)
    yield made
    made.store.close()


RUNS = st.lists(
    st.tuples(
        st.sampled_from(DATASETS),
        st.sampled_from([None, *DATASETS]),
        st.booleans(),
        st.booleans(),
        st.sampled_from([None, None, *DATASETS]),
    ),
    min_size=2,
    max_size=9,
)
_MINUTE = 1 / 24 / 60
# Other limits of a policy: the age of captures, their dataset, and the share of bytes that stays.
POLICIES = st.fixed_dictionaries({
    "minutes": st.integers(0, 6),
    "older": st.sampled_from([0, 0, 2, 4]),
    "dataset": st.sampled_from([None, None, "*/a", "*/[ab]"]),
    "left": st.sampled_from([None, None, 0.0, 0.3, 0.7]),
})  # fmt: skip


_PRUNED = given(runs=RUNS, later=RUNS, said=POLICIES, stop=st.integers(1, 12))


@pytest.mark.slow
@_PRUNED
@settings(max_examples=4, deadline=None, suppress_health_check=list(HealthCheck))
def test_every_trace_of_kept_data_is_unchanged_wherever_it_is_stopped(tmp_path_factory, runs, later, said, stop) -> None:
    _check_traces(tmp_path_factory, runs, later, said, stop)


@pytest.mark.torture
@_PRUNED
@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
def test_it_is_so_in_many_histories(tmp_path_factory, runs, later, said, stop) -> None:
    _check_traces(tmp_path_factory, runs, later, said, stop)


Runs = Sequence[tuple[str, str | None, bool, bool, str | None]]


def _check_traces(tmp_path_factory: pytest.TempPathFactory, runs: Runs, later: Runs, said: Mapping[str, Any], stop: int) -> None:
    history = History(tmp_path_factory.mktemp("history"))
    try:
        _check_after(history, runs, said, stop)
        _check_after(history, later[:4], said, stop)  # what reads and replaces what an earlier prune left
    finally:
        history.store.close()


def _check_after(history: History, runs: Runs, said: Mapping[str, Any], stop: int) -> None:
    """Make some more runs, prune, and compare."""
    for target, source, appends, groups, joins in runs:
        history.run(target, source, appends=appends, groups=groups, joins=joins)
    now = _START + timedelta(minutes=history.clock + 1)
    bytes_kept = history.store.catalog.prunable.bytes_kept(TENANT)
    policy = Policy(
        replaced_days=said["minutes"] * _MINUTE, older_days=said["older"] * _MINUTE, dataset=said["dataset"],
        most_bytes=None if said["left"] is None else int(bytes_kept * said["left"]),
    )  # fmt: skip
    gone_before = {job.capture for _, job in history.jobs if history.store.pruned(TENANT, [job.capture])}
    kept = history.kept(now, policy.replaced_days)
    assert gone_before.isdisjoint(job.capture for _, job in kept)
    before = history.traces(kept)
    wanted = prune.prune(history.store, TENANT, policy, by="ann", now=now, dry_run=True)
    assert history.traces(kept) == before
    with killed_at(stop):
        prune.prune(history.store, TENANT, policy, by="ann", now=now)
    history.reopen()
    assert history.traces(kept) == before
    prune.prune(history.store, TENANT, policy, by="ann", now=now)
    assert history.traces(kept) == before
    again = prune.prune(history.store, TENANT, policy, by="ann", now=now)
    assert not again.captures
    assert not again.finished
    gone = [(target, job) for target, job in history.jobs if history.store.pruned(TENANT, [job.capture])]
    if policy.most_bytes is None:  # otherwise the order decides which captures go, and a stopped prune begins anew
        assert len(gone) == sum(wanted.captures.values()) + len(gone_before)
    assert {job.capture for _, job in gone}.isdisjoint(job.capture for _, job in kept)
    for target, job in gone:
        if job.capture not in gone_before:
            assert _ended(job) < now - timedelta(days=policy.older_days)
            assert policy.dataset is None or fnmatchcase(str(history.root / target), policy.dataset)
    assert all(not list(history.store.table(TENANT, job.capture, 0).parent.glob("b*.parquet")) for _, job in gone)
    left = sum(f.stat().st_size for f in history.store.root.glob("*/*/*/b*.parquet"))
    assert history.store.catalog.prunable.bytes_kept(TENANT) == left
    history.store.rebuild(TENANT)  # all of it is in the folders
    assert history.traces(kept) == before
    assert not prune.prune(history.store, TENANT, policy, by="ann", now=now).captures


class Killed(BaseException):
    pass


@contextmanager
def killed_at(step: int) -> Iterator[None]:
    """Ends what is done at the n-th change that pruning makes: before it, or just after."""
    left = [step]

    def breaking(call: Callable[..., Any]) -> Callable[..., Any]:
        def broken(*args: Any, **named: Any) -> Any:
            left[0] -= 1
            if left[0] == 0:
                raise Killed
            result = call(*args, **named)
            left[0] -= 1
            if left[0] == 0:
                raise Killed
            return result

        return broken

    with pytest.MonkeyPatch.context() as patched:
        for name in ("mark", "hold", "gone"):
            patched.setattr(Prunable, name, breaking(getattr(Prunable, name)))
        patched.setattr(store_module, "write_durably", breaking(store_module.write_durably))
        patched.setattr(Path, "unlink", breaking(Path.unlink))
        with suppress(Killed):
            yield


def test_what_was_pruned_is_told_by_who_when_and_by_which_policy(history) -> None:
    history.run("a", None)
    history.run("b", "a")
    history.run("a", None)
    history.run("b", "a")
    first, second = history.jobs[0][1], history.jobs[1][1]
    now = _START + timedelta(days=2)
    report = prune.prune(history.store, TENANT, Policy(replaced_days=1), by="ann", now=now)
    assert sum(report.captures.values()) == 2
    assert tables(history.store) == 2
    wrote = history.store.files(TENANT, second.capture)[0].block.path
    back = history.ask(dataset=str(history.root / "b"), rows=[(wrote, 0)], as_of=second.run)
    assert not back.exact
    (said,) = [item for item in back.incomplete if item.effect != "unreadable"]  # the file itself is gone
    assert said.effect == "missing"
    assert said.what == "job:tests:to_b"
    for part in (second.run, "ann", "2026-01-03T00:00:00", "replaced 1 days ago"):
        assert part in said.reason
    raw = history.root / "raw" / "1.csv"
    on = history.ask(dataset=str(raw), rows=[(str(raw), 0)], forward=True)
    assert not on.exact
    assert first.run in on.incomplete[0].reason
    assert history.ask(dataset=str(history.root / "b"), where="true").exact


def test_the_policy_chooses_by_age_namespace_dataset_and_size(history) -> None:
    for _ in range(3):
        history.run("a", None)
        history.run("b", None)
    now = _START + timedelta(days=10)

    def dry(**policy: Any) -> int:
        return sum(prune.prune(history.store, TENANT, Policy(**policy), by="ann", now=now, dry_run=True).captures.values())

    assert dry() == 0
    assert dry(replaced_days=1) == 4
    assert dry(replaced_days=1, older_days=11) == 0
    assert dry(replaced_days=1, namespace="s3*") == 0
    assert dry(replaced_days=1, namespace="file", dataset="*/b") == 2
    size = history.store.catalog.prunable.bytes_kept(TENANT)
    assert dry(replaced_days=1, most_bytes=size) == 0
    assert dry(replaced_days=1, most_bytes=size - 1) == 1
    with pytest.raises(InvalidQueryError):
        Policy(replaced_days=-1)
    assert tables(history.store) == 6


def test_nothing_goes_that_only_some_partitions_or_a_refused_run_replaced(history) -> None:
    history.run("a", None)
    for said in ({"dynamic": True}, {"table": "d.t", "partition_columns": ["k"]}):
        job = Job(history.store, "part", 3, part="p", said=said)
        scan = job.scan(history.root / "raw" / "1.csv", "csv", COLUMNS, RAW)
        job.write(scan, history.root / "a", "parquet", list(COLUMNS), files=1)
    refused = Job(history.store, "refused", 4, part="q", status="refused")
    refused.write(refused.scan(history.root / "raw" / "1.csv", "csv", COLUMNS, RAW), history.root / "a", "parquet", list(COLUMNS), files=1)
    report = prune.prune(history.store, TENANT, Policy(replaced_days=0), by="ann", now=_START + timedelta(days=9))
    assert not report.captures


def test_how_a_file_of_nobodys_is_read_stays_known(history) -> None:
    history.run("a", None)
    history.run("a", None)
    report = prune.prune(history.store, TENANT, Policy(replaced_days=0), by="ann", now=_START + timedelta(days=9))
    assert sum(report.captures.values()) == 1
    raw = history.root / "raw" / "1.csv"
    answer = history.ask(dataset=str(raw), where="k = 'y'", forward=True)  # it has a header: the run that was pruned said so
    assert len(answer.selected) == 1
    assert not answer.exact
