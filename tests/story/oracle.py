"""The true lineage of a report row, worked out by hand from the raw files, without code of the product.

The rules are those of docs/guide/semantics.md, for the five example jobs. Only one thing is taken from Spark's output: the
order of records in the intermediate files, which decides ties and first rows.
"""

from __future__ import annotations

import csv
from collections import defaultdict
from collections.abc import Callable, Iterable
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

Record = tuple[str, int]  # (raw file's name, 0-based record number)
Cell = tuple[str, int]  # (origin, month)

WEATHER_SIDE = {"hours", "max_wind_mph", "mean_wind_mph", "rain_in", "min_visibility_mi"}
DELAY_SIDE = {"flights", "very_late", "mean_delay_min", "max_delay_min"}
KEYS = {"origin", "year", "month"}


class Oracle:
    """Influence and witness of every cell of the report, from the raw files in `raw` and the order of records in `out`."""

    def __init__(self, raw: Path, out: Path) -> None:
        self._raw = raw
        self._out = out

    def influence(self, cell: Cell) -> set[Record]:
        """The weather of that airport and month (windows reach over their own day only), its flights, and what these were joined with."""
        weather = {("weather.csv", n) for n in self._weather_of[cell]}
        return weather | self._with_joined(self._flights_of[cell])

    def witness(self, cell: Cell, column: str) -> set[Record]:
        """The sufficient records for one column: the chosen hours and flights, and the first of a group for an unused side."""
        hours, flights = self._weather_in_order[cell], self._flights_in_order[cell]
        weather = {"max_wind_mph": lambda: _first_extreme(hours, self._weather, "wind_speed", max),
                   "min_visibility_mi": lambda: _first_extreme(hours, self._weather, "visib", min)}  # fmt: skip
        delays = {"max_delay_min": lambda: _first_extreme(flights, self._flights, "dep_delay", max)}
        chosen_hours = weather[column]() if column in weather else hours if column in WEATHER_SIDE else hours[:1]
        chosen_flights = delays[column]() if column in delays else flights if column in DELAY_SIDE else flights[:1]
        return {("weather.csv", n) for n in chosen_hours} | self._with_joined(chosen_flights)

    def forward(self, record: Record) -> set[Cell]:
        """The report rows that a raw record had a part in."""
        file, n = record
        if file == "weather.csv":
            return {_cell(self._weather[n])}
        return {cell for cell, flights in self._flights_of.items() if any(record in self._joined(f) for f in flights)}

    @property
    def cells(self) -> list[Cell]:
        return sorted(self._weather_of)

    def _with_joined(self, flights: Iterable[int]) -> set[Record]:
        return {record for n in flights for record in self._joined(n)}

    def _joined(self, n: int) -> set[Record]:
        flight = self._flights[n]
        sides = {
            ("airlines.csv", self._number("airlines", "carrier").get(flight["carrier"])),
            ("planes.csv", self._number("planes", "tailnum").get(flight["tailnum"])),
            ("airports.csv", self._number("airports", "faa").get(flight["dest"])),
        }
        return {("flights.csv", n)} | {(file, number) for file, number in sides if number is not None}

    def _read(self, name: str) -> list[dict[str, str]]:
        with (self._raw / f"{name}.csv").open(newline="", encoding="utf-8") as file:
            return list(csv.DictReader(file))

    @cached_property
    def _weather(self) -> list[dict[str, str]]:
        return self._read("weather")

    @cached_property
    def _flights(self) -> list[dict[str, str]]:
        return self._read("flights")

    @cached_property
    def _numbers(self) -> dict[str, dict[str, int]]:
        return {}

    def _number(self, name: str, key: str) -> dict[str, int]:
        if name not in self._numbers:
            self._numbers[name] = {row[key]: n for n, row in enumerate(self._read(name))}
        return self._numbers[name]

    @cached_property
    def _weather_of(self) -> dict[Cell, list[int]]:
        return _grouped(self._weather)

    @cached_property
    def _flights_of(self) -> dict[Cell, list[int]]:
        return _grouped(self._flights)

    @cached_property
    def _weather_in_order(self) -> dict[Cell, list[int]]:
        names = ["origin", "year", "month", "day", "hour", "temp", "wind_speed", "precip", "visib", "pressure"]
        number = {tuple(_typed(row[name]) for name in names): n for n, row in enumerate(self._weather)}
        ordered: dict[Cell, list[int]] = defaultdict(list)
        for row in _written(self._out / "hourly_weather", names):
            ordered[_cell(row)].append(number[tuple(_typed(row[name]) for name in names)])
        return ordered

    @cached_property
    def _flights_in_order(self) -> dict[Cell, list[int]]:
        names = ["year", "month", "day", "carrier", "flight", "sched_dep_time"]
        number = {(row["origin"], *(_typed(row[name]) for name in names)): n for n, row in enumerate(self._flights)}
        ordered: dict[Cell, list[int]] = defaultdict(list)
        for row in _written(self._out / "enriched", names):
            ordered[_cell(row)].append(number[(row["origin"], *(_typed(row[name]) for name in names))])
        return ordered


def _written(folder: Path, names: list[str]) -> Iterable[dict[str, Any]]:
    """Records of a Parquet dataset by file path, then position; a partition folder `k=v` gives a column."""
    for file in sorted(folder.rglob("*.parquet"), key=str):
        partition = dict(part.split("=", 1) for part in file.relative_to(folder).parts[:-1])
        for row in pq.ParquetFile(file).read(columns=names).to_pylist():
            yield row | partition


def _grouped(rows: list[dict[str, str]]) -> dict[Cell, list[int]]:
    groups: dict[Cell, list[int]] = defaultdict(list)
    for n, row in enumerate(rows):
        groups[_cell(row)].append(n)
    return groups


def _cell(row: dict[str, Any]) -> Cell:
    return str(row["origin"]), int(row["month"])


def _typed(value: Any) -> Any:
    """A value as a number where it is one, so that text of the raw files and typed values of the written ones compare; NA is None."""
    if value is None or value in {"NA", ""}:
        return None
    try:
        return float(value)
    except ValueError:
        return value


def _first_extreme(order: list[int], rows: list[dict[str, str]], column: str, choose: Callable[[Iterable[float]], float]) -> list[int]:
    values = [(n, float(rows[n][column])) for n in order if rows[n][column] != "NA"]
    if not values:
        return order[:1]
    extreme = choose(value for _, value in values)
    return [next(n for n, value in values if value == extreme)]
