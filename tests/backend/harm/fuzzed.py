"""Guides damage by what it reaches in a parser: libFuzzer, by atheris. `test_fuzzed` runs this in an environment that has it.

python -m tests.backend.harm.fuzzed PARSER FOLDER SECONDS     (FOLDER: where it keeps what it found on its way)

A parser may refuse a document by an error of Headwater's own; whatever else it raises ends the run, and so does one that lasts.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import atheris  # type: ignore[import-not-found,unused-ignore]

with atheris.instrument_imports(include=["headwater"]):
    import duckdb

    from headwater.backend.cli.trace_command import reference
    from headwater.backend.home.folder import Home
    from headwater.backend.ingest.intake.captures import CaptureIntake
    from headwater.backend.ingest.intake.documents import key_of, read_documents
    from headwater.backend.ingest.intake.events import check_event
    from headwater.backend.ingest.intake.prov import ProvIntake
    from headwater.backend.ingest.log.sqlite import SqliteLog
    from headwater.backend.projection.event import event_stamp, project_event
    from headwater.errors import HeadwaterError
    from headwater.graph.associations.segment import Segment
    from headwater.graph.duck.memory_tables import Database
    from headwater.graph.model import kind_of, parse_id
    from headwater.graph.model.changes import collect
    from headwater.graph.records import ANYWHERE, AssociationStore
    from headwater.graph.records.decode import decode
    from headwater.graph.storage.addresses import address_of
    from headwater.graph.storage.settings import read_roots
    from headwater.graph.trace.predicate import check_predicate, list_column_names

from tests.backend.harm.sound import EVENT, MANIFEST, PROV, PROVN, SEGMENT, TURTLE, XML

Parser = Callable[[bytes], object]
_SECONDS = 20  # that one document may take

_STORAGE = b"""[[root]]
url = "s3://lake/warehouse"
endpoint = "http://127.0.0.1:9000"
seconds = 3
[[root]]
url = "webhdfs://name/x"
datanodes = "dn1.example:9864, *.data.example:9864"
[[root]]
url = "postgres://db.example:5432/shop"
endpoint = "host:1"
"""
_PREDICATES = (b"origin = 'EWR' AND wind > 1e9", b"month IN (1, 2) OR lower(origin) LIKE 'e%'", b"CASE WHEN wind IS NULL THEN 1 END = 1")
_PLACES = (b"dataset:s3%3A%2F%2Flake:a", b"/data/part-0.parquet:17", b"s3://lake/x/y.csv", b"abfss://a@b.example/c", b"hdfs://n:8020/x")
SEEDS: dict[str, tuple[bytes, ...]] = {
    "events": (json.dumps(EVENT).encode(),),
    "manifests": (json.dumps(MANIFEST).encode(),),
    "segments": (SEGMENT,),
    "predicates": _PREDICATES,
    "places": _PLACES,
    "storage": (_STORAGE,),
    "provenance": (json.dumps(PROV).encode(), PROVN, XML, TURTLE),
}


def _parser(name: str, folder: Path) -> Parser:
    home = Home.at(folder).create()
    match name:
        case "events":
            return _events
        case "manifests":
            captures = CaptureIntake(SqliteLog(home.log), AssociationStore(home.associations, sources=ANYWHERE))
            return lambda data: captures.submit("fuzz", data)
        case "segments":
            return lambda data: decode(Segment.open("b0-s1.0-p0-a10.seg", data))
        case "predicates":
            connection = duckdb.connect()
            connection.execute("CREATE TABLE t AS SELECT 'EWR' AS origin, 1.0 AS wind, 2 AS month")
            database = Database(connection)
            return lambda data: _predicate(database, data.decode("utf-8", "surrogateescape"))
        case "places":
            return lambda data: _place(data.decode("utf-8", "surrogateescape"))
        case "storage":
            file = folder / "fuzzed.toml"

            def read(data: bytes) -> None:
                file.write_bytes(data)
                read_roots(file)

            return read
        case "provenance":
            prov = ProvIntake(SqliteLog(home.log))
            return lambda data: prov.submit("fuzz", data)
    raise SystemExit(f"There is no parser {name}; there are {', '.join(SEEDS)}.")


def _events(data: bytes) -> None:
    for document in read_documents(data):
        if document.fault is not None:
            raise document.fault
        check_event(document)
        key_of(document)
        collect([project_event(document.value, event_stamp(document.value, ""))])


def _predicate(database: Database, where: str) -> None:
    check_predicate(database, where)
    list_column_names(database, where)


def _place(text: str) -> None:
    for read in (parse_id, kind_of, reference, address_of):
        with suppress(HeadwaterError):
            read(text)


def main(name: str, folder: str, seconds: str) -> None:
    """Damage documents for so many seconds."""
    found = Path(folder)
    found.mkdir(parents=True, exist_ok=True)
    for number, seed in enumerate(SEEDS[name]):
        (found / f"seed-{number}").write_bytes(seed)
    parse = _parser(name, found.with_suffix(".home"))

    def once(data: bytes) -> None:
        with suppress(HeadwaterError):
            parse(data)

    options = [f"-max_total_time={seconds}", f"-timeout={_SECONDS}", "-rss_limit_mb=3000", "-max_len=20000", f"-artifact_prefix={folder}/"]
    atheris.Setup([sys.argv[0], *options, folder], once)
    atheris.Fuzz()


if __name__ == "__main__":
    main(*sys.argv[1:])
