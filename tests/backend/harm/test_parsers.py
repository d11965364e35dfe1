"""Whatever comes in from outside, a parser takes it or refuses it by an error of Headwater's own, within seconds.

HEADWATER_ROUNDS=N tries N documents a parser, other ones by each seed, instead of a short run (`make torture ARGS="--modes parsers"`).
"""

from __future__ import annotations

import json
import os
import sqlite3
import struct
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, TypeVar

import duckdb
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from headwater.backend.cli.trace_command import reference
from headwater.backend.home.folder import Home
from headwater.backend.ingest.intake.captures import CaptureIntake
from headwater.backend.ingest.intake.documents import read_document
from headwater.backend.ingest.intake.prov import ProvIntake
from headwater.backend.ingest.intake.receive import EventIntake
from headwater.backend.ingest.intake.scan import DECLARATION as BOUNDS
from headwater.backend.ingest.log.sqlite import SqliteLog
from headwater.backend.projection.event import event_stamp, project_event
from headwater.backend.projection.rehearsal import rehearse_declaration
from headwater.errors import HeadwaterError
from headwater.graph.associations.segment import LENGTH, MAGIC, Segment
from headwater.graph.duck.memory_tables import Database
from headwater.graph.model import kind_of, parse_id
from headwater.graph.model.changes import collect
from headwater.graph.model.declaration import Declaration
from headwater.graph.model.instants import instant_of
from headwater.graph.records import ANYWHERE, AssociationStore
from headwater.graph.records.decode import decode
from headwater.graph.trace.predicate import check_predicate, explain_error, list_column_names
from headwater.spark_listener.registry import Program, Registry
from tests.backend.harm.drawn import TEXTS, VALUES, bodies, damaged, documents
from tests.backend.harm.sound import DECLARATION, EVENT, MANIFEST, PROV, PROVN, SEGMENT, TURTLE, XML

Answer = TypeVar("Answer")
_ROUNDS = int(os.environ.get("HEADWATER_ROUNDS", "0"))
_SECONDS = 20.0  # that one document may take at the most, where others use the machine too
_drawn = settings(
    max_examples=_ROUNDS or 60, deadline=None, derandomize=not _ROUNDS, print_blob=True, database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.function_scoped_fixture],
)  # fmt: skip


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Home:
    return Home.at(tmp_path_factory.mktemp("parsers")).create()


@pytest.fixture(scope="module")
def log(home: Home) -> Iterator[SqliteLog]:
    with closing(SqliteLog(home.log)) as opened:
        yield opened


@pytest.fixture(scope="module")
def records(home: Home) -> Iterator[AssociationStore]:
    store = AssociationStore(home.associations, sources=ANYWHERE)
    yield store
    store.close()


@pytest.fixture(scope="module")
def database() -> Iterator[Database]:
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE t AS SELECT 'EWR' AS origin, 1.0 AS wind, 2 AS month")
        yield Database(connection)


def _ends(act: Callable[[], Answer]) -> Answer | None:
    """The result, or None for a refusal by an error of Headwater whose message is shown without a fault of its own."""
    began, told = time.monotonic(), "?"
    try:
        return act()
    except HeadwaterError as error:
        told = str(error)
        return None
    finally:
        assert told
        assert time.monotonic() - began < _SECONDS


@_drawn
@given(bodies(EVENT))
@example(b'{"a": "\\ud800"}')
def test_events_are_taken_or_refused_and_what_is_taken_can_be_projected(log: SqliteLog, body: bytes) -> None:
    report = _ends(EventIntake(log).submit("fuzz", body).result)
    assert report is not None  # refusals of events stand in the report
    if report.accepted and not body.lstrip().startswith(b"["):
        event = json.loads(body)
        collect([project_event(event, event_stamp(event, ""))])


@_drawn
@given(bodies(MANIFEST))
def test_manifests_are_taken_or_refused(log: SqliteLog, records: AssociationStore, body: bytes) -> None:
    _ends(lambda: CaptureIntake(log, records).submit("fuzz", body))


@_drawn
@given(bodies(DECLARATION))
def test_declarations_are_taken_or_refused(body: bytes) -> None:
    def declare() -> None:
        document = read_document(body, BOUNDS)
        if isinstance(document, dict):
            rehearse_declaration(Declaration.from_json({**document, "declared": "2026-01-31T10:00:00Z"}))

    _ends(declare)


@_drawn
@given(st.one_of(bodies(PROV), *map(damaged, (PROVN, XML, TURTLE))))
@example(b"document\n" + b"bundle ex:e\n" * 3_000)
@example(b"{" + b'"bundle": {"a": ' * 3_000)
def test_provenance_is_taken_or_refused(log: SqliteLog, body: bytes) -> None:
    _ends(lambda: ProvIntake(log).submit("fuzz", body))


def _of_footer(footer: bytes) -> bytes:
    """A segment without blocks."""
    return MAGIC + LENGTH.pack(0) + footer + LENGTH.pack(len(footer)) + MAGIC


def _footer_of(data: bytes) -> bytes:
    (length,) = struct.unpack("<I", data[-len(MAGIC) - 4 : -len(MAGIC)])
    return data[-len(MAGIC) - 4 - length : -len(MAGIC) - 4]


@_drawn
@given(st.one_of(damaged(SEGMENT), bodies(json.loads(_footer_of(SEGMENT)) | {"rows": 0}).map(_of_footer)))
@example(_of_footer(b"[" * 100_000))
@example(_of_footer(b'{"a":' * 100_000))
def test_segments_are_read_or_refused(data: bytes) -> None:
    _ends(lambda: decode(Segment.open("b0-s1.0-p0-a10.seg", data)))


_SQL = """
    origin wind month t . , ( ) ' " [ ] { } = < > + - * / % :: -> => ? $1 ; -- /* */ 1 1e999 NULL 'EWR' AND OR NOT IN BETWEEN LIKE ESCAPE
    CASE WHEN THEN END CAST AS INT DATE INTERVAL YEAR SELECT FROM WHERE GROUP BY ALL EXISTS OVER FILTER COLLATE nocase lower upper substr
    length abs repeat range read_text getenv ATTACH COPY PIVOT COLUMNS STRUCT MAP LAMBDA x AT TIME ZONE 'UTC' FOR IF #1 @ ~ ** !
"""
_WORDS = st.sampled_from([*_SQL.split(), "\n", "\0", "\ud800", ""])


@_drawn
@given(st.lists(_WORDS | TEXTS | st.text(max_size=5), max_size=14).map(" ".join))
@example("origin = '\ud800'")
def test_predicates_are_taken_or_refused_and_what_is_taken_ends(database: Database, where: str) -> None:
    def ask() -> None:
        condition = check_predicate(database, where)
        list_column_names(database, where)
        try:
            database.execute(f"SELECT origin FROM t WHERE {condition}").fetchall()
        except duckdb.Error as error:
            raise explain_error(error, where, ["origin", "wind", "month"]) from error

    _ends(ask)
    assert database.execute("SELECT count(*) FROM t").fetchall() == [(1,)]


_IDS = st.lists(TEXTS | st.text(max_size=6) | st.sampled_from(["dataset", "column", "run", "file", ":", "%3A", "/x"]), max_size=5)


@_drawn
@given(_IDS)
def test_ids_places_and_instants_of_an_address_are_read_or_refused(parts: list[str]) -> None:
    text = ":".join(parts)
    _ends(lambda: parse_id(text))
    _ends(lambda: kind_of(text))
    _ends(lambda: reference(text))
    _ends(lambda: instant_of("".join(parts), "as_of", end=False))
    _ends(lambda: instant_of("".join(parts), "as_of", end=True))


_PROGRAM: dict[str, Any] = {
    "argv": ["job.py"],
    "script": "job.py",
    "script_sha256": "0" * 64,
    "working_directory": "/",
    "environment": {"A": "b"},
}


@_drawn
@given(
    st.one_of(
        documents(_PROGRAM).map(json.dumps),
        VALUES.map(json.dumps),
        damaged(json.dumps(_PROGRAM).encode()).map(lambda raw: raw.decode("latin-1")),
    )
)
def test_registrations_are_read_or_refused(tmp_path: Path, text: str) -> None:
    with closing(Registry(tmp_path)) as registry:
        registry.register(Program(namespace="a", job="b", operator=True, **_PROGRAM))
        with closing(sqlite3.connect(registry.path)) as file, file:
            file.execute("UPDATE program SET invocation = ?", [text])
        if (program := _ends(lambda: registry.program("run", "a", "b"))) is not None:
            assert all(isinstance(word, str) for word in (*program.argv, program.script, program.script_sha256, program.working_directory))
            assert all(isinstance(part, str) for pair in program.environment.items() for part in pair)
        _ends(registry.programs)


def test_what_the_damage_is_done_to_is_taken_whole(log: SqliteLog) -> None:
    """The fuzzing would pass, too, if everything were refused: sound documents are taken."""
    assert EventIntake(log).submit("sound", json.dumps(EVENT).encode()).result().accepted == 1
    assert ProvIntake(log).submit("sound", json.dumps(PROV).encode()).nodes
    assert ProvIntake(log).submit("sound", PROVN).nodes
    assert len(decode(Segment.open("s", SEGMENT))) == 1
    rehearse_declaration(Declaration.from_json({**DECLARATION, "declared": "2026-01-31T10:00:00Z"}))
