"""An index of the datasets that captures read and wrote: their names, their latest captures, and their sources.

Traces use it through the catalog. Every query uses an index of the database, so its cost does not depend on the number of captures, and no
folder of a capture is opened.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from headwater.graph.associations import Behaviour, Manifest, Sink, Source
from headwater.graph.model import NodeKind, node_id, parse_id
from headwater.graph.records.batches import batched
from headwater.graph.records.safe_names import FileBlock, uri_of
from headwater.paths import path_of_dataset

_BATCH = 200  # datasets per statement: two parameters each, far below SQLite's limit
_FLOWS = ("flow", "handed")  # datasets made from others, and files that were written as part of another dataset
_LAST = "\U0010ffff"  # sorts after all other characters
_COLUMNS = "d.namespace, d.name, d.path"

Rows = Callable[[str, Sequence[object]], list[tuple[Any, ...]]]


@dataclass(frozen=True, slots=True)
class KnownDataset:
    """A dataset that a capture read or wrote. `path` comes from the capture that ended last."""

    namespace: str
    name: str
    path: str

    @property
    def id(self) -> str:
        return node_id(NodeKind.DATASET, self.namespace, self.name)


class KnownDatasets:
    """Queries for the datasets of a catalog. `rows` runs an SQL statement on the catalog."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows

    def count(self, tenant: str) -> int:
        return int(self._rows("SELECT count(*) FROM dataset WHERE tenant = ?", [tenant])[0][0])

    def called(self, tenant: str, text: str) -> list[KnownDataset]:
        datasets = self._find_by_id(tenant, text)
        datasets += self._found("d.name = ?", tenant, text)
        datasets += self._found("d.path = ?", tenant, uri_of(text))
        return list(dict.fromkeys(datasets))

    def named_table(self, tenant: str, table: str) -> list[KnownDataset]:
        """Return the datasets with a table name (`db.table`) in a table catalog. A name without a database is one of `default`."""
        name = table.lower().removeprefix("spark_catalog.")
        names = [name] if "." in name else [name, f"default.{name}"]
        rows = self._rows(
            f"SELECT {_COLUMNS} FROM alias a JOIN dataset d ON d.number = a.dataset WHERE a.tenant = ? AND a.name IN (?, ?)",
            [tenant, names[0], names[-1]],
        )
        return list(dict.fromkeys(KnownDataset(*row) for row in rows))

    def at(self, tenant: str, path: str) -> list[KnownDataset]:
        return self._found("d.path = ?", tenant, path)

    def ending(self, tenant: str, end: str) -> list[KnownDataset]:
        reversed_end = end[::-1]
        datasets = [
            dataset
            for column in ("name_back", "path_back")
            for dataset in self._found(f"d.{column} >= ? AND d.{column} < ?", tenant, reversed_end, reversed_end + _LAST)
        ]
        return list(dict.fromkeys(datasets))

    def starting(self, tenant: str, namespace: str, start: str) -> list[KnownDataset]:
        """Return the datasets of a namespace whose names start with a text."""
        return self._found("d.name >= ? AND d.name < ? AND d.namespace = ?", tenant, start, start + _LAST, namespace)

    def names(self, tenant: str, near: str, most: int) -> list[str]:
        """Return names of datasets: all, or the `most` names whose last part is close to `near` in the alphabet."""
        found: list[str] = []
        for comparison, order in ((">=", "ASC"), ("<", "DESC")):
            found += [
                row[0]
                for row in self._rows(
                    f"SELECT name FROM dataset WHERE tenant = ? AND leaf {comparison} ? ORDER BY leaf {order} LIMIT ?",
                    [tenant, leaf_of(near), most],
                )
            ]
        return found

    def latest(self, tenant: str, dataset: str, role: str, *, shaped: bool = True) -> str | None:
        """Return the last capture that wrote (`sink`) or read (`source`) a dataset. `shaped`: whether it states the columns."""
        rows = self._rows(
            "SELECT c.capture FROM use u JOIN capture c ON c.number = u.capture WHERE u.role = ? AND u.shaped = ? AND "
            "u.dataset = (SELECT number FROM dataset WHERE tenant = ? AND namespace = ? AND name = ?) "
            "ORDER BY u.ended DESC, u.capture DESC LIMIT 1", [role, shaped, tenant, *_parts(dataset)],
        )  # fmt: skip
        return str(rows[0][0]) if rows else None

    def captures(self, tenant: str, dataset: str, role: str) -> list[str]:
        """Return the captures that wrote (`sink`) or read (`source`) a dataset, the last first."""
        rows = self._rows(
            "SELECT c.capture FROM use u JOIN capture c ON c.number = u.capture WHERE u.role = ? AND u.dataset = "
            "(SELECT number FROM dataset WHERE tenant = ? AND namespace = ? AND name = ?) ORDER BY u.ended DESC, u.capture DESC",
            [role, tenant, *_parts(dataset)],
        )
        return [str(row[0]) for row in rows]

    def read_blocks(self, tenant: str, dataset: str, most: int) -> list[FileBlock]:
        """Return the blocks that captures read as part of a dataset, at most `most`."""
        rows = self._rows(
            "SELECT DISTINCT p.uri, t.length, t.modified FROM dataset d CROSS JOIN use u ON u.dataset = d.number AND u.role = 'source' "
            "CROSS JOIN consumed t ON t.capture = u.capture CROSS JOIN sourced s ON s.path = t.path AND s.length = t.length "
            "AND s.modified = t.modified AND s.dataset = d.number CROSS JOIN path p ON p.number = t.path "
            "WHERE d.tenant = ? AND d.namespace = ? AND d.name = ? LIMIT ?", [tenant, *_parts(dataset), most],
        )  # fmt: skip
        return [FileBlock(*row) for row in rows]

    def beyond(self, tenant: str, datasets: Iterable[str], *, forward: bool) -> dict[str, set[str]]:
        """Return the datasets that feed each dataset, or with `forward` the datasets that it feeds, by node id.

        One dataset feeds another if a capture made one from the other, or wrote files of one that were read as files of the other.
        """
        neighbours: dict[str, set[str]] = {}
        for part, table in product([*batched(dict.fromkeys(map(_parts, datasets)), _BATCH)], _FLOWS):
            for dataset, neighbour in self._join_datasets(table, tenant, part, forward=forward):
                neighbours.setdefault(dataset, set()).add(neighbour)
        return neighbours

    def written_as(self, tenant: str, dataset: str) -> set[str]:
        """Return other datasets whose written files captures read as part of this dataset."""
        return {other for _, other in self._join_datasets("handed", tenant, [_parts(dataset)], forward=False)}

    def _join_datasets(self, table: str, tenant: str, datasets: Sequence[tuple[str, str]], *, forward: bool) -> Iterator[tuple[str, str]]:
        from_column, to_column = ("input", "output") if forward else ("output", "input")
        rows = self._rows(
            f"{_find_asked(datasets)} SELECT d.namespace, d.name, o.namespace, o.name FROM asked a "
            "CROSS JOIN dataset d ON d.tenant = ? AND d.namespace = a.namespace AND d.name = a.name "
            f"CROSS JOIN {table} f ON f.{from_column} = d.number CROSS JOIN dataset o ON o.number = f.{to_column}",
            [*(text for names in datasets for text in names), tenant],
        )
        for namespace, name, *columns in rows:
            yield node_id(NodeKind.DATASET, namespace, name), node_id(NodeKind.DATASET, *columns)

    def fan(self, tenant: str, datasets: Collection[str], *, forward: bool, most: int) -> int:
        """Return the number of datasets that `beyond` would return. At most `most` are counted for each dataset."""
        column = "input" if forward else "output"
        return sum(
            self._rows(
                f"SELECT count(*) FROM (SELECT 1 FROM {table} WHERE {column} = "
                "(SELECT number FROM dataset WHERE tenant = ? AND namespace = ? AND name = ?) LIMIT ?)", [tenant, *_parts(dataset), most],
            )[0][0]
            for dataset in datasets
            for table in _FLOWS
        )  # fmt: skip

    def taken_by(self, tenant: str, dataset: str) -> set[str]:
        """Return the jobs (node ids) that read a dataset in captures with record lineage only. No capture was refused."""
        rows = self._rows(
            "SELECT j.namespace, j.name FROM dataset d JOIN taken t ON t.dataset = d.number AND t.refused = 0 "
            "JOIN job j ON j.number = t.job WHERE d.tenant = ? AND d.namespace = ? AND d.name = ?", [tenant, *_parts(dataset)],
        )  # fmt: skip
        return {node_id(NodeKind.JOB, *row) for row in rows}

    def refused_runs(self, tenant: str, jobs: Collection[str]) -> dict[str, set[str]]:
        """Return the runs of jobs (node ids) with a refused query whose output was not replaced since. It may have read any dataset."""
        runs: dict[str, set[str]] = {}
        for part in batched(dict.fromkeys(map(_parts, jobs)), _BATCH):
            rows = self._rows(
                f"{_find_asked(part)} SELECT a.namespace, a.name, c.run FROM asked a "
                "CROSS JOIN job j ON j.tenant = ? AND j.namespace = a.namespace AND j.name = a.name "
                "CROSS JOIN capture c ON c.job = j.number AND c.status = 'refused' AND c.replaced = ''",
                [*(text for names in part for text in names), tenant],
            )
            for namespace, name, run in rows:
                runs.setdefault(node_id(NodeKind.JOB, namespace, name), set()).add(run)
        return runs

    def outputs(self, tenant: str, datasets: Collection[str]) -> list[int]:
        numbers: list[int] = []
        for part in batched(dict.fromkeys(map(_parts, datasets)), _BATCH):
            rows = self._rows(
                f"{_find_asked(part)} SELECT d.number FROM asked a "
                "CROSS JOIN dataset d ON d.tenant = ? AND d.namespace = a.namespace AND d.name = a.name",
                [*(text for names in part for text in names), tenant],
            )
            numbers += [row[0] for row in rows]
        return numbers

    def _find_by_id(self, tenant: str, text: str) -> list[KnownDataset]:
        if not text.startswith(f"{NodeKind.DATASET}:") or text.count(":") != 2:
            return []
        return [dataset for dataset in self._found("d.namespace = ? AND d.name = ?", tenant, *_parts(text)) if dataset.id == text]

    def _found(self, condition: str, tenant: str, *values: object) -> list[KnownDataset]:
        return [
            KnownDataset(*row)
            for row in self._rows(f"SELECT {_COLUMNS} FROM dataset d WHERE d.tenant = ? AND {condition}", [tenant, *values])
        ]


@dataclass(frozen=True, slots=True)
class Use:
    """The fact that a capture read or wrote a dataset."""

    namespace: str
    name: str
    path: str
    role: str
    shaped: bool
    scanned: bool
    table: str | None = None


def uses_of(manifest: Manifest) -> list[Use]:
    """Return the datasets that a capture read and wrote, once for each role."""
    scanned = {operator.source for operator in manifest.operators if operator.behaviour is Behaviour.SOURCE}
    uses: dict[tuple[str, str, str], Use] = {}
    for source in manifest.sources:
        names, is_scanned = (source.dataset.namespace, source.dataset.name), source.source in scanned
        earlier_use = uses.get((*names, "source"))
        has_columns, is_scanned = bool(source.columns), is_scanned or (earlier_use is not None and earlier_use.scanned)
        has_columns, table = (
            has_columns or (earlier_use is not None and earlier_use.shaped),
            _table(source) or (earlier_use.table if earlier_use is not None else None),
        )
        uses[(*names, "source")] = Use(*names, _find_path(source), "source", has_columns, is_scanned, table)
    if (sink := manifest.sink) is not None:
        names = sink.dataset.namespace, sink.dataset.name
        uses[(*names, "sink")] = Use(*names, _find_path(sink), "sink", bool(sink.columns), False, _table(sink))
    return list(uses.values())


def _find_path(part: Source | Sink) -> str:
    """Return the path of the whole dataset, even if a capture read or wrote only a partition."""
    return uri_of(path_of_dataset(part.dataset.namespace, part.dataset.name) if part.within else part.path)


def _table(part: Source | Sink) -> str | None:
    """Return a dataset's name in the session's table catalog, in lower case. None for a dataset that is only named by its path."""
    table = part.extra.get("table")
    return table.lower().removeprefix("spark_catalog.") if isinstance(table, str) and table else None


def enter(database: sqlite3.Connection, tenant: str, manifest: Manifest, uses: Iterable[Use], job: int) -> tuple[dict[Use, int], int]:
    """Enter the datasets of a capture, and the flows between them.

    Return the number of each dataset, and the number of the dataset that the capture wrote (0 for none).
    """
    numbers = {use: _number(database, tenant, use, manifest.ended) for use in uses}
    output = next((number for use, number in numbers.items() if use.role == "sink"), 0)
    for use, number in numbers.items():
        if use.role != "source":
            continue
        database.execute(
            "INSERT INTO taken VALUES (?, ?, 1, ?) ON CONFLICT DO UPDATE SET captures = captures + 1, refused = refused + excluded.refused",
            [number, job, int(manifest.status == "refused")],
        )
        if use.scanned and output:
            database.execute("INSERT INTO flow VALUES (?, ?, 1) ON CONFLICT DO UPDATE SET captures = captures + 1", [number, output])
    return numbers, output


def strike(database: sqlite3.Connection, capture: int) -> None:
    """Undo `enter` for a capture, given by its number. A dataset is removed if no other capture reads or writes it."""
    ((job, output, refused),) = database.execute("SELECT job, output, status = 'refused' FROM capture WHERE number = ?", [capture])
    uses = database.execute("SELECT dataset, role, shaped, ended, scanned FROM use WHERE capture = ?", [capture]).fetchall()
    for dataset, role, shaped, ended, scanned in uses:
        if role == "source":
            row = [refused, dataset, job]
            database.execute("UPDATE taken SET captures = captures - 1, refused = refused - ? WHERE dataset = ? AND job = ?", row)
            database.execute("DELETE FROM taken WHERE dataset = ? AND job = ? AND captures = 0", row[1:])
        if scanned and output:
            database.execute("UPDATE flow SET captures = captures - 1 WHERE input = ? AND output = ?", [dataset, output])
            database.execute("DELETE FROM flow WHERE input = ? AND output = ? AND captures = 0", [dataset, output])
        key = [dataset, role, shaped, ended, capture]
        database.execute("DELETE FROM use WHERE dataset = ? AND role = ? AND shaped = ? AND ended = ? AND capture = ?", key)
        gone = database.execute(
            "DELETE FROM dataset WHERE number = ? AND NOT EXISTS (SELECT 1 FROM use WHERE dataset = ?)", [dataset, dataset]
        )
        if gone.rowcount:
            database.execute("DELETE FROM alias WHERE dataset = ?", [dataset])


def leaf_of(name: str) -> str:
    """Return the last part of a dataset name, in lower case. Similar names are searched by it."""
    return name.rstrip("/").rpartition("/")[2].lower()


def _number(database: sqlite3.Connection, tenant: str, use: Use, end_time: str) -> int:
    """Return the number of a dataset; a new dataset gets one. Its path is the path in the capture that ended last."""
    database.execute(
        "INSERT INTO dataset (tenant, namespace, name, path, ended, name_back, path_back, leaf) VALUES (?, ?, ?, ?, ?, ?, ?, ?) "
        "ON CONFLICT DO UPDATE SET path = excluded.path, path_back = excluded.path_back, ended = excluded.ended "
        "WHERE excluded.ended >= dataset.ended",
        [tenant, use.namespace, use.name, use.path, end_time, use.name[::-1], use.path[::-1], leaf_of(use.name)],
    )
    row = database.execute("SELECT number FROM dataset WHERE tenant = ? AND namespace = ? AND name = ?", [tenant, use.namespace, use.name])
    number = int(row.fetchone()[0])
    if use.table is not None:
        database.execute("INSERT OR IGNORE INTO alias VALUES (?, ?, ?)", [tenant, use.table, number])
    return number


def _parts(dataset: str) -> tuple[str, str]:
    _, (namespace, name) = parse_id(dataset)
    return namespace, name


def _find_asked(part: Sequence[object]) -> str:
    """Return SQL for a table of datasets at the begin of a statement. Join it by CROSS JOIN, so that SQLite starts with it."""
    return f"WITH asked (namespace, name) AS (VALUES {', '.join(['(?, ?)'] * len(part))})"
