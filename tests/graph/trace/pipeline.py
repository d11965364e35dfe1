"""A pipeline in the image of the demo's (clean, windows, joins, aggregates), and what its lineage must be.

`Oracle` works the lineage out by nested loops over the raw rows and shares no code with capture or trace. From what was written it
takes only the order of records, which decides first rows.
"""

from __future__ import annotations

import random
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from headwater.graph.records import AssociationStore
from tests.graph.jobs import Job, Relation, Row, write_csv

WEATHER = {"origin": "string", "day": "int", "hour": "int", "wind": "double", "visib": "int"}
FLIGHTS = {"origin": "string", "number": "int", "carrier": "string", "tail": "string", "delay": "int"}
PLANES = {"tail": "string", "seats": "int"}
CARRIERS = {"carrier": "string", "name": "string"}
HOURLY = {**WEATHER, "day_wind": "double", "before": "double", "recent_max": "double", "swing": "double"}
ENRICHED = {**FLIGHTS, "seats": "int", "name": "string"}
RAW = {"header": "true", "nullvalue": "NA"}
WHOLE = {"unit": "rows", "start": None, "end": None}
ONE_BACK = {"unit": "rows", "start": -1, "end": -1}
TWO_DAYS = {"unit": "range", "start": "-1", "end": 0}

Record = tuple[str, int]


def build(store: AssociationStore, root: Path, seed: int) -> Oracle:
    """Run the pipeline over random raw data."""
    rnd = random.Random(seed)
    winds = [None, 1.5, 2.0, 7.25, 9.0]
    weather = [[o, d, h, rnd.choice(winds), rnd.randint(0, 3)] for o in "AB" for d in range(4) for h in range(rnd.randint(1, 5))]
    flights = [
        [rnd.choice("ABC"), n, rnd.choice("XYZ"), rnd.choice(["t1", "t2", "t3", None]), rnd.choice([None, -2, 5, 40, 40])]
        for n in range(25)
    ]
    raw = root / "raw"
    write_csv(raw / "weather.csv", list(WEATHER), weather)
    write_csv(raw / "flights.csv", list(FLIGHTS), flights)
    write_csv(raw / "planes.csv", list(PLANES), [["t1", 100], ["t2", 50], ["t9", 1]])
    write_csv(raw / "carriers.csv", list(CARRIERS), [["X", "Xair"], ["Y", "Yair"]])
    size = (raw / "weather.csv").stat().st_size
    clean(store, root, "weather", WEATHER, 1, splits={"weather.csv": [0, size // 3, 2 * size // 3]})
    clean(store, root, "flights", FLIGHTS, 2)
    clean(store, root, "planes", PLANES, 3)
    clean(store, root, "carriers", CARRIERS, 4)
    hourly(store, root)
    enrich(store, root)
    report(store, root)
    return Oracle(root, weather, flights)


def clean(store: AssociationStore, root: Path, name: str, columns: dict[str, str], clock: int, **options: Any) -> None:
    job = Job(store, f"clean_{name}", clock)
    scan = job.scan(root / "raw" / f"{name}.csv", "csv", columns, RAW, **options)
    kept = job.filter(scan, lambda v: v.get("hour") != 3, ["hour"]) if "hour" in columns else scan
    job.write(kept, root / "clean" / name, "parquet", list(columns))


def hourly(store: AssociationStore, root: Path) -> None:
    job = Job(store, "hourly", 5)
    scan = job.scan(root / "clean" / "weather", "parquet", WEATHER)
    day = job.window(
        scan,
        ["origin", "day"],
        [],
        {"day_wind": (job.aggregation("avg", job.attr(scan, "wind")), 0, lambda m, i: _mean(m), "double")},
        [WHOLE],
    )
    lag = job.function("lag", job.attr(day, "wind"), job.literal(1, "int"))
    before = job.window(
        day, ["origin"], ["day", "hour"], {"before": (lag, 0, lambda m, i: m[i - 1].values["wind"] if i else None, "double")}, [ONE_BACK]
    )

    def bounds(_: int, members: list[Row], index: int) -> tuple[int, int]:
        at = members[index].values["day"]
        inside = [n for n, row in enumerate(members) if at - 1 <= row.values["day"] <= at]
        return inside[0], inside[-1]

    def recent(members: list[Row], index: int) -> float | None:
        low, high = bounds(0, members, index)
        return max((row.values["wind"] for row in members[low : high + 1] if row.values["wind"] is not None), default=None)

    greatest = job.aggregation("max", job.attr(before, "wind"))
    ranged = job.window(before, ["origin"], ["day"], {"recent_max": (greatest, 0, recent, "double")}, [TWO_DAYS], bounds)
    swing = job.function("lag", job.attr(ranged, "day_wind"), job.literal(1, "int"))
    last = job.window(
        ranged,
        ["origin"],
        ["day", "hour"],
        {"swing": (swing, 0, lambda m, i: m[i - 1].values["day_wind"] if i else None, "double")},
        [ONE_BACK],
    )
    job.write(last, root / "hourly", "parquet", list(HOURLY))


def enrich(store: AssociationStore, root: Path) -> None:
    job = Job(store, "enrich", 6)
    flights = job.scan(root / "clean" / "flights", "parquet", FLIGHTS)
    planes = job.scan(root / "clean" / "planes", "parquet", PLANES)
    carriers = job.scan(root / "clean" / "carriers", "parquet", CARRIERS)
    joined = job.join(job.join(flights, planes, [("tail", "tail")], "left"), carriers, [("carrier", "carrier")])
    job.write(joined, root / "enriched", "parquet", list(ENRICHED), partition_by="origin")


def report(store: AssociationStore, root: Path) -> None:
    job = Job(store, "report", 7)
    weather = job.scan(root / "hourly", "parquet", HOURLY)
    flights = job.scan(root / "enriched", "parquet", ENRICHED, partition_columns=["origin"])
    hours = job.aggregate(weather, ["origin"], {
        "hours": (job.aggregation("count", job.literal(1, "int")), len, "bigint"),
        "max_wind": (job.aggregation("max", job.attr(weather, "wind")), lambda rows: _extreme(rows, "wind", max), "double"),
        "min_visib": (job.aggregation("min", job.attr(weather, "visib")), lambda rows: _extreme(rows, "visib", min), "int"),
        "peak": (job.aggregation("max", job.attr(weather, "recent_max")), lambda rows: _extreme(rows, "recent_max", max), "double"),
    })  # fmt: skip

    def late_ones(rows: list[Row]) -> int:
        return sum(1 for row in rows if (row.values["delay"] or 0) > 10)

    late = job.function(">", job.attr(flights, "delay"), job.literal(10, "int"), kind="boolean")
    delays = job.aggregate(flights, ["origin"], {
        "flights": (job.aggregation("count", job.literal(1, "int")), len, "bigint"),
        "max_delay": (job.aggregation("max", job.attr(flights, "delay")), lambda rows: _extreme(rows, "delay", max), "int"),
        "carriers": (job.aggregation("count", job.attr(flights, "carrier"), distinct=True), _distinct, "bigint"),
        "late": (job.aggregation("count", job.literal(1, "int"), filter=late), late_ones, "bigint"),
    })  # fmt: skip
    # The two sides' keys are one name in the result, as after USING.
    left = Relation(hours.operator, hours.columns, hours.rows, hours.refs)
    joined = job.join(left, delays, [("origin", "origin")], "left")
    columns = ["origin", "hours", "max_wind", "min_visib", "peak", "flights", "max_delay", "carriers", "late"]
    job.write(joined, root / "report", "csv", columns, files=1)


class Oracle:
    """Influence and witness of hourly rows and of report cells, as sets of (raw file's name, 0-based record)."""

    def __init__(self, root: Path, weather: list[list[Any]], flights: list[list[Any]]) -> None:
        self.root = root
        self.weather = [dict(zip(WEATHER, row, strict=True)) for row in weather]
        self.flights = [dict(zip(FLIGHTS, row, strict=True)) for row in flights]
        self.kept = [n for n, row in enumerate(self.weather) if row["hour"] != 3]
        self.joined = {n: [("flights.csv", n), *self._sides(row)] for n, row in enumerate(self.flights) if row["carrier"] in ("X", "Y")}

    def raw_of(self, row: dict[str, Any]) -> int:
        """The raw record behind an hourly row."""
        return next(n for n in self.kept if all(self.weather[n][key] == row[key] for key in ("origin", "day", "hour")))

    def hourly(self) -> list[tuple[Path, int, dict[str, Any]]]:
        """File, row and values of each hourly record, in the order of paths."""
        return [(p, i, row) for p in sorted((self.root / "hourly").glob("*.parquet")) for i, row in enumerate(pq.read_table(p).to_pylist())]

    def hourly_influence(self, n: int) -> set[Record]:
        before = self._before(n)
        return _weather({n, *self._day(n), *before, *self._range(n), *(m for b in before for m in self._day(b))})

    def hourly_witness(self, n: int, column: str) -> set[Record]:
        before = self._before(n)
        of_column = {
            "day_wind": self._day(n),
            "before": before,
            "recent_max": self._first(self._range(n), "wind", max),
            # The row itself gives what the function reads, so its own day is needed too.
            "swing": [*before, *self._day(n), *(m for b in before for m in self._day(b))],
        }
        return _weather({n, *of_column.get(column, [])})

    def report_influence(self, origin: str) -> set[Record]:
        return _weather(n for n in self.kept if self.weather[n]["origin"] == origin) | self._flights_with(self._flights_of(origin))

    def report_witness(self, origin: str, column: str) -> set[Record]:
        hours = [(self.raw_of(row), row) for _, _, row in self.hourly() if row["origin"] == origin]
        numbers = [n for n, _ in hours]
        if column in ("max_wind", "min_visib"):
            numbers = self._first(numbers, *{"max_wind": ("wind", max), "min_visib": ("visib", min)}[column]) or numbers[:1]
            weather = _weather(numbers)
        elif column == "peak":
            best = max((row["recent_max"] for _, row in hours if row["recent_max"] is not None), default=None)
            chosen = next((n for n, row in hours if best is not None and row["recent_max"] == best), numbers[0])
            weather = self.hourly_witness(chosen, "recent_max")
        else:
            weather = _weather(numbers if column == "hours" else numbers[:1])
        flights = self._flights_of(origin)
        if column == "max_delay":
            values = [n for n in flights if self.flights[n]["delay"] is not None]
            best = max((self.flights[n]["delay"] for n in values), default=None)
            flights = next(([n] for n in values if self.flights[n]["delay"] == best), flights[:1])
        elif column == "carriers":
            flights = [
                n for i, n in enumerate(flights) if self.flights[n]["carrier"] not in {self.flights[m]["carrier"] for m in flights[:i]}
            ]
        elif column == "late":
            flights = [n for n in flights if (self.flights[n]["delay"] or 0) > 10] or flights[:1]
        elif column != "flights":
            flights = flights[:1]
        return weather | self._flights_with(flights)

    def _day(self, n: int) -> list[int]:
        return [m for m in self.kept if all(self.weather[m][key] == self.weather[n][key] for key in ("origin", "day"))]

    def _range(self, n: int) -> list[int]:
        at = self.weather[n]
        return [m for m in self.kept if self.weather[m]["origin"] == at["origin"] and at["day"] - 1 <= self.weather[m]["day"] <= at["day"]]

    def _before(self, n: int) -> list[int]:
        """The row before, as day and hour go up with the record's number."""
        return [m for m in self.kept if m < n and self.weather[m]["origin"] == self.weather[n]["origin"]][-1:]

    def _first(self, numbers: Iterable[int], column: str, choose: Any) -> list[int]:
        values = [(n, self.weather[n][column]) for n in numbers if self.weather[n][column] is not None]
        best = choose((value for _, value in values), default=None)
        return [next(n for n, value in values if value == best)] if values else []

    def _flights_of(self, origin: str) -> list[int]:
        """In the order of the enriched files: by path, then position."""
        files = sorted((self.root / "enriched").rglob("*.parquet"), key=str)
        numbers = [number for file in files for number in pq.ParquetFile(file).read().column("number").to_pylist()]
        return [n for n in numbers if self.flights[n]["origin"] == origin]

    def _flights_with(self, flights: Iterable[int]) -> set[Record]:
        return {record for n in flights for record in self.joined[n]}

    def _sides(self, row: dict[str, Any]) -> list[Record]:
        plane = {"t1": 0, "t2": 1}.get(row["tail"])
        carrier = {"X": 0, "Y": 1}.get(row["carrier"])
        return [(file, n) for file, n in (("planes.csv", plane), ("carriers.csv", carrier)) if n is not None]


def _weather(numbers: Iterable[int]) -> set[Record]:
    return {("weather.csv", n) for n in numbers}


def _mean(rows: list[Row]) -> float | None:
    values = [row.values["wind"] for row in rows if row.values["wind"] is not None]
    return sum(values) / len(values) if values else None


def _extreme(rows: list[Row], column: str, choose: Any) -> Any:
    return choose((row.values[column] for row in rows if row.values[column] is not None), default=None)


def _distinct(rows: list[Row]) -> int:
    return len({row.values["carrier"] for row in rows})
