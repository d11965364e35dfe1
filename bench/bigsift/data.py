"""The drawn data of the programs, in files of equal size, and the injected fault: one line of one file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import duckdb

_FILES = 4
_SEED = 0.23
_DRAWN = 250_000  # lines; to draw more would take longer than the job


@dataclass(frozen=True, slots=True)
class Fault:
    """The fault of a program: a line, the assertion that it breaks, and the number of records of the smallest wrong input."""

    line: str
    assertion: str
    records: int = 1


FAULTS = {
    "word_count": Fault("and then the th#e end of it came", "word NOT LIKE '%#%'"),
    "movie_ratings": Fault("17,4,90000000,2016-03-04", "rating <= 5"),
    "airport_transit": Fault("2016-03-04,17,23:50,00:20,LAX", "minutes >= -1000"),
    "weather": Fault("99504,03-04,90000in", "delta < 6000", records=2),
}
_MONTH = "lpad((1 + floor(random() * 12))::INT::VARCHAR, 2, '0')"
_TIME = "strftime(TIMESTAMP '2016-01-01' + to_minutes({}), '%H:%M')"
_WORD = "'w' || floor(power(random(), 3) * 20000)::INT"
_MINUTE = "CASE WHEN random() < 1e-6 THEN 1385 ELSE floor(random() * 1380)::INT END"
_LINES = {
    "word_count": f"array_to_string([{', '.join([_WORD] * 10)}], ' ')",
    "movie_ratings": "floor(random() * 400000)::INT || ',' || floor(power(random(), 2) * 20000)::INT || ',' "
    f"|| (1 + floor(random() * 5))::INT || ',2016-' || {_MONTH} || '-11'",
    # Few passengers arrive after 23:00, so that one wrong departure outweighs the others of its hour.
    "airport_transit": f"'2016-' || {_MONTH} || '-04,' || floor(random() * 9999999)::INT || ',' || {_TIME.format('m')} || ',' "
    f"|| {_TIME.format('least(m + 5 + floor(random() * 90)::INT, 1439)')} || ',' "
    "|| ['LAX', 'SFO', 'JFK', 'ORD', 'ATL', 'DFW'][1 + floor(random() * 6)::INT]",
    "weather": f"lpad(floor(random() * 99999)::INT::VARCHAR, 5, '0') || ',' || {_MONTH} || '-' "
    "|| lpad((1 + floor(random() * 28))::INT::VARCHAR, 2, '0') || ',' "
    "|| CASE WHEN random() < 0.5 THEN round(random() * 4000, 1) || 'mm' ELSE round(random() * 13, 2) || 'ft' END",
}  # fmt: skip


def write_data(folder: Path, program: str, lines: int) -> None:
    """Write the input of a program with about `lines` lines: drawn lines, repeated. The fault is in the middle of the last file."""
    inputs = folder / "input"
    inputs.mkdir(parents=True)
    fault = FAULTS[program]
    count = lines // _FILES
    drawn = min(count, _DRAWN)
    with duckdb.connect() as database:
        database.execute(f"SELECT setseed({_SEED})")
        rows = f"SELECT n, {_MINUTE} AS m FROM range({drawn}) r(n)"
        database.execute(f"CREATE TABLE drawn AS SELECT n, {_LINES[program]} AS line FROM ({rows})")
        for number in range(_FILES):
            place = count // 2 if number == _FILES - 1 else -1
            wrong = f"CASE WHEN k * {drawn} + n = {place} THEN '{fault.line}' ELSE line END"
            query = f"SELECT {wrong} FROM range({-(-count // drawn)}) repeats(k), drawn WHERE k * {drawn} + n < {count}"
            target = inputs / f"part-{number}.csv"
            database.execute(f"COPY ({query}) TO '{target}' (FORMAT csv, HEADER false, QUOTE '', ESCAPE '', DELIM '\x01')")
