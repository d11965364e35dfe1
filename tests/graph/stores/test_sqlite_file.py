"""Particulars of a file: several processes, damage, age."""

from __future__ import annotations

import asyncio
import sqlite3
import sys
from pathlib import Path

import pytest

from headwater.errors import ConfigurationError, DamagedError, HeadwaterError, UnavailableError
from headwater.graph.index import open_indexed
from headwater.graph.model import Edge, EdgeKind, GraphBatch, Node, NodeKind, Stamp, node_id
from headwater.graph.model.ids import id_ranges
from headwater.graph.search import Order, SearchRequest
from headwater.graph.stores import Direction, open_store
from headwater.graph.stores.change_log import pack
from headwater.graph.stores.rollups import Lens
from headwater.graph.stores.sqlite import changes, connections, read
from headwater.graph.stores.sqlite.find import find
from headwater.graph.stores.sqlite.latest import latest_at
from headwater.graph.stores.sqlite.migrations import MIGRATIONS
from tests.graph.stores.samples import FLOWS, PIPELINE, contains, dataset, node, stamp

WRITER = """
import asyncio, sys
from headwater.graph.model import Edge, EdgeKind, GraphBatch, Node, NodeKind, Stamp
from headwater.graph.model import Edge, EdgeKind, GraphBatch, Node, NodeKind, Stamp
from headwater.graph.stores import Direction, open_store

async def main(url, name):
    store = open_store(url)
    await store.open()
    for index in range(40):
        run = f"run:{name}-{index}"
        stamp = Stamp(f"2026-01-01T00:00:00.{index:06}Z", name)
        shared = Node("job:n:shared", NodeKind.JOB, "shared", {name: index})
        await store.apply("t", [GraphBatch(stamp, [shared], [Edge("job:n:shared", run, EdgeKind.CONTAINS)])], offset=index)
    await store.close()

asyncio.run(main(*sys.argv[1:]))
"""


async def test_several_processes_write_one_new_file(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/graph.db"
    writers = [await asyncio.create_subprocess_exec(sys.executable, "-c", WRITER, url, name) for name in ("a", "b", "c", "d")]
    assert [await asyncio.wait_for(writer.wait(), 300) for writer in writers] == [0, 0, 0, 0]
    store = open_store(url)
    await store.open()
    try:
        assert await store.counts("t") == {"job": 1, "run": 160}
        assert (await store.get("t", ["job:n:shared"]))[0].properties == dict.fromkeys("abcd", 39)
    finally:
        await store.close()


async def test_readers_see_whole_batches_while_one_writes(tmp_path: Path) -> None:
    store = open_store(f"sqlite:///{tmp_path}/graph.db")
    await store.open()
    try:
        writing = asyncio.gather(*(store.apply(f"t{index}", [PIPELINE]) for index in range(30)))
        seen = [await store.counts(f"t{index}") for index in range(30)]
        await writing
        assert all(found in ({}, {"dataset": 5, "job": 3}) for found in seen)
        assert [await store.counts(f"t{index}") for index in range(30)] == [{"dataset": 5, "job": 3}] * 30
    finally:
        await store.close()


async def test_a_file_of_a_newer_headwater_is_refused(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "graph.db") as file:
        file.execute("PRAGMA user_version = 99")
    file.close()
    await refused(tmp_path, "Upgrade Headwater", ConfigurationError)


async def test_a_file_that_is_no_database_is_refused(tmp_path: Path) -> None:
    (tmp_path / "graph.db").write_bytes(b"something else" * 100)
    await refused(tmp_path, "graph.db is damaged: file is not a database", DamagedError)


async def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    await refused(tmp_path / "nowhere", "nowhere.*cannot be opened", ConfigurationError)


async def refused(folder: Path, why: str, kind: type[HeadwaterError]) -> None:
    store = open_store(f"sqlite:///{folder}/graph.db")
    with pytest.raises(kind, match=why):
        await store.open()
    await store.close()


async def test_a_lock_that_stays_is_reported_as_transient(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "_BUSY_SECONDS", 0.1)
    store = open_store(f"sqlite:///{tmp_path}/graph.db")
    await store.open()
    other = sqlite3.connect(tmp_path / "graph.db", isolation_level=None)
    try:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(UnavailableError) as failure:
            await store.apply("t", [PIPELINE])
        assert failure.value.transient
        assert await store.get("t", [dataset("weather")]) == []
        other.execute("ROLLBACK")
        await store.apply("t", [PIPELINE])
    finally:
        other.close()
        await store.close()


async def test_a_file_of_an_older_headwater_is_brought_up_to_date_and_loses_nothing(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "graph.db", isolation_level=None) as file:
        for statement in MIGRATIONS[0]:
            file.execute(statement)
        file.execute("PRAGMA user_version = 1")
        stamps = '[[0,"2026-01-01T00:00:01.000000Z","k",["","rows"]]]'
        file.execute("INSERT INTO node VALUES (1, 't', 'dataset:f:a', 'dataset', 'A', 'a', '{\"rows\":1}', ?)", (stamps,))
        file.execute("INSERT INTO node VALUES (2, 't', 'job:n:j', 'job', 'j', 'j', '{}', '[]')")
        for key, tenant in ((3, "t"), (4, "u")):
            file.execute("INSERT INTO node VALUES (?, ?, 'dataset:f:w', 'dataset', 'Weather', 'weather', '{}', '[]')", (key, tenant))
        file.execute("INSERT INTO edge (tenant, dst, kind, src) VALUES ('t', 2, 'reads', 1)")
        how = '[[0,"2026-01-01T00:00:01.000000Z","k",["how"]]]'
        file.execute("INSERT INTO edge VALUES ('t', 1, 'writes', 2, '{\"how\":\"x\"}', ?)", (how,))
    file.close()
    store = open_store(f"sqlite:///{tmp_path}/graph.db")
    assert await store.open() == list(range(2, len(MIGRATIONS) + 1))
    assert await store.open() == []
    try:
        assert await store.get("t", ["dataset:f:a", "job:n:j"]) == [
            Node("dataset:f:a", NodeKind.DATASET, "A", {"rows": 1}),
            Node("job:n:j", NodeKind.JOB, "j"),
        ]
        edges = await store.neighbours("t", ["job:n:j"], direction=Direction.BOTH, kinds=list(EdgeKind))
        assert {(edge.src, edge.dst, edge.kind): dict(edge.properties) for edge in edges} == {
            ("dataset:f:a", "job:n:j", EdgeKind.READS): {},
            ("job:n:j", "dataset:f:a", EdgeKind.WRITES): {"how": "x"},
        }
        for tenant in ("t", "u"):
            assert [node.id for node in (await store.search(tenant, "EATH")).nodes] == ["dataset:f:w"]
        older = Stamp("2026-01-01T00:00:00.000000Z", "k")
        late = Edge("job:n:j", "dataset:f:a", EdgeKind.WRITES, {"how": "older", "by": "y"})
        await store.apply("t", [GraphBatch(older, [Node("dataset:f:a", NodeKind.DATASET, "older", {"rows": 0})], [late])])
        assert [node.name for node in await store.get("t", ["dataset:f:a"])] == ["A"]
        (edge,) = await store.neighbours("t", ["job:n:j"], direction=Direction.DOWNSTREAM, kinds=[EdgeKind.WRITES])
        assert edge.properties == {"how": "x", "by": "y"}
    finally:
        await store.close()


async def test_the_latest_are_found_without_a_look_at_all_that_is_contained(tmp_path: Path) -> None:
    """A dataset of 20,000 versions: the steps that SQLite takes for a few of them are counted, not the time."""
    store = open_store(f"sqlite:///{tmp_path}/graph.db")
    await store.open()
    edges = [(f"2026-01-01T{n // 3600:02}:{n // 60 % 60:02}:{n % 60:02}.000000Z", f"version:file:a:{n}") for n in range(20_000)]
    await store.apply("t", [GraphBatch(Stamp(time, "k"), edges=[contains(dataset("a"), version)], by="r") for time, version in edges])
    await store.close()
    with sqlite3.connect(tmp_path / "graph.db") as file:
        counted = 0

        def count() -> None:
            nonlocal counted
            counted += 1

        file.set_progress_handler(count, 100)
        moments = [(dataset("a"), time) for time, _ in edges[1_000::1_000]]
        found = latest_at(file, "t", moments, NodeKind.VERSION, 3)
    file.close()
    ids = [[node.id for node in found[moment]] for moment in moments]
    assert ids == [[f"version:file:a:{n - back}" for back in range(3)] for n in range(1_000, 20_000, 1_000)]
    assert counted < 200  # hundreds of steps; one look at each version is more than 2,000


async def test_the_log_of_an_older_file_is_read_on_and_grows_no_further(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file of schema 5, with a log that knew no bytes."""
    with sqlite3.connect(tmp_path / "graph.db", isolation_level=None) as file:
        for step in MIGRATIONS[:5]:
            for statement in step:
                file.execute(statement)
        file.execute("PRAGMA user_version = 5")
        file.executemany("INSERT INTO change (revision, nodes) VALUES (?, ?)", [(revision, pack([1])) for revision in (7, 8, 9)])
    file.close()
    monkeypatch.setattr(changes, "LOGGED_BYTES", 100)
    store = open_indexed(f"sqlite:///{tmp_path}/graph.db", index_bytes=1 << 26)
    await store.open()
    try:
        for number in range(20):
            await store.apply("t", [GraphBatch(stamp(number), [node(dataset(f"d{number}"), rows=number)])])
            reached = await store.reach("t", [dataset(f"d{number}")], direction=Direction.UPSTREAM, kinds=FLOWS, depth=1, limit=9)
            assert [each.properties for each in reached.nodes] == [{"rows": number}]
        with sqlite3.connect(tmp_path / "graph.db") as file:
            logged = file.execute("SELECT revision, length(nodes) FROM change ORDER BY revision").fetchall()
        file.close()
        assert [revision for revision, _ in logged] == list(range(30 - len(logged), 30))
        assert 0 < sum(length for _, length in logged) <= 100
    finally:
        await store.close()


async def test_a_file_of_schema_8_gets_the_map_of_its_lake(tmp_path: Path) -> None:
    store = open_store(f"sqlite:///{tmp_path}/graph.db")
    await store.open()
    await store.apply("t", [PIPELINE])
    maps = [await store.lake_map("t", lens) for lens in Lens]
    asked = SearchRequest(kinds=(NodeKind.DATASET,), order=Order.WEIGHT)
    heaviest = [hit.node.id for hit in (await store.find("t", asked)).hits]
    await store.close()
    assert maps[0].flows
    with sqlite3.connect(tmp_path / "graph.db", isolation_level=None) as file:
        for table in ("map_group", "map_side", "map_flow"):
            file.execute(f"DROP TABLE {table}")
        for index in ("entry_by_weight", "entry_by_pipeline"):
            file.execute(f"DROP INDEX {index}")
        file.execute("ALTER TABLE entry DROP COLUMN weight")
        file.execute("PRAGMA user_version = 8")
    file.close()
    store = open_store(f"sqlite:///{tmp_path}/graph.db")
    assert await store.open() == list(range(9, len(MIGRATIONS) + 1))
    try:
        assert [await store.lake_map("t", lens) for lens in Lens] == maps
        assert [hit.node.id for hit in (await store.find("t", asked)).hits] == heaviest
    finally:
        await store.close()


async def test_what_was_logged_last_stays_however_long_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(changes, "LOGGED_BYTES", 1)
    store = open_indexed(f"sqlite:///{tmp_path}/graph.db", index_bytes=1 << 26)
    await store.open()
    try:
        await store.apply("t", [PIPELINE])
        await store.reach("t", [dataset("out")], direction=Direction.UPSTREAM, kinds=FLOWS, depth=9, limit=99)
        await store.apply("t", [GraphBatch(stamp(9), [node(dataset("out"), "out", rows=9)])])
        reached = await store.reach("t", [dataset("out")], direction=Direction.UPSTREAM, kinds=FLOWS, depth=0, limit=99)
        assert [each.properties for each in reached.nodes] == [{"rows": 9}]
        with sqlite3.connect(tmp_path / "graph.db") as file:
            assert file.execute("SELECT revision FROM change").fetchall() == [(2,)]
        file.close()
    finally:
        await store.close()


@pytest.mark.parametrize(
    "chosen", [{"pipelines": ("pipeline:air:small",)}, {"owners": ("team",)}, {"pipelines": ("pipeline:air:small",), "owners": ("team",)}]
)
async def test_a_list_of_a_pipeline_or_an_owner_reads_only_its_nodes(tmp_path: Path, chosen: dict[str, tuple[str, ...]]) -> None:
    store = open_store(f"sqlite:///{tmp_path}/graph.db")
    await store.open()
    owned = {"ownership": {"owners": [{"name": "team"}]}}
    stamp = Stamp("2026-01-01T00:00:00.000000Z", "1")

    async def add(pipeline: str, count: int, about: dict[str, object]) -> None:
        names = [f"{pipeline}.{number}" for number in range(count)]
        jobs = [Node(node_id(NodeKind.JOB, "air", name), NodeKind.JOB, name, about) for name in names]
        edges = [Edge(f"pipeline:air:{pipeline}", job.id, EdgeKind.CONTAINS) for job in jobs]
        await store.apply("t", [GraphBatch(stamp, jobs, edges)])

    def count_steps(order: Order) -> int:
        steps = 0

        def step() -> int:
            nonlocal steps
            steps += 1
            return 0

        with sqlite3.connect(tmp_path / "graph.db") as file:
            file.set_progress_handler(step, 10)
            found = find(file, "t", SearchRequest(kinds=(NodeKind.JOB,), order=order, **chosen), 50, None, None)  # type: ignore[arg-type]
        file.close()
        assert found.total == 20
        return steps

    await add("small", 20, owned)
    before = {order: count_steps(order) for order in Order}
    await add("large", 2_000, {})
    after = {order: count_steps(order) for order in Order}
    await store.close()
    assert all(after[order] < 1.5 * before[order] for order in Order), (before, after)


async def test_reading_the_whole_graph_takes_steps_in_proportion_to_its_nodes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Counted in steps of SQLite's machine. Another tenant's nodes are not read."""
    monkeypatch.setattr(read, "_PORTION", 50)
    store = open_store(f"sqlite:///{tmp_path}/graph.db")
    await store.open()
    try:
        steps = []
        for tenant, count in (("small", 500), ("large", 2_000)):
            nodes = [node(dataset(str(number))) for number in range(count)]
            await store.apply(tenant, [GraphBatch(stamp(1), nodes, [])])
        for tenant, count in (("small", 500), ("large", 2_000)):
            with sqlite3.connect(tmp_path / "graph.db") as connection:
                ((last, until),) = id_ranges()
                found = []
                connection.set_progress_handler(lambda: steps.append(tenant), 10)  # noqa: B023  # it is called within the round
                while last is not None:
                    portion, last = read.dump(connection, tenant=tenant, after=last, until=until)
                    found += portion.nodes
            assert len(found) == len({identifier for identifier, *_ in found}) == count
        assert steps.count("large") < 5 * steps.count("small")
    finally:
        await store.close()
