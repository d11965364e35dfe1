"""Commits of real tables of Delta and Iceberg: Spark writes the shadow tables, and reads the real ones after a commit and an undo."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import Any

import pyspark
import pytest

from headwater.backend.rerun.replay.commit import check_places, commit, expire, undo
from headwater.backend.rerun.replay.compare import compare
from headwater.backend.rerun.replay.model import Replay, ReplayState, TableBase
from headwater.backend.rerun.replay.output_places import OutputPlaces
from headwater.backend.rerun.replay.output_places.writable_folder import LocalWritableFolder
from headwater.backend.rerun.replay.shadow_tables import delta, iceberg
from headwater.errors import SourceChangedError, UnsupportedError
from headwater.graph.files.delta_log import list_commits
from headwater.graph.records.roots import ANYWHERE, DataRoots
from headwater.spark_listener.shadow_paths import ShadowPaths
from tests import connectors
from tests.oracle.iceberg_history import CATALOG
from tests.oracle.laboratory import Laboratory, laboratory_in
from tests.spark_listener.delta import SETTINGS as DELTA

pytestmark = [
    pytest.mark.spark,
    pytest.mark.lake,
    pytest.mark.timeout(1200),
    pytest.mark.xdist_group("tables"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),  # py4j closes its sockets when they are collected
    pytest.mark.skipif(not pyspark.__version__.startswith("4.1."), reason="the connectors are those of Spark 4.1"),
]

_numbers = count()
MERGE = """
    MERGE INTO {t} t USING (SELECT 3 id, 2 k, 'm' s UNION ALL SELECT 9, 9, 'n') n ON t.id = n.id
    WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *
"""
BASE = "(1, 1, 'a'), (2, 1, 'b'), (3, 2, 'c')"


class KilledError(BaseException):
    """Ends a commit without any clean-up, as a crash would."""


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Laboratory]:
    """A session with both formats. The catalog `shadow` of Iceberg has the shadow of the warehouse of `lake`."""
    folder = tmp_path_factory.mktemp("tables")
    shadow = ShadowPaths(str(folder / "replays" / "data")).folder(f"{folder}/lake")
    catalogs = {name.replace(".lake", f".{kind}"): text for kind in ("lake", "shadow") for name, text in CATALOG.items()}
    conf = {
        **DELTA, **catalogs, **connectors.CONF,
        "spark.sql.extensions": f"{DELTA['spark.sql.extensions']},{CATALOG['spark.sql.extensions']}",
        "spark.sql.catalog.lake.warehouse": f"{folder}/lake", "spark.sql.catalog.shadow.warehouse": f"file:{shadow}",
        "spark.sql.catalog.lake.cache-enabled": "false", "spark.sql.catalog.shadow.cache-enabled": "false",
        "spark.sql.warehouse.dir": f"{folder}/warehouse",
    }  # fmt: skip
    with laboratory_in(folder, budget=0.0, submitted=connectors.submitted(), conf=conf) as laboratory, laboratory.without_capture():
        yield laboratory


class Case:
    """A table with some rows, and a run that wrote more. `statements` of a replay act on the shadow table."""

    def __init__(self, lake: Laboratory, kind: str, properties: str = "") -> None:
        self.lake, self.kind, self.name = lake, kind, f"t {next(_numbers)}".replace(" ", "_")
        self.place = lake.folder / ("lake/db/" if kind == "Iceberg" else "delta #1/") / self.name
        self.dataset = f"dataset:file:{str(self.place).replace('%', '%25').replace('#', '%23').replace(' ', '%20')}"
        self.shadow_root = lake.folder / "replays" / "data"
        self.shadow = ShadowPaths(str(self.shadow_root)).folder(str(self.place))
        self.table, self.shadow_table = (
            (f"lake.db.{self.name}", f"shadow.db.{self.name}") if kind == "Iceberg" else (f"delta.`{self.place}`", f"delta.`{self.shadow}`")
        )
        self.sql(f"CREATE TABLE {self.table} (id INT, k INT, s STRING) USING {kind.lower()} PARTITIONED BY (k) {properties}")
        self.sql(f"INSERT INTO {self.table} VALUES {BASE}")
        self.base = self.newest()
        self.sql(f"INSERT INTO {self.table} VALUES (4, 2, 'wrong')")
        self.folder = lake.folder / f"replays-{self.name}" / ("a" * 32)

    def sql(self, text: str) -> Any:
        return self.lake.spark.sql(text)

    def newest(self) -> int:
        if self.kind == "Delta":
            return max(list_commits(str(path) for path in (self.place / "_delta_log").iterdir()))
        return int(iceberg.read_newest(ANYWHERE.look(), str(self.place))["current-snapshot-id"])

    def rows(self) -> list[tuple[Any, ...]]:
        return sorted(tuple(row) for row in self.sql(f"SELECT * FROM {self.table}").collect())

    def replay(self, *statements: str) -> Replay:
        lay = {"Delta": delta.lay, "Iceberg": iceberg.lay}[self.kind]
        base = TableBase(dataset=self.dataset, kind=self.kind, version=self.base)
        lay(base, str(self.place), self.shadow, ANYWHERE.look())
        before = {path: path.stat().st_mtime_ns for path in self.place.rglob("*")}
        for statement in statements:
            self.sql(statement.format(t=self.shadow_table))
        assert {path: path.stat().st_mtime_ns for path in self.place.rglob("*")} == before, "the real table is untouched"
        self.folder.mkdir(parents=True)
        places, states = OutputPlaces(ANYWHERE).states([self.dataset])
        assert places == {self.dataset: self.kind.lower()}
        return Replay(
            id=self.folder.name, tenant="t", output=self.dataset, started_at=datetime.now(UTC).isoformat(), shadow=str(self.shadow_root),
            process=os.getpid(), exclude={}, state=ReplayState.COMPLETE, changed=[self.dataset], before=states, places=places,
        )  # fmt: skip


OLD = [(1, 1, "a"), (2, 1, "b"), (3, 2, "c"), (4, 2, "wrong")]
RIGHT = "INSERT INTO {t} VALUES (4, 2, 'right')"
NEW = [(1, 1, "a"), (2, 1, "b"), (3, 2, "c"), (4, 2, "right")]


@pytest.fixture(params=["Delta", "Iceberg"])
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_an_append_is_repeated_on_the_rows_before_it_and_committed_and_undone(lake: Laboratory, kind: str) -> None:
    case = Case(lake, kind)
    replay = case.replay(RIGHT)
    found, number = compare(case.dataset, case.place, case.shadow, sources=DataRoots.of([lake.folder]))
    assert number == 1
    assert [(one.before, one.after) for one in found] == [({"id": 4, "k": 2, "s": "wrong"}, {"id": 4, "k": 2, "s": "right"})]
    check_places(replay)
    assert commit(replay, case.folder, keep_days=1).folders[0].notes
    assert case.rows() == NEW
    undo(replay.id, case.folder)
    assert case.rows() == OLD
    case.sql(f"INSERT INTO {case.table} VALUES (5, 5, 'later')")
    assert case.rows() == [*OLD, (5, 5, "later")], "the table can be written as before"


@pytest.mark.parametrize(
    ("statements", "expected"),
    [
        pytest.param(["DELETE FROM {t} WHERE id = 2", RIGHT], [NEW[0], *NEW[2:]], id="delete"),
        pytest.param(["UPDATE {t} SET s = 'u' WHERE k = 1"], [(1, 1, "u"), (2, 1, "u"), (3, 2, "c")], id="update"),
        pytest.param([MERGE], [(1, 1, "a"), (2, 1, "b"), (3, 2, "m"), (9, 9, "n")], id="merge"),
        pytest.param(["INSERT OVERWRITE {t} VALUES (7, 7, 'o')"], None, id="overwrite"),
        pytest.param(["DELETE FROM {t}"], [], id="empty"),
    ],
)
@pytest.mark.parametrize("is_copied", [pytest.param(True, marks=pytest.mark.slow), False])
def test_each_change_of_a_table_is_committed(
    lake: Laboratory, kind: str, is_copied: bool, statements: list[str], expected: list[Any] | None
) -> None:
    """Rows are deleted by new files, or by deletion vectors and delete files."""
    properties = {
        ("Delta", False): "TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')",
        ("Iceberg", False): "TBLPROPERTIES ('format-version' = '2', 'write.delete.mode' = 'merge-on-read', "
        "'write.update.mode' = 'merge-on-read', 'write.merge.mode' = 'merge-on-read')",
    }
    case = Case(lake, kind, properties.get((kind, is_copied), ""))
    replay = case.replay(*statements)
    wanted = sorted(tuple(row) for row in case.sql(f"SELECT * FROM {case.shadow_table}").collect())
    assert expected is None or wanted == expected
    commit(replay, case.folder, keep_days=1)
    assert case.rows() == wanted
    undo(replay.id, case.folder)
    assert case.rows() == OLD


def test_a_column_that_the_replay_adds_is_committed_and_taken_back(lake: Laboratory, kind: str) -> None:
    case = Case(lake, kind)
    replay = case.replay("ALTER TABLE {t} ADD COLUMNS (w INT)", "INSERT INTO {t} VALUES (4, 2, 'right', 8)")
    commit(replay, case.folder, keep_days=1)
    assert case.rows() == [*((*row, None) for row in NEW[:3]), (*NEW[3], 8)]
    undo(replay.id, case.folder)
    assert case.rows() == OLD


@pytest.mark.parametrize("action", ["commit", "undo"])
def test_rows_of_another_program_are_never_lost(lake: Laboratory, kind: str, action: str) -> None:
    case = Case(lake, kind)
    replay = case.replay(RIGHT)
    if action == "undo":
        commit(replay, case.folder, keep_days=1)
    case.sql(f"INSERT INTO {case.table} VALUES (5, 5, 'late')")
    with pytest.raises(SourceChangedError, match="nothing was replaced"):
        undo(replay.id, case.folder) if action == "undo" else commit(replay, case.folder, keep_days=1)
    assert case.rows() == [*(NEW if action == "undo" else OLD), (5, 5, "late")]


@pytest.mark.parametrize(("step", "when"), [("put", "after"), ("create", "after")])
def test_a_killed_commit_shows_whole_rows_and_can_be_run_again(
    lake: Laboratory, kind: str, step: str, when: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = Case(lake, kind)
    replay = case.replay(RIGHT)
    original: Callable[..., Any] = getattr(LocalWritableFolder, step)

    def call(*arguments: Any) -> None:
        if when == "after":
            original(*arguments)
        raise KilledError

    with monkeypatch.context() as patch, suppress(KilledError):
        patch.setattr(LocalWritableFolder, step, call)
        commit(replay, case.folder, keep_days=1)
    assert case.rows() == (NEW if (step, when) == ("create", "after") else OLD)
    expire(case.folder.parent)
    assert case.rows() in (OLD, NEW)
    commit(replay, case.folder, keep_days=1)
    assert case.rows() == NEW
    undo(replay.id, case.folder)
    assert case.rows() == OLD


def test_an_undo_after_the_files_were_removed_is_refused(lake: Laboratory, kind: str) -> None:
    case = Case(lake, kind)
    replay = case.replay("INSERT OVERWRITE {t} VALUES (7, 7, 'o')")
    commit(replay, case.folder, keep_days=1)
    rows = case.rows()
    if kind == "Delta":
        for path in case.place.glob("k=*/*.parquet"):
            if "k=7" not in str(path):
                path.unlink()
    else:
        case.sql(f"CALL lake.system.expire_snapshots(table => 'db.{case.name}', older_than => TIMESTAMP '2100-01-01 00:00:00')")
    with pytest.raises((UnsupportedError, SourceChangedError)):
        undo(replay.id, case.folder)
    assert case.rows() == rows


def test_a_table_of_another_catalog_is_refused_by_name(lake: Laboratory) -> None:
    case = Case(lake, "Iceberg")
    replay = case.replay(RIGHT)
    newest = max((case.place / "metadata").glob("v*.metadata.json"), key=lambda path: int(path.name[1:].partition(".")[0]))
    newest.rename(newest.with_name(f"0000{newest.name[1:].partition('.')[0]}-abc.metadata.json"))
    with pytest.raises(UnsupportedError, match="another catalog"):
        check_places(replay)


def test_the_base_of_a_run_is_the_snapshot_before_it(lake: Laboratory, tmp_path: Path) -> None:
    case = Case(lake, "Iceberg")
    look, place, written = ANYWHERE.look, str(case.place), case.newest()
    assert iceberg.find_base("d", place, [written], None, look()).version == case.base
    assert iceberg.find_base("d", place, [case.base, written], None, look()).version is None
    assert iceberg.find_base("d", place, [case.base, written], 1e15, look()).version == -1
    assert iceberg.find_base("d", place, [case.base], None, look()).later == f"snapshot {written}"
    replay = case.replay(RIGHT)
    commit(replay, case.folder, keep_days=1)
    assert not iceberg.find_base("d", place, [written], None, look()).later, "the commit of a replay may be replaced by that of another"
    undo(replay.id, case.folder)
    assert iceberg.find_base("d", place, [written], None, look()).version == case.base
