"""Tracing: which records a record came from, and where it went.

`trace` and `preview` load DuckDB with their first use; the terms of an answer do not. Which module to open:

    a question and its answer     answer, engine; preview for rows to pick from; questions for both as a service asks them; selection and
                                  predicate for those that are meant, with the functions that a predicate may use;
                                  datasets for the files of one, apart for those outside of its folder, versions (of tables, snapshots) for
                                  those that it had; origins for those that values come from; pairs for which record came from which
    what stays between traces     tracer, session; rowkeys for the keys that numbers of rows stand for
    from capture to capture       upstream, downstream, ways (to a target), links, hops, path, expressions (on the way), merged (what MERGE
                                  did to a row); numbered and overlaps for records that name places; lift where only datasets are known
    what unknown runs rewrote     rewritten/: former and later files of tables whose rows have numbers; tables, what a walk knows of them
    what was moved since          moved, for files that lie elsewhere than where a known run wrote them
    a captured plan               plan
    within one capture            step/: backward, forward; frames and windows, matches (semi-joins, subqueries), sets (EXCEPT ALL),
                                  collisions (keys of one hash); choose and order for the rows that a function took; values that references
                                  stand for; lookup in kept tables, a search in memory or a statement of DuckDB
    where it is followed          estimate, how much a walk will look at
    on Spark                      on_spark/: walking, the same steps over tables of Spark; connection, their statements in its words;
                                  errors, what goes wrong in a cluster
    what was not written          recomputed/: recompute finds groups again by spec (what makes a row), group_keys (which keys are meant),
                                  relation (joins below) and whole (all of a scan); keep keeps them while their source is
                                  there, or before anyone asks where large says so
    files                         files/: reader, shapes; formats/, what depends on a format: base, parquet, delta, iceberg, orc, avro
                                  (avroblocks), csv (dialect, multiline, csvnames), json (objects), text, xml, binary, jdbc and
                                  kafka (bykey), local, located; loaded for those that a library reads; lined, lines (marks of long
                                  files), unpacked (compressed) and textvalues for those of lines; places and scanned for the records
                                  that references stand for; columnnames for rules about columns; footers of Parquet, and excerpts of
                                  its large columns, by pages, parquetfile and thrift;
                                  deltalog, deltaprotocol and deletions for what a Delta table holds now; icebergsnapshot for what an
                                  Iceberg table held;
                                  versions for what both tell of a version; rowids, with iceberglog and deltarows, for rows that tables
                                  number themselves: allowance bounds what is read of metadata, tablecache keeps it
    Spark's meaning in DuckDB     translate; database/: types, decimals, sql; in_memory for small tables
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from headwater.graph.trace.answer import (
    AsOf,
    FoundAgain,
    Grain,
    Hop,
    Incomplete,
    Made,
    RowPage,
    Semantics,
    Step,
    TraceAnswer,
    TracedRecord,
    TraceRequest,
)

if TYPE_CHECKING:
    from headwater.graph.trace.engine import trace
    from headwater.graph.trace.preview import preview

__all__ = [
    "AsOf",
    "FoundAgain",
    "Grain",
    "Hop",
    "Incomplete",
    "Made",
    "RowPage",
    "Semantics",
    "Step",
    "TraceAnswer",
    "TraceRequest",
    "TracedRecord",
    "preview",
    "trace",
]

_LAZY = {"preview": "preview", "trace": "engine"}


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        return getattr(import_module(f"headwater.graph.trace.{_LAZY[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}; it has {', '.join(__all__)}")
